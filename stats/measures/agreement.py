"""Whether two methods, or a model and people, agree on items: in, two vectors of deltas; out, Estimate.

Pearson's r, Spearman's rho and Cohen's kappa (Cohen 1960) on signs, each on Fisher's z scale, and raw agreement with
Wilson's interval. Deltas of models are far from normal, where Fisher's own interval covers 60 to 90%: the standard
error of z is the jackknife's for r (Hinkley 1978, Biometrika 65:13-21) and the infinitesimal jackknife's for rho, with
Student's t; kappa's is that of Fleiss, Cohen & Everitt 1969. `docs/validation.md` has the coverage. Answers that are
the same but for rounding (`pairbank.stats.estimates.shares`) agree with nothing: there is no number of them, in any
measure. Hu & Levy 2023, section 3; Song et al. 2025, section 3; Ivanova et al. 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.stats.estimates.bootstrap import deleted, draws, half_width, on_z_scale
from pairbank.stats.estimates.estimate import Estimate, check_level, paired_vectors, undefined, without_interval
from pairbank.stats.estimates.shares import ROUNDING, WILSON, merged, share_of_items, signs, varies

JACKKNIFE = "jackknife-z"
GROUPS = 50
"""Parts of the items that the jackknife of a robust r leaves out in turn."""
GROUPED = "grouped-jackknife-z"
INFLUENCE = "infinitesimal-jackknife-z"
KAPPA = "kappa-z"
LEAST_RANKED = 10
"""Items below which rho has no interval: with ties it covers less than 93%."""
LEAST_ROBUST = 20
"""Items below which a robust r has no interval."""
LEAST_OF_A_CHOICE = 5
"""Items that each side must be preferred on by each method before kappa has an interval."""
_PSEUDO = 0.5
"""Added to each count of kappa's table: with one quarter, .87 to .92 of 24 to 50 intervals hold a kappa of 0."""
_PSEUDO_WITHOUT = 0.25
"""The same where a paradigm is left out; more would shrink how far paradigms move kappa."""


def pearson(x: ArrayLike, y: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return Pearson's r with a jackknife interval on Fisher's z scale.

    Args:
        x: One number per item, shape (items,).
        y: The other number of the same items.
        clusters: Number of each item's paradigm, -1 for none (`pairbank.stats.estimates.bootstrap`).
        level: Confidence level, a share.

    Returns:
        r; undefined below 2 items or where either vector varies by rounding at most (a standard deviation of 1e-4, in
        nats or points of a rating; give other units in numbers near 1); without an interval below 4 items, at exactly
        +-1, and where all depends on one item, without which r would be undefined or exactly +-1.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> r = pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    >>> round(r.value, 3), round(r.low, 3), round(r.high, 3)
    (0.8, -0.29, 0.987)
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    report: dict[str, Any] = {"n": first.size, "method": JACKKNIFE, "level": level}
    if reason := _why_uncorrelated(first, second):
        return undefined(reason, **report)
    # A report has thousands of correlations; scipy.stats.pearsonr, the same formula, takes thirty times as long.
    a, b = _standardised(first), _standardised(second)
    value = float(np.clip(a @ b, -1, 1))
    if first.size < 4:
        return without_interval(value, f"an interval needs 4 items, there are {first.size}", **report)
    if abs(value) >= 1 - 1e-15:
        return without_interval(value, "r is exactly +-1, where Fisher's z is infinite", **report)
    factor = first.size / (first.size - 1)
    left_x, left_y, left_xy = 1 - factor * a * a, 1 - factor * b * b, value - factor * a * b
    if min(left_x.min(), left_y.min()) <= 1e-12:
        return without_interval(value, "the values do not vary without one of the items", **report)
    without = left_xy / np.sqrt(left_x * left_y)
    if np.abs(without).max() >= 1 - 1e-12:
        return without_interval(value, "r is exactly +-1 without one of the items", **report)
    result = _on_z_scale(value, deleted(np.arctanh(without)), method=JACKKNIFE, level=level)
    codes = draws(clusters, first.size)
    return result if codes is None else on_z_scale(result, _without_paradigms(a, b, codes), codes)


def spearman(x: ArrayLike, y: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return Spearman's rho (mid-ranks for ties) with an infinitesimal jackknife interval on Fisher's z scale.

    Args:
        x: One number per item, shape (items,).
        y: The other number of the same items.
        clusters: Number of each item's paradigm, -1 for none (`pairbank.stats.estimates.bootstrap`).
        level: Confidence level, a share.

    Returns:
        rho; undefined below 2 items or where either vector varies by rounding at most; without an interval below 10
        items and at exactly +-1.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> round(spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 3)
    0.8
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    report: dict[str, Any] = {"n": first.size, "method": INFLUENCE, "level": level}
    if reason := _why_uncorrelated(first, second):
        return undefined(reason, **report)
    ranks_x, ranks_y = _ranks(merged(first)), _ranks(merged(second))
    a, b = _standardised(ranks_x), _standardised(ranks_y)
    value = float(np.clip(a @ b, -1, 1))
    if first.size < LEAST_RANKED:
        reason = f"an interval of rho needs {LEAST_RANKED} items, there are {first.size}"
        return without_interval(value, reason, **report)
    if abs(value) >= 1 - 1e-12:
        return without_interval(value, "rho is exactly +-1, where Fisher's z is infinite", **report)
    through_x, through_y = _through_ranks(ranks_x), _through_ranks(ranks_y)
    joint = a * b + through_x(b) + through_y(a)
    spread = a * a + 2 * through_x(a) + b * b + 2 * through_y(b)
    shifts = (joint - joint.mean() - value / 2 * (spread - spread.mean())) / (1 - value**2)
    result = _on_z_scale(value, shifts, method=INFLUENCE, level=level)
    codes = draws(clusters, first.size)
    return result if codes is None else on_z_scale(result, _without_paradigms(a, b, codes), codes)


def percentage_bend(x: ArrayLike, y: ArrayLike, *, clusters: ArrayLike | None = None) -> Estimate:
    """Return the percentage bend correlation, which a few outliers do not decide, with a jackknife interval.

    Wilcox 1994, Psychometrika 59:601-616, by pingouin: values further from the median than the 80th percentile of such
    distances count as if they were at it. The jackknife leaves out a fiftieth of the items at a time.

    >>> round(percentage_bend([1, 2, 3, 4, 5, 6, 60], [2, 1, 4, 3, 6, 5, -70]).value, 2)
    0.39
    """
    from pingouin.correlation import percbend

    first, second = paired_vectors(x, y, names=("x", "y"))
    report: dict[str, Any] = {"n": first.size, "method": GROUPED}
    if reason := _why_uncorrelated(first, second):
        return undefined(reason, **report)
    if any(np.quantile(np.abs(v - np.median(v)), 0.8, method="lower") <= ROUNDING for v in (first, second)):
        return undefined("four fifths of the values are the same", **report)
    value = float(percbend(first, second)[0])
    if first.size < LEAST_ROBUST or abs(value) >= 1 - 1e-12:
        return without_interval(value, f"an interval needs {LEAST_ROBUST} items and an r below 1", **report)

    def shifts(codes: IntArray) -> FloatArray:
        kept = (codes != k for k in range(int(codes.max()) + 1))
        return deleted(np.arctanh([percbend(first[rows], second[rows])[0] for rows in kept]))

    with np.errstate(invalid="ignore", divide="ignore"):
        parts = shifts(np.arange(first.size) % GROUPS)
        result = replace(_on_z_scale(value, parts, method=GROUPED, level=0.95), n=first.size)
        codes = draws(clusters, first.size)
        return result if codes is None else on_z_scale(result, shifts(codes), codes)


def _without_paradigms(x: FloatArray, y: FloatArray, codes: IntArray) -> FloatArray:
    """Return by how much each paradigm shifts Fisher's z of r: the jackknife that leaves out paradigms."""
    n, sum_x, sum_y, xx, yy, xy = (
        float(values.sum()) - np.bincount(codes, weights=values)
        for values in (np.ones_like(x), x, y, x * x, y * y, x * y)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (xy - sum_x * sum_y / n) / np.sqrt((xx - sum_x**2 / n) * (yy - sum_y**2 / n))
        return deleted(np.arctanh(r))


def _standardised(values: FloatArray) -> FloatArray:
    deviation = values - values.mean()
    return np.asarray(deviation / np.linalg.norm(deviation), dtype=np.float64)


def _ranks(values: FloatArray) -> FloatArray:
    """Return mid-ranks, as `scipy.stats.rankdata` does; importing that takes as long as most commands."""
    ordered = np.sort(values)
    low, high = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.asarray((low + high + 1) / 2, dtype=np.float64)


def _through_ranks(ranks: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return what sums weights over what each item shifts: ranks above it by 1, those of its equals by one half.

    As a share of the length of the vector of the ranks, less their mean.
    """
    order = np.argsort(ranks, kind="stable")
    below, up_to = (np.searchsorted(ranks[order], ranks, side=side) for side in ("left", "right"))
    length = float(np.linalg.norm(ranks - ranks.mean()))

    def sums(weights: FloatArray) -> FloatArray:
        summed = np.concatenate([[0.0], np.cumsum(weights[order])])
        return np.asarray((summed[-1] - (summed[below] + summed[up_to]) / 2) / length, dtype=np.float64)

    return sums


def _on_z_scale(value: float, shifts: FloatArray, *, method: str, level: float) -> Estimate:
    """Return the estimate with an interval from what each item shifts Fisher's z by."""
    report: dict[str, Any] = {"n": shifts.size, "method": method, "level": level}
    half = half_width(shifts, level=level)
    if not half > 0:
        return without_interval(value, "the standard error is 0", **report)
    low, high = (math.tanh(math.atanh(value) + side * half) for side in (-1, 1))
    return Estimate(value=value, low=low, high=high, **report)


def cohens_kappa(
    delta_a: ArrayLike, delta_b: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """Return Cohen's kappa between the choices of two methods: which side each one prefers.

    Args:
        delta_a: One difference (good - bad) per item, shape (items,); its sign is the choice.
        delta_b: The other method's difference for the same items.
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    Returns:
        kappa; `n` counts the items used: where either delta is exactly 0 nothing is chosen and the item is
        left out. Undefined where either method always makes the same choice (kappa is then 0 or 0/0 whatever
        the other does), or its differences vary by rounding at most. The interval is that of the table with one half
        of an item added to each cell, on Fisher's z scale; there is none where either method prefers a side on fewer
        than 5 items.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> kappa = cohens_kappa([1, 1, 1, -1, -1, 0], [2, 2, -2, -2, -2, 2])
    >>> round(kappa.value, 4), kappa.n
    (0.6154, 5)
    """
    a, b, codes = _choices(delta_a, delta_b, clusters)
    check_level(level)
    report: dict[str, Any] = {"n": a.size, "method": KAPPA, "level": level}
    for name, choices in (("first", a), ("second", b)):
        if np.unique(choices).size < 2:
            reason = f"the {name} method makes one choice only" if choices.size else "no items without a tie"
            return undefined(reason, **report)
    for name, delta in (("first", delta_a), ("second", delta_b)):
        if by_rounding := _why_rounding(name, delta):
            return undefined(by_rounding, **report)
    counts = np.array([[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]], dtype=np.float64)
    value = kappa_of(counts).value
    least = int(min(counts.sum(axis=0).min(), counts.sum(axis=1).min()))
    if least < LEAST_OF_A_CHOICE:
        reason = f"a method prefers one of the sides on {least} items; an interval needs {LEAST_OF_A_CHOICE}"
        return without_interval(value, reason, **report)
    smoothed = kappa_of(counts + _PSEUDO)
    half = NormalDist().inv_cdf((1 + level) / 2) * smoothed.standard_error / (1 - smoothed.value**2)
    low, high = (math.tanh(math.atanh(smoothed.value) + side * half) for side in (-1, 1))
    result = Estimate(value=value, low=min(low, value), high=max(high, value), **report)
    if codes is None:
        return result
    over = on_z_scale(result, _kappa_without_paradigms(a, b, codes), codes)
    if not over.n_paradigms:
        return over
    # of a few items per paradigm, the jackknife alone holds a kappa of 0 in .90 to .93
    ends = min(over.low_paradigms, result.low), max(over.high_paradigms, result.high)
    return replace(over, low_paradigms=ends[0], high_paradigms=ends[1])


def _kappa_without_paradigms(a: BoolArray, b: BoolArray, codes: IntArray) -> FloatArray:
    """Return by how much each paradigm shifts Fisher's z of the smoothed kappa: a jackknife over paradigms."""
    cell = 2 * ~a + ~b
    n = int(codes.max()) + 1
    counts = np.bincount(4 * codes + cell, minlength=4 * n).reshape(n, 2, 2).astype(np.float64)
    left = counts.sum(axis=0) - counts + _PSEUDO_WITHOUT
    return deleted(np.arctanh([kappa_of(entry).value for entry in left]))


class Kappa(NamedTuple):
    """Cohen's kappa of a table of counts; its standard error is asymptotic, 0 at perfect agreement."""

    value: float
    standard_error: float


def kappa_of(counts: FloatArray) -> Kappa:
    """Return kappa of a square table of counts with its asymptotic standard error; either margin has two choices.

    Fleiss, Cohen & Everitt 1969, equation 13. statsmodels has the same formula, and spends a millisecond on each of a
    report's thousands.
    """
    shares = counts / counts.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float(np.trace(shares)), float((rows * columns).sum())
    same = np.diag(shares) * ((1 - expected) - (rows + columns) * (1 - observed)) ** 2
    other = shares * (columns[:, np.newaxis] + rows[np.newaxis, :]) ** 2 * (1 - np.eye(len(shares)))
    rest = (observed * expected - 2 * expected + observed) ** 2
    variance = max(0.0, float((same.sum() + (1 - observed) ** 2 * other.sum() - rest) / (1 - expected) ** 4))
    error = math.sqrt(variance / float(counts.sum()))
    return Kappa(value=(observed - expected) / (1 - expected), standard_error=error)


def raw_agreement(
    delta_a: ArrayLike, delta_b: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """Return the share of items on which two methods prefer the same side, over the items kappa uses.

    Args:
        delta_a: One difference (good - bad) per item, shape (items,).
        delta_b: The other method's difference for the same items.
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    Returns:
        The share; undefined where either method takes now one side, now the other, by rounding alone.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> raw_agreement([1, 1, 1, -1, -1, 0], [2, 2, -2, -2, -2, 2]).value
    0.8
    """
    a, b, codes = _choices(delta_a, delta_b, clusters)
    for name, choices, delta in (("first", a, delta_a), ("second", b, delta_b)):
        if np.unique(choices).size > 1 and (reason := _why_rounding(name, delta)):
            return undefined(reason, n=a.size, method=WILSON, level=level)
    return share_of_items(a == b, clusters=codes, level=level)


def _choices(
    delta_a: ArrayLike, delta_b: ArrayLike, clusters: ArrayLike | None
) -> tuple[BoolArray, BoolArray, IntArray | None]:
    """Return whether each method prefers the good side, over items where neither ties, and their paradigms."""
    a, b = paired_vectors(delta_a, delta_b, names=("delta_a", "delta_b"))
    a, b = signs(a), signs(b)
    decided = (a != 0) & (b != 0)
    if clusters is None:
        return a[decided] > 0, b[decided] > 0, None
    codes = draws(np.asarray(clusters)[decided], int(decided.sum()))
    return a[decided] > 0, b[decided] > 0, codes


def _why_uncorrelated(x: FloatArray, y: FloatArray) -> str | None:
    if x.size < 2:
        return f"a correlation needs 2 items, there are {x.size}"
    for name, vector in (("first", x), ("second", y)):
        # scipy's own test for "nearly constant", where r is rounding noise
        if np.linalg.norm(vector - vector.mean()) <= 1e-11 * abs(vector.mean()):
            return f"the {name} values do not vary"
        if reason := _why_rounding(name, vector):
            return reason
    return None


def _why_rounding(name: str, values: ArrayLike) -> str | None:
    """Return why numbers that vary by no more than rounding say nothing, or None."""
    return None if varies(values) else f"the {name} values differ by rounding alone (sd at most {ROUNDING:g})"
