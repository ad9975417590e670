"""Which ranks a model may have among others on the same items: in, differences of all models; out, an interval a model.

Every two models are compared on the items that both have. A rank goes from 1 + the models that are significantly
better to the number of models less those that are significantly worse; models that cannot be told apart so share
ranks. With p-values corrected by Holm 1979 over all pairs, all intervals hold the true ranks together with the chance
`level` (Mogstad, Romano, Shaikh & Wilhelm 2024, Rev Econ Stud 91:476-518, section 3, with Holm's in place of their
bootstrap). One corpus: McNemar's exact test (`paired_tests`). A mean over several corpora: a z test of the mean
paired difference, one item added to each corpus as in `paired_difference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import check_level
from pairbank.stats.estimates.ties import signs
from pairbank.stats.measures.paired_tests import half_gain_test

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import BoolArray, FloatArray, IntArray

_BLOCK = 16_384
"""Items taken at once: 200 models then need 13 MB a matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankIntervals:
    """For each model, the best and the worst rank that the tests leave it; 1 is the best."""

    best: IntArray
    worst: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """What every two models got right on the items that both have; all of shape (models, models)."""

    n: FloatArray
    """Items."""
    only: FloatArray
    """Items that the model of the row gets right and that of the column wrong; ties count as neither."""
    gain: FloatArray
    """Sum over items of the row's credit less the column's, ties one half."""
    squares: FloatArray
    """Sum over items of the square of that."""


def pair_counts(deltas: ArrayLike) -> PairCounts:
    """Return the counts that paired comparisons of all models need.

    Args:
        deltas: differences (good - bad), shape (models, items); right where positive, NaN where a model has none.

    >>> counts = pair_counts([[1.0, 1.0, -1.0], [1.0, -1.0, float("nan")]])
    >>> counts.n[0, 1].item(), counts.only[0, 1].item(), counts.gain[0, 1].item()
    (2.0, 1.0, 1.0)
    """
    given = np.asarray(deltas, dtype=np.float64)
    if given.ndim != 2:
        raise BankError(f"deltas have shape {given.shape}; expected one row per model, one column per item")
    n_models = len(given)
    n, only, gain, squares = (np.zeros((n_models, n_models)) for _ in range(4))
    for start in range(0, given.shape[1], _BLOCK):
        block = given[:, start : start + _BLOCK]
        has = np.isfinite(block).astype(np.float64)
        credit = np.where(has > 0, (signs(np.nan_to_num(block)) + 1) / 2, 0.0)
        up, down = (credit == 1).astype(np.float64), has * (credit == 0)
        total, square = credit @ has.T, credit**2 @ has.T
        n += has @ has.T
        only += up @ down.T
        gain += total - total.T
        squares += square + square.T - 2 * (credit @ credit.T)
    return PairCounts(n=n, only=only, gain=gain, squares=squares)


def rank_intervals(counts: PairCounts, *, level: float = 0.95) -> RankIntervals:
    """Return the ranks that McNemar's exact test, ties half gains, corrected by Holm over all pairs, leaves each model.

    >>> good, bad = [1.0] * 30, [-1.0] * 30
    >>> found = rank_intervals(pair_counts([good, bad, good]))
    >>> found.best.tolist(), found.worst.tolist()
    ([1, 3, 1], [2, 3, 2])
    """
    from scipy import special

    first, second = np.triu_indices(len(counts.n), 1)
    a, b = counts.only[first, second], counts.only[second, first]
    with np.errstate(invalid="ignore"):
        p_values = np.minimum(1.0, 2 * special.bdtr(np.minimum(a, b), (a + b).astype(np.int64), 0.5))
    p_values = np.where(a + b > 0, p_values, np.nan)
    gain = counts.gain[first, second]
    n_half = np.rint(4 * (counts.squares[first, second] - a - b)).astype(np.int64)
    for pair in np.flatnonzero(n_half):
        found = half_gain_test(int(a[pair] + b[pair]), int(n_half[pair]), int(abs(np.rint(2 * gain[pair]))))
        p_values[pair] = found.p_exact
    return _ranks(p_values, gain, len(counts.n), level=level)


def mean_rank_intervals(parts: Sequence[PairCounts], *, level: float = 0.95) -> RankIntervals:
    """Return the ranks by the mean accuracy over corpora, each corpus with the same weight.

    Args:
        parts: the counts of each corpus, the same models in the same order, all with items.
        level: the chance that all intervals hold the true ranks.

    >>> good, bad = [1.0] * 30, [-1.0] * 30
    >>> part = pair_counts([good, bad, good])
    >>> mean_rank_intervals([part, part]).best.tolist()
    [1, 3, 1]
    """
    from scipy import special

    if not parts:
        raise BankError("no corpora to take a mean of; give the counts of one or more")
    difference, variance = np.zeros_like(parts[0].n), np.zeros_like(parts[0].n)
    for part in parts:
        # half an item that only one gets right, and half that only the other does, as in `paired_difference`
        n = part.n + 1
        centre = part.gain / n
        difference += centre / len(parts)
        variance += ((part.squares + 1) / n - centre**2) / n / len(parts) ** 2
    first, second = np.triu_indices(len(difference), 1)
    z = np.abs(difference) / np.sqrt(variance)
    p_values = np.minimum(1.0, 2 * special.ndtr(-z[first, second]))
    return _ranks(p_values, difference[first, second], len(difference), level=level)


def _rejected(p_values: FloatArray, *, alpha: float) -> BoolArray:
    """Return which p-values are significant after Holm's correction; NaN is none and does not count.

    `paired_tests.corrected` says the same, and spends a third of a second on each of a site's thousands of cells.
    """
    order = np.argsort(p_values, kind="stable")
    order = order[: int(np.isfinite(p_values).sum())]
    passed = p_values[order] * np.arange(len(order), 0, -1) < alpha
    rejected = np.zeros(len(p_values), dtype=np.bool_)
    rejected[order] = np.logical_and.accumulate(passed)
    return rejected


def _ranks(p_values: FloatArray, lead: FloatArray, n_models: int, *, level: float) -> RankIntervals:
    """Return intervals from the p-values of all pairs and by how much the first of each leads."""
    check_level(level)
    first, second = np.triu_indices(n_models, 1)
    significant = _rejected(p_values, alpha=1 - level)
    better = np.zeros((n_models, n_models), dtype=np.int64)
    better[first, second] = significant & (lead > 0)
    better[second, first] = significant & (lead < 0)
    return RankIntervals(best=1 + better.sum(axis=0), worst=n_models - better.sum(axis=1))
