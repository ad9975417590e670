"""Rows of the summary: in, what a row is and an estimate; out, its cells, and tables of such rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate

PARADIGM_DTYPES = {"low_paradigms": "float64", "high_paradigms": "float64", "n_paradigms": "int64"}
"""Of the interval over paradigms, where these are ten or more: NaN and 0 elsewhere."""
DTYPES = {
    "model": "string",
    "corpus": "string",
    "group_by": "string",
    "group": "string",
    "method": "string",
    "versus": "string",
    "metric": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "n": "int64",
    "n_excluded": "int64",
    "ci_method": "string",
    "reason": "string",
    **PARADIGM_DTYPES,
}
"""Columns of the summary and their pandas types; fixed, so that an all-null reason is still a string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """What a row of the summary is, apart from its numbers; `model` ... `metric` are its identity."""

    model: str
    corpus: str
    group_by: str
    group: str
    method: str = ""
    versus: str = ""
    metric: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """The columns that say which row this is."""
        names = ("model", "corpus", "group_by", "group", "method", "versus", "metric")
        return {name: getattr(self, name) for name in names}

    def rng(self, seed: int) -> np.random.Generator:
        """Return a fresh generator that depends on the seed and the identity alone."""
        name = json.dumps(list(self.identity.values())).encode()
        key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "big")
        return np.random.default_rng([seed, key])

    def row(self, estimate: Estimate, *, n_rows: int) -> dict[str, Any]:
        """Return all cells of the row.

        Args:
            estimate: The number, its interval and the items used.
            n_rows: Items the method applies to in this group, used or not.
        """
        return self.identity | {
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n,
            "n_excluded": n_rows - estimate.n,
            "ci_method": estimate.method,
            "reason": estimate.reason,
            "low_paradigms": estimate.low_paradigms,
            "high_paradigms": estimate.high_paradigms,
            "n_paradigms": estimate.n_paradigms,
        }


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
    return pd.DataFrame([{"n_paradigms": 0} | dict(row) for row in rows], columns=list(types)).astype(types)
