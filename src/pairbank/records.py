"""Records from TOML tables: in, a mapping; out, a frozen dataclass, or an error that says which key is wrong."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pairbank.errors import PairbankError

T = TypeVar("T")


def record_of(cls: type[T], table: Mapping[str, Any], *, where: str, error: type[PairbankError]) -> T:
    """Return `cls(**table)`, with lists as tuples.

    Args:
        cls: A dataclass.
        table: Its fields by name; values that are dataclasses already are taken as they are.
        where: File and entry, for the message.
        error: What to raise.

    Raises:
        PairbankError: of the type `error`: a key that is no field, a field without a default that is missing, or a
            value of another type than the field's.
    """
    hints = get_type_hints(cls)
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    if extra := sorted(table.keys() - known):
        raise error(f"{where}: unknown key(s) {', '.join(extra)}; known: {', '.join(sorted(known))}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    for key, value in values.items():
        if not _fits(value, hints[key]):
            raise error(f"{where}: {key} is {table[key]!r}; expected {_spelled(hints[key])}")
    try:
        return cls(**values)
    except TypeError as problem:
        raise error(f"{where}: {problem}") from problem


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type hint is anything
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, member) for member in members)
    if origin is Literal:
        return value in members
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(x, members[0]) for x in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint if isinstance(hint, type) else object)


def _spelled(hint: Any) -> str:  # noqa: ANN401 - a type hint is anything
    """Return a type as a user of TOML would say it.

    >>> _spelled(tuple[str, ...]), _spelled(int | None), _spelled(Literal["base", "chat"])
    ('a list (each: a text)', 'a whole number', "one of 'base', 'chat'")
    """
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_spelled(member) for member in members if member is not type(None))
    if origin is Literal:
        return f"one of {', '.join(repr(member) for member in members)}"
    if origin is tuple:
        return f"a list (each: {_spelled(members[0])})"
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))
