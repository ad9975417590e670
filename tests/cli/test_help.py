"""The help of every command says what its options' texts say: nothing is taken for the terminal's markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pairbank.cli import app


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 - typer's own click
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from commands(inner, *path, name)


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", list(ALL), ids=" ".join)
def test_no_word_of_a_help_text_is_eaten(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    squeezed = "".join(character for character in shown if not character.isspace() and character not in "│╭╮╰╯─")
    for parameter in ALL[path].params:
        for word in (getattr(parameter, "help", "") or "").split():
            assert word.replace("\\", "") in squeezed, f"{' '.join(path)}: {word!r} of --{parameter.name}"
