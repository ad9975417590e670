"""Can one threshold tell grammatical from ungrammatical strings? In: scores; out, ROC-AUC with its interval.

Hu et al. 2026, TACL, section 6.3: all strings of a corpus are pooled, grammatical = 1, ungrammatical = 0. The two
strings of a pair are not independent, so the interval resamples pairs (clusters). A resample only changes how often
each string counts, so every string is ranked once and a resample costs O(strings). The closed form of
Obuchowski 1997, Biometrics 53:567-578 (DeLong, DeLong & Clarke-Pearson 1988 for clusters) stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.arrays import check_level, finite_vector
from pairbank.stats.estimates.bootstrap import CLUSTERS
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray

OBUCHOWSKI = "obuchowski"
_CHUNK_NUMBERS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Strings:
    """Scored strings of two classes, and the item each belongs to."""

    good: FloatArray
    """Scores of the grammatical strings, shape (good strings,)."""
    bad: FloatArray
    """Scores of the ungrammatical strings, shape (bad strings,)."""
    good_item: IntArray
    """Number of each grammatical string's item, from 0."""
    bad_item: IntArray
    """The same for the ungrammatical ones; both strings of a pair have one number."""
    n_items: int

    @property
    def problem(self) -> str | None:
        """Why there is no ROC curve; None where there is one."""
        for name, scores in (("grammatical", self.good), ("ungrammatical", self.bad)):
            if not scores.size:
                return f"there are no {name} strings"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RocCurve:
    """Points of a ROC curve, from (0, 0) to (1, 1)."""

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray


def pooled_pairs(good: ArrayLike, bad: ArrayLike) -> Strings:
    """Return the strings of minimal pairs in one pool.

    Args:
        good: Score of each pair's grammatical string, shape (pairs,).
        bad: Score of its ungrammatical string, same shape.

    Raises:
        BankError: If the lengths differ or a score is not finite.

    >>> pooled_pairs([-10.0, -12.0], [-11.0, -15.0]).n_items
    2
    """
    first, second = finite_vector(good, name="good"), finite_vector(bad, name="bad")
    if first.size != second.size:
        raise BankError(f"good has {first.size} scores, bad has {second.size}; expected one of each per pair")
    item = np.arange(first.size)
    return Strings(good=first, bad=second, good_item=item, bad_item=item, n_items=first.size)


def labelled_strings(scores: ArrayLike, labels: ArrayLike) -> Strings:
    """Return sentences that are labelled one by one (CoLA), each an item of its own.

    Args:
        scores: Score of each sentence, shape (sentences,).
        labels: 1 for acceptable, 0 for not, same shape.

    Raises:
        BankError: If the lengths differ, a score is not finite, or a label is neither 0 nor 1.

    >>> labelled_strings([-10.0, -12.0, -11.0], [1, 0, 1]).good
    array([-10., -11.])
    """
    values, marks = finite_vector(scores, name="scores"), finite_vector(labels, name="labels")
    if values.size != marks.size or not np.isin(marks, (0, 1)).all():
        raise BankError(f"{values.size} scores and labels {np.unique(marks)}; expected one label, 0 or 1, per score")
    good, bad = np.flatnonzero(marks == 1), np.flatnonzero(marks == 0)
    return Strings(good=values[good], bad=values[bad], good_item=good, bad_item=bad, n_items=values.size)


def auc(strings: Strings, *, rng: np.random.Generator, level: float = 0.95, n_resamples: int = 1000) -> Estimate:
    """Return the area under the ROC curve with a percentile bootstrap interval over items.

    The area is the share of all (grammatical, ungrammatical) combinations in which the grammatical string scores
    higher, ties one half (Mann-Whitney).

    Args:
        strings: The pooled strings.
        rng: Source of the resamples; whole items (both strings of a pair) are drawn with replacement.
        level: Confidence level, a share.
        n_resamples: Bootstrap resamples.

    Returns:
        The area; `n` counts items. Undefined where a class is empty; without an interval for one item, or where
        resamples are themselves undefined or all equal.

    >>> found = auc(pooled_pairs([3.0, 2.0, 5.0], [1.0, 2.0, 4.0]), rng=np.random.default_rng(7))
    >>> round(found.value, 4), found.n
    (0.7222, 3)
    """
    check_level(level)
    if n_resamples < 1:
        raise BankError(f"n_resamples is {n_resamples}; expected at least 1, usually 1000")
    if strings.problem:
        return undefined(strings.problem, n=strings.n_items, method=CLUSTERS, level=level)
    ranked = _Ranked.of(strings)
    value = float(ranked.areas(np.ones((1, strings.n_items), dtype=np.int64))[0])
    if strings.n_items == 1:
        return without_interval(value, "one item has no spread", n=1, method=CLUSTERS, level=level)
    drawn = np.concatenate([ranked.areas(w) for w in _weights(strings.n_items, rng, n_resamples)])
    if n_undefined := int(np.isnan(drawn).sum()):
        reason = f"undefined in {n_undefined} of {n_resamples} resamples"
        return without_interval(value, reason, n=strings.n_items, method=CLUSTERS, level=level)
    if np.ptp(drawn) == 0:
        reason = f"every resample gives {drawn[0]:.6g}"
        return without_interval(value, reason, n=strings.n_items, method=CLUSTERS, level=level)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value=value, low=float(low), high=float(high), n=strings.n_items, method=CLUSTERS, level=level)


def auc_obuchowski(strings: Strings, *, level: float = 0.95) -> Estimate:
    """Return the area under the ROC curve with the closed-form interval for clustered strings.

    Obuchowski 1997: DeLong's components are summed within items, and their covariance between the classes within
    items is added. With one string an item it is DeLong's interval.

    Args:
        strings: The pooled strings.
        level: Confidence level, a share.

    >>> found = auc_obuchowski(pooled_pairs([3.0, 2.0, 5.0, 6.0], [1.0, 2.0, 4.0, 3.0]))
    >>> round(found.value, 4), round(found.low, 3), round(found.high, 3)
    (0.75, 0.577, 0.923)
    """
    check_level(level)
    if strings.problem:
        return undefined(strings.problem, n=strings.n_items, method=OBUCHOWSKI, level=level)
    below = _placements(strings.good, strings.bad)
    above = 1 - _placements(strings.bad, strings.good)
    value, n_good, n_bad = float(below.mean()), strings.good.size, strings.bad.size
    of_good = _item_sums(below - value, strings.good_item, strings.n_items)
    of_bad = _item_sums(above - value, strings.bad_item, strings.n_items)
    n_with = [np.unique(item).size for item in (strings.good_item, strings.bad_item)]
    if min(n_with) < 2:
        reason = "a class has strings of one item only"
        return without_interval(value, reason, n=strings.n_items, method=OBUCHOWSKI, level=level)
    variance = n_with[0] / (n_with[0] - 1) * float(np.sum(of_good**2)) / n_good**2
    variance += n_with[1] / (n_with[1] - 1) * float(np.sum(of_bad**2)) / n_bad**2
    shared = strings.n_items / (strings.n_items - 1) * float(np.sum(of_good * of_bad))
    variance += 2 * shared / (n_good * n_bad)
    if not variance > 0:
        reason = "the standard error is 0"
        return without_interval(value, reason, n=strings.n_items, method=OBUCHOWSKI, level=level)
    half = NormalDist().inv_cdf((1 + level) / 2) * variance**0.5
    low, high = max(0.0, value - half), min(1.0, value + half)
    return Estimate(value=value, low=low, high=high, n=strings.n_items, method=OBUCHOWSKI, level=level)


def roc_curve(strings: Strings, *, n_points: int = 201) -> RocCurve:
    """Return the ROC curve at its thresholds, thinned evenly along the curve.

    Args:
        strings: The pooled strings, both classes there.
        n_points: Most points kept; the ends always are.

    Raises:
        BankError: If a class is empty.

    >>> curve = roc_curve(pooled_pairs([3.0, 2.0], [1.0, 2.0]))
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    if strings.problem:
        raise BankError(f"no ROC curve: {strings.problem}")
    thresholds = np.unique(np.concatenate([strings.good, strings.bad]))[::-1]
    rates = []
    for scores in (strings.bad, strings.good):
        at_least = scores.size - np.searchsorted(np.sort(scores), thresholds, side="left")
        rates.append(np.concatenate([[0.0], at_least / scores.size]))
    steps = rates[0] + rates[1]
    kept = np.unique(np.searchsorted(steps, np.linspace(0, 2, n_points)).clip(max=steps.size - 1))
    return RocCurve(false_positive_rate=rates[0][kept], true_positive_rate=rates[1][kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """The strings ranked once: for each good string, how many bad ones stand below it and up to it."""

    good_item: IntArray
    bad_item: IntArray
    """Items of the bad strings, lowest score first."""
    n_below: IntArray
    n_up_to: IntArray
    has_ties: bool

    @classmethod
    def of(cls, strings: Strings) -> _Ranked:
        low_first = np.argsort(strings.bad, kind="stable")
        good_order = np.argsort(strings.good, kind="stable")  # neighbours in memory below
        bad, good = strings.bad[low_first], strings.good[good_order]
        n_below, n_up_to = np.searchsorted(bad, good, side="left"), np.searchsorted(bad, good, side="right")
        return cls(
            good_item=strings.good_item[good_order],
            bad_item=strings.bad_item[low_first],
            n_below=n_below,
            n_up_to=n_up_to,
            has_ties=not np.array_equal(n_below, n_up_to),
        )

    def areas(self, weights: IntArray) -> FloatArray:
        """Return the area of each resample from how often each item was drawn, shape (resamples, items)."""
        bad, good = weights[:, self.bad_item], weights[:, self.good_item]
        summed = np.zeros((len(weights), bad.shape[1] + 1), dtype=np.int64)
        np.cumsum(bad, axis=1, out=summed[:, 1:])
        below = summed[:, self.n_below]
        twice = below + (summed[:, self.n_up_to] if self.has_ties else below)
        wins = np.einsum("ij,ij->i", good, twice)  # whole numbers: exact, the same bytes everywhere
        combinations = 2.0 * good.sum(axis=1) * summed[:, -1]
        area = np.full(len(weights), np.nan)
        np.divide(wins, combinations, out=area, where=combinations > 0)
        return area


def _weights(n_items: int, rng: np.random.Generator, n_resamples: int) -> Iterator[IntArray]:
    """Yield, in chunks that stay in the cache, how often each item is drawn, shape (resamples, items)."""
    chunk = max(1, _CHUNK_NUMBERS // n_items)
    for start in range(0, n_resamples, chunk):
        n_rows = min(chunk, n_resamples - start)
        drawn = rng.integers(n_items, size=(n_rows, n_items)) + n_items * np.arange(n_rows)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=n_rows * n_items).reshape(n_rows, n_items)


def _placements(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each score the share of the others below it, ties one half."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, scores, side="left"), np.searchsorted(ordered, scores, side="right")
    return np.asarray((below + up_to) / (2 * others.size), dtype=np.float64)


def _item_sums(values: FloatArray, item: IntArray, n_items: int) -> FloatArray:
    """Return the sum of the values of each item, shape (items,)."""
    return np.bincount(item, weights=values, minlength=n_items).astype(np.float64)
