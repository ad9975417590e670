"""ROC-AUC of pooled strings, its two intervals, and the curve."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from pairbank.errors import BankError
from pairbank.stats.measures.roc import Strings, auc, labelled_strings, pooled_pairs, roc_curve


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def pairs(n_pairs: int, *, ties: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pairs whose sides share most of their variance, as sentences that share a message do."""
    rng = generator(seed)
    message, good, bad = rng.normal(size=(3, n_pairs))
    first, second = 3 * message + good + 0.5, 3 * message + bad
    return (np.round(first), np.round(second)) if ties else (first, second)


def flat(good: np.ndarray, bad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([good, bad]), np.repeat([1, 0], [good.size, bad.size])


@pytest.mark.parametrize("ties", [False, True])
def test_the_area_is_that_of_scikit_learn(ties: bool) -> None:
    good, bad = pairs(300, ties=ties)
    scores, labels = flat(good, bad)
    expected = metrics.roc_auc_score(labels, scores)
    assert auc(pooled_pairs(good, bad)).value == pytest.approx(expected, abs=1e-12)
    assert auc(labelled_strings(scores, labels)).value == pytest.approx(expected)


def test_one_string_an_item_gives_delong() -> None:
    # by hand: good 3, 5, 6, bad 1, 4. Placements of good: 1/2, 1, 1 (mean 5/6), of bad: 1, 2/3 (mean 5/6).
    # var = s2(good)/3 + s2(bad)/2 = (1/12)/3 + (1/18)/2 = 1/36 + 1/36 = 1/18 (DeLong et al. 1988)
    result = auc(labelled_strings([3.0, 5.0, 6.0, 1.0, 4.0], [1, 1, 1, 0, 0]), level=0.5)
    assert result.value == pytest.approx(5 / 6, abs=1e-12)
    # the normal quantile of .75 is 0.6744897501960817; the logit of 5/6 is log 5, its slope 1 / (5/36)
    half = 0.6744897501960817 * math.sqrt(1 / 18) * 36 / 5
    assert result.low == pytest.approx(5 * math.exp(-half) / (1 + 5 * math.exp(-half)), abs=1e-12)
    assert result.high == pytest.approx(5 * math.exp(half) / (1 + 5 * math.exp(half)), abs=1e-12)


def test_the_interval_is_near_the_bootstraps_and_knows_that_sides_of_a_pair_are_alike() -> None:
    good, bad = pairs(2000, ties=False)
    scores, labels = flat(good, bad)
    areas: list[float] = []
    for _ in range(200):
        weights = np.bincount(generator(len(areas)).integers(2000, size=2000), minlength=2000)
        areas.append(metrics.roc_auc_score(labels, scores, sample_weight=np.tile(weights, 2)))
    result = auc(pooled_pairs(good, bad))
    assert result.high - result.low == pytest.approx(2 * 1.96 * np.std(areas), rel=0.15)
    independent = auc(labelled_strings(*flat(good, bad)))
    assert independent.high - independent.low > 2 * (result.high - result.low)


def test_the_interval_covers_the_truth() -> None:
    # equal classes that share a message: the area is .5; 400 corpora of 60 pairs
    hits = 0
    for seed in range(400):
        rng = generator(seed)
        message, good, bad = rng.normal(size=(3, 60))
        result = auc(pooled_pairs(2 * message + good, 2 * message + bad))
        hits += result.low <= 0.5 <= result.high
    assert 0.92 <= hits / 400 <= 0.98


scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12)


@given(scores, scores)
def test_exchanging_the_classes_turns_the_area_round(good: list[float], bad: list[float]) -> None:
    labels = [1] * len(good) + [0] * len(bad)
    area = auc(labelled_strings(good + bad, labels)).value
    turned = auc(labelled_strings(good + bad, [1 - x for x in labels])).value
    assert 0 <= area <= 1
    assert area + turned == pytest.approx(1, abs=1e-12)


def test_a_corpus_of_67_thousand_pairs_takes_seconds() -> None:
    good, bad = pairs(67_000, ties=True)
    start = time.process_time()
    result = auc(pooled_pairs(good, bad))
    assert result.low < result.value < result.high
    assert time.process_time() - start < 5


@pytest.mark.parametrize("ties", [False, True])
def test_the_curve_lies_on_that_of_scikit_learn(ties: bool) -> None:
    good, bad = pairs(50, ties=ties)
    scores, labels = flat(good, bad)
    false_positive, true_positive, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    points = set(zip(false_positive.round(9), true_positive.round(9), strict=True))
    curve = roc_curve(pooled_pairs(good, bad))
    result = set(zip(curve.false_positive_rate.round(9), curve.true_positive_rate.round(9), strict=True))
    assert result <= points
    assert {(0.0, 0.0), (1.0, 1.0)} <= result
    assert metrics.auc(curve.false_positive_rate, curve.true_positive_rate) == pytest.approx(
        metrics.roc_auc_score(labels, scores), abs=0.002
    )
    assert roc_curve(pooled_pairs(*pairs(5000, ties=False))).true_positive_rate.size <= 201


def test_an_empty_class_is_undefined_with_the_reason() -> None:
    only_good = labelled_strings([1.0, 2.0], [1, 1])
    result = auc(only_good)
    assert math.isnan(result.value)
    assert result.reason == "there are no ungrammatical strings"
    with pytest.raises(BankError, match="no ROC curve: there are no ungrammatical strings"):
        roc_curve(only_good)
    assert auc(pooled_pairs([], [])).reason == "there are no grammatical strings"


def test_where_no_interval_can_be_had_the_reason_says_why() -> None:
    assert auc(pooled_pairs([2.0], [1.0])).reason == "a class has strings of one item only"
    assert auc(labelled_strings([2.0, 1.0], [1, 0])).reason == "a class has strings of one item only"
    assert auc(pooled_pairs([3.0, 3.0], [1.0, 1.0])).reason == "the standard error is 0"


def test_labels_other_than_0_and_1_are_refused() -> None:
    with pytest.raises(BankError, match="expected one label, 0 or 1"):
        labelled_strings([1.0, 2.0], [1, 2])
    with pytest.raises(BankError, match="good has 2 scores, bad has 1"):
        pooled_pairs([1.0, 2.0], [1.0])


def test_items_may_have_any_number_of_strings() -> None:
    # two strings of item 0, one of item 1: 3 > 1, 0 < 1 -> area 1/2
    strings = Strings(
        good=np.array([3.0, 0.0]), bad=np.array([1.0]), good_item=np.array([0, 1]), bad_item=np.array([0]), n_items=2
    )
    assert auc(strings).value == 0.5


@pytest.mark.ci
def test_of_paradigms_the_standard_error_is_that_of_items_that_have_all_their_strings() -> None:
    good, bad = pairs(240, ties=True)
    codes = np.arange(240) % 12
    result, plain = auc(pooled_pairs(good, bad), clusters=codes), auc(pooled_pairs(good, bad))
    assert (result.value, result.low, result.high, result.n_paradigms) == (plain.value, plain.low, plain.high, 12)
    whole = auc(Strings(good=good, bad=bad, good_item=codes, bad_item=codes, n_items=12))
    normal, student = 1.959963984540054, 2.200985160082949  # Student's with 11 degrees of freedom
    centre = math.log(plain.value / (1 - plain.value))
    half = (math.log(whole.high / (1 - whole.high)) - centre) * student / normal
    assert result.high_paradigms == pytest.approx(1 / (1 + math.exp(-(centre + half))), abs=1e-12)
    assert result.low_paradigms == pytest.approx(1 / (1 + math.exp(-(centre - half))), abs=1e-12)
    assert auc(pooled_pairs(good, bad), clusters=np.arange(240) % 3).n_paradigms == 0
