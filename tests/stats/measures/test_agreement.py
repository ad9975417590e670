"""Correlations and kappa against textbook values, scipy, scikit-learn and Ivanova et al. 2024."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from pairbank.errors import BankError
from pairbank.stats import bootstrap_statistic, cohens_kappa, pearson, raw_agreement, spearman

ANSCOMBE_X = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
ANSCOMBE_Y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
TV_HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def deltas(cells: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of signs from the counts (a+ b+, a+ b-, a- b+, a- b-)."""
    return np.repeat([1.0, 1.0, -1.0, -1.0], cells), np.repeat([1.0, -1.0, 1.0, -1.0], cells)


def test_pearson_of_anscombe_and_fishers_interval_by_hand() -> None:
    # R: cor(anscombe$x1, anscombe$y1) = 0.81642051634484; z = atanh(r), standard error 1 / sqrt(11 - 3)
    estimate = pearson(ANSCOMBE_X, ANSCOMBE_Y)
    assert estimate.value == pytest.approx(0.81642051634484, abs=1e-13)
    half = 1.959963984540054 / math.sqrt(8)
    assert estimate.low == pytest.approx(math.tanh(math.atanh(0.81642051634484) - half), abs=1e-12)
    assert estimate.high == pytest.approx(math.tanh(math.atanh(0.81642051634484) + half), abs=1e-12)
    assert (estimate.n, estimate.method) == (11, "fisher-z")


def test_a_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = pearson(ANSCOMBE_X, ANSCOMBE_Y, level=0.5), pearson(ANSCOMBE_X, ANSCOMBE_Y, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.level == 0.99


def test_spearman_of_the_textbook_example() -> None:
    # IQ and hours of television, sum of squared rank differences 194: rho = 1 - 6 * 194 / 990 = -29/165
    estimate = spearman(IQ, TV_HOURS, rng=generator())
    assert estimate.value == pytest.approx(-29 / 165, abs=1e-12)
    assert (estimate.n, estimate.method) == (10, "bootstrap-percentile")
    assert estimate.low < -29 / 165 < estimate.high


def test_spearman_with_ties_and_its_interval_are_scipys() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 8, size=120).astype(float)
    y = np.round(x + rng.normal(0, 3, size=120))
    ours = spearman(x, y, rng=generator(), n_resamples=2000)
    assert ours.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)

    def scipy_rho(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([stats.spearmanr(p, q).statistic for p, q in zip(a, b, strict=True)])

    # the same draws, each ranked by scipy, give the same interval
    theirs = bootstrap_statistic([x, y], scipy_rho, rng=generator(), n_resamples=2000)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


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
    for estimate in (pearson(x, y), spearman(x, y, rng=generator())):
        assert math.isnan(estimate.value)
        assert (estimate.reason, estimate.n) == (reason, len(x))


def test_a_perfect_or_tiny_correlation_has_no_fisher_interval() -> None:
    assert pearson([1, 2, 4, 8], [-1, -2, -4, -8]).value == pytest.approx(-1, abs=1e-12)
    assert pearson([1, 2, 4, 8], [1, 2, 4, 8]).reason == "r is exactly +-1, where Fisher's z is infinite"
    three = pearson([1, 2, 3], [1, 3, 2])
    assert three.value == pytest.approx(0.5, abs=1e-12)
    assert three.reason == "Fisher's z needs 4 items, there are 3"


def test_a_rank_correlation_that_resamples_can_lose_has_no_interval() -> None:
    # 4 items: all four draws are one item in 4/256 of the resamples
    estimate = spearman([1, 2, 3, 4], [1, 2, 4, 3], rng=generator())
    assert estimate.value == pytest.approx(0.8, abs=1e-12)
    assert estimate.reason is not None
    assert estimate.reason.endswith("of 1000 resamples")


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [
        # Ivanova et al. 2024, LOGPROBS against people; kappas recomputed from the confusion cells.
        pytest.param((122, 51, 48, 129), 0.434, id="gpt2_xl"),
        pytest.param((135, 38, 37, 140), 0.571, id="mpt_7b"),
        pytest.param((143, 30, 33, 144), 0.640, id="mpt_7b_chat"),
        pytest.param((137, 36, 30, 147), 0.623, id="mpt_30b"),
        pytest.param((141, 32, 28, 149), 0.657, id="mpt_30b_chat"),
        pytest.param((167, 6, 8, 169), 0.920, id="human_likert"),
    ],
)
def test_kappas_of_ivanova_2024(cells: tuple[int, int, int, int], kappa: float) -> None:
    a, b = deltas(cells)
    estimate = cohens_kappa(a, b)
    assert estimate.value == pytest.approx(kappa, abs=5e-4)
    assert estimate.value == pytest.approx(cohen_kappa_score(a > 0, b > 0), abs=1e-12)
    assert estimate.n == 350
    agreement = raw_agreement(a, b, rng=generator())
    assert agreement.value == pytest.approx((cells[0] + cells[3]) / 350, abs=1e-12)


def test_the_interval_of_kappa_is_fleiss_cohen_everitts() -> None:
    # Cells 20, 5, 10, 15 (n = 50): p_o = .7, p_e = .5, kappa = .4. Fleiss, Cohen & Everitt 1969, eq. 13:
    # A = .4 (1 - 1.1 * .6)^2 + .3 (1 - .9 * .6)^2 = .10972; B = .6^2 (.1 * 1.1^2 + .2 * .9^2) = .10188;
    # C = (.4 - .5 * .6)^2 = .01; variance = (A + B - C) / (.5^2 * 50) = .016128
    half = 1.959963984540054 * math.sqrt(0.016128)
    estimate = cohens_kappa(*deltas((20, 5, 10, 15)))
    assert estimate.value == pytest.approx(0.4, abs=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-12)
    assert estimate.method == "kappa-asymptotic"
    # level .5: the normal quantile of .75 is .674490
    narrow = cohens_kappa(*deltas((20, 5, 10, 15)), level=0.5)
    assert narrow.high - 0.4 == pytest.approx(0.6744897501960817 * math.sqrt(0.016128), abs=1e-12)


def test_an_item_that_either_method_ties_on_is_left_out() -> None:
    a, b = deltas((20, 5, 10, 15))
    with_ties = [*a, 0.0, 0.0, 1.0], [*b, 1.0, 0.0, -0.0]
    assert cohens_kappa(*with_ties) == cohens_kappa(a, b)
    assert raw_agreement(*with_ties, rng=generator()) == raw_agreement(a, b, rng=generator())
    assert raw_agreement(a, b, rng=generator()).value == 0.7


@pytest.mark.parametrize("cells", [(3, 1, 2, 9), (40, 1, 0, 3), (0, 7, 4, 2), (350, 80, 91, 1200), (1, 0, 1, 1)])
def test_kappa_and_its_standard_error_are_those_of_statsmodels(cells: tuple[int, int, int, int]) -> None:
    from statsmodels.stats import inter_rater

    expected = inter_rater.cohens_kappa(np.reshape(cells, (2, 2)))
    found = cohens_kappa(*deltas(cells))
    assert found.value == pytest.approx(expected.kappa, abs=1e-12)
    assert (found.high - found.low) / 2 == pytest.approx(stats.norm.ppf(0.975) * expected.std_kappa, abs=1e-12)


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


def test_perfect_agreement_and_disagreement_have_no_asymptotic_interval() -> None:
    same = cohens_kappa([1, 1, -1], [2, 3, -4])
    assert (same.value, same.reason) == (1.0, "the asymptotic standard error is 0")
    # p_o = 0, p_e = .5: kappa = -1, where the standard error is 0 as well
    opposite = cohens_kappa([1, 1, -1, -1], [-1, -1, 1, 1])
    assert (opposite.value, opposite.reason) == (-1.0, "the asymptotic standard error is 0")


def test_vectors_of_different_length_are_refused() -> None:
    with pytest.raises(BankError, match="x has 2 values, y has 1; expected one of each per item"):
        pearson([1, 2], [1])
    with pytest.raises(BankError, match="delta_a has 1 values, delta_b has 2"):
        raw_agreement([1], [1, 2], rng=generator())
    with pytest.raises(BankError, match=r"y\[0\] is nan"):
        spearman([1, 2], [math.nan, 2], rng=generator())
    with pytest.raises(BankError, match=r"delta_b\[1\] is inf"):
        cohens_kappa([1, 2], [1, math.inf])
