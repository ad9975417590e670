"""Accuracy of many small groups at once: credits and group numbers in; shares with Wilson's intervals out.

A corpus has up to hundreds of paradigms, times methods, times models: all intervals of a method in one call. They are
those of `pairbank.stats.estimates.shares`, clustered where an item has several trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, finite_vector, undefined, without_interval
from pairbank.stats.estimates.shares import WILSON, design_effect, wilson_bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray

SIMULTANEOUS = "clopper-pearson-bonferroni"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    n: FloatArray
    mean: FloatArray
    variance: FloatArray
    """With n in the denominator."""


def wilson_by_group(
    credit: ArrayLike, group: ArrayLike, n_groups: int, *, method: str = WILSON, level: float = 0.95
) -> tuple[Estimate, ...]:
    """Return the accuracy of each group with Wilson's score interval.

    Args:
        credit: 1 for a right item, 0 for a wrong one, 0.5 for a tie, or the share of its trials that are right, shape
            (items,); all items have as many trials.
        group: Number of the item's group, from 0, same shape.
        n_groups: How many groups there are; one without items is undefined.
        method: What the interval is called; `wilson-clustered` where items have several trials.
        level: Confidence level, a share.

    Raises:
        BankError: If the lengths differ, a credit is not from 0 to 1, or a number is no group.

    >>> first, second = wilson_by_group([1, 1, 0, 1], [0, 0, 0, 0], 2)
    >>> first.value, round(first.low, 4), round(first.high, 4), second.reason
    (0.75, 0.3006, 0.9544, 'no items')
    """
    sums = _group_sums(credit, group, n_groups)
    share = np.where(sums.n > 0, sums.mean, 0.0)
    low, high = wilson_bounds(share, np.maximum(sums.n, 1), design_effect(sums.variance, share), level=level)
    return tuple(
        _estimate(float(mean), low=float(a), high=float(b), n=int(size), method=method, level=level)
        for mean, a, b, size in zip(sums.mean, low, high, sums.n, strict=True)
    )


def simultaneous_by_group(
    credit: ArrayLike, group: ArrayLike, n_groups: int, *, level: float = 0.95
) -> tuple[Estimate, ...]:
    """Return the accuracy of each group with intervals that hold all true accuracies at once, with chance `level`.

    For groups that are named since they came out lowest or highest. Clopper & Pearson's interval (1934, Biometrika
    26:404-413), Bonferroni over the groups, for as many items as the credits' variance is worth; where this variance is
    estimated (credits between 0 and 1) with Student's quantile (Korn & Graubard 1998, Survey Methodology 24:193-201).
    Wilson's misses too often so far out: of 67 equal groups at 0.95 in 0.30 (8 items) to 0.11 (100 items) of runs.

    Args:
        credit: As for `wilson_by_group`.
        group: As there.
        n_groups: As there, each with items.
        level: The chance that all intervals hold together.

    >>> first, second = simultaneous_by_group([1, 1, 1, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], 2)
    >>> round(first.low, 4), first.high, round(second.low, 4), round(second.high, 4)
    (0.3344, 1.0, 0.0031, 0.8478)
    """
    from scipy import special

    sums, alpha = _group_sums(credit, group, n_groups), (1 - level) / n_groups
    numbers, codes = finite_vector(credit, name="credit"), np.asarray(group, dtype=np.int64)
    between = np.bincount(codes, weights=(numbers > 0) & (numbers < 1), minlength=n_groups) > 0
    n, effect = sums.n, design_effect(sums.variance, sums.mean)
    t = special.stdtrit(np.maximum(n - 1, 1), 1 - alpha / 2) / special.ndtri(1 - alpha / 2)
    worth = np.where(between, n * (n + 1) / (n * effect + 1) / t**2, n)
    right = sums.mean * worth
    low = np.where(right > 0, special.betaincinv(np.maximum(right, 1e-12), worth - right + 1, alpha / 2), 0.0)
    wrong = np.maximum(worth - right, 1e-12)
    high = np.where(wrong > 1e-9, special.betaincinv(right + 1, wrong, 1 - alpha / 2), 1.0)
    return tuple(
        _estimate(float(mean), low=float(a), high=float(b), n=int(size), method=SIMULTANEOUS, level=level)
        for mean, a, b, size in zip(sums.mean, low, high, sums.n, strict=True)
    )


def _group_sums(values: ArrayLike, group: ArrayLike, n_groups: int) -> _Sums:
    numbers = finite_vector(values, name="credit")
    codes: IntArray = np.asarray(group, dtype=np.int64)
    if codes.shape != numbers.shape or (codes.size and not (codes.min() >= 0 and codes.max() < n_groups)):
        raise BankError(
            f"{numbers.size} credits and groups of shape {codes.shape}; expected a group below {n_groups} each"
        )
    if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
        raise BankError(f"credits go from {numbers.min()} to {numbers.max()}; expected 0 to 1")
    n = np.bincount(codes, minlength=n_groups).astype(np.float64)
    mean, variance = np.full(n_groups, np.nan), np.zeros(n_groups)
    np.divide(np.bincount(codes, weights=numbers, minlength=n_groups), n, out=mean, where=n > 0)
    squares = np.bincount(codes, weights=(numbers - mean[codes]) ** 2, minlength=n_groups)
    np.divide(squares, n, out=variance, where=n > 0)
    return _Sums(n=n, mean=mean, variance=variance)


def _estimate(value: float, *, low: float, high: float, n: int, method: str, level: float) -> Estimate:
    if not n:
        return undefined("no items", n=0, method=method, level=level)
    if n == 1 and value not in (0.0, 1.0):
        return without_interval(value, "one item has no spread", n=n, method=method, level=level)
    return Estimate(value=value, low=low, high=high, n=n, method=method, level=level)
