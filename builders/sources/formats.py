"""How a table is written down, where a map says so, and reading it strictly, from bytes; nothing is guessed."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from pairbank.builders.sources.readers import decode, named_rows, parsed_json, read_json_lines, records
from pairbank.builders.sources.sheets import read_sheet
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError

REPAIRS = "repairs:flags"
"""Key of a row that holds the flags of its repairs."""


class Repair(Declaration):
    """A fault of a text file that makes a line unreadable: what is replaced, and the flag of its row."""

    find: str
    put: str
    flag: str


class TableFormat(Declaration):
    """How a table is written down; an empty value is not stated."""

    encoding: str | None = None
    delimiter: Annotated[str, Field(max_length=1)] = ""
    quotes: bool = True
    """False: a quotation mark is a character like any other."""
    header: tuple[str, ...] = ()
    sheet: str | None = None
    """Of a workbook with several."""
    hidden: bool = False
    """Of a workbook: whether rows that are hidden or struck through are read."""
    results: bool = False
    """Whether the file, folder or zip is results of an experiment program, with one row per judgment made of them."""
    repairs: tuple[Repair, ...] = ()
    missing: tuple[str, ...] = ("NA", "NaN", "<NA>", "#N/A")
    """Cells of sentences and classes in which R, pandas and spreadsheets write that there is no value."""


NOTHING_SAID = TableFormat()


def table_rows_of(data: bytes, suffix: str, how: TableFormat, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if suffix == ".xlsx":
        rows = read_sheet(data, how.sheet, hidden=how.hidden, where=where).rows
        yield from _with_header(padded(iter(rows), how.header), how, where)
        return
    if suffix == ".pickle":
        yield from _pickled(data, where)
        return
    text = decode(data, where, how.encoding or "utf-8-sig")
    if suffix == ".jsonl":
        yield from read_json_lines(text.split("\n"), where=where)
    elif suffix == ".json":
        yield from json_rows(text, where)
    else:
        yield from _delimited(text, how.delimiter or ("," if suffix == ".csv" else "\t"), how, where)


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, lists and dicts; a pickle that names a class or function could run code, and is refused."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as its base has it
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only plain data are read")


def _pickled(data: bytes, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a pickled dict from a condition to tuples of sentences; columns 0, 1, 2 and `condition`."""
    try:
        result = _Plain(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise CorpusError(f"{where}: not a pickle of plain data ({error}); get the file again") from error
    if not isinstance(result, dict) or not all(isinstance(rows, list) for rows in result.values()):
        raise CorpusError(f"{where}: expected a dict from conditions to lists of sentences; get the file again")
    pairs = ((condition, row) for condition, rows in result.items() for row in rows)
    for number, (condition, row) in enumerate(pairs, 1):
        if not isinstance(row, tuple | list) or not all(isinstance(text, str) for text in row):
            raise CorpusError(
                f"{where}, row {number}: {str(row)[:80]!r}, expected a tuple of sentences; get the file again"
            )
        yield number, {"condition": str(condition)} | {str(place): text for place, text in enumerate(row)}


def padded(rows: Iterator[tuple[int, list[str]]], header: Sequence[str] = ()) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a sheet, which end with their last filled cell, as wide as its header or its first row."""
    width = len(header)
    for number, cells in rows:
        width = width or len(cells)
        yield number, cells + [""] * (width - len(cells))


def json_rows(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, row) of a JSON file that holds one list of rows; a row that is a list has columns 0, 1, 2."""
    result = parsed_json(text, where)
    if not isinstance(result, list):
        raise CorpusError(
            f"{where}: a {type(result).__name__}, expected a list of rows; write one object a line (.jsonl)"
        )
    for number, row in enumerate(result, 1):
        if isinstance(row, list):
            yield number, {str(place): cell for place, cell in enumerate(row)}
        elif isinstance(row, dict):
            yield number, row
        else:
            raise CorpusError(f"{where}, row {number}: a {type(row).__name__}, expected an object or a list")


def _delimited(text: str, delimiter: str, how: TableFormat, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    flags: dict[int, list[str]] = {}
    lines = repaired(io.StringIO(text, newline=""), how.repairs, flags)
    for number, row in _with_header(records(lines, where=where, delimiter=delimiter, quotes=how.quotes), how, where):
        yield number, row | ({REPAIRS: flags[number]} if number in flags else {})


def repaired(lines: Iterable[str], repairs: Sequence[Repair], flags: dict[int, list[str]]) -> Iterator[str]:
    """Yield lines with their faults repaired; `flags` gets the number and the flags of each line that had one."""
    for number, line in enumerate(lines, 1):
        text = line
        for repair in repairs:
            if repair.find in text:
                flags.setdefault(number, []).append(repair.flag)
                text = text.replace(repair.find, repair.put)
        yield text


def _with_header(
    rows: Iterator[tuple[int, list[str]]], how: TableFormat, where: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    names = list(how.header) or next(rows, (0, []))[1]
    if not names:
        raise CorpusError(f"{where}: empty file; expected a header and at least one row")
    if repeated := sorted({name for name in names if name and names.count(name) > 1}):
        raise CorpusError(f"{where}: column {repeated[0]!r} occurs {names.count(repeated[0])} times in the header")
    yield from named_rows(rows, names, where=where, delimiter=how.delimiter or ",")
