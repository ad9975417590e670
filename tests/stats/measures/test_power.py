"""How many items and paradigms a claim needs: as often as said, and no more often than 0.05 where there is nothing."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

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


def test_planned_items_detect_what_they_should_and_fewer_where_paradigms_are_uneven() -> None:
    detect = runpy.run_path(str(Path(__file__).parents[2] / "simulations" / "plan_power.py"))["share_detected"]
    page = (Path(__file__).parents[3] / "docs" / "validation.md").read_text(encoding="utf-8")
    (stated,) = re.findall(r"^\| 0\.15 \| 12 \| 180 \|(.*)\|$", page, re.MULTILINE)
    sizes = (np.full(12, 15), np.array([58, 29, 19, 15, 12, 10, 8, 7, 6, 6, 5, 5]))
    found = [detect(d, size, runs=150, seed=5) for d in (0.15, 0.0) for size in sizes]
    assert found == pytest.approx([float(cell) for cell in stated.split("|")], abs=0.1)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(BankError, match=r"a difference of 0\.5; expected one above 0"):
        items_for_difference(0.5)
