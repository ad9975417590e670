"""Probes: planted signals are found, noise is not, and no sentence stands on both sides of a split."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairbank.errors import BankError
from pairbank.scoring import probes as probing
from pairbank.stats.measures.probes import (
    chosen_by_other_folds,
    cross_validated,
    exchanged,
    fold_mean,
    pair_components,
    pair_folds,
)

N_PAIRS, HIDDEN = 120, 64


def alone_pairs(n: int) -> np.ndarray:
    """Return folds of the sentences of pairs that share nothing, better sentences first."""
    return np.tile(pair_folds(np.arange(n), rng=np.random.default_rng(0)), 2)


def test_a_planted_direction_is_found_and_the_control_task_stays_at_chance() -> None:
    rng = np.random.default_rng(1)
    better = np.repeat([True, False], N_PAIRS)
    states = rng.normal(size=(2 * N_PAIRS, HIDDEN))
    states[better, 3] += 8
    real, control = cross_validated(states, [better, exchanged(N_PAIRS, rng=rng)], alone_pairs(N_PAIRS))
    assert real.f1.min() > 0.95
    assert abs(control.accuracy.mean() - 0.5) < 0.15


def test_noise_is_not_told_apart() -> None:
    # 240 coin flips: the standard deviation of their mean is .032; five of them are allowed
    rng = np.random.default_rng(2)
    states = rng.normal(size=(2 * N_PAIRS, 300))
    [result] = cross_validated(states, [np.repeat([True, False], N_PAIRS)], alone_pairs(N_PAIRS))
    assert abs(result.accuracy.mean() - 0.5) < 0.16


def test_pairs_with_a_common_sentence_never_part() -> None:
    """Ten pairs each have the same better sentence: plain folds know it from training, ours do not."""
    rng = np.random.default_rng(3)
    good = [f"good {i // 10}" for i in range(200)]
    bad = [f"bad {i}" for i in range(200)]
    state_of = {text: rng.normal(size=HIDDEN) for text in [*good, *bad]}
    states = np.array([state_of[text] for text in [*good, *bad]])
    better = np.repeat([True, False], 200)

    folds = np.tile(pair_folds(pair_components(good, bad), rng=rng), 2)
    for text in {*good, *bad}:
        assert len({fold for fold, other in zip(folds, [*good, *bad], strict=True) if other == text}) == 1
    assert np.array_equal(folds[:200], folds[200:])
    [ours] = cross_validated(states, [better], folds)

    plain = np.empty(400, dtype=np.int64)
    for fold, (_, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(states, better)):
        plain[test] = fold
    [leaking] = cross_validated(states, [better], plain)
    assert leaking.f1.mean() > 0.75
    assert ours.f1.mean() < 0.6


def test_components_join_pairs_through_either_side_and_through_chains() -> None:
    good, bad = ["a", "c", "e", "g", "h"], ["b", "b", "c", "i", "g"]
    assert pair_components(good, bad).tolist() == [0, 0, 0, 1, 1]
    assert pair_components([], []).tolist() == []


@pytest.mark.parametrize(("n_rows", "hidden"), [(60, 200), (300, 20), pytest.param(700, 1500, marks=pytest.mark.ci)])
def test_fewer_coordinates_give_the_regression_of_the_plain_pipeline(
    n_rows: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "TOLERANCE", 1e-8)
    rng = np.random.default_rng(4)
    better = np.repeat([True, False], n_rows // 2)
    states = rng.normal(size=(n_rows, hidden)) @ rng.normal(size=(hidden, hidden)) + better[:, None]
    states[:, 0] = 7.0  # a feature that never varies
    folds = alone_pairs(n_rows // 2)
    [result] = cross_validated(states, [better], folds)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        plain = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=10_000))
        predicted = plain.fit(states[train], better[train]).predict(states[test])
        # one test sentence may stand on the border
        assert result.f1[fold] == pytest.approx(f1_score(better[test], predicted), abs=1.01 / test.sum())
        assert result.accuracy[fold] == pytest.approx(accuracy_score(better[test], predicted), abs=1.01 / test.sum())


def test_equal_states_everywhere_are_chance_and_no_error() -> None:
    [result] = cross_validated(np.ones((20, 64)), [np.repeat([True, False], 10)], alone_pairs(10))
    assert result.accuracy.tolist() == [0.5] * 5


def test_a_regression_that_does_not_converge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "MAX_ITERATIONS", 1)
    states = np.random.default_rng(5).normal(size=(40, 8))
    with pytest.raises(BankError, match="did not converge in 1 iterations"):
        cross_validated(states, [np.repeat([True, False], 20)], alone_pairs(20))


def test_what_cannot_be_cross_validated_is_refused() -> None:
    with pytest.raises(BankError, match="5 folds need at least 5"):
        pair_folds(np.array([0, 1, 2, 3, 3]), rng=np.random.default_rng(0))
    with pytest.raises(BankError, match="one kind of label only"):
        cross_validated(np.eye(4), [[True, True, False, False]], [0, 0, 1, 1])
    with pytest.raises(BankError, match=r"states\[1, 0\] is nan"):
        cross_validated([[0.0], [np.nan]], [[True, False]], [0, 1])
    with pytest.raises(BankError, match="expected \\(rows, hidden\\)"):
        cross_validated(np.eye(4), [[True, False]], [0, 1])


def test_the_interval_of_folds_is_the_corrected_t() -> None:
    # by hand: s^2 = .025; (1/5 + 1/4) s^2 = .01125, root .1060660; R: qt(.975, 4) = 2.7764451
    estimate = fold_mean([0.5, 0.6, 0.7, 0.8, 0.9], n=50)
    assert estimate.value == pytest.approx(0.7, abs=1e-12)
    assert estimate.low == pytest.approx(0.7 - 2.7764451 * 0.1060660, abs=1e-6)
    assert estimate.high == pytest.approx(0.7 + 2.7764451 * 0.1060660, abs=1e-6)
    assert fold_mean([0.2, 1.0, 1.0, 1.0, 1.0], n=50).high == 1.0
    equal = fold_mean([1.0] * 5, n=50)
    assert (equal.value, equal.reason) == (1.0, "all folds are equal: no spread")
    assert fold_mean([0.5], n=5).reason == "fewer than two folds"


def test_choosing_by_the_other_folds_takes_the_optimism_out() -> None:
    """Many layers of noise: their maximum is well above chance, the honest choice is not."""
    rng = np.random.default_rng(6)
    noise = rng.binomial(40, 0.5, size=(200, 30, 5)) / 40
    maxima = [table.mean(axis=1).max() for table in noise]
    honest = [chosen_by_other_folds(table).mean() for table in noise]
    assert np.mean(maxima) > 0.56
    assert np.mean(honest) == pytest.approx(0.5, abs=0.01)


def test_states_that_are_not_standardised_give_the_regression_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    states = rng.normal(size=(2 * N_PAIRS, 40)) * rng.uniform(0.1, 5, size=40) + rng.normal(size=40)
    better = np.repeat([True, False], N_PAIRS)
    states[better, :3] += 0.8
    folds = alone_pairs(N_PAIRS)
    (result,) = cross_validated(states, [better], folds, standardise=False)
    expected = []
    for fold in range(5):
        test = folds == fold
        model = LogisticRegression(max_iter=10_000, tol=1e-8).fit(states[~test], better[~test])
        expected.append(f1_score(better[test], model.predict(states[test])))
    assert result.f1 == pytest.approx(expected, abs=1e-9)
