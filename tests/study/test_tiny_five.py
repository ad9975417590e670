"""Every shipped study with five tiny random models of five families: one added later, one more that fails, killed once.

The models have different tokenizers: GPT-2, Qwen with a chat template, T5, BERT and, added later, Llama. A sixth cannot
be loaded. In CI the study `demo` runs; all of them, each killed in the middle and continued, with
`python -m pytest -m slow tests/study/test_tiny_five.py`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.study.declaration import load_study, study_names
from study_runs import changes_of_earlier_rows, hashes
from tiny_bidirectional_models import masked_model, saved, saved_as

FIRST, ADDED = ("gpt2", "qwen2", "bert", "t5"), "llama"
CORPORA = {
    "demo": ("starter:plausibility",),
    "demo-full": ("starter",),
    "ewok-plausibility": ("starter:contexts",),
    "xcomps": ("starter:concepts",),
    "grammaticality": ("scamp", "cola", "li", "sling", "zhoblimp"),
    "direct-vs-prompted": ("blimp", "starter:minimal-pairs"),
    "ivanova-2024": ("starter:contexts",),
    "atlas": ("starter", "jblimp", "qfrblimp"),
}
"""In place of the study's own, where those cannot be had offline or are long."""
LIMITS = {"demo": 1, "hu-levy-2023-mandarin": 3, "introspection-2": 20, "hu-levy-2023": 3, "ivanova-2024": 3}
"""Items per paradigm: one where a study has many paradigms, more where its corpora have one each."""
MOST_SECONDS = 3_600
"""Until a run is killed."""
KILLED_AT = "loading model Tiny bert"
"""What is told when two of the models are done."""
UNABLE = {"acceptability": 9, "ewok-plausibility": 1, "ivanova-2024": 1, "hu-levy-2023-mandarin": 2, "syntaxgym": 1}
"""On how many corpora BERT and T5 fail: their tokenizers, trained on a few sentences, have no tokens for the options of
a rating or for Chinese ones, and the surprisal of a region needs a model that reads from left to right."""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a list of four models and one that cannot be loaded, and one of a fifth, smaller than the others."""
    root = tmp_path_factory.mktemp("five")
    folders = {name: saved_as(name, root / f"tiny-{name}") for name in ("gpt2", "qwen2", "t5", ADDED)}
    folders["bert"] = saved(*masked_model("bert", n_positions=2_000), root / "tiny-bert")
    folders["broken"] = root / "tiny-broken"
    folders["broken"].mkdir()
    (folders["broken"] / "config.json").write_text("{}", encoding="utf-8")
    paths = {"first": root / "first.toml", "added": root / "added.toml"}
    for path, names in zip(paths.values(), (("broken", *FIRST), (ADDED,)), strict=True):
        path.write_text("\n".join(_entry(name, folders[name]) for name in names), encoding="utf-8")
    return paths


def _entry(name: str, folder: Path) -> str:
    """Return a model with features that no other has; the one that is added is the smallest, so that it comes first."""
    size = (ADDED, *FIRST, "broken").index(name) + 1
    return (
        f'[[models]]\nid = "{folder}"\nname = "Tiny {name}"\nfamily = "{name}"\ngeneration = "1"\n'
        f'size_billions = {size}e-3\ntype = "{"instruct" if name == "qwen2" else "base"}"\n'
    )


def _arguments(study: str, models: Path, bank: Path, shared: Path | None) -> list[str]:
    arguments = ["run", study, "--models", str(models), "--limit", str(LIMITS.get(study, 1)), "--out", str(bank)]
    arguments += [part for corpus in CORPORA.get(study, ()) for part in ("--corpus", corpus)]
    arguments += ["--minimalness", "default"] if study == "grammaticality" else []  # its embedders are on the Hub
    return arguments + (["--data-dir", str(shared / "corpora")] if shared else [])


def _check(study: str, bank: Path, names: tuple[str, ...]) -> str:
    """Make sure that a bank is whole, and that its report is of these models and has all its sections."""
    pairbank.check_bank(bank)
    folder = bank / "reports" / study
    summary = pd.read_csv(folder / "summary.csv")
    scored = {f"Tiny {name}" for name in names} - ({"Tiny bert", "Tiny t5"} if study in UNABLE else set())
    for corpus, part in summary.groupby("corpus"):
        assert set(part["model"]) - {"human"} == scored, corpus
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert "could not be computed" not in page or study in ("grammaticality", "syntaxgym", "xcomps")
    for section in load_study(study).analyses:
        assert list(folder.glob(f"{section}*.csv")) or f"`{section}` could not be computed" in page
    return page


def _run(study: str, models: Path, bank: Path, shared: Path | None) -> tuple[int, str]:
    done = CliRunner().invoke(app, _arguments(study, models, bank, shared), catch_exceptions=False)
    return done.exit_code, done.output


def _run_first(study: str, lists: dict[str, Path], bank: Path, shared: Path | None) -> str:
    """Run four models and one that fails; make sure that the report names it, and those that a study is not for."""
    code, output = _run(study, lists["first"], bank, shared)
    assert code == 1, output
    page = _check(study, bank, FIRST)
    unable = ["Tiny bert", "Tiny t5"] if study in UNABLE else []
    for name in unable:
        assert page.count(f"Failed: {name} was not scored on ") == UNABLE[study]
    assert page.count("Failed: Tiny broken was not loaded: ") == 1
    assert page.count("Failed:") == 1 + len(unable) * UNABLE.get(study, 0)
    return output


def _run_added(study: str, lists: dict[str, Path], bank: Path, shared: Path | None) -> None:
    """Add the fifth model; make sure that every earlier row is as it was, byte for byte."""
    before = Path(shutil.copytree(bank, bank.with_name("before")))
    code, output = _run(study, lists["added"], bank, shared)
    assert code == 0, output
    _check(study, bank, (ADDED, *FIRST))
    assert changes_of_earlier_rows(before, bank, study) == []
    assert len(hashes(bank)) > len(hashes(before))


@pytest.mark.ci
def test_a_study_runs_with_five_families_one_of_them_added_later_and_one_that_fails(
    lists: dict[str, Path], tmp_path: Path
) -> None:
    _run_first("demo", lists, tmp_path / "bank", None)
    _run_added("demo", lists, tmp_path / "bank", None)


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.parametrize("study", sorted({*study_names()} - {"published"}))  # which runs no model
def test_a_study_that_is_killed_in_the_middle_continues_to_its_end_and_takes_a_fifth_model(
    study: str, lists: dict[str, Path], shared: Path, tmp_path: Path
) -> None:
    bank, told = tmp_path / "bank", tmp_path / "told"
    with (
        told.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            [sys.executable, "-m", "pairbank", *_arguments(study, lists["first"], bank, shared)],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=out,
        ) as process,
    ):
        deadline = time.monotonic() + MOST_SECONDS
        while KILLED_AT not in told.read_text(encoding="utf-8"):
            assert process.poll() is None, told.read_text(encoding="utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert not (bank / "manifest.json").exists()
    again = _run_first(study, lists, bank, shared)
    assert again.count("nothing to compute") >= 2  # said of a model
    _run_added(study, lists, bank, shared)
