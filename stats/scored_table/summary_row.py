"""Rows of the summary: in, what a row is and an estimate; out, its cells, and tables of such rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import DIRECT, is_string_logprob

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


def is_reference(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows are by the method that others of its model and corpus are compared with by probability.

    >>> rows = pd.DataFrame({"model": ["a", "a", "b"], "method": ["direct", "direct_space", "direct_space"]})
    >>> is_reference(rows).tolist()
    [True, False, True]
    """
    direct = rows["method"] == DIRECT
    others = rows["method"].map(is_string_logprob).astype(bool) & ~direct
    if not others.any():
        return direct
    keys = [rows[name] for name in ("model", "corpus") if name in rows.columns]
    lacks = ~direct.groupby(keys).transform("any")
    first = rows["method"].where(others).groupby(keys).transform("first")
    return direct | (lacks & others & (rows["method"] == first))


def reference_names(rows: pd.DataFrame) -> str:
    """Return the names of these methods, for captions; `direct` where there is none.

    >>> reference_names(pd.DataFrame({"model": ["a", "b"], "method": ["direct", "direct_space"]}))
    '`direct` or `direct_space`'
    """
    return either(rows["method"][is_reference(rows)]) or f"`{DIRECT}`"


def either(names: Iterable[str]) -> str:
    """Return the names of methods, each once.

    >>> either(["direct", "direct", "direct_space"])
    '`direct` or `direct_space`'
    """
    return " or ".join(f"`{name}`" for name in dict.fromkeys(names))


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
