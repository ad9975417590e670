"""Distances between a model's and people's distributions of answers: against scipy, and what they are held against."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from nulls.distributions import POINTS
from pairbank.errors import BankError
from pairbank.stats.measures.distributions import distribution_distance


def test_the_distance_is_scipys_for_any_scale_and_number_of_raters() -> None:
    rng = np.random.default_rng(1)
    things = np.repeat(np.arange(15), rng.integers(2, 9, 15))
    values, raters = rng.integers(0, 11, things.size) / 10, np.arange(things.size) % 9
    shares = rng.dirichlet(np.ones(4), 15)
    shares[3] = np.nan
    points = np.array([0.0, 0.25, 0.7, 1.0])
    result = distribution_distance(things, raters, values, shares, points)
    expected = [wasserstein_distance(points, values[things == i], shares[i]) for i in range(15) if i != 3]
    assert result.model.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert (result.model.n, result.n_raters) == (14, 9)
    assert result.nearer.value == pytest.approx(result.model.value - result.constant.value, abs=1e-12)


def test_of_repeated_yes_no_answers_the_distance_is_the_difference_of_two_shares() -> None:
    rng = np.random.default_rng(3)
    things, raters = np.repeat(np.arange(12), 5), np.tile(np.arange(5), 12)
    yes, model = rng.integers(0, 11, things.size) / 10, rng.random(12)
    result = distribution_distance(
        np.tile(things, 2),
        np.tile(raters, 2),
        np.repeat([0.0, 1.0], yes.size),
        np.column_stack([1 - model, model]),
        np.array([0.0, 1.0]),
        weights=np.concatenate([1 - yes, yes]),
    )
    assert result.model.value == pytest.approx(np.abs(yes.reshape(12, 5).mean(axis=1) - model).mean(), abs=1e-12)
    assert (result.model.n, result.n_raters) == (12, 5)
    alone = np.r_[0:1, yes.size : yes.size + 1]
    few = distribution_distance(
        np.tile(things, 2)[alone], np.tile(raters, 2)[alone], np.array([0.0, 1.0]),
        np.column_stack([1 - model, model]), np.array([0.0, 1.0]), weights=np.array([0.7, 0.3]),
    )  # fmt: skip
    assert "0 sentences rated by two people or more" in str(few.model.reason)


def test_no_constant_is_nearer_than_the_one_that_it_is_held_against() -> None:
    rng = np.random.default_rng(2)
    things, raters = np.repeat(np.arange(50), 6), np.tile(np.arange(6), 50)
    values = rng.integers(1, 8, 50)[things] + rng.integers(-1, 2, things.size)
    for shares in rng.dirichlet(np.full(7, 0.7), 30):
        one = distribution_distance(things, raters, np.clip(values, 1, 7), np.tile(shares, (50, 1)), POINTS)
        assert one.nearer.value >= -1e-12


def test_too_few_people_or_sentences_are_said_and_what_does_not_fit_is_refused() -> None:
    things, raters, values = np.repeat(np.arange(9), 3), np.tile(np.arange(3), 9), np.tile([1.0, 2.0, 3.0], 9)
    shares, points = np.full((9, 3), 1 / 3), np.array([1.0, 2.0, 3.0])
    result = distribution_distance(things, raters, values, shares, points)
    assert "9 sentences rated by two people or more, 3 people; it takes 10 and 3" in str(result.model.reason)
    assert np.isnan(result.floor)
    with pytest.raises(BankError, match="expected ascending answers, a share each"):
        distribution_distance(things, raters, values, shares, points[::-1])
