"""The command line, called in this process; and programs in a process of their own."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from pairbank.cli import app


def completed(words: Sequence[str | Path]) -> Result:
    """Return what a command that must not fail printed."""
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def run(*words: str | Path) -> str:
    return completed(words).output


def printed_by(command: Sequence[str | Path], **options: Any) -> str:  # noqa: ANN401 - as `subprocess.run` takes them
    """Return what a program that must not fail wrote to its output."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)
