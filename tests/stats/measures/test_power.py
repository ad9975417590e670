"""How many items and paradigms a claim needs: as often as said, and no more often than 0.05 where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.measures.paired_tests import beyond_clusters_p
from pairbank.stats.measures.power import detected, items_for_difference, items_for_r


def test_a_difference_that_is_not_there_is_seldom_detected() -> None:
    said = detected(0.0, 12, 10, n_runs=2000, rng=np.random.default_rng(1))
    assert said.mean() < 0.06


def test_the_simulated_test_is_that_of_comparisons() -> None:
    rng = np.random.default_rng(2)
    said = []
    for _ in range(300):
        own = np.clip(rng.normal(0.15, 0.1, 12), -0.3, 0.3)
        gains = [rng.choice([1, -1, 0], 20, p=[(0.3 + d) / 2, (0.3 - d) / 2, 0.7]) for d in own]
        said.append(beyond_clusters_p(np.concatenate(gains).astype(float), np.repeat(np.arange(12), 20)) < 0.05)
    expected = detected(0.15, 12, 20, n_runs=2000, rng=np.random.default_rng(3)).mean()
    assert np.mean(said) == pytest.approx(expected, abs=0.09)


def test_more_paradigms_need_fewer_items_each_and_small_differences_more() -> None:
    large, small = (items_for_difference(size, n_runs=100)["items_per_paradigm"].fillna(1e9) for size in (0.2, 0.1))
    assert large.is_monotonic_decreasing
    assert (small >= large).all()


@pytest.mark.ci
def test_more_raters_need_fewer_items() -> None:
    table = items_for_r(0.3, n_runs=40).groupby("raters")["items_per_paradigm"].mean()
    assert table[24] <= table[3]


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(BankError, match=r"a difference of 0\.5; expected one above 0"):
        items_for_difference(0.5)
