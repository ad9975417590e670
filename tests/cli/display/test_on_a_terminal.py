"""Commands on a terminal of 80 columns, with names and texts as long as real ones."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from pairbank.cli import app
from pairbank.scoring.models.fake import FakeScorer

NAMES = ["an-organisation/Some-Long-Model-Name-7B-Instruct-v0.3", "bert-base-multilingual-cased", "google-t5--t5-small"]


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    scorers = itertools.cycle(FakeScorer(name=name) for name in NAMES)
    with mock.patch("pairbank.scoring.models.load.load_model", side_effect=lambda *_, **__: next(scorers)):
        yield


def shown(*arguments: str | Path) -> list[str]:
    done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.ci
def test_a_report_of_three_models_fits_with_no_interval_broken(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.parquet" for i in range(len(NAMES))]
    for path in paths:
        shown("score", "starter", "--limit", "1", "--out", path, "-q")
    lines = shown("report", *paths, "--wrong", "3", "-q")
    headings = ("Accuracy (", "Agreement with")  # end in a model's name, which the terminal folds
    assert max(cell_len(line) for line in lines if not line.startswith(headings)) <= 80
    text = "\n".join(lines)
    assert all(name in text for name in NAMES)
    assert "exclude/d" not in text
    assert all(line.count("[") == line.count("]") for line in lines)
    assert "\n  n: " not in text  # a table, not row by row


@pytest.mark.parametrize("command", ["corpora", "methods", "models"])
def test_what_is_listed_fits(command: str) -> None:
    assert max(map(cell_len, shown(command))) <= 80


def test_what_a_run_would_do_fits(tmp_path: Path) -> None:
    lines = shown("run", "demo", "--dry-run", "--limit", "1", "--out", tmp_path / "b")
    table = lines[: lines.index("")]
    assert max(map(cell_len, table)) <= 80
    assert len(table) >= 2
