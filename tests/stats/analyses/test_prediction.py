"""Experiment 1 and balanced accuracy of Hu & Levy 2023."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from pairbank.errors import BankError
from pairbank.stats.analyses.prediction import prediction as section
from pairbank.stats.measures.accuracy import accuracy_pooled, balanced_accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, META, items_frame, judgment, keyed, rated_table


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def words() -> ScoredFrame:
    direct, noise = np.random.default_rng(0).normal(-4, 2, size=(2, 60))
    numbers = {"direct_good": direct, "direct_delta": None, "meta_good": direct + noise, "meta_delta": None}
    frame = items_frame(60, "p18", task="word_prediction", **numbers)
    return ScoredFrame(corpus="p18", model="gpt2", frame=frame, layouts=(DIRECT, META))


def test_words_have_a_mean_log_probability_and_r_with_direct() -> None:
    table = words()
    result = section([table])
    rows = keyed(result.tables["prediction"], "method", "metric")
    assert set(rows) == {("direct", "mean_logprob"), ("meta", "mean_logprob"), ("meta", "pearson")}
    direct, meta = (table.frame[f"{name}_good"].to_numpy(dtype=np.float64) for name in ("direct", "meta"))
    assert rows["meta", "mean_logprob"]["value"] == pytest.approx(meta.mean(), abs=1e-12)
    half = 1.96 * float(stats.sem(meta))
    assert rows["meta", "mean_logprob"]["low"] == pytest.approx(meta.mean() - half, abs=0.05 * half)
    assert rows["meta", "pearson"]["value"] == pytest.approx(stats.pearsonr(direct, meta).statistic, abs=1e-12)
    assert f"`direct` {direct.mean():.2f} nats" in result.text


def test_pairs_are_no_words_to_predict() -> None:
    with pytest.raises(BankError, match="has scored items of the task word_prediction"):
        section([rated_table()])
    unscored = replace(words(), frame=words().frame.assign(direct_good=None, meta_good=None))
    with pytest.raises(BankError, match="has scored items of the task word_prediction"):
        section([unscored])


def test_balanced_accuracy_is_that_of_scikit_learn() -> None:
    rng = generator()
    good = rng.uniform(size=300) < 0.7
    answers = rng.normal(size=300) + np.where(good, 0.8, 0.1)
    result = balanced_accuracy(answers, good)
    assert result.value == pytest.approx(metrics.balanced_accuracy_score(good, answers > 0), abs=1e-12)
    assert (result.n, result.low < result.value < result.high) == (300, True)


def test_balanced_accuracy_of_pairs_is_the_pooled_accuracy() -> None:
    judge = judgment("judge")
    logprobs = np.log(generator().uniform(0.1, 1, (80, 2, 2)))
    yes_minus_no = logprobs[:, :, 0] - logprobs[:, :, 1]
    pooled = accuracy_pooled(logprobs, judge)
    result = balanced_accuracy(
        yes_minus_no.ravel(), np.tile([True, False], 80), items=np.repeat(np.arange(80), 2)
    )  # fmt: skip
    assert result.n == 80
    assert result.value == pytest.approx(pooled.value, abs=1e-12)
    assert (result.low, result.high) == pytest.approx((pooled.low, pooled.high), abs=0.01)


def test_saying_yes_to_all_is_chance() -> None:
    # 90 good and 10 bad sentences: plain accuracy would be .9
    result = balanced_accuracy(np.ones(100), np.arange(100) < 90)
    assert result.value == 0.5
    assert result.low < 0.5 < result.high


def test_one_class_has_no_balance() -> None:
    result = balanced_accuracy([1.0, -1.0], [True, True])
    assert (math.isnan(result.value), result.reason) == (True, "there are no bad sentences")
    assert balanced_accuracy([0.0, 0.0], [True, False], items=[0, 0]).value == 0.5
    with pytest.raises(BankError, match="expected one label per answer"):
        balanced_accuracy([1.0], [True, False])
    with pytest.raises(BankError, match="expected one item per answer"):
        balanced_accuracy([1.0, 2.0], [True, False], items=[0])
