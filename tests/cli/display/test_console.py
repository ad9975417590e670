"""What commands say of themselves."""

import sys

import pandas as pd
import pytest

from pairbank.cli.display.console import _labelled, _say_text, command_line, say_work
from pairbank.scoring.api.model import ScoringStats


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["score", "my pairs.csv", "--out", "out/a.parquet"], "pairbank score 'my pairs.csv' --out out/a.parquet"),
        (["run", "demo", "--out", "/home/ann/banks/demo-bank"], "pairbank run demo --out demo-bank"),
        (["run", "demo", "--data-dir=../../ann/corpora/"], "pairbank run demo --data-dir=corpora"),
        (["report", "~/secret/a.parquet", "--out", "/"], "pairbank report a.parquet --out ."),
        (["publish", "bank", "org/name"], "pairbank publish bank org/name"),
    ],
)
def test_the_command_on_a_card_tells_no_folders_of_its_writer(
    typed: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pairbank", *typed])
    assert command_line() == told


def test_the_work_of_many_models_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    one = ScoringStats(n_sequence_tokens=300, n_computed_tokens=100, seconds=2.0)
    say_work({**{f"m{n}": one for n in range(20)}, "known": ScoringStats(), "uncounted": None})
    assert capsys.readouterr().err.splitlines() == ["22 models: 2,000 tokens computed by 20 of them in 40.0 s"]
    say_work({"m": one})
    assert capsys.readouterr().err.startswith(
        "m: 100 tokens computed for 300 asked (3.0x shared) in 2.0 s, 50 tokens/s"
    )


def test_a_terminal_shows_a_page_without_its_marks(capsys: pytest.CaptureFixture[str]) -> None:
    _say_text("**Inconclusive**: `meta` p &lt; .05\n- in 0 of 3\n\nNext.", {"meta": "Meta"})
    assert capsys.readouterr().out == "Inconclusive: Meta p < .05\n- in 0 of 3\n\nNext.\n"


def test_tables_in_a_terminal_have_the_labels_of_pages() -> None:
    labels = {"meta": "Meta", "human": "people"}
    long = _labelled(pd.DataFrame({"method": ["meta", "other"], "versus": ["human", "meta"], "n": [1, 2]}), labels)
    assert long.to_numpy().tolist() == [["Meta", "people", 1], ["other", "Meta", 2]]
    assert [*_labelled(pd.DataFrame({"model": ["meta"], "meta": [0.5]}), labels).columns] == ["model", "Meta"]
