"""The study atlas: every corpus of minimal pairs is in it. Its report is golden."""

from pairbank.builders.corpora.registry import CORPORA
from pairbank.study.declaration import load_study


def test_every_language_with_choices_is_in_the_atlas() -> None:
    study = load_study("atlas")
    named = {choice.name for choice in study.corpora}
    languages = {tag for name in named for tag in CORPORA[name].languages}
    pairs = [one for one in CORPORA.values() if {"sentence_pair", "continuation_pair", "concept_pair"} & set(one.tasks)]
    assert {tag for one in pairs for tag in one.languages} <= languages
    assert [choice.name for choice in study.corpora if not choice.optional] == ["starter"]
