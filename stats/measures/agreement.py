"""Whether two methods, or a model and people, agree on items: in, two vectors of deltas; out, Estimate.

Pearson with Fisher's z interval (Fisher 1921), Spearman with a bootstrap interval, Cohen's kappa on signs
(Cohen 1960; asymptotic standard error of Fleiss, Cohen & Everitt 1969) and raw agreement; the ranks of many resamples
at once are whole numbers, whose sums are exact. Hu & Levy 2023,
section 3; Song et al. 2025, section 3; Ivanova et al. 2024.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.stats.estimates.arrays import check_level, paired_vectors
from pairbank.stats.estimates.bootstrap import ROWS, bootstrap_mean, bootstrap_statistic
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.estimates.ties import is_tie, signs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import BoolArray, FloatArray, IntArray

FISHER = "fisher-z"
ASYMPTOTIC = "kappa-asymptotic"


def pearson(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Return Pearson's r with Fisher's z interval.

    Args:
        x: One number per item, shape (items,).
        y: The other number of the same items.
        level: Confidence level, a share.

    Returns:
        r; undefined below 2 items or where either vector does not vary; without an interval below 4 items or
        at exactly +-1.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> r = pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    >>> round(r.value, 3), round(r.low, 3), round(r.high, 3)
    (0.8, -0.28, 0.986)
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    check_level(level)
    report: dict[str, Any] = {"n": first.size, "method": FISHER, "level": level}
    if reason := _why_uncorrelated(first, second):
        return undefined(reason, **report)
    # A report has thousands of correlations; scipy.stats.pearsonr, the same formula, takes thirty times as long.
    dx, dy = first - first.mean(), second - second.mean()
    value = float(np.clip(np.dot(dx / np.linalg.norm(dx), dy / np.linalg.norm(dy)), -1, 1))
    if first.size < 4:
        return without_interval(value, f"Fisher's z needs 4 items, there are {first.size}", **report)
    if abs(value) >= 1 - 1e-15:
        return without_interval(value, "r is exactly +-1, where Fisher's z is infinite", **report)
    half = NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(first.size - 3)
    low, high = (math.tanh(math.atanh(value) + side * half) for side in (-1, 1))
    return Estimate(value=value, low=low, high=high, **report)


def spearman(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, n_resamples: int = 1000
) -> Estimate:
    """Return Spearman's rho (mid-ranks for ties) with a percentile bootstrap interval over items.

    Args:
        x: One number per item, shape (items,).
        y: The other number of the same items.
        rng: Source of the resamples.
        level: Confidence level, a share.
        n_resamples: Bootstrap resamples.

    Returns:
        rho; undefined below 2 items or where either vector does not vary; without an interval where a
        resample is itself undefined.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> round(spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], rng=np.random.default_rng(7)).value, 3)
    0.8
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    check_level(level)
    if reason := _why_uncorrelated(first, second):
        return undefined(reason, n=first.size, method=ROWS, level=level)
    codes = [rank_codes(first), rank_codes(second)]
    return bootstrap_statistic(codes, rank_correlation, rng=rng, level=level, n_resamples=n_resamples)


def spearman_value(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Return Spearman's rho (mid-ranks for ties) without an interval, as `spearman` would have it.

    Args:
        x: One number per item, shape (items,).
        y: The other number of the same items.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> round(spearman_value([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 3)
    0.8
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    if reason := _why_uncorrelated(first, second):
        return undefined(reason, n=first.size, method="")
    (rho,) = rank_correlation(rank_codes(first)[np.newaxis], rank_codes(second)[np.newaxis])
    return without_interval(float(rho), "none was asked for", n=first.size, method="")


def cohens_kappa(delta_a: ArrayLike, delta_b: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Return Cohen's kappa between the choices of two methods: which side each one prefers.

    Args:
        delta_a: One difference (good - bad) per item, shape (items,); its sign is the choice.
        delta_b: The other method's difference for the same items.
        level: Confidence level, a share.

    Returns:
        kappa; `n` counts the items used: where either delta is exactly 0 nothing is chosen and the item is
        left out. Undefined where either method always makes the same choice (kappa is then 0 or 0/0 whatever
        the other does). The interval is asymptotic and may pass 1; there is none at perfect agreement.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> kappa = cohens_kappa([1, 1, 1, -1, -1, 0], [2, 2, -2, -2, -2, 2])
    >>> round(kappa.value, 4), kappa.n
    (0.6154, 5)
    """
    a, b = _choices(delta_a, delta_b)
    check_level(level)
    report: dict[str, Any] = {"n": a.size, "method": ASYMPTOTIC, "level": level}
    for name, choices in (("first", a), ("second", b)):
        if np.unique(choices).size < 2:
            reason = f"the {name} method makes one choice only" if choices.size else "no items without a tie"
            return undefined(reason, **report)
    shares = np.array([[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]) / a.size
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float(np.trace(shares)), float((rows * columns).sum())
    value = (observed - expected) / (1 - expected)
    error = math.sqrt(_kappa_variance(shares, observed=observed, expected=expected) / a.size)
    if np.array_equal(a, b) or not error > 1e-9:
        return without_interval(value, "the asymptotic standard error is 0", **report)
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    return Estimate(value=value, low=value - half, high=value + half, **report)


def _kappa_variance(shares: FloatArray, *, observed: float, expected: float) -> float:
    """Return n times the asymptotic variance of kappa (Fleiss, Cohen & Everitt 1969, equation 13).

    statsmodels has the same formula, and spends a millisecond on each of a report's thousands.
    """
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    same = np.diag(shares) * ((1 - expected) - (rows + columns) * (1 - observed)) ** 2
    other = shares * (columns[:, np.newaxis] + rows[np.newaxis, :]) ** 2 * (1 - np.eye(len(shares)))
    rest = (observed * expected - 2 * expected + observed) ** 2
    return max(0.0, float((same.sum() + (1 - observed) ** 2 * other.sum() - rest) / (1 - expected) ** 4))


def raw_agreement(
    delta_a: ArrayLike,
    delta_b: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 1000,
) -> Estimate:
    """Return the share of items on which two methods prefer the same side, over the items kappa uses.

    Args:
        delta_a: One difference (good - bad) per item, shape (items,).
        delta_b: The other method's difference for the same items.
        rng: Source of the bootstrap resamples.
        level: Confidence level, a share.
        n_resamples: Bootstrap resamples.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> raw_agreement([1, 1, 1, -1, -1, 0], [2, 2, -2, -2, -2, 2], rng=np.random.default_rng(7)).value
    0.8
    """
    a, b = _choices(delta_a, delta_b)
    return bootstrap_mean(a == b, rng=rng, level=level, n_resamples=n_resamples)


def _choices(delta_a: ArrayLike, delta_b: ArrayLike) -> tuple[BoolArray, BoolArray]:
    """Return whether each method prefers the good side, over items where neither ties."""
    a, b = paired_vectors(delta_a, delta_b, names=("delta_a", "delta_b"))
    a, b = signs(a), signs(b)
    decided = (a != 0) & (b != 0)
    return a[decided] > 0, b[decided] > 0


def _why_uncorrelated(x: FloatArray, y: FloatArray) -> str | None:
    """Return why a correlation is undefined, or None."""
    if x.size < 2:
        return f"a correlation needs 2 items, there are {x.size}"
    for name, vector in (("first", x), ("second", y)):
        # scipy's own test for "nearly constant", where r is rounding noise
        if np.linalg.norm(vector - vector.mean()) <= 1e-11 * abs(vector.mean()):
            return f"the {name} values do not vary"
    return None


def rank_codes(values: FloatArray) -> IntArray:
    """Return for each value its place among the distinct values, 0 for the smallest, shape (n,); ties share a place.

    >>> rank_codes(np.array([0.5, -1.0, 0.5]))
    array([1, 0, 1])
    """
    distinct, places = np.unique(values, return_inverse=True)
    opens = np.concatenate([[0], ~is_tie(np.diff(distinct))])  # 1 where a value is no tie of the one below it
    return np.asarray(np.cumsum(opens)[places], dtype=np.int64)


def rank_correlation(x: IntArray, y: IntArray) -> FloatArray:
    """Return Spearman's rho of each resample, shape (resamples,); NaN where a side does not vary.

    Args:
        x: Rank codes of the drawn items, shape (resamples, n).
        y: The other rank codes of the same items.

    >>> rank_correlation(np.array([[0, 1, 2, 3, 4], [0, 0, 0, 0, 0]]), np.array([[1, 0, 3, 2, 4]] * 2))
    array([0.8, nan])
    """
    dx, dy = _centred_ranks(x), _centred_ranks(y)
    scale = np.sqrt(np.einsum("ij,ij->i", dx, dx) * np.einsum("ij,ij->i", dy, dy))
    covariance = np.einsum("ij,ij->i", dx, dy)
    rho = np.full(scale.shape, np.nan)
    np.divide(covariance, scale, out=rho, where=scale > 0)
    return np.clip(rho, -1, 1)  # rounding can pass 1 by an ulp


def _centred_ranks(codes: IntArray) -> FloatArray:
    """Return twice (mid-ranks minus their mean), shape (resamples, n): whole numbers, whose sums are exact."""
    n_rows, n_items = codes.shape
    n_codes = int(codes.max()) + 1
    cells = codes + n_codes * np.arange(n_rows)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=n_rows * n_codes).reshape(n_rows, n_codes)
    ranks = np.cumsum(counts, axis=1)
    ranks *= 2
    ranks -= counts
    ranks -= n_items
    return np.asarray(ranks.astype(np.float64).ravel()[cells], dtype=np.float64)
