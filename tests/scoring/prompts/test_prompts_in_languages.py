"""Prompts in eighteen languages: each item is asked in its own, in both orders, and never in another."""

import re
from pathlib import Path
from typing import Any

import pytest

from pairbank.errors import PairbankError
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.prompt import PromptError
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.prompts.toml import parse_prompts

OURS = ("better_sentence", "acceptable_sentence")
SCRIPTS = {
    "ar": r"[\u0600-\u06ff]",
    "fa": r"[\u0600-\u06ff]",
    "he": r"[\u0590-\u05ff]",
    "el": r"[\u0370-\u03ff]",
    "ru": r"[\u0400-\u04ff]",
    "uk": r"[\u0400-\u04ff]",
    "ja": r"[\u3040-\u30ff]",
    "ko": r"[\uac00-\ud7a3]",
    "zh": r"[\u4e00-\u9fff]",
}
LANGUAGES = tuple(sorted(prompts()["xcomps_meta"].languages))


def item(language: str) -> dict[str, Any]:
    """A pair whose sides are marks that no template has."""
    row = {"item_id": "toy/1", "task": "sentence_pair", "language": language, "context_good": "", "context_bad": ""}
    return row | {"target_good": "⟨G⟩", "target_bad": "⟨B⟩"}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_of_xcomps_is_asked_in_its_own_words(name: str, language: str) -> None:
    prompt = prompts()[name]
    assert prompt.status == "ours"
    row, method = item(f"{language}-XX"), Prompted(prompt)
    assert method.applies_to(row)
    asked = method.contexts(row, FakeScorer())
    assert len(set(asked)) == len(asked) == len(prompt.presentations)
    for text in asked:
        assert not re.search(r"[{}]", text)
        assert text.count("⟨") == (2 if name == "better_sentence" else 1)
        words = re.sub(r"⟨.⟩|[12]|\s", "", text)
        assert "1" in text
        assert "2" in text
        if language in SCRIPTS:
            assert re.search(SCRIPTS[language], words)
            assert not re.search(r"[A-Za-z]", words)
    assert not [text for text in asked for other in LANGUAGES if other != language and prompt.presentations[0].template[
        other].split("{")[0] in text and len(prompt.presentations[0].template[other].split("{")[0]) > 8]  # fmt: skip


def test_english_is_the_papers_own_wording() -> None:
    theirs, ours = prompts()["acceptability_judgment_i"], prompts()["acceptable_sentence"]
    for a, b in zip(theirs.presentations, ours.presentations, strict=True):
        assert a.template["*"] == b.template["en"]
    for a, b in zip(
        prompts()["meta_question_simple"].presentations, prompts()["better_sentence"].presentations, strict=True
    ):
        assert a.template["*"] == b.template["en"]


def test_an_item_in_a_language_without_a_wording_is_not_asked() -> None:
    for name in OURS:
        method = Prompted(prompts()[name])
        assert not method.applies_to(item("sw"))
    assert not Prompted(prompts()["meta_question_simple"]).applies_to(item("de"))


def test_answers_by_language_must_be_those_of_the_templates() -> None:
    text = """
    [[prompts]]
    id = "mine"
    design = "yes_no_both_assignments"
    paper = "none"
    tasks = ["sentence_pair"]
    languages = ["de", "fr"]
    options = ["1", "2"]
    answers = { de = ["gut", "schlecht"] }
    template = { de = "{sentence} 1 {one} 2 {two}", fr = "{sentence} 1 {one} 2 {two}" }
    """
    with pytest.raises(PromptError, match=r"answers and templates differ in \['fr'\]"):
        parse_prompts(text, Path("x.toml"))
    whole = text.replace('"schlecht"] }', '"schlecht"], fr = ["bonne", "mauvaise"] }')
    [prompt] = parse_prompts(whole, Path("x.toml"))
    assert prompt.presentations[1].template == {"de": "{good} 1 schlecht 2 gut", "fr": "{good} 1 mauvaise 2 bonne"}
    with pytest.raises(PairbankError, match="expected the meanings of the two options"):
        parse_prompts(whole.replace('"bonne", ', ""), Path("x.toml"))
