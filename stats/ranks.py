"""Spearman's rho of many resamples at once: in, dense rank codes; out, one rho per resample.

Spearman 1904; ties get mid-ranks. Counting the codes replaces sorting each resample, O(n) for O(n log n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pairbank.stats.arrays import FloatArray, IntArray


def rank_codes(values: FloatArray) -> IntArray:
    """Return for each value its place among the distinct values, 0 for the smallest, shape (n,).

    >>> rank_codes(np.array([0.5, -1.0, 0.5]))
    array([1, 0, 1])
    """
    return np.unique(values, return_inverse=True)[1]


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
