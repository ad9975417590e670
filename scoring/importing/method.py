"""Imported methods: in, some rows of a file of scores; out, the columns of a scored table, or an error with its row.

`sides` makes them of a number of each side, or of one for each presentation and option of a prompt of the registry,
`decisions` of what was chosen. Of both sides' numbers come `m_good`, `m_bad` and `m_delta`, higher better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pairbank.scoring.importing.declared import ScoreImportError

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import ColumnKind


Cells = Sequence[str | None]
"""A column: texts, None for an empty cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some rows of one model: our names of the columns -> cells."""

    path: Path
    lines: Sequence[int]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMethod:
    name: str
    numbers: tuple[str, ...]
    """Our names of the columns of the file that it reads."""
    columns: dict[str, ColumnKind]
    definition: dict[str, Any]
    """What it is in words, its hash, and the layout of what is stored."""
    part: Callable[[Chunk, BoolArray], Mapping[str, Any]]
    """Its columns for some rows, as arrays or lists; the second argument says which items have a worse side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    low: float
    high: float
    expected: str
    """In words, for the message about another one."""


def read_numbers(chunk: Chunk, name: str, believed: Range, *, but: Callable[[str], bool] | None = None) -> FloatArray:
    """Return a column of numbers, NaN for an empty cell and for those that `but` names."""
    cells = chunk.column(name)
    if but is not None:
        cells = [None if cell is None or but(cell) else cell for cell in cells]
    try:
        values = pa.array(cells, pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # one cell that Arrow cannot read; Python reads some more, such as " 1"
        values = np.array([_float(cell) for cell in cells])
    provided = np.array([cell is not None for cell in cells], dtype=np.bool_)
    wrong = provided & ~((values >= believed.low) & (values <= believed.high))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ScoreImportError(f"{chunk.where(row)}: {name} is {cells[row]!r}, expected {believed.expected}")
    return np.asarray(values, dtype=np.float64)


def _float(cell: str | None) -> float:
    try:
        return float("nan" if cell is None else cell)
    except ValueError:
        return float("nan")


def flag_column(flags: Mapping[str, BoolArray], n: int, *, null: BoolArray | None = None) -> pa.Array:
    """Return a list of flags per row.

    >>> flag_column({"a": np.array([True, False, True]), "b": np.array([True, False, False])}, 3).to_pylist()
    [['a', 'b'], [], ['a']]
    """
    counts = np.sum([*flags.values()], axis=0, dtype=np.int32) if flags else np.zeros(n, dtype=np.int32)
    names = [name for row in np.flatnonzero(counts) for name, has in flags.items() if has[row]]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    mask = None if null is None else pa.array(null)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(names, pa.string()), mask=mask)


def part_table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """Return a method's columns as a table; what is not given is null.

    >>> part_table({"m_good": [1.0]}, pa.schema([("m_good", pa.float64()), ("m_n", pa.int32())])).to_pylist()
    [{'m_good': 1.0, 'm_n': None}]
    """
    n = len(next(iter(columns.values())))
    arrays = []
    for column in schema:
        values = columns.get(column.name, pa.nulls(n))
        arrays.append(values.cast(column.type) if isinstance(values, pa.Array) else pa.array(values, column.type))
    return pa.Table.from_arrays(arrays, schema=schema)
