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
    values = checked(table, {f.name: hints[f.name] for f in fields(cls)}, where=where, error=error)  # type: ignore[arg-type]
    try:
        return cls(**values)
    except TypeError as problem:
        raise error(f"{where}: {problem}") from problem


def checked(
    table: Mapping[str, Any], hints: Mapping[str, Any], *, where: str, error: type[PairbankError]
) -> dict[str, Any]:
    """Return a table's values, with lists as tuples.

    Args:
        table: Values by key.
        hints: Types by key.
        where: File and entry, for the message.
        error: What to raise.

    Raises:
        PairbankError: of the type `error`: a key that has no type, or a value of another type.
    """
    if extra := sorted(table.keys() - hints.keys()):
        raise error(f"{where}: unknown key(s) {', '.join(extra)}; known: {', '.join(sorted(hints))}")
    values = {key: _frozen(value) for key, value in table.items()}
    for key, value in values.items():
        if not _fits(value, hints[key]):
            raise error(f"{where}: {key} is {table[key]!r}; expected {_spelled(hints[key])}")
    return values


def _frozen(value: Any) -> Any:  # noqa: ANN401 - a value of TOML
    """Return lists, also those of an inner table, as tuples."""
    if isinstance(value, Mapping):
        return {key: tuple(cell) if isinstance(cell, list) else cell for key, cell in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type hint is anything
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, member) for member in members)
    if origin is Literal:
        return value in members
    if origin in (tuple, Mapping, dict):
        inner = members[0] if origin is tuple else members[1]
        cells = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
        return isinstance(value, origin) and all(_fits(cell, inner) for cell in cells)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
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
    if origin in (Mapping, dict):
        return f"a table (each: {_spelled(members[1])})"
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))
