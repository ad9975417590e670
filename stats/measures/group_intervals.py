"""Accuracy of many small groups at once: credits and group numbers in; shares with closed-form intervals out.

A corpus has up to hundreds of paradigms, times methods, times models: intervals here are formulas, not resamples.
Wilson 1927, JASA 22:209-212, for one choice an item; Student's t over item means where an item has several trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.arrays import check_level, finite_vector
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.measures.accuracy import WILSON

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray

STUDENT = "student-t"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    n: FloatArray
    mean: FloatArray
    variance: FloatArray
    """With n - 1 in the denominator; NaN for fewer than 2 items."""


def wilson_by_group(credit: ArrayLike, group: ArrayLike, n_groups: int, *, level: float = 0.95) -> tuple[Estimate, ...]:
    """Return the accuracy of each group with Wilson's score interval.

    Args:
        credit: 1 for a right item, 0 for a wrong one, 0.5 for a tie, shape (items,).
        group: Number of the item's group, from 0, same shape.
        n_groups: How many groups there are; one without items is undefined.
        level: Confidence level, a share.

    Raises:
        BankError: If the lengths differ, a credit is not from 0 to 1, or a number is no group.

    >>> first, second = wilson_by_group([1, 1, 0, 1], [0, 0, 0, 0], 2)
    >>> first.value, round(first.low, 4), round(first.high, 4), second.reason
    (0.75, 0.3006, 0.9544, 'no items')
    """
    from scipy import special

    sums = _group_sums(credit, group, n_groups)
    check_level(level)
    z = float(special.ndtri((1 + level) / 2))
    n = np.maximum(sums.n, 1)
    centre = (sums.mean + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(sums.mean * (1 - sums.mean) / n + z * z / (4 * n * n))
    return tuple(
        _estimate(float(mean), low=float(c - h), high=float(c + h), n=int(size), method=WILSON, level=level)
        for mean, c, h, size in zip(sums.mean, centre, half, sums.n, strict=True)
    )


def student_by_group(
    item_means: ArrayLike, group: ArrayLike, n_groups: int, *, level: float = 0.95
) -> tuple[Estimate, ...]:
    """Return the mean over items of each group with Student's t interval, cut to 0 and 1.

    Args:
        item_means: Share of right trials of each item, shape (items,); all items have as many trials.
        group: Number of the item's group, from 0, same shape.
        n_groups: How many groups there are; one without items is undefined.
        level: Confidence level, a share.

    Raises:
        BankError: If the lengths differ, a mean is not from 0 to 1, or a number is no group.

    >>> (found,) = student_by_group([1.0, 0.5, 0.5, 0.5, 1.0], [0] * 5, 1)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.7, 0.36, 1.0)
    """
    from scipy import special

    sums = _group_sums(item_means, group, n_groups)
    check_level(level)
    freedom = np.maximum(sums.n - 1, 1)
    half = special.stdtrit(freedom, (1 + level) / 2) * np.sqrt(sums.variance / np.maximum(sums.n, 1))
    return tuple(
        _estimate(float(mean), low=float(mean - h), high=float(mean + h), n=int(size), method=STUDENT, level=level)
        for mean, h, size in zip(sums.mean, half, sums.n, strict=True)
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
    mean, variance = np.full(n_groups, np.nan), np.full(n_groups, np.nan)
    np.divide(np.bincount(codes, weights=numbers, minlength=n_groups), n, out=mean, where=n > 0)
    squares = np.bincount(codes, weights=(numbers - mean[codes]) ** 2, minlength=n_groups)
    np.divide(squares, n - 1, out=variance, where=n > 1)
    return _Sums(n=n, mean=mean, variance=variance)


def _estimate(value: float, *, low: float, high: float, n: int, method: str, level: float) -> Estimate:
    if not n:
        return undefined("no items", n=0, method=method, level=level)
    if np.isnan(low):
        return without_interval(value, "one item has no spread", n=n, method=method, level=level)
    if low >= high:
        return without_interval(value, f"every item gives {value:.6g}", n=n, method=method, level=level)
    return Estimate(value=value, low=max(0.0, low), high=min(1.0, high), n=n, method=method, level=level)
