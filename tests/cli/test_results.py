"""`run` and `report` on the command line: what their last lines say, and banks as folders."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pairbank.cli import app

STUDY = """
title = "Two models"
methods = ["direct", "meta_question_simple"]
[[corpora]]
name = "starter"
subset = "{subset}"
limit = 1
where = {{ language = ["{language}"] }}
"""


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})


def study(folder: Path, *, language: str, subset: str) -> str:
    path = folder / f"{language}.toml"
    path.write_text(STUDY.format(language=language, subset=subset), encoding="utf-8")
    return str(path)


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A bank of two models with comparisons, and what the run printed."""
    tmp_path = tmp_path_factory.mktemp("run")
    out = tmp_path / "bank"
    models = ["--model", "fake:one", "--model", "fake:two"]
    english = study(tmp_path, language="en", subset="minimal-pairs")
    done = invoked("run", english, *models, "--analysis", "comparisons", "--out", str(out))
    assert done.exit_code == 0, done.output
    return out, done.output


@pytest.mark.ci
def test_a_run_ends_with_models_side_by_side_its_answer_and_all_that_the_bank_has(bank: tuple[Path, str]) -> None:
    folder, shown = bank
    said = words(shown)
    assert "Models and corpora (95% intervals) model corpus n Direct MetaQuestionSimple one" in said
    assert said.index("Models and corpora") < said.index("Direct log-probabilities favour the better side in")
    assert "items of starter, scored by one, two." in said
    assert f"pairbank report {folder} --analysis comparisons --out report" in said
    assert f"pairbank site {folder} --out site" in said
    page = (folder / "reports" / "en" / "report.md").read_text(encoding="utf-8")
    assert "## Differences between models and between methods" in page


@pytest.mark.ci
def test_report_reads_the_tables_of_a_bank_and_of_a_folder(bank: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = bank
    tables = tmp_path / "tables"
    tables.mkdir()
    for path in folder.glob("scores/*/*.parquet"):
        shutil.copy(path, tables)
    of_bank = invoked("report", str(folder), "--analysis", "comparisons", "--out", str(tmp_path / "made"))
    assert of_bank.exit_code == 0, of_bank.output
    printed, _, last = of_bank.output.partition(f"\n{tmp_path}")
    assert words(last).startswith("/made/report.html, and the same as report.md; tables beside it,")
    page = (tmp_path / "made" / "report.md").read_text(encoding="utf-8")
    assert "## Differences between models and between methods" in page
    of_folder = invoked("report", str(tables), "--analysis", "comparisons")
    assert of_folder.exit_code == 0, of_folder.output
    assert words(of_folder.output) == words(printed)
    (tmp_path / "nothing").mkdir()
    refused = invoked("report", str(tmp_path / "nothing"))
    assert refused.exit_code == 1
    assert "no bank (it has no manifest.json) and no folder of scored tables" in str(refused.exception)


def test_a_method_that_applies_to_no_item_is_told_before_and_after(tmp_path: Path) -> None:
    turkish = study(tmp_path, language="tr", subset="concepts")
    given = ["run", turkish, "--model", "fake:one", "--out", str(tmp_path / "bank")]
    dry = invoked(*given, "--dry-run")
    assert dry.exit_code == 0, dry.output
    said = words(dry.output)
    assert "1 of 2" in said
    assert "not asked of starter, to none of whose items they apply: meta_question_simple" in said
    assert "note: starter is not asked by meta_question_simple: meta_question_simple applies to no item of it" in said
    done = invoked(*given)
    assert "No item of starter (tr) can be scored with MetaQuestionSimple." in words(done.output)
    page = (tmp_path / "bank" / "reports" / "tr" / "report.md").read_text(encoding="utf-8")
    assert "- No item of starter (tr) can be scored with MetaQuestionSimple." in page
    as_json = json.loads(invoked(*given, "--dry-run", "--json", "--quiet").stdout)
    assert as_json["methods_of"] == {"starter": ["direct"]}
