"""Correlations and kappa against textbook values, scipy, scikit-learn and Ivanova et al. 2024."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from ivanova_2024 import FIGURE_2, KAPPAS
from pairbank.errors import BankError
from pairbank.stats import Estimate, cohens_kappa, pearson, raw_agreement, spearman
from pairbank.stats.measures.agreement import kappa_of

Measure = Callable[[np.ndarray, np.ndarray], Estimate]
ANSCOMBE_X = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
ANSCOMBE_Y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
TV_HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def deltas(cells: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of signs from the counts (a+ b+, a+ b-, a- b+, a- b-)."""
    return np.repeat([1.0, 1.0, -1.0, -1.0], cells), np.repeat([1.0, -1.0, 1.0, -1.0], cells)


def test_pearson_of_anscombe_and_the_jackknife_interval_by_leaving_out_each_item() -> None:
    # R: cor(anscombe$x1, anscombe$y1) = 0.81642051634484
    estimate = pearson(ANSCOMBE_X, ANSCOMBE_Y)
    assert estimate.value == pytest.approx(0.81642051634484, abs=1e-13)
    assert (estimate.n, estimate.method) == (11, "jackknife-z")
    left_out = [
        stats.pearsonr(np.delete(ANSCOMBE_X, i), np.delete(np.asarray(ANSCOMBE_Y), i)).statistic for i in range(11)
    ]
    squares = 10 / 11 * (np.arctanh(left_out) - np.arctanh(left_out).mean()) ** 2
    # twice Satterthwaite's degrees of freedom, at most n - 2
    freedom = min(9.0, 4 / (np.sum(squares**2) / np.sum(squares) ** 2 - 1 / 11))
    half = stats.t.ppf(0.975, freedom) * math.sqrt(squares.sum())
    z = math.atanh(0.81642051634484)
    assert (estimate.low, estimate.high) == pytest.approx((math.tanh(z - half), math.tanh(z + half)), abs=1e-11)


def test_pearson_is_scipys_and_its_interval_near_fishers_where_data_are_normal() -> None:
    x, noise = np.random.default_rng(0).normal(size=(2, 4000))
    ours, theirs = pearson(x, x + noise), stats.pearsonr(x, x + noise)
    interval = theirs.confidence_interval(0.95)
    assert ours.value == pytest.approx(theirs.statistic, abs=1e-13)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), abs=0.002)


def test_a_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = pearson(ANSCOMBE_X, ANSCOMBE_Y, level=0.5), pearson(ANSCOMBE_X, ANSCOMBE_Y, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.level == 0.99


def test_spearman_of_the_textbook_example() -> None:
    # IQ and hours of television, sum of squared rank differences 194: rho = 1 - 6 * 194 / 990 = -29/165
    estimate = spearman(IQ, TV_HOURS)
    assert estimate.value == pytest.approx(-29 / 165, abs=1e-12)
    assert (estimate.n, estimate.method) == (10, "infinitesimal-jackknife-z")
    assert estimate.low < -29 / 165 < estimate.high


PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40)


@given(PAIRS)
def test_spearman_with_ties_is_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs).T
    result = spearman(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert math.isnan(result.value)
    else:
        assert result.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert -1 <= result.value <= 1


@pytest.mark.parametrize("ties", [False, True])
def test_what_an_item_shifts_rho_by_is_what_leaving_it_out_does(ties: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    y = x + rng.normal(0, 1.5, size=400)
    if ties:
        x, y = np.round(x), np.round(y)
    ours = spearman(x, y)
    z = np.arctanh([stats.spearmanr(np.delete(x, i), np.delete(y, i)).statistic for i in range(400)])
    half = stats.norm.ppf(0.975) * math.sqrt(399 / 400 * np.sum((z - z.mean()) ** 2))
    assert math.atanh(ours.high) - math.atanh(ours.low) == pytest.approx(2 * half, rel=0.02)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "a correlation needs 2 items, there are 0"),
        ([1.0], [2.0], "a correlation needs 2 items, there are 1"),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "the first values do not vary"),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], "the second values do not vary"),
        ([1.0, 2.0, 3.0], [1e16, 1e16 + 2, 1e16], "the second values do not vary"),
    ],
)
def test_correlations_without_variation_are_undefined(x: list[float], y: list[float], reason: str) -> None:
    for estimate in (pearson(x, y), spearman(x, y)):
        assert math.isnan(estimate.value)
        assert (estimate.reason, estimate.n) == (reason, len(x))


def test_a_perfect_or_tiny_correlation_has_no_interval() -> None:
    assert pearson([1, 2, 4, 8], [-1, -2, -4, -8]).value == pytest.approx(-1, abs=1e-12)
    assert pearson([1, 2, 4, 8], [1, 2, 4, 8]).reason == "r is exactly +-1, where Fisher's z is infinite"
    three = pearson([1, 2, 3], [1, 3, 2])
    assert three.value == pytest.approx(0.5, abs=1e-12)
    assert three.reason == "an interval needs 4 items, there are 3"


def test_a_correlation_that_one_item_makes_has_no_interval() -> None:
    # without the last item x does not vary
    assert pearson([0, 0, 0, 0, 1], [1, 2, 1, 2, 9]).reason == "the values do not vary without one of the items"
    assert pearson([1, 2, 3, 4, 0], [1, 2, 3, 4, 9]).reason == "r is exactly +-1 without one of the items"


def test_a_rank_correlation_of_few_items_has_no_interval() -> None:
    estimate = spearman([1, 2, 3, 4], [1, 2, 4, 3])
    assert estimate.value == pytest.approx(0.8, abs=1e-12)
    assert estimate.reason == "an interval of rho needs 10 items, there are 4"
    assert spearman(range(12), range(12)).reason == "rho is exactly +-1, where Fisher's z is infinite"


CELLS = (*FIGURE_2["LOGPROBS"], FIGURE_2["LIKERT"][5])


@pytest.mark.parametrize(("cells", "kappa"), [*zip(CELLS, KAPPAS, strict=True)])
def test_kappas_of_ivanova_2024(cells: tuple[int, int, int, int], kappa: float) -> None:
    a, b = deltas(cells)
    estimate = cohens_kappa(a, b)
    assert estimate.value == pytest.approx(kappa, abs=5e-4)
    assert estimate.value == pytest.approx(cohen_kappa_score(a > 0, b > 0), abs=1e-12)
    assert estimate.n == 350
    agreement = raw_agreement(a, b)
    assert agreement.value == pytest.approx((cells[0] + cells[3]) / 350, abs=1e-12)


def test_the_standard_error_of_kappa_is_fleiss_cohen_everitts() -> None:
    # Cells 20, 5, 10, 15 (n = 50): p_o = .7, p_e = .5, kappa = .4. Fleiss, Cohen & Everitt 1969, eq. 13:
    # A = .4 (1 - 1.1 * .6)^2 + .3 (1 - .9 * .6)^2 = .10972; B = .6^2 (.1 * 1.1^2 + .2 * .9^2) = .10188;
    # C = (.4 - .5 * .6)^2 = .01; variance = (A + B - C) / (.5^2 * 50) = .016128
    result = kappa_of(np.array([[20.0, 5.0], [10.0, 15.0]]))
    assert result.value == pytest.approx(0.4, abs=1e-12)
    assert result.standard_error == pytest.approx(math.sqrt(0.016128), abs=1e-12)


def test_the_interval_of_kappa_stands_on_the_z_scale_of_the_smoothed_table() -> None:
    estimate = cohens_kappa(*deltas((20, 5, 10, 15)))
    smoothed = kappa_of(np.array([[20.5, 5.5], [10.5, 15.5]]))
    half = 1.959963984540054 * smoothed.standard_error / (1 - smoothed.value**2)
    ends = (math.tanh(math.atanh(smoothed.value) - half), math.tanh(math.atanh(smoothed.value) + half))
    assert estimate.value == pytest.approx(0.4, abs=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(ends, abs=1e-12)
    assert estimate.method == "kappa-z"
    narrow = cohens_kappa(*deltas((20, 5, 10, 15)), level=0.5)
    assert estimate.low < narrow.low < 0.4 < narrow.high < estimate.high


def test_an_item_that_either_method_ties_on_is_left_out() -> None:
    a, b = deltas((20, 5, 10, 15))
    with_ties = [*a, 0.0, 0.0, 1.0], [*b, 1.0, 0.0, -0.0]
    assert cohens_kappa(*with_ties) == cohens_kappa(a, b)
    assert raw_agreement(*with_ties) == raw_agreement(a, b)
    assert raw_agreement(a, b).value == 0.7


@pytest.mark.parametrize("cells", [(3, 1, 2, 9), (40, 1, 0, 3), (0, 7, 4, 2), (350, 80, 91, 1200), (1, 0, 1, 1)])
def test_kappa_and_its_standard_error_are_those_of_statsmodels(cells: tuple[int, int, int, int]) -> None:
    from statsmodels.stats import inter_rater

    expected = inter_rater.cohens_kappa(np.reshape(cells, (2, 2)))
    result = kappa_of(np.reshape(cells, (2, 2)).astype(np.float64))
    assert cohens_kappa(*deltas(cells)).value == result.value == pytest.approx(expected.kappa, abs=1e-12)
    assert result.standard_error == pytest.approx(expected.std_kappa, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([], [], "no items without a tie"),
        ([0.0, 1.0], [1.0, 0.0], "no items without a tie"),
        ([1.0, 2.0], [1.0, -1.0], "the first method makes one choice only"),
        ([1.0, -2.0], [-1.0, -1.0], "the second method makes one choice only"),
        ([1.0, 1.0], [1.0, 1.0], "the first method makes one choice only"),
    ],
)
def test_kappa_of_a_rater_that_never_varies_is_undefined(a: list[float], b: list[float], reason: str) -> None:
    estimate = cohens_kappa(a, b)
    assert math.isnan(estimate.value)
    assert estimate.reason == reason


def test_kappa_of_rare_choices_has_no_interval_and_that_of_perfect_agreement_ends_at_1() -> None:
    same = cohens_kappa([1, 1, -1], [2, 3, -4])
    assert same.value == 1.0
    assert same.reason == "a method prefers one of the sides on 1 items; an interval needs 5"
    many = cohens_kappa(*deltas((10, 0, 0, 10)))
    assert (many.value, many.high) == (1.0, 1.0)
    assert 0.4 < many.low < 0.9
    opposite = cohens_kappa(*deltas((0, 10, 10, 0)))
    assert (opposite.value, opposite.low) == (-1.0, -1.0)


def test_raw_agreement_has_the_interval_of_wilson() -> None:
    low, high = stats.binomtest(27, 30).proportion_ci(method="wilson")
    result = raw_agreement(*deltas((20, 2, 1, 7)))
    assert (result.value, result.low, result.high) == pytest.approx((0.9, low, high), abs=1e-12)


def test_vectors_of_different_length_are_refused() -> None:
    with pytest.raises(BankError, match="x has 2 values, y has 1; expected one of each per item"):
        pearson([1, 2], [1])
    with pytest.raises(BankError, match="delta_a has 1 values, delta_b has 2"):
        raw_agreement([1], [1, 2])
    with pytest.raises(BankError, match=r"y\[0\] is nan"):
        spearman([1, 2], [math.nan, 2])
    with pytest.raises(BankError, match=r"delta_b\[1\] is inf"):
        cohens_kappa([1, 2], [1, math.inf])


CONSTANT = np.array([0.3, -0.2, 0.0])
"""What three models answer to every item, in nats; the last one's signs are its rounding's."""


@pytest.mark.parametrize("answer", CONSTANT)
@pytest.mark.parametrize("statistic", [pearson, spearman])
def test_answers_that_are_equal_but_for_rounding_have_no_r(statistic: Measure, answer: float) -> None:
    rng = np.random.default_rng(5)
    direct = rng.normal(size=60)
    # rounding that goes with the items' length, and so with their probabilities: r would be .9 and "significant"
    rounding = 2e-5 * (direct + 0.4 * rng.normal(size=60))
    for x, y, name in ((direct, answer + rounding, "second"), (answer + rounding, direct, "first")):
        result = statistic(x, y)
        assert math.isnan(result.value)
        assert result.reason == f"the {name} values differ by rounding alone (sd at most 0.0001)"
    assert statistic(direct, answer + 100 * rounding).low > 0.7


@pytest.mark.parametrize("statistic", [cohens_kappa, raw_agreement])
def test_choices_that_rounding_makes_have_no_kappa_and_agree_with_nothing(statistic: Measure) -> None:
    rng = np.random.default_rng(6)
    direct = rng.normal(size=60)
    rounding = 2e-5 * (direct + 0.4 * rng.normal(size=60))
    assert statistic(direct, rounding).reason == "the second values differ by rounding alone (sd at most 0.0001)"
    assert statistic(rounding, direct).reason == "the first values differ by rounding alone (sd at most 0.0001)"
    assert statistic(direct, 100 * rounding).value > 0.5
    always_one = np.full(60, 0.3) + rounding
    assert raw_agreement(direct, always_one).value == np.mean(direct > 0)
