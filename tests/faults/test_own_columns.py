"""Columns of a user's own that have the name of one of ours neither end a run nor are lost."""

from pathlib import Path

import pytest

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.models.fake import FakeScorer

PAIRS = [
    ("The lamp hums.", "The lamp hum."),
    ("My uncle owns it.", "My uncle own it."),
    ("Two cups fall.", "Two cups falls."),
]


def file_with(folder: Path, column: str, *values: str) -> Path:
    lines = [f"{good},{bad},{value}" for (good, bad), value in zip(PAIRS, values, strict=True)]
    path = folder / "mine.csv"
    path.write_text("\n".join([f"good,bad,{column}", *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize("value", ["trial", "filler", "1", ""])
def test_a_column_called_label_is_kept_under_another_name(tmp_path: Path, value: str) -> None:
    items = pairbank.load_corpus(str(file_with(tmp_path, "label", value, "trial", "filler")))
    assert items["label_source"][:] == [value or None, "trial", "filler"]
    scored = pairbank.score(items, "fake:a", methods=["direct"])
    assert pairbank.report([scored]).accuracy.shape[0]


def test_a_table_that_was_scored_with_such_a_column_is_reported(tmp_path: Path) -> None:
    items = pairbank.load_corpus(str(file_with(tmp_path, "kind", "trial", "trial", "filler"))).rename_column(
        "kind", "label"
    )
    scored = pairbank.score(items, "fake:a", methods=["direct"])
    assert pairbank.report([scored]).accuracy.shape[0]


@pytest.mark.parametrize("column", ["direct_good", "direct_bad", "direct_delta", "direct_flags", "direct_good_n"])
def test_a_column_that_scores_are_written_to_is_refused_before_scoring(
    tmp_path: Path, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = pairbank.load_corpus(str(file_with(tmp_path, column, "1", "2", "3")))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("scored before the columns were looked at")

    monkeypatch.setattr(FakeScorer, "token_logprobs", never)
    model: Scorer = FakeScorer(name="a")
    with pytest.raises(ScoringError, match=rf"{column}, which direct writes its scores to: .*own_{column}"):
        pairbank.score(items, model, methods=["direct"])
