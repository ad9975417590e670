"""Accuracy where one class is larger than the other: yes/no answers and labels in; balanced accuracy out.

Hu & Levy 2023, section 4.3 (experiment 3a, sentence judgment): the mean of the shares of right answers to good and to
bad sentences, with a percentile bootstrap interval. For pairs, where both classes are of one size, it is the accuracy
pooled over presentations (`accuracy_pooled`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.arrays import finite_vector
from pairbank.stats.bootstrap import CLUSTERS, bootstrap_statistic
from pairbank.stats.results import Estimate, undefined

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.stats.arrays import FloatArray


def balanced_accuracy(
    yes_minus_no: ArrayLike,
    is_good: ArrayLike,
    *,
    rng: np.random.Generator,
    items: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
) -> Estimate:
    """Return the mean of the shares of right answers to good and to bad sentences.

    Args:
        yes_minus_no: log P(yes) - log P(no) of each sentence judged, shape (sentences,), in nats; 0 is one half.
        is_good: Whether the sentence is good, same shape.
        rng: Source of the resamples.
        items: Item of each sentence, same shape, where several sentences (of a pair) make one item: items are then
            resampled whole. None: every sentence is an item.
        level: Confidence level, a share.
        n_resamples: Bootstrap resamples.

    Returns:
        The balanced accuracy; `n` counts items. Undefined where a class is missing.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> found = balanced_accuracy([1.0, 2.0, 3.0, -1.0], [True, True, False, False], rng=np.random.default_rng(7))
    >>> found.value, found.n
    (0.75, 4)
    """
    answers = finite_vector(yes_minus_no, name="yes_minus_no")
    good = np.asarray(is_good, dtype=np.bool_)
    if good.shape != answers.shape:
        raise BankError(f"{answers.size} answers and labels of shape {good.shape}; expected one label per answer")
    credit = (np.sign(np.where(good, answers, -answers)) + 1) / 2
    item = np.arange(answers.size) if items is None else np.unique(np.asarray(items), return_inverse=True)[1]
    if item.shape != answers.shape:
        raise BankError(f"items has shape {item.shape}; expected one item per answer, {answers.shape}")
    n_items = int(item.max()) + 1 if item.size else 0
    for name, members in (("good", good), ("bad", ~good)):
        if not members.any():
            return undefined(f"there are no {name} sentences", n=n_items, method=CLUSTERS, level=level)
    columns = [_totals(values, item, n_items) for values in (credit * good, good, credit * ~good, ~good)]
    return bootstrap_statistic(columns, _balanced, rng=rng, level=level, n_resamples=n_resamples)


def _totals(values: ArrayLike, item: np.ndarray, n_items: int) -> FloatArray:
    return np.bincount(item, weights=np.asarray(values, dtype=np.float64), minlength=n_items).astype(np.float64)


def _balanced(good_right: FloatArray, n_good: FloatArray, bad_right: FloatArray, n_bad: FloatArray) -> FloatArray:
    """Return the mean of both shares of each resample; NaN where a class was not drawn."""
    shares = []
    for right, total in ((good_right, n_good), (bad_right, n_bad)):
        drawn = total.sum(axis=-1)
        share = np.full(drawn.shape, np.nan)
        np.divide(right.sum(axis=-1), drawn, out=share, where=drawn > 0)
        shares.append(share)
    return np.asarray((shares[0] + shares[1]) / 2, dtype=np.float64)
