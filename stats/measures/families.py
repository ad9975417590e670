"""Is a difference that is measured in several families of models other than 0 in other families, on other items?

In: the difference of each item in each pair of models; out, its mean over families with an interval and p-value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.estimates.bootstrap import draws, freedom, standard_error
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval

LEAST_FAMILIES, LEAST_ITEMS = 3, 10
METHOD = "two-kinds-of-draws-t"


class FamilyContrast(NamedTuple):
    """A mean over families, and the p-value of its being 0."""

    estimate: Estimate
    p: float
    by_family: FloatArray
    """The mean of each family, in the order of their first pairs."""


def family_contrast(
    differences: FloatArray, families: list[str], clusters: IntArray | None = None, *, level: float = 0.95
) -> FamilyContrast:
    """Return the mean over families of a difference, with families and items (or paradigms) both as the draws.

    Each family counts once, however many pairs it has. The variance is that of the mean over families, plus that of
    the mean over paradigms (CR2), or over items where paradigms cannot be the draws; the noise that both have counts
    twice, so that the interval is conservative (Cameron, Gelbach & Miller 2011, J Bus Econ Stat 29:238-249, subtract
    it). Student's quantile, degrees of freedom by Satterthwaite 1946.

    Args:
        differences: Shape (items, pairs).
        families: The family of each pair.
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    >>> rows = np.tile([0.1, 0.2, 0.3, 0.3], (12, 1)) + np.linspace(-0.1, 0.1, 12)[:, np.newaxis]
    >>> contrast = family_contrast(rows, ["A", "B", "C", "C"])
    >>> contrast.by_family.round(2).tolist(), round(contrast.p, 3)
    ([0.1, 0.2, 0.3], 0.062)
    """
    names = list(dict.fromkeys(families))
    n_items, n_families = len(differences), len(names)
    if n_items < LEAST_ITEMS:
        reason = f"{n_items} common items, at least {LEAST_ITEMS} are needed"
        return FamilyContrast(undefined(reason, n=n_items, method=METHOD), math.nan, np.full(n_families, np.nan))
    of_families = np.column_stack(
        [differences[:, [other == name for other in families]].mean(axis=1) for name in names]
    )
    by_family, by_item = of_families.mean(axis=0), of_families.mean(axis=1)
    value = float(by_family.mean())
    if n_families < LEAST_FAMILIES:
        reason = f"{n_families} of the {LEAST_FAMILIES} families that are needed"
        return FamilyContrast(without_interval(value, reason, n=n_items, method=METHOD), math.nan, by_family)
    paradigms = draws(clusters, n_items)
    codes = np.arange(n_items) if paradigms is None else paradigms
    variances = np.array([by_family.var(ddof=1) / n_families, standard_error(by_item, codes) ** 2])
    degrees = np.array([n_families - 1, freedom(codes)])
    n_paradigms = 0 if paradigms is None else int(paradigms.max()) + 1
    estimate, p = _with_t(value, variances, degrees, n=n_items, level=level, n_paradigms=n_paradigms)
    return FamilyContrast(estimate, p, by_family)


class CrossedMean(NamedTuple):
    """A mean over responses, and the p-value of its being 0."""

    estimate: Estimate
    p: float


def crossed_mean(values: FloatArray, first: IntArray, second: IntArray, *, level: float = 0.95) -> CrossedMean:
    """Return a mean with two kinds of draws, such as participants and items, whose variances (CR2) are added.

    >>> values = np.array([0.2, 0.4, 0.3, 0.5] * 6)
    >>> mean = crossed_mean(values, np.arange(24) // 4, np.arange(24) % 4)
    >>> round(mean.estimate.value, 2), mean.p < 0.05
    (0.35, True)
    """
    value, n = float(values.mean()), int(min(codes.max() + 1 for codes in (first, second)))
    if n < 2:
        return CrossedMean(
            without_interval(value, "one participant or item has no spread", n=n, method=METHOD), math.nan
        )
    parts = np.array([standard_error(values, codes) ** 2 for codes in (first, second)])
    return CrossedMean(*_with_t(value, parts, np.array([freedom(first), freedom(second)]), n=values.size, level=level))


def _with_t(
    value: float, variances: FloatArray, degrees: FloatArray, *, n: int, level: float, n_paradigms: int = 0
) -> tuple[Estimate, float]:
    """Return a value with Student's t interval and p-value; the variances add up, degrees by Satterthwaite."""
    from scipy import special

    total = float(variances.sum())
    if total <= (1e-12 * max(1.0, abs(value))) ** 2:
        return without_interval(value, "all draws give the same", n=n, method=METHOD), math.nan
    freedom_of_sum = total**2 / float((variances**2 / degrees).sum())
    half = float(special.stdtrit(freedom_of_sum, (1 + level) / 2)) * math.sqrt(total)
    low, high = value - half, value + half
    estimate = Estimate(value=value, low=low, high=high, n=n, method=METHOD, level=level, n_paradigms=n_paradigms)
    return estimate, float(2 * special.stdtr(freedom_of_sum, -abs(value) / math.sqrt(total)))


def correlation_parts(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return numbers, one per item, whose mean is Pearson's r and whose spread is that of r (its influence function).

    Source: Devlin, Gnanadesikan & Kettenring 1975, Biometrika 62:531-545.

    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 4.0, 3.0])
    >>> round(float(correlation_parts(x, y).mean()), 2)
    0.6
    """
    a, b = ((values - values.mean()) / (values.std() or math.nan) for values in (x, y))
    r = float((a * b).mean())
    return np.asarray(r + a * b - r * (a**2 + b**2) / 2)
