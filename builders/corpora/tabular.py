"""Your own items: a CSV, TSV, JSON-lines or parquet file. Two columns of sentences are enough.

Columns are found by name (`good`/`bad` and their common synonyms, or a map that the user gives). A file with
exactly two columns of other names is read as better, worse. Columns that mean nothing to the schema are kept
as text columns of the corpus.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.schema.columns import COLUMNS, Column, Item, Scalar, Task
from pairbank.builders.sources.readers import read_delimited, read_json_lines, utf8_lines
from pairbank.builders.sources.source import LocatedFile, Source
from pairbank.errors import CorpusError, CorpusFileNotFoundError, unknown_name

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "target_good": (
        "good",
        "sentence_good",
        "good_sentence",
        "acceptable",
        "grammatical",
        "sentence_grammatical",
    ),
    "target_bad": (
        "bad",
        "sentence_bad",
        "bad_sentence",
        "unacceptable",
        "ungrammatical",
        "sentence_ungrammatical",
    ),
    "context_good": ("context", "prefix"),
    "pair_id": ("id", "pair_ID", "pairID"),
}
ROWS_A_BATCH = 16_384
"""Of a parquet file, read at a time."""
MOST_POINTS = 1e9
"""A rating or score farther from 0 than this is taken for a fault of the file."""
MAPPABLE = tuple(c.name for c in COLUMNS if c.name not in ("item_id", "corpus"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TabularOptions:
    """How to read a user's file."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Schema column -> the file's column, where the names do not say it: {"target_good": "Satz A"}."""
    language: str = "en"
    """Language of rows without a `language` cell."""
    task: Task | None = None
    """Task of rows without a `task` cell; default: continuation_pair with a context, else sentence_pair."""


def is_tabular(name: str) -> bool:
    """Return whether a corpus name is in fact a path to a user's file."""
    return Path(name).suffix.lower() in SUFFIXES


def tabular_corpus(path: Path, options: TabularOptions) -> tuple[Corpus, LocatedFile]:
    """Return a corpus for a user's file, and the file.

    Raises:
        CorpusFileNotFoundError: there is no such file.
        CorpusError: the better and worse columns cannot be told, or a mapped column is not there.
    """
    from pairbank.files import sha256_of_file

    if not path.is_file():
        raise CorpusFileNotFoundError(f"no file {path}; expected a {', '.join(SUFFIXES)} file with your items")
    header = _header(path)
    mapping = _mapping(path, header, options)
    kept = [name for name in header if name not in mapping.values()]
    extra = tuple(
        Column(name=_extra_name(name), type="string", nullable=True, meaning="a column of your file") for name in kept
    )
    slug = re.sub(r"\W+", "_", path.stem).strip("_") or "items"

    def rows(files: Mapping[str, LocatedFile], build: BuildOptions) -> Iterator[Item]:
        located = files[path.name]
        for number, (line, row) in enumerate(table_rows(located.path), 1):
            where = f"{located.path}, row {line}"
            item = tabular_item(row, number, where, slug=slug, mapping=mapping, kept=kept, options=options)
            if wanted(item.subset, build):
                yield item

    corpus = Corpus(
        name=slug,
        title=path.name,
        description=f"Items of the user's file {path.name}.",
        version="1.0.0",
        languages=(options.language,),
        tasks=("sentence_pair",),
        n_items=0,
        human="",
        subsets=(),
        rows=rows,
        extra_columns=extra,
        source=Source(
            homepage="",
            revision="",
            files=(),
            licence="unknown",
            citation="",
            redistributable=False,
            licence_note="A file of your own: state its licence before you publish it.",
        ),
    )
    return corpus, LocatedFile(path=path, name=path.name, sha256=sha256_of_file(path), verified=True)


def _header(path: Path) -> list[str]:
    first = next(iter(table_rows(path)), None)
    if first is None:
        raise CorpusError(f"{path}: no rows; expected a header and at least one row")
    return list(first[1])


def table_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line or row number, row) of a CSV, TSV, JSON-lines or parquet file."""
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        with utf8_lines(path) as lines:
            yield from read_json_lines(lines, (), where=str(path))
    elif suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(path) as file:
                batches = (batch.to_pylist() for batch in file.iter_batches(batch_size=ROWS_A_BATCH))
                yield from enumerate(itertools.chain.from_iterable(batches), 1)
        except pa.ArrowException as error:
            raise CorpusError(f"{path}: not a readable parquet file ({error}); write it again") from error
    else:
        yield from read_delimited(path, (), delimiter="\t" if suffix == ".tsv" else ",")


def _mapping(path: Path, header: Sequence[str], options: TabularOptions) -> dict[str, str]:
    """Return schema column -> file column, from the user's map, then exact names, then synonyms."""
    for name, column in options.columns.items():
        if name not in MAPPABLE:
            raise unknown_name("schema column", name, MAPPABLE)
        if column not in header:
            raise CorpusError(f"{path}: no column {column!r} for {name}; found {', '.join(header)}")
    mapping = dict(options.columns)
    lowered = {name.lower(): name for name in reversed(header)}
    for name in MAPPABLE:
        for candidate in (name, *SYNONYMS.get(name, ())):
            if name not in mapping and candidate.lower() in lowered:
                mapping[name] = lowered[candidate.lower()]
    if "target_good" not in mapping and "target_bad" not in mapping and len(header) == 2:
        mapping |= {"target_good": header[0], "target_bad": header[1]}
    missing = [name for name in ("target_good", "target_bad") if name not in mapping]
    if missing:
        raise CorpusError(
            f"{path}: cannot tell which column is {' and which is '.join(missing)}; found {', '.join(header)}; "
            "name them 'good' and 'bad', or map them (columns={'target_good': ..., 'target_bad': ...}; "
            "--column target_good=NAME)"
        )
    return mapping


def tabular_item(
    row: Mapping[str, Any],
    number: int,
    where: str,
    *,
    slug: str,
    mapping: Mapping[str, str],
    kept: Sequence[str],
    options: TabularOptions,
) -> Item:
    """Return the item of one row of a user's file; `mapping` is schema column -> the row's key."""
    cells = {name: _text(row.get(column)) for name, column in mapping.items()}
    for name in ("target_good", "target_bad"):
        if not (cells[name] or "").strip():
            raise CorpusError(
                f"{where}: column {mapping[name]!r} is empty; expected a sentence: fill or delete the row"
            )
    context = cells.get("context_good") or ""
    subset = cells.get("subset") or "all"
    values: dict[str, Any] = {
        "phenomenon": cells.get("phenomenon"),
        "paradigm": cells.get("paradigm"),
        "human_scale": cells.get("human_scale"),
        "pair_id": cells.get("pair_id"),
    }
    for name in ("human_good", "human_bad"):
        values[name] = number_in(cells.get(name), where, mapping.get(name, name))
    if values["human_scale"] is None and (values["human_good"], values["human_bad"]) != (None, None):
        values["human_scale"] = "unstated"
    human_n = number_in(cells.get("human_n"), where, mapping.get("human_n", "human_n"))
    extra: dict[str, Scalar] = {_extra_name(name): _text(row.get(name)) for name in kept}
    return Item(
        item_id=f"{slug}/{subset}/{number}",
        corpus=slug,
        subset=subset,
        language=cells.get("language") or options.language,
        task=cast("Task", cells.get("task") or options.task or ("continuation_pair" if context else "sentence_pair")),
        context_good=context,
        target_good=cells["target_good"] or "",
        context_bad=cells["context_bad"] if cells.get("context_bad") is not None else context,
        target_bad=cells["target_bad"],
        human_n=None if human_n is None else int(human_n),
        extra=extra,
        **values,
    )


def _extra_name(name: str) -> str:
    taken = {column.name for column in COLUMNS} | {"flags"}
    return f"{name}_source" if name in taken else name


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else str(value)


def number_in(cell: str | None, where: str, column: str) -> float | None:
    """Return the number that a cell holds, None for an empty cell.

    Raises:
        CorpusError: no number, or one that is infinite or absurd.
    """
    if cell is None or cell.lower() in ("na", "nan"):
        return None
    try:
        value = float(cell)
    except ValueError as error:
        raise CorpusError(f"{where}: column {column!r} holds {cell!r}, expected a number or an empty cell") from error
    if not math.isfinite(value) or abs(value) > MOST_POINTS:
        raise CorpusError(
            f"{where}: column {column!r} holds {cell!r}, expected a finite number of at most {MOST_POINTS:g}, or an "
            "empty cell: correct or empty it"
        )
    return value
