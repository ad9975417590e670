"""Can one threshold tell grammatical from ungrammatical strings? In: scores; out, ROC-AUC with its interval.

Hu et al. 2026, TACL, section 6.3: all strings of a corpus are pooled, grammatical = 1, ungrammatical = 0. The two
strings of a pair are not independent: the interval is that of Obuchowski 1997, Biometrics 53:567-578 (DeLong, DeLong &
Clarke-Pearson 1988 for clusters). The bootstrap over pairs is biased upwards and covers less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import draws, shifts_of_mean, student_quantile, with_paradigms
from pairbank.stats.estimates.estimate import Estimate, check_level, finite_vector, undefined, without_interval
from pairbank.stats.estimates.shares import merged

N_FOLDS = 10
LEAST_OF_A_CLASS = N_FOLDS
"""Sentences that each class needs, so that every fold has one."""

OBUCHOWSKI = "obuchowski"


def held_out_margins(scores: ArrayLike, labels: ArrayLike, item_ids: Sequence[str]) -> FloatArray:
    """Return how far each score is above the threshold learned from the other folds; NaN where a class is too small.

    Folds are stratified by label and drawn by a hash of the item's id, so that they are the same for every model. The
    threshold of a fold is the cut that maximises balanced accuracy on the other folds (the median of several).

    >>> ids = [f"toy/{n}" for n in range(20)]
    >>> margins = held_out_margins([*range(10), *range(20, 30)], [0] * 10 + [1] * 10, ids)
    >>> (margins[:10] < 0).all() and (margins[10:] > 0).all()
    np.True_
    """
    values, good = finite_vector(scores, name="scores"), np.asarray(labels, dtype=np.float64)
    if not values.shape == good.shape == (len(item_ids),) or not np.isin(good, (0.0, 1.0)).all():
        raise BankError(f"{values.size} scores, {good.size} labels, {len(item_ids)} ids; expected a label 0 or 1 each")
    is_good = good == 1
    if min(is_good.sum(), (~is_good).sum()) < LEAST_OF_A_CLASS:
        return np.full(values.size, np.nan)
    hashes = np.array([crc32(item_id.encode()) for item_id in item_ids], dtype=np.int64)
    folds = np.empty(len(item_ids), dtype=np.int64)
    for members in (np.flatnonzero(is_good), np.flatnonzero(~is_good)):
        folds[members[np.argsort(hashes[members], kind="stable")]] = np.arange(members.size) % N_FOLDS
    margins = np.empty(values.size)
    for fold in range(N_FOLDS):
        held_out = folds == fold
        margins[held_out] = values[held_out] - best_threshold(values[~held_out], is_good[~held_out])
    return margins


def best_threshold(scores: FloatArray, is_good: BoolArray) -> float:
    """Return the cut with the highest balanced accuracy: halfway between two scores, the median of several cuts."""
    order = np.argsort(scores, kind="stable")
    ranked, good = scores[order], is_good[order]
    below_good = np.cumsum(good) / good.sum()
    below_bad = np.cumsum(~good) / (~good).sum()
    between = np.flatnonzero(ranked[1:] > ranked[:-1])
    if not between.size:
        return float(ranked[0])
    gain = (below_bad - below_good)[between]
    best = between[gain >= gain.max() - 1e-12]
    cut = best[(best.size - 1) // 2]
    return float((ranked[cut] + ranked[cut + 1]) / 2)


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
    """Return the strings of minimal pairs in one pool."""
    first, second = finite_vector(good, name="good"), finite_vector(bad, name="bad")
    if first.size != second.size:
        raise BankError(f"good has {first.size} scores, bad has {second.size}; expected one of each per pair")
    item = np.arange(first.size)
    return Strings(good=first, bad=second, good_item=item, bad_item=item, n_items=first.size)


def labelled_strings(scores: ArrayLike, labels: ArrayLike) -> Strings:
    """Return sentences that are labelled one by one (CoLA), each an item of its own."""
    values, marks = finite_vector(scores, name="scores"), finite_vector(labels, name="labels")
    if values.size != marks.size or not np.isin(marks, (0, 1)).all():
        raise BankError(f"{values.size} scores and labels {np.unique(marks)}; expected one label, 0 or 1, per score")
    good, bad = np.flatnonzero(marks == 1), np.flatnonzero(marks == 0)
    return Strings(good=values[good], bad=values[bad], good_item=good, bad_item=bad, n_items=values.size)


def auc(strings: Strings, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return the area under the ROC curve with Obuchowski's interval, on the logit scale.

    The area is the share of all (grammatical, ungrammatical) combinations in which the grammatical string scores
    higher, ties (differences up to 1e-9) one half (Mann-Whitney). The standard error is that of Obuchowski 1997 for
    clusters: the strings of an item go together. The logit keeps the interval within 0 and 1 and right near them (Pepe
    2003, section 5.2).

    Args:
        strings: The pooled strings.
        clusters: Number of each item's paradigm, -1 for none (`pairbank.stats.estimates.bootstrap`).
        level: Confidence level, a share.

    Returns:
        The area; `n` counts items. Undefined where a class is empty; without an interval where a class has strings of
        one item only, or the classes do not overlap.

    >>> found = auc(pooled_pairs([3.0, 2.0, 5.0, 6.0], [1.0, 2.0, 4.0, 3.0]))
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
    (0.75, 0.5436, 0.8831)
    """
    check_level(level)
    report: dict[str, Any] = {"n": strings.n_items, "method": OBUCHOWSKI, "level": level}
    if strings.problem:
        return undefined(strings.problem, **report)
    good, bad = _without_noise(strings)
    below, above = _placements(good, bad), 1 - _placements(bad, good)
    value = float(below.mean())
    if min(np.unique(item).size for item in (strings.good_item, strings.bad_item)) < 2:
        return without_interval(value, "a class has strings of one item only", **report)
    variance = _variance(strings, below - value, above - value)
    if not variance > 0 or not 0 < value < 1:
        return without_interval(value, "the standard error is 0", **report)
    low, high = _on_logit_scale(value, variance, NormalDist().inv_cdf((1 + level) / 2))
    result = Estimate(value=value, low=low, high=high, **report)
    if (codes := draws(clusters, strings.n_items)) is None:
        return result
    good_in, bad_in = codes[strings.good_item], codes[strings.bad_item]
    if min(np.unique(member).size for member in (good_in, bad_in)) < 2:
        return result
    n = int(codes.max()) + 1
    shifts = shifts_of_mean(below, good_in, n) + shifts_of_mean(above, bad_in, n)
    return with_paradigms(
        result, *_on_logit_scale(value, float(shifts @ shifts), student_quantile(codes, level)), codes
    )


def _variance(strings: Strings, of_good: FloatArray, of_bad: FloatArray) -> float:
    """Return Obuchowski's variance of the area, the draws being items."""
    n, members = strings.n_items, (strings.good_item, strings.bad_item)
    good, bad = (np.bincount(of, x, n) / x.size for x, of in zip((of_good, of_bad), members, strict=True))
    n_good, n_bad = (np.unique(of).size for of in members)
    variance = n_good / (n_good - 1) * float(np.sum(good**2)) + n_bad / (n_bad - 1) * float(np.sum(bad**2))
    return variance + 2 * n / (n - 1) * float(np.sum(good * bad))


def _on_logit_scale(value: float, variance: float, quantile: float) -> tuple[float, float]:
    if not variance > 0:
        return math.nan, math.nan
    half = quantile * variance**0.5 / (value * (1 - value))
    logit = math.log(value / (1 - value))
    return 1 / (1 + math.exp(-(logit - half))), 1 / (1 + math.exp(-(logit + half)))


def roc_curve(strings: Strings) -> RocCurve:
    """Return the ROC curve at its thresholds, thinned evenly along the curve; the ends stay.

    >>> curve = roc_curve(pooled_pairs([3.0, 2.0], [1.0, 2.0]))
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    if strings.problem:
        raise BankError(f"no ROC curve: {strings.problem}")
    from sklearn import metrics

    labels = np.repeat([1, 0], [strings.good.size, strings.bad.size])
    scores = np.concatenate(_without_noise(strings))
    false_positive, true_positive, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    steps = false_positive + true_positive
    kept = np.unique(np.searchsorted(steps, np.linspace(0, 2, 201)).clip(max=steps.size - 1))
    return RocCurve(false_positive_rate=false_positive[kept], true_positive_rate=true_positive[kept])


def _without_noise(strings: Strings) -> tuple[FloatArray, FloatArray]:
    """Return the scores of both classes, those that tie made equal."""
    scores = merged(np.concatenate([strings.good, strings.bad]))
    return scores[: strings.good.size], scores[strings.good.size :]


def _placements(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each score the share of the others below it, ties one half."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, scores, side="left"), np.searchsorted(ordered, scores, side="right")
    return np.asarray((below + up_to) / (2 * others.size), dtype=np.float64)
