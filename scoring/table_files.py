"""A scored table to a file of the kind that its suffix names: parquet, or a copy for a spreadsheet, R or a script.

In: an Arrow table and its signature. Out: `.parquet` (or no suffix), which carries the signature and is what everything
here reads; or `.csv`, `.tsv`, `.jsonl`, `.xlsx` with the signature in `NAME.signature.json` beside it, a list as JSON
in a cell.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.errors import BankError, OutputError
from pairbank.files import (
    defused,
    read_json,
    read_parquet,
    replaced_atomically,
    write_bytes,
    write_json,
    write_parquet,
    write_text,
)
from pairbank.scoring.signature import METADATA_KEY, signature_json, signature_problems

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = ".parquet"
COPIES = (".csv", ".tsv", ".jsonl", ".xlsx")
"""Suffixes of copies, for other programs."""
BOM = b"\xef\xbb\xbf"
SHEET_ROWS, CELL_CHARACTERS = 1_048_576, 32_767
"""What Excel takes."""
SHEET_CREATED = datetime(1980, 1, 1)  # noqa: DTZ001 - a workbook's times have no zone
"""Stated by every workbook: with the time of writing, no two would have the same bytes."""


def refuse_other_suffixes(path: Path) -> None:
    """Refuse a file that could not be written, before hours go by.

    Raises:
        OutputError: its suffix is none of ours.
    """
    if path.suffix.lower() not in ("", PARQUET, *COPIES):
        raise OutputError(
            f"{path}: cannot tell from {path.suffix!r} what kind of file to write; expected "
            f"{PARQUET} (which bank and report read) or, for other programs, {', '.join(COPIES)}"
        )


def signature_at(path: Path) -> Mapping[str, Any] | None:
    """Return the signature of the scored table in a file that is about to be replaced, None where there is no file.

    Raises:
        OutputError: the file is no scored table of pairbank's; it would be lost.
    """
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


def write_scored(path: Path, table: pa.Table, signature: Mapping[str, Any], *, bom: bool = False) -> None:
    """Write a scored table.

    Args:
        path: the file; its suffix says which kind.
        table: items and scores.
        signature: of the numbers.
        bom: begin a CSV or TSV file with a byte-order mark, by which Excel knows that it is UTF-8.

    Raises:
        OutputError: another suffix, or more than a sheet takes.
    """
    refuse_other_suffixes(path)
    kind = path.suffix.lower()
    if kind in ("", PARQUET):
        metadata = {**(table.schema.metadata or {}), METADATA_KEY: signature_json(signature)}
        write_parquet(path, table.replace_schema_metadata(metadata))
        return
    write_copy(path, table, signature, bom=bom)


def write_copy(path: Path, table: pa.Table, signature: Mapping[str, Any] | None, *, bom: bool = False) -> None:
    """Write a table as a file for another program.

    Args:
        path: the file; its suffix is one of `COPIES`.
        table: any table of pairbank's.
        signature: of its numbers, where it has scores.
        bom: as for `write_scored`.

    Raises:
        OutputError: more than a sheet takes.
    """
    _WRITERS[path.suffix.lower()](path, table, bom)
    if signature is not None:
        write_json(signature_beside(path), dict(signature))


def signature_beside(path: Path) -> Path:
    """Return where the signature of a copy stands."""
    return path.with_name(f"{path.name}.signature.json")


def write_unsigned(path: Path, table: pa.Table, *, bom: bool = False) -> None:
    """Write a table that holds no scores, such as ratings, as `write_scored` does but without a signature.

    Raises:
        OutputError: another suffix, or more than a sheet takes.
    """
    refuse_other_suffixes(path)
    kind = path.suffix.lower()
    if kind in ("", PARQUET):
        write_parquet(path, table)
    else:
        _WRITERS[kind](path, table, bom)


def _delimited(path: Path, table: pa.Table, bom: bool, *, delimiter: str = ",") -> None:  # noqa: FBT001 - as its kin
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if bom else "\n")
    writer.writerow([defused(name) for name in table.column_names])
    for row in _rows(table):
        writer.writerow([defused(cell) if isinstance(cell, str) else _number(cell) for cell in row])
    write_bytes(path, (BOM if bom else b"") + out.getvalue().encode("utf-8"))


def _tabbed(path: Path, table: pa.Table, bom: bool) -> None:  # noqa: FBT001 - as its kin
    _delimited(path, table, bom, delimiter="\t")


def _json_lines(path: Path, table: pa.Table, _bom: bool) -> None:  # noqa: FBT001 - as its kin
    names = table.column_names
    rows = ({k: _plain(v) for k, v in zip(names, row, strict=True)} for row in _values(table))
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    write_text(path, "".join(f"{line}\n" for line in lines))


def _sheet(path: Path, table: pa.Table, _bom: bool) -> None:  # noqa: FBT001 - as its kin
    import xlsxwriter

    if len(table) >= SHEET_ROWS:
        raise OutputError(f"{path}: {len(table):,} rows, and a sheet takes {SHEET_ROWS - 1:,}; write .parquet or .csv")
    with replaced_atomically(path) as temporary, _as_os_error():
        options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        with xlsxwriter.Workbook(temporary, options) as book:
            book.set_properties({"created": SHEET_CREATED})
            sheet = book.add_worksheet("scores")
            sheet.freeze_panes(1, 1)
            bold = book.add_format({"bold": True})
            for column, name in enumerate(table.column_names):
                sheet.write_string(0, column, name, bold)
            for number, row in enumerate(_rows(table), 1):
                for column, cell in enumerate(row):
                    if isinstance(cell, str):
                        _check_length(cell, f"{path}, {row[0]}: {table.column_names[column]}")
                        sheet.write_string(number, column, cell)
                    elif cell is not None and math.isfinite(cell):
                        sheet.write_number(number, column, cell)


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """Raise the operating system's error that the library wraps as one of its own."""
    from xlsxwriter.exceptions import FileCreateError

    try:
        yield
    except FileCreateError as error:
        raise next((arg for arg in error.args if isinstance(arg, OSError)), OSError(str(error))) from error


def _check_length(cell: str, where: str) -> None:
    if len(cell) > CELL_CHARACTERS:
        raise OutputError(
            f"{where} has {len(cell):,} characters, and a cell of a workbook takes {CELL_CHARACTERS:,}; write .parquet "
            "or .csv"
        )


def _rows(table: pa.Table) -> Iterator[list[str | int | float | None]]:
    """Yield the rows as cells: a list as JSON, a truth value as 1 or 0."""
    for row in _values(table):
        yield [_cell(value) for value in row]


def _values(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows; a number of single precision is the one of fewest digits (2.1, not 2.0999999046325684)."""
    for batch in table.to_batches():
        columns = [
            _short(column.to_pylist()) if str(column.type) == "float" else column.to_pylist()
            for column in batch.columns
        ]
        yield from zip(*columns, strict=True)


def _short(values: list[float | None]) -> list[float | None]:
    return [None if value is None else float(str(np.float32(value))) for value in values]


def _cell(value: Any) -> str | int | float | None:  # noqa: ANN401 - any value of a table
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    return json.dumps(_plain(value), ensure_ascii=False)


def _number(cell: float | None) -> str:
    """Return a number so that it reads back as the same one; NaN as R and pandas know it."""
    return "" if cell is None else "NaN" if cell != cell else repr(cell)  # noqa: PLR0124 - NaN


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a table
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


_WRITERS: Mapping[str, Callable[[Path, Any, bool], None]] = {
    ".csv": _delimited,
    ".tsv": _tabbed,
    ".jsonl": _json_lines,
    ".xlsx": _sheet,
}
