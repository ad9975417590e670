"""People as systems: what each rater chose of each item in, accuracies of raters, majorities and ceilings out.

A choice is 1 for the better side, -1 for the worse one, 0 for neither (a tie, credited one half), NaN where the rater
did not judge the item. What individual raters reach together is what a model can be held against: one more person, or
many. `reliability` says how far ratings agree: intraclass correlations and Krippendorff's α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import deleted, draws, half_width, with_paradigms
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.estimates.shares import share_of_items, share_of_trials

Level = Literal["nominal", "ordinal", "interval"]
ICC, ALPHA = "icc-jackknife-z", "alpha-jackknife-z"
COLUMNS = ("item_id", "side", "rater", "value")
ICC_TYPES = {
    "agreement_single": "ICC(A,1)",
    "agreement_mean": "ICC(A,k)",
    "consistency_single": "ICC(C,1)",
    "consistency_mean": "ICC(C,k)",
    "any_raters_single": "ICC(1,1)",
    "any_raters_mean": "ICC(1,k)",
}
"""Our names of the kinds, and the usual ones: of one rater or of the mean of all; raters' levels count, or do not."""
_MOST_VALUES = 200
LEAST_RATED = 10
"""Things that an interval needs."""
LEAST_APART = 5
"""Things on which raters differ, and things with another than the most usual value, that alpha's interval needs."""

LEAST_TOGETHER = 10
"""Things that a rater must have rated for a correlation with the others."""


def intraclass_correlations(ratings: pd.DataFrame) -> dict[str, Estimate]:
    """Return the six intraclass correlations of raters who all rated everything."""
    wide = _rated(ratings).pivot(index=["item_id", "side"], columns="rater", values="value")
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
    correlations = single_rater_correlations(wide.to_numpy())
    estimates = {}
    for name in ICC_TYPES:
        single = name.replace("mean", "single")
        of_one = float(correlations[single][0])
        value = of_one if name == single else k * of_one / (1 + (k - 1) * of_one)  # Spearman-Brown
        if not np.isfinite(value):
            estimates[name] = undefined("no variance within raters or within what they rated", n=n, method=ICC)
            continue
        ends = single_rater_interval(of_one, correlations[single][1:], n_raters=k)
        if isinstance(ends, str):
            estimates[name] = without_interval(value, ends, n=n, method=ICC)
            continue
        low, high = ends if name == single else (k * x / (1 + (k - 1) * x) for x in ends)
        estimates[name] = Estimate(value=value, low=low, high=high, n=n, method=ICC)
    return estimates


def single_rater_correlations(ratings: FloatArray) -> dict[str, FloatArray]:
    """Return the three intraclass correlations of one rater: of everything, then leaving out each of what was rated."""
    ratings = ratings - ratings.mean()
    left_out = np.vstack([np.zeros(ratings.shape[1]), ratings])
    n, k = len(ratings) - np.append(0.0, np.ones(len(ratings))), ratings.shape[1]
    of_thing, of_rater = left_out.sum(axis=1), ratings.sum(axis=0) - left_out
    level = (ratings.sum() - of_thing) ** 2 / (n * k)
    all_squares = (ratings**2).sum() - (left_out**2).sum(axis=1) - level
    between = ((of_thing**2).sum() - of_thing**2) / k - level
    raters = (of_rater**2).sum(axis=1) / n - level
    units, rater = between / (n - 1), raters / (k - 1)
    rest, within = (all_squares - between - raters) / ((n - 1) * (k - 1)), (all_squares - between) / (n * (k - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "agreement_single": (units - rest) / (units + (k - 1) * rest + k * (rater - rest) / n),
            "consistency_single": (units - rest) / (units + (k - 1) * rest),
            "any_raters_single": (units - within) / (units + (k - 1) * within),
        }


def single_rater_interval(value: float, without: FloatArray, *, n_raters: float) -> tuple[float, float] | str:
    """Return the ends of a jackknife interval of an agreement of individual raters, or why there is none."""
    lowest = -1 / (n_raters - 1)
    both = np.append(without, value)
    if without.size < LEAST_RATED:
        return f"an interval needs {LEAST_RATED} things that were rated, there are {without.size}"
    if not np.isfinite(both).all() or both.max() >= 1 - 1e-12 or both.min() <= lowest + 1e-12:
        return "raters agree wholly, or not at all, without one of the things that they rated"
    z = np.log((1 + (n_raters - 1) * both) / (1 - both)) / 2
    half = half_width(deleted(z[:-1]))
    if not half > 0:
        return "the standard error is 0"
    low, high = np.exp(2 * (z[-1] + np.array([-half, half])))
    return float((low - 1) / (low + n_raters - 1)), float((high - 1) / (high + n_raters - 1))


def krippendorff_alpha(ratings: pd.DataFrame, *, scale: Level) -> Estimate:
    """Return Krippendorff's alpha: 1 - observed over expected disagreement, 0 for raters who draw lots."""
    rows = _rated(ratings)
    values, which = np.unique(rows["value"].to_numpy(), return_inverse=True)
    if values.size > _MOST_VALUES:
        raise BankError(
            f"{values.size} different values; alpha is for scales of at most {_MOST_VALUES}, round them first"
        )
    thing = rows.groupby(["item_id", "side"], sort=False).ngroup().to_numpy()
    cells = np.bincount(thing * values.size + which, minlength=(int(thing.max(initial=-1)) + 1) * values.size)
    counts = cells.reshape(-1, max(values.size, 1)).astype(np.float64)
    return alpha_of_counts(counts[counts.sum(axis=1) > 1], values, scale=scale)


def alpha_of_counts(
    counts: FloatArray, values: FloatArray, *, scale: Level, clusters: IntArray | None = None
) -> Estimate:
    """Return Krippendorff's alpha from how often each thing was given each value; clusters are their paradigms."""
    n = len(counts)
    report: dict[str, Any] = {"n": n, "method": ALPHA}
    if not n:
        return undefined("nothing was rated twice", **report)
    kinds, kind, copies = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    own_values = np.stack([_together(entry) for entry in kinds])
    together = np.einsum("i,ijk->jk", copies, own_values)
    value = _alpha(together, values, scale)
    if math.isnan(value):
        return undefined("every rating is the same", **report)
    apart = int(copies[(kinds > 0).sum(axis=1) > 1].sum())
    usual = int(np.argmax(counts.sum(axis=0)))
    unusual = int((counts.sum(axis=1) > counts[:, usual]).sum())
    if min(apart, unusual) < LEAST_APART:
        reason = (
            f"raters differ on {apart} things, and {unusual} have a value that is not the most usual; an interval "
            f"needs {LEAST_APART}"
        )
        return without_interval(value, reason, **report)
    without = np.array([_alpha(together - member, values, scale) for member in own_values])[kind.ravel()]
    ends = single_rater_interval(value, without, n_raters=float(counts.sum(axis=1).mean()))
    if isinstance(ends, str):
        return without_interval(value, ends, **report)
    estimate = Estimate(value=value, low=ends[0], high=ends[1], **report)
    if (codes := draws(clusters, n)) is None:
        return estimate
    n_of = np.zeros((int(codes.max()) + 1, len(kinds)))
    np.add.at(n_of, (codes, kind.ravel()), 1)
    without = np.array([_alpha(together - np.einsum("i,ijk->jk", x, own_values), values, scale) for x in n_of])
    ends = single_rater_interval(value, without, n_raters=float(counts.sum(axis=1).mean()))
    return estimate if isinstance(ends, str) else with_paradigms(estimate, *ends, codes)


def _rated(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return ratings that are numbers, one a rater and side of an item."""
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
    return rows


def _together(counts: FloatArray) -> FloatArray:
    """Return how often two values of one thing stand together, from how often each was given to it."""
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / (counts.sum() - 1))


def _alpha(together: FloatArray, values: FloatArray, scale: Level) -> float:
    """Return alpha from how often each two values stand together, shape (values, values)."""
    totals = together.sum(axis=0)
    apart = _apart(totals, values, scale)
    expected = float(totals @ apart @ totals)
    return 1 - (totals.sum() - 1) * float((together * apart).sum()) / expected if expected > 1e-9 else math.nan


def _apart(totals: FloatArray, values: FloatArray, scale: Level) -> FloatArray:
    if scale == "nominal":
        return np.asarray(1 - np.eye(values.size))
    if scale == "interval":
        return np.asarray((values[:, np.newaxis] - values) ** 2)
    middle = np.cumsum(totals) - totals / 2  # ranks: from the middle of one value to that of the other
    return np.asarray((middle[:, np.newaxis] - middle) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAccuracy:
    """How often raters choose the better side, alone and together; ties are one half."""

    single: Estimate
    """Share of all judgments; the items are the clusters of the interval."""
    each: tuple[Estimate, ...]
    """Of each rater, in the order of the columns."""
    majority: Estimate
    """Of what most raters of an item chose."""
    majority_of_others: Estimate
    """Of what most of the others chose, averaged over the raters who are left out."""


def rater_accuracy(choices: FloatArray, *, paradigms: IntArray | None = None) -> RaterAccuracy:
    """Return the accuracy of individual raters and of majorities, from choices (items, raters): 1, -1, 0 or NaN.

    >>> found = rater_accuracy(np.array([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [1.0, 0.0, np.nan]]))
    >>> [round(one.value, 3) for one in found.each], round(found.majority.value, 3)
    ([1.0, 0.625, 0.333], 0.75)
    """
    check_choices(choices)
    credit = (1 + choices) / 2
    items, raters = np.nonzero(~np.isnan(choices))
    of = np.full(len(choices), -1, dtype=np.int64) if paradigms is None else paradigms
    known = ~np.isnan(choices)
    several = known.sum(axis=1) > 1
    part, judged = choices[several], known[several]
    rest = np.sign(np.nansum(part, axis=1, keepdims=True) - np.nan_to_num(part))
    of_others = np.where(judged, (1 + rest) / 2, 0.0).sum(axis=1) / judged.sum(axis=1)
    return RaterAccuracy(
        single=share_of_trials(credit[items, raters], items, clusters=of[items]),
        each=tuple(share_of_items(x[has], clusters=of[has]) for x, has in zip(credit.T, known.T, strict=True)),
        majority=share_of_items((1 + np.sign(np.nansum(choices, axis=1))) / 2, clusters=of),
        majority_of_others=share_of_items(of_others, clusters=of[several]),
    )


def check_choices(choices: FloatArray) -> None:
    if choices.ndim != 2 or not choices.size:
        raise BankError(f"choices have shape {choices.shape}; expected items x raters")
    known = ~np.isnan(choices)
    if odd := sorted(set(np.unique(choices[known])) - {-1.0, 0.0, 1.0}):
        raise BankError(f"a choice is {odd[0]}; expected 1 (better side), -1 (worse side), 0 (neither) or NaN")
    if not known.any(axis=1).all() or not known.any(axis=0).all():
        raise BankError("an item or a rater has no choice at all; leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class WithOthers:
    """How each rater goes with the mean of the other raters, and a model with the same means on the same things."""

    rater: FloatArray
    """Pearson r of each rater with the others' mean, shape (raters,); NaN of too few things or of no spread."""
    model: FloatArray
    """The same of the model; all NaN where there is none."""
    n: IntArray
    """Things of each."""


def with_others(units: IntArray, raters: IntArray, values: FloatArray, model: FloatArray | None = None) -> WithOthers:
    """Return correlations of raters, and of a model, with the mean of all raters but one.

    >>> things, raters = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    >>> found = with_others(things, raters, things + 0.0, model=-np.arange(12.0))
    >>> found.rater.round(6).tolist(), found.model.round(6).tolist()
    ([1.0, 1.0, 1.0], [-1.0, -1.0, -1.0])
    """
    n_of = np.bincount(units)
    rest = (np.bincount(units, weights=values)[units] - values) / np.maximum(n_of[units] - 1, 1)
    kept = n_of[units] > 1
    theirs = np.full(values.shape, np.nan) if model is None else model[units]
    if model is not None:
        kept &= ~np.isnan(theirs)
    n_raters = int(raters.max()) + 1
    who, other = raters[kept], rest[kept]
    n = np.bincount(who, minlength=n_raters)
    return WithOthers(
        rater=_r_by(who, values[kept], other, n_raters),
        model=_r_by(who, theirs[kept], other, n_raters) if model is not None else np.full(n_raters, np.nan),
        n=n,
    )


def _r_by(who: IntArray, x: FloatArray, y: FloatArray, n_groups: int) -> FloatArray:
    """Return Pearson's r within each group; NaN below `LEAST_TOGETHER` or without spread."""
    n = np.maximum(np.bincount(who, minlength=n_groups), 1)

    def centred(values: FloatArray) -> FloatArray:
        return np.asarray(values - (np.bincount(who, weights=values, minlength=n_groups) / n)[who])

    def summed(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, weights=values, minlength=n_groups), dtype=np.float64)

    a, b = centred(x), centred(y)
    below = summed(a * a) * summed(b * b)
    result = np.full(n_groups, np.nan)
    np.divide(summed(a * b), np.sqrt(below), out=result, where=(below > 1e-18) & (n >= LEAST_TOGETHER))
    return result
