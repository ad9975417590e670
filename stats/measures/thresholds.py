"""Acceptable or not by a threshold on a score: in, scores and labels of sentences; out, answers of held-out sentences.

A threshold that is fitted on the sentences it is then reported on flatters every score (MCC of CoLA is often given
that way). Here the threshold of each sentence is the one that does best on the other nine tenths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import finite_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import BoolArray, FloatArray, IntArray

N_FOLDS = 10
LEAST_OF_A_CLASS = N_FOLDS
"""Sentences that each class needs, so that every fold has one."""


def held_out_margins(scores: ArrayLike, labels: ArrayLike, item_ids: Sequence[str]) -> FloatArray:
    """Return how far each score is above the threshold learned from the other folds; NaN where a class is too small.

    Folds are stratified by label and drawn by a hash of the item's id, so that they are the same for every model. The
    threshold of a fold is the cut that maximises balanced accuracy on the other folds (the median of several).

    Args:
        scores: Of sentences, in any unit, shape (sentences,).
        labels: 1 = acceptable, 0 = not, same shape.
        item_ids: Ids of the items.

    Raises:
        BankError: If the lengths differ, a score is not finite, or a label is neither 0 nor 1.

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
    folds = _folds(is_good, item_ids)
    margins = np.empty(values.size)
    for fold in range(N_FOLDS):
        held_out = folds == fold
        margins[held_out] = values[held_out] - best_threshold(values[~held_out], is_good[~held_out])
    return margins


def best_threshold(scores: FloatArray, is_good: BoolArray) -> float:
    """Return the cut with the highest balanced accuracy: halfway between two scores, the median of several cuts.

    >>> best_threshold(np.array([1.0, 2.0, 5.0, 6.0]), np.array([False, False, True, True]))
    3.5
    """
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


def _folds(is_good: BoolArray, item_ids: Sequence[str]) -> IntArray:
    """Deal the sentences of each class out to the folds, in the order of a hash of their ids."""
    hashes = np.array([crc32(item_id.encode()) for item_id in item_ids], dtype=np.int64)
    folds = np.empty(len(item_ids), dtype=np.int64)
    for members in (np.flatnonzero(is_good), np.flatnonzero(~is_good)):
        folds[members[np.argsort(hashes[members], kind="stable")]] = np.arange(members.size) % N_FOLDS
    return folds
