"""R beside the tests: a script runs in it, or the test skips with what is not installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest


def in_r(*words: str | Path, cwd: Path | None = None) -> str:
    """Return what `Rscript` prints of these words; an error of the script fails the test."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed (Debian: r-base-core)")
    done = subprocess.run([rscript, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
    if missing := re.search(r"there is no package called .(\w+)", done.stderr):
        pytest.skip(f"R's package {missing[1]} is not installed")
    assert done.returncode == 0, done.stderr
    return done.stdout
