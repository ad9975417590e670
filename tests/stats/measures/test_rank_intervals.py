"""Intervals of ranks: against pair-by-pair tests, and how often they miss a true rank."""

import numpy as np
import pytest
from scipy.stats import binom

from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import freedom, standard_error
from pairbank.stats.measures.paired_tests import beyond_clusters_p, compare, corrected, gain_test
from pairbank.stats.measures.rank_intervals import mean_rank_intervals, pair_counts, rank_intervals


def _deltas(shares: list[float], n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return np.array([common * 0.5 + rng.normal(size=n) + 1.2 * np.sqrt(1.25) * (s - 0.5) * 2 for s in shares])


def test_ranks_are_those_of_a_loop_over_pairs_with_ties_and_gaps() -> None:
    deltas = _deltas([0.5, 0.6, 0.75, 0.76, 0.9], 150, 3)
    deltas[1, :20] = 0.0
    deltas[2, 100:] = np.nan
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    tests = []
    for i, j in pairs:
        both = np.isfinite(deltas[i]) & np.isfinite(deltas[j])
        tests.append(compare(deltas[i][both], deltas[j][both]))
    holm = corrected([test.p_exact for test in tests]).holm
    best, worst = [1] * 5, [5] * 5
    for (i, j), test, p in zip(pairs, tests, holm, strict=True):
        if p < 0.05:
            up, down = (i, j) if test.difference.value > 0 else (j, i)
            best[down] += 1
            worst[up] -= 1
    counts = pair_counts(_credits(deltas))
    result = rank_intervals(counts)
    assert result.best.tolist() == best
    assert result.worst.tolist() == worst
    assert len(set(best)) > 1
    [first] = [test for pair, test in zip(pairs, tests, strict=True) if pair == (0, 1)]
    assert counts.only[0, 1] == first.n_only_a
    assert counts.gain[0, 1] / counts.n[0, 1] == pytest.approx(first.difference.value, abs=1e-12)


def test_half_gains_are_tested_as_half_gains() -> None:
    # 14 half gains for the first, 6 for the second: p = .115, which 7 to 3 whole ones (p = .34) are not
    credit = np.array([[1.0] * 14 + [0.5] * 6 + [1.0] * 10, [0.5] * 14 + [1.0] * 6 + [1.0] * 10])
    result = rank_intervals(pair_counts(credit))
    p = gain_test(credit[0] - credit[1]).p_exact
    assert p == pytest.approx(2 * binom.sf(13, 20, 0.5))
    assert (result.best.tolist(), result.worst.tolist()) == ([1, 1], [2, 2])
    surely = rank_intervals(pair_counts(credit), level=1 - 1.01 * p)
    assert (surely.best.tolist(), surely.worst.tolist()) == ([1, 2], [1, 2])
    hardly = rank_intervals(pair_counts(credit), level=1 - 0.99 * p)
    assert hardly.best.tolist() == [1, 1]


def _credits(deltas: np.ndarray) -> np.ndarray:
    return np.asarray((np.sign(deltas) + 1) / 2)


def test_models_differ_only_where_they_do_over_paradigms_too() -> None:
    rng = np.random.default_rng(5)
    paradigm = np.repeat(np.arange(12), 40)
    own = np.array([0.0, 0.25])[:, None] + rng.normal(size=(2, 12)) * 0.2
    credit = (rng.random((2, 480)) < 0.5 + own[:, paradigm]).astype(float)
    credit[0, ::7], credit[1, :3] = 0.5, np.nan
    counts = pair_counts(credit, clusters=paradigm)
    both = np.isfinite(credit).all(axis=0)
    gain = credit[1, both] - credit[0, both]
    assert counts.error[0, 1] == pytest.approx(standard_error(gain, paradigm[both]), abs=1e-12)
    assert counts.freedom[0, 1] == pytest.approx(freedom(paradigm[both]))
    assert counts.gain[1, 0] == pytest.approx(gain.sum())
    p_items, p_over = gain_test(gain).p_exact, beyond_clusters_p(gain, paradigm[both])
    assert p_items < 1e-4 < p_over
    for level in (1 - p_over * 1.01, 1 - p_over * 0.99):
        apart = rank_intervals(counts, level=level).best.tolist() == [2, 1]
        assert apart == (1 - level > p_over)
    few = pair_counts(credit, clusters=paradigm // 4)
    assert few.freedom[0, 1] == few.error[0, 1] == 0
    wide = mean_rank_intervals([counts, counts], level=0.999)
    assert wide.best.tolist() == [1, 1] != mean_rank_intervals([few, few], level=0.999).best.tolist()


def test_gains_finer_than_halves_are_tested_by_their_squares() -> None:
    rng = np.random.default_rng(6)
    credit = rng.choice([0.0, 0.25, 0.5, 1.0], (2, 300))
    counts = pair_counts(credit)
    assert not counts.halves
    p = gain_test(credit[0] - credit[1]).p_exact
    for factor in (0.9, 1.1):
        apart = rank_intervals(counts, level=1 - p * factor).worst.min() == 1
        assert apart == (factor > 1)


def test_models_that_answer_alike_share_all_ranks() -> None:
    result = rank_intervals(pair_counts(np.ones((4, 30))))
    assert result.best.tolist() == [1, 1, 1, 1]
    assert result.worst.tolist() == [4, 4, 4, 4]


@pytest.mark.parametrize("shares", [[0.7] * 6, [0.5, 0.55, 0.6, 0.65, 0.7, 0.75]])
def test_all_intervals_hold_the_true_ranks_together_often_enough(shares: list[float]) -> None:
    # 400 runs: an error rate of 5% shows as more than 8% once in some hundred times
    rng = np.random.default_rng(11)
    missed_one = missed_mean = 0
    true = np.array([sum(other > share for other in shares) for share in shares])
    lowest = np.array([sum(other >= share for other in shares) for share in shares])
    for _ in range(400):
        parts = []
        for n in (60, 150):
            difficulty = rng.normal(size=n) * 0.15
            right = rng.random((len(shares), n)) < np.clip(np.array(shares)[:, None] + difficulty, 0, 1)
            parts.append(pair_counts(right))
        one, mean = rank_intervals(parts[1]), mean_rank_intervals(parts)
        missed_one += bool(np.any(one.best > true + 1) or np.any(one.worst < lowest))
        missed_mean += bool(np.any(mean.best > true + 1) or np.any(mean.worst < lowest))
    assert missed_one <= 32
    assert missed_mean <= 32


def test_what_is_no_table_of_models_is_refused() -> None:
    with pytest.raises(BankError, match="expected one row per model"):
        pair_counts([1.0, 2.0])
    with pytest.raises(BankError, match="no corpora"):
        mean_rank_intervals([])
