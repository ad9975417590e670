"""Methods that do not fit the items: an error, or said."""

import pytest

import pairbank
from pairbank.errors import ScoringError, UnknownNameError
from pairbank.scoring.applicability import USUAL, chosen_methods


def test_a_method_that_applies_to_no_item_is_an_error_that_names_those_that_do() -> None:
    german = pairbank.load_corpus([("Die Hunde bellen.", "Die Hunde bellt.")], language="de")
    with pytest.raises(
        ScoringError,
        match=r"'meta_question_simple' applies to no item: .* in en, and these are sentence_pair in de; what applies: "
        r"direct, better_sentence",
    ):
        chosen_methods(german, ["direct", "meta_question_simple"])
    english = pairbank.load_corpus("starter", subset="plausibility")
    with pytest.raises(ScoringError, match="'acceptability_judgment_i' applies to no item"):
        chosen_methods(english, ["acceptability_judgment_i"])
    with pytest.raises(UnknownNameError):
        chosen_methods(english, ["no_such_prompt"])


def test_a_method_for_a_part_of_the_items_is_stated() -> None:
    mixed = pairbank.load_corpus("starter", limit=1)
    result = chosen_methods(mixed, ["direct", "meta_question_simple"])
    assert result.methods == ("direct", "meta_question_simple")
    [said] = result.notes
    assert "meta_question_simple applies to 36 of 114 items" in said


@pytest.mark.parametrize(
    ("language", "methods", "said"),
    [
        ("en", USUAL, ""),
        ("en-GB", USUAL, ""),
        ("de", ("direct", "better_sentence", "acceptable_sentence"), "asked about in its own language"),
        ("zh", ("direct", "better_sentence", "acceptable_sentence"), "asked about in its own language"),
        ("fi", ("direct",), "no prompt for such items ships with pairbank"),
    ],
)
def test_the_usual_methods_are_those_of_the_items_language(language: str, methods: tuple[str, ...], said: str) -> None:
    result = chosen_methods(pairbank.load_corpus([("A b.", "A c.")], language=language), None)
    assert result.methods == methods
    assert said in " ".join(result.notes)
