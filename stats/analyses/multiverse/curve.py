"""The curve: in, specifications and the value that the claim sets against them; out, tables and the test of the whole.

One line a specification, sorted by its estimate; what each choice changes; the test over all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.analyses.multiverse.claims import Claim
from pairbank.stats.analyses.multiverse.specifications import Specification
from pairbank.stats.measures.specification_curve import LEAST_UNITS, CurveTest, Scale, curve_test

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

UNITS = ("items", "paradigms")


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """All specifications of a claim."""

    claim: Claim
    table: pd.DataFrame
    """One line a specification, lowest first: number, a column a choice that varies, estimate, low, high, n, holds."""
    choices: pd.DataFrame
    """One line a level of a choice: how many specifications, their median, share that hold, spread explained."""
    varying: tuple[str, ...]
    """Names of the choices that differ between specifications, with their columns in `table`."""
    fixed: dict[str, str]
    """Choices that all specifications share."""
    tests: dict[str, CurveTest]
    """By what the draws are: items, and paradigms where there are ten."""

    @property
    def null(self) -> float:
        """What the claim says the estimate is above."""
        return self.claim.above


def curve_of(
    claim: Claim,
    found: Sequence[Specification],
    paradigms: dict[tuple[str, str], str],
    *,
    rng: np.random.Generator,
    n_draws: int,
) -> Curve:
    """Return the curve.

    Args:
        claim: What is claimed.
        found: Its specifications.
        paradigms: (corpus, item id) -> paradigm, of items that have one.
        rng: Draws the signs.
        n_draws: How many.
    """
    names = list(dict.fromkeys(name for one in found for name in one.choices))
    cells = pd.DataFrame([{name: one.choices.get(name, "-") for name in names} for one in found])
    varying = tuple(name for name in names if cells[name].nunique() > 1)
    fixed = {name: str(cells[name].iloc[0]) for name in names if name not in varying}
    table = cells[list(varying)].assign(
        estimate=[one.estimate.value for one in found],
        low=[one.estimate.low for one in found],
        high=[one.estimate.high for one in found],
        n=[one.estimate.n for one in found],
    )
    table["holds"] = table["estimate"] > claim.above
    table["beyond"] = table["low"] > claim.above
    return Curve(
        claim=claim,
        table=_sorted(table),
        choices=_by_choice(table, varying),
        varying=varying,
        fixed=fixed,
        tests=_tests(claim, found, table, paradigms, rng=rng, n_draws=n_draws),
    )


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    ordered = table.sort_values("estimate", kind="stable").reset_index(drop=True)
    ordered.insert(0, "specification", np.arange(1, len(ordered) + 1))
    return ordered


def _by_choice(table: pd.DataFrame, varying: Sequence[str]) -> pd.DataFrame:
    """Return what each level of each choice gives, and the share of the estimates' variance between the levels."""
    rows: list[dict[str, Any]] = []
    spread = float(table["estimate"].var(ddof=0))
    for name in varying:
        by_level = table.groupby(name, sort=False)
        means = by_level["estimate"].transform("mean")
        share = float(means.var(ddof=0)) / spread if spread > 0 else math.nan
        for level, part in by_level:
            rows.append({
                "choice": name, "level": str(level), "specifications": len(part),
                "median": float(part["estimate"].median()), "holds": float(part["holds"].mean()),
                "beyond": float(part["beyond"].mean()), "choice_share": share,
            })  # fmt: skip
    columns = ["choice", "level", "specifications", "median", "holds", "beyond", "choice_share"]
    return pd.DataFrame(rows, columns=columns)


def _tests(
    claim: Claim,
    found: Sequence[Specification],
    table: pd.DataFrame,
    paradigms: dict[tuple[str, str], str],
    *,
    rng: np.random.Generator,
    n_draws: int,
) -> dict[str, CurveTest]:
    """Return the tests over items, and over paradigms where every item has one and there are ten."""
    scale: Scale = "z" if claim.kind == "people" else "gain"
    keys, matrix = _side_by_side(found)
    values = table["estimate"].to_numpy(dtype=np.float64)
    n_used = table["n"].to_numpy(dtype=np.float64)
    observed = np.arctanh(values) - math.atanh(claim.above) if scale == "z" else values * n_used
    if scale == "z":
        matrix = _spread(matrix, n_used)
    made = {}
    for kind, units in zip(UNITS, _units(keys, paradigms), strict=True):
        if units is not None and np.unique(units).size >= LEAST_UNITS:
            made[kind] = curve_test(
                matrix, units, scale=scale, n_used=n_used, observed=observed,
                significant=table["beyond"].to_numpy(dtype=np.float64), rng=rng, n_draws=n_draws,
            )  # fmt: skip
    return made


def _side_by_side(found: Sequence[Specification]) -> tuple[list[tuple[str, str]], FloatArray]:
    """Return corpus and id of every item, and what it adds to each specification, shape (items, specifications)."""
    keys: list[tuple[str, str]] = []
    places: dict[str, pd.Index[Any]] = {}
    starts: dict[str, int] = {}
    for corpus in dict.fromkeys(one.corpus for one in found):
        ids = pd.unique(np.concatenate([one.item_ids for one in found if one.corpus == corpus]))
        places[corpus], starts[corpus] = pd.Index(ids), len(keys)
        keys += [(corpus, str(item)) for item in ids]
    matrix: FloatArray = np.zeros((len(keys), len(found)))
    for nth, one in enumerate(found):
        matrix[starts[one.corpus] + places[one.corpus].get_indexer(one.item_ids), nth] = one.contributions
    return keys, matrix


def _spread(influences: FloatArray, n_used: FloatArray) -> FloatArray:
    """Return influences whose squares sum to the variance of z in small samples too: n / (n - 3), as Fisher's."""
    return np.asarray(influences * np.sqrt(n_used / (n_used - 3)))


def _units(keys: Sequence[tuple[str, str]], paradigms: dict[tuple[str, str], str]) -> tuple[IntArray, IntArray | None]:
    items = np.arange(len(keys), dtype=np.int64)
    if any(key not in paradigms for key in keys):
        return items, None
    names = {name: nth for nth, name in enumerate(dict.fromkeys((key[0], paradigms[key]) for key in keys))}
    codes = np.array([names[key[0], paradigms[key]] for key in keys], dtype=np.int64)
    return items, codes if len(names) < len(keys) else None
