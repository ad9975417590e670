"""Records that somebody declares in a file (TOML, JSON): a class says keys and types, errors name key and remedy."""

from __future__ import annotations

import difflib
import functools
import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Self, TypeVar, cast, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic_core import ErrorDetails

from pairbank.errors import PairbankError
from pairbank.files import reading

T = TypeVar("T")
STRICT = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)
"""`__pydantic_config__` of a dataclass that a file declares: unknown keys are errors, and so is "3" for 3."""
_MISSING, _UNKNOWN = "missing", ("extra_forbidden", "unexpected_keyword_argument")
_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "dataclass_type": "a table",
    "model_attributes_type": "a table",
}


class StoredRecord(BaseModel):
    """What pairbank wrote as JSON: frozen, strict about types; unknown keys are of another version."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Declaration(BaseModel):
    """A table of a file: frozen, strict about types, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, table: Mapping[str, Any], *, where: str, error: type[PairbankError]) -> Self:
        try:
            return cls.model_validate(table)
        except ValidationError as problem:
            raise error(_in_words(cls, table, problem, where)) from problem

    @classmethod
    def load(cls, path: Path, *, error: type[PairbankError]) -> Self:
        with reading(path, error, saying="not TOML", remedy="correct it"):
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls.of(table, where=str(path), error=error)


def record_of(cls: type[T], table: Mapping[str, Any], *, where: str, error: type[PairbankError]) -> T:
    """Return the dataclass that a table declares; its class says `__pydantic_config__ = STRICT`."""
    try:
        record: T = _adapter(cast("Any", cls)).validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as problem:
        raise error(_in_words(cls, table, problem, where)) from problem
    return record


def table_of(record: type, own: type[Declaration]) -> type[Declaration]:
    """Return the class of a table that declares a dataclass: its keys are those of `own`, and what the record has more.

    Of a key that has a default, the table has none: `model_dump(exclude_unset=True)` says what somebody stated.
    """
    hints = get_type_hints(record)
    keys: dict[str, Any] = {
        key.name: (hints[key.name], ... if key.default is key.default_factory is MISSING else None)
        for key in fields(record)
        if key.name not in own.model_fields
    }
    return create_model(f"{record.__name__}Table", __base__=own, **keys)


def problems_of(cls: type, value: Any) -> list[str]:  # noqa: ANN401 - what JSON gave
    """Return in words all that a value of JSON has not as a class says; none = it can be used.

    >>> class Facts(StoredRecord):
    ...     n_items: int
    ...     title: str = ""
    >>> problems_of(Facts, {"n_items": "2", "title": None, "later": 1}), problems_of(Facts, [])
    (["n_items is '2'; expected a whole number", 'title is None; expected a text'], ['it is []; expected a table'])
    """
    try:
        _adapter(cls).validate_json(json.dumps(value, default=str), strict=True)
    except ValidationError as problem:
        return _faults(cls, value, problem)
    return []


@functools.cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def _in_words(cls: type, table: Mapping[str, Any], problem: ValidationError, where: str) -> str:
    return "; ".join(f"{where}: {fault}" for fault in _faults(cls, table, problem))


def _faults(cls: type, table: Any, problem: ValidationError) -> list[str]:  # noqa: ANN401 - what JSON gave
    """Return all faults in words; what several types of one key do not like of it is one fault."""
    by_key: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for fault in problem.errors():
        by_key.setdefault(_path(fault, table), []).append(fault)
    return [_message(cls, list(path), faults) for path, faults in by_key.items()]


def _path(fault: ErrorDetails, table: Any) -> tuple[int | str, ...]:  # noqa: ANN401 - what TOML gave
    path: list[int | str] = []
    inner = table
    for step in fault["loc"]:
        is_listed = isinstance(inner, list | tuple) and isinstance(step, int) and step < len(inner)
        if not (is_listed or (isinstance(inner, Mapping) and step in inner)):
            return (*path, step) if fault["type"] in (_MISSING, *_UNKNOWN) else tuple(path)
        inner = inner[step]
        path.append(step)
    return tuple(path)


def _message(cls: type, path: list[int | str], faults: list[ErrorDetails]) -> str:
    fault = faults[0]
    key = ".".join(str(step)[:80] for step in path)
    if fault["type"] in _UNKNOWN:
        known = _keys(cls, path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        return f"unknown key {key!r}{hint} Known keys: {', '.join(known)}"
    if fault["type"] == _MISSING:
        return f"{key} is missing"
    texts = [_EXPECTED.get(problem["type"]) or (problem.get("ctx") or {}).get("expected") for problem in faults]
    expected = " or ".join(dict.fromkeys(text for text in texts if text))
    reported = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "greater_than_equal":
        at_least = fault["ctx"]["ge"]
        expected = f"{at_least:g} or a larger number"
    if not expected and (not key or isinstance(fault["input"], Mapping)):  # of a whole table
        return f"{key}: {reported}" if key else reported
    if expected == "a table" and path and isinstance(path[-1], int):
        expected = f"a table: [[{'.'.join(str(step) for step in path[:-1])}]]"
    shown = f"{key or 'it'} is {fault['input']!r:.80}"
    return f"{shown}; expected {expected}" if expected else f"{shown}: {reported}"


def _keys(model: type, path: list[int | str]) -> list[str]:
    for name in path:
        annotation = _annotations(model).get(str(name))
        model = next(iter(_models(annotation)), model)
    if issubclass(model, BaseModel):
        return sorted(field.alias or name for name, field in model.model_fields.items())
    return sorted(_annotations(model))


def _annotations(model: type) -> dict[str, Any]:
    if issubclass(model, BaseModel):
        return {name: field.annotation for name, field in model.model_fields.items()}
    hints = get_type_hints(model)
    return {key.name: hints[key.name] for key in fields(model)} if is_dataclass(model) else {}


def _models(annotation: Any) -> list[type]:  # noqa: ANN401 - any annotation
    if isinstance(annotation, type) and (is_dataclass(annotation) or issubclass(annotation, BaseModel)):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models(inner)]
