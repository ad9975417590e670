"""Where a command's words go: results to the standard output, notes to the standard error; with --json one document.

In: lines, and values by name. Out: with `--json` the values alone stand on the standard output, and what is said in
words on the standard error; with `--quiet` nothing is said but results, warnings and errors.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin

import typer

from pairbank.cli.display.help_pages import help_all, with_plain_words
from pairbank.shown import spelt_in_json, spelt_out


@dataclass(slots=True, kw_only=True)
class Output:
    """What a command was asked to give, and what it has given."""

    as_json: bool = False
    quiet: bool = False
    found: dict[str, Any] = field(default_factory=dict)
    """Values for the document, by name."""


CONTINUED = ("score", "run")
"""Commands whose work is stored as it is done."""
_asked: list[Output] = []
"""What the command that runs was asked to give; for all threads, since progress is told from several."""


def output() -> Output:
    """Return what the command that runs was asked to give; plain words, where none runs."""
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
    """Print what could be done next; nothing with --quiet."""
    if not output().quiet:
        say(text)


def answer(**values: object) -> None:
    """Put values into the document that --json prints; lists of one name are joined."""
    found = output().found
    for name, value in values.items():
        known, new = found.get(name), plain(value)
        found[name] = [*known, *new] if isinstance(known, list) and isinstance(new, list) else new


def plain(value: Any) -> Any:  # noqa: ANN401 - any value to JSON's
    """Return a value as JSON has it: a table as its rows, NaN as null, a path as text.

    >>> from pathlib import Path
    >>> plain({"a": (1, math.nan), "b": Path("x/y")})
    {'a': [1, None], 'b': 'x/y'}
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if (isinstance(value, float) and not math.isfinite(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def takes_output_options(command: Callable[..., None], *, as_json: bool = True) -> Callable[..., None]:
    """Give a command --quiet and, unless it has no results to print, --json."""
    own = inspect.signature(command, eval_str=True)
    more = [_flag("quiet", "--quiet", "-q", help_text="Print only results, warnings and errors.")]
    if as_json:
        more.append(_flag("as_json", "--json", help_text="Print the results as one JSON document."))

    @functools.wraps(command)
    def run(*arguments: Any, **given: Any) -> None:  # noqa: ANN401 - what typer parsed
        given.pop("help_all", None)
        asked = Output(quiet=given.pop("quiet"), as_json=given.pop("as_json", False))
        with _giving(asked):
            try:
                command(*arguments, **given)
            except KeyboardInterrupt:
                if command.__name__ in CONTINUED:
                    warn("\nstopped; what was scored is stored, and the same command goes on from there")
                raise

    with_plain_words([*own.parameters.values(), *more])
    keyword = [_as_written(one).replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own.parameters.values()]
    more += help_all(keyword)
    run.__signature__ = own.replace(parameters=[*keyword, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*keyword, *more)} | {"return": None}
    del run.__wrapped__
    return run


def _as_written(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose help text is shown as it is written: `[[models]]` is not taken for rich's markup."""
    if get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, info, *more = get_args(parameter.annotation)
    if not getattr(info, "help", None):
        return parameter
    own = copy.copy(info)
    own.help = re.sub(r"\[(?=[a-z#/@])", r"\\[", info.help)
    return parameter.replace(annotation=Annotated[kind, own, *more])


def _flag(name: str, *declared: str, help_text: str) -> inspect.Parameter:
    option = typer.Option(*declared, help=help_text, rich_help_panel="Output")
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])


@contextlib.contextmanager
def _giving(asked: Output) -> Iterator[None]:
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
        typer.echo(spelt_in_json(json.dumps(asked.found, ensure_ascii=False, indent=2, allow_nan=False)))
