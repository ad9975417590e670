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


@pytest.mark.parametrize("path", list(ALL), ids=" ".join)
def test_help_has_words_for_values_and_no_types_of_python(path: tuple[str, ...]) -> None:
    assert re.findall(r"<(?:str|bool|int|float|Path|list)\b.*?>", shown_by(*path, "--help")) == []


@pytest.mark.parametrize("path", list(ALL), ids=" ".join)
def test_help_texts_are_short_sentences(path: tuple[str, ...]) -> None:
    texts = [getattr(one, "help", "") or "" for one in ALL[path].params]
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.;]) ", text)]
    assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []


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
def test_no_word_of_a_help_text_is_eaten(path: tuple[str, ...]) -> None:
    asked = "--help-all" if any("--help-all" in one.opts for one in ALL[path].params) else "--help"
    shown = shown_by(*path, asked)
    squeezed = "".join(character for character in shown if not character.isspace() and character not in "│╭╮╰╯─")
    for parameter in ALL[path].params:
        for word in (getattr(parameter, "help", "") or "").split():
            assert word.replace("\\", "") in squeezed, f"{' '.join(path)}: {word!r} of --{parameter.name}"
