"""The study atlas: every corpus of minimal pairs is in it, and a run ends with one report of all its languages."""

import json
from pathlib import Path

import pytest

from pairbank.builders.corpora.registry import CORPORA
from pairbank.scoring.models.fake import FakeScorer
from pairbank.study.declaration import limited, load_study, with_corpora
from study_runs import run_study


def test_every_language_with_choices_is_in_the_atlas() -> None:
    study = load_study("atlas")
    named = {choice.name for choice in study.corpora}
    languages = {tag for name in named for tag in CORPORA[name].languages}
    pairs = [one for one in CORPORA.values() if {"sentence_pair", "continuation_pair", "concept_pair"} & set(one.tasks)]
    assert {tag for one in pairs for tag in one.languages} <= languages
    assert [choice.name for choice in study.corpora if not choice.optional] == ["starter"]


@pytest.mark.ci
def test_a_run_ends_with_one_report_by_language(tmp_path: Path) -> None:
    study = limited(with_corpora(load_study("atlas"), ["starter"]), 2)
    folder, report = run_study(study, [FakeScorer(name="one"), FakeScorer(name="two")], tmp_path / "bank")
    (view,) = report.sections
    assert len(view.tables["languages"]) == 18
    assert (view.tables["languages"]["models"] == "2 of 2").all()
    assert "Prompts exist for 18 of them" in view.answer
    page = (folder / "reports" / "atlas" / "report.md").read_text(encoding="utf-8")
    assert page.index("Which languages, and what of each?") < page.index("## Notes")
    assert json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["scores"]["starter"]
