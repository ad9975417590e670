"""The order of models: from small to large, by their declared numbers of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pairbank.markdown import html_as_text
from pairbank.stats.scored_table.model_features import ModelFeatures, by_size, declared_of, find_features
from pairbank.stats.wording import names

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored


def from_small_to_large(
    tables: Sequence[Scored], given: Mapping[str, ModelFeatures] | None = None
) -> tuple[list[Scored], str]:
    """Return tables by model, from small to large, and a sentence that says so; empty where no size is declared."""
    features = declared_of(tables, given or {})
    models = by_size(list(features), features)
    corpora = list(dict.fromkeys(table.corpus for table in tables))
    place = {model: nth for nth, model in enumerate(models)}
    ordered = sorted(tables, key=lambda table: (place[table.model], corpora.index(table.corpus)))
    unknown = [model for model in models if features[model] is None]
    if len(models) < 2 or len(unknown) == len(models):
        return ordered, ""
    text = "In tables and figures, models are ordered from small to large, by their declared numbers of parameters"
    return ordered, html_as_text(f"{text}; nothing is declared of {names(unknown)}: last.") if unknown else f"{text}."


def names_by_size(models: Sequence[str], given: Mapping[str, ModelFeatures]) -> list[str]:
    """Return models' names from small to large, where there is no more to find them by.

    >>> names_by_size(["mine", "Llama3.1 405B", "Qwen 1.5B"], {})
    ['Qwen 1.5B', 'Llama3.1 405B', 'mine']
    """
    return by_size(models, {model: find_features(model, given=given, beside=models) for model in models})
