"""Bootstrap intervals against closed forms, scipy, and their own promise (coverage)."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairbank.errors import BankError
from pairbank.stats import bootstrap_mean, bootstrap_statistic


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_share_has_the_quantiles_of_the_binomial() -> None:
    # Resampling 70 successes in 100 draws Binomial(100, .7) / 100 exactly: scipy.stats.binom.ppf gives 61 and 79.
    assert stats.binom.ppf(0.025, 100, 0.7) == 61
    assert stats.binom.ppf(0.975, 100, 0.7) == 79
    estimate = bootstrap_mean([1.0] * 70 + [0.0] * 30, rng=generator(), n_resamples=50_000)
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (0.7, 0.61, 0.79, 100)
    assert estimate.method == "bootstrap-percentile"


@pytest.mark.parametrize("n_kinds", [5, 64, 65, 400])
def test_the_interval_of_a_mean_is_scipys_for_few_and_many_kinds_of_item(n_kinds: int) -> None:
    values = np.resize(generator(3).normal(size=n_kinds), 400)
    ours = bootstrap_mean(values, rng=generator(), level=0.9, n_resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=0.9, method="percentile", rng=1, batch=500
    ).confidence_interval
    # Both have Monte Carlo error: sd of a 5% quantile from 20,000 draws is about .015 standard errors (.05).
    assert ours.low == pytest.approx(theirs.low, abs=0.004)
    assert ours.high == pytest.approx(theirs.high, abs=0.004)
    assert ours.value == pytest.approx(values.mean(), abs=1e-12)


def test_the_mean_is_over_rows_when_items_have_unequal_numbers_of_rows() -> None:
    # Item a: 1, 1, 1; item b: 0. Rows: 3/4 (a mean of item means would give 1/2). Of the resamples, 1/4 are aa: 1,
    # 1/4 are bb: 0, and 1/2 are ab: 3/4, so the 30% and 70% quantiles are 3/4 and the 5% and 95% ones 0 and 1.
    rows, items = [1, 1, 1, 0], ["a", "a", "a", "b"]
    narrow = bootstrap_mean(rows, clusters=items, rng=generator(), level=0.4)
    assert (narrow.value, narrow.low, narrow.high) == (0.75, 0.75, 0.75)
    wide = bootstrap_mean(rows, clusters=items, rng=generator(), level=0.9)
    assert (wide.low, wide.high) == (0.0, 1.0)
    assert (wide.n, wide.method) == (2, "cluster-bootstrap-percentile")


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    # 400 samples of 150 with P = .7: 95% +- 2.2 % (two standard errors), less a little for n = 150.
    rng = generator(11)
    covered = 0
    for _ in range(400):
        estimate = bootstrap_mean(rng.random(150) < 0.7, rng=rng, n_resamples=400)
        covered += estimate.low <= 0.7 <= estimate.high
    assert 0.915 <= covered / 400 <= 0.98


def test_ignoring_that_presentations_share_an_item_loses_coverage() -> None:
    # 4 identical rows an item: an interval over rows is half as wide as it must be, so it covers
    # P(|z| < .98) = 67% of the time; the interval over items stays near 95%.
    rng = generator(12)
    by_item = by_row = 0
    items = np.repeat(np.arange(100), 4)
    for _ in range(300):
        rows = np.repeat(rng.random(100) < 0.6, 4)
        clustered = bootstrap_mean(rows, clusters=items, rng=rng, n_resamples=300)
        naive = bootstrap_mean(rows, rng=rng, n_resamples=300)
        by_item += clustered.low <= 0.6 <= clustered.high
        by_row += naive.low <= 0.6 <= naive.high
    assert 0.91 <= by_item / 300 <= 0.985
    assert 0.57 <= by_row / 300 <= 0.77


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(0, 2**32))
def test_an_interval_lies_between_the_smallest_and_the_largest_value(values: list[float], seed: int) -> None:
    estimate = bootstrap_mean(values, rng=generator(seed), n_resamples=50)
    if estimate.reason is None:
        slack = 1e-9 * max(map(abs, values))
        assert min(values) - slack <= estimate.low <= estimate.high <= max(values) + slack
    else:
        assert estimate.reason.startswith("every resample gives")


def test_the_same_generator_gives_the_same_interval_whatever_the_order_of_the_items() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0])
    first = bootstrap_mean(values, rng=generator(5))
    assert first == bootstrap_mean(values[::-1], rng=generator(5))


@pytest.mark.parametrize(
    ("values", "clusters", "value", "n", "reason"),
    [
        ([], None, math.nan, 0, "no items"),
        ([], [], math.nan, 0, "no items"),
        ([0.25], None, 0.25, 1, "one item has no spread"),
        ([1.0, 0.0], ["a", "a"], 0.5, 1, "one item has no spread"),
        ([1.0, 1.0, 1.0], None, 1.0, 3, "every resample gives 1"),
        ([1.0, 0.0, 0.0, 1.0], [1, 1, 2, 2], 0.5, 2, "every resample gives 0.5"),
        ([0.1] * 70, None, 0.1, 70, "every resample gives 0.1"),
    ],
)
def test_what_has_no_spread_has_no_interval(
    values: list[float], clusters: list[str] | list[int] | None, value: float, n: int, reason: str
) -> None:
    estimate = bootstrap_mean(values, clusters=clusters, rng=generator())
    assert estimate.value == pytest.approx(value, abs=1e-12, nan_ok=True)
    assert (estimate.n, estimate.reason) == (n, reason)
    assert math.isnan(estimate.low)
    assert math.isnan(estimate.high)


def test_values_that_are_no_numbers_are_refused_by_position() -> None:
    with pytest.raises(BankError, match=r"values\[1\] is nan; expected finite numbers \(2 are not\)"):
        bootstrap_mean([1.0, math.nan, math.inf], rng=generator())
    with pytest.raises(BankError, match=r"values has shape \(1, 2\)"):
        bootstrap_mean([[1.0, 2.0]], rng=generator())


def test_settings_and_labels_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BankError, match=r"clusters has shape \(1,\); expected one label per value, \(2,\)"):
        bootstrap_mean([1.0, 2.0], clusters=["a"], rng=generator())
    with pytest.raises(BankError, match="n_resamples is 0; expected at least 1"):
        bootstrap_mean([1.0, 2.0], rng=generator(), n_resamples=0)
    with pytest.raises(BankError, match="level is 95; expected a share"):
        bootstrap_mean([1.0, 2.0], rng=generator(), level=95)


def test_rows_are_resampled_with_all_their_columns() -> None:
    # y = x + 1 in every row, so the mean difference is -1 in every resample; columns drawn apart would spread.
    x = np.arange(10.0)
    estimate = bootstrap_statistic([x, x + 1], lambda a, b: (a - b).mean(axis=-1), rng=generator())
    assert (estimate.value, estimate.n, estimate.reason) == (-1.0, 10, "every resample gives -1")


def test_a_statistic_of_rows_has_scipys_interval() -> None:
    rng = generator(2)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)

    def ratio(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(a.std(axis=axis) / b.std(axis=axis))

    ours = bootstrap_statistic([x, y], ratio, rng=generator(), n_resamples=10_000)
    theirs = stats.bootstrap(
        (x, y), ratio, paired=True, n_resamples=10_000, method="percentile", rng=1, batch=500
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.006)
    assert ours.high == pytest.approx(theirs.high, abs=0.006)


def test_a_statistic_that_some_resamples_leave_undefined_has_no_interval() -> None:
    # 1 / mean is undefined where all three draws are the 0: P = 1/27 a resample.
    def inverse(values: np.ndarray) -> np.ndarray:
        means = values.mean(axis=-1)
        return np.where(means == 0, np.nan, 1 / np.maximum(means, 1e-9))

    estimate = bootstrap_statistic([[0.0, 1.0, 2.0]], inverse, rng=generator())
    assert estimate.value == 1.0
    assert estimate.reason is not None
    n_undefined = int(estimate.reason.removeprefix("undefined in ").removesuffix(" of 1000 resamples"))
    assert 15 <= n_undefined <= 65  # 37 +- 4.7 standard errors


def test_a_statistic_that_is_undefined_for_the_data_is_nan() -> None:
    estimate = bootstrap_statistic([[1.0, 2.0]], lambda x: np.full(len(x), np.nan), rng=generator())
    assert estimate.reason == "the statistic is undefined for these rows"
    empty = bootstrap_statistic([[]], lambda x: x.mean(axis=-1), rng=generator())
    assert (empty.reason, empty.n) == ("no items", 0)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(BankError, match=r"columns have the shapes \[\(2,\), \(3,\)\]"):
        bootstrap_statistic([[1, 2], [1, 2, 3]], lambda x, _: x.mean(axis=-1), rng=generator())
    with pytest.raises(BankError, match="expected at least one"):
        bootstrap_statistic([], lambda x: x, rng=generator())


def test_a_corpus_of_70_000_rows_needs_little_memory() -> None:
    values = generator().normal(size=70_000)
    tracemalloc.start()
    bootstrap_mean(values, rng=generator(), n_resamples=30)
    bootstrap_mean(values > 0, rng=generator(), n_resamples=1000)
    bootstrap_statistic([values, values**2], lambda x, y: (x * y).mean(axis=-1), rng=generator(), n_resamples=30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # a matrix of all resamples would be 560 MB for 1000, 17 MB for 30 and each temporary
