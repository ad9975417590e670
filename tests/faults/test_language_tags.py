"""Where a language tag enters, it is a standard one: separators, prompts and corpora by language all go by it."""

from pathlib import Path

import pytest

import pairbank
from made_items import made_item
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.schema.language_tags import joined, language_tag, separator
from pairbank.builders.schema.validation import problems_of
from pairbank.errors import UnknownNameError
from pairbank.scoring.prompts.prompt import primary


@pytest.mark.parametrize(
    "tag", ["zh_CN", "zh_Hans", "cmn", "zho", "ja_JP", "jpn", "zh-Hant-TW", "yue", "wuu", "th", "my_MM"]
)
def test_no_space_stands_between_context_and_target_in_a_language_without_spaces(tag: str) -> None:
    assert separator(tag) == separator(language_tag(tag)) == ""


@pytest.mark.parametrize("tag", ["en", "en_US", "eng", "ja-Latn", "zh-Latn", "ko", "vi", "x-mine"])
def test_a_space_stands_between_them_in_the_others(tag: str) -> None:
    assert separator(language_tag(tag)) == " "


@pytest.mark.parametrize("tag", ["en_US", "eng", "EN-gb"])
def test_prompts_in_english_apply_to_english_under_any_of_its_tags(tag: str) -> None:
    assert primary(language_tag(tag)) == "en"


def test_every_corpus_that_ships_has_standard_tags() -> None:
    tags = {tag for corpus in CORPORA.values() for tag in corpus.languages}
    assert {language_tag(tag) for tag in tags} == tags


def test_a_builder_that_gives_another_form_is_told_the_standard_one() -> None:
    item = made_item("a/b/1", "A", "B", language="zh_CN")
    assert [str(problem) for problem in problems_of(item)] == ["a/b/1: language is 'zh_CN', expected zh-CN"]


def test_a_corpus_that_ships_is_chosen_by_any_form_of_its_language() -> None:
    assert set(pairbank.load_corpus("starter", subset="concepts", language="deu")["language"][:]) == {"de"}
    with pytest.raises(UnknownNameError, match=r"no language tag 'german'; did you mean 'de' \(German\)"):
        pairbank.load_corpus("starter", language="german")


def test_a_language_that_a_subset_lacks_is_named_with_those_that_it_has() -> None:
    with pytest.raises(UnknownNameError, match=r"no language of starter, subset 'plausibility', 'de'. Known: en"):
        pairbank.load_corpus("starter", subset="plausibility", language="de")


def test_items_of_ones_own_in_any_tag_are_joined_without_a_space_and_asked_in_english(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    text = "context,good,bad,language\n他去,学校。,校学。,zh_CN\n,He goes home.,He go home.,eng\n"
    path.write_text(text, encoding="utf-8")
    items = pairbank.load_corpus(path)
    assert joined(items[0]["context_good"], items[0]["target_good"], items[0]["language"]) == "他去学校。"
    scored = pairbank.score(items, "fake:fake", methods=["meta_question_simple"])
    assert [delta is not None for delta in scored.dataset["meta_question_simple_delta"]] == [False, True]
