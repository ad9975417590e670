"""Records that somebody declares in a file (TOML, JSON): a subclass says keys and types, errors name key and remedy.

In: a table. Out: a frozen pydantic model, or one error that lists every fault of the table.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from pairbank.errors import PairbankError
from pairbank.files import reading

_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


class Declaration(BaseModel):
    """A table of a file: frozen, strict about types, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, table: Mapping[str, Any], *, where: str, error: type[PairbankError]) -> Self:
        """Return the record that a table declares.

        Raises:
            PairbankError: of the type `error`; one message lists all faults, each with its key.
        """
        try:
            return cls.model_validate(table)
        except ValidationError as problem:
            raise error("; ".join(f"{where}: {cls._message(one)}" for one in problem.errors())) from problem

    @classmethod
    def load(cls, path: Path, *, error: type[PairbankError]) -> Self:
        """Return the record that a TOML file declares; errors as for `of`."""
        with reading(path, error, saying="not TOML", remedy="correct it"):
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls.of(table, where=str(path), error=error)

    @classmethod
    def _message(cls, fault: ErrorDetails) -> str:
        place = [str(step) for step in fault["loc"]]
        key = ".".join(place)
        if fault["type"] == "extra_forbidden":
            known = _keys(cls, place[:-1])
            near = difflib.get_close_matches(place[-1], known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            return f"unknown key {key!r}{hint} Known keys: {', '.join(known)}"
        if fault["type"] == "missing":
            return f"{key} is missing"
        expected = _EXPECTED.get(fault["type"]) or (fault.get("ctx") or {}).get("expected")
        told = str(fault["msg"]).removeprefix("Value error, ")
        if not key:
            return told
        return f"{key} is {fault['input']!r:.80}{f'; expected {expected}' if expected else f': {told}'}"


def _keys(model: type[BaseModel], place: list[str]) -> list[str]:
    """Return the keys of a model's inner table, `place` being its keys from the outside."""
    for name in place:
        field = model.model_fields.get(name)
        model = next((one for one in _models(field.annotation if field else None)), model)
    return sorted(field.alias or name for name, field in model.model_fields.items())


def _models(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - any annotation
    """Return the models that an annotation names, itself or within `tuple[…]`, `dict[…]` or a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for one in get_args(annotation) for model in _models(one)]
