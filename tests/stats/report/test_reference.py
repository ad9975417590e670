"""Scores of the strings that another tool made, under an id of their own, are what prompts are compared with."""

import copy
from typing import Any

import pandas as pd
import pytest

import pairbank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored

ELSEWHERE = "logprob_minicons"
ANALYSES = ["agreement_summary", "comparisons", "prompting", "introspection"]


def scored_elsewhere(own: Scored) -> Scored:
    """Return a table whose `direct` scores have the id of another tool's."""

    def renamed(name: str) -> str:
        return name.replace("direct", ELSEWHERE, 1) if name.startswith("direct_") else name

    signature: dict[str, Any] = copy.deepcopy(dict(own.signature))
    methods = {}
    for name, definition in signature["methods"].items():
        if name == "direct":
            name = definition["layout"]["method"] = ELSEWHERE  # noqa: PLW2901
            definition |= {"sha256": "0" * 64, "columns": [renamed(column) for column in definition["columns"]]}
        methods[name] = definition
    signature["methods"] = methods
    signature["n_by_flag"] = {
        ELSEWHERE if name == "direct" else name: n for name, n in own.signature["n_by_flag"].items()
    }
    columns = {name: renamed(name) for name in own.dataset.column_names if renamed(name) != name}
    return Scored.of(own.dataset.rename_columns(columns), signature)


def tables_of(tables: list[Scored]) -> dict[str, pd.DataFrame]:
    made = pairbank.report(tables, analyses=ANALYSES, n_resamples=20)
    frames = {"summary": made.summary} | {
        f"{section.id}/{name}": table for section in made.sections for name, table in section.tables.items()
    }
    return {name: frame.astype(object).replace(ELSEWHERE, "direct") for name, frame in frames.items()}


@pytest.mark.ci
def test_reports_are_the_same_but_for_the_name() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs")
    own = [
        pairbank.score(items, FakeScorer(name=name), methods=["direct", "meta_question_simple"])
        for name in ("ant", "bee", "cow")
    ]
    expected, result = tables_of(own), tables_of([scored_elsewhere(table) for table in own])
    assert expected.keys() == result.keys()
    for name, frame in expected.items():
        pd.testing.assert_frame_equal(result[name], frame, check_dtype=False, obj=name)
    assert {"summary", "agreement_summary/mean_r"} < expected.keys()


def test_models_with_unlike_references_are_not_compared_as_one() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=3)
    own, other = (
        pairbank.score(items, FakeScorer(name=name), methods=["direct", "meta_question_simple"])
        for name in ("ant", "bee")
    )
    made = pairbank.report([own, scored_elsewhere(other)], analyses=["introspection"], n_resamples=20)
    rows = made.summary[made.summary["metric"] == "pearson"]
    assert dict(zip(rows["model"], rows["versus"], strict=False)) == {"ant": "direct", "bee": ELSEWHERE}
    (shares,) = (table for name, table in made.sections[0].tables.items() if "method" in table and "share" in table)
    assert set(shares.loc[shares["model"] == "bee", "method"]) == {"meta_question_simple"}
