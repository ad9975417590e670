"""The ceiling that rating noise puts on a correlation with people."""

import math

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.measures.human_agreement import ceiling_from_ratings, ceiling_from_spreads

# Shrout & Fleiss 1979, Psychological Bulletin 86:420-428, Table 2: six targets rated by four judges
PUBLISHED = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)


def test_a_complete_table_has_the_published_reliability_of_its_means() -> None:
    target, judge = np.divmod(np.arange(24), 4)
    result = ceiling_from_ratings(target, judge, PUBLISHED.ravel())
    assert result.reliability == pytest.approx(0.91, abs=0.005)  # their ICC(3,4), Table 4
    assert result.ceiling_r == pytest.approx(math.sqrt(result.reliability), abs=1e-15)
    assert result.n == 6


def test_ratings_with_a_rater_each_have_the_published_one_way_reliability() -> None:
    result = ceiling_from_ratings(np.arange(24) // 4, np.arange(24), PUBLISHED.ravel())
    assert result.reliability == pytest.approx(0.44, abs=0.005)  # their ICC(1,4), Table 4


@pytest.mark.parametrize(("n_raters", "expected"), [(3, 3 / 7), (5, 5 / 9), (10, 10 / 14)])
@pytest.mark.parametrize("levels", [0.0, 1.0])
def test_tables_with_gaps_have_the_reliability_they_were_made_with(
    n_raters: int, expected: float, levels: float
) -> None:
    # each of 300 items by some of 60 raters; reliability of one rating .2, of k ratings k / (k + 4)
    result = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rater = np.concatenate([rng.choice(60, n_raters, replace=False) for _ in range(300)])
        item = np.repeat(np.arange(300), n_raters)
        level = levels * rng.normal(size=60)[rater]
        rating = rng.normal(size=300)[item] + level + 2 * rng.normal(size=item.size)
        result.append(ceiling_from_ratings(item, rater, rating).reliability)
    # levels of raters of variance v are noise of the means: k / (k + 4 + v)
    requested = n_raters / (n_raters + 4 + levels**2)
    assert np.mean(result) == pytest.approx(requested, abs=0.025)
    assert expected >= requested


def simulated(n_items: int, n_raters: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_items)
    items, raters = np.repeat(np.arange(n_items), n_raters), np.tile(np.arange(n_raters), n_items)
    return items, raters, truth[items] + noise * rng.normal(size=items.size)


def test_both_ways_find_the_reliability_the_ratings_were_made_with() -> None:
    # true variance 1, noise variance 4 over 16 raters: reliability of a mean 1 / (1 + 4/16) = .8
    items, raters, ratings = simulated(4000, 16, 2.0, 0)
    split = ceiling_from_ratings(items, raters, ratings)
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
    ceiling = ceiling_from_ratings(items, raters, ratings).ceiling_r
    reached = np.corrcoef(truth, ratings.reshape(5000, 8).mean(1))[0, 1]
    assert reached == pytest.approx(ceiling, abs=0.02)


def test_where_there_is_no_ceiling_the_reason_says_why() -> None:
    one = ceiling_from_ratings([0, 1, 2], [0, 0, 0], [1.0, 2.0, 3.0])
    assert math.isnan(one.ceiling_r)
    assert one.reason == "1 raters of 3 items; a reliability needs 2 raters of an item, and 3 items"
    flat = ceiling_from_spreads([1, 1, 1], [1, 1, 1], [4, 4, 4], [1, 1, 1], [4, 4, 4])
    assert flat.reason == "the human differences do not vary"
    noise = ceiling_from_spreads([0.0, 0.1, 0.2], [1, 1, 1], [2, 2, 2], [1, 1, 1], [2, 2, 2])
    assert noise.reason is not None
    assert noise.reason.startswith("the ratings are noise only")


def test_one_rater_has_no_spread() -> None:
    with pytest.raises(BankError, match="fewer than 2 raters"):
        ceiling_from_spreads([0, 2, 4], [1, 1, 1], [1, 4, 4], [1, 1, 1], [4, 4, 4])
