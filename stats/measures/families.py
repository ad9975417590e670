"""Means with two kinds of draws: items, and families of models, participants or wordings. Arrays in, mean and p out.

The variances of the mean over both kinds (CR2) are added; the noise that both have counts twice, so that intervals are
conservative (Cameron, Gelbach & Miller 2011, J Bus Econ Stat 29:238-249, subtract it). Student's quantile, degrees of
freedom by Satterthwaite 1946.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.estimates.bootstrap import draws, freedom, standard_error
from pairbank.stats.estimates.estimate import Estimate, Tested, undefined, without_interval

LEAST_FAMILIES, LEAST_ITEMS = 3, 10
LEAST_WORDINGS = 3
METHOD, WORDINGS = "two-kinds-of-draws-t", "wordings-t"


def family_contrast(differences: FloatArray, families: list[str], clusters: IntArray | None = None) -> Tested:
    """Return the mean over families of differences (items, pairs); each family counts once, however many pairs it has.

    >>> rows = np.tile([0.1, 0.2, 0.3, 0.3], (12, 1)) + np.linspace(-0.1, 0.1, 12)[:, np.newaxis]
    >>> contrast = family_contrast(rows, ["A", "B", "C", "C"])
    >>> round(contrast.estimate.value, 2), round(contrast.p, 3)
    (0.2, 0.062)
    """
    n = len(differences)
    if n < LEAST_ITEMS:
        return Tested(undefined(f"{n} of the {LEAST_ITEMS} common items that are needed", n=n, method=METHOD))
    of_families = np.column_stack(
        [differences[:, [other == name for other in families]].mean(axis=1) for name in dict.fromkeys(families)]
    )
    by_family, by_item = of_families.mean(axis=0), of_families.mean(axis=1)
    value = float(by_family.mean())
    if by_family.size < LEAST_FAMILIES:
        reason = f"{by_family.size} of the {LEAST_FAMILIES} families that are needed"
        return Tested(without_interval(value, reason, n=n, method=METHOD))
    paradigms = draws(clusters, n)
    codes = np.arange(n) if paradigms is None else paradigms
    variances = np.array([by_family.var(ddof=1) / by_family.size, standard_error(by_item, codes) ** 2])
    degrees = np.array([by_family.size - 1, freedom(codes)])
    return _with_t(value, variances, degrees, n=n, n_paradigms=0 if paradigms is None else int(paradigms.max()) + 1)


def crossed_mean(values: FloatArray, *kinds: IntArray) -> Tested:
    """Return a mean with one kind of draws or two, such as participants and items, by their numbers.

    >>> values = np.array([0.2, 0.4, 0.3, 0.5] * 6)
    >>> mean = crossed_mean(values, np.arange(24) // 4, np.arange(24) % 4)
    >>> round(mean.estimate.value, 2), mean.p < 0.05
    (0.35, True)
    """
    value = float(values.mean())
    if min(codes.max() for codes in kinds) < 1:
        reason = "one participant or item has no spread"
        return Tested(without_interval(value, reason, n=values.size, method=METHOD))
    variances = np.array([standard_error(values, codes) ** 2 for codes in kinds])
    return _with_t(value, variances, np.array([freedom(codes) for codes in kinds]), n=values.size)


def mean_over_wordings(values: FloatArray, *, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of crossed wordings and items, whose interval is about other wordings and paradigms.

    Both variances, of wordings' means and of items' (over paradigms where they can be drawn), contain what wordings do
    to single items. Values are (wordings, items); clusters are the items' paradigms.

    >>> result = mean_over_wordings(np.array([[1.0, 0, 1, 1], [0.0, 0, 1, 1], [1.0, 0, 0, 1]]))
    >>> round(result.value, 3), round(result.low, 3), round(result.high, 3)
    (0.583, -0.051, 1.218)
    """
    n_wordings, n = values.shape
    if n_wordings < LEAST_WORDINGS or n < 2:
        return undefined(f"{n_wordings} wordings of {n} items; it takes {LEAST_WORDINGS}", n=n, method=WORDINGS)
    value, codes = float(values.mean()), draws(clusters, n)
    paradigms = np.full(n, -1) if clusters is None else np.asarray(clusters)
    if codes is None and paradigms.min() >= 0 and np.unique(paradigms).size < n:
        return without_interval(value, "paradigms are too few or too uneven to be draws", n=n, method=WORDINGS)
    units = np.arange(n) if codes is None else codes
    variances = np.array(
        [values.mean(axis=1).var(ddof=1) / n_wordings, standard_error(values.mean(axis=0), units) ** 2]
    )
    if not variances.any():
        return without_interval(value, "the same answer by all wordings to all items", n=n, method=WORDINGS)
    return _with_t(value, variances, np.array([n_wordings - 1, freedom(units)]), n=n, method=WORDINGS).estimate


def _with_t(
    value: float, variances: FloatArray, degrees: FloatArray, *, n: int, n_paradigms: int = 0, method: str = METHOD
) -> Tested:
    from scipy import special

    total = float(variances.sum())
    if total <= (1e-12 * max(1.0, abs(value))) ** 2:
        return Tested(without_interval(value, "all draws give the same", n=n, method=method))
    of_sum = total**2 / float((variances**2 / degrees).sum())
    half = float(special.stdtrit(of_sum, 0.975)) * math.sqrt(total)
    ends = value - half, value + half
    estimate = Estimate(value=value, low=ends[0], high=ends[1], n=n, method=method, n_paradigms=n_paradigms)
    return Tested(estimate, float(2 * special.stdtr(of_sum, -abs(value) / math.sqrt(total))))


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
