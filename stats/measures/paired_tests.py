"""Is one model (or method) better than another on the same items, or as good? Two vectors in, a comparison out.

McNemar's test on the items that one gets right and the other wrong, exact (binomial; McNemar 1947) and mid-p
(Fagerland, Lydersen & Laake 2013, BMC Med Res Methodol 13:91), ties one half; the paired difference in accuracy with an
adjusted Wald interval (after Bonett & Price 2012, J Educ Behav Stat 37:479-488); the difference that so many items
could detect (Connor 1987, Biometrics 43:207-211); a t test over paradigms, for what holds beyond them; corrections for
many comparisons: Holm 1979 (family-wise error), Benjamini & Hochberg 1995 (false discovery rate).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import LEAST_PARADIGMS, draws, freedom, mean_over, standard_error
from pairbank.stats.estimates.estimate import Estimate, check_level, finite_vector, paired_vectors, undefined
from pairbank.stats.estimates.shares import signs

ADJUSTED_WALD = "adjusted-wald"
_PSEUDO_ITEMS = 1.0
_FINEST = 5_040
"""A number that 1 to 10 divide: credits are ties and means over presentations."""
MOST_ROUNDED = 100
"""Gains on no such grid, means over many models, that the test goes over the signs of."""
LEAST_CLUSTERS = LEAST_PARADIGMS
"""Paradigms that a claim beyond them needs."""
HALF = 0.5
MOST_EXACT = 2_000
"""Items up to which gains finer than halves have an exact test; of more, the sum of gains is normal."""
NO_DISCORDANCE = "no item is right for one and wrong for the other"

MARGIN = 0.05
"""Accuracies closer than this are called equivalent, unless another margin is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two models or methods on the same items."""

    n: int
    """Items."""
    n_only_a: int
    """Items that A gets right and B wrong."""
    n_only_b: int
    """Items that B gets right and A wrong."""
    n_ties: int
    """Items on which A or B prefers neither side: one half, in the accuracies and in the test."""
    difference: Estimate
    """Accuracy of A - accuracy of B (ties one half), a share, with an adjusted Wald interval for pairs."""
    p_exact: float
    """McNemar's test, exact, two-sided, ties one half; NaN where both have the same credit on every item."""
    p_mid: float
    """The same with the mid-p correction, which is less conservative."""
    detectable: float
    """The smallest difference in accuracy that these items and this discordance detect with the power asked for; NaN
    where no difference as small as the discordance is detectable."""
    reason: str | None = None
    """Why there is no p-value; None where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """P-values after correction for how many there are, in the order given; NaN stays NaN and does not count."""

    holm: FloatArray
    """Adjusted so that the chance of any false claim stays at the level."""
    benjamini_hochberg: FloatArray
    """Adjusted so that the expected share of false claims stays at the level."""
    n_tests: int
    """P-values that are numbers."""


def compare(delta_a: ArrayLike, delta_b: ArrayLike, *, level: float = 0.95, power: float = 0.8) -> Comparison:
    """Compare the accuracies of two models or methods on the same items.

    Args:
        delta_a: One difference (good - bad) per item, shape (items,); right where positive.
        delta_b: The other's differences for the same items.
        level: Confidence level of the interval; 1 - level is the significance level of `detectable`.
        power: Wanted chance of detecting `detectable`.

    Raises:
        BankError: If the lengths differ, a number is not finite, or there is no item.

    >>> a, b = [1.0] * 9 + [-1.0] * 3, [1.0] * 2 + [-1.0] * 10
    >>> found = compare(a, b)
    >>> found.n_only_a, found.n_only_b, found.p_exact, found.p_mid, round(found.difference.value, 4)
    (7, 0, 0.015625, 0.0078125, 0.5833)
    """
    a, b = paired_vectors(delta_a, delta_b, names=("delta_a", "delta_b"))
    if not a.size:
        raise BankError("no items to compare; give the deltas of the items that both have scored")
    return compare_credits((signs(a) + 1) / 2, (signs(b) + 1) / 2, level=level, power=power)


def compare_credits(
    credit_a: ArrayLike,
    credit_b: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> Comparison:
    """Compare two accuracies from what each item earns: where presentations are pooled, no delta says it.

    Credits are from 0 (wrong) to 1 (right), between them a tie or a mean over presentations; clusters are the number of
    each item's paradigm, -1 for none.

    >>> found = compare_credits([1.0, 1.0, 0.5, 0.5], [0.5, 0.5, 0.5, 0.0])
    >>> found.difference.value, found.n_only_a, found.n_ties
    (0.375, 0, 4)
    """
    a, b = paired_vectors(credit_a, credit_b, names=("credit_a", "credit_b"))
    if not a.size:
        raise BankError("no items to compare; give the credits of the items that both have scored")
    n_only_a, n_only_b = int(np.sum((a > HALF) & (b < HALF))), int(np.sum((a < HALF) & (b > HALF)))
    n_discordant, credit = n_only_a + n_only_b, a - b
    tested = gain_test(credit)
    return Comparison(
        n=a.size,
        n_only_a=n_only_a,
        n_only_b=n_only_b,
        n_ties=int(np.sum((a == HALF) | (b == HALF))),
        difference=paired_difference(credit, clusters=clusters, level=level),
        p_exact=tested.p_exact,
        p_mid=tested.p_mid,
        detectable=detectable_difference(a.size, n_discordant / a.size, alpha=1 - level, power=power),
        reason=NO_DISCORDANCE if math.isnan(tested.p_mid) else None,
    )


def paired_difference(gain: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return the mean gain of A over B with an adjusted Wald interval.

    Bonett & Price 2012 add one item that A alone gets right and one that B alone does before they take the variance.
    Half of each is added here: with whole ones 95% intervals cover 97 to 99% where few items are discordant.

    >>> found = paired_difference([1, 1, 0, 0, 0, 0, 0, -1])
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.125, -0.3183, 0.5406)
    """
    provided = finite_vector(gain, name="gain")
    if not provided.size or np.abs(provided).max() > 1:
        largest = np.abs(provided).max(initial=0.0)
        raise BankError(f"{provided.size} gains, the largest {largest}; expected one or more, from -1 to 1")
    check_level(level)
    n = provided.size + _PSEUDO_ITEMS
    centre = float(provided.sum()) / n
    variance = (float((provided**2).sum()) + _PSEUDO_ITEMS) / n - centre**2
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance / n)
    value = float(provided.mean())
    low, high = min(value, max(-1.0, centre - half)), max(value, min(1.0, centre + half))
    result = Estimate(value=value, low=low, high=high, n=provided.size, method=ADJUSTED_WALD, level=level)
    return mean_over(result, provided, draws(clusters, provided.size))


class GainTest(NamedTuple):
    """P-values of gains that are as often for A as for B."""

    p_exact: float
    p_mid: float


def gain_test(gain: ArrayLike) -> GainTest:
    """Return McNemar's test with ties one half: two-sided, over all signs that the gains could have had.

    An item on which one of both ties gives half a gain. Left out, such items bend the test: of two equally good methods
    the one that ties where it is unsure is right more often on the items that are left. Without ties, McNemar's.

    >>> gain_test([1.0] * 9 + [-1.0] + [0.0] * 5).p_mid == mcnemar_mid_p(9, 1)
    True
    >>> round(gain_test([1.0, 1.0, 0.5, 0.5]).p_exact, 4)  # 2 of 16 signs give 3 or more
    0.125
    """
    provided = np.asarray(gain, dtype=np.float64)
    if not np.isin(np.abs(provided), (0.0, HALF, 1.0)).all():
        return _finer_gain_test(provided)
    a, b, half_a, half_b = (int(np.sum(provided == x)) for x in (1.0, -1.0, 0.5, -0.5))
    n, n_half = a + b, half_a + half_b
    if not n_half:
        return GainTest(mcnemar_exact(a, b), mcnemar_mid_p(a, b))
    return half_gain_test(n, n_half, abs(2 * (a - b) + half_a - half_b))


def half_gain_test(n: int, n_half: int, seen: int) -> GainTest:
    from scipy.stats import binom

    of_half = np.arange(n_half + 1)
    left = (seen - (2 * of_half - n_half) + 2 * n) / 4  # whole gains for A that reach it
    weight = binom.pmf(of_half, n_half, 0.5)
    above = float(weight @ binom.sf(np.floor(left), n, 0.5))
    same = float(weight @ np.where(left == np.floor(left), binom.pmf(left, n, 0.5), 0.0))
    return _two_sided(above, same, is_even=not seen)


def _two_sided(above: float, same: float, *, is_even: bool) -> GainTest:
    """Return p-values from the chances of a larger sum of gains and of the same one; `is_even`: that sum is 0."""
    if is_even:
        return GainTest(1.0, 1 - same / 2)
    return GainTest(min(1.0, 2 * (above + same)), min(1.0, 2 * above + same))


def _finer_gain_test(gain: FloatArray) -> GainTest:
    """Return the test of `gain_test` for gains of any size: over all signs, or normal where these are too many."""
    provided = gain[gain != 0]
    grid = np.rint(provided * _FINEST).astype(np.int64)
    on_grid = bool(np.abs(grid - provided * _FINEST).max() < 1e-6)
    if provided.size > (MOST_EXACT if on_grid else MOST_ROUNDED):
        p = 2 * NormalDist().cdf(-abs(float(provided.sum())) / math.sqrt(float(provided @ provided)))
        return GainTest(p, p)
    if not on_grid:
        grid = np.rint(provided * 1000).astype(np.int64)
    at, grid = abs(int(grid.sum())), np.abs(grid)
    unit = max(1, int(np.gcd.reduce(grid)))
    at, grid = at // unit, grid // unit
    chance = np.ones(1)
    for size in grid:  # the sum of all gains with random signs, from -sum to sum in steps of 2
        spread = np.zeros(chance.size + size)
        spread[: chance.size] += chance / 2
        spread[size:] += chance / 2
        chance = spread
    total = 2 * np.arange(chance.size) - int(grid.sum())
    return _two_sided(float(chance[total > at].sum()), float(chance[total == at].sum()), is_even=not at)


def beyond_clusters_p(gain: ArrayLike, clusters: IntArray) -> float:
    """Return the p-value of a mean gain of 0 over other paradigms of the kind: a t test over them, two-sided.

    What holds for other items of other paradigms holds for other items of these: the p-value is at least McNemar's
    (mid-p, `gain_test`). NaN where paradigms cannot be the draws, or do not differ.

    >>> round(beyond_clusters_p(np.tile([1.0, 0.0, -1.0, 0.0, 1.0], 6), np.arange(30) % 15), 3)
    0.334
    """
    from scipy.special import stdtr

    provided = np.asarray(gain, dtype=np.float64)
    codes = draws(clusters, provided.size)
    error = 0.0 if codes is None else standard_error(provided, codes)
    if codes is None or error <= 1e-12:  # of equal gains in all paradigms
        return math.nan
    p = float(2 * stdtr(freedom(codes), -abs(float(provided.mean())) / error))
    return max(p, gain_test(provided).p_mid)


def mcnemar_exact(n_only_a: int, n_only_b: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: a fair coin for every discordant item; NaN without one.

    >>> round(mcnemar_exact(9, 1), 8)
    0.02148438
    """
    from scipy.stats import binomtest

    fewer, n = _discordant(n_only_a, n_only_b)
    return float(binomtest(fewer, n).pvalue) if n else math.nan


def mcnemar_mid_p(n_only_a: int, n_only_b: int) -> float:
    """Return the mid-p value of McNemar's test: what was seen itself counts half.

    Fagerland, Lydersen & Laake 2013: keeps its level nearly always and is far less conservative than the exact test.
    It is P(more extreme) + half of P(as extreme), which for equal counts is 1 - P(what was seen) / 2.

    >>> round(mcnemar_mid_p(9, 1), 8)
    0.01171875
    """
    from scipy import special

    fewer, n = _discordant(n_only_a, n_only_b)
    if not n:
        return math.nan
    up_to = float(special.bdtr(fewer, n, 0.5))
    below = float(special.bdtr(fewer - 1, n, 0.5)) if fewer else 0.0
    if 2 * fewer == n:
        return 1 - (up_to - below) / 2
    return min(1.0, up_to + below)


def detectable_difference(n: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest difference in accuracy that a paired comparison of n items detects.

    Connor 1987: n = (z_alpha/2 sqrt(psi) + z_power sqrt(psi - d^2))^2 / d^2, solved for d, where psi is the share of
    discordant items and d the difference; NaN where even the largest one that psi allows would be missed too often.

    >>> round(detectable_difference(1000, 0.2), 4)
    0.0396
    """
    if n < 1 or not 0 <= discordance <= 1 or not 0 < alpha < 1 or not alpha < power < 1:
        raise BankError(
            f"n = {n}, discordance = {discordance}, alpha = {alpha}, power = {power}; expected n of 1 or more, "
            "a discordance from 0 to 1, alpha between 0 and 1 and a power between alpha and 1"
        )
    z_alpha, z_power = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    inner = n - z_alpha**2 + z_power**2
    if inner < 0:
        return math.nan
    result = math.sqrt(discordance) * (math.sqrt(n) * z_alpha + z_power * math.sqrt(inner)) / (n + z_power**2)
    return result if 0 < result <= discordance else math.nan


def corrected(p_values: ArrayLike) -> Corrected:
    """Return p-values corrected for how many there are.

    Args:
        p_values: One per comparison, shape (comparisons,), from 0 to 1; NaN where there is none.

    Raises:
        BankError: If a number is not from 0 to 1.

    >>> found = corrected([0.01, 0.04, 0.03])
    >>> found.holm.round(6).tolist(), found.benjamini_hochberg.round(6).tolist()
    ([0.03, 0.06, 0.06], [0.03, 0.04, 0.04])
    """
    provided = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(provided))
    numbers = finite_vector(provided[known], name="p_values")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
        raise BankError(f"p_values go from {numbers.min()} to {numbers.max()}; expected 0 to 1")
    order, n = np.argsort(numbers, kind="stable"), numbers.size
    ordered, result = numbers[order], [np.full(provided.shape, np.nan) for _ in range(2)]
    result[0][known[order]] = np.minimum(np.maximum.accumulate(ordered * np.arange(n, 0, -1)), 1)
    shares = ordered / (np.arange(1, n + 1) / n) if n else ordered
    result[1][known[order]] = np.minimum(np.minimum.accumulate(shares[::-1])[::-1], 1)
    return Corrected(holm=result[0], benjamini_hochberg=result[1], n_tests=n)


def no_comparison(reason: str) -> Comparison:
    counts: dict[str, Any] = dict.fromkeys(("n", "n_only_a", "n_only_b", "n_ties"), 0)
    tests: dict[str, Any] = dict.fromkeys(("p_exact", "p_mid", "detectable"), math.nan)
    return Comparison(difference=undefined(reason, n=0, method=ADJUSTED_WALD), reason=reason, **counts, **tests)


def _discordant(n_only_a: int, n_only_b: int) -> tuple[int, int]:
    if n_only_a < 0 or n_only_b < 0:
        raise BankError(f"discordant items are {n_only_a} and {n_only_b}; expected 0 or more")
    return min(n_only_a, n_only_b), n_only_a + n_only_b


def no_difference(credit_a: ArrayLike, credit_b: ArrayLike, *, margin: float = MARGIN) -> float:
    """Return the p-value of a difference as large as the margin (a share): where small, the accuracies are equivalent.

    >>> round(no_difference([1.0] * 90 + [0.0, 1.0] * 5, [1.0] * 90 + [1.0, 0.0] * 5), 3)
    0.071
    """
    a, b = paired_vectors(credit_a, credit_b, names=("credit_a", "credit_b"))
    if not 0 < margin < 1:
        raise BankError(f"margin is {margin}; expected a share between 0 and 1, such as {MARGIN}")
    gain = a - b
    return equivalence_p(gain[gain > 0].sum(), -gain[gain < 0].sum(), a.size, margin=margin)


def equivalence_p(only_a: float, only_b: float, n: int, *, margin: float) -> float:
    """Return the p-value of two one-sided tests that a paired difference in shares is within a margin.

    An item on which one of both ties is half of one, which takes the variance for larger than it is.

    >>> round(equivalence_p(10, 10, 400, margin=0.05), 5), equivalence_p(0, 0, 0, margin=0.05)
    (0.00016, nan)
    """
    from scipy.special import ndtr

    if not n:
        return math.nan
    return float(max(ndtr(_score(only_a, only_b, n, margin)), ndtr(_score(only_b, only_a, n, margin))))


def _score(b: float, c: float, n: int, margin: float) -> float:
    """Return Tango's score statistic of b / n - c / n = margin (his equations 11 and 12)."""
    linear = -b - c + (2 * n - b + c) * margin
    share = (math.sqrt(max(0.0, linear**2 + 8 * n * c * margin * (1 - margin))) - linear) / (4 * n)
    return (b - c - n * margin) / math.sqrt(n * (2 * share + margin * (1 - margin)))
