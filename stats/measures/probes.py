"""Probes: hidden states and labels in, cross-validated F1 and accuracy of a logistic regression out.

Neuro of He et al. 2025 (XCOMPS, sections 3 and 4.1): one probe per layer tells the better sentences of minimal pairs
from the worse ones; F1 of the better ones, mean of five folds. What the paper leaves open: folds part connected
components of pairs, so that no sentence is on both sides of a split; `pairbank.scoring.probes` fits the probe, with
C = 1. The control has the same states and folds, and the labels of each pair exchanged by a fair coin of its own. As in
Hewitt & Liang 2019 the labels say nothing of the input; unlike theirs, no test sentence was seen in training, so that
the control shows chance and its spread, not how much a probe can memorise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.scoring.probes import out_of_fold
from pairbank.stats.estimates.estimate import Estimate, finite_vector, refuse_non_finite, undefined, without_interval

N_FOLDS = 5
CORRECTED_T = "corrected-t"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldScores:
    """What one probe scored in each fold; all of shape (folds,)."""

    f1: FloatArray
    """F1 of the better sentences."""
    accuracy: FloatArray
    """Share of sentences classified right."""


def pair_components(good: Sequence[str], bad: Sequence[str]) -> IntArray:
    """Return a number for each pair, equal for pairs that a chain of common sentences joins."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {text: i for i, text in enumerate(dict.fromkeys([*good, *bad]))}
    ends = np.array([[number[a], number[b]] for a, b in zip(good, bad, strict=True)], dtype=np.int64).reshape(-1, 2)
    shape = (len(number), len(number))
    edges = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=shape)
    _, component = connected_components(edges, directed=False)
    _, numbered = np.unique(component[ends[:, 0]], return_inverse=True)
    return np.asarray(numbered, dtype=np.int64)


def fold_problem(components: IntArray, *, n_folds: int = N_FOLDS) -> str | None:
    """Return why pairs cannot be split into folds of whole components, or None if they can.

    >>> fold_problem(np.array([0, 0, 1]))
    '2 groups of pairs without a common sentence; 5 folds need at least 5'
    """
    n_components = len(np.unique(components))
    if n_components >= n_folds:
        return None
    return f"{n_components} groups of pairs without a common sentence; {n_folds} folds need at least {n_folds}"


def pair_folds(components: IntArray, *, rng: np.random.Generator, n_folds: int = N_FOLDS) -> IntArray:
    """Return the fold of each pair, whole components together, folds as equal in size as they allow."""
    from sklearn.model_selection import StratifiedGroupKFold

    if problem := fold_problem(components, n_folds=n_folds):
        raise BankError(f"cannot cross-validate: {problem}; take more pairs, or larger groups of them")
    return _folds(StratifiedGroupKFold, len(components), rng, n_folds, groups=np.tile(components, 2))[: len(components)]


def _folds(splitter: Any, n_pairs: int, rng: np.random.Generator, n_folds: int, **groups: IntArray) -> IntArray:  # noqa: ANN401
    """Return the fold of each sentence, better ones first, by one of scikit-learn's splitters."""
    labels = np.repeat([1, 0], n_pairs)
    folds = np.full(len(labels), -1, dtype=np.int64)
    parts = splitter(n_splits=n_folds, shuffle=True, random_state=int(rng.integers(2**32)))
    for fold, (_, test) in enumerate(parts.split(labels, labels, **groups)):
        folds[test] = fold
    return folds


def plain_folds(n_pairs: int, *, rng: np.random.Generator, n_folds: int = N_FOLDS) -> IntArray:
    """Return the fold of each sentence, shape (2 * pairs,), better sentences first: at random, whatever they share.

    Plain stratified folds, as a paper that says "five folds" may mean: a pair, or a sentence that stands in several
    pairs, can be on both sides of a split. A sentence of several pairs can then be known from training; a pair that is
    split teaches the opposite label of a sentence that is nearly the same, so that chance is below one half.

    >>> folds = plain_folds(10, rng=np.random.default_rng(0))
    >>> np.bincount(folds[:10]).tolist(), np.bincount(folds[10:]).tolist()
    ([2, 2, 2, 2, 2], [2, 2, 2, 2, 2])
    """
    from sklearn.model_selection import StratifiedKFold

    return _folds(StratifiedKFold, n_pairs, rng, n_folds)


def exchanged(n_pairs: int, *, rng: np.random.Generator) -> BoolArray:
    """Return the control task's labels, shape (2 * pairs,): in each pair, better first or exchanged, a fair coin.

    >>> exchanged(3, rng=np.random.default_rng(1)).astype(int).tolist()
    [0, 0, 1, 1, 1, 0]
    """
    first = rng.random(n_pairs) < 0.5
    return np.concatenate([first, ~first])


def cross_validated(
    states: ArrayLike, labels: ArrayLike, folds: ArrayLike, *, standardise: bool = True
) -> list[FoldScores]:
    """Return the scores of a probe in each fold, trained on the other folds, for each set of labels (sets, rows).

    >>> states = np.array([[1.0], [-1.0], [1.1], [-1.1]])
    >>> cross_validated(states, [[1, 0, 1, 0]], [0, 0, 1, 1])[0].f1
    array([1., 1.])
    """
    from sklearn.metrics import f1_score

    refuse_non_finite(np.asarray(states), name="states")
    kinds, fold_of = np.asarray(labels, dtype=bool), np.asarray(folds)
    parts = [fold_of == fold for fold in range(int(fold_of.max()) + 1)]
    predicted = out_of_fold(states, kinds, fold_of, standardise=standardise) > 0
    return [
        FoldScores(
            f1=np.array([f1_score(kind[part], of_kind[part]) for part in parts]),
            accuracy=np.array([np.mean(kind[part] == of_kind[part]) for part in parts]),
        )
        for kind, of_kind in zip(kinds, predicted, strict=True)
    ]


def fold_mean(values: ArrayLike, *, n: int) -> Estimate:
    """Return the mean over folds with the interval of Nadeau & Bengio 2003 (corrected resampled t), cut to [0, 1].

    Folds share training rows, so the plain variance of their mean is too small; they correct 1/k to 1/k + 1/(k-1),
    the second term being test rows per training row.

    >>> round(fold_mean([0.5, 0.6, 0.7, 0.8, 0.9], n=10).low, 4)
    0.4055
    """
    from scipy.stats import t

    scores = finite_vector(values, name="scores of folds")
    k = scores.size
    if k < 2:
        return undefined("fewer than two folds", n=n, method=CORRECTED_T)
    mean = float(scores.mean())
    if np.ptp(scores) == 0:
        return without_interval(mean, "all folds are equal: no spread", n=n, method=CORRECTED_T)
    error = math.sqrt((1 / k + 1 / (k - 1)) * float(scores.var(ddof=1)))
    half = float(t.ppf(0.975, k - 1)) * error
    return Estimate(value=mean, low=max(0.0, mean - half), high=min(1.0, mean + half), n=n, method=CORRECTED_T)


def chosen_by_other_folds(scores: ArrayLike) -> FloatArray:
    """Return each fold's score at the layer that is best in the other folds, from scores (layers, folds).

    The maximum over layers is optimistic, for the same folds choose the layer and score it. Here a fold does not
    vote on its own layer. (The probes that vote were trained on it, so this is near to nested cross-validation,
    not the same; it needs no further fits. Cf. Tibshirani & Tibshirani 2009.) A tie goes to the lower layer.

    >>> chosen_by_other_folds([[0.9, 0.5, 0.5], [0.6, 0.6, 0.6]])
    array([0.6, 0.5, 0.5])
    """
    table = np.asarray(scores, dtype=np.float64)
    others = (table.sum(axis=1, keepdims=True) - table) / (table.shape[1] - 1)
    best = np.argmax(np.round(others, 12), axis=0)
    return np.asarray(table[best, np.arange(table.shape[1])])
