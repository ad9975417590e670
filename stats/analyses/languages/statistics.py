"""Methods across languages: accuracies of each language and kind of wrong concept in; tables and correlations out.

He et al. 2025 (XCOMPS): Figure 1 is accuracy by language, negative type and method; Figure 4 its unweighted means by
morphological type without English; Figure 3 the correlation of methods over languages. English is so far from the
rest that one language can make a correlation: each is also given without English, and leaving out any one language.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.estimates.arrays import paired_vectors
from pairbank.stats.measures.agreement import pearson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.stats.estimates.estimate import Estimate

CELL_COLUMNS = ("model", "method", "negative_type", "language", "value")
ENGLISH = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut:
    """A correlation over named cases, and what becomes of it without each of them."""

    estimate: Estimate
    """Over all cases."""
    without: Mapping[str, float]
    """r without this case; NaN where it is then undefined."""

    @property
    def lowest(self) -> float:
        """Smallest r with one case left out; NaN where none is defined."""
        known = [r for r in self.without.values() if not math.isnan(r)]
        return min(known) if known else math.nan

    @property
    def highest(self) -> float:
        """Largest r with one case left out; NaN where none is defined."""
        known = [r for r in self.without.values() if not math.isnan(r)]
        return max(known) if known else math.nan

    @property
    def most_influential(self) -> str | None:
        """The case whose absence changes r most; None where r is undefined."""
        if not self.estimate.is_defined:
            return None
        changes = {name: abs(r - self.estimate.value) for name, r in self.without.items() if not math.isnan(r)}
        return max(changes, key=lambda name: changes[name]) if changes else None


def leave_one_out(x: ArrayLike, y: ArrayLike, names: Sequence[str], *, level: float = 0.95) -> LeaveOneOut:
    """Return Pearson's r over named cases, and without each one.

    Args:
        x: One number per case, shape (cases,).
        y: The other number of the same cases.
        names: The cases, all different.
        level: Confidence level of the interval over all cases (jackknife).

    Raises:
        BankError: If the lengths differ, a number is not finite, or a name repeats.

    >>> found = leave_one_out([0, 1, 0, 1, 9], [0, 0, 1, 1, 9], ["ca", "nl", "fr", "es", "en"])
    >>> round(found.estimate.value, 3), round(found.without["en"], 3), found.most_influential
    (0.983, 0.0, 'en')
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    if len(names) != first.size or len(set(names)) != len(names):
        raise BankError(f"names {list(names)}; expected {first.size} different ones")
    everywhere = np.ones(first.size, dtype=np.bool_)
    without = {}
    for position, name in enumerate(names):
        kept = everywhere.copy()
        kept[position] = False
        without[name] = pearson(first[kept], second[kept], level=level).value
    return LeaveOneOut(estimate=pearson(first, second, level=level), without=without)


def typology_means(cells: pd.DataFrame, typology: Mapping[str, str | None]) -> pd.DataFrame:
    """Return the unweighted mean over the languages of each morphological type (He et al. 2025, Figure 4).

    Args:
        cells: One row a cell, columns of `CELL_COLUMNS`.
        typology: Morphological type by language; a language of none (English) is left out.

    Returns:
        Columns model, method, negative_type, typology, value, n_languages.

    Raises:
        BankError: If a column is missing or a cell stands twice.

    >>> cells = pd.DataFrame({"model": "m", "method": "direct", "negative_type": "random",
    ...                       "language": ["en", "zh", "vi"], "value": [0.9, 0.75, 0.5]})
    >>> means = typology_means(cells, {"en": None, "zh": "analytic", "vi": "analytic"})
    >>> means[["typology", "value", "n_languages"]].values.tolist()
    [['analytic', 0.625, 2]]
    """
    _check_cells(cells)
    kinds = cells["language"].map(dict(typology))
    known = cells.assign(typology=kinds)[kinds.notna()]
    keys = ["model", "method", "negative_type", "typology"]
    groups = known.groupby(keys, sort=False)["value"]
    return groups.agg(value="mean", n_languages="size").reset_index()


def method_correlations(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the correlation of every two methods over languages, for each model and negative type.

    Args:
        cells: One row a cell, columns of `CELL_COLUMNS`.

    Returns:
        One row a model, negative type and pair of methods: `value`, `low`, `high` (jackknife), `n` languages,
        `without_english` (NaN where English is not there), `lowest` and `highest` r with one language left out,
        `most_influential` (the language whose absence changes r most) and `reason`.

    Raises:
        BankError: If a column is missing or a cell stands twice.

    >>> cells = pd.DataFrame([{"model": "m", "method": m, "negative_type": "random", "language": x, "value": v}
    ...     for m, vs in (("direct", (9, 0, 1, 0, 1)), ("meta", (9, 0, 0, 1, 1)))
    ...     for x, v in zip(("en", "ca", "nl", "fr", "es"), vs)])
    >>> method_correlations(cells)[["value", "without_english", "most_influential"]].round(3).values.tolist()
    [[0.983, 0.0, 'en']]
    """
    _check_cells(cells)
    rows = list(_correlation_rows(cells))
    return pd.DataFrame(rows, columns=list(_CORRELATION_TYPES)).astype(_CORRELATION_TYPES)


_CORRELATION_TYPES = {
    "model": "string",
    "negative_type": "string",
    "method": "string",
    "versus": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "n": "int64",
    "without_english": "float64",
    "lowest": "float64",
    "highest": "float64",
    "most_influential": "string",
    "reason": "string",
}


def _correlation_rows(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (model, negative), part in cells.groupby(["model", "negative_type"], sort=False):
        wide = part.pivot_table(index="language", columns="method", values="value", sort=False)
        for a, b in itertools.combinations(wide.columns, 2):
            both = wide[[a, b]].dropna()
            names = [str(name) for name in both.index]
            found = leave_one_out(both[a].to_numpy(), both[b].to_numpy(), names)
            estimate = found.estimate
            yield {
                "model": model,
                "negative_type": negative,
                "method": a,
                "versus": b,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
                "without_english": found.without.get(ENGLISH, math.nan),
                "lowest": found.lowest,
                "highest": found.highest,
                "most_influential": found.most_influential,
                "reason": estimate.reason,
            }


def _check_cells(cells: pd.DataFrame) -> None:
    if missing := [name for name in CELL_COLUMNS if name not in cells.columns]:
        raise BankError(f"cells have no columns {missing}; expected {list(CELL_COLUMNS)}")
    keys = list(CELL_COLUMNS[:-1])
    if cells.duplicated(keys).any():
        twice = cells[cells.duplicated(keys)].iloc[0][keys].to_dict()
        raise BankError(f"the cell {twice} stands twice; expected one number per model, method, type and language")
