"""What people read about the corpora: the page in docs/ is in step, and the command line says what is cached."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import completed
from pairbank.builders import CORPORA
from pairbank.builders.catalogue import cached, catalogue_markdown
from pairbank.cli import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "corpora.md"


def test_the_page_of_corpora_is_in_step_with_the_builders() -> None:
    remedy = "docs/corpora.md is out of step; run: pairbank corpora --markdown > docs/corpora.md"
    assert PAGE.read_text(encoding="utf-8") == catalogue_markdown(), remedy
    assert CliRunner().invoke(app, ["corpora", "--markdown"]).output == catalogue_markdown()


def test_a_page_does_not_depend_on_what_is_cached(private_cache: Path) -> None:
    before = catalogue_markdown()
    (private_cache / "downloads" / "p18").mkdir(parents=True)
    (private_cache / "downloads" / "p18" / "corpus.csv").touch()
    assert cached(CORPORA["p18"]) == "yes"
    assert catalogue_markdown() == before


def test_cached_says_whether_a_corpus_can_be_built_offline(private_cache: Path) -> None:
    assert {name: cached(CORPORA[name]) for name in ("starter", "ewok", "dtfit")} == {
        "starter": "in the package",
        "ewok": "your copy",
        "dtfit": "no",
    }
    folder = private_cache / "downloads" / "dtfit"
    folder.mkdir(parents=True)
    (folder / "corpus.csv").touch()
    assert cached(CORPORA["dtfit"]) == "in part"
    (folder / "clean_DTFit_human_dat.csv").touch()
    assert cached(CORPORA["dtfit"]) == "yes"


def test_the_list_of_corpora_shows_whether_each_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = completed(["corpora"])
    assert "cached" in shown.output
    assert "your copy" in shown.output
