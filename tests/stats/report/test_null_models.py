"""Models with random weights stand apart: in a section of their own, and in no range or count of models."""

from dataclasses import replace

import pytest

import pairbank
from pairbank.scoring.api.model import ModelInfo
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored

METHODS = ["direct", "meta_question_simple"]
MODELS = ["ant", "bee", "cat"]


class _Random(FakeScorer):
    """A fake model of random weights."""

    @property
    def info(self) -> ModelInfo:
        return replace(super().info, weights="random:0")


@pytest.fixture(scope="module")
def tables() -> list[Scored]:
    """Three models and two nulls on sentence pairs."""
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=3)
    scorers = [*(FakeScorer(name=name) for name in MODELS), _Random(name="random-x"), _Random(name="random-y")]
    return [pairbank.score(items, scorer, methods=METHODS) for scorer in scorers]


@pytest.mark.ci
def test_nulls_have_rows_of_their_own_and_change_no_other_number(tables: list[Scored]) -> None:
    analyses = ["grammaticality", "comparisons", "paradigms"]
    alone = pairbank.report(tables[:3], analyses=analyses)
    beside = pairbank.report(tables, analyses=analyses)
    page = beside.markdown()
    assert beside.overview.answer == alone.overview.answer
    own = {one.id: one for one in beside.sections}
    for section in alone.sections:
        if section.id != "grammaticality":
            assert own[section.id].text == section.text
            assert own[section.id].answer == section.answer
    nulls = own["null_models"].tables["null_models"]
    assert sorted(set(nulls["model"])) == ["random-x", "random-y"]
    assert len(nulls) == 2 * len(METHODS)
    assert (nulls["models"] == 3).all()
    assert "2 models with random weights: accuracy" in page
    assert set(beside.summary["model"]) - set(alone.summary["model"]) == {"random-x", "random-y"}
    assert "random-x" not in beside.markdown().split("## Null models")[0]


def test_the_predictions_are_compared_with_random_weights(tables: list[Scored]) -> None:
    (section, _) = pairbank.report(tables, analyses=["grammaticality"]).sections
    assert "Word counts alone (unigram null) give" in section.answer
    assert "Random weights (2 models) give" in section.answer
    null = section.tables["null"]
    assert set(null["model"]) == {"unigram null", "random-x", "random-y"}
    sides = null[null["metric"] == "pearson_sides"].set_index("model")["value"]
    alone = pairbank.report(tables[3:4], analyses=["grammaticality"]).sections[0].tables["correlation"]
    assert sides["random-x"] == alone.query("group_by == 'all' and method == 'direct'")["value"].iloc[0]
    assert "random-x" not in set(section.tables["correlation"]["model"])


def test_nulls_alone_are_reported_as_any_model(tables: list[Scored]) -> None:
    report = pairbank.report(tables[3:])
    assert set(report.summary["model"]) == {"random-x", "random-y"}
    assert not report.sections
    assert "random-x" in report.markdown()
