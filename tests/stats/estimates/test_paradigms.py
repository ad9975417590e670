"""Intervals over paradigms: values from outside, when there is none, and how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import draws, standard_error
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import mean_of_items, share_of_items
from pairbank.stats.measures.agreement import cohens_kappa, pearson, spearman
from pairbank.stats.measures.associations import p_of_all, p_over_paradigms, partial_correlation
from pairbank.stats.measures.paired_tests import paired_difference
from paradigm_cases import STATISTICS, coverage, nested


def test_the_standard_error_is_that_of_cluster_robust_least_squares() -> None:
    from statsmodels.api import OLS

    rng = np.random.default_rng(1)
    codes = rng.integers(0, 12, size=200)
    values = rng.normal(size=12)[codes] + rng.normal(size=200)
    fitted = OLS(values, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": False})
    assert standard_error(values, codes) == pytest.approx(float(fitted.bse[0]) * np.sqrt(12 / 11))


def test_fewer_than_ten_paradigms_unknown_ones_or_one_an_item_give_no_interval() -> None:
    x, y, codes = nested(np.random.default_rng(2), 9, 10, shared=0.5)
    for clusters in (codes, np.where(codes == 3, -1, codes), np.arange(codes.size), None):
        for result in (pearson(x, y, clusters=clusters), cohens_kappa(x, y, clusters=clusters)):
            assert result.n_paradigms == 0
            assert np.isnan(result.low_paradigms)
    with pytest.raises(BankError, match="one paradigm per item"):
        draws([0, 1], 3)


def test_an_interval_over_paradigms_changes_neither_value_nor_interval_over_items() -> None:
    x, y, codes = nested(np.random.default_rng(3), 30, 8, shared=0.4)
    right = (x > 0).astype(float)
    pairs: list[tuple[Estimate, Estimate]] = [
        (pearson(x, y), pearson(x, y, clusters=codes)),
        (spearman(x, y), spearman(x, y, clusters=codes)),
        (cohens_kappa(x, y), cohens_kappa(x, y, clusters=codes)),
        (share_of_items(right), share_of_items(right, clusters=codes)),
        (mean_of_items(x), mean_of_items(x, clusters=codes)),
        (paired_difference(right - (y > 0)), paired_difference(right - (y > 0), clusters=codes)),
    ]
    for over_items, both in pairs:
        assert (both.value, both.low, both.high, both.n) == (
            over_items.value,
            over_items.low,
            over_items.high,
            over_items.n,
        )
        assert both.n_paradigms == 30
        assert both.low_paradigms <= both.value <= both.high_paradigms


@pytest.mark.parametrize("name", STATISTICS)
def test_with_paradigms_drawn_anew_the_interval_over_paradigms_holds_the_truth(name: str) -> None:
    held = coverage(name, 20, 50, shared=0.5, runs=200)
    assert held.given == 1
    assert 0.90 <= held.paradigms <= 0.99  # .947 to .957 in 2,000 runs
    assert held.items < held.paradigms - 0.03


@pytest.mark.parametrize("name", ["accuracy pooled, position bias", "difference (`comparisons`)", "mean over suites"])
def test_of_the_same_paradigms_the_interval_over_items_holds_the_truth(name: str) -> None:
    held = coverage(name, 10, 10, shared=0.5, runs=200, fixed=True, heavy=True)
    assert held.items >= 0.91  # .95; below .91 in 1 of 100


def test_kappa_of_two_items_in_each_of_twelve_paradigms_holds_a_kappa_of_0() -> None:
    held = coverage("kappa", 12, 2, shared=0.0, runs=300)
    assert min(held.items, held.paradigms) >= 0.92  # .950 and .958 in 1,500 runs; .906 and .911 with one quarter added


def test_ratings_that_only_their_paradigms_share_with_the_model_are_not_called_predicted() -> None:
    rng = np.random.default_rng(4)
    n_runs, items, paradigms, partial = 150, 0, 0, 0
    for _ in range(n_runs):
        codes = np.repeat(np.arange(20), 30)
        x, z, y = (rng.normal(size=20)[codes] + rng.normal(size=codes.size) for _ in range(3))
        items += p_of_all(y, np.column_stack([x, z])) < 0.05
        paradigms += p_over_paradigms(y, {"x": x, "z": z}, codes) < 0.05
        result = partial_correlation(x, y, z[:, np.newaxis], clusters=codes)
        partial += not result.low_paradigms <= 0 <= result.high_paradigms
    assert items / n_runs > 0.4
    assert max(paradigms, partial) / n_runs <= 0.10


def test_what_paradigms_and_items_predict_is_found_over_paradigms() -> None:
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(20), 20)
    x = rng.normal(size=20)[codes] + rng.normal(size=400)
    y = 0.5 * x + rng.normal(size=400)
    assert p_over_paradigms(y, {"x": x}, codes) < 0.001
    assert np.isnan(p_over_paradigms(y, {"x": x}, codes // 4))
