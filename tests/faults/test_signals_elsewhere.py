"""SIGTERM where a command waits for others: the Hub, a server, Ray workers, a probe, a benchmark."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import pairbank
from hub_emulator import TOKEN, FakeHub, HubError
from served_models import models_here, serving
from tiny_models import ARCHITECTURES, saved_model

OWN = "good,bad\n" + "".join(f"The {noun} sleeps.,The {noun} sleep.\n" for noun in ("dog", "cat", "cow", "hen") * 8)
PATIENCE_SECONDS = 100


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    (tmp_path / "own.csv").write_text(OWN)
    (tmp_path / "own.txt").write_text(OWN)
    path = os.pathsep.join(part for part in sys.path if part)
    fixed = {"PAIRBANK_CACHE": str(tmp_path / "cache"), "PYTHONPATH": path}
    started = []

    def run(*argv: str, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pairbank", *argv]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | fixed | environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def terminated(process: subprocess.Popen[str], folder: Path, *, made: str = "") -> None:
    """Send SIGTERM, which must leave nothing but what is whole; a process that has made its output may just die."""
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    was_ending = made != "" and (folder / made).exists() and process.returncode == -signal.SIGTERM
    assert process.returncode == 143 or was_ending, errors
    assert "Traceback" not in errors
    left = [path for path in folder.rglob("*") if path.suffix == ".part" or path.name.startswith(".pairbank-")]
    assert not left


@pytest.mark.ci
def test_a_publication_that_is_terminated_publishes_nothing_and_the_next_one_all(
    begin: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    scored = pairbank.score(pairbank.load_corpus(tmp_path / "own.csv"), pairbank.load_model("fake:a"))
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored], licences={"own": "cc0-1.0"})
    with FakeHub() as hub:
        arrived, may_go = threading.Event(), threading.Event()

        def hold(_repo: object) -> None:
            arrived.set()
            may_go.wait(PATIENCE_SECONDS)
            raise HubError(500, "the connection is cut")

        hub.before_commit = hold
        here = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
        process = begin("publish", str(bank), "acme/bank", HF_HOME=str(tmp_path / "hub"), **here)
        assert arrived.wait(PATIENCE_SECONDS), process.communicate(timeout=5)
        terminated(process, tmp_path / "bank")
        may_go.set()
        again = begin("publish", str(bank), "acme/bank", HF_HOME=str(tmp_path / "hub"), **here)
        assert again.wait(PATIENCE_SECONDS) == 0
        there = set(hub.repo("acme/bank").head.tree)
    assert there >= {path.relative_to(bank).as_posix() for path in bank.rglob("[!.]*") if path.is_file()}


@pytest.mark.ci
def test_a_score_that_is_terminated_while_a_server_answers_resumes(
    begin: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    asked = threading.Event()
    with serving(models_here(tmp_path / "models")) as serve:
        server, tokenizer = serve("gpt2")
        argv = ("score", "own.csv", "--model", server.url, "--tokenizer", tokenizer, "--out", "scored.parquet")

        def slow() -> None:
            if len(server.log) > 30:
                asked.set()
                time.sleep(0.2)

        server.before_answer = slow
        process = begin(*argv)
        assert asked.wait(PATIENCE_SECONDS), process.communicate(timeout=5)
        terminated(process, tmp_path)
        server.before_answer = lambda: None
        again = begin(*argv)
        assert again.wait(PATIENCE_SECONDS) == 0
    assert (tmp_path / "scored.parquet").is_file()


@pytest.mark.parametrize(
    "argv",
    [
        ("neuro", "own.csv", "--model", "models/llama", "--out", "probes"),
        ("words", "own.txt", "--model", "models/llama", "--out", "words.csv"),
        pytest.param(
            (
                *("score", "own.csv", "--model", "models/llama", "--ray", "local", "--workers", "2", "--out"),
                "scored.parquet",
            ),
            marks=pytest.mark.skipif(
                find_spec("ray") is None, reason="ray is not installed: pip install 'pairbank[ray]'"
            ),
        ),
    ],
    ids=["neuro", "words", "ray"],
)
@pytest.mark.slow
def test_other_verbs_end_with_143_at_any_moment(
    argv: tuple[str, ...], begin: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    saved_model(ARCHITECTURES["llama"], tmp_path / "models/llama")
    start = time.monotonic()
    whole = begin(*argv)
    assert whole.wait(PATIENCE_SECONDS) == 0
    seconds = time.monotonic() - start
    if (out := tmp_path / argv[-1]).exists():
        shutil.rmtree(out) if out.is_dir() else out.unlink()
    for part in (0.4, 0.6, 0.75, 0.9):
        process = begin(*argv, PAIRBANK_CACHE=str(tmp_path / f"cache-{part}"))
        time.sleep(part * seconds)
        if process.poll() is None:
            terminated(process, tmp_path, made=argv[-1])
    ours = [
        line for line in subprocess.check_output(["ps", "-eo", "args"], text=True).splitlines() if str(tmp_path) in line
    ]
    assert not [line for line in ours if "pairbank" in line], ours
