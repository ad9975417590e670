"""Every shipped study with five tiny random models of five families, from one command to the end.

The models have different tokenizers: GPT-2, Llama, Qwen with a chat template, T5 and BERT. In CI two studies run; all
of them, each killed in the middle and continued, with `python -m pytest -m slow tests/study/test_tiny_five.py`.
"""

from __future__ import annotations

import hashlib
import os
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
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

SHORT = ("demo", "ewok-plausibility")
"""What CI runs; the corpora of both are embedded."""
CORPORA = {
    "demo": ("starter:plausibility",),
    "ewok-plausibility": ("starter:contexts",),
    "xcomps": ("starter:concepts",),
    "grammaticality": ("scamp", "cola", "li", "sling"),
    "direct-vs-prompted": ("blimp", "starter:minimal-pairs"),
    "ivanova-2024": ("starter:contexts",),
    "atlas": ("starter", "jblimp", "qfrblimp"),
}
"""In place of the study's own, where those cannot be had offline or are long."""

KILLED_AT = "loading model Tiny bert"
"""What is told when three of the five models are done."""
UNABLE = {"ewok-plausibility": 1, "ivanova-2024": 1, "hu-levy-2023-mandarin": 2, "syntaxgym": 1}
"""On how many corpora BERT and T5 fail: their tokenizers, trained on a few sentences, have no tokens for the options of
a rating or for Chinese ones, and the surprisal of a region needs a model that reads from left to right."""


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a list of five models, with features of which no two are alike."""
    root = tmp_path_factory.mktemp("five")
    folders = {name: saved_model(ARCHITECTURES[name], root / f"tiny-{name}") for name in ("gpt2", "llama", "qwen2")}
    folders["bert"] = saved(*masked_model("bert", n_positions=2_000), root / "tiny-bert")
    folders["t5"] = saved(*t5_model(), root / "tiny-t5")
    entries = [
        f'[[models]]\nid = "{folder}"\nname = "Tiny {name}"\nfamily = "{name}"\ngeneration = "1"\n'
        f'size_billions = {n}e-3\ntype = "{"instruct" if name == "qwen2" else "base"}"\n'
        for n, (name, folder) in enumerate(folders.items(), 1)
    ]
    path = root / "tiny-five.toml"
    path.write_text("\n".join(entries), encoding="utf-8")
    return path


def _arguments(study: str, five: Path, bank: Path, shared: Path | None) -> list[str]:
    asked = ["run", study, "--models", str(five), "--limit", "1", "--out", str(bank)]
    asked += [part for corpus in CORPORA.get(study, ()) for part in ("--corpus", corpus)]
    asked += ["--minimalness", "default"] if study == "grammaticality" else []  # the paper's embedders are on the Hub
    return asked + (["--data-dir", str(shared / "corpora")] if shared else [])


def _check(study: str, bank: Path) -> None:
    """Make sure that a bank is whole, and that its report is of all five, without a failure."""
    pairbank.check_bank(bank)
    folder = bank / "reports" / study
    summary = pd.read_csv(folder / "summary.csv")
    unable = ["Tiny bert", "Tiny t5"] if study in UNABLE else []
    names = {f"Tiny {name}" for name in ("gpt2", "llama", "qwen2", "bert", "t5")} - {*unable}
    for corpus, part in summary.groupby("corpus"):
        assert set(part["model"]) - {"human"} == names, corpus
    page = (folder / "report.md").read_text(encoding="utf-8")
    for name in unable:
        assert page.count(f"Failed: {name} was not scored on ") == UNABLE[study]
    assert page.count("Failed:") == len(unable) * UNABLE.get(study, 0)
    assert "could not be computed" not in page or study in ("grammaticality", "syntaxgym", "xcomps")
    for section in load_study(study).analyses:
        assert list(folder.glob(f"{section}*.csv")) or f"`{section}` could not be computed" in page


def _run(study: str, five: Path, bank: Path, shared: Path | None) -> str:
    """Run a study to its end; return what was told."""
    done = CliRunner().invoke(app, _arguments(study, five, bank, shared), catch_exceptions=False)
    assert done.exit_code == (1 if study in UNABLE else 0), done.output
    _check(study, bank)
    return done.output


@pytest.mark.ci
@pytest.mark.parametrize("study", SHORT)
def test_a_study_runs_with_five_families(study: str, five: Path, tmp_path: Path) -> None:
    _run(study, five, tmp_path / "bank", None)


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.parametrize("study", study_names())
def test_a_study_that_is_killed_in_the_middle_continues_to_its_end(
    study: str, five: Path, shared: Path, tmp_path: Path
) -> None:
    bank, told = tmp_path / "bank", tmp_path / "told"
    with (
        told.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            [sys.executable, "-m", "pairbank", *_arguments(study, five, bank, shared)],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=out,
        ) as process,
    ):
        deadline = time.monotonic() + 900
        while KILLED_AT not in told.read_text(encoding="utf-8"):
            assert process.poll() is None, told.read_text(encoding="utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert not (bank / "manifest.json").exists()
    again = _run(study, five, bank, shared)
    assert again.count("nothing to compute") >= 3  # said of a model


@pytest.mark.slow
def test_a_run_that_is_killed_in_the_middle_continues_to_the_same_bank(
    five: Path, tmp_path: Path, private_cache: Path
) -> None:
    whole, cut = tmp_path / "whole" / "bank", tmp_path / "cut" / "bank"
    _run("demo", five, whole, None)
    cache = tmp_path / "cache"
    environment = os.environ | {"PAIRBANK_CACHE": str(cache), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "pairbank", *_arguments("demo", five, cut, None)]
    with subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 300
        while not len(list(cache.glob("scores/*/*.parquet"))) >= 4:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert not (cut / "manifest.json").exists()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "nothing to compute, every number was in the store" in again.stderr
    _check("demo", cut)
    assert _tables(cut) == _tables(whole)
    assert private_cache != cache


def _tables(bank: Path) -> dict[str, str]:
    """Return a hash of every scored table and of the report's numbers."""
    paths = sorted([*bank.glob("scores/*/*.parquet"), *bank.glob("reports/*/*.csv")])
    return {str(path.relative_to(bank)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
