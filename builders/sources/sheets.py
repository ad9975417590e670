"""Sheets of an .xlsx workbook to rows of text, as a spreadsheet shows them.

Merged cells hold their value in all their rows. A number that Excel shows as a date is refused: 6.5 typed into a German
Excel is the 6th of May. What python-calamine cannot tell (errors, hidden rows, strokes) is read from the parts.
"""

from __future__ import annotations

import datetime as dt
import functools
import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairbank.builders.sources.source import MAX_UNPACKED_BYTES
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import reading

_REMEDY = "save it again in a spreadsheet, as .xlsx, or export it as 'CSV UTF-8'"
_NO_WORKBOOK = "not a readable .xlsx workbook"
MOST_CELLS = 50_000_000
"""Of the rectangle around all cells of a sheet, which is held in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    name: str
    is_only: bool
    rows: tuple[tuple[int, list[str]], ...]
    """(row number, cells) of every row with a cell, in order."""
    n_hidden: int
    n_struck: int
    """Rows that are left out because all their cells are struck through."""


def read_sheet(file: Path | bytes, sheet: str | None = None, *, hidden: bool = False, where: str = "") -> Sheet:
    """Return one sheet of a workbook; `hidden`: with rows that are hidden or struck through; `where`: of bytes."""
    from python_calamine import CalamineError, CalamineWorkbook

    where = where or str(file)
    with reading(where, CorpusError):
        data = file if isinstance(file, bytes) else file.read_bytes()
    with reading(where, CorpusError, saying=_NO_WORKBOOK, remedy=_REMEDY):
        parts = _Parts(data=data, where=where)
        paths = parts.sheets()
    if sheet is None and len(paths) > 1:
        raise CorpusError(
            f"{where}: {len(paths)} sheets ({', '.join(paths)}); say which in a map: sheet = {next(iter(paths))!r}"
        )
    if sheet is not None and sheet not in paths:
        raise unknown_name(f"sheet of {where}", sheet, paths)
    name = next(iter(paths)) if sheet is None else sheet
    left_out = parts.marked_rows(paths[name])
    try:
        table = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_name(name)
        cells = table.to_python(skip_empty_area=False)
    except (CalamineError, ValueError, OverflowError) as error:
        raise CorpusError(f"{where}: {_NO_WORKBOOK} ({error}); {_REMEDY}") from error
    for (first, column), (last, _) in table.merged_cell_ranges or []:
        for row in cells[first + 1 : last + 1]:
            if column < len(row):
                row[column] = cells[first][column]
    numbered = ((number, row) for number, row in enumerate(cells, 1) if hidden or number not in left_out)
    rows = ((number, _texts(row, number, where)) for number, row in numbered)
    kinds = [] if hidden else [*left_out.values()]
    return Sheet(
        name=name,
        is_only=len(paths) == 1,
        rows=tuple((number, texts) for number, texts in rows if texts),
        n_hidden=kinds.count("hidden"),
        n_struck=kinds.count("struck"),
    )


def _texts(row: list[Any], number: int, where: str) -> list[str]:
    """Return the cells of a row as text, without the empty ones at its end."""
    texts = [_text(value, f"{where}, cell {_reference(place, number)}") for place, value in enumerate(row)]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _text(value: object, where: str) -> str:
    """Return a cell as text.

    >>> [_text(value, "") for value in (7.0, 0.1, True, "a ", 2.0**60)]
    ['7', '0.1', 'true', 'a ', '1.152921504606847e+18']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        raise CorpusError(
            f"{where}: a date or time ({value}), perhaps a number that the spreadsheet turned into one; format the "
            "column as text or number, type the value again, and save the workbook"
        )
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def _reference(place: int, row: int) -> str:
    """Return the name of a cell.

    >>> _reference(0, 1), _reference(27, 3)
    ('A1', 'AB3')
    """
    letters = ""
    while place >= 0:
        place, letter = place // 26 - 1, chr(ord("A") + place % 26)
        letters = letter + letters
    return f"{letters}{row}"


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """The parts of a workbook, whatever namespace they are in (ECMA-376 has a strict and a transitional one)."""

    data: bytes
    where: str

    def sheets(self) -> Mapping[str, str]:
        """Return sheet name -> the part that holds it, in the order of the workbook."""
        relations = self._xml("xl/_rels/workbook.xml.rels")
        targets = {relation.get("Id"): relation.get("Target") or "" for relation in relations}
        results = {}
        for sheet in _named(self._xml("xl/workbook.xml"), "sheet"):
            identifier = next((value for key, value in sheet.attrib.items() if key.endswith("}id")), None)
            target = targets.get(identifier, "")
            results[sheet.get("name") or ""] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        if not results:
            raise CorpusError(f"{self.where}: a workbook without sheets; {_REMEDY}")
        return results

    def marked_rows(self, path: str) -> Mapping[int, str]:
        """Return row number -> "hidden" or "struck"; refuse cells with errors, and sheets that do not fit in memory."""
        struck_styles, marked = self._struck_styles(), {}
        number = n_columns = 0
        for row in _named(self._xml(path), "row"):
            number, named = number + 1, row.get("r")
            if named is not None:
                if not (named.isdecimal() and len(named) < 8):
                    raise CorpusError(f"{self.where}: a row has the number {named[:40]!r}; {_REMEDY}")
                number = int(named)
            cells = [cell for cell in _named(row, "c") if len(cell)]
            for cell in cells:
                if cell.get("t") == "e":
                    text = "".join(cell.itertext())
                    raise CorpusError(
                        f"{self.where}, cell {cell.get('r')}: holds the error {text}; correct or empty it"
                    )
            stated = (cell.get("r") for cell in cells)
            n_columns = max([n_columns, len(cells), *(_n_column(name, self.where) for name in stated if name)])
            if row.get("hidden") in ("1", "true") and cells:
                marked[number] = "hidden"
            elif cells and all(cell.get("s") in struck_styles for cell in cells):
                marked[number] = "struck"
        if number * n_columns > MOST_CELLS:
            raise CorpusError(
                f"{self.where}: its cells reach to row {number:,} and column {n_columns:,}; delete what stands far "
                "below or beside the table"
            )
        return marked

    def _struck_styles(self) -> frozenset[str]:
        if "xl/styles.xml" not in self._archive.namelist():
            return frozenset()
        root = self._xml("xl/styles.xml")
        fonts = [
            any(line.get("val") not in ("0", "false") for line in _named(font, "strike"))
            for fonts in _named(root, "fonts")
            for font in fonts
        ]
        formats = [style.get("fontId") or "0" for formats in _named(root, "cellXfs") for style in formats]
        struck = {str(number) for number, is_struck in enumerate(fonts) if is_struck}
        return frozenset(str(number) for number, font in enumerate(formats) if font in struck)

    @property
    def _archive(self) -> zipfile.ZipFile:
        archive = zipfile.ZipFile(io.BytesIO(self.data))
        if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED_BYTES:
            raise CorpusError(f"{self.where}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20:,} MiB; {_REMEDY}")
        if any(info.flag_bits & 1 for info in archive.infolist()):
            raise CorpusError(f"{self.where}: is protected by a password; save it without one")
        return archive

    def _xml(self, name: str) -> ET.Element:
        with reading(self.where, CorpusError, saying=_NO_WORKBOOK, remedy=_REMEDY):
            archive = self._archive
            if name not in archive.namelist():
                raise CorpusError(f"{self.where}: not a workbook, it lacks {name}; {_REMEDY}")
            data = archive.read(name)
        if b"<!DOCTYPE" in data[:1024] or b"<!ENTITY" in data:
            raise CorpusError(
                f"{self.where}: {name} declares entities, which no workbook does; the file is not to be trusted"
            )
        try:
            return ET.fromstring(data)  # noqa: S314 - of a limited size, and without entities
        except (ET.ParseError, LookupError, ValueError) as error:  # an encoding that there is not, one of many bytes
            raise CorpusError(f"{self.where}: {name} is broken ({error}); {_REMEDY}") from error


def _named(element: ET.Element, name: str) -> Iterator[ET.Element]:
    return (child for child in element.iter() if child.tag.rpartition("}")[2] == name)


def _n_column(reference: str, where: str) -> int:
    stated = re.fullmatch(r"([A-Za-z]{1,3})\d{1,7}", reference)
    if stated is None:
        raise CorpusError(f"{where}: no cell {reference[:40]!r}; {_REMEDY}")
    return functools.reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, stated[1].upper(), 0)
