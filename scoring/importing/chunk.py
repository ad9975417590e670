"""Some rows of a file of scores: our names of the columns -> cells, with what names a row in a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Cells = Sequence[str | None]
"""A column: texts, None for an empty cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some rows of one model."""

    path: Path
    lines: Sequence[int]
    """Number of each row in the file."""
    cells: Mapping[str, Cells]

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"{self.path}, row {self.lines[row]}"

    def column(self, name: str) -> Cells:
        return self.cells.get(name) or [None] * len(self.lines)

    def some(self, rows: Sequence[int]) -> Chunk:
        cells = {name: [column[row] for row in rows] for name, column in self.cells.items()}
        return Chunk(path=self.path, lines=[self.lines[row] for row in rows], cells=cells)
