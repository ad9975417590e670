"""The worked examples run from start to end: with a model of random numbers, and without a network."""

import re
import runpy
from pathlib import Path

import pytest

import pairbank

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(name: str, *arguments: str) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]([*arguments])


@pytest.mark.ci
def test_ones_own_pairs_become_a_report_and_a_bank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("your_own_pairs", "--model", "fake", "--out", str(tmp_path / "mine"))
    shown = capsys.readouterr().out
    assert shown.count("meta_question_simple") >= 2
    wrong = int(re.findall(r"the worse sentence in (\d) of 8 pairs", shown)[0])
    contradicted = int(re.findall(r"In (\d) pairs the model, asked, contradicts", shown)[0])
    assert len(re.findall(r"^ +-?\d+\.\d\d +[A-Z]", shown, flags=re.MULTILINE)) == wrong > 0
    assert len(re.findall(r"^ +-?\d+\.\d\d +-?\d+\.\d\d  [A-Z]", shown, flags=re.MULTILINE)) == contradicted > 0
    assert (tmp_path / "mine" / "report" / "report.md").is_file()
    assert pairbank.check_bank(tmp_path / "mine" / "bank") is not None


def test_ten_ways_of_asking_differ(capsys: pytest.CaptureFixture[str]) -> None:
    run("ask_in_many_ways", "--model", "fake", "--limit", "1")
    shown = capsys.readouterr().out
    rows = [line for line in shown.splitlines() if re.match(r"[\w@]+ +0\.\d\d +\d\.\d\d +\d\.\d\d +\d\.\d\d$", line)]
    assert len(rows) == 10
    changed, total = map(int, re.findall(r"(\d+) of (\d+) items", shown)[0])
    assert 0 < changed <= total == 28


def test_models_are_compared_from_a_bank_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    methods = ["direct", "meta_question_simple"]
    scored = [pairbank.score(items, f"fake:{name}", methods=methods) for name in ("fake-a", "fake-b")]
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored)
    run("compare_models", str(bank))
    shown = capsys.readouterr().out
    # r of the answers of a with the probabilities of a and of b, from the tables that went into the bank
    a, b = (table.to_pandas().set_index("item_id") for table in scored)
    own, other = (a["meta_question_simple_delta"].corr(x["direct_delta"]) for x in (a, b))
    assert f"fake_a: r with itself {own:.2f}, with others {other:.2f} on average" in shown


def test_reading_a_bank_needs_no_pairbank() -> None:
    text = (EXAMPLES / "compare_models.py").read_text(encoding="utf-8")
    assert not re.search(r"^\s*(import|from) pairbank", text, flags=re.MULTILINE)
