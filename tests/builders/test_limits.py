"""How much of a corpus a limit takes: the same of each subset, and of either label."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import datasets
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.builders.load import drawn_at_random, first_of_each_paradigm, first_of_each_subset
from pairbank.cli import app
from pairbank.errors import CorpusError


def rows(**columns: Sequence[object]) -> datasets.Dataset:
    n_rows = len(columns["subset"])
    return datasets.Dataset.from_dict({"language": ["en"] * n_rows, "paradigm": [None] * n_rows} | columns)


def test_a_subset_of_one_paradigm_has_as_many_as_one_of_many() -> None:
    """Mahowald's LI pairs have a hundred paradigms, Sprouse's have one."""
    many = [f"construction {nth // 4}" for nth in range(40)]
    items = rows(subset=["mahowald"] * 40 + ["sprouse"] * 30, paradigm=[*many, *["all"] * 30])
    assert Counter(first_of_each_paradigm(items, 2)["subset"][:]) == {"mahowald": 20, "sprouse": 2}
    taken = first_of_each_subset(items, 6)
    assert Counter(taken["subset"][:]) == {"mahowald": 6, "sprouse": 6}
    assert taken["paradigm"][:6] == [f"construction {nth}" for nth in range(6)]  # of all in turn
    assert Counter(first_of_each_subset(items, 35)["subset"][:]) == {"mahowald": 35, "sprouse": 30}


def test_items_without_paradigms_count_by_their_phenomenon() -> None:
    """MultiBLiMP and QFrBLiMP name phenomena and no paradigms: a limit takes of each."""
    items = rows(subset=["all"] * 12, phenomenon=["SV-#", "SV-P", None] * 4)
    assert Counter(first_of_each_paradigm(items, 1)["phenomenon"][:]) == {"SV-#": 1, "SV-P": 1, None: 1}
    assert first_of_each_subset(items, 4)["phenomenon"][:] == ["SV-#", "SV-P", None, "SV-#"]
    named = items.remove_columns("paradigm").add_column("paradigm", ["one"] * 12)
    assert first_of_each_paradigm(named, 2)["phenomenon"][:] == ["SV-#", "SV-P"]


@pytest.mark.parametrize("take", [first_of_each_paradigm, first_of_each_subset])
def test_labelled_sentences_keep_both_labels(take: object) -> None:
    assert callable(take)
    items = rows(subset=["train"] * 9, label=[1, 1, 1, 1, 0, 1, 1, 0, 0])
    assert take(items, 2)["label"][:] == [1, 1, 0, 0]
    with pytest.raises(CorpusError, match="limit is 0"):
        take(items, 0)


def test_a_sample_is_exactly_as_many_items_the_same_ones_each_time_in_their_order() -> None:
    items = rows(subset=["a", "b"] * 50, number=list(range(100)))
    drawn = drawn_at_random(items, 20)["number"][:]
    assert len(set(drawn)) == 20
    assert drawn == sorted(drawn) == drawn_at_random(items, 20)["number"][:]
    assert drawn != list(range(20))
    assert {*drawn_at_random(items, 10)["number"][:]} < {*drawn}, "a smaller sample is a part of a larger one"
    assert drawn_at_random(items, 500)["number"][:] == list(range(100))
    with pytest.raises(CorpusError, match="sample is 0"):
        drawn_at_random(items, 0)


def test_score_says_how_many_items_before_scoring(tmp_path: Path) -> None:
    path = tmp_path / "mine.tab"
    lines = [f"Good {n}.\tBad {n}.\t{kind}" for n in range(30) for kind in ("npi", "island")]
    path.write_text("\n".join(["good\tbad\tphenomenon", *lines]) + "\n", encoding="utf-8")
    runner = CliRunner()
    asked = ["score", str(path), "--model", "fake:a", "-m", "direct", "--out", str(tmp_path / "o.parquet")]
    limited = runner.invoke(app, [*asked, "--limit", "5"], catch_exceptions=False)
    assert "10 items to score: at most 5 of each of 2 phenomena" in " ".join(limited.output.split())
    sampled = runner.invoke(app, [*asked, "--sample", "7"], catch_exceptions=False)
    assert "7 items to score" in sampled.output
    assert len(pairbank.read_scored(tmp_path / "o.parquet")) == 7
