"""Raters as systems: accuracies by hand and of QFrBLiMP, and the alternative annotator test against a slow one."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from nulls.raters import people
from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.stats.measures.human_agreement import alternative_annotator, alternative_annotator_of_ratings
from pairbank.stats.measures.raters import rater_accuracy, with_others


def plain(choices: FloatArray, model: FloatArray, epsilon: float) -> tuple[float, float]:
    """Calderon et al. 2025, section 3, word for word: winning rate and average advantage."""
    p, shares = [], []
    for j in range(choices.shape[1]):
        wins_model, wins_rater = [], []
        for own, one in zip(choices, model, strict=True):
            others = [x for k, x in enumerate(own) if k != j and not np.isnan(x)]
            if np.isnan(own[j]) or not others:
                continue
            of_model = np.mean([(1 + one * x) / 2 for x in others])
            of_rater = np.mean([(1 + own[j] * x) / 2 for x in others])
            wins_model.append(float(of_model >= of_rater - 1e-12))
            wins_rater.append(float(of_rater >= of_model - 1e-12))
        shares.append(np.mean(wins_model))
        p.append(stats.ttest_1samp(np.subtract(wins_rater, wins_model), epsilon, alternative="less").pvalue)
    return float(multipletests(p, 0.05, "fdr_by")[0].mean()), float(np.mean(shares))


@pytest.mark.parametrize("right", [0.6, 0.76, 0.8, 0.84, 0.9])
def test_the_test_is_that_of_the_paper_whoever_judged_what_and_with_ties(right: float) -> None:
    rng = np.random.default_rng(5)
    choices = people(rng, n=150, n_raters=5)
    choices[rng.random(choices.shape) < 0.1] = 0
    choices[rng.random(choices.shape) < 0.2] = np.nan
    choices = choices[(~np.isnan(choices)).any(axis=1)]
    model = np.where(rng.random(len(choices)) < right, 1.0, -1.0)
    result = alternative_annotator(choices, model, epsilon=0.1)
    winning, advantage = plain(choices, model, 0.1)
    assert result.winning_rate == pytest.approx(winning)
    assert result.advantage == pytest.approx(advantage)


def test_a_model_that_is_a_copy_of_a_rater_ties_with_that_rater() -> None:
    choices = people(np.random.default_rng(0), n=200, n_raters=4)
    result = alternative_annotator(choices, choices[:, 2])
    assert result.winning_rate >= 0.5
    assert result.rater_advantage == pytest.approx(result.advantage, abs=0.05)


def test_too_few_raters_or_items_are_no_verdict_and_say_why() -> None:
    choices = people(np.random.default_rng(0), n=20, n_raters=4)
    result = alternative_annotator(choices, np.ones(20))
    assert np.isnan(result.winning_rate)
    assert "0 raters judged 30 items or more" in str(result.reason)


def test_ratings_of_single_things_are_tested_by_who_is_nearer_to_the_others() -> None:
    rng = np.random.default_rng(1)
    true = rng.normal(size=80)
    things, raters = np.repeat(np.arange(80), 5), np.tile(np.arange(5), 80)
    said = true[things] + rng.normal(size=400)
    assert alternative_annotator_of_ratings(things, raters, said, true).winning_rate == 1
    assert alternative_annotator_of_ratings(things, raters, said, rng.normal(size=80) * 2).winning_rate == 0
    one_more = alternative_annotator_of_ratings(things, raters, said, true + rng.normal(size=80))
    assert one_more.advantage == pytest.approx(one_more.rater_advantage, abs=0.1)


def test_what_is_no_choice_is_refused() -> None:
    with pytest.raises(BankError, match=r"a choice is 0\.5"):
        rater_accuracy(np.array([[0.5, 1.0]]))
    with pytest.raises(BankError, match="has no choice at all"):
        rater_accuracy(np.array([[np.nan, np.nan], [1.0, 1.0]]))
    with pytest.raises(BankError, match="epsilon is 1"):
        alternative_annotator(np.ones((40, 3)), np.ones(40), epsilon=1)


def test_correlations_with_the_others_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    ratings, model = rng.normal(size=(30, 4)), rng.normal(size=30)
    things, raters = np.divmod(np.arange(120), 4)
    result = with_others(things, raters, ratings.ravel(), model)
    for j in range(4):
        others = np.delete(ratings, j, axis=1).mean(axis=1)
        assert result.rater[j] == pytest.approx(np.corrcoef(ratings[:, j], others)[0, 1])
        assert result.model[j] == pytest.approx(np.corrcoef(model, others)[0, 1])


def test_the_majority_of_the_others_is_without_the_rater() -> None:
    # item 1: two for, one against: of the others' majorities one is right and two are ties, (1 + 1) / 3
    # item 2: one for, one against; item 3 has no others
    nan = float("nan")
    result = rater_accuracy(np.array([[1.0, 1.0, -1.0], [1.0, -1.0, nan], [nan, nan, 1.0]]))
    assert result.majority_of_others.n == 2
    assert result.majority_of_others.value == pytest.approx((2 / 3 + 1 / 2) / 2)


@pytest.mark.upstream
def test_single_raters_and_the_majority_of_qfrblimp_are_as_published_but_for_the_answer_key(shared: Path) -> None:
    import pairbank
    from pairbank.stats.analyses.raters.judgments import choices_of

    ratings = pairbank.load_ratings("qfrblimp", data_dir=shared / "corpora").to_pandas()
    chosen = choices_of(ratings, sorted(set(ratings["item_id"])))
    assert chosen is not None
    result = rater_accuracy(chosen.to_numpy())
    # Published: 0.8695 for 13 raters; one of them is the answer key, right wherever an answer can be (1,743 of 1,761).
    assert chosen.shape == (1761, 12)
    assert result.single.value == pytest.approx((13 * 0.8695 - 1743 / 1761) / 12, abs=5e-5)
    assert result.majority.value == pytest.approx(0.9475, abs=5e-5)
