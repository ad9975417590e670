"""Where the text of a command goes: results to the standard output, notes to the standard error.

In: lines, and values by name. Out: with `--json` the values alone stand on the standard output, and what is said in
words on the standard error; with `--quiet` nothing is said but results, warnings and errors.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from pairbank.errors import spelt_in_json, spelt_out


@dataclass(slots=True, kw_only=True)
class Output:
    as_json: bool = False
    quiet: bool = False
    document: dict[str, Any] = field(default_factory=dict)
    """Values for the document, by name."""


_asked: list[Output] = []
"""What the command that runs was asked to give; for all threads, since progress is told from several."""


def output() -> Output:
    return _asked[-1] if _asked else Output()


def say(text: str) -> None:
    """Print a line of the result; what it quotes of others gives the terminal no orders."""
    asked = output()
    if not (asked.as_json and asked.quiet):
        typer.echo(spelt_out(text), err=asked.as_json)


def note(text: str) -> None:
    """Say on the standard error what is going on; nothing with --quiet."""
    if not output().quiet:
        typer.echo(spelt_out(text), err=True)


def warn(text: str) -> None:
    """Say on the standard error what is wrong, with --quiet too."""
    typer.echo(spelt_out(text), err=True)


def hint(text: str) -> None:
    if not output().quiet:
        say(text)


def answer(**values: object) -> None:
    """Put values into the document that --json prints; lists of one name are joined."""
    document = output().document
    for name, value in values.items():
        before, new = document.get(name), plain(value)
        document[name] = [*before, *new] if isinstance(before, list) and isinstance(new, list) else new


def plain(value: Any) -> Any:  # noqa: ANN401 - any value to JSON's
    """Return a value as JSON has it: a table as its rows, NaN as null, a path as text.

    >>> from pathlib import Path
    >>> plain({"a": (1, math.nan), "b": Path("x/y")})
    {'a': [1, None], 'b': 'x/y'}
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {key.name: getattr(value, key.name) for key in dataclasses.fields(value)}
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if (isinstance(value, float) and not math.isfinite(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(cell) for key, cell in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(cell) for cell in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@contextlib.contextmanager
def giving(asked: Output) -> Iterator[None]:
    """Hold what a command was asked to give; print the document at its end, also where it ends with an exit code."""
    _asked.append(asked)
    try:
        try:
            yield
        except typer.Exit:
            _print(asked)
            raise
        _print(asked)
    finally:
        _asked.pop()


def _print(asked: Output) -> None:
    if asked.as_json:
        typer.echo(spelt_in_json(json.dumps(asked.document, ensure_ascii=False, indent=2, allow_nan=False)))
