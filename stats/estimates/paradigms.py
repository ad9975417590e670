"""How uncertain a number is where paradigms are the draws: in, an estimate and clusters; out, an interval of each kind.

An interval over items is about other items of these paradigms. One over paradigms is about other paradigms like these;
items of a paradigm share a template and are alike, so that it is often twice as wide. It supposes paradigms drawn
independently: the variance is that of what each paradigm as a whole shifts the estimate by (Cochran 1977, Sampling
Techniques, sections 6.3 and 11.2; Liang & Zeger 1986, Biometrika 73:13-22), with Student's quantile of paradigms - 1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import half_width
from pairbank.stats.estimates.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray

LEAST_PARADIGMS = 10
"""Paradigms that can be the draws of an interval."""


def draws(clusters: ArrayLike | None, n_items: int) -> IntArray | None:
    """Return the number of each item's paradigm from 0, or None where paradigms cannot be the draws.

    Args:
        clusters: Number of each item's paradigm, -1 for none, shape (items,); None where nothing is known.
        n_items: Items.

    Raises:
        BankError: If there is not one number per item.

    >>> draws([0, 0, 1, 1], 4) is None, int(draws(np.arange(40) // 2 * 7, 40).max())
    (True, 19)
    """
    if clusters is None:
        return None
    provided = np.asarray(clusters, dtype=np.int64)
    if provided.shape != (n_items,):
        raise BankError(f"clusters have shape {provided.shape}; expected one paradigm per item, ({n_items},)")
    if not n_items or provided.min() < 0:
        return None
    names, codes = np.unique(provided, return_inverse=True)
    return np.asarray(codes, dtype=np.int64) if LEAST_PARADIGMS <= names.size < n_items else None


def with_paradigms(estimate: Estimate, low: float, high: float, codes: IntArray) -> Estimate:
    """Return the estimate with an interval over paradigms, which holds the value."""
    if math.isnan(estimate.value) or math.isnan(low) or math.isnan(high):
        return estimate
    ends = min(low, estimate.value), max(high, estimate.value)
    return replace(estimate, low_paradigms=ends[0], high_paradigms=ends[1], n_paradigms=int(codes.max()) + 1)


def share_over(estimate: Estimate, credit: FloatArray, codes: IntArray | None) -> Estimate:
    """Return a share with Wilson's interval over paradigms: for items / design effect items, Student's quantile.

    Args:
        estimate: The mean credit, with its interval over items.
        credit: Of each item or trial, from 0 to 1.
        codes: The paradigm of each, from `draws`; None changes nothing.
    """
    from scipy import special

    if codes is None:
        return estimate
    error, share = standard_error(credit, codes), float(credit.mean())
    plain = share * (1 - share)
    if not error > 0 or plain <= 0:
        return estimate
    n = plain / error**2  # items whose own variance would be that of the paradigms
    t = float(special.stdtrit(codes.max(), (1 + estimate.level) / 2))
    centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t * math.sqrt(plain / n + t**2 / (4 * n**2)) / (1 + t**2 / n)
    return with_paradigms(estimate, centre - half, centre + half, codes)


def mean_over(estimate: Estimate, values: FloatArray, codes: IntArray | None) -> Estimate:
    """Return a mean of items with Student's t interval over paradigms; arguments as for `share_over`."""
    from scipy import special

    if codes is None:
        return estimate
    half = float(special.stdtrit(codes.max(), (1 + estimate.level) / 2)) * standard_error(values, codes)
    return with_paradigms(estimate, estimate.value - half, estimate.value + half, codes) if half > 0 else estimate


def standard_error(values: FloatArray, codes: IntArray) -> float:
    """Return the standard error of a mean of items over paradigms: that of a ratio of their sums to their sizes.

    >>> round(standard_error(np.tile([1.0, 0.0], 10), np.arange(20) // 2), 3)
    0.0
    """
    sizes = np.bincount(codes).astype(np.float64)
    residuals = np.bincount(codes, weights=values) - float(values.mean()) * sizes
    return math.sqrt(sizes.size / (sizes.size - 1) * float((residuals**2).sum())) / values.size


def on_z_scale(estimate: Estimate, shifts: FloatArray, codes: IntArray | None, *, lost: int = 1) -> Estimate:
    """Return a correlation with an interval over paradigms, from what each of them shifts Fisher's z by.

    Args:
        estimate: r, rho or kappa, with its interval over items.
        shifts: By how much each paradigm moves Fisher's z, shape (paradigms,).
        codes: The paradigm of each item, from `draws`; None changes nothing.
        lost: Degrees of freedom that are spent on what was estimated.
    """
    if codes is None or abs(estimate.value) >= 1 or not np.isfinite(shifts).all():
        return estimate
    half, z = half_width(shifts, level=estimate.level, lost=lost), math.atanh(estimate.value)
    return with_paradigms(estimate, math.tanh(z - half), math.tanh(z + half), codes) if half > 0 else estimate


def wider(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of estimates in which `low` and `high` are the ends of the wider of both intervals.

    >>> import pandas as pd
    >>> row = {"low": 0.4, "high": 0.6, "low_paradigms": 0.3, "high_paradigms": 0.7}
    >>> wider(pd.DataFrame([row, row | {"low_paradigms": None, "high_paradigms": None}]).astype(float))["low"].tolist()
    [0.3, 0.4]
    """
    if "low_paradigms" not in table.columns:
        return table
    return table.assign(
        low=table[["low", "low_paradigms"]].min(axis=1), high=table[["high", "high_paradigms"]].max(axis=1)
    )
