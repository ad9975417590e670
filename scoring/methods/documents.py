"""Documents to count tokens in, one text at a time: files, Hub datasets, and the corpora of pairbank itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.builders.schema.columns import NO_TRUTH
from pairbank.builders.schema.language_tags import joined
from pairbank.errors import CorpusError, CorpusFileNotFoundError

if TYPE_CHECKING:
    import datasets

PlainText = Literal["line", "file"]
ROWS_A_BATCH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    texts: Iterable[str]
    source: dict[str, Any]
    """JSON-ready: where the texts come from."""
    languages: tuple[str, ...] = ()


def documents_of_files(
    paths: Sequence[str | Path], *, column: str = "text", plain_text: PlainText = "line", n_documents: int | None = None
) -> Documents:
    """Return the documents of files: `.jsonl` and `.parquet` rows, and lines (or the whole) of any other text file."""
    results = [Path(path) for path in paths]
    if missing := [str(path) for path in results if not path.is_file()]:
        raise CorpusFileNotFoundError(f"no file {', '.join(missing)}; expected text, .jsonl or .parquet files")
    texts = (text for path in results for text in _texts(path, column, plain_text))
    described: dict[str, Any] = {"kind": "files", "files": [path.name for path in results], "n_documents": n_documents}
    if any(path.suffix in (".jsonl", ".parquet") for path in results):
        described["column"] = column
    if any(path.suffix not in (".jsonl", ".parquet") for path in results):
        described["document"] = plain_text
    return Documents(texts=islice(texts, n_documents), source=described)


def documents_of_dataset(
    name: str,
    *,
    config: str | None = None,
    split: str = "train",
    column: str = "text",
    revision: str | None = None,
    streaming: bool = True,
    n_documents: int | None = None,
) -> Documents:
    """Return the documents of a dataset on the Hub or in a local folder, in its own order.

    Hu et al. 2026 (section 6.3) count one million documents of `HuggingFaceFW/fineweb`, config `sample-10BT`.
    """
    import datasets

    try:
        rows = datasets.load_dataset(name, config, split=split, revision=revision, streaming=streaming)
    except (ValueError, FileNotFoundError, ConnectionError) as error:
        raise CorpusError(f"cannot open the dataset {name!r} (config {config}, split {split}): {error}") from error
    source = {
        "kind": "dataset",
        "dataset": name if not Path(name).exists() else Path(name).name,
        "config": config,
        "split": split,
        "column": column,
        "revision": revision,
        "n_documents": n_documents,
    }
    return Documents(texts=islice(column_of(rows, column, name), n_documents), source=source)


def documents_of_items(items: datasets.Dataset) -> Documents:
    """Return the distinct better sentences of a corpus's items, each a document: context and target joined.

    Worse sides and single sentences that are labelled unacceptable are no text of the language. Frequencies within the
    test items are not those of a model's training text, which the linking functions are defined with: use them to try
    things out where there is no other text.
    """
    seen: dict[str, None] = {}
    languages = tuple(sorted(set(items["language"][:])))
    labels = items["label"][:] if "label" in items.column_names else [None] * len(items)
    columns = ("language", "context_good", "target_good", "flags")
    for language, context, target, flags, label in zip(*(items[name][:] for name in columns), labels, strict=True):
        if label != 0 and NO_TRUTH not in (flags or ()):
            seen[joined(context or "", target, language)] = None
    corpus = items["corpus"][0]
    if not seen:
        raise CorpusError(
            f"{corpus}: no item has a better side, so that there is no text to count; name another corpus"
        )
    source = {"kind": "better sentences of items", "corpus": corpus, "n_items": len(items)}
    return Documents(texts=list(seen), source=source, languages=languages)


def _texts(path: Path, column: str, plain_text: PlainText) -> Iterator[str]:
    if path.suffix == ".parquet":
        try:
            with pq.ParquetFile(path) as table:
                if column not in table.schema_arrow.names:
                    raise _no_column(column, table.schema_arrow.names, str(path))
                for batch in table.iter_batches(batch_size=ROWS_A_BATCH, columns=[column]):
                    yield from column_of(batch.to_pylist(), column, str(path))
        except pa.ArrowException as error:
            raise CorpusError(f"{path}: not a readable parquet file ({error})") from error
        return
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            if path.suffix == ".jsonl":
                yield from column_of((_row(path, n, line) for n, line in enumerate(lines, 1)), column, str(path))
            elif plain_text == "file":
                yield lines.read()
            else:
                yield from (text for line in lines if (text := line.rstrip("\r\n")).strip())
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 ({error}); convert the file") from error


def _row(path: Path, line_number: int, line: str) -> Any:  # noqa: ANN401 - JSON is any
    try:
        return json.loads(line)
    except ValueError as error:
        raise CorpusError(f"{path}, line {line_number}: not JSON ({error})") from error


def column_of(rows: Iterable[Any], column: str, where: str) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        if column not in row:
            raise _no_column(column, list(row), where)
        text = row[column]
        if not isinstance(text, str):
            raise CorpusError(f"{where}, row {number}: {column!r} is {type(text).__name__}, expected a string")
        yield text


def _no_column(column: str, names: Sequence[str], where: str) -> CorpusError:
    return CorpusError(f"{where}: no column {column!r}; it has {', '.join(names)}: name the text's with column=")
