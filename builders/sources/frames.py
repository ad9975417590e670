"""Where a table begins in its file: what programs write above and beside it is told apart from its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

Records = Sequence[tuple[int, list[str]]]
COMMENT = "#"
_COLUMNS_BELOW = "# Columns below this comment are as follows"
_COLUMN = re.compile(r"#\s*(\d+)\.\s*(.+?)\.?\s*")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
ELEMENT, OWN_LOG = "PennElementType", "PennController"
"""Of PCIbex: the column that says what a row is of, and its value for what the experiment itself logs."""
SENTENCE = "Sentence (or sentence MD5)"
"""Of Ibex: the column of a row of its own, above the row of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    header: tuple[str, ...] = ()
    """"" where a column has no name; () = no header was found."""
    n_before: int = 0
    """Records before the first row."""
    notes: tuple[str, ...] = ()
    has_index: bool = False
    """Whether the first column holds row numbers or names, and is no column of the table."""
    is_pcibex: bool = False
    questions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Of Qualtrics: text and id of the question of each column."""


NO_FRAME = Frame()


def frame_of(records: Records, stated: Sequence[str] = ()) -> Frame:
    """Return where the table of some records begins.

    >>> frame_of([(1, ["Stimuli", ""]), (2, []), (3, ["good", "bad"]), (4, ["A b.", "B a."])])
    Frame(header=('good', 'bad'), n_before=3, notes=('rows above the header left out (the header is in row 3)',), has_index=False, is_pcibex=False)
    """  # noqa: E501 - a doctest
    if stated:
        return Frame(header=tuple(stated))
    if any(cells and cells[0].startswith(_COLUMNS_BELOW) for _, cells in records):
        names: tuple[str, ...] = ()
        for _, cells in records:
            if cells and not cells[0].startswith(COMMENT):
                notes_of = ("results of PCIbex: columns as its comments name them; %2C is a comma",)
                return Frame(header=names, notes=notes_of, is_pcibex=True)
            names = with_comment(names, ",".join(cells))
        return NO_FRAME
    place = _header_place(records)
    if place is None:
        return NO_FRAME
    number, cells = records[place]
    notes = [f"rows above the header left out (the header is in row {number})"] if place else []
    header, rows = list(cells), records[place + 1 :]
    n_before, questions = place + 1, tuple[tuple[str, str], ...]()
    ids = [cell for cell in rows[1][1] if cell.strip()] if len(rows) > 1 else []
    if ids and all('"ImportId"' in cell for cell in ids):
        notes.append(f"Qualtrics: rows {rows[0][0]} and {rows[1][0]} are the questions' texts and ids, no answers")
        questions = tuple(zip(rows[0][1], rows[1][1], strict=False))
        rows, n_before = rows[2:], n_before + 2
    filled = [cells for _, cells in rows if any(cell.strip() for cell in cells)]
    # R's `write.table` puts names before its rows, and none before the header
    is_wide = len(filled) > 1 and all(len(cells) == len(header) + 1 for cells in filled)
    is_wide = is_wide and not any(cells[1].startswith(" ") for cells in filled)
    if len(header) > 1 and is_wide and _has_index(["", *header], filled):
        header.insert(0, "")
        notes.append("the header is one name short: the first column is taken for row names and left out")
    has_index = _has_index(header, filled)
    if has_index and len(cells) == len(header):
        notes.append("the first column, which has no name, is taken for row numbers and left out")
    return Frame(header=tuple(header), n_before=n_before, notes=tuple(notes), has_index=has_index, questions=questions)


def _header_place(records: Records) -> int | None:
    """Return the place of the header: of the first record, but for comments, and titles above a row full of names."""
    filled = [[cell for cell in cells if cell.strip()] for _, cells in records]
    table = [len(cells) for _, cells in records if cells and not cells[0].startswith(COMMENT)]
    width = max(table, default=0)
    first = None
    for place, (_, cells) in enumerate(records):
        if not filled[place]:
            if place == 0 and width < 2:
                return None
            continue
        if cells[0].startswith(COMMENT) and len(filled[place]) == 1 and width > 1:
            continue
        if first is None:
            first = place
            if not (len(filled[place]) == 1 and cells[0].strip() and width > 1):
                return place
        elif len(filled[place]) > 1:
            n_named = len(filled[place]) + (not cells[0].strip())  # a column of row numbers has no name
            is_names = n_named == width and not any(map(_NUMBER.fullmatch, filled[place]))
            return place if is_names else first
    return first


def _has_index(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of several columns has no name and a value of its own in each row, without spaces."""
    if len(header) < 2 or header[0].strip() or not all(name.strip() for name in header[1:]):
        return False
    values = [cells[0] for cells in rows if cells]
    return bool(values) and len(set(values)) == len(values) and not any(" " in value.strip() for value in values)


def with_comment(names: tuple[str, ...], line: str) -> tuple[str, ...]:
    """Return the columns after a comment of PCIbex, which names all of them anew, or those from a number on.

    >>> with_comment(("Item", "Value", "Comments"), "# 3. Reading time.")
    ('Item', 'Value', 'Reading time')
    """
    if line.startswith(_COLUMNS_BELOW):
        return ()
    column = _COLUMN.fullmatch(line.rstrip(","))
    return names if column is None else (*names[: int(column[1]) - 1], column[2])
