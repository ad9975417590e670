"""The help of every command says what its options' texts say: nothing is taken for the terminal's markup."""

import re
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


def shown_by(*words: str) -> str:
    return CliRunner().invoke(app, words, env={"COLUMNS": "200", "TERM": "dumb"}).output


def test_score_shows_its_ten_most_used_options_and_says_where_the_others_are() -> None:
    few, all_options = shown_by("score", "--help"), shown_by("score", "--help-all")
    options = set(re.findall(r"^│ \*? +(--[\w-]+)", few, flags=re.MULTILINE)) - {"--help", "--help-all"}
    options |= set(re.findall(r"^│ (--[\w-]+)", few, flags=re.MULTILINE)) - {"--quiet", "--json"}
    assert len(options) <= 10, options
    assert {"--model", "--method", "--out", "--language", "--limit"} <= options
    assert "model): pairbank score --help-all" in few or "score --help-all" in few
    assert "--device-map" in all_options
    assert "--device-map" not in few


@pytest.mark.parametrize("path", list(ALL), ids=" ".join)
def test_a_help_text_is_short_sentences_of_which_no_word_is_eaten_without_types_of_python(
    path: tuple[str, ...],
) -> None:
    asked = "--help-all" if any("--help-all" in one.opts for one in ALL[path].params) else "--help"
    shown = shown_by(*path, asked)
    assert re.findall(r"<(?:str|bool|int|float|Path|list)\b.*?>", shown) == []
    squeezed = "".join(character for character in shown if not character.isspace() and character not in "│╭╮╰╯─")
    for parameter in ALL[path].params:
        text = getattr(parameter, "help", "") or ""
        assert [one for one in re.split(r"(?<=[.;]) ", text) if len(one.split()) > 25] == []
        for word in text.split():
            assert word.replace("\\", "") in squeezed, f"{' '.join(path)}: {word!r} of --{parameter.name}"
