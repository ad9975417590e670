"""The papers' lists of models: in, a paper's name; out, its models as choices, and as TOML for `--models`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from pairbank.scoring.models.options import LoadOptions, reference_of, with_revision
from pairbank.stats.analyses.introspection.model_features import (
    ModelFeatures,
    features_in_paper,
    models_in_paper,
    papers,
)
from pairbank.study.model_list import SCOPE, ModelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedList:
    """The models of a paper."""

    name: str
    source: str
    """Where the paper says which they are."""
    choices: list[ModelChoice]
    closed: tuple[str, ...]
    """Models of the paper that nobody can download."""

    def toml(self) -> str:
        """Return the list as the text of a TOML file."""
        head = [f"# {self.source}.", "# Made by `pairbank models`; see docs/models.md."]
        if self.closed:
            head.append(f"# Not among them, for they cannot be downloaded: {', '.join(self.closed)}.")
        return "\n".join([*head, *(line for choice in self.choices for line in _lines(choice))]) + "\n"


def shipped_list(name: str) -> ShippedList:
    """Return a list by its name.

    Raises:
        UnknownNameError: no such list.

    >>> found = shipped_list("song-2025")
    >>> len(found.choices), found.choices[4].id, found.choices[4].options
    (21, 'Qwen/Qwen2.5-72B', {'name': 'Qwen 72B', 'quantisation': '4bit'})
    """
    facts = models_in_paper(name)
    features, options = features_in_paper(name), facts["options"]
    languages: Mapping[str, list[str]] = facts.get("languages", {})
    choices = [
        replace(
            _choice(shown, model_id, options.get(shown, {}), features[shown]), languages=tuple(languages.get(shown, ()))
        )
        for shown, model_id in facts["names"].items()
    ]
    return ShippedList(name=name, source=facts["source"], choices=choices, closed=tuple(facts["closed"]))


def list_rows() -> list[dict[str, str]]:
    """Return a row a list, for people."""
    rows = []
    for name in papers():
        found = shipped_list(name)
        kinds = sorted({choice.features.family for choice in found.choices if choice.features})
        rows.append(
            {"list": name, "models": str(len(found.choices)), "families": ", ".join(kinds), "source": found.source}
        )
    return rows


def _choice(name: str, model_id: str, options: Mapping[str, Any], features: ModelFeatures) -> ModelChoice:
    asked = reference_of(model_id)
    own = cast("LoadOptions", {"name": name, **options})
    return ModelChoice(id=asked.id, options=with_revision(own, asked.revision), features=features)


def _lines(choice: ModelChoice) -> Iterator[str]:
    yield "\n[[models]]"
    yield f"id = {json.dumps(choice.id)}"
    for option, value in choice.options.items():
        yield f"{option} = {_value(value)}"
    for key in SCOPE:
        if values := getattr(choice, key):
            yield f"{key} = {_value(list(values))}"
    for field in fields(ModelFeatures) if choice.features else ():
        value = getattr(choice.features, field.name)
        if value != field.default:
            yield f"{field.name} = {_value(value)}"


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int | list) else repr(value)
