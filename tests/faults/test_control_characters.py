"""Control characters in names and texts: tables keep them, and nothing that is shown obeys them."""

import csv
import io
import logging
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import pairbank
from pairbank import cli
from pairbank.cli.display import console, progress
from pairbank.cli.display.console import show
from pairbank.cli.display.output import say
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored

ESC = "\x1b]0;gotcha\x07\x1b[31m"
NAME = f"mo{ESC}del[/x]\u202e"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture
def hostile(tmp_path: Path) -> list[Scored]:
    """Return tables in two languages, with controls in texts, labels and the model's name.

    Our readers take no such text: it comes from tables of others.
    """
    path, other = tmp_path / "own.csv", tmp_path / "zh.csv"
    lines = [f"The dog {k} barks.,The dog {k} bark.,agree,{6 - k / 9},2" for k in range(6)]
    path.write_text("\n".join(["good,bad,phenomenon,human_good,human_bad", *lines]))
    other.write_text("good,bad\n他睡觉了。,他睡觉着。\n", encoding="utf-8")
    tables = [pairbank.load_corpus(path), pairbank.load_corpus(other, language="zh")]
    tables = [items.map(_with_controls, new_fingerprint="x") for items in tables]
    return [pairbank.score(items, FakeScorer(name=NAME), methods=["direct"]) for items in tables]


def _with_controls(row: dict[str, str | None]) -> dict[str, str]:
    return {name: f"{row[name]}{ESC}" for name in ("target_good", "target_bad", "phenomenon")}


def test_a_report_shows_controls_and_its_table_keeps_texts_byte_for_byte(tmp_path: Path, hostile: list[Scored]) -> None:
    folder = pairbank.report(hostile, title=f"T{ESC}", analyses=["comparisons", "people"]).save(tmp_path / "report")
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert not CONTROLS.search(page)
    assert "mo[U+001B]]0;gotcha[U+0007][U+001B][31mdel" in page
    assert hostile[0].dataset["target_good"][0].count(ESC) == 1
    for path in folder.glob("*.csv"):
        heading = next(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
        assert not CONTROLS.search("".join(heading))


@pytest.mark.ci
def test_a_card_shows_controls_and_the_bank_is_whole(tmp_path: Path, hostile: list[Scored]) -> None:
    reports = {"mine": pairbank.report(hostile, title=f"T{ESC}")}
    bank = pairbank.write_bank(tmp_path / "bank", scored=hostile, reports=reports, command=f"pairbank {ESC}")
    assert not CONTROLS.search((bank / "README.md").read_text(encoding="utf-8"))
    pairbank.check_bank(bank)
    assert pairbank.read_scored(next(bank.glob("scores/own/*.parquet"))).model == NAME


def test_the_terminal_gets_no_orders_from_names(hostile: list[Scored], capsys: pytest.CaptureFixture[str]) -> None:
    console.say_report(pairbank.report(hostile))
    say(f"{NAME}: done")
    show(pd.DataFrame({f"a{ESC}[b]": [f"x{ESC}[/y]"]}))
    with console.status(f"building {NAME}"), progress.bars({}) as bar:
        bar(f"scoring {NAME}", NAME)(1, 1)
    said = capsys.readouterr()
    assert "gotcha" in said.out
    assert "[b]" in said.out
    assert not CONTROLS.search(said.out + said.err)


def test_a_bar_on_a_terminal_takes_no_name_for_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=shown, force_terminal=True, width=200))
    with console.status(f"building {NAME}"), progress.bars({}) as bar:
        bar("scoring", NAME)(1, 1)
    assert "mo[U+001B]]0;gotcha[U+0007][U+001B][31mdel[/x][U+202E]" in re.sub(r"\x1b\[[\d;]*m", "", shown.getvalue())


def test_log_lines_and_errors_give_the_terminal_no_orders(tmp_path: Path) -> None:
    line = cli._Plain("%(message)s").format(logging.makeLogRecord({"msg": "read %s", "args": (NAME,)}))
    assert not CONTROLS.search(line)
    argv = ["build", str(tmp_path / f"{ESC}[/x].csv")]
    result = CliRunner().invoke(cli.app, argv)
    assert isinstance(result.exception, pairbank.errors.PairbankError), result.exception
    assert not CONTROLS.search(result.output)
    assert sys.stderr is not None
