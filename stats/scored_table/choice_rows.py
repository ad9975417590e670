"""The rows of a scored table that an analysis may use: in, its DataFrame; out, sorted rows and number columns.

Rows are sorted by item_id, so that the order of a file changes no number; pairs whose sides are the same are no
choice and are left out, counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.scored_table.scored_table import IDENTICAL_SIDES, has_flag
from pairbank.stats.scored_table.summary_row import DTYPES

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.scored_table.frame import ScoredFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """The rows that are a choice, and how many are not."""

    frame: pd.DataFrame
    """Rows in the order of their ids."""
    n_identical: int
    """Rows left out because both sides are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A scored table, or one subset of it."""

    subset: str
    """Name of the subset; empty for the whole table."""
    table: ScoredFrame

    @property
    def place(self) -> dict[str, str]:
        """The columns of the summary that say which part it is."""
        return {
            "model": self.table.model,
            "corpus": self.table.corpus,
            "group_by": "subset" if self.subset else "all",
            "group": self.subset,
        }


def parts_of(table: ScoredFrame) -> Iterator[Part]:
    """Yield the whole table and then its subsets, where there are two or more and few enough to differ in kind.

    >>> from pairbank.stats.analyses.base import ScoredFrame
    >>> frame = pd.DataFrame({"item_id": ["a", "b"], "subset": ["plausible", "implausible"]})
    >>> [x.subset for x in parts_of(ScoredFrame(corpus="scamp", model="gpt2", frame=frame, layouts=()))]
    ['', 'implausible', 'plausible']
    """
    yield Part(subset="", table=table)
    if "subset" not in table.frame.columns:
        return
    names = sorted(table.frame["subset"].dropna().unique())
    if 1 < len(names) <= MOST_SUBSETS:
        for name in names:
            rows = table.frame[table.frame["subset"] == name]
            yield Part(subset=str(name), table=replace(table, frame=rows))


def usable_rows(table: ScoredFrame) -> Usable:
    """Return the rows of a scored table, sorted by item_id, without those whose sides are identical.

    Raises:
        BankError: If the table has no column item_id, or an id twice.

    >>> from pairbank.stats.analyses.base import ScoredFrame
    >>> frame = pd.DataFrame({"item_id": ["b", "a"], "flags": [["identical_sides"], []]})
    >>> found = usable_rows(ScoredFrame(corpus="toy", model="gpt2", frame=frame, layouts=()))
    >>> found.frame["item_id"].tolist(), found.n_identical
    (['a'], 1)
    """
    if "item_id" not in table.frame.columns:
        raise BankError(f"{table.corpus} by {table.model}: no column item_id; expected a scored table")
    rows = table.frame.sort_values("item_id", kind="stable")
    if rows["item_id"].duplicated().any():
        twice = rows["item_id"][rows["item_id"].duplicated()].iloc[0]
        raise BankError(f"{table.corpus} by {table.model}: item_id {twice!r} stands in several rows")
    if "flags" not in rows.columns:
        return Usable(frame=rows, n_identical=0)
    identical = np.array([has_flag(flags, IDENTICAL_SIDES) for flags in rows["flags"]], dtype=np.bool_)
    return Usable(frame=rows[~identical], n_identical=int(identical.sum()))


def numbers(frame: pd.DataFrame, name: str) -> FloatArray:
    """Return a number column as float64 with NaN for null; all NaN where the table has no such column.

    Raises:
        BankError: If a number is infinite.

    >>> frame = pd.DataFrame({"item_id": ["a", "b"], "direct_good": [-1.5, None]})
    >>> numbers(frame, "direct_good"), numbers(frame, "direct_bad")
    (array([-1.5,  nan]), array([nan, nan]))
    """
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    values = np.asarray(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
    if np.isinf(values).any():
        where = int(np.argmax(np.isinf(values)))
        raise BankError(f"{frame['item_id'].iloc[where]}: {name} is {values[where]}; expected a number or null")
    return values


def long_table(rows: Iterable[Mapping[str, Any]], extra: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return rows as a table with the columns and types of the summary, and further columns where asked.

    Args:
        rows: What `SummaryRow.row` gave, with the cells of the further columns.
        extra: Pandas types of the further columns, which stand before `value`.

    >>> list(long_table([], {"bin": "int64"}).columns)[6:9]
    ['metric', 'bin', 'value']
    """
    more = dict(extra or {})
    names = list(DTYPES)
    cut = names.index("value")
    types = {name: DTYPES[name] for name in names[:cut]} | more | {name: DTYPES[name] for name in names[cut:]}
    return pd.DataFrame([dict(row) for row in rows], columns=list(types)).astype(types)


MOST_SUBSETS = 12
"""A corpus with more subsets than this is shown as a whole in headlines."""
