"""What can be known before scoring is said before scoring."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import completed
from pairbank.errors import BankError, ModelLoadError, PairbankError, StudyError, UnknownNameError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.prompt import PromptError
from pairbank.study.declaration import CorpusChoice, limited, load_study
from pairbank.study.model_list import ModelChoice, choice_of
from pairbank.study.preflight import planned
from study_runs import SMALL, run_study, small_study

MODELS = (choice_of("fake:a"), choice_of("fake:b"), choice_of("fake:c"))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"name": "my/study"}, StudyError, "study 'my/study' cannot name the folder of its report"),
        ({"name": ".."}, StudyError, "cannot name the folder of its report"),
        ({"corpora": (SMALL, SMALL)}, StudyError, "mine: corpus 'starter' is listed twice"),
        ({"corpora": (CorpusChoice(name="blmip"),)}, UnknownNameError, "did you mean 'blimp'"),
        (
            {"corpora": (CorpusChoice(name="starter", subset="plausibility", language="de"),)},
            UnknownNameError,
            "no language of starter, subset 'plausibility', 'de'",
        ),
        ({"methods": ()}, StudyError, "mine: no methods; expected at least one"),
        ({"methods": ("driect",)}, UnknownNameError, "no method 'driect'; did you mean 'direct'"),
        ({"prompts": ("none.toml",)}, PromptError, "none.toml"),
        ({"analyses": ("peple",)}, UnknownNameError, "did you mean 'people'"),
        ({"options": {"comparisons": {"magrin": 1.0}}}, UnknownNameError, "did you mean 'margin'"),
        ({"models": ({"name": "a", "family": "A"},)}, BankError, "missing generation, size_billions, type"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_before_a_model_is_loaded(
    change: dict[str, Any], error: type[PairbankError], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        run_study(small_study(**change), [_never_loaded()], tmp_path / "bank")
    assert not (tmp_path / "bank").exists()


def _never_loaded() -> ModelChoice:
    """Return a model that fails with another message than those expected, were it loaded."""
    return choice_of("nobody/has-such-a-model")


def test_a_folder_that_can_be_no_bank_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    for place, message in (
        (tmp_path / "file", "is not a bank .no folder."),
        (tmp_path / "file" / "below", "file is no folder, so that no bank can be written there"),
        (tmp_path / "other", "it holds thesis.tex"),
        (tmp_path / "pipe", "is not a bank .no folder."),
        (Path("/dev/null"), "is not a bank .no folder."),
    ):
        with pytest.raises(PairbankError, match=message):
            run_study(small_study(), [_never_loaded()], place)


def test_a_folder_of_somebody_else_is_refused_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda _path, _mode: False)  # root may write everywhere
    with pytest.raises(StudyError, match="is not yours to write to; choose another folder"):
        run_study(small_study(), [_never_loaded()], tmp_path / "bank")


def test_models_that_cannot_be_loaded_are_named_all_at_once_as_far_as_their_names_show_it(tmp_path: Path) -> None:
    models = [choice_of("./none"), choice_of("fake:a"), choice_of("fake:b", {"batch_tokens": 0})]
    with pytest.raises(StudyError, match=r"2 of 3 models cannot be loaded.*no folder ./none.*batch_tokens 0 is out of"):
        run_study(small_study(), models, tmp_path / "bank")


def test_two_models_of_one_name_are_refused_before_either_is_loaded(tmp_path: Path) -> None:
    for run in ("run1", "run2"):
        (tmp_path / run / "final").mkdir(parents=True)
    models = [choice_of(str(tmp_path / run / "final")) for run in ("run1", "run2")]
    with pytest.raises(StudyError, match="two models would be called 'final'; give one of them another"):
        run_study(small_study(), models, tmp_path / "bank")


def test_distances_without_the_package_for_them_are_refused_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if "sentence" in name else result(name, *more)
    )
    with pytest.raises(ModelLoadError, match=r"mine asks for distances .* minimalness = \"edits\""):
        run_study(small_study(minimalness="default"), [_never_loaded()], tmp_path / "bank")


@pytest.mark.ci
def test_a_bank_whose_models_were_scored_otherwise_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    run_study(small_study(), [FakeScorer(name=name) for name in "abc"], tmp_path / "bank")
    with pytest.raises(StudyError, match=r"'starter': the bank has a, scored with direct, and this run scores with "):
        run_study(small_study(methods=("direct", "mean_logprob")), [_never_loaded()], tmp_path / "bank")
    larger = replace(SMALL, limit=2)
    with pytest.raises(StudyError, match=r"the bank has a, scored on other items \(\d+\) than those of this run"):
        run_study(small_study(corpora=(larger,)), [_never_loaded()], tmp_path / "bank")
    assert planned(small_study(), MODELS, tmp_path / "bank").stored == {"starter": ["a", "b", "c"]}


def test_texts_that_may_not_be_published_and_columns_to_probe_by_are_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "private.csv").write_text("good,bad\nA b.,B a.\n", encoding="utf-8")
    study = small_study(corpora=(CorpusChoice(name=str(tmp_path / "private.csv")), SMALL), probe=("negative_type",))
    plan = planned(study, MODELS, tmp_path / "bank")
    (warning,) = plan.warnings
    assert "texts of private may not be published (licence: unknown" in warning
    assert plan.notes == ("Not probed: private, which has no column negative_type to probe by.",)


@pytest.mark.ci
def test_a_dry_run_prints_what_would_be_done_and_does_nothing(tmp_path: Path) -> None:
    def run(*more: str) -> str:
        arguments = ["run", "demo", "--limit", "1", "--out", str(tmp_path / "bank"), *more]
        done = completed(arguments)
        return " ".join(done.output.split())

    asked = ("--dry-run", "--model", "fake:a", "--model", "org/b@v1")
    before = run(*asked)
    assert not (tmp_path / "bank").exists()
    study = limited(load_study("demo"), 1)
    n_items = sum(len(corpus.items) for corpus in planned(study, MODELS, tmp_path / "bank").corpora)
    assert f"starter {n_items} " in before
    assert " a no " in before
    assert " b@v1 no " in before
    assert f"{n_items} items of 1 corpora, 2 models, 3 methods" in before
    assert "dry run: nothing was scored or written" in before
    run("--model", "fake:a", "--model", "fake:c")
    after = run(*asked)
    assert " a yes " in after
    assert " b@v1 no " in after
    assert "which has c too: the report is of all" in after
