"""Reading times beside words: numbers that are shifted are found and named, and times of regions are joined."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pairbank.errors import ScoringError
from pairbank.scoring.texts import Text
from pairbank.scoring.word_files import OTHER_WORD, joined, numbers_words, read_texts

STORIES = {
    "1": ["If", "you", "were", "to", "journey", "north", ",", "you", "would", "come", "to", "a", "valley", "."],
    "2": ["The", "baker", "who", "had", "seen", "nobody", "sold", "the", "last", "loaf", "."],
    "3": ["Nobody", "in", "the", "village", "believed", "what", "the", "boy", "said", "."],
}


def story_words() -> pd.DataFrame:
    """Return what `words` returns of the stories, with surprisal that grows through them."""
    rows = [
        {
            "model": model,
            "text_id": text,
            "word_number": 1 + n,
            "word": word,
            "surprisal_bits": 1.0 * n,
            "flags": "",
        }
        for model in ("a", "b")
        for text, words in STORIES.items()
        for n, word in enumerate(words)
    ]
    return pd.DataFrame(rows)


def story_times(first: int = 1, *, with_word: bool = True) -> pd.DataFrame:
    """Return reading times in the layout of the Natural Stories corpus: one row per participant and word."""
    rows = [
        {"WorkerId": reader, "item": text, "zone": str(first + n), "word": word, "RT": str(300 + n)}
        for reader in ("r1", "r2")
        for text, words in STORIES.items()
        for n, word in enumerate(words)
    ]
    return pd.DataFrame(rows).drop(columns=[] if with_word else "word")


BY: dict[str, Any] = {"by": ("item", "zone"), "path": Path("rt.csv")}


@pytest.mark.parametrize("with_word", [True, False])
@pytest.mark.parametrize(("first", "right"), [(0, r"zone\+1"), (2, "zone-1")])
def test_numbers_that_are_shifted_by_one_are_named_with_what_to_type(first: int, right: str, with_word: bool) -> None:
    times = story_times(first, with_word=with_word)
    with pytest.raises(ScoringError, match=rf"rt.csv, row \d+: word .* 100% with {right}; type --by item,{right}"):
        joined(story_words(), times, **BY)
    result = joined(story_words(), times, by=("item", right.replace("\\", "")), path=Path("rt.csv"))
    assert (result["surprisal_bits"] == result["RT"].astype(int) - 300).all()


def test_a_shift_in_words_that_all_have_numbers_is_found_by_the_words() -> None:
    """Every number exists, as in the Natural Stories corpus before 2025: only the words show the shift."""
    times = story_times()
    times["word"] = times.groupby(["WorkerId", "item"])["word"].shift(1).fillna("If")
    with pytest.raises(ScoringError, match=r"Numbers are shifted by \+1: \d+% of the words agree"):
        joined(story_words(), times, **BY)


def test_one_text_whose_numbers_are_shifted_is_named() -> None:
    times = story_times()
    times["zone"] = times["zone"].astype(int) + (times["item"] == times["item"].iloc[-1])
    with pytest.raises(
        ScoringError, match=r"row \d+: the numbers of text '\w+' are shifted by \+1; correct column 'zone'"
    ):
        joined(story_words(), times.astype(str), **BY)


def test_a_few_other_words_are_flagged_and_other_texts_refused(caplog: pytest.LogCaptureFixture) -> None:
    times = story_times()
    times.loc[3, "word"] = "travel"
    with caplog.at_level(logging.WARNING):
        result = joined(story_words(), times, **BY)
    assert "row 3: word 4 of text '1' is 'travel', and 'to' in the texts; 1 of 70 rows differ" in caplog.text
    assert result.loc[result["flags"] == OTHER_WORD, ["zone", "WorkerId"]].drop_duplicates().to_numpy().tolist() == [
        ["4", "r1"]
    ]
    with pytest.raises(ScoringError, match="Expected the words of the same texts in the same order"):
        joined(story_words(), times.assign(word=[f"w{n}" for n in range(len(times))]), **BY)


def test_case_and_punctuation_are_no_difference() -> None:
    times = story_times().assign(word=lambda d: d["word"].str.upper().str.replace("Y", "Y”"))
    assert not joined(story_words(), times, **BY)["flags"].any()


def test_a_text_whose_first_word_has_no_row_keeps_the_numbers_of_its_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By position, each word of text 2 would get the surprisal of the one after it."""
    rows = story_times().query("WorkerId == 'r1'")
    rows[(rows["item"] != "2") | (rows["zone"] != "1")].to_csv(tmp_path / "words.csv", index=False)
    assert numbers_words(tmp_path / "words.csv", "zone")
    assert not numbers_words(tmp_path / "words.csv", "word")
    with caplog.at_level(logging.WARNING):
        texts: list[Text] = read_texts(tmp_path / "words.csv", word="word", text_id="item", number="zone")
    assert texts[1].numbers == tuple(range(2, 12))
    assert "by zone, 1 of 3 texts lack words (text 2: 1)" in caplog.text
