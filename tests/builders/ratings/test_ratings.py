"""Ratings of individual raters: what items' human judgments are made of, and the raters of five published corpora."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairbank
from corpus_files import known_manifest
from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.declared import facts_of
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.load import located_files
from pairbank.builders.ratings import (
    FORCED_CHOICE,
    Rating,
    constant_raters,
    judged,
    normalised,
    without_constant_raters,
)
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


def _constant(choices: np.ndarray, scale: str) -> list[int]:
    """Return the constant raters among choices of shape (raters, items)."""
    n_raters, n_items = choices.shape
    units, raters = [*range(n_items)] * n_raters, np.repeat(np.arange(n_raters), n_items).tolist()
    values = choices.ravel().tolist()
    return [rater.rater for rater in constant_raters("mine", units, raters, values, [scale] * len(values))]


@pytest.mark.parametrize(("scale", "answer"), [(FORCED_CHOICE, 1), (FORCED_CHOICE, 0), ("binary", 0), ("binary", 1)])
def test_who_gives_one_answer_whatever_the_others_say_is_a_constant_rater(scale: str, answer: int) -> None:
    rng = np.random.default_rng(1)
    people = (rng.random((6, 300)) < np.where(rng.random(300) < 0.8, 0.9, 0.2)).astype(float)
    people[4] = answer
    people[4, :3] = 1 - answer  # 99 % are the same
    assert _constant(people, scale) == [4]
    people[4, :30] = 1 - answer  # 90 %
    assert _constant(people, scale) == []
    likert = np.rint(1 + 6 * rng.random((5, 40)))
    likert[2] = 4
    assert _constant(likert, "likert7") == [2]
    assert _constant(likert[:, :19], "likert7") == []  # too few judgments


def test_a_rater_who_is_nearly_always_right_is_no_constant_rater() -> None:
    """Where everybody is right, one answer in 98 % of choices says nothing; nor where only the hard items differ."""
    rng = np.random.default_rng(2)
    assert _constant((rng.random((8, 500)) < 0.98).astype(float), FORCED_CHOICE) == []
    excluded = 0
    for _ in range(200):
        others = rng.beta(5.4, 0.6, 300)  # right in .90, few items in less than half
        expert = 1 - (1 - others) * 0.4  # right in .96, better than the others on every item
        excluded += 6 in _constant(
            (rng.random((7, 300)) < np.vstack([*[others] * 6, expert])).astype(float), FORCED_CHOICE
        )
    assert excluded / 200 <= 0.01


def test_constant_raters_are_in_no_mean_of_a_table_of_ones_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    chosen = (rng.random((200, 4)) < 0.6).astype(int)
    lines = [f"Birds sing {n}.,Birds sings {n}.,{','.join(map(str, row))},1" for n, row in enumerate(chosen)]
    table = tmp_path / "mine.csv"
    table.write_text("\n".join(["good,bad,anna,ben,cleo,dan,key", *lines]), encoding="utf-8")
    (tmp_path / "mine.map.toml").write_text(
        '[columns]\ntarget_good = "good"\ntarget_bad = "bad"\n[ratings]\nscale = "forced-choice"\n'
        'columns = ["anna", "ben", "cleo", "dan", "key"]\n',
        encoding="utf-8",
    )
    items = pairbank.load_corpus(table)
    assert items["human_good"][:] == pytest.approx(chosen.mean(axis=1), abs=1e-6)
    assert set(items["human_n"]) == {4}
    facts = known_manifest(items)
    said = "rater 4 of mine chose the better side in 200 of 200 judgments, also where most of the others did not"
    assert f"{said} (key), and is left out" in facts["facts"]["reading"]
    assert facts["facts"]["raters"] == f"{said} (key), and is left out"
    ratings = pairbank.load_ratings(table)
    assert set(ratings["rater"]) == {0, 1, 2, 3}
    assert known_manifest(ratings)["left_out"] == [said]


def test_a_table_of_ratings_is_freed_of_constant_raters_corpus_by_corpus() -> None:
    rng = np.random.default_rng(4)
    frames = []
    for corpus, constant in (("one", 1), ("two", 5)):
        chosen = (rng.random((6, 50)) < 0.5).astype(float)
        chosen[constant] = 1.0
        columns = {"item_id": [f"{corpus}/all/{n}" for n in range(50)] * 6, "side": "good", "scale": "binary"}
        frames.append(pd.DataFrame(columns | {"rater": np.repeat(range(6), 50), "value": chosen.ravel()}))
    kept, left_out = without_constant_raters(pd.concat(frames, ignore_index=True))
    assert [(rater.corpus, rater.rater) for rater in left_out] == [("one", 1), ("two", 5)]
    assert len(kept) == 500
    assert str(left_out[0]).startswith("rater 1 of one answered 1 in 50 of 50 judgments")


def test_an_unknown_normalisation_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="z-by-rater"):
        normalised([1.0], [0], "z")  # type: ignore[arg-type]


def test_a_corpus_without_raters_says_which_have_them() -> None:
    with pytest.raises(CorpusError, match=r"'starter' has no individual ratings; corpora that have: turblimp, "):
        pairbank.load_ratings("starter")


# Corpus -> ratings, raters: SOURCE.txt; blank cells (145 of EventsAdapt, 10 of each archive) are no ratings.
COUNTS = {
    "qfrblimp": (1_761 * 12, 12),
    "turblimp": (30 * (96 + 120), 30),
    "kauf-2024": (35_882 - 145, 658),
    "itacola": (2_918 - 22, 131),
    "escola": (9_507 * 3, 3),
}


@pytest.mark.ci
@pytest.mark.upstream
@pytest.mark.parametrize("name", COUNTS)
def test_every_rating_of_the_source_is_there(shared: Path, name: str) -> None:
    ratings = pairbank.load_ratings(name, data_dir=shared / "corpora")
    raters = ratings["rater"][:]
    assert (len(ratings), len(set(raters))) == COUNTS[name]
    facts = known_manifest(ratings)
    left_out = [int(said.split()[1]) for said in facts["left_out"]]
    assert sorted({*raters, *left_out}) == list(range(COUNTS[name][1] + len(left_out)))
    assert all(f"rater {number} " in facts_of(name).corpus.raters for number in left_out)
    assert bool(left_out) == bool(facts_of(name).corpus.raters)
    assert (facts["kind"], facts["normalisation"], facts["n_ratings"]) == ("ratings", "none", len(ratings))


@pytest.mark.upstream
def test_items_have_the_means_of_their_ratings(shared: Path) -> None:
    items = pairbank.load_corpus("turblimp", data_dir=shared / "corpora", subset="survey").to_pandas()
    ratings = pairbank.load_ratings("turblimp", data_dir=shared / "corpora").to_pandas()
    summary = ratings.groupby(["item_id", "side"])["value"].agg(["mean", "count"]).reset_index()
    for side in ("good", "bad"):
        means = summary[summary["side"] == side].set_index("item_id")["mean"].loc[items["item_id"]]
        assert items[f"human_{side}"].to_numpy() == pytest.approx(means.to_numpy(), rel=1e-6)
    # each of the 30 raters saw one side of every pair
    assert set(summary["count"]) == {15}
    assert set(items["human_n"]) == {30}


@pytest.mark.upstream
def test_single_raters_and_their_majority_are_as_right_as_published(shared: Path) -> None:
    # SOURCE.txt of QFrBLiMP: individual .8695, majority .9608, with the answer key among the 13 raters
    corpus = CORPORA["qfrblimp"]
    rated = [*corpus.rated(located_files(corpus, shared / "corpora"), BuildOptions())] if corpus.rated else []
    shares = np.array([np.mean([rating.value for rating in result.ratings]) for result in rated])
    assert shares.mean() == pytest.approx(0.8695, abs=5e-5)
    assert (shares > 0.5).mean() == pytest.approx(0.9608, abs=5e-5)


@pytest.mark.upstream
def test_the_answer_key_among_the_raters_of_qfrblimp_is_in_no_mean(shared: Path) -> None:
    """Rater 12 chose the better side in all 1,743 pairs; the next best did in .94."""
    items = pairbank.load_corpus("qfrblimp", data_dir=shared / "corpora").to_pandas()
    differ = items[items["target_good"] != items["target_bad"]].set_index("item_id")
    assert set(items["human_n"]) == {12}
    ratings = pairbank.load_ratings("qfrblimp", data_dir=shared / "corpora").to_pandas()
    assert set(ratings["rater"]) == {*range(12)}
    chosen = ratings[ratings["item_id"].isin(differ.index)]
    assert chosen["value"].mean() == pytest.approx(0.8608, abs=5e-5)  # .8715 with it
    assert differ["human_good"].mean() == pytest.approx(0.8608, abs=5e-5)
    votes = chosen.groupby("item_id")["value"].mean()
    assert ((votes > 0.5) + (votes == 0.5) / 2).mean() == pytest.approx(0.9472, abs=5e-5)  # .9610


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
