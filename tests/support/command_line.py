"""The command line, called in this process."""

from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner, Result

from pairbank.cli import app


def completed(words: Sequence[str | Path]) -> Result:
    """Return what a command that must not fail printed."""
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def run(*words: str | Path) -> str:
    return completed(words).output
