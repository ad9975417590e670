"""Rank correlation by counting, against scipy's by sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairbank.stats.measures.agreement import rank_codes, rank_correlation

CODES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40)


@given(CODES)
def test_counting_gives_the_rho_that_sorting_gives(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs).T
    rho = rank_correlation(x[np.newaxis], y[np.newaxis])[0]
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(rho)
    else:
        assert rho == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert -1 <= rho <= 1


def test_each_resample_is_ranked_on_its_own() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 9, size=(2, 6, 50))
    together = rank_correlation(x, y)
    apart = [rank_correlation(a[np.newaxis], b[np.newaxis])[0] for a, b in zip(x, y, strict=True)]
    assert together.tolist() == apart


def test_codes_order_negative_numbers_and_join_equal_ones() -> None:
    assert rank_codes(np.array([0.0, -3.5, 7.0, -3.5, -0.0])).tolist() == [1, 0, 2, 0, 1]
