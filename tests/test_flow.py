"""The whole way on the command line, and what `import pairbank` costs."""

import sys
import tomllib
from pathlib import Path
from unittest import mock

import pytest

import pairbank
import pairbank.builders
from command_line import printed_by, run
from pairbank.scoring.models.fake import FakeScorer


@pytest.fixture
def fake_model() -> object:
    with mock.patch("pairbank.scoring.models.load.load_model", return_value=FakeScorer(name="fake-1")) as loader:
        yield loader


def test_importing_pairbank_loads_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "datasets", "numpy", "pandas", "rich", "pairbank.cli.display.tables")
    code = f"import sys, pairbank, pairbank.cli; print([name for name in {heavy} if name in sys.modules])"
    assert printed_by([sys.executable, "-c", code]).strip() == "[]"


@pytest.mark.ci
@pytest.mark.usefixtures("fake_model")
def test_run_makes_a_bank_and_says_what_to_try_next(tmp_path: Path) -> None:
    out = tmp_path / "bank"
    shown = run("run", "demo", "--out", str(out), "--limit", "1")
    assert "Accuracy (95% intervals)" in shown
    assert f"load_dataset('{out}', 'starter_scored', split='fake_1')" in shown
    report = (out / "reports" / "demo" / "report.md").read_text()
    assert "Limited by the user to 1 item a paradigm." in report
    assert {p.name for p in (out / "reports" / "demo").iterdir()} == {
        *("report.md", "report.html", "appendix", "figures", "summary.csv", "accuracy.csv", "agreement.csv"),
        *("overview_accuracies.csv", "phenomena_accuracies.csv"),
    }


@pytest.mark.usefixtures("fake_model")
def test_ones_own_sentences_go_from_csv_to_bank(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("Satz A,Satz B\nA b.,B a.\nC d.,D c.\nE f.,F e.\nG h.,H g.\n")
    scored = tmp_path / "scored.parquet"
    shown = run("score", str(tmp_path / "mine.csv"), "--out", str(scored))
    assert "4 items with direct, meta_question_simple, acceptability_judgment_i" in shown
    shown = run("report", str(scored), "--out", str(tmp_path / "report"))
    assert "subset" not in shown
    assert (tmp_path / "report" / "report.md").is_file()
    run("bank", str(scored), "--out", str(tmp_path / "bank"))
    assert (tmp_path / "bank" / "README.md").is_file()
    columns = ("--column", "target_good=Satz B", "--column", "target_bad=Satz A")
    run("build", tmp_path / "mine.csv", "--out", tmp_path / "items.parquet", *columns)
    items = pairbank.load_corpus(tmp_path / "items.parquet")
    assert items["target_good"][:] == ["B a.", "D c.", "F e.", "H g."]


def test_corpora_lists_every_corpus() -> None:
    shown = run("corpora")
    for name in pairbank.builders.CORPORA:
        assert name in shown


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert pairbank.__version__ == project["version"]
    citation = (Path(__file__).parent.parent / "CITATION.cff").read_text()
    assert f"version: {project['version']}\n" in citation
