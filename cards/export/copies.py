"""Tables as files for other programs: in, banks and parquet files; out, a CSV, TSV, JSON-lines or .xlsx file each.

For R without arrow, spreadsheets and scripts: a list is JSON in a cell, a scored table's signature stands beside it.
Beside a .csv or .tsv file stands `FILE-metadata.json`, which says in the terms of CSV on the Web (W3C 2015) what its
columns are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pairbank.cards.bank.layout import LONG, MANIFEST, data_files, read_manifest
from pairbank.errors import OutputError, unknown_name
from pairbank.files import read_parquet, write_json
from pairbank.scoring.signature import METADATA_KEY
from pairbank.scoring.table_files import COPIES, PARQUET, write_copy

_DELIMITERS = {"csv": ",", "tsv": "\t"}
KINDS = tuple(suffix.removeprefix(".") for suffix in COPIES)


def export_copies(
    sources: Sequence[str | Path], out: str | Path, *, kind: str = "csv", bom: bool = False
) -> list[Path]:
    """Write each table as a file of another kind; return the files.

    Args:
        sources: parquet files (scored tables, items, ratings, results), and folders of banks, of which every table is
            written under its path in the bank.
        out: a folder.
        kind: csv, tsv, jsonl or xlsx.
        bom: begin a CSV or TSV file with a byte-order mark, by which Excel knows that it is UTF-8.

    Raises:
        UnknownNameError: another kind.
        BankError: a file that is no readable table, or a folder that is no bank.
        OutputError: two tables would be one file, or a table is more than a sheet takes.
    """
    if kind not in KINDS:
        raise unknown_name("format", kind, KINDS)
    places: dict[Path, Path] = {}
    for table, place in _tables(map(Path, sources)):
        target = Path(out) / place.with_suffix(f".{kind}")
        if target in places:
            raise OutputError(f"{table} and {places[target]} would both be {target}; give each a folder of its own")
        places[target] = table
    for target, path in places.items():
        table = read_parquet(path)
        signature = (table.schema.metadata or {}).get(METADATA_KEY)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_copy(target, table, json.loads(signature) if signature else None, bom=bom)
        if kind in _DELIMITERS:
            write_json(target.with_name(f"{target.name}-metadata.json"), _csvw(target, table, bom=bom))
    return list(places)


def _csvw(path: Path, table: pa.Table, *, bom: bool) -> dict[str, Any]:
    """Return what CSV on the Web says of a file: how cells are delimited, and each column's name and type."""
    key = {"primaryKey": "item_id"} if _has_ids(table) else {}
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": path.name,
        "dialect": {"delimiter": _DELIMITERS[path.suffix.lstrip(".")], "encoding": "utf-8-sig" if bom else "utf-8"},
        "tableSchema": {
            "columns": [
                {"name": field.name, "titles": field.name, "datatype": _datatype(field.type)} for field in table.schema
            ],
            **key,
        },
    }


def _has_ids(table: pa.Table) -> bool:
    """Return whether a row is an item: no id stands twice."""
    return "item_id" in table.column_names and len(table["item_id"].unique()) == len(table)


def _datatype(kind: pa.DataType) -> str:
    if pa.types.is_nested(kind):
        return "json"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    return "double" if pa.types.is_floating(kind) else "string"


def _tables(sources: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each parquet file and where its copy stands in the folder."""
    for source in sources:
        if (source / MANIFEST).is_file():
            paths = (path for path in data_files(read_manifest(source)) if not path.startswith(f"{LONG}/"))
            yield from ((source / path, Path(path)) for path in paths)
        elif source.is_dir():
            read_manifest(source)
        else:
            yield source, Path(source.name if source.suffix == PARQUET else f"{source.name}{PARQUET}")
