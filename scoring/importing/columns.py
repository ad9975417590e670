"""What the imported methods share: in, cells; out, number columns, refused with the row, and columns of flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from pairbank.scoring.importing.declared import ScoreImportError

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import ColumnKind
    from pairbank.scoring.importing.reading import Chunk


class Imported(Protocol):
    """A method whose numbers come from a file."""

    @property
    def name(self) -> str:
        """The prefix of its columns."""

    @property
    def definition(self) -> dict[str, Any]:
        """What the signature records, as for a method that pairbank runs."""

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Its columns."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """Our names of the columns of the file that it reads."""

    def part(self, chunk: Chunk, two_sided: BoolArray) -> Mapping[str, Any]:
        """Return its columns for some rows, as arrays or lists; `two_sided` says which items have a worse side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which numbers are believed."""

    low: float
    high: float
    expected: str
    """In words, for the message about another one."""


def read_numbers(chunk: Chunk, name: str, believed: Range, *, but: Callable[[str], bool] | None = None) -> FloatArray:
    """Return a column of numbers, NaN for an empty cell.

    Args:
        chunk: the rows.
        name: our name of the column.
        believed: the range of the numbers.
        but: cells to take for empty ones although they hold a text.

    Raises:
        ScoreImportError: a cell that is no number, or not in the range, with its row.
    """
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


def nullable(values: FloatArray) -> pa.Array:
    """Return numbers with null for NaN."""
    return pa.array(values, from_pandas=True)


def flag_column(flags: Mapping[str, BoolArray], n: int, *, null: BoolArray | None = None) -> pa.Array:
    """Return a list of flags a row.

    Args:
        flags: which rows have each flag, in the order of a row's list.
        n: how many rows there are.
        null: rows without a list.

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
    arrays = [_array(columns.get(field.name), field.type, n) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: pa.Array | Sequence[Any] | None, kind: pa.DataType, n: int) -> pa.Array:
    if values is None:
        return pa.nulls(n, kind)
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)
