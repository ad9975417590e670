"""Thresholds learned from other sentences: by hand, against scikit-learn, and at chance where scores are noise."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef

from pairbank.errors import BankError
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.accuracy import balanced_accuracy
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.roc import N_FOLDS, best_threshold, held_out_margins


def ids(n: int) -> list[str]:
    return [f"toy/all/{i}" for i in range(n)]


def test_the_best_threshold_of_six_sentences() -> None:
    """By hand: cutting between 3 and 4 gets both bad and 3 of 4 good right (.875), every other cut less."""
    scores = np.array([1.0, 3.0, 2.0, 4.0, 5.0, 6.0])
    assert best_threshold(scores, np.array([False, False, True, True, True, True])) == 3.5
    assert best_threshold(np.ones(4), np.array([True, False, True, False])) == 1.0
    # 1.5, 3.5 and 5.5 are as good as each other
    assert best_threshold(np.arange(1.0, 7), np.array([False, True] * 3)) == 3.5


def test_no_sentence_takes_part_in_its_own_threshold() -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=60), np.arange(60) % 2
    margins = held_out_margins(scores, labels, ids(60))
    moved = scores.copy()
    moved[7] += 100
    assert held_out_margins(moved, labels, ids(60))[7] == pytest.approx(margins[7] + 100)


def test_the_order_of_a_file_decides_nothing() -> None:
    rng = np.random.default_rng(4)
    scores, labels, order = np.sort(rng.normal(size=60)), np.arange(60) % 2, rng.permutation(60)
    names = ids(60)
    margins = held_out_margins(scores, labels, names)
    again = held_out_margins(scores[order], labels[order], [names[i] for i in order])
    assert again.tolist() == margins[order].tolist()


def test_numbers_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    labels = (rng.uniform(size=400) < 0.7).astype(float)
    margins = held_out_margins(labels + rng.normal(size=400), labels, ids(400))
    answers = margins > 0
    assert balanced_accuracy(margins, labels == 1).value == pytest.approx(balanced_accuracy_score(labels, answers))
    assert pearson(signs(margins), labels).value == pytest.approx(matthews_corrcoef(labels, answers))


def test_noise_is_at_chance_where_a_fitted_threshold_is_not() -> None:
    """Mean over 200 runs of noise, 40 sentences: held out .50; the threshold fitted on all of them gives .58."""
    rng = np.random.default_rng(3)
    held_out, fitted = [], []
    for _ in range(200):
        scores, good = rng.normal(size=40), np.arange(40) % 2 == 1
        held_out.append(balanced_accuracy(held_out_margins(scores, good, ids(40)), good).value)
        fitted.append(balanced_accuracy(scores - best_threshold(scores, good), good).value)
    assert abs(np.mean(held_out) - 0.5) < 0.02
    assert np.mean(fitted) > 0.57


def test_small_classes_have_no_threshold_and_bad_input_is_refused() -> None:
    labels = [1.0] * 30 + [0.0] * (N_FOLDS - 1)
    assert np.isnan(held_out_margins(np.arange(len(labels)), labels, ids(len(labels)))).all()
    with pytest.raises(BankError, match="expected a label 0 or 1 each"):
        held_out_margins([1.0, 2.0], [0.0, 2.0], ids(2))
