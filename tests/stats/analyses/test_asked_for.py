"""Asking for analyses: mistakes are told before anything is computed, tables that do not fit make a note."""

from pathlib import Path
from typing import Never

import pytest
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score
from pairbank.cli import app
from pairbank.errors import BankError, PairbankError, UnknownNameError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.study.declaration import CorpusChoice, Study
from study_runs import run_study


def command(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["report", *arguments])
    if isinstance(done.exception, PairbankError):
        return 1, str(done.exception)
    return done.exit_code, done.output


@pytest.mark.ci
def test_an_analysis_that_the_tables_do_not_allow_is_a_note_and_the_others_are_there(
    scored_by: Score, tmp_path: Path
) -> None:
    path = scored_by("fake-1").save(tmp_path / "scored.parquet")
    code, shown = command(
        str(path), "--analysis", "people", "--analysis", "comparisons", "--out", str(tmp_path / "report")
    )
    assert code == 0
    assert "`people` could not be computed: none of ['starter'] has 3 scored pairs that people rated" in shown
    page = (tmp_path / "report" / "report.md").read_text()
    assert "## People\n\n`people` could not be computed: " in page
    assert "## Differences between models and between methods" in page
    assert (tmp_path / "report" / "comparisons_comparisons.csv").is_file()


@pytest.mark.ci
def test_a_study_goes_on_where_an_analysis_does_not_apply(tmp_path: Path) -> None:
    study = Study(
        name="mine",
        title="Mine",
        corpora=(CorpusChoice(name="starter", limit=1),),
        methods=("direct",),
        analyses=("people", "paradigms"),
        n_resamples=20,
    )
    folder, made = run_study(study, [FakeScorer()], tmp_path / "bank")
    assert [bool(section.reason) for section in made.sections] == [True, False]
    assert "`people` could not be computed" in (folder / "reports" / "mine" / "report.md").read_text()


def test_a_misspelt_analysis_or_option_is_an_error_with_the_nearest_name(scored_by: Score, tmp_path: Path) -> None:
    path = str(scored_by("fake-1").save(tmp_path / "scored.parquet"))
    code, shown = command(path, "--analysis", "peple")
    assert (code, "no analysis 'peple'; did you mean 'people'" in shown) == (1, True)
    code, shown = command(path, "--analysis", "introspection", "--set", "introspection.feature=1")
    assert (code, "no option of introspection 'feature'; did you mean 'features'" in shown) == (1, True)
    code, shown = command(path, "--analysis", "introspection", "--set", "introspection.features=1")
    assert (code, "introspection.features cannot be given as text" in shown) == (1, True)


@pytest.mark.parametrize(
    ("setting", "message"), [("people", "expected ANALYSIS.option=value"), ("people.x=1", "no --analysis people")]
)
def test_a_setting_that_says_nothing_is_refused(setting: str, message: str, tmp_path: Path) -> None:
    code, shown = command(str(tmp_path / "none.parquet"), "--set", setting)
    assert code == 2
    assert message in " ".join(shown.replace("│", " ").split())


def test_options_of_a_study_are_checked_before_anything_is_scored(tmp_path: Path) -> None:
    study = Study(
        name="mine",
        title="Mine",
        corpora=(CorpusChoice(name="starter", limit=1),),
        methods=("direct",),
        analyses=("people",),
        options={"people": {"colour": 1}},
    )

    def never(_task: str, _model: str) -> Never:
        raise AssertionError("scoring began")

    with pytest.raises(UnknownNameError, match="no option of people 'colour'"):
        run_study(study, [FakeScorer()], tmp_path / "bank", progress=never)


def test_an_error_that_is_not_about_the_tables_is_not_hidden(scored_by: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_tables: object, **_settings: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("pairbank.stats.analyses.paradigms.paradigms", broken)
    with pytest.raises(KeyError, match="a bug"):
        pairbank.report([scored_by("fake-1")], analyses=["paradigms"])
    with pytest.raises(BankError, match="scored twice"):
        pairbank.report([scored_by("fake-1"), scored_by("fake-1")], analyses=["paradigms"])
