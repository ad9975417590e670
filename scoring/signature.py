"""What a number's signature is, and the files that carry it.

A signature is JSON in a table's metadata, one line for a reader, and what it says of the items. A scored table is
written as its suffix says: `.parquet` (or no suffix) carries the signature and is what everything here reads; `.csv`,
`.tsv`, `.jsonl` and `.xlsx` have it in `NAME.signature.json` beside them, a list as JSON in a cell.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from pairbank.builders.schema.columns import DESIGN
from pairbank.declarations import StoredRecord, problems_of
from pairbank.errors import BankError, OutputError
from pairbank.files import (
    defused,
    read_json,
    read_parquet,
    replaced_atomically,
    sha256_of_text,
    sha256_of_texts,
    write_bytes,
    write_json,
    write_parquet,
    write_text,
)
from pairbank.scoring.api.layout import MethodLayout

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

METADATA_KEY = b"pairbank"
"""Key of the signature in the schema metadata of a parquet file."""
RENDERED_KEY = b"pairbank prompts"
"""Key of the prompts as the model read them, which are no part of the signature; older tables have none."""
MOST_FILES_SHOWN = 3
SHARED = ("methods", "corpus")
PARQUET = ".parquet"
COPIES = (".csv", ".tsv", ".jsonl", ".xlsx")
BOM = b"\xef\xbb\xbf"
SHEET_ROWS, CELL_CHARACTERS = 1_048_576, 32_767
"""What Excel takes."""
SHEET_CREATED = datetime(1980, 1, 1)  # noqa: DTZ001 - a workbook's times have no zone
"""Stated by every workbook: with the time of writing, no two would have the same bytes."""


def signature_json(signature: Mapping[str, Any]) -> bytes:
    return json.dumps(signature, ensure_ascii=False).encode()


def shared(signature: Mapping[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """Share equal methods and corpora with the signatures before: each of a bank's thousands would hold a copy."""
    held = cast("dict[str, Any]", signature)
    for name in SHARED:
        if name in held:
            held[name] = parts.setdefault(json.dumps(held[name]), held[name])
    return held


def signature_line(signature: Mapping[str, Any]) -> str:
    model, corpus, tables = signature["model"], signature["corpus"], signature["model"].get("unigrams") or ()
    layouts = (MethodLayout.from_dict(definition["layout"]) for definition in signature["methods"].values())
    counts = "+".join(f"{'/'.join(t['languages']) or 'unknown'}#{t['documents_sha256'][:8]}" for t in tables)
    parts = {
        "model": f"{model['model_id']}@{model['revision'][:12]}",
        "dtype": model["dtype"],
        "quant": model["quantisation"] or "none",
        "format": model["prompt_format"],
        "bos": f"{model['bos_policy']}({' '.join(map(str, model.get('prefix_ids') or [model['bos_id']]))})",
        **({"pll": model["pll"]} if model.get("pll") else {}),
        **({"mode": model["seq2seq_mode"]} if model.get("seq2seq_mode") else {}),
        **({"unigrams": counts} if counts else {}),
        "unit": "+".join(dict.fromkeys(layout.unit_in_words.replace(" ", "-") for layout in layouts)),
        "data": f"{corpus['name']}@{corpus['version']}#{corpus['items_sha256'][:8]}",
        "seed": str(signature["seed"]),
        "v": signature["pairbank"],
    }
    if "imported" in signature:
        parts["imported"] = signature["imported"]["sha256"][:12]
    return "|".join(f"{key}:{value}" for key, value in parts.items())


class RenderedPrompt(StoredRecord):
    """A presentation of a method as the model reads it: after its chat template, special tokens included.

    The item's slots stay open (`{good}`), so that it holds no text of a corpus.
    """

    method: str
    language: str
    presentation: str
    text: str


_PROMPTS = TypeAdapter(tuple[RenderedPrompt, ...])


def with_prompts(table: pa.Table, prompts: Sequence[Mapping[str, str]]) -> pa.Table:
    """Return a table whose file will carry these prompts."""
    more = {RENDERED_KEY: json.dumps(prompts, ensure_ascii=False).encode()} if prompts else {}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **more})


def prompts_of_table(table: pa.Table, where: str | Path) -> tuple[RenderedPrompt, ...]:
    """Return the prompts that a table or its file carries; none of one by an earlier version or imported."""
    try:
        return _PROMPTS.validate_json((table.schema.metadata or {}).get(RENDERED_KEY, b"[]"))
    except ValidationError as error:
        raise BankError(f"{where}: its rendered prompts are not pairbank's ({error.errors()[0]['msg']})") from error


class _SignedModel(StoredRecord):
    name: str
    slug: str
    model_id: str
    revision: str
    dtype: str
    prompt_format: str


class _SignedCorpus(StoredRecord):
    name: str
    version: str
    items_sha256: str
    n_items: int
    unpinned_files: tuple[str, ...] = ()


class _SignedMethod(StoredRecord):
    sha256: str
    layout: MethodLayout
    columns: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()


class Signature(StoredRecord):
    model: _SignedModel
    corpus: _SignedCorpus
    methods: dict[str, _SignedMethod] = Field(min_length=1)
    seed: int | str
    pairbank: str

    @model_validator(mode="after")
    def _of_itself(self) -> Self:
        for name, method in self.methods.items():
            if method.layout.method != name:
                raise ValueError(f"the layout of method {name!r} is that of {method.layout.method!r}")
        return self


def signature_problems(signature: Any) -> list[str]:  # noqa: ANN401 - JSON is any
    """Return what of a signature is missing or of another type than ours; none = every reader can use it."""
    return problems_of(Signature, signature)


def formula_sha256(name: str, formula: str) -> str:
    return sha256_of_text(name, formula, "0", "")


def method_hashes(signature: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of each method of a signature, by which two tables are scored alike or not.

    Until version 0.1.0 the definition of a linking function held the model's vocabulary or unigram counts, and its
    hash with them; such a method has the hash of its formula, as it has now.

    >>> old = {"sha256": "of gpt2", "formula": "f", "n_vocabulary": 50257}
    >>> method_hashes({"methods": {"m": old}}) == {"m": formula_sha256("m", "f")}
    True
    """
    return {
        name: formula_sha256(name, definition["formula"])
        if "formula" in definition and ("n_vocabulary" in definition or "unigrams" in definition)
        else definition["sha256"]
        for name, definition in signature["methods"].items()
    }


def corpus_signature(items: datasets.Dataset, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a signature says of the items: name, version, and a hash of ids and texts."""
    names = ["item_id", "context_good", "target_good", "context_bad", "target_bad"]
    # a batch at a time: as Python strings, all texts together would outweigh everything else that scoring holds
    batches = items.with_format(None).select_columns(names).iter(batch_size=1_000)
    rows = (row for batch in batches for row in zip(*(batch[name] for name in names), strict=True))
    results = {
        "name": items["corpus"][0],
        "version": manifest.get("version", ""),
        "n_items": len(items),
        "items_sha256": sha256_of_texts(repr(row) for row in rows),
        "manifest": manifest,
    }
    unpinned = sorted(name for name, file in manifest.get("files", {}).items() if file.get("verified") is False)
    return results | ({"unpinned_files": unpinned} if unpinned else {})


def design_of(signature: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return factors, item sets and fillers as the manifest of the corpus states them; empty where it states none."""
    manifest = signature.get("corpus", {}).get("manifest") or {}
    return (manifest.get("facts") or {}).get(DESIGN) or {}


def unpinned_note(signature: Mapping[str, Any]) -> str | None:
    """Return a sentence where a corpus was not built from the pinned upstream files, or None."""
    corpus = signature["corpus"]
    files = corpus.get("unpinned_files") or ()
    if not files:
        return None
    shown = ", ".join(files[:MOST_FILES_SHOWN]) + (" …" if len(files) > MOST_FILES_SHOWN else "")
    return (
        f"Corpus {corpus['name']} was built from files that are not the pinned ones: {shown}. Its rows may differ "
        "from those published."
    )


def refuse_other_suffixes(path: Path) -> None:
    """Refuse a file that could not be written, before hours go by."""
    if path.suffix.lower() not in ("", PARQUET, *COPIES):
        raise OutputError(
            f"{path}: cannot tell from {path.suffix!r} what kind of file to write; expected "
            f"{PARQUET} (which bank and report read) or, for other programs, {', '.join(COPIES)}"
        )


def signature_at(path: Path) -> Mapping[str, Any] | None:
    """Return the signature of the scored table in a file that is about to be replaced, None where there is no file."""
    if not path.is_file():
        return None
    beside = signature_beside(path)
    with contextlib.suppress(BankError, ValueError):
        if path.suffix.lower() in COPIES:
            stated = read_json(beside) if beside.is_file() else None
        else:
            metadata = read_parquet(path, columns=()).schema.metadata or {}
            stated = json.loads(metadata[METADATA_KEY]) if METADATA_KEY in metadata else None
        if isinstance(stated, dict) and not signature_problems(stated):
            return stated
    raise OutputError(f"{path} holds something other than scores, and would be lost; choose another name, or move it")


def write_scored(path: Path, table: pa.Table, signature: Mapping[str, Any] | None, *, bom: bool = False) -> None:
    """Write a table with its signature; one that holds no scores, such as ratings, has none."""
    refuse_other_suffixes(path)
    kind = path.suffix.lower()
    if kind in COPIES:
        _WRITERS[kind](path, table, bom)
        if signature is not None:
            write_json(signature_beside(path), dict(signature))
    elif signature is None:
        write_parquet(path, table)
    else:
        metadata = {**(table.schema.metadata or {}), METADATA_KEY: signature_json(signature)}
        write_parquet(path, table.replace_schema_metadata(metadata))


def signature_beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.signature.json")


def _delimited(path: Path, table: pa.Table, bom: bool, *, delimiter: str = ",") -> None:  # noqa: FBT001 - as its kin
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if bom else "\n")
    writer.writerow([defused(name) for name in table.column_names])
    for row in _rows(table):
        writer.writerow([defused(cell) if isinstance(cell, str) else _number(cell) for cell in row])
    write_bytes(path, (BOM if bom else b"") + out.getvalue().encode("utf-8"))


def _json_lines(path: Path, table: pa.Table, _bom: bool) -> None:  # noqa: FBT001 - as its kin
    names = table.column_names
    rows = ({k: _plain(v) for k, v in zip(names, row, strict=True)} for row in _values(table))
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    write_text(path, "".join(f"{line}\n" for line in lines))


def _sheet(path: Path, table: pa.Table, _bom: bool) -> None:  # noqa: FBT001 - as its kin
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    if len(table) >= SHEET_ROWS:
        raise OutputError(f"{path}: {len(table):,} rows, and a sheet takes {SHEET_ROWS - 1:,}; write .parquet or .csv")
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with replaced_atomically(path) as temporary:
        try:
            with xlsxwriter.Workbook(temporary, options) as book:
                book.set_properties({"created": SHEET_CREATED})
                sheet = book.add_worksheet("scores")
                sheet.freeze_panes(1, 1)
                bold = book.add_format({"bold": True})
                for column, name in enumerate(table.column_names):
                    sheet.write_string(0, column, name, bold)
                for number, row in enumerate(_rows(table), 1):
                    for column, cell in enumerate(row):
                        if isinstance(cell, str) and len(cell) > CELL_CHARACTERS:
                            raise OutputError(
                                f"{path}, {row[0]}: {table.column_names[column]} has {len(cell):,} characters, and a "
                                f"cell of a workbook takes {CELL_CHARACTERS:,}; write .parquet or .csv"
                            )
                        if isinstance(cell, str):
                            sheet.write_string(number, column, cell)
                        elif cell is not None and math.isfinite(cell):
                            sheet.write_number(number, column, cell)
        except FileCreateError as error:  # wraps the operating system's error
            raise next((arg for arg in error.args if isinstance(arg, OSError)), OSError(str(error))) from error


def _rows(table: pa.Table) -> Iterator[list[str | int | float | None]]:
    """Yield the rows as cells: a list as JSON, a truth value as 1 or 0."""
    for row in _values(table):
        yield [_cell(value) for value in row]


def _values(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows; a number of single precision is the one of fewest digits (2.1, not 2.0999999046325684)."""
    for batch in table.to_batches():
        columns = [column.to_pylist() for column in batch.columns]
        for place, kind in enumerate(batch.schema.types):
            if str(kind) == "float":
                columns[place] = [None if value is None else float(str(np.float32(value))) for value in columns[place]]
        yield from zip(*columns, strict=True)


def _cell(value: Any) -> str | int | float | None:  # noqa: ANN401 - any value of a table
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return json.dumps(_plain(value), ensure_ascii=False)


def _number(cell: float | None) -> str:
    """Return a number so that it reads back as the same one; NaN as R and pandas know it."""
    return "" if cell is None else "NaN" if cell != cell else repr(cell)  # noqa: PLR0124 - NaN


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a table
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_plain(cell) for cell in value]
    return value


_WRITERS: Mapping[str, Callable[[Path, Any, bool], None]] = {
    ".csv": _delimited,
    ".tsv": functools.partial(_delimited, delimiter="\t"),
    ".jsonl": _json_lines,
    ".xlsx": _sheet,
}
