"""How well anything could agree with people: in, ratings or their spread; out, reliability and the ceiling of r.

No score can correlate with noisy human means better than the square root of their reliability (Spearman 1904,
American Journal of Psychology 15:72-101: attenuation). The reliability comes from raters split in halves, stepped up
to the whole (Spearman 1910, Brown 1910), or from the standard deviation and number of the ratings of each sentence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.arrays import finite_vector
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray

SPLIT_HALF = "split-half"
VARIANCES = "rating-variances"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Reliability of human means and the largest r that a perfect score could reach with them."""

    reliability: float
    """Share of the variance of the means that is not rating noise; NaN where undefined."""
    ceiling_r: float
    """Its square root; NaN where undefined."""
    n: int
    """Items."""
    method: str
    reason: str | None = None
    """Why there is none; None where there is one."""


def spearman_brown(half_r: float) -> float:
    """Return the reliability of the whole from the correlation of its halves: 2r / (1 + r).

    >>> spearman_brown(0.5)
    0.6666666666666666
    """
    return math.nan if half_r <= -1 else 2 * half_r / (1 + half_r)


def ceiling_from_ratings(
    items: ArrayLike, raters: ArrayLike, ratings: ArrayLike, *, rng: np.random.Generator, n_splits: int = 100
) -> Ceiling:
    """Return the ceiling from single ratings: raters are split in halves, the halves' item means correlated.

    Args:
        items: The item of each rating, shape (ratings,).
        raters: Its rater, same shape.
        ratings: The rating, on the scale of the means that a score is compared with (for instance z).
        rng: Source of the splits.
        n_splits: Random splits; the reliabilities are averaged.

    Returns:
        Reliability over the items that both halves rated; `n` is the smallest number of such items over the splits.

    Raises:
        BankError: If the three differ in length or a rating is not finite.

    >>> items, raters = np.repeat([0, 1, 2, 3], 4), np.tile([0, 1, 2, 3], 4)
    >>> found = ceiling_from_ratings(items, raters, items + 0.0, rng=np.random.default_rng(7), n_splits=5)
    >>> found.ceiling_r, found.n
    (1.0, 4)
    """
    values = finite_vector(ratings, name="ratings")
    item, rater = np.asarray(items), np.asarray(raters)
    if not item.shape == rater.shape == values.shape:
        raise BankError(f"items, raters and ratings have shapes {item.shape}, {rater.shape} and {values.shape}")
    item_names, item_code = np.unique(item, return_inverse=True)
    rater_names, rater_code = np.unique(rater, return_inverse=True)
    if rater_names.size < 2 or item_names.size < 3:
        reason = f"{rater_names.size} raters of {item_names.size} items; a split needs 2 raters and 3 items"
        return _no_ceiling(reason, n=item_names.size, method=SPLIT_HALF)
    found, smallest = [], item_names.size
    for _ in range(n_splits):
        first = rng.permutation(rater_names.size) < rater_names.size // 2
        side = first[rater_code]
        means = [_item_means(item_code[half], values[half], item_names.size) for half in (side, ~side)]
        both = ~np.isnan(means[0] + means[1])
        smallest = min(smallest, int(both.sum()))
        found.append(spearman_brown(_r(means[0][both], means[1][both])))
    return _ceiling(float(np.mean(found)), n=smallest, method=SPLIT_HALF)


def ceiling_from_spreads(
    human_delta: ArrayLike, sd_good: ArrayLike, n_good: ArrayLike, sd_bad: ArrayLike, n_bad: ArrayLike
) -> Ceiling:
    """Return the ceiling of r with human differences from the spread of the ratings of each sentence.

    The variance of the differences of means is true variance plus rating noise, sd^2 / n of each side (the raters of
    the two sides taken as independent): reliability = 1 - mean noise / variance.

    Args:
        human_delta: Mean rating of the better sentence - that of the worse one, shape (items,).
        sd_good: Standard deviation over raters (n - 1 in the denominator) of the better sentence's ratings.
        n_good: Its raters, 2 or more.
        sd_bad: The same for the worse sentence.
        n_bad: Its raters.

    Raises:
        BankError: If lengths differ, a number is not finite, or a sentence has fewer than 2 raters.

    >>> found = ceiling_from_spreads([0, 2, 4], [1, 1, 1], [4, 4, 4], [1, 1, 1], [4, 4, 4])
    >>> found.reliability
    0.875
    """
    names = ("human_delta", "sd_good", "n_good", "sd_bad", "n_bad")
    given = (human_delta, sd_good, n_good, sd_bad, n_bad)
    delta, *rest = (finite_vector(values, name=name) for name, values in zip(names, given, strict=True))
    if any(vector.size != delta.size for vector in rest):
        raise BankError(f"{names} have {[delta.size, *(v.size for v in rest)]} values; expected as many of each")
    if delta.size < 3:
        return _no_ceiling(f"{delta.size} items; expected 3 or more", n=delta.size, method=VARIANCES)
    if min(rest[1].min(), rest[3].min()) < 2:
        raise BankError("a sentence has fewer than 2 raters; its standard deviation says nothing, leave it out")
    noise = float(np.mean(rest[0] ** 2 / rest[1] + rest[2] ** 2 / rest[3]))
    variance = float(np.var(delta, ddof=1))
    if variance == 0:
        return _no_ceiling("the human differences do not vary", n=delta.size, method=VARIANCES)
    return _ceiling(1 - noise / variance, n=delta.size, method=VARIANCES)


def _item_means(codes: IntArray, values: FloatArray, n_items: int) -> FloatArray:
    """Return the mean of each item, NaN where it has no rating."""
    counts = np.bincount(codes, minlength=n_items).astype(np.float64)
    sums = np.bincount(codes, weights=values, minlength=n_items)
    means = np.full(n_items, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _r(x: FloatArray, y: FloatArray) -> float:
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def _ceiling(reliability: float, *, n: int, method: str) -> Ceiling:
    if math.isnan(reliability):
        return _no_ceiling("a half does not vary or rates fewer than 3 items of the other", n=n, method=method)
    if reliability <= 0:
        return _no_ceiling(
            f"the ratings are noise only (reliability {number(reliability, digits=3)})", n=n, method=method
        )
    value = min(reliability, 1.0)
    return Ceiling(reliability=value, ceiling_r=math.sqrt(value), n=n, method=method)


def _no_ceiling(reason: str, *, n: int, method: str) -> Ceiling:
    return Ceiling(reliability=math.nan, ceiling_r=math.nan, n=n, method=method, reason=reason)
