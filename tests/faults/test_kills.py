"""The short form of `kills.py`: verbs stopped at random moments and at lines of what writes, and writers at once."""

import os
import sys
from pathlib import Path

import pytest

from command_line import printed_by

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_killed_verbs_are_accepted_again_with_equal_bytes_and_writers_at_once_lose_nothing() -> None:
    verbs = "score bert,bank extended,strip"
    options = ["--kills", "6", "--places", "4", "--writers", "3", "--rounds", "1", "--only", verbs]
    argv = [sys.executable, str(ROOT / "tests/faults/kills.py"), *options]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests/support")])
    printed = printed_by(argv, env=os.environ | {"PYTHONPATH": path})
    assert printed.endswith("nothing lost, every rerun accepted, every byte as undisturbed\n")
    assert "1 rounds of 10 processes on an empty cache: 0 problems" in printed
    for verb in verbs.split(","):
        assert f"{verb}, at most 4 places: 0 problems" in printed
    assert "3 writers of one bank: 0 problems" in printed
