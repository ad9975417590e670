"""Intervals by resampling items, and over paradigms: arrays in, Estimate out.

Of the percentile bootstrap, items are drawn with replacement; where an item has several rows (presentations), the item
is the cluster that is drawn. Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 13 (percentile interval);
Field & Welsh 2007, JRSS-B 69(3), section 2 (cluster bootstrap).

An interval over items is about other items of these paradigms. One over paradigms is about other paradigms like these;
items of a paradigm share a template and are alike, so that it is often twice as wide. It supposes paradigms drawn
independently: the variance is that of what each paradigm as a whole shifts the estimate by, unbiased for independent
items whatever the sizes of paradigms are, with Student's quantile of the degrees of freedom that these sizes leave
(CR2: Bell & McCaffrey 2002, Survey Methodology 28:169-181). With paradigms of one size: Cochran 1977, section 11.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, check_level, finite_vector, undefined, without_interval
from pairbank.stats.wording import magnitude, number

ROWS = "bootstrap-percentile"
CLUSTERS = "cluster-bootstrap-percentile"
_FEW_KINDS = 64
_CHUNK_NUMBERS = 2**14  # small arrays stay in the cache
LEAST_PARADIGMS = 4
"""Paradigms that can be the draws of an interval."""
LEAST_EFFECTIVE = 3.0
"""Their effective number, below which one or two paradigms decide."""
LEAST_RESAMPLED = 10
"""Paradigms that can be resampled: percentile intervals of fewer are too narrow."""
NEAR_END = 0.1
"""A share as near to 0 or 1 has an exact end there: few paradigms that fail decide it, and may be unseen."""


def half_width(shifts: FloatArray, *, level: float = 0.95, lost: int = 2) -> float:
    """Return half an interval's width from each item's shift of the estimate; `lost` degrees of freedom are spent."""
    from scipy import special

    squares = shifts**2
    total = float(squares.sum())
    if not total > 0:
        return 0.0
    uncertainty = float((squares**2).sum()) / total**2 - 1 / shifts.size
    freedom = float(shifts.size - lost)
    if uncertainty > 4 / freedom:
        freedom = max(1.0, 4 / uncertainty)
    return float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)


def deleted(without: FloatArray) -> FloatArray:
    """Return the shifts of a jackknife: from the estimate without each item, on the scale of the interval.

    >>> deleted(np.array([1.0, 2.0, 3.0, 2.0])).round(3).tolist()
    [-0.866, 0.0, 0.866, 0.0]
    """
    return np.asarray(math.sqrt((without.size - 1) / without.size) * (without - without.mean()))


def bootstrap_mean(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
) -> Estimate:
    """Return the mean of the values with a percentile bootstrap interval.

    Args:
        values: One number per row, shape (rows,); any unit, kept in the result.
        rng: Source of the resamples.
        clusters: The item each row belongs to, shape (rows,); None if every row is an item of its own.
        level: Confidence level, a share.
        n_resamples: Bootstrap resamples.

    Returns:
        The mean over rows; `n` is the number of items. No rows: undefined. A single item, or items with equal
        means: a value without an interval.

    Raises:
        BankError: If a value is NaN or infinite, or the clusters are not one per row.

    >>> coin = bootstrap_mean([1, 1, 1, 0], rng=np.random.default_rng(7))
    >>> coin.value, coin.low, coin.high, coin.n
    (0.75, 0.25, 1.0, 4)
    >>> bootstrap_mean([1, 1, 1, 0], clusters=["a", "a", "b", "b"], rng=np.random.default_rng(7)).n
    2
    """
    numbers = finite_vector(values, name="values")
    _check_settings(level, n_resamples)
    method = ROWS if clusters is None else CLUSTERS
    if clusters is None:
        sums, sizes = numbers, np.ones_like(numbers)
    else:
        labels = np.asarray(clusters)
        if labels.shape != numbers.shape:
            raise BankError(f"clusters has shape {labels.shape}; expected one label per value, {numbers.shape}")
        _, index = np.unique(labels, return_inverse=True)
        sums = np.bincount(index, weights=numbers).astype(np.float64)
        sizes = np.bincount(index).astype(np.float64)
    if not numbers.size:
        return undefined("no items", n=0, method=method, level=level)
    means = _resampled_means(sums, sizes, rng, n_resamples)
    return percentile_estimate(float(numbers.mean()), means, n=sums.size, method=method, level=level)


def bootstrap_statistic(
    columns: Sequence[ArrayLike],
    statistic: Callable[..., FloatArray],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 1000,
) -> Estimate:
    """Return a statistic of rows with a percentile interval; whole rows (all columns) are resampled.

    Args:
        columns: Arrays of shape (n,), one row per item.
        statistic: Called with the columns, each of shape (resamples, n); returns one value per resample, NaN
            where it is undefined.
        rng: Source of the resamples.
        level: Confidence level, a share.
        n_resamples: Bootstrap resamples.

    Raises:
        BankError: If there is no column, or the columns differ in length.

    >>> ratio = bootstrap_statistic(
    ...     [[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.5]],
    ...     lambda x, y: y.sum(axis=-1) / x.sum(axis=-1),
    ...     rng=np.random.default_rng(7),
    ... )
    >>> ratio.value, ratio.n
    (2.05, 4)
    """
    arrays = [np.asarray(column) for column in columns]
    _check_settings(level, n_resamples)
    if not arrays or any(array.shape != (arrays[0].size,) for array in arrays):
        shapes = [array.shape for array in arrays]
        raise BankError(f"columns have the shapes {shapes}; expected at least one, all of one shape (n,)")
    n_rows = arrays[0].size
    if n_rows == 0:
        return undefined("no items", n=0, method=ROWS, level=level)
    value = float(statistic(*(array[np.newaxis] for array in arrays))[0])
    chunk = max(1, _CHUNK_NUMBERS // n_rows)
    resampled = np.empty(n_resamples)
    for start in range(0, n_resamples, chunk):
        stop = min(start + chunk, n_resamples)
        drawn = rng.integers(n_rows, size=(stop - start, n_rows))
        resampled[start:stop] = statistic(*(array[drawn] for array in arrays))
    return percentile_estimate(value, resampled, n=n_rows, method=ROWS, level=level)


def _check_settings(level: float, n_resamples: int) -> None:
    check_level(level)
    if n_resamples < 1:
        raise BankError(f"n_resamples is {n_resamples}; expected at least 1, usually 1000")


def _resampled_means(sums: FloatArray, sizes: FloatArray, rng: np.random.Generator, n_resamples: int) -> FloatArray:
    """Return the mean of each resample, shape (n_resamples,), from the totals of each item."""
    # No BLAS below: its threads change last digits, and spin for seconds on a shared machine.
    # Items with the same sum and size are interchangeable, so one multinomial over the few kinds of item has
    # exactly the distribution of drawing n items, at a thousandth of the cost. A complex number is the pair.
    kinds, copies = np.unique(sums + 1j * sizes, return_counts=True)
    n_items = sums.size
    if kinds.size <= _FEW_KINDS:
        counts = rng.multinomial(n_items, copies / n_items, size=n_resamples)
        totals = np.einsum("ij,jk->ik", counts, np.column_stack([kinds.real, kinds.imag]))
        return np.asarray(totals[:, 0] / totals[:, 1], dtype=np.float64)
    means = np.empty(n_resamples)
    for i in range(n_resamples):  # one resample at a time stays in the cache and needs no memory
        drawn = rng.integers(n_items, size=n_items)
        means[i] = sums[drawn].sum() / sizes[drawn].sum()
    return means


def percentile_estimate(value: float, resampled: FloatArray, *, n: int, method: str, level: float) -> Estimate:
    """Return the estimate with its percentile interval, or without one and the reason; NaN is undefined."""
    report: dict[str, Any] = {"n": n, "method": method, "level": level}
    if np.isnan(value):
        return undefined("the statistic is undefined for these rows", **report)
    if n == 1:
        return without_interval(value, "one item has no spread", **report)
    if n_undefined := int(np.isnan(resampled).sum()):
        return without_interval(value, f"undefined in {n_undefined} of {resampled.size} resamples", **report)
    if np.ptp(resampled) <= 1e-12 * max(1.0, abs(value)):
        return without_interval(value, f"every resample gives {magnitude(value, digits=6)}", **report)
    tail = (1 - level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Estimate(value=value, low=float(low), high=float(high), **report)


def effective_number(codes: IntArray) -> float:
    """Return how many paradigms of one size give as good a mean: the items squared by the sum of squared sizes.

    >>> effective_number(np.array([0, 0, 1, 1])), round(effective_number(np.array([0, 0, 0, 0, 1])), 2)
    (2.0, 1.47)
    """
    sizes = np.bincount(codes).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def draws(clusters: ArrayLike | None, n_items: int) -> IntArray | None:
    """Return the number of each item's paradigm from 0, or None where paradigms cannot be the draws.

    They are too few, of too unequal sizes, unknown (-1) for some item, or as many as the items.
    """
    if clusters is None:
        return None
    provided = np.asarray(clusters, dtype=np.int64)
    if provided.shape != (n_items,):
        raise BankError(f"clusters have shape {provided.shape}; expected one paradigm per item, ({n_items},)")
    if not n_items or provided.min() < 0:
        return None
    return drawn_from(provided)


def drawn_from(labels: np.ndarray, *, least: int = LEAST_PARADIGMS) -> IntArray | None:
    """Return the number of each label from 0, or None where labels cannot be the draws."""
    names, codes = np.unique(labels, return_inverse=True)
    if not least <= names.size < labels.size or effective_number(codes) < LEAST_EFFECTIVE:
        return None
    return np.asarray(codes, dtype=np.int64)


def why_not_drawn(labels: np.ndarray) -> str:
    """Return why the paradigms of items cannot be the draws of an interval, "" where they can."""
    codes, names = pd.factorize(labels)  # -1 for none
    if (codes < 0).any():
        return "some items have no paradigm" if names.size else "no item has a paradigm"
    if drawn_from(codes) is not None:
        return ""
    if names.size < LEAST_PARADIGMS:
        return f"fewer than {LEAST_PARADIGMS} paradigms"
    if names.size == codes.size:
        return "each item is a paradigm of its own"
    largest, effective = int(np.bincount(codes).max()), effective_number(codes)
    return (
        f"{largest:,} of {codes.size:,} items are of one paradigm, so that {names.size:,} paradigms count like "
        f"{number(effective, digits=1)} of one size (at least {LEAST_EFFECTIVE:g} are needed)"
    )


def with_paradigms(estimate: Estimate, low: float, high: float, codes: IntArray) -> Estimate:
    """Return the estimate with an interval over paradigms, which holds the value."""
    if math.isnan(estimate.value) or math.isnan(low) or math.isnan(high):
        return estimate
    ends = min(low, estimate.value), max(high, estimate.value)
    return replace(estimate, low_paradigms=ends[0], high_paradigms=ends[1], n_paradigms=int(codes.max()) + 1)


def share_over(estimate: Estimate, credit: FloatArray, codes: IntArray | None) -> Estimate:
    """Return a share with Wilson's interval over paradigms: for items / design effect items, Student's quantile."""
    if codes is None:
        return estimate

    error, share = standard_error(credit, codes), float(credit.mean())
    plain, low, high = share * (1 - share), math.nan, math.nan
    if error > 1e-12 and plain > 0:
        n = plain / error**2  # items whose own variance would be that of the paradigms
        t = student_quantile(codes, estimate.level)
        centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
        half = t * math.sqrt(plain / n + t**2 / (4 * n**2)) / (1 + t**2 / n)
        low, high = centre - half, centre + half
    if share >= 1 - NEAR_END:
        low, high = np.fmin(low, _least_mean(credit, codes, estimate.level)), np.fmax(high, estimate.high)
    if share <= NEAR_END:
        low, high = np.fmin(low, estimate.low), np.fmax(high, 1 - _least_mean(1 - credit, codes, estimate.level))
    return with_paradigms(estimate, float(low), float(high), codes)


def _least_mean(credit: FloatArray, codes: IntArray, level: float) -> float:
    """Return a lower bound of a mean share over paradigms that holds whatever the paradigms not seen are like."""
    from scipy import special

    sizes = np.bincount(codes)
    shares, weights = np.bincount(codes, weights=credit) / sizes, sizes / sizes.sum()
    n = effective_number(codes)
    mean, square = (float(weights @ shares**power) * n / (n + 1) for power in (1, 2))
    if not mean > 0:
        return 0.0
    size = mean * (1 - mean) * (n + 2) / (square - mean**2) - 1
    return float(special.betaincinv(mean * size, (1 - mean) * size, (1 - level) / 2))


def mean_over(estimate: Estimate, values: FloatArray, codes: IntArray | None) -> Estimate:
    """Return a mean of items with Student's t interval over paradigms; arguments as for `share_over`."""
    if codes is None:
        return estimate
    half = student_quantile(codes, estimate.level) * standard_error(values, codes)
    return with_paradigms(estimate, estimate.value - half, estimate.value + half, codes) if half > 0 else estimate


def standard_error(values: FloatArray, codes: IntArray) -> float:
    """Return the standard error of a mean of items over paradigms (CR2).

    >>> round(standard_error(np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 2, 2])), 3)
    0.289
    """
    return float(np.linalg.norm(shifts_of_mean(values, codes)))


def shifts_of_mean(values: FloatArray, codes: IntArray, n: int = 0) -> FloatArray:
    """Return what each of n paradigms shifts a mean of items by: their squares sum to its variance."""
    sizes = np.bincount(codes, minlength=n).astype(np.float64)
    residuals = np.bincount(codes, weights=values, minlength=n) - float(values.mean()) * sizes
    return np.asarray(residuals / np.sqrt(1 - sizes / values.size) / values.size)


def freedom(codes: IntArray) -> float:
    """Return the degrees of freedom of `standard_error`: paradigms - 1 where these are of one size, else fewer.

    >>> round(freedom(np.arange(40) // 4), 6), round(freedom(np.repeat(np.arange(12), [38] + [2] * 11)), 2)
    (9.0, 2.27)
    """
    share = np.bincount(codes) / codes.size
    cross = share**2 / (1 - share)
    return float(1 / ((share**2).sum() + cross.sum() ** 2 - (cross**2).sum()))


def student_quantile(codes: IntArray, level: float) -> float:
    from scipy import special

    return float(special.stdtrit(freedom(codes), (1 + level) / 2))


def on_z_scale(estimate: Estimate, shifts: FloatArray, codes: IntArray) -> Estimate:
    """Return a correlation with an interval over paradigms, from what each of them shifts Fisher's z by."""
    if abs(estimate.value) >= 1 or not np.isfinite(shifts).all():
        return estimate
    half, z = half_width(shifts, level=estimate.level, lost=1), math.atanh(estimate.value)
    return with_paradigms(estimate, math.tanh(z - half), math.tanh(z + half), codes) if half > 0 else estimate


def wider(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of estimates in which `low` and `high` are the ends of the wider of both intervals.

    >>> row = {"low": 0.4, "high": 0.6, "low_paradigms": 0.3, "high_paradigms": 0.7}
    >>> wider(pd.DataFrame([row, row | {"low_paradigms": None, "high_paradigms": None}]).astype(float))["low"].tolist()
    [0.3, 0.4]
    """
    if "low_paradigms" not in table.columns:
        return table
    return table.assign(
        low=table[["low", "low_paradigms"]].min(axis=1), high=table[["high", "high_paradigms"]].max(axis=1)
    )
