"""What the schema refuses or flags of any corpus's text: numbers as sentences, sides that only look different."""

from pathlib import Path

import pytest

import pairbank
from pairbank.builders.schema.columns import IDENTICAL_SIDES, NOT_NFC, Item
from pairbank.builders.schema.validation import problems_of
from pairbank.errors import CorpusError


def pair(good: str, bad: str | None, *, context: str = "", task: str = "sentence_pair") -> Item:
    sides = {"target_good": good, "target_bad": bad, "context_good": context, "context_bad": context}
    return Item(item_id="x/1", corpus="x", subset="all", language="en", task=task, **sides)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["12", "6.5", "-3", "1,000", "2026-05-06", "12:30", "5%"])
def test_a_number_is_no_sentence(text: str, tmp_path: Path) -> None:
    assert [one.field for one in problems_of(pair(text, "The dogs barks."))] == ["target_good"]
    assert [one.field for one in problems_of(pair("The dogs bark.", text))] == ["target_bad"]
    assert not list(problems_of(pair(text, "5", context="Two and two is", task="continuation_pair")))
    assert not list(problems_of(pair("Route 66", "B2")))
    path = tmp_path / "mine.csv"
    path.write_text(f'good,bad\nThe dogs bark.,The dogs barks.\nShe saw him.,"{text}"\n', encoding="utf-8")
    with pytest.raises(CorpusError, match="is a number"):
        pairbank.load_corpus(path)


def test_sides_that_differ_in_normalisation_alone_are_identical(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("good,bad\nLe caf\u00e9.,Le cafe\u0301.\nLe caf\u00e9.,Le cafe.\n", encoding="utf-8")
    flags = pairbank.load_corpus(path, language="fr")["flags"]
    assert {IDENTICAL_SIDES, NOT_NFC} <= set(flags[0])
    assert IDENTICAL_SIDES not in flags[1]
