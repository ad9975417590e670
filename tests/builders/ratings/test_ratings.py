"""Ratings of individual raters: what items' human judgments are made of, and the raters of five published corpora."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pairbank
from pairbank.builders.dataset import manifest_of
from pairbank.builders.ratings import FORCED_CHOICE, Rating, judged, normalised, rating_summary
from pairbank.builders.schema.columns import Item
from pairbank.errors import CorpusError, UnknownNameError

ITEM = Item(
    item_id="c/s/1", corpus="c", subset="s", language="en", task="sentence_pair", target_good="a", target_bad="b"
)


def rating(side: str, rater: int, value: float, scale: str = "likert7") -> Rating:
    return Rating(item_id=ITEM.item_id, side="good" if side == "good" else "bad", rater=rater, value=value, scale=scale)


def test_the_judgment_of_an_item_is_made_of_its_ratings() -> None:
    ratings = [
        rating("good", 0, 7),
        rating("good", 1, 6),
        rating("bad", 0, 2),
        rating("bad", 2, 1),
        rating("bad", 2, 3),
    ]
    item = judged(ITEM, ratings).item
    # means of 7, 6 and of 2, 1, 3; raters 0, 1 and 2
    assert (item.human_good, item.human_bad, item.human_scale, item.human_n) == (6.5, 2.0, "likert7", 3)


def test_a_forced_choice_gives_the_share_that_chose_each_side() -> None:
    item = judged(ITEM, [rating("good", n, value, FORCED_CHOICE) for n, value in enumerate((1, 1, 0, 1))]).item
    assert (item.human_good, item.human_bad, item.human_n) == (0.75, 0.25, 4)


def test_an_item_without_ratings_stays_as_it_is() -> None:
    assert judged(ITEM, ()).item is ITEM


def test_z_scores_are_those_of_the_textbook() -> None:
    # by hand: mean 3.75, sum of squares 4.75, so sd = sqrt(4.75 / 3); mean 4, sd = sqrt(18)
    sd = math.sqrt(4.75 / 3)
    expected = [-1.75 / sd, 0.25 / sd, 0.25 / sd, 1.25 / sd, -math.sqrt(0.5), math.sqrt(0.5)]
    result = normalised([2, 4, 4, 5, 1, 7], [3, 3, 3, 3, 9, 9], "z-by-rater")
    assert result == pytest.approx(expected, abs=1e-12)


def test_a_rater_without_spread_has_no_z_scores() -> None:
    result = normalised([4, 4, 3, 1, 2], [0, 0, 1, 2, 2], "z-by-rater")
    assert np.isnan(result).tolist() == [True, True, True, False, False]


def test_an_unknown_normalisation_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="z-by-rater"):
        normalised([1.0], [0], "z")  # type: ignore[arg-type]


def test_a_corpus_without_raters_says_which_have_them() -> None:
    with pytest.raises(CorpusError, match=r"'starter' has no individual ratings; corpora that have: turblimp, "):
        pairbank.load_ratings("starter")


# Corpus -> ratings, raters: SOURCE.txt; blank cells (145 of EventsAdapt, 10 of each archive) are no ratings.
COUNTS = {
    "qfrblimp": (1_761 * 13, 13),
    "turblimp": (30 * (96 + 120), 30),
    "kauf-2024": (35_882 - 145, 658),
    "itacola": (2_918, 132),
    "escola": (9_507 * 3, 3),
}


@pytest.mark.ci
@pytest.mark.upstream
@pytest.mark.parametrize("name", COUNTS)
def test_every_rating_of_the_source_is_there(shared: Path, name: str) -> None:
    ratings = pairbank.load_ratings(name, data_dir=shared / "corpora")
    raters = ratings["rater"][:]
    assert (len(ratings), len(set(raters))) == COUNTS[name]
    assert sorted(set(raters)) == list(range(COUNTS[name][1]))
    facts = manifest_of(ratings)
    assert facts is not None
    assert (facts["kind"], facts["normalisation"], facts["n_ratings"]) == ("ratings", "none", len(ratings))


@pytest.mark.upstream
def test_items_have_the_means_of_their_ratings(shared: Path) -> None:
    items = pairbank.load_corpus("turblimp", data_dir=shared / "corpora", subset="survey").to_pandas()
    summary = rating_summary(pairbank.load_ratings("turblimp", data_dir=shared / "corpora").to_pandas())
    for side in ("good", "bad"):
        means = summary[summary["side"] == side].set_index("item_id")["mean"].loc[items["item_id"]]
        assert items[f"human_{side}"].to_numpy() == pytest.approx(means.to_numpy(), rel=1e-6)
    # each of the 30 raters saw one side of every pair
    assert set(summary["n"]) == {15}
    assert set(items["human_n"]) == {30}


@pytest.mark.upstream
def test_single_raters_and_their_majority_are_as_right_as_published(shared: Path) -> None:
    # SOURCE.txt of QFrBLiMP: individual .8695, majority .9608
    frame = pairbank.load_ratings("qfrblimp", data_dir=shared / "corpora").to_pandas()
    assert frame["value"].mean() == pytest.approx(0.8695, abs=5e-5)
    share = frame.groupby("item_id")["value"].mean()
    assert (share > 0.5).mean() == pytest.approx(0.9608, abs=5e-5)


@pytest.mark.upstream
def test_z_scores_are_over_all_that_a_rater_judged(shared: Path) -> None:
    whole = pairbank.load_ratings("kauf-2024", data_dir=shared / "corpora", normalisation="z-by-rater").to_pandas()
    part = pairbank.load_ratings(
        "kauf-2024", data_dir=shared / "corpora", normalisation="z-by-rater", subset="events-adapt"
    ).to_pandas()
    assert set(whole["scale"]) == {"plausibility7-z-by-rater"}
    same = whole[whole["item_id"].str.startswith("kauf-2024/events-adapt/")]
    assert part["value"].to_numpy() == pytest.approx(same["value"].to_numpy(), nan_ok=True)
    by_rater = whole.groupby("rater")["value"]
    spread = by_rater.std().dropna()
    assert spread.to_numpy() == pytest.approx(1)
