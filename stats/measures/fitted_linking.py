"""MORCELA: how length and word frequency link log-probability to people's ratings, learned per model.

In: ratings of sentences, their log P, unigram log P and numbers of tokens. Out: held-out scores, what was learned, and
r with people beside SLOR's. Tjuatja, Neubig, Linzen & Hao 2025 (NAACL): (log P - β log P_uni + γ) / N, where SLOR is
β = 1 and γ = 0. Of a linear model of the ratings on log P / N, log P_uni / N and 1 / N, β and γ are ratios of
coefficients. Scores are of coefficients fitted without the sentence's group (paradigm, or item), so that nothing is
fitted on what it is held against.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import deleted, half_width
from pairbank.stats.estimates.estimate import Estimate, undefined

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

LEAST_GROUPS, N_FOLDS, MOST_PARTS = 20, 10, 50
"""Groups of sentences that are needed; folds of cross-validation; parts that are left out in turn for intervals."""
METHOD = "jackknife over groups of sentences, each with its own cross-validation"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSentences:
    """What is fitted, one entry per sentence."""

    ratings: FloatArray
    """People's mean ratings."""
    logprob_nats: FloatArray
    unigram_nats: FloatArray
    """log P_uni of the tokens, summed."""
    n_tokens: FloatArray
    groups: IntArray
    """Number of the paradigm or item; a group is never split between folds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLinking:
    """What was learned, and how far it goes with people."""

    scores: FloatArray
    """Of each sentence, from coefficients fitted without its group: a predicted rating."""
    beta: Estimate
    """Weight of log P_uni; 1 in SLOR, 0 in the mean."""
    gamma: Estimate
    """In nats, over N; 0 in SLOR."""
    r: Estimate
    """Pearson's r of the held-out scores with the ratings."""
    r_slor: Estimate
    r_mean: Estimate
    """Of log P / N."""
    over_slor: Estimate
    """r - r_slor, of the same sentences."""


def fitted_linking(given: RatedSentences, *, level: float = 0.95) -> FittedLinking | str:
    """Return MORCELA fitted to ratings by cross-validation, or why it cannot be.

    Args:
        given: The sentences.
        level: Confidence level, a share.

    Raises:
        BankError: If the arrays differ in length, or a number is not finite.

    >>> rng = np.random.default_rng(0)
    >>> n, length = 400, rng.integers(4, 20, 400)
    >>> unigram, merit = -9.0 * length + rng.normal(size=n), rng.normal(size=n)
    >>> logprob = length * merit + 0.6 * unigram - 5
    >>> found = fitted_linking(RatedSentences(ratings=merit, logprob_nats=logprob, unigram_nats=unigram,
    ...                                       n_tokens=length + 0.0, groups=np.arange(n)))
    >>> round(found.beta.value, 2), round(found.gamma.value, 2), round(found.r.value, 2)
    (0.6, 5.0, 1.0)
    """
    columns = (given.ratings, given.logprob_nats, given.unigram_nats, given.n_tokens)
    if len({entry.shape for entry in (*columns, given.groups)}) > 1 or not all(np.isfinite(x).all() for x in columns):
        raise BankError(
            "ratings, log P, log P_uni, tokens and groups: expected finite numbers, one of each per sentence"
        )
    _, group = np.unique(given.groups, return_inverse=True)
    n_groups = int(group.max(initial=-1)) + 1
    if n_groups < LEAST_GROUPS:
        return f"{n_groups} groups of sentences with ratings and unigram counts; fitting needs {LEAST_GROUPS}"
    y, logprob, unigram, n = columns
    design = np.column_stack([logprob / n, unigram / n, 1 / n, np.ones_like(n)])
    if not np.ptp(y) or np.linalg.matrix_rank(design - [*design[:, :3].mean(axis=0), 0]) < design.shape[1]:
        return "ratings, lengths or frequencies do not vary, so that weights cannot be told apart"
    order = np.random.default_rng(0).permutation(n_groups)
    fold, part = (order % N_FOLDS)[group], (order // N_FOLDS * N_FOLDS + order) % min(n_groups, MOST_PARTS)
    values, scores = _values(y, design, fold)
    parts = part[group]
    without = np.array(
        [_values(y[keep], design[keep], fold[keep])[0] for keep in (parts != k for k in np.unique(parts))]
    )
    names = ("beta", "gamma", "r", "r_slor", "r_mean", "over_slor")
    results = {
        name: _estimate(name, float(values[k]), without[:, k], n=y.size, level=level) for k, name in enumerate(names)
    }
    return FittedLinking(scores=scores, **results)


def _values(y: FloatArray, design: FloatArray, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return beta, gamma, three correlations and the gain of the first over the second; and the held-out scores."""
    scores = np.empty_like(y)
    for entry in np.unique(fold):
        held = fold == entry
        scores[held] = design[held] @ np.linalg.lstsq(design[~held], y[~held], rcond=None)[0]
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    r, r_slor, r_mean = (float(np.corrcoef(x, y)[0, 1]) for x in (scores, design[:, 0] - design[:, 1], design[:, 0]))
    return np.array([-weights[1] / weights[0], weights[2] / weights[0], r, r_slor, r_mean, r - r_slor]), scores


def _estimate(name: str, value: float, without: FloatArray, *, n: int, level: float) -> Estimate:
    """Return a value with a jackknife interval; a correlation's on Fisher's z scale."""
    if not math.isfinite(value) or not np.isfinite(without).all():
        return undefined("scores do not vary", n=n, method=METHOD, level=level)
    on_z = name.startswith("r")
    ends = np.arctanh(np.clip([value, *without], -1 + 1e-12, 1 - 1e-12)) if on_z else np.array([value, *without])
    half = half_width(deleted(ends[1:]), level=level)
    low, high = ends[0] - half, ends[0] + half
    if on_z:
        low, high = math.tanh(low), math.tanh(high)
    return Estimate(
        value=value, low=float(min(low, value)), high=float(max(high, value)), n=n, method=METHOD, level=level
    )
