"""Your own file: two columns of sentences are enough."""

import re
from pathlib import Path

import pandas as pd
import pytest

import pairbank
from own_files import read, write_frame

PAIRS = [("The dogs bark.", "The dogs barks."), ("She saw him.", "She saw he.")]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_two_columns_are_read_as_better_and_worse(tmp_path: Path, suffix: str) -> None:
    items = pairbank.load_corpus(write_frame(tmp_path / f"my pairs{suffix}", pd.DataFrame(PAIRS, columns=["A", "B"])))
    assert list(zip(items["target_good"][:], items["target_bad"][:], strict=True)) == PAIRS
    turned = write_frame(tmp_path / f"my pairs{suffix}", pd.DataFrame([*PAIRS[::-1], PAIRS[0]], columns=["A", "B"]))
    one, two = items["item_id"][:]
    assert pairbank.load_corpus(turned)["item_id"][:] == [two, one, f"{one}-2"], "ids are of texts, not of rows"
    assert set(items["task"][:]) == {"sentence_pair"}


def test_named_columns_are_found_and_the_rest_is_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "note": ["x", "y"],
            "Bad": [bad for _, bad in PAIRS],
            "GOOD": [good for good, _ in PAIRS],
            "context": ["Look:", "Look:"],
            "human_good": [6.5, None],
            "phenomenon": ["agreement", "case"],
        }
    )
    items = pairbank.load_corpus(write_frame(tmp_path / "mine.csv", frame), language="en")
    assert items[0]["target_good"] == "The dogs bark."
    assert (items[0]["context_good"], items[0]["context_bad"]) == ("Look:", "Look:")
    assert items[0]["task"] == "continuation_pair"
    assert items["human_good"][:] == [6.5, None]
    assert items["human_scale"][:] == ["unstated", None]
    assert items["note"][:] == ["x", "y"]


def test_a_map_names_the_columns(tmp_path: Path) -> None:
    path = write_frame(tmp_path / "mine.csv", pd.DataFrame({"id": [1, 2], "u": ["b.", "d."], "g": ["a.", "c."]}))
    items = pairbank.load_corpus(path, columns={"target_good": "g", "target_bad": "u"}, language="de")
    assert items["target_good"][:] == ["a.", "c."]
    assert items["pair_id"][:] == ["1", "2"]
    assert set(items["language"][:]) == {"de"}


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = write_frame(tmp_path / "mine.csv", pd.DataFrame(PAIRS, columns=["good", "bad"]))
    assert pairbank.load_corpus(path)[0]["target_good"] == "The dogs bark."
    write_frame(path, pd.DataFrame([("The cats purr.", "The cats purrs.")], columns=["good", "bad"]))
    assert pairbank.load_corpus(path)["target_good"][:] == ["The cats purr."]


def test_text_is_kept_byte_for_byte_and_flagged_where_it_needs_care(tmp_path: Path) -> None:
    decomposed = "Cafe\u0301s open."
    frame = pd.DataFrame({"good": [" Two  spaces. ", "Same.", decomposed], "bad": ["B.", "Same.", "C."]})
    items = pairbank.load_corpus(write_frame(tmp_path / "mine.csv", frame))
    assert items["target_good"][:] == [" Two  spaces. ", "Same.", decomposed]
    assert items["flags"][:] == [["white_space_differs"], ["identical_sides"], ["not_nfc"]]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Der Hund schläft süß.", r"yet 2 of 2 rows have letters that English lacks \(ß, ä, ü\)"),
        ("他去学校。", r"yet 2 of 2 rows have letters that English lacks"),
        ("The dog “sleeps”.", r"the default; for another, --language TAG [^;]*$"),
    ],
)
def test_sentences_that_are_hardly_english_are_told_where_english_is_the_default(
    tmp_path: Path, sentence: str, said: str
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"good,bad\n{sentence} a,{sentence} b\n{sentence} c,{sentence} d\n", encoding="utf-8")
    assert re.search(said, read(path).said)
    assert "English lacks" not in read(path, language="de").said
