"""One corpus scored with one model, as statistics are given it, and how one of its columns is read as an array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.errors import BankError

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import MethodLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFrame:
    """One corpus scored with one model."""

    corpus: str
    model: str
    frame: pd.DataFrame
    """The shared schema with the methods' columns, one row an item."""
    layouts: tuple[MethodLayout, ...]
    signature: Mapping[str, Any] = field(default_factory=dict)


def number_column(frame: pd.DataFrame, name: str) -> FloatArray:
    """Return a number column as float64 with NaN for null; all NaN where the table has no such column.

    Raises:
        BankError: If a number is infinite.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item_id": ["a", "b"], "direct_good": [-1.5, None]})
    >>> number_column(frame, "direct_good"), number_column(frame, "direct_bad")
    (array([-1.5,  nan]), array([nan, nan]))
    """
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    values = np.asarray(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
    if np.isinf(values).any():
        where = int(np.argmax(np.isinf(values)))
        raise BankError(f"{frame['item_id'].iloc[where]}: {name} is {values[where]}; expected a number or null")
    return values


def flagged(frame: pd.DataFrame, name: str, flag: str) -> BoolArray:
    """Return which rows have a flag in a column of flags (lists, arrays or null), shape (rows,); none without it.

    >>> import pandas as pd
    >>> flagged(pd.DataFrame({"flags": [["identical_sides"], [], None]}), "flags", "identical_sides")
    array([ True, False, False])
    """
    if name not in frame.columns:
        return np.zeros(len(frame), dtype=np.bool_)
    cells = frame[name].to_list()
    return np.array([_holds(cell, flag) for cell in cells], dtype=np.bool_)


def _holds(cell: object, flag: str) -> bool:
    return isinstance(cell, list | tuple | np.ndarray) and len(cell) > 0 and flag in list(cell)
