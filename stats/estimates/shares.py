"""Shares of items with intervals, and the sign of a difference with ties: in, credits; out, Estimate.

A share has Wilson's score interval (Wilson 1927, JASA 22:209-212; statsmodels), in its clustered form: the items count
as many as their spread says. The design effect is the variance of the item means over that of items plainly right or
wrong, p(1 - p); the interval is Wilson's for n / design effect items (Kish 1965, Survey Sampling, section 8.2; Korn &
Graubard 1998, Survey Methodology 24:193-201). One answer an item, right or wrong, has the effect 1: plain Wilson. The
effect is averaged over the n items that show it and one of effect 1, for a few items show too little spread by chance;
equal items therefore have an interval too. Where items have unequal numbers of trials, Student's quantile stands for
the normal one and the variance has n - 1 in the denominator. A mean of unbounded numbers has Student's t interval
(scipy).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray
from pairbank.errors import BankError
from pairbank.scoring.api.names import TIE
from pairbank.stats.estimates.bootstrap import draws, mean_over, share_over
from pairbank.stats.estimates.estimate import Estimate, check_level, finite_vector, undefined, without_interval
from pairbank.stats.wording import magnitude

WILSON = "wilson"
CLUSTERED = "wilson-clustered"
STUDENT = "student-t"

ROUNDING = 1e-4
"""Standard deviation over items, in nats or points of a rating, up to which answers do not vary. Deltas of float32
passes differ by some 1e-6 between batches for small models; tokens of larger ones lie up to 2e-4 off float64."""


def share_of_items(credit: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return the mean credit (1 right, 0 wrong, 0.5 a tie) of items with Wilson's interval.

    A single item that is neither right nor wrong has no interval.

    >>> share = share_of_items([1, 1, 0, 1])
    >>> share.value, round(share.low, 4), round(share.high, 4), share.method
    (0.75, 0.3006, 0.9544, 'wilson')
    """
    numbers = _credits(credit)
    result = _share(numbers, np.ones_like(numbers), method=WILSON, level=level)
    return share_over(result, numbers, draws(clusters, numbers.size))


def share_of_trials(
    credit: ArrayLike, items: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """Return the mean credit of trials, several per item, with Wilson's interval for clusters; `n` counts items.

    >>> share = share_of_trials([1, 1, 1, 0], ["a", "a", "b", "b"])
    >>> share.value, share.n, share.method
    (0.75, 2, 'wilson-clustered')
    """
    numbers, labels = _credits(credit), np.asarray(items)
    if labels.shape != numbers.shape:
        raise BankError(f"items has shape {labels.shape}; expected one label per trial, {numbers.shape}")
    _, index = np.unique(labels, return_inverse=True)
    sums = np.bincount(index, weights=numbers).astype(np.float64)
    sizes = np.bincount(index).astype(np.float64)
    result = _share(sums, sizes, method=CLUSTERED, level=level)
    return share_over(result, numbers, draws(clusters, numbers.size))


def mean_of_items(values: ArrayLike, *, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of numbers without bounds, such as log-probabilities, with Student's t interval over items.

    >>> mean = mean_of_items([-1.0, -2.0, -3.0])
    >>> mean.value, round(mean.low, 4), round(mean.high, 4)
    (-2.0, -4.4841, 0.4841)
    """
    from scipy import stats

    numbers = finite_vector(values, name="values")
    if not numbers.size:
        return undefined("no items", n=0, method=STUDENT)
    mean = float(numbers.mean())
    if numbers.size == 1:
        return without_interval(mean, "one item has no spread", n=1, method=STUDENT)
    error = float(stats.sem(numbers))
    if error <= 1e-12 * abs(mean):
        return without_interval(mean, f"every item gives {magnitude(mean, digits=6)}", n=numbers.size, method=STUDENT)
    low, high = stats.t.interval(0.95, numbers.size - 1, loc=mean, scale=error)
    result = Estimate(value=mean, low=float(low), high=float(high), n=numbers.size, method=STUDENT)
    return mean_over(result, numbers, draws(clusters, numbers.size))


def wilson_bounds(
    share: FloatArray, n_items: FloatArray, effect: FloatArray, *, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return low and high of Wilson's interval of shares.

    The design effect is that of the items, 1 where each is either right or wrong.

    >>> low, high = wilson_bounds(np.array([0.5]), np.array([96.0]), np.array([1.0]), level=0.95)
    >>> low.round(4), high.round(4)
    (array([0.4019]), array([0.5981]))
    """
    n = n_items * (n_items + 1) / (n_items * effect + 1)
    # statsmodels' proportion_confint, by hand: its import takes longer than any command needs for ten items
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    low, high = middle - half, middle + half
    return np.clip(np.minimum(low, share), 0, 1), np.clip(np.maximum(high, share), 0, 1)


def design_effect(variance: FloatArray, share: FloatArray) -> FloatArray:
    """Return the variance of item means (n in the denominator) over p(1 - p); 1 where all items are 0 or all are 1.

    >>> design_effect(np.array([0.125, 0.0]), np.array([0.5, 1.0]))
    array([0.5, 1. ])
    """
    plain = share * (1 - share)
    effect = np.ones_like(plain)
    np.divide(variance, plain, out=effect, where=plain > 1e-12)
    return effect


def _credits(credit: ArrayLike) -> FloatArray:
    numbers = finite_vector(credit, name="credit")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
        raise BankError(f"credits go from {numbers.min()} to {numbers.max()}; expected 0 to 1")
    return numbers


def _share(sums: FloatArray, sizes: FloatArray, *, method: str, level: float) -> Estimate:
    """Return the share of trials from the credit and the number of trials of each item."""
    n = sums.size
    check_level(level)
    if not n:
        return undefined("no items", n=0, method=method, level=level)
    share = np.array([sums.sum() / sizes.sum()])
    value = float(share[0])
    if n == 1 and value not in (0.0, 1.0):
        return without_interval(value, "one item has no spread", n=n, method=method, level=level)
    residuals = (sums - value * sizes) / sizes.mean()
    effect = design_effect(np.array([np.mean(residuals**2)]), share)
    quantile_of = level
    if np.ptp(sizes):  # the number of trials is then itself drawn: without this, 0.91 of 24 items' intervals cover
        effect, quantile_of = effect * n / (n - 1), student_level(level, n - 1)
    low, high = wilson_bounds(share, np.array([float(n)]), effect, level=quantile_of)
    return Estimate(value=value, low=float(low[0]), high=float(high[0]), n=n, method=method, level=level)


def student_level(level: float, freedom: int) -> float:
    """Return the level at which the normal quantile is Student's at the level that is asked for."""
    from scipy import special

    return min(1 - 1e-12, float(2 * special.ndtr(special.stdtrit(freedom, (1 + level) / 2)) - 1))


def is_tie(difference: ArrayLike) -> BoolArray:
    """Return which differences are at most `TIE` from 0; a NaN is no tie."""
    return np.asarray(np.abs(np.asarray(difference, dtype=np.float64)) <= TIE, dtype=np.bool_)


def signs(difference: ArrayLike) -> FloatArray:
    """Return 1 for a positive difference, -1 for a negative one, 0 for a tie, NaN for NaN.

    >>> signs([0.5, -2e-16, -0.5]).tolist()
    [1.0, 0.0, -1.0]
    """
    numbers = np.asarray(difference, dtype=np.float64)
    return np.where(is_tie(numbers), 0.0, np.sign(numbers))


def varies(values: ArrayLike) -> BoolArray:
    """Return whether the numbers of the last axis vary by more than `ROUNDING`; those of one item do not."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape[-1] < 2:
        return np.zeros(numbers.shape[:-1], dtype=np.bool_)
    return np.asarray(numbers.std(axis=-1) > ROUNDING, dtype=np.bool_)


def merged(values: ArrayLike) -> FloatArray:
    """Return the values, those that tie with the next smaller one as that one; ranks of these are mid-ranks of ties."""
    numbers = np.asarray(values, dtype=np.float64)
    distinct, places = np.unique(numbers, return_inverse=True)
    opens = np.concatenate([[True], ~is_tie(np.diff(distinct))]) if distinct.size else np.zeros(0, dtype=np.bool_)
    firsts = np.maximum.accumulate(np.where(opens, np.arange(distinct.size), 0))
    return np.asarray(distinct[firsts[places]], dtype=np.float64)
