"""Minimalness: in, how far apart the two sides of each pair are; out, ten bins with a correlation each, and a filter.

Hu et al. 2026, TACL, sections 4.2 (ten equally sized bins of the cosine distance of the two sentences), 4.4 (r of the
two log-probabilities, prediction 1b), 5.1 (the edit-distance filter) and 5.2 (r of model and human differences, 2b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, finite_vector
from pairbank.stats.measures.agreement import pearson

N_BINS = 10
KEPT_QUANTILE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The items whose distance lies between two quantiles."""

    number: int
    """From 1, the closest pairs."""
    low: float
    """Smallest distance in the bin."""
    high: float
    """Largest distance in the bin."""
    median: float
    """Median distance in the bin: where its point stands on a curve."""
    rows: IntArray
    """Positions of its items."""

    @property
    def cells(self) -> dict[str, float]:
        """The columns of a table that say which bin it is."""
        return {"bin": self.number, "bin_low": self.low, "bin_high": self.high, "bin_median": self.median}


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedEstimate:
    """One number of one bin."""

    bin: Bin
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceFilter:
    """Which pairs are close enough in edit distance to count as meaning-matched."""

    limit: float
    """The 75th percentile of the edit distance."""
    at_most: BoolArray
    """Pairs at the limit or below, shape (items,): the rule that gives the paper's 1,883 LI pairs."""
    below: BoolArray
    """Pairs below the limit: the rule as the paper words it."""


def equal_bins(distance: ArrayLike, *, n_bins: int = N_BINS) -> tuple[Bin, ...]:
    """Return equally sized bins of the items by distance, closest first.

    The bins are those of `pandas.qcut`, cut at the quantiles (linear interpolation); a value on a cut belongs to the
    lower bin. Items of the same distance always share a bin, so that whole-number distances give bins of unequal size,
    and fewer bins where a quantile repeats.

    Args:
        distance: One distance per item, shape (items,); finite.
        n_bins: How many bins.

    Raises:
        BankError: If a distance is not finite, or there are fewer than 2 bins.

    >>> [bin.rows.tolist() for bin in equal_bins([0.4, 0.1, 0.3, 0.2], n_bins=2)]
    [[1, 3], [0, 2]]
    >>> [(bin.low, bin.high, bin.rows.size) for bin in equal_bins([1, 1, 1, 1, 2, 3], n_bins=3)]
    [(1.0, 1.0, 4), (2.0, 3.0, 2)]
    """
    values = finite_vector(distance, name="distance")
    if n_bins < 2:
        raise BankError(f"n_bins is {n_bins}; expected 2 or more, usually {N_BINS}")
    if not values.size:
        return ()
    codes = np.nan_to_num(pd.qcut(values, n_bins, labels=False, duplicates="drop"))  # NaN: all distances are the same
    results: list[Bin] = []
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        inside = values[rows]
        results.append(
            Bin(
                number=len(results) + 1,
                low=float(inside.min()),
                high=float(inside.max()),
                median=float(np.median(inside)),
                rows=rows,
            )
        )
    return tuple(results)


def by_bin(bins: tuple[Bin, ...], statistic: Callable[[Bin], Estimate]) -> tuple[BinnedEstimate, ...]:
    """Return a statistic of each bin.

    >>> from pairbank.stats.estimates.estimate import undefined
    >>> bins = equal_bins([1.0, 2.0, 3.0, 4.0], n_bins=2)
    >>> [x.estimate.n for x in by_bin(bins, lambda b: undefined("toy", n=b.rows.size, method="none"))]
    [2, 2]
    """
    return tuple(BinnedEstimate(bin=item, estimate=statistic(item)) for item in bins)


def correlation_by_bin(
    x: ArrayLike, y: ArrayLike, distance: ArrayLike, *, n_bins: int = N_BINS, level: float = 0.95
) -> tuple[BinnedEstimate, ...]:
    """Return Pearson's r (jackknife interval) within each of the equally sized bins of a distance.

    Args:
        x: One number per item, shape (items,), e.g. log P of the good sentence in nats.
        y: The other number of the same items.
        distance: How far apart the item's two sides are, same shape.
        n_bins: How many bins.
        level: Confidence level, a share.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> found = correlation_by_bin([1, 2, 3, 1, 2, 3], [1, 2, 3, 3, 2, 1], [0, 0, 0, 1, 1, 1], n_bins=2)
    >>> [(b.bin.high, round(b.estimate.value, 9)) for b in found]
    [(0.0, 1.0), (1.0, -1.0)]
    """
    first, second = finite_vector(x, name="x"), finite_vector(y, name="y")
    far = finite_vector(distance, name="distance")
    if not first.size == second.size == far.size:
        raise BankError(f"x, y and distance have {first.size}, {second.size} and {far.size} values; expected as many")
    return by_bin(equal_bins(far, n_bins=n_bins), lambda b: pearson(first[b.rows], second[b.rows], level=level))


def distance_filter(edit_distance: ArrayLike) -> DistanceFilter:
    """Return which pairs pass the edit-distance filter of Hu et al. 2026, in its two readings.

    The text keeps pairs whose Levenshtein distance is "below the 75th quantile across all pairs" (section 5.1); the
    number of LI items in its Table 1a (1,883) is that of the pairs *at most* at the quantile.

    Args:
        edit_distance: Levenshtein distance in characters of each pair, shape (items,).

    Raises:
        BankError: If there is no pair, or a distance is not finite.

    >>> kept = distance_filter([1, 2, 3, 3, 9])
    >>> kept.limit, int(kept.at_most.sum()), int(kept.below.sum())
    (3.0, 4, 2)
    """
    distance = finite_vector(edit_distance, name="edit_distance")
    if not distance.size:
        raise BankError("no pairs to filter by edit distance; expected at least one")
    limit = float(np.quantile(distance, KEPT_QUANTILE))
    return DistanceFilter(limit=limit, at_most=distance <= limit, below=distance < limit)
