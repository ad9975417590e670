"""Where the text of a command goes, and how its help reads. Results go to standard output, notes to standard error.

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
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.models import OptionInfo

from pairbank.errors import spelt_in_json, spelt_out


@dataclass(slots=True, kw_only=True)
class Output:
    """What a command was asked to give, and what it has given."""

    as_json: bool = False
    quiet: bool = False
    result: dict[str, Any] = field(default_factory=dict)
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
    requested = output()
    if not (requested.as_json and requested.quiet):
        typer.echo(spelt_out(text), err=requested.as_json)


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
    result = output().result
    for name, value in values.items():
        known, new = result.get(name), plain(value)
        result[name] = [*known, *new] if isinstance(known, list) and isinstance(new, list) else new


def plain(value: Any) -> Any:  # noqa: ANN401 - any value to JSON's
    """Return a value as JSON has it: a table as its rows, NaN as null, a path as text.

    >>> from pathlib import Path
    >>> plain({"a": (1, math.nan), "b": Path("x/y")})
    {'a': [1, None], 'b': 'x/y'}
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if (isinstance(value, float) and not math.isfinite(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member) for member in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def takes_output_options(command: Callable[..., None], *, as_json: bool = True) -> Callable[..., None]:
    """Give a command --quiet and, unless it has no results to print, --json."""
    own_values = inspect.signature(command, eval_str=True)
    more = [_flag("quiet", "--quiet", "-q", help_text="Print only results, warnings and errors.")]
    if as_json:
        more.append(_flag("as_json", "--json", help_text="Print the results as one JSON document."))

    @functools.wraps(command)
    def run(*arguments: Any, **given: Any) -> None:  # noqa: ANN401 - what typer parsed
        given.pop("help_all", None)
        requested = Output(quiet=given.pop("quiet"), as_json=given.pop("as_json", False))
        with _giving(requested):
            try:
                command(*arguments, **given)
            except KeyboardInterrupt:
                if command.__name__ in CONTINUED:
                    warn("\nstopped; what was scored is stored, and the same command goes on from there")
                raise

    with_plain_words([*own_values.parameters.values(), *more])
    keyword = [
        _as_written(parameter).replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own_values.parameters.values()
    ]
    more += help_all(keyword)
    run.__signature__ = own_values.replace(parameters=[*keyword, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {entry.name: entry.annotation for entry in (*keyword, *more)} | {"return": None}
    del run.__wrapped__
    return run


def _as_written(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose help text is shown as it is written: `[[models]]` is not taken for rich's markup."""
    if get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, info, *more = get_args(parameter.annotation)
    if not getattr(info, "help", None):
        return parameter
    own_values = copy.copy(info)
    own_values.help = re.sub(r"\[(?=[a-z#/@])", r"\\[", info.help)
    return parameter.replace(annotation=Annotated[kind, own_values, *more])


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
        typer.echo(spelt_in_json(json.dumps(asked.result, ensure_ascii=False, indent=2, allow_nan=False)))


WORDS: Mapping[object, str] = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT", bool: ""}
FOLDED = ("A file of your own", "More ways of scoring", "Many machines", "Model")
"""Panels that `--help` names and `--help-all` shows."""
ALL = "pairbank.help_all"
"""Key of a command's context that says that all options were asked for."""


class Group(TyperGroup):
    """A group of commands, whose flags have no type behind their name."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own click has no public name
        """Return the parameters."""
        return _without_types(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose `--help` shows its most used options, and whose `--help-all` shows all of them."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own click has no public name
        """Return the parameters; arguments and flags have no type behind their name."""
        return _without_types(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Print the help, without the folded panels unless all options are asked for."""
        folded = [] if ctx.meta.get(ALL) else [param for param in self.params if _panel(param) in FOLDED]
        for member in folded:
            member.hidden = True  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for member in folded:
                member.hidden = False  # type: ignore[attr-defined]
        if folded:
            panels = ", ".join(dict.fromkeys(str(_panel(entry)).lower() for entry in folded))
            typer.echo(f" More options ({panels}): {ctx.command_path} --help-all\n")


def help_all(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the option `--help-all` for a command with options in folded panels, else nothing."""
    infos = [
        info for parameter in parameters for info in get_args(parameter.annotation)[1:] if isinstance(info, OptionInfo)
    ]
    if not any(info.rich_help_panel in FOLDED for info in infos):
        return []
    option = typer.Option(
        "--help-all", is_eager=True, expose_value=False, callback=_show_all, help="Show all options and exit."
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("help_all", kind, default=False, annotation=Annotated[bool, option])]


def with_plain_words(parameters: Iterable[inspect.Parameter]) -> None:
    """Give each option that has no word for its value one: FILE, N, NUMBER or TEXT; a flag has none."""
    for parameter in parameters:
        kind, *rest = get_args(parameter.annotation) or (parameter.annotation,)
        for option in rest:
            if isinstance(option, OptionInfo) and option.metavar is None:
                option.metavar = WORDS.get(_one_of(kind))


def _show_all(ctx: typer.Context, is_asked: bool) -> None:  # noqa: FBT001 - typer's callback
    if is_asked:
        ctx.meta[ALL] = True
        typer.echo(ctx.get_help(), nl=False)
        raise typer.Exit


def _without_types(params: Iterable[Any]) -> list[Any]:
    params = list(params)
    for param in params:
        if isinstance(param, TyperArgument):
            param.display_type_rich = _no_type  # type: ignore[method-assign]
        elif isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
    return params


def _no_type(ctx: object) -> None:  # noqa: ARG001 - as typer calls it
    return None


def _panel(parameter: object) -> str | None:
    return getattr(parameter, "rich_help_panel", None)


def _one_of(kind: object) -> object:
    """Return the type of one value: of `list[Path] | None`, Path.

    >>> _one_of(list[Path] | None) is Path, _one_of(int) is int
    (True, True)
    """
    if get_origin(kind) in (types.UnionType, Union):
        kind = next(get_arg for get_arg in get_args(kind) if get_arg is not type(None))
    return _one_of(get_args(kind)[0]) if get_origin(kind) is list else kind
