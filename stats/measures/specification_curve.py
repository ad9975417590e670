"""Is a curve of specifications further from its null than chance makes it? Contributions of items in, a test out.

Simonsohn, Simmons & Nelson 2020, Nature Human Behaviour 4:1208-1214: the median effect, the share of specifications
that are significant in the direction of the claim, and the mean z (Stouffer). Under the null, the sign of what an item
contributes is exchanged at random, in all specifications at once, so that the draws are as dependent as the curve is:
of paired gains that is a permutation of what is compared within the item, of correlations a wild bootstrap of each
item's influence. Where items come in paradigms, the signs of whole paradigms are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from pairbank.errors import BankError

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

Scale = Literal["gain", "z"]
Z_975 = NormalDist().inv_cdf(0.975)
LEAST_UNITS = 10
ROWS_A_BLOCK = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveTest:
    """A whole curve against its null."""

    n_specifications: int
    n_units: int
    """Items, or paradigms, whose signs are exchanged."""
    median: float
    """Median effect, as distance from the null value."""
    share: float
    """Share of specifications that are significant (0.05, two-sided) in the direction of the claim."""
    mean_z: float
    """Sum of all z over the root of their number (Stouffer)."""
    p_median: float
    p_share: float
    p_mean_z: float
    """Two-sided, over the draws."""
    null_median_low: float
    null_median_high: float
    """Middle 95% of the medians of the draws."""
    detectable: float
    """The median effect that is found with a power of .8."""


def curve_test(
    contributions: FloatArray,
    units: IntArray,
    *,
    scale: Scale,
    n_used: FloatArray,
    observed: FloatArray,
    significant: FloatArray,
    rng: np.random.Generator,
    n_draws: int,
) -> CurveTest:
    """Test a whole curve.

    Args:
        contributions: What each item adds to each specification, 0 where it is not used, shape (items, specifications).
        units: Number of each item's unit, from 0: the item itself, or its paradigm.
        scale: `gain`: the effect is the mean contribution; `z`: the sum of contributions, which are influences.
        n_used: Items of each specification, shape (specifications,).
        observed: The sum that stands for what was seen, same shape: of gains, of z less its null value.
        significant: 1 where the interval lies beyond the null value in the direction of the claim, same shape.
        rng: Draws the signs.
        n_draws: How many.

    Raises:
        BankError: Fewer than ten units, or no specification.

    >>> gains = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 3), p=[0.3, 0.7])
    >>> found = curve_test(gains, np.arange(200), scale="gain", n_used=np.full(3, 200.0), observed=gains.sum(axis=0),
    ...                    significant=np.ones(3), rng=np.random.default_rng(1), n_draws=99)
    >>> found.p_median, found.p_mean_z
    (0.01, 0.01)
    """
    n_units = int(units.max()) + 1 if units.size else 0
    if n_units < LEAST_UNITS or not contributions.shape[1]:
        raise BankError(f"{contributions.shape[1]} specifications of {n_units} units; expected one, and {LEAST_UNITS}")
    squares = np.einsum("ij,ij->j", contributions, contributions)
    errors = np.sqrt(squares)
    drawn = _drawn_sums(_by_unit(contributions, units, n_units), rng=rng, n_draws=n_draws)
    effects, z = _effects(drawn, n_used, scale), drawn / errors
    median = float(np.median(_effects(observed, n_used, scale)))
    root = np.sqrt(observed.size)
    mean_z, null_z = float((observed / errors).sum() / root), z.sum(axis=1) / root
    up, down = (_beyond(side * drawn, squares, n_used, scale).mean(axis=1) for side in (1, -1))
    share, null_median = float(significant.mean()), np.median(effects, axis=1)
    low, high = np.quantile(null_median, [0.025, 0.975])
    return CurveTest(
        n_specifications=observed.size,
        n_units=n_units,
        median=median,
        share=share,
        mean_z=mean_z,
        p_median=_p(np.abs(null_median) >= abs(median) - 1e-12),
        p_share=_p(np.maximum(up, down) >= share - 1e-12),
        p_mean_z=_p(np.abs(null_z) >= abs(mean_z) - 1e-12),
        null_median_low=float(low),
        null_median_high=float(high),
        detectable=float((Z_975 + NormalDist().inv_cdf(0.8)) * null_median.std()),
    )


def _by_unit(contributions: FloatArray, units: IntArray, n_units: int) -> FloatArray:
    if n_units == len(units):
        return contributions
    summed = np.zeros((n_units, contributions.shape[1]))
    np.add.at(summed, units, contributions)
    return summed


def _drawn_sums(contributions: FloatArray, *, rng: np.random.Generator, n_draws: int) -> FloatArray:
    """Return the sums of each draw of signs, shape (draws, specifications)."""
    total = np.zeros((n_draws, contributions.shape[1]))
    for start in range(0, len(contributions), ROWS_A_BLOCK):
        block = contributions[start : start + ROWS_A_BLOCK]
        signs = rng.integers(0, 2, size=(n_draws, len(block)), dtype=np.int8).astype(np.float32) * 2 - 1
        total += signs @ block.astype(np.float32)
    return total


def _effects(sums: FloatArray, n_used: FloatArray, scale: Scale) -> FloatArray:
    return sums / n_used if scale == "gain" else sums


def _beyond(sums: FloatArray, squares: FloatArray, n_used: FloatArray, scale: Scale) -> FloatArray:
    """Return where an interval would lie above the null value: of gains the adjusted Wald interval."""
    if scale == "z":
        return (sums > Z_975 * np.sqrt(squares)).astype(np.float64)
    n = n_used + 1
    centre = sums / n
    return (centre > Z_975 * np.sqrt(((squares + 1) / n - centre**2) / n)).astype(np.float64)


def _p(as_far: Sequence[bool] | np.ndarray) -> float:
    result = np.asarray(as_far)
    return float((1 + result.sum()) / (1 + result.size))
