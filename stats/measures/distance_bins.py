"""Minimalness: in, how far apart the two sides of each pair are; out, ten bins with a correlation each, and a filter.

Hu et al. 2026, TACL, sections 4.2 (ten equally sized bins of the cosine distance of the two sentences), 4.4 (r of the
two log-probabilities, prediction 1b), 5.1 (the edit-distance filter) and 5.2 (r of model and human differences, 2b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
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
        return {"bin": self.number, "bin_low": self.low, "bin_high": self.high, "bin_median": self.median}


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedEstimate:
    """One number of one bin."""

    bin: Bin
    estimate: Estimate


def equal_bins(distance: ArrayLike, *, n_bins: int = N_BINS) -> tuple[Bin, ...]:
    """Return equally sized bins of the items by distance, closest first.

    The bins are those of `pandas.qcut`, cut at the quantiles (linear interpolation); a value on a cut belongs to the
    lower bin. Items of the same distance always share a bin, so that whole-number distances give bins of unequal size,
    and fewer bins where a quantile repeats.

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
        low, median, high = (float(of(values[rows])) for of in (np.min, np.median, np.max))
        results.append(Bin(number=len(results) + 1, low=low, high=high, median=median, rows=rows))
    return tuple(results)


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
    return tuple(
        BinnedEstimate(bin=part, estimate=pearson(first[part.rows], second[part.rows], level=level))
        for part in equal_bins(far, n_bins=n_bins)
    )


def largest_distance_kept(edit_distance: ArrayLike) -> float:
    """Return the 75th percentile of the edit distances of pairs, at most which they count as close.

    The text keeps pairs whose Levenshtein distance is "below the 75th quantile across all pairs" (section 5.1); the
    number of LI items in its Table 1a (1,883) is that of the pairs *at most* at the quantile.

    >>> largest_distance_kept([1, 2, 3, 3, 9])
    3.0
    """
    distance = finite_vector(edit_distance, name="edit_distance")
    if not distance.size:
        raise BankError("no pairs to filter by edit distance; expected at least one")
    return float(np.quantile(distance, KEPT_QUANTILE))


def counts_lower_when_far(pairs: pd.DataFrame, *, rng: np.random.Generator, n_permutations: int = 999) -> IntArray:
    """Return in how many models r is lower in the furthest bin than in the closest: as observed, then permuted.

    Pairs of one paradigm exchange their bins, for all models at once: what models share stays as it is, and so does
    what distance has to do with paradigms. A pair may have no `paradigm`.
    """
    items = pairs.drop_duplicates("item_id").set_index("item_id")
    bins = equal_bins(items["distance"])
    part = np.zeros(len(items))
    part[bins[0].rows], part[bins[-1].rows] = -1, 1
    paradigm = pd.factorize(items["paradigm"])[0]
    by_paradigm = part[np.argsort(paradigm, kind="stable")]
    x, y = (
        pairs.pivot_table(index="model", columns="item_id", values=name, sort=False)[items.index] for name in ("x", "y")
    )
    known = x.notna().to_numpy(dtype=np.float64)
    x, y = (values.sub(values.mean(axis=1), axis=0).div(values.std(axis=1), axis=0).fillna(0.0) for values in (x, y))
    sums = np.stack([known, x, y, x * y, x * x, y * y])
    counts = [np.atleast_1d(_lower(sums, part))]
    for size in np.diff(np.unique(np.r_[0 : n_permutations : max(1, 2_000_000 // len(items)), n_permutations])):
        order = np.argsort(paradigm + rng.random((size, len(items))), axis=1)
        permuted = np.empty(order.shape)
        np.put_along_axis(permuted, order, by_paradigm[np.newaxis], axis=1)
        counts.append(_lower(sums, permuted.T))
    return np.concatenate(counts)


def _lower(sums: FloatArray, part: FloatArray) -> IntArray:
    """Return the number of models whose r is lower where `part` is 1 than where it is -1."""
    r = []
    for end in (-1, 1):
        n, x, y, xy, xx, yy = sums @ (part == end)
        r.append((n * xy - x * y) / np.sqrt((n * xx - x**2) * (n * yy - y**2)))
    return np.asarray((r[1] < r[0]).sum(axis=0))
