"""From a function to a command: its parameters as arguments and options, with --quiet, --json and --help-all.

A positional parameter is an argument, a keyword-only one an option; `Annotated[type, "help"]` has its help. A
parameter whose type is a class of options (a dataclass, or `LoadOptions`) stands for all of them: commands share them.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.models import OptionInfo

from pairbank.cli.display.output import Output, giving, warn
from pairbank.scoring.models.options import LoadOptions

CONTINUED = ("score", "run", "words", "participants", "neuro")
"""Commands whose work is stored as it is done."""
WRITTEN_WHOLE = "no file is half written: rerun to do it again"
WORDS = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT", bool: ""}
"""What stands for a value in the help."""
FOLDED = ("A file of your own", "More ways of scoring", "Many machines", "Model")
"""Panels that `--help` names and `--help-all` shows."""
ALL = "pairbank.help_all"
"""Key of a command's context that says that all options were asked for."""
_Function = Callable[..., None]


def add_command(
    app: typer.Typer, function: _Function, *, name: str = "", panel: str | None = None, as_json: bool = True
) -> None:
    named = name or function.__name__.rstrip("_").replace("_", "-")
    app.command(named, cls=Command, rich_help_panel=panel)(as_command(function, as_json=as_json))


def as_command(function: _Function, *, as_json: bool = True) -> _Function:
    """Return a function as typer takes it: every option a parameter of its own, the output's options among them."""
    parameters: list[inspect.Parameter] = []
    shared: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        options = _options_of(parameter.annotation)
        if options:
            shared[parameter.name] = (parameter.annotation, [option.name for option in options])
        parameters += options or [parameter]
    parameters = [_declared(parameter) for parameter in (*parameters, *_output_options(parameters, as_json=as_json))]

    @functools.wraps(function)
    def run(**given: Any) -> None:  # noqa: ANN401 - what typer parsed
        asked = Output(quiet=given.pop("quiet"), as_json=given.pop("as_json", False))
        given.pop("help_all", None)
        for name, (kind, names) in shared.items():
            given[name] = kind(**{option: given.pop(option) for option in names})
        with giving(asked):
            try:
                function(**given)
            except KeyboardInterrupt:
                is_stored = function.__name__ in CONTINUED
                warn(f"\nstopped; {'what was scored is stored: rerun to resume' if is_stored else WRITTEN_WHOLE}")
                raise

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    del run.__wrapped__
    return run


def _options_of(kind: Any) -> list[inspect.Parameter]:  # noqa: ANN401 - an annotation
    """Return the options that a class of options declares; none of any other type."""
    if kind is LoadOptions:
        options = []
        for name, hint in get_type_hints(kind, include_extras=True).items():
            declared, text, default = get_args(hint)
            kinds = get_args(declared) if get_origin(declared) in (types.UnionType, Union) else (declared,)
            typed: Any = next((simple for simple in (bool, int) if simple in kinds), str)  # a server's are texts
            typed = typed | None if type(None) in kinds else typed
            options.append(_option(name, default, Annotated[typed, typer.Option(help=text, rich_help_panel="Model")]))
        return options
    if not dataclasses.is_dataclass(kind):
        return []
    hints = get_type_hints(kind, include_extras=True)
    return [_option(field.name, field.default, hints[field.name]) for field in dataclasses.fields(kind)]


def _option(name: str, default: object, annotation: Any) -> inspect.Parameter:  # noqa: ANN401 - an annotation
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flag(name: str, *declared: str, help_text: str) -> inspect.Parameter:
    return _option(name, False, Annotated[bool, typer.Option(*declared, help=help_text, rich_help_panel="Output")])  # noqa: FBT003 - a default


def _output_options(parameters: Iterable[inspect.Parameter], *, as_json: bool) -> Iterator[inspect.Parameter]:
    yield _flag("quiet", "--quiet", "-q", help_text="Print only results, warnings and errors.")
    if as_json:
        yield _flag("as_json", "--json", help_text="Print the results as one JSON document.")
    infos = [info for parameter in parameters for info in get_args(parameter.annotation)[1:]]
    is_whole = not any(getattr(info, "rich_help_panel", None) in FOLDED for info in infos)
    option = typer.Option(
        "--help-all",
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        hidden=is_whole,
        help="" if is_whole else "Show all options and exit.",
    )
    yield _option("help_all", False, Annotated[bool, option])  # noqa: FBT003 - a default


def _declared(parameter: inspect.Parameter) -> inspect.Parameter:
    if get_origin(parameter.annotation) is not Annotated:
        return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    kind, info = get_args(parameter.annotation)
    if isinstance(info, str):
        is_option = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        info = typer.Option(help=info) if is_option else typer.Argument(help=info)
    info = copy.copy(info)
    info.help = re.sub(r"\[(?=[a-z#/@])", r"\\[", info.help or "")  # `[[models]]` is not rich's markup
    if isinstance(info, OptionInfo):
        if info.default is ... and (parameter.default is False or parameter.name.endswith("_")):
            info.param_decls = (
                f"--{parameter.name.rstrip('_').replace('_', '-')}",
            )  # a flag without a --no-… beside it
        is_folder = "Folder" in info.help or "folder;" in info.help
        info.metavar = info.metavar or ("FOLDER" if is_folder else _value_in_words(kind))
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


def _value_in_words(kind: Any) -> str | None:  # noqa: ANN401 - an annotation
    """Return what stands for a value in the help: FILE, N, NUMBER, TEXT or its choices; nothing for a flag."""
    if get_origin(kind) in (types.UnionType, Union):
        kind = next(one_kind for one_kind in get_args(kind) if one_kind is not type(None))
    if get_origin(kind) is list:
        [kind] = get_args(kind)
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else WORDS.get(kind)


def _show_all(ctx: typer.Context, is_asked: bool) -> None:  # noqa: FBT001 - typer's callback
    if is_asked:
        ctx.meta[ALL] = True
        typer.echo(ctx.get_help(), nl=False)
        raise typer.Exit


class Group(TyperGroup):
    """A group of commands, whose flags have no type behind their name."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own click has no public name
        return _without_types(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose `--help` shows its most used options, and whose `--help-all` shows all of them."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own click has no public name
        return _without_types(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        folded = [] if ctx.meta.get(ALL) else [param for param in self.params if _panel(param) in FOLDED]
        for param in folded:
            param.hidden = True  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for param in folded:
                param.hidden = False  # type: ignore[attr-defined]
        if folded:
            panels = ", ".join(dict.fromkeys(str(_panel(param)).lower() for param in folded))
            typer.echo(f" More options ({panels}): {ctx.command_path} --help-all\n")


def _without_types(params: Iterable[Any]) -> list[Any]:
    params = list(params)
    for param in params:
        if isinstance(param, TyperArgument):
            param.display_type_rich = lambda ctx: None  # type: ignore[method-assign] # noqa: ARG005 - as typer calls it
        elif isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
    return params


def _panel(parameter: object) -> str | None:
    return getattr(parameter, "rich_help_panel", None)
