"""The short form of `kills.py`: verbs stopped at random moments and at lines of what writes, and writers at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_killed_verbs_are_accepted_again_with_equal_bytes_and_writers_at_once_lose_nothing() -> None:
    verbs = "score bert,bank extended,strip"
    options = ["--kills", "6", "--places", "4", "--writers", "3", "--rounds", "1", "--only", verbs]
    argv = [sys.executable, str(ROOT / "tests/faults/kills.py"), *options]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests/support")])
    done = subprocess.run(argv, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("nothing lost, every rerun accepted, every byte as undisturbed\n")
    assert "1 rounds of 10 processes on an empty cache: 0 problems" in done.stdout
    for verb in verbs.split(","):
        assert f"{verb}, at most 4 places: 0 problems" in done.stdout
    assert "3 writers of one bank: 0 problems" in done.stdout
