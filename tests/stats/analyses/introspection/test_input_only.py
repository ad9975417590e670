"""The input-only control: what the text predicts of answers, beside what a model's own probabilities predict."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from nulls.input_only import Design, made
from pairbank.errors import BankError
from pairbank.stats.analyses.introspection.input_only import compare_predictors, input_only, predictions
from pairbank.stats.analyses.introspection.model_pairs import words


def test_the_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    features, folds = rng.normal(size=(60, 5)), np.arange(60) % 5
    answers = features @ rng.normal(size=(5, 2)) + 0.01 * rng.normal(size=(60, 2))
    result = predictions(features @ features.T, answers, folds)
    for fold in range(5):
        test = folds == fold
        centred = features[~test] - features[~test].mean(axis=0)
        scale = np.square(np.linalg.svd(centred, compute_uv=False)).sum() / (~test).sum()
        reference = Ridge(alpha=0.01 * scale).fit(features[~test], answers[~test])  # hardly any noise: least penalty
        np.testing.assert_allclose(result[test], reference.predict(features[test]), atol=1e-8)


def test_the_correlations_are_those_about_the_means_of_the_folds() -> None:
    rng = np.random.default_rng(1)
    folds, groups = np.arange(200) % 5, np.arange(200) // 10
    answer, own, text = rng.normal(size=(3, 200)) + rng.normal(size=200)
    result = compare_predictors(answer, own, text, folds, groups)
    away = [x - np.array([x[folds == fold].mean() for fold in folds]) for x in (answer, own, text)]
    assert result["r_own"] == pytest.approx(np.corrcoef(away[0], away[1])[0, 1], abs=1e-12)
    assert result["r_text"] == pytest.approx(np.corrcoef(away[0], away[2])[0, 1], abs=1e-12)
    assert result["n_groups"] == 20
    shift = rng.normal(size=5)[folds]
    moved = compare_predictors(answer + shift, own - shift, text, folds, groups)
    assert moved["difference"] == pytest.approx(result["difference"], abs=1e-12)


def test_the_standard_error_is_that_of_a_jackknife_over_paradigms() -> None:
    rng = np.random.default_rng(2)
    folds, groups = np.zeros(600, dtype=np.int64), np.arange(600) // 15
    answer, own, text = rng.normal(size=(3, 600)) + rng.normal(size=(3, 40))[:, groups] + rng.normal(size=600)
    result = compare_predictors(answer, own, text, folds, groups)
    left = []
    for group in range(40):
        kept = groups != group
        left.append(compare_predictors(answer[kept], own[kept], text[kept], folds[kept], groups[kept])["difference"])
    jackknife = np.sqrt(39 / 40 * np.square(np.array(left) - np.mean(left)).sum())
    half = (result["high"] - result["low"]) / 2
    assert half == pytest.approx(2.0227 * jackknife, rel=0.05)  # t of 39 degrees of freedom


@pytest.mark.ci
def test_text_predicts_answers_that_follow_words_and_not_others() -> None:
    design = Design(n_paradigms=20, n_each=15, n_models=2)
    by_words = input_only(*made(np.random.default_rng(3), design, 0.0))
    assert (by_words["r_text"] > 0.4).all()
    assert (by_words["better"] == "text").all()
    nothing = input_only(*made(np.random.default_rng(3), replace(design, by_text=0.0), 0.6))
    assert (nothing["r_text"].abs() < 0.25).all()
    assert (nothing["better"] == "own").all()
    assert "better than the text alone in 2 of 2 cases" in words().render("control", nothing)


def test_constant_answers_are_undefined() -> None:
    stack, good, bad = made(np.random.default_rng(4), Design(n_paradigms=12, n_each=10), 0.5)
    table = input_only(replace(stack, meta_nats=np.zeros_like(stack.meta_nats)), good, bad)
    assert table["better"].tolist() == ["undefined"]
    assert table["difference"].isna().all()
    assert "in 0 of 1 case" in words().render("control", table)


def test_too_few_items_are_refused_with_their_number() -> None:
    with pytest.raises(BankError, match="90 items have texts, direct scores and answers of all models"):
        input_only(*made(np.random.default_rng(5), Design(n_paradigms=15, n_each=6), 0.5))
