"""Do raters agree? One rating a row in; intraclass correlations and Krippendorff's alpha out.

Intraclass correlations (Shrout & Fleiss 1979; McGraw & Wong 1996) by pingouin, where every rater rated everything.
Krippendorff's alpha (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability) takes missing ratings as they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import percentile_estimate
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.measures.associations import all_digits

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

Level = Literal["nominal", "ordinal", "interval"]
ICC, ALPHA = "icc-f", "alpha-bootstrap-percentile"
COLUMNS = ("item_id", "side", "rater", "value")
ICC_TYPES = {
    "agreement_single": "ICC(A,1)",
    "agreement_mean": "ICC(A,k)",
    "consistency_single": "ICC(C,1)",
    "consistency_mean": "ICC(C,k)",
    "any_raters_single": "ICC(1,1)",
    "any_raters_mean": "ICC(1,k)",
}
"""Our names of the kinds, and pingouin's: of one rater or of the mean of all; raters' levels count, or do not."""
_MOST_VALUES = 200


def intraclass_correlations(ratings: pd.DataFrame) -> dict[str, Estimate]:
    """Return the six intraclass correlations of raters who all rated everything.

    Args:
        ratings: Columns item_id, side, rater and value, one rating a row; what is rated is an item's side.

    Returns:
        By name (`ICC_TYPES`), with the interval of the F distribution; n counts what was rated. Where not every rater
        rated everything: undefined.

    Raises:
        BankError: If a column is missing, a value is no number, or somebody rated something twice.
    """
    wide = _wide(ratings)
    n, k = wide.shape
    reason = None
    if np.isnan(wide.to_numpy()).any():
        reason = "not every rater rated everything"
    elif n < 3 or k < 2:
        reason = f"{n} things rated by {k} raters; expected 3 or more by 2 or more"
    elif not np.ptp(wide.to_numpy()):
        reason = "every rating is the same"
    if reason:
        return {name: undefined(reason, n=n, method=ICC) for name in ICC_TYPES}
    long = wide.reset_index(drop=True).melt(ignore_index=False, var_name="rater").reset_index(names="unit")
    with all_digits() as pingouin:
        found = pingouin.intraclass_corr(long, targets="unit", raters="rater", ratings="value").set_index("Type")
    made = {}
    for name, kind in ICC_TYPES.items():
        value, (low, high) = float(found["ICC"][kind]), found["CI95"][kind]
        if not np.isfinite([value, low, high]).all():
            made[name] = undefined("no variance within raters or within what they rated", n=n, method=ICC)
        else:
            made[name] = Estimate(value=value, low=float(low), high=float(high), n=n, method=ICC)
    return made


def krippendorff_alpha(
    ratings: pd.DataFrame, *, scale: Level, rng: np.random.Generator, n_resamples: int = 1000
) -> Estimate:
    """Return Krippendorff's alpha: 1 - observed over expected disagreement, 0 for raters who draw lots.

    Args:
        ratings: As for `intraclass_correlations`; ratings may be missing.
        scale: How far two values are apart: not the same (nominal), by rank (ordinal), by difference (interval).
        rng: Source of the resamples of what was rated.
        n_resamples: Bootstrap resamples; what was rated is drawn with all its ratings.

    Raises:
        BankError: As for `intraclass_correlations`.
    """
    wide = _wide(ratings).to_numpy()
    values = np.unique(wide[~np.isnan(wide)])
    if values.size > _MOST_VALUES:
        raise BankError(
            f"{values.size} different values; alpha is for scales of at most {_MOST_VALUES}, round them first"
        )
    counts = np.stack([(wide == value).sum(axis=1) for value in values], axis=1).astype(np.float64)
    counts = counts[counts.sum(axis=1) > 1]
    n = len(counts)
    if not n:
        return undefined("nothing was rated twice", n=0, method=ALPHA)
    value = _alpha(counts, values, scale)
    if math.isnan(value):
        return undefined("every rating is the same", n=n, method=ALPHA)
    if n_resamples < 1:
        return without_interval(value, "no resamples", n=n, method=ALPHA)
    drawn = np.array([_alpha(counts[rng.integers(n, size=n)], values, scale) for _ in range(n_resamples)])
    return percentile_estimate(value, drawn, n=n, method=ALPHA, level=0.95)


def _wide(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return ratings with a row for each side of an item, and a column a rater; NaN where there is none."""
    if missing := [name for name in COLUMNS if name not in ratings.columns]:
        raise BankError(f"the ratings have no columns {missing}; expected {', '.join(COLUMNS)}")
    values = pd.to_numeric(ratings["value"], errors="coerce")
    wrong = ratings["value"].notna() & ~np.isfinite(values.fillna(np.nan).to_numpy(dtype=np.float64, na_value=np.nan))
    if wrong.any():
        raise BankError(f"a rating is {ratings['value'][wrong].iloc[0]!r}; expected a number or nothing")
    rows = ratings.assign(value=values.astype(float)).dropna(subset=["value"])
    keys = ["item_id", "side", "rater"]
    if rows.duplicated(keys).any():
        twice = rows[rows.duplicated(keys)].iloc[0]
        raise BankError(f"{twice['rater']} rated {twice['item_id']} ({twice['side']}) twice; give one rating")
    return rows.pivot(index=["item_id", "side"], columns="rater", values="value")


def _alpha(counts: FloatArray, values: FloatArray, scale: Level) -> float:
    """Return alpha from how often each value was given to each unit, shape (units, values); two or more each."""
    weights = counts / (counts.sum(axis=1, keepdims=True) - 1)
    together = weights.T @ counts - np.diag(weights.sum(axis=0))
    totals = together.sum(axis=0)
    apart = _apart(totals, values, scale)
    expected = float(totals @ apart @ totals)
    return 1 - (totals.sum() - 1) * float((together * apart).sum()) / expected if expected > 0 else math.nan


def _apart(totals: FloatArray, values: FloatArray, scale: Level) -> FloatArray:
    if scale == "nominal":
        return np.asarray(1 - np.eye(values.size))
    if scale == "interval":
        return np.asarray((values[:, np.newaxis] - values) ** 2)
    middle = np.cumsum(totals) - totals / 2  # ranks: from the middle of one value to that of the other
    return np.asarray((middle[:, np.newaxis] - middle) ** 2)
