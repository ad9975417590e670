"""The table of faults names tests that exist; and the small faults that no other file tests."""

import re
from pathlib import Path

import pytest

from own_files import read
from pairbank.errors import CorpusError

ROOT = Path(__file__).resolve().parents[2]


def test_every_fault_of_the_table_names_a_test_that_exists() -> None:
    table = (ROOT / "tests/faults/README.md").read_text(encoding="utf-8")
    named = re.findall(r"\| (tests/\S+)::(\w+) \|", table)
    assert len(named) == table.count("\n| ") - 2
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in (ROOT / path).read_text("utf-8")]
    assert not missing


@pytest.mark.parametrize("text", ["\u200b", " \u200b\u2060", "\u00ad", "\u2028\u200d"])
def test_a_sentence_of_which_nothing_is_seen_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"good,bad\nA dog.,A dogs.\n{text},B.\n", encoding="utf-8")
    with pytest.raises(CorpusError):
        read(path, marks="keep")
