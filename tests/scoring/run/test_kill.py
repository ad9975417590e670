"""`kill -9` at any point, then the same command: the final bytes are those of a run that was never killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import sys, time
import datasets
datasets.disable_progress_bars()
import pairbank
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.fake import FakeScorer
Direct.shard_items, Prompted.shard_items = 32, 8

class SlowScorer(FakeScorer):
    def token_logprobs(self, requests, *, progress):
        with open(sys.argv[2], "a") as log:
            log.write(f"{len(requests)}\\n")
        time.sleep(0.01)
        return super().token_logprobs(requests, progress=progress)

items = pairbank.load_corpus("starter", subset="minimal-pairs")
methods = ["direct", "meta_question_simple"]
print("ready", flush=True)
pairbank.score(items, SlowScorer(), methods=methods).save(sys.argv[1])
"""
N_KILLS = 10


def start(cache: Path, out: Path, log: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"PAIRBANK_CACHE": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(out), str(log)], env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_ten_kills_leave_the_same_bytes_and_cost_a_shard_each(tmp_path: Path) -> None:
    rng = random.Random(7)
    log, plain_log = tmp_path / "asked", tmp_path / "plain"
    out, plain = tmp_path / "killed.parquet", tmp_path / "plain.parquet"
    n_killed = 0
    while True:
        with start(tmp_path / "a", out, log) as process:
            assert process.stdout is not None
            process.stdout.readline()
            if n_killed < N_KILLS:
                time.sleep(rng.uniform(0.0, 0.12))
                if process.poll() is None:
                    process.kill()
                    n_killed += 1
            process.wait()
        assert process.returncode in (0, -signal.SIGKILL)
        if process.returncode == 0:
            break
    with start(tmp_path / "b", plain, plain_log) as process:
        assert process.wait() == 0
    assert n_killed >= 3
    assert out.read_bytes() == plain.read_bytes()
    asked, least = (sum(map(int, path.read_text().split())) for path in (log, plain_log))
    # a kill loses at most the shard in progress: 32 pairs x 2 sentences, or 8 pairs x 4 options
    assert asked <= least + n_killed * 64
