"""How a command's help reads: the most used options first, `--help-all` for the rest, a word for each value.

In: a command's parameters as typer has them. Out: the class of all commands, and words for the values of options.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption
from typer.models import OptionInfo

WORDS: Mapping[object, str] = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT", bool: ""}
FOLDED = ("A file of your own", "More ways of scoring", "Many machines", "Model")
"""Panels that `--help` names and `--help-all` shows."""
ALL = "pairbank.help_all"
"""Key of a command's context that says that all options were asked for."""


class Command(TyperCommand):
    """A command whose `--help` shows its most used options, and whose `--help-all` shows all of them."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own click has no public name
        """Return the parameters; arguments and flags have no type behind their name."""
        params = list(super().get_params(ctx))
        for param in params:
            if isinstance(param, TyperArgument):
                param.display_type_rich = _no_type  # type: ignore[method-assign]
            elif isinstance(param, TyperOption) and param.is_flag:
                param.metavar = ""
        return params

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Print the help, without the folded panels unless all options are asked for."""
        folded = [] if ctx.meta.get(ALL) else [one for one in self.params if _panel(one) in FOLDED]
        for one in folded:
            one.hidden = True  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for one in folded:
                one.hidden = False  # type: ignore[attr-defined]
        if folded:
            panels = ", ".join(dict.fromkeys(str(_panel(one)).lower() for one in folded))
            typer.echo(f" More options ({panels}): {ctx.command_path} --help-all\n")


def help_all(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the option `--help-all` for a command with options in folded panels, else nothing."""
    infos = [info for one in parameters for info in get_args(one.annotation)[1:] if isinstance(info, OptionInfo)]
    if not any(info.rich_help_panel in FOLDED for info in infos):
        return []
    option = typer.Option(
        "--help-all", is_eager=True, expose_value=False, callback=_show_all, help="Show all options and exit."
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("help_all", kind, default=False, annotation=Annotated[bool, option])]


def with_plain_words(parameters: Iterable[inspect.Parameter]) -> None:
    """Give each option that has no word for its value one: FILE, N, NUMBER or TEXT; a flag has none.

    Args:
        parameters: of a command, annotated; the options in their annotations are changed.
    """
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
        kind = next(one for one in get_args(kind) if one is not type(None))
    return _one_of(get_args(kind)[0]) if get_origin(kind) is list else kind
