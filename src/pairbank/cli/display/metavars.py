"""What stands behind an option in a command's help: a word for what to type, in place of the name of a Python type."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Union, get_args, get_origin

from typer.models import OptionInfo

WORDS: Mapping[object, str] = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT", bool: ""}


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


def _one_of(kind: object) -> object:
    """Return the type of one value: of `list[Path] | None`, Path.

    >>> _one_of(list[Path] | None) is Path, _one_of(int) is int
    (True, True)
    """
    if get_origin(kind) in (types.UnionType, Union):
        kind = next(one for one in get_args(kind) if one is not type(None))
    return _one_of(get_args(kind)[0]) if get_origin(kind) is list else kind
