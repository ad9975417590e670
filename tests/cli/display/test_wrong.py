"""The items that a model got wrong: the right ones, worst first, readable in 80 columns."""

from pathlib import Path

import pytest
import typer
from rich.cells import cell_len

import pairbank
from pairbank.cli.display.wrong import missed, wrong_lines
from pairbank.scoring.scored import Scored
from site_bank import LikesOne


@pytest.fixture(params=["starter", "zh"])
def scored(request: pytest.FixtureRequest, tmp_path: Path) -> Scored:
    if request.param == "starter":
        items = pairbank.load_corpus("starter", subset="contexts")
    else:
        path = tmp_path / "mine.csv"
        long = "他昨天和他的朋友们一起去了学校然后又去了图书馆最后才回家吃饭并且看了很久很久的电视节目"
        path.write_text("good,bad\n" + "".join(f"{long}{i}。,{long}了{i}。\n" for i in range(30)), encoding="utf-8")
        items = pairbank.load_corpus(path, language="zh")
    return pairbank.score(items, "fake:an-organisation/a-model-with-a-long-name", methods=["direct"])


def test_they_are_those_below_zero_the_lowest_first(scored: Scored) -> None:
    result = missed(scored, 5)
    deltas = sorted(d for d in scored["direct_delta"] if d < 0)
    assert [one["delta"] for one in result.items] == deltas[:5]
    assert (result.n_wrong, result.n_scored) == (len(deltas), len(scored))
    by_id = dict(zip(scored["item_id"], scored["direct_delta"], strict=True))
    assert all(by_id[one["item_id"]] == one["delta"] for one in result.items)
    assert len(missed(scored, 10_000).items) == len(deltas)


def test_they_are_shown_with_their_texts_in_80_columns(scored: Scored) -> None:
    result = missed(scored, 10)
    shown = list(wrong_lines(result, width=80))
    assert max(map(cell_len, shown)) <= 80
    text = "".join("".join(shown).split())
    for item in result.items:
        assert "".join(str(item["target_bad"]).split()) in text
        assert item["item_id"] in "\n".join(shown)


def test_ties_are_counted_apart(tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("good,bad\nA b.,A b.\nC d.,C e.\n")
    items = pairbank.load_corpus(tmp_path / "same.csv")
    result = missed(pairbank.score(items, "fake:fake", methods=["direct"]), 3)
    assert result.n_tied == 1
    assert ", 1 tied" in "\n".join(wrong_lines(result, width=200))


def test_answers_by_place_are_said_above_the_list() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", language="en", limit=1)
    methods = ["direct", "meta_question_simple"]
    table = pairbank.score(items, LikesOne(name="always-first"), methods=methods)
    shown = " ".join("\n".join(wrong_lines(missed(table, 2, "meta_question_simple"), width=80)).split())
    assert "Position bias: the model always picks the first option (100% first); accuracy 0.50 with orders" in shown
    assert "first option" not in "\n".join(wrong_lines(missed(table, 2, "direct"), width=80))
    usual = pairbank.score(items, "fake:fake", methods=methods)
    assert "first option" not in "\n".join(wrong_lines(missed(usual, 2, "meta_question_simple"), width=80))


def test_a_method_that_was_not_scored_is_named() -> None:
    table = pairbank.score(pairbank.load_corpus("starter", limit=1), "fake:fake", methods=["direct"])
    with pytest.raises(typer.BadParameter, match="'slor': starter has direct"):
        missed(table, 3, "slor")
