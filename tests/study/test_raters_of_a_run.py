"""Individual ratings, on their way from the files of a corpus through a run to the bank, and to a later report."""

from pathlib import Path

import pytest

import pairbank
from command_line import completed
from pairbank.cards.check import check_bank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.study.declaration import load_study
from study_runs import run_study

pytestmark = pytest.mark.upstream

STUDY = """
name = "judged"
title = "Raters and models"
methods = ["direct"]
analyses = [{analyses}]
corpora = [{{ name = "{corpus}", limit = 20 }}]
"""


@pytest.fixture
def corpora(shared: Path) -> Path:
    return shared / "corpora"


@pytest.mark.ci
@pytest.mark.parametrize("corpus", ["qfrblimp", "kauf-2024"])
def test_a_run_shows_raters_beside_models_and_its_bank_holds_them(tmp_path: Path, corpora: Path, corpus: str) -> None:
    path = tmp_path / "judged.toml"
    path.write_text(STUDY.format(corpus=corpus, analyses='"raters"'), encoding="utf-8")
    models = [FakeScorer(name=name) for name in ("one", "two")]
    bank, report = run_study(load_study(str(path)), models, tmp_path / "bank", data_dir=corpora)
    (section,) = [one for one in report.sections if one.id == "raters"]
    assert not section.reason
    facts = check_bank(bank)["ratings"][corpus]
    items = pairbank.load_corpus(corpus, data_dir=corpora, limit=20)
    assert facts["n_items"] == sum(
        value is not None and subset != "dtfit"
        for value, subset in zip(items["human_good"][:], items["subset"][:], strict=True)
    )


@pytest.mark.ci
def test_a_run_without_the_analysis_fills_the_bank_and_a_report_needs_no_files_then(
    tmp_path: Path, corpora: Path
) -> None:
    path = tmp_path / "judged.toml"
    path.write_text(STUDY.format(corpus="qfrblimp", analyses=""), encoding="utf-8")
    bank, _ = run_study(load_study(str(path)), [FakeScorer(name="one")], tmp_path / "bank", data_dir=corpora)
    scored = bank / "scores" / "qfrblimp" / "one.parquet"
    pages = []
    for number, more in enumerate(([], ["--data-dir", str(corpora)])):
        out = tmp_path / f"report-{number}"
        completed(["report", str(scored), "--analysis", "raters", "--out", str(out), *more])
        pages.append((out / "report.md").read_text(encoding="utf-8"))
    assert "all raters" in pages[0]
    assert "Ratings of qfrblimp: rater 12 (annotator_15) of 13 chose the better side in all 1,743 pairs" in pages[0]
    assert pages[0] == pages[1]


@pytest.mark.ci
def test_a_corpus_of_means_alone_says_so_in_a_run_and_in_a_report(tmp_path: Path, corpora: Path) -> None:
    path = tmp_path / "judged.toml"
    path.write_text(STUDY.format(corpus="li", analyses='"raters"').replace("20", "1"), encoding="utf-8")
    bank, report = run_study(load_study(str(path)), [FakeScorer(name="one")], tmp_path / "bank", data_dir=corpora)
    (section,) = [one for one in report.sections if one.id == "raters"]
    assert "li publishes mean ratings without individual ones" in section.answer
    said = ["report", str(bank / "scores" / "li" / "one.parquet"), "--analysis", "raters", "--out", str(tmp_path / "r")]
    completed(said)
    assert section.answer.split("`")[0] in (tmp_path / "r" / "report.md").read_text(encoding="utf-8")
