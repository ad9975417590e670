"""Sheets of an .xlsx workbook to rows of text, with the standard library alone.

In: the bytes of a workbook, perhaps the name of one of its sheets. Out: (row number, cells) of every row that has any;
a number is written as short as it can be, an empty cell is "". Of a formula what Excel shows is read.
A number that Excel shows as a date is refused with its cell: 6.5 typed into a German Excel is the 6th of May, a day
number where a rating was meant. ECMA-376, parts 18.3, 18.4 and 18.8.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pairbank.builders.sources.source import MAX_UNPACKED_BYTES
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import reading

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_ESCAPE = re.compile(r"_x((?![Dd][89A-Fa-f])[0-9A-Fa-f]{4})_")
"""How a workbook writes what XML cannot have, and `_x005F_` for an underscore that would look like it."""
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d+)")
_LAST_COLUMN = 16_384
_BUILT_IN_DATES = frozenset(str(n) for n in (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_LITERAL = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|_.|General', re.IGNORECASE)
"""What of a number format is shown as it stands: quoted text, colours, locales; `[h]` is elapsed time."""
_DATE_CODE = re.compile(r"[ymdhs]", re.IGNORECASE)
_REMEDY = "save it again in a spreadsheet, as .xlsx, or export it as 'CSV UTF-8'"


def sheet_names(path: Path) -> tuple[str, ...]:
    """Return the names of a workbook's sheets, in their order."""
    with reading(path, CorpusError):
        data = path.read_bytes()
    return tuple(_sheets(_members(data, str(path)), str(path)))


def sheet_rows(path: Path, sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (row number, cells) of one sheet; errors as for `rows_of_workbook`."""
    with reading(path, CorpusError):
        data = path.read_bytes()
    yield from rows_of_workbook(data, str(path), sheet)


def rows_of_workbook(data: bytes, where: str, sheet: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (row number, cells) of one sheet of a workbook."""
    members = _members(data, where)
    sheets = _sheets(members, where)
    if sheet is None and len(sheets) > 1:
        raise CorpusError(
            f"{where}: {len(sheets)} sheets ({', '.join(sheets)}); say which in a map: sheet = {next(iter(sheets))!r}"
        )
    if sheet is not None and sheet not in sheets:
        raise unknown_name(f"sheet of {where}", sheet, sheets)
    strings = _shared_strings(members, where)
    dates = _date_styles(members, where)
    root = _xml(members, sheets[sheet if sheet is not None else next(iter(sheets))], where)
    for number, row in enumerate(root.iter(f"{_MAIN}row"), 1):
        cells: dict[int, str] = {}
        for place, cell in enumerate(row.iter(f"{_MAIN}c")):
            if text := _text(cell, strings, dates, where):
                cells[_column(cell.get("r"), place, where)] = text
        if cells:
            yield _row_number(row.get("r"), number, where), [cells.get(place, "") for place in range(max(cells) + 1)]


def _row_number(stated: str | None, number: int, where: str) -> int:
    if stated is None:
        return number
    if not (stated.isdecimal() and len(stated) < 8):
        raise CorpusError(f"{where}: a row has the number {stated[:40]!r}; {_REMEDY}")
    return int(stated)


def _members(data: bytes, where: str) -> dict[str, bytes]:
    """Return the parts of a workbook by name."""
    with reading(where, CorpusError, saying="not a readable .xlsx workbook", remedy=_REMEDY):
        archive = zipfile.ZipFile(io.BytesIO(data))
        requested = [info for info in archive.infolist() if info.filename.endswith((".xml", ".rels"))]
        if sum(info.file_size for info in requested) > MAX_UNPACKED_BYTES:
            raise CorpusError(f"{where}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20:,} MiB; {_REMEDY}")
        if any(info.flag_bits & 1 for info in archive.infolist()):
            raise CorpusError(f"{where}: is protected by a password; save it without one")
        return {info.filename: archive.read(info) for info in requested}


def _xml(members: dict[str, bytes], name: str, where: str) -> ET.Element:
    data = members.get(name)
    if data is None:
        raise CorpusError(f"{where}: not a workbook, it lacks {name}; {_REMEDY}")
    if b"<!DOCTYPE" in data[:1024] or b"<!ENTITY" in data:
        raise CorpusError(f"{where}: {name} declares entities, which no workbook does; the file is not to be trusted")
    try:
        return ET.fromstring(data)  # noqa: S314 - of a limited size, and without entities
    except (ET.ParseError, LookupError, ValueError) as error:  # an encoding that there is not, one of many bytes
        raise CorpusError(f"{where}: {name} is broken ({error}); {_REMEDY}") from error


def _sheets(members: dict[str, bytes], where: str) -> dict[str, str]:
    """Return sheet name -> the part that holds it."""
    relations = _xml(members, "xl/_rels/workbook.xml.rels", where)
    targets = {relation.get("Id"): relation.get("Target") or "" for relation in relations}
    results = {}
    for sheet in _xml(members, "xl/workbook.xml", where).iter(f"{_MAIN}sheet"):
        target = targets.get(sheet.get(_RELATION), "")
        results[sheet.get("name") or ""] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    if not results:
        raise CorpusError(f"{where}: a workbook without sheets; {_REMEDY}")
    return results


def _shared_strings(members: dict[str, bytes], where: str) -> list[str]:
    name = "xl/sharedStrings.xml"
    if name not in members:
        return []
    return [_plain(entry) for entry in _xml(members, name, where).iter(f"{_MAIN}si")]


def _plain(element: ET.Element) -> str:
    """Return the text of its runs; what is only a reading aid (furigana) is left out."""
    aids = {text for aid in element.iter(f"{_MAIN}rPh") for text in aid.iter(f"{_MAIN}t")}
    text = "".join(text.text or "" for text in element.iter(f"{_MAIN}t") if text not in aids)
    return _ESCAPE.sub(lambda result: chr(int(result[1], 16)), text)


def _date_styles(members: dict[str, bytes], where: str) -> frozenset[str]:
    """Return the styles of cells whose numbers a spreadsheet shows as dates or times, by their numbers."""
    name = "xl/styles.xml"
    if name not in members:
        return frozenset()
    root = _xml(members, name, where)
    codes = {entry.get("numFmtId"): entry.get("formatCode") or "" for entry in root.iter(f"{_MAIN}numFmt")}
    dates = {key for key, code in codes.items() if _DATE_CODE.search(_LITERAL.sub("", code))}
    formats = root.find(f"{_MAIN}cellXfs")
    kinds = [member.get("numFmtId") for member in (() if formats is None else formats)]
    return frozenset(str(n) for n, kind in enumerate(kinds) if kind in dates or kind in _BUILT_IN_DATES - codes.keys())


def _text(cell: ET.Element, strings: list[str], dates: frozenset[str], where: str) -> str:
    kind, value = cell.get("t", "n"), cell.find(f"{_MAIN}v")
    if kind == "inlineStr":
        return _plain(cell)
    text = "" if value is None else value.text or ""
    if kind == "s":
        if not (text.isdecimal() and int(text) < len(strings)):
            raise CorpusError(f"{where}, cell {cell.get('r')}: no shared string {text!r}; {_REMEDY}")
        return strings[int(text)]
    if kind == "e":
        raise CorpusError(f"{where}, cell {cell.get('r')}: holds the error {text}; correct or empty it")
    if kind == "b":
        return "true" if text == "1" else "false"
    if kind == "d" or (kind == "n" and text and cell.get("s") in dates):
        raise CorpusError(
            f"{where}, cell {cell.get('r')}: a date or time ({text}), perhaps a number that the spreadsheet turned "
            "into one; format the column as text or number, type the value again, and save the workbook"
        )
    if kind != "n" or not text:
        return _ESCAPE.sub(lambda result: chr(int(result[1], 16)), text)
    try:
        return _short(text)
    except ValueError as error:
        raise CorpusError(f"{where}, cell {cell.get('r')}: {text[:40]!r} is no number; {_REMEDY}") from error


def _short(text: str) -> str:
    """Return a number as short as it can be: a workbook writes 0.1 as 0.10000000000000001.

    >>> _short("7"), _short("7.0"), _short("0.10000000000000001")
    ('7', '7', '0.1')
    """
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _column(reference: str | None, place: int, where: str) -> int:
    """Return the place of a cell in its row, by its reference: `B7` is 1."""
    if reference is None:
        return place
    result = _REFERENCE.fullmatch(reference)
    number = 0
    for letter in result[1] if result else "":
        number = number * 26 + ord(letter) - ord("A") + 1
    if not 0 < number <= _LAST_COLUMN:
        raise CorpusError(f"{where}: no cell {reference!r}; {_REMEDY}")
    return number - 1
