"""McNemar's test, detectable differences and corrections, against published values and other tools."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import ttest_1samp
from statsmodels.stats.contingency_tables import mcnemar

from pairbank.errors import BankError
from pairbank.stats.measures.paired_tests import (
    beyond_clusters_p,
    compare,
    corrected,
    detectable_difference,
    gain_test,
    mcnemar_exact,
    mcnemar_mid_p,
    no_comparison,
    paired_difference,
)


def test_the_published_example_of_the_mid_p_test() -> None:
    # Fagerland, Lydersen & Laake 2013, Table 1 (airway hyper-responsiveness, 1 and 7 discordant): exact .0703,
    # mid-p .0391; by hand 2 * 9 / 256 and (9 + 1) / 256
    assert mcnemar_exact(1, 7) == pytest.approx(18 / 256, abs=1e-12)
    assert mcnemar_mid_p(1, 7) == pytest.approx(10 / 256, abs=1e-12)


def test_equal_counts_have_the_mid_p_of_the_papers_supplement() -> None:
    # the same, supplement: 1 - .5 * dbinom(5, 10, .5) = 1 - .5 * 252 / 1024
    assert mcnemar_mid_p(5, 5) == pytest.approx(1 - 0.5 * 252 / 1024, abs=1e-12)
    assert mcnemar_exact(5, 5) == 1.0


@pytest.mark.parametrize(("b", "c"), [(9, 1), (59, 6), (0, 3), (86, 150), (25, 4), (12, 16), (16, 59), (1, 0)])
def test_the_exact_test_is_that_of_statsmodels_and_mid_p_that_of_the_binomial(b: int, c: int) -> None:
    # statsmodels.stats.contingency_tables.mcnemar(exact=True), as R's binom.test(b, b + c)
    assert mcnemar_exact(b, c) == pytest.approx(mcnemar([[7, b], [c, 7]], exact=True).pvalue, rel=1e-9)
    expected = mcnemar_exact(b, c) - stats.binom.pmf(b, b + c, 0.5)
    assert mcnemar_mid_p(b, c) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_mid_p(b, c) == mcnemar_mid_p(c, b)


def test_without_discordant_items_there_is_no_p_value() -> None:
    assert math.isnan(mcnemar_exact(0, 0))
    assert math.isnan(mcnemar_mid_p(0, 0))
    result = compare([1.0, -1.0], [2.0, -3.0])
    assert result.reason == "no item is right for one and wrong for the other"
    assert math.isnan(result.detectable)
    assert result.difference.value == 0.0
    with pytest.raises(BankError, match="discordant items are -1 and 0"):
        mcnemar_exact(-1, 0)


def test_a_comparison_counts_items_and_ties() -> None:
    a = [1, 1, 1, -1, -1, 0, 1]
    b = [1, -1, -1, 1, -1, 1, 0]
    result = compare(a, b)
    assert (result.n, result.n_only_a, result.n_only_b, result.n_ties) == (7, 2, 1, 2)
    # accuracies with ties one half: A 4.5 of 7, B 3.5 of 7
    assert result.difference.value == pytest.approx(1 / 7, abs=1e-12)
    turned = compare(b, a)
    assert (turned.n_only_a, turned.n_only_b, turned.p_mid) == (1, 2, result.p_mid)


def test_the_interval_is_that_of_pairs() -> None:
    # A is right where B is, and on 40 items more: the difference varies like a share of 40 in 400
    b = np.where(np.arange(400) < 200, 1.0, -1.0)
    a = np.where(np.arange(400) < 240, 1.0, -1.0)
    result = compare(a, b).difference
    half = 1.96 * math.sqrt(0.1 * 0.9 / 400)
    assert result.value == pytest.approx(0.1, abs=1e-12)
    assert (result.low, result.high) == pytest.approx((0.1 - half, 0.1 + half), abs=0.004)
    # the adjusted Wald interval by hand: half an item more of each kind, 401 in all
    centre, square = 40 / 401, 41 / 401
    half = 1.959963984540054 * math.sqrt((square - centre**2) / 401)
    assert (result.low, result.high) == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert result.method == "adjusted-wald"


def test_without_a_discordant_item_the_difference_has_an_interval_that_shrinks_with_n() -> None:
    few, many = (compare(np.ones(n), np.ones(n)).difference for n in (24, 200))
    assert (few.value, few.low) == (0.0, -few.high)
    assert few.high == pytest.approx(1.959963984540054 / 25, abs=1e-12)  # one pseudo-item in 25
    assert many.high < few.high / 8
    with pytest.raises(BankError, match="expected one or more, from -1 to 1"):
        paired_difference([2.0])


def test_the_detectable_difference_solves_connors_equation() -> None:
    # Connor 1987: n = (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2 with the normal quantiles 1.959964 and 0.841621
    for n, psi in ((1000, 0.2), (350, 0.3), (67000, 0.15)):
        d = detectable_difference(n, psi)
        needed = (1.959963984540054 * math.sqrt(psi) + 0.8416212335729143 * math.sqrt(psi - d * d)) ** 2 / d**2
        assert needed == pytest.approx(n, rel=1e-9)


def test_the_detectable_difference_is_detected_as_often_as_stated() -> None:
    n, psi = 400, 0.25
    d = detectable_difference(n, psi)
    rng = np.random.default_rng(1)
    shares = [(psi + d) / 2, (psi - d) / 2, 1 - psi]
    drawn = rng.multinomial(n, shares, size=1500)
    detected = np.mean([mcnemar_mid_p(int(b), int(c)) < 0.05 for b, c, _ in drawn])
    assert detected == pytest.approx(0.8, abs=0.04)


def test_too_few_discordant_items_detect_nothing() -> None:
    assert math.isnan(detectable_difference(20, 0.01))
    assert math.isnan(detectable_difference(1, 0.9))
    with pytest.raises(BankError, match="a discordance from 0 to 1"):
        detectable_difference(10, 1.5)


def test_corrections_follow_their_definitions() -> None:
    # by hand: Holm multiplies the sorted p-values by 8, 7, ... 1 and keeps the running maximum; Benjamini and Hochberg
    # multiply by 8/1, 8/2, ... 8/8 and keep the running minimum from the largest
    p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205]
    result = corrected(p)
    holm = [0.008, 0.056, 0.234, 0.234, 0.234, 0.234, 0.234, 0.234]
    discovery = [0.008, 0.032, 0.0672, 0.0672, 0.0672, 0.08, 0.0845714286, 0.205]
    np.testing.assert_allclose(result.holm, holm, atol=1e-9)
    np.testing.assert_allclose(result.benjamini_hochberg, discovery, atol=1e-9)


def test_comparisons_without_a_p_value_do_not_count() -> None:
    result = corrected([0.01, math.nan, 0.04])
    np.testing.assert_allclose(result.holm, [0.02, math.nan, 0.04])
    assert result.n_tests == 2
    assert corrected([]).n_tests == 0
    with pytest.raises(BankError, match="expected 0 to 1"):
        corrected([1.2])


def test_what_cannot_be_compared_says_so() -> None:
    with pytest.raises(BankError, match="no items to compare"):
        compare([], [])
    nothing = no_comparison("they share no scored items")
    assert math.isnan(nothing.difference.value)
    assert nothing.reason == "they share no scored items"


def test_ties_count_one_half_in_the_test_as_all_signs_give_it() -> None:
    gains = np.array([1.0, 1.0, -1.0, 0.5, 0.5, 0.5, -0.5, 0.0])
    sums = np.array([np.dot(signs, np.abs(gains)) for signs in itertools.product((-1, 1), repeat=8)])
    seen = gains.sum()
    result = gain_test(gains)
    assert result.p_exact == pytest.approx(np.mean(np.abs(sums) >= seen), abs=1e-12)
    assert result.p_mid == pytest.approx(np.mean(np.abs(sums) > seen) + np.mean(np.abs(sums) == seen) / 2, abs=1e-12)
    none = gain_test([0.5, -0.5])
    assert none.p_exact == 1.0
    assert none.p_mid == pytest.approx(0.75)


def test_a_method_that_ties_where_it_is_unsure_is_not_called_better_for_it() -> None:
    rng = np.random.default_rng(11)
    easy = 1 + rng.normal(size=4000)
    a, b = np.round((easy + rng.normal(size=4000)) / 2), easy + rng.normal(size=4000)
    result = compare(a, b)
    assert result.n_ties > 1000
    assert mcnemar_mid_p(result.n_only_a, result.n_only_b) < 0.001
    assert result.n_only_a > result.n_only_b, "on decided items alone A looks better"
    assert result.difference.high < 0.01


def test_beyond_paradigms_counts_paradigms_and_not_items() -> None:
    rng = np.random.default_rng(2)
    paradigm = np.repeat(np.arange(12), 200)
    gain = np.where(rng.random(2400) < np.where(paradigm < 7, 0.6, 0.45), 1.0, -1.0)
    assert gain_test(gain).p_mid < 0.001
    assert beyond_clusters_p(gain, paradigm) > 0.05
    means = np.array([gain[paradigm == c].mean() for c in range(12)])
    assert beyond_clusters_p(gain, paradigm) == pytest.approx(ttest_1samp(means, 0).pvalue, abs=1e-12)  # equal sizes
    assert np.isnan(beyond_clusters_p(gain, np.arange(2400) % 3))


@pytest.mark.parametrize("gain", [[1.0, 0.75, 0.25, -0.5], [1 / 3, 1 / 3, -2 / 3, 1.0, 0.5], [0.25, -0.25, 0.75]])
def test_gains_finer_than_halves_are_tested_over_all_their_signs(gain: list[float]) -> None:
    signs = np.array(list(itertools.product((1, -1), repeat=len(gain))))
    sums, seen = np.abs(signs @ np.abs(gain)), abs(sum(gain))
    more, same = (sums > seen + 1e-9).mean(), (np.abs(sums - seen) < 1e-9).mean()
    result = gain_test(gain)
    assert result.p_exact == pytest.approx(more + same, abs=1e-12)
    assert result.p_mid == pytest.approx(more + same / 2, abs=1e-12)


def test_many_finer_gains_have_the_p_value_of_the_exact_test(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    gain = rng.choice([-1, -0.75, -0.25, 0.0, 0.25, 0.5, 1.0], 1500)
    exact = gain_test(gain)
    monkeypatch.setattr("pairbank.stats.measures.paired_tests.MOST_EXACT", 100)
    assert gain_test(gain).p_mid == pytest.approx(exact.p_mid, rel=0.02)
