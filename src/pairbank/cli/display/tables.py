"""Tables for a terminal of any width, with nothing cut off.

In this order: empty columns go, constant columns become a line above the table, an interval is put below its estimate,
words are put below each other; what does not fit even then is printed row by row, one line per cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pairbank.errors import spelt_out

if TYPE_CHECKING:
    import pandas as pd


GAP = 2
LONGEST_WORD = 24
"""A longer word (a sentence in Chinese, a path) may be broken anywhere, unless its column is to stay whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    heading: str
    cells: tuple[str, ...]
    is_whole: bool
    """Whether its cells stay on one line."""

    @property
    def natural(self) -> int:
        return _widest([self.heading, *self.cells])

    @property
    def least(self) -> int:
        """How narrow it can be with no word broken that should not be."""
        if self.is_whole:
            return self.natural
        lines = [line for text in (self.heading, *self.cells) for line in text.split("\n")]
        words = [word for line in lines for word in ([line] if line.startswith("[") else line.split())]
        return _widest([word if _widest([word]) <= LONGEST_WORD else word[: LONGEST_WORD // 2] for word in words])

    @property
    def is_constant(self) -> bool:
        """Whether it says the same of each of several rows; estimates that happen to be equal do not."""
        return len(self.cells) > 1 and len(set(self.cells)) == 1 and "[" not in self.cells[0]

    def with_intervals_below(self) -> _Column:
        cells = tuple(re.sub(r" (?=\[|\()", "\n", cell) if "[" in cell else cell for cell in self.cells)
        return replace(self, cells=cells)


def lines(table: pd.DataFrame, *, width: int, whole: Sequence[str] = ()) -> list[Any]:
    """Return what is printed of a table in so many columns: texts, and rich's tables."""
    columns = _columns(table, whole)
    common: list[str] = []
    if _total(column.natural for column in columns) > width:
        columns = [column for column in columns if any(column.cells) or not column.cells]
    if _total(column.natural for column in columns) > width and not all(column.is_constant for column in columns):
        for column in columns:
            if column.is_constant:
                common += folded(f"{column.heading}: {column.cells[0]}".replace("\n", " "), width)
        columns = [column for column in columns if not column.is_constant]
    if _total(column.natural for column in columns) > width:
        columns = [column.with_intervals_below() for column in columns]
    if _total(column.least for column in columns) > width:
        columns = [replace(column, is_whole=False) for column in columns]
    if _total(column.least for column in columns) > width:
        return [*common, *_blocks(columns, width)]
    return [*common, _drawn(columns, width)]


def _columns(table: pd.DataFrame, whole: Sequence[str]) -> list[_Column]:
    columns = []
    for name, values in table.items():
        cells = ("" if missing else spelt_out(str(value)) for value, missing in zip(values, values.isna(), strict=True))
        columns.append(_Column(heading=spelt_out(str(name)), cells=tuple(cells), is_whole=name in whole))
    return columns


def _total(widths: Iterable[int]) -> int:
    of_columns = list(widths)
    return sum(of_columns) + GAP * (len(of_columns) - 1)


def _drawn(columns: Sequence[_Column], width: int) -> Any:  # noqa: ANN401 - rich's table
    """Return the table, each column at least as wide as it has to be; what is left goes to those that need little."""
    from rich.table import Table

    widths = [column.least for column in columns]
    left = width - _total(widths)
    in_order = sorted(range(len(columns)), key=lambda place: columns[place].natural - widths[place])
    for n_done, place in enumerate(in_order):
        more = min(columns[place].natural - widths[place], left // (len(columns) - n_done))
        widths[place] += more
        left -= more
    drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, n in zip(columns, widths, strict=True):
        drawn.add_column(column.heading, overflow="fold", min_width=n, max_width=n)
    for row in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*row)
    return drawn


def _blocks(columns: Sequence[_Column], width: int) -> list[str]:
    """Return the rows, one after the other: a line for each cell that holds something, folded where it is too long."""
    blocks: list[str] = []
    for row in zip(*(column.cells for column in columns), strict=True):
        for place, (column, cell) in enumerate(zip(columns, row, strict=True)):
            if cell:
                text = f"{column.heading}: {cell}".replace("\n", " ")
                blocks += folded(text, width, indent="" if place == 0 else "  ")
    return blocks


def folded(text: str, width: int, *, indent: str = "", hanging: str = "    ") -> list[str]:
    """Return a text in lines of a width, whatever script it is in."""
    from rich.console import Console
    from rich.text import Text

    inner = max(8, width - max(len(indent), len(hanging)))
    wrapped = Text(text).wrap(Console(width=inner), inner, overflow="fold")
    return [(indent if i == 0 else hanging) + line.plain.rstrip() for i, line in enumerate(wrapped)]


def _widest(texts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)
