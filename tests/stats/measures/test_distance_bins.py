"""Equally sized bins, and a correlation in each."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pairbank.errors import BankError
from pairbank.stats.measures.distance_bins import correlation_by_bin, counts_lower_when_far, equal_bins


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bins_are_those_of_pandas_qcut(seed: int) -> None:
    rng = np.random.default_rng(seed)
    distance = rng.gamma(1.0, size=1007)
    expected = pd.qcut(distance, 10, labels=False)
    for result in equal_bins(distance):
        np.testing.assert_array_equal(result.rows, np.flatnonzero(expected == result.number - 1))


def test_repeated_quantiles_merge_bins_as_qcut_drops_them() -> None:
    distance = np.random.default_rng(0).poisson(3, size=500)
    expected = pd.qcut(distance, 10, labels=False, duplicates="drop")
    result = equal_bins(distance)
    assert [b.rows.size for b in result] == pd.Series(expected).value_counts(sort=False).sort_index().tolist()
    assert sum(b.rows.size for b in result) == 500


def test_each_bin_has_the_r_of_scipy() -> None:
    rng = np.random.default_rng(3)
    x, noise, distance = rng.normal(size=(3, 200))
    y = x + noise
    for result in correlation_by_bin(x, y, distance):
        rows = result.bin.rows
        assert result.estimate.n == rows.size == 20
        assert result.estimate.value == pytest.approx(stats.pearsonr(x[rows], y[rows]).statistic, abs=1e-12)
        assert result.bin.low <= result.bin.median <= result.bin.high


def test_a_bin_without_variation_is_undefined_with_the_reason() -> None:
    x = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    first, second = correlation_by_bin(x, np.arange(8.0), np.arange(8.0), n_bins=2)
    assert np.isnan(first.estimate.value)
    assert first.estimate.reason == "the first values do not vary"
    assert second.estimate.value == 1.0


def test_no_items_give_no_bins() -> None:
    assert equal_bins([]) == ()


def test_lengths_must_agree_and_numbers_be_finite() -> None:
    with pytest.raises(BankError, match="x, y and distance have 2, 2 and 3 values"):
        correlation_by_bin([1, 2], [1, 2], [1, 2, 3])
    with pytest.raises(BankError, match=r"distance\[1\] is nan"):
        equal_bins([1.0, np.nan])
    with pytest.raises(BankError, match="n_bins is 1"):
        equal_bins([1.0, 2.0], n_bins=1)


def test_models_whose_r_is_lower_when_far_are_counted_and_paradigms_keep_their_distances() -> None:
    rng = np.random.default_rng(5)
    paradigm, distance, shared = np.arange(200) // 20, rng.normal(size=200), rng.normal(size=(2, 200))
    near, far = (equal_bins(distance)[nth].rows for nth in (0, -1))
    made, n_lower = [], 0
    for model in range(7):
        x, y = shared + 0.5 * rng.normal(size=(2, 200))
        n_lower += stats.pearsonr(x[far], y[far]).statistic < stats.pearsonr(x[near], y[near]).statistic
        numbers = {"item_id": np.arange(200), "paradigm": paradigm, "distance": distance, "x": x, "y": y}
        made.append(pd.DataFrame({"model": model} | numbers))
    pairs = pd.concat(made)
    counts = counts_lower_when_far(pairs, rng=rng, n_permutations=500)
    assert (counts[0], len(counts)) == (n_lower, 501)
    assert counts[1:].mean() == pytest.approx(3.5, abs=0.5)
    assert counts[1:].var() > 1.3 * 7 / 4  # models of the same pairs go together
    of_paradigms = counts_lower_when_far(pairs.assign(distance=pairs["paradigm"]), rng=rng, n_permutations=20)
    assert len(set(of_paradigms)) == 1  # pairs of a paradigm are as far apart as each other
