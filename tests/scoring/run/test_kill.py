"""`kill -9` at any point, then the same command: the final bytes are those of a run that was never killed."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, time
import datasets
datasets.disable_progress_bars()
import pairbank, pairbank.builders.dataset, pairbank.scoring.score
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.fake import FakeScorer
Direct.shard_items, Prompted.shard_items = 32, 8

def run(cache, out, log):
    class SlowScorer(FakeScorer):
        def token_logprobs(self, requests, *, progress):
            with open(log, "a") as file:
                file.write(f"{len(requests)}\\n")
            time.sleep(0.01)
            return super().token_logprobs(requests, progress=progress)

    os.environ["PAIRBANK_CACHE"] = cache
    items = pairbank.load_corpus("starter", subset="minimal-pairs")
    print("ready", os.getpid(), flush=True)
    pairbank.score(items, SlowScorer(), methods=["direct", "meta_question_simple"]).save(out)

for line in sys.stdin:  # every run is a process of its own, and has not to import everything anew
    child = os.fork()
    if not child:
        run(*line.split())
        os._exit(0)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
N_KILLS = 10


@pytest.fixture
def runs() -> Iterator[Callable[..., int]]:
    """Yield a function that runs the script's work in a process, kills it after some seconds, gives its exit status."""
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        sent, told = server.stdin, server.stdout

        def run(cache: Path, out: Path, log: Path, *, seconds: float | None = None) -> int:
            sent.write(f"{cache} {out} {log}\n")
            sent.flush()
            ready, pid = told.readline().split()
            assert ready == "ready"
            if seconds is not None:
                time.sleep(seconds)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            return int(told.readline().split()[1])

        yield run


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_ten_kills_leave_the_same_bytes_and_cost_a_shard_each(tmp_path: Path, runs: Callable[..., int]) -> None:
    rng = random.Random(7)
    log, plain_log = tmp_path / "asked", tmp_path / "plain"
    out, plain = tmp_path / "killed.parquet", tmp_path / "plain.parquet"
    n_killed, status = 0, -1
    while status != 0:
        seconds = rng.uniform(0.0, 0.12) if n_killed < N_KILLS else None
        status = runs(tmp_path / "a", out, log, seconds=seconds)
        assert status in (0, -signal.SIGKILL)
        n_killed += status != 0
    assert runs(tmp_path / "b", plain, plain_log) == 0
    assert n_killed >= 3
    assert out.read_bytes() == plain.read_bytes()
    asked, least = (sum(map(int, path.read_text().split())) for path in (log, plain_log))
    # a kill loses at most the shard in progress: 32 pairs x 2 sentences, or 8 pairs x 4 options
    assert asked <= least + n_killed * 64
