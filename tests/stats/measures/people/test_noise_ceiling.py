"""The ceiling that rating noise puts on a correlation with people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.measures.people.noise_ceiling import ceiling_from_ratings, ceiling_from_spreads, spearman_brown


def test_spearman_brown_steps_up_a_half() -> None:
    # by hand: halves that correlate at .60 make a whole of reliability 2 * .6 / 1.6 = .75
    assert spearman_brown(0.6) == pytest.approx(0.75, abs=1e-15)
    assert spearman_brown(0.0) == 0.0
    assert math.isnan(spearman_brown(-1.0))


def simulated(n_items: int, n_raters: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_items)
    items, raters = np.repeat(np.arange(n_items), n_raters), np.tile(np.arange(n_raters), n_items)
    return items, raters, truth[items] + noise * rng.normal(size=items.size)


def test_both_ways_find_the_reliability_the_ratings_were_made_with() -> None:
    # true variance 1, noise variance 4 over 16 raters: reliability of a mean 1 / (1 + 4/16) = .8
    items, raters, ratings = simulated(4000, 16, 2.0, 0)
    split = ceiling_from_ratings(items, raters, ratings, rng=np.random.default_rng(1), n_splits=20)
    assert split.reliability == pytest.approx(0.8, abs=0.02)
    assert split.ceiling_r == pytest.approx(math.sqrt(split.reliability), abs=1e-15)
    assert split.n == 4000
    # differences of two such means: variance 2, noise 2 * 4/16: 2 / 2.5 = .8 again
    cells = ratings.reshape(4000, 16)
    good, bad = cells[:2000], cells[2000:]
    sixteen = np.full(2000, 16.0)
    spread = ceiling_from_spreads(good.mean(1) - bad.mean(1), good.std(1, ddof=1), sixteen, bad.std(1, ddof=1), sixteen)
    assert spread.reliability == pytest.approx(0.8, abs=0.02)


def test_a_perfect_score_reaches_the_ceiling_and_no_more() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=5000)
    items, raters = np.repeat(np.arange(5000), 8), np.tile(np.arange(8), 5000)
    ratings = truth[items] + 2 * rng.normal(size=items.size)
    ceiling = ceiling_from_ratings(items, raters, ratings, rng=rng, n_splits=20).ceiling_r
    reached = np.corrcoef(truth, ratings.reshape(5000, 8).mean(1))[0, 1]
    assert reached == pytest.approx(ceiling, abs=0.02)


def test_the_same_generator_gives_the_same_number() -> None:
    data = simulated(50, 6, 1.0, 2)
    first, second = (ceiling_from_ratings(*data, rng=np.random.default_rng(5)) for _ in range(2))
    assert first == second


def test_where_there_is_no_ceiling_the_reason_says_why() -> None:
    one = ceiling_from_ratings([0, 1, 2], [0, 0, 0], [1.0, 2.0, 3.0], rng=np.random.default_rng(0))
    assert math.isnan(one.ceiling_r)
    assert one.reason == "1 raters of 3 items; a split needs 2 raters and 3 items"
    flat = ceiling_from_spreads([1, 1, 1], [1, 1, 1], [4, 4, 4], [1, 1, 1], [4, 4, 4])
    assert flat.reason == "the human differences do not vary"
    noise = ceiling_from_spreads([0.0, 0.1, 0.2], [1, 1, 1], [2, 2, 2], [1, 1, 1], [2, 2, 2])
    assert noise.reason is not None
    assert noise.reason.startswith("the ratings are noise only")


def test_one_rater_has_no_spread() -> None:
    with pytest.raises(BankError, match="fewer than 2 raters"):
        ceiling_from_spreads([0, 2, 4], [1, 1, 1], [1, 4, 4], [1, 1, 1], [4, 4, 4])
