"""How well anything could agree with people: in, ratings or their spread; out, reliability and the ceiling of r.

No score can correlate with noisy human means better than the square root of their reliability (Spearman 1904,
American Journal of Psychology 15:72-101: attenuation). The reliability comes from the components of the variance of
individual ratings (Shrout & Fleiss 1979, Psychological Bulletin 86:420-428, for complete tables; Henderson 1953 for
others), or from the standard deviation and number of the ratings of each sentence. Halves of the raters, correlated and
stepped up, give too low a value where not everybody rated everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import finite_vector
from pairbank.stats.measures.crossed_variance import component_variances
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray

COMPONENTS = "variance-components"
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


def ceiling_from_ratings(items: ArrayLike, raters: ArrayLike, ratings: ArrayLike) -> Ceiling:
    """Return the ceiling from individual ratings, by the components of their variance: items, raters and the rest.

    The reliability of the items' means is that of the intraclass correlations: ICC(C,k) where all raters rated all
    items (levels of raters then cancel out), ICC(1,k) where every rating has a rater of its own, and between them, for
    any pattern of missing ratings, the share of the variance of means that is of the items.

    Args:
        items: The item of each rating, shape (ratings,).
        raters: Its rater, same shape.
        ratings: The rating, on the scale of the means that a score is compared with (for instance z).

    Returns:
        Reliability over the items that were rated; `n` is their number.

    Raises:
        BankError: If the three differ in length or a rating is not finite.

    >>> items, raters = np.repeat([0, 1, 2, 3], 4), np.tile([0, 1, 2, 3], 4)
    >>> found = ceiling_from_ratings(items, raters, items + 0.0)
    >>> found.ceiling_r, found.n
    (1.0, 4)
    """
    values = finite_vector(ratings, name="ratings")
    item, rater = np.asarray(items), np.asarray(raters)
    if not item.shape == rater.shape == values.shape:
        raise BankError(f"items, raters and ratings have shapes {item.shape}, {rater.shape} and {values.shape}")
    codes = [np.unique(names, return_inverse=True)[1].astype(np.int64) for names in (item, rater)]
    n_items, n_raters = (int(code.max(initial=-1)) + 1 for code in codes)
    n_of_item = np.bincount(codes[0], minlength=n_items)
    if n_raters < 2 or n_items < 3 or n_of_item.max(initial=0) < 2:
        reason = f"{n_raters} raters of {n_items} items; a reliability needs 2 raters of an item, and 3 items"
        return _no_ceiling(reason, n=n_items, method=COMPONENTS)
    of_items, of_raters, rest = _components(values, *codes)
    noise = max(of_raters, 0.0) * _spread_of_levels(*codes) + rest * float((1 / n_of_item).mean())
    if of_items + noise <= 0:
        return _no_ceiling("every item has the same mean rating", n=n_items, method=COMPONENTS)
    return _ceiling(of_items / (of_items + noise), n=n_items, method=COMPONENTS)


def _components(values: FloatArray, item: IntArray, rater: IntArray) -> tuple[float, float, float]:
    """Return the variance of items, of raters and of the rest; without raters where no rater rated two items."""
    if np.bincount(rater).max() > 1:
        found = component_variances(values, {"item": item, "rater": rater})
        return float(found[0]), float(found[1]), float(found[2])
    counts, means = np.bincount(item), np.bincount(item, weights=values) / np.bincount(item)
    within = float(((values - means[item]) ** 2).sum()) / (values.size - counts.size)
    between = float((counts * (means - values.mean()) ** 2).sum()) / (counts.size - 1)
    each = (values.size - float((counts**2).sum()) / values.size) / (counts.size - 1)
    return (between - within) / each, 0.0, within


def _spread_of_levels(item: IntArray, rater: IntArray) -> float:
    """Return how much of the variance of raters' levels is in the items' means: 0 where all rated all."""
    n_items = int(item.max()) + 1
    weight = 1 / np.bincount(item)[item]
    of_rater = np.bincount(rater, weights=weight) / n_items
    return (float(weight @ weight) / n_items - float(of_rater @ of_rater)) * n_items / (n_items - 1)


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


def _ceiling(reliability: float, *, n: int, method: str) -> Ceiling:
    if math.isnan(reliability):
        return _no_ceiling("the ratings do not vary", n=n, method=method)
    if reliability <= 0:
        return _no_ceiling(
            f"the ratings are noise only (reliability {number(reliability, digits=3)})", n=n, method=method
        )
    value = min(reliability, 1.0)
    return Ceiling(reliability=value, ceiling_r=math.sqrt(value), n=n, method=method)


def _no_ceiling(reason: str, *, n: int, method: str) -> Ceiling:
    return Ceiling(reliability=math.nan, ceiling_r=math.nan, n=n, method=method, reason=reason)
