"""Which ranks a model may have among others on the same items: in, credits of all models; out, an interval per model.

Every two models are compared on the items that both have. A rank goes from 1 + the models that are significantly
better to the number of models less those that are significantly worse; models that cannot be told apart so share
ranks. With p-values corrected by Holm 1979 over all pairs, all intervals hold the true ranks together with the chance
`level` (Mogstad, Romano, Shaikh & Wilhelm 2024, Rev Econ Stud 91:476-518, section 3, with Holm's in place of their
bootstrap). One corpus: McNemar's exact test (`paired_tests`). A mean over several corpora: a z test of the mean
paired difference, one item added to each corpus as in `paired_difference`. Where paradigms can be the
draws, two models differ only if a t test over the paradigms finds so too: the ranks are then those on such paradigms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import LEAST_EFFECTIVE, LEAST_PARADIGMS, draws
from pairbank.stats.estimates.estimate import check_level
from pairbank.stats.measures.paired_tests import corrected, half_gain_test

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
    only: FloatArray
    """Items that the model of the row gets right and that of the column wrong; ties count as neither."""
    gain: FloatArray
    """Sum over items of the row's credit less the column's, ties one half."""
    squares: FloatArray
    """Sum over items of the square of that."""
    halves: bool
    """Whether all credits are 0, one half or 1, so that the test can go over all signs of the gains."""
    error: FloatArray
    """Standard error of the mean gain over paradigms; 0 where they cannot be the draws."""
    freedom: FloatArray
    """Degrees of freedom of it; 0 where there are none."""


def pair_counts(credit: ArrayLike, *, clusters: ArrayLike | None = None) -> PairCounts:
    """Return the counts that paired comparisons of all models need."""
    provided = np.asarray(credit, dtype=np.float64)
    if provided.ndim != 2:
        raise BankError(f"credits have shape {provided.shape}; expected one row per model, one column per item")
    n_models = len(provided)
    codes = draws(clusters, provided.shape[1])
    only, gain, squares = (np.zeros((n_models, n_models)) for _ in range(3))
    n = sum((has @ has.T for has in map(_present, _blocks(provided, codes))), start=np.zeros_like(only))
    of_all, over = np.maximum(n, 1.0), np.zeros((7, n_models, n_models))
    for block in _blocks(provided, codes):
        has = _present(block)
        earned = np.where(has > 0, block, 0.0)
        up, down = (earned == 1).astype(np.float64), has * (earned == 0)
        total, square = earned @ has.T, earned**2 @ has.T
        both, gained = has @ has.T, total - total.T
        only += up @ down.T
        gain += gained
        squares += square + square.T - 2 * (earned @ earned.T)
        if codes is not None:
            share = both / of_all
            kept = np.maximum(1 - share, 1e-12)
            cross = share**2 / kept
            over += np.stack(
                [gained**2 / kept, gained * both / kept, both**2 / kept, both > 0, share**2, cross, cross**2]
            )
    error, freedom = _over_paradigms(gain / of_all, of_all, over)
    halves = bool(np.isin(provided[np.isfinite(provided)], (0.0, 0.5, 1.0)).all())
    return PairCounts(n=n, only=only, gain=gain, squares=squares, halves=halves, error=error, freedom=freedom)


def _present(block: FloatArray) -> FloatArray:
    return np.isfinite(block).astype(np.float64)


def _blocks(given: FloatArray, codes: IntArray | None) -> Iterator[FloatArray]:
    """Yield the items of each paradigm; where there are none, so many items at once."""
    if codes is None:
        for start in range(0, given.shape[1], _BLOCK):
            yield given[:, start : start + _BLOCK]
    else:
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            yield given[:, rows]


def _over_paradigms(mean: FloatArray, n: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the standard errors of mean gains, as `bootstrap.standard_error`, and their degrees of freedom.

    Of sums over paradigms; both are 0 where paradigms cannot be the draws.
    """
    squares, products, sizes, count, shares, cross, crosses = sums
    enough = (count >= LEAST_PARADIGMS) & (shares * LEAST_EFFECTIVE <= 1)
    left = np.maximum(squares - 2 * mean * products + mean**2 * sizes, 0.0)
    freedom = 1 / np.where(enough, shares + cross**2 - crosses, 1.0)
    return np.where(enough, np.sqrt(left) / n, 0.0), np.where(enough, freedom, 0.0)


def rank_intervals(counts: PairCounts, *, level: float = 0.95) -> RankIntervals:
    """Return the ranks that McNemar's exact test, ties half gains, corrected by Holm over all pairs, leaves each model.

    Gains finer than halves (means over several presentations) are tested by a normal approximation.

    >>> good, bad = [1.0] * 30, [0.0] * 30
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
    if counts.halves:
        n_half = np.rint(4 * (counts.squares[first, second] - a - b)).astype(np.int64)
        for pair in np.flatnonzero(n_half):
            result = half_gain_test(int(a[pair] + b[pair]), int(n_half[pair]), int(abs(np.rint(2 * gain[pair]))))
            p_values[pair] = result.p_exact
    else:
        squares = counts.squares[first, second]
        with np.errstate(invalid="ignore", divide="ignore"):
            p_values = np.where(squares > 0, 2 * special.ndtr(-np.abs(gain) / np.sqrt(squares)), np.nan)
    error, freedom = counts.error[first, second], counts.freedom[first, second]
    tested = error > 1e-12
    t = np.abs(gain[tested]) / counts.n[first, second][tested] / error[tested]
    p_values[tested] = np.fmax(p_values[tested], 2 * special.stdtr(freedom[tested], -t))
    return _ranks(p_values, gain, len(counts.n), level=level)


def mean_rank_intervals(parts: Sequence[PairCounts], *, level: float = 0.95) -> RankIntervals:
    """Return the ranks by the mean accuracy over corpora, each corpus with the same weight.

    >>> good, bad = [1.0] * 30, [0.0] * 30
    >>> part = pair_counts([good, bad, good])
    >>> mean_rank_intervals([part, part]).best.tolist()
    [1, 3, 1]
    """
    from scipy import special

    if not parts:
        raise BankError("no corpora to take a mean of; give the counts of one or more")
    difference, variance = np.zeros_like(parts[0].n), np.zeros_like(parts[0].n)
    freedom = np.full_like(parts[0].n, np.inf)
    for part in parts:
        # half an item that only one gets right, and half that only the other does, as in `paired_difference`
        n = part.n + 1
        centre = part.gain / n
        difference += centre / len(parts)
        of_items = ((part.squares + 1) / n - centre**2) / n
        variance += np.maximum(of_items, part.error**2) / len(parts) ** 2
        freedom = np.where(part.freedom > 0, np.minimum(freedom, part.freedom), freedom)
    first, second = np.triu_indices(len(difference), 1)
    z = (np.abs(difference) / np.sqrt(variance))[first, second]
    df = freedom[first, second]
    finite = np.isfinite(df)
    p_values = np.where(finite, 2 * special.stdtr(np.where(finite, df, 1), -z), 2 * special.ndtr(-z))
    return _ranks(p_values, difference[first, second], len(difference), level=level)


def _ranks(p_values: FloatArray, lead: FloatArray, n_models: int, *, level: float) -> RankIntervals:
    """Return intervals from the p-values of all pairs and by how much the first of each leads."""
    check_level(level)
    first, second = np.triu_indices(n_models, 1)
    significant = corrected(p_values).holm < 1 - level
    better = np.zeros((n_models, n_models), dtype=np.int64)
    better[first, second] = significant & (lead > 0)
    better[second, first] = significant & (lead < 0)
    return RankIntervals(best=1 + better.sum(axis=0), worst=n_models - better.sum(axis=1))
