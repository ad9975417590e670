"""The order of models in a report: in, scored tables and what is declared; out, the tables from small to large models.

Tables and figures show models in the order of the tables, so that this is the one place that decides it. Sizes are
declared (by the user, or in the lists that ship), never read from a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pairbank.markdown import html_as_text
from pairbank.stats.analyses.introspection.model_features import ModelFeatures, by_size, find_features

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

MOST_NAMED = 4


def from_small_to_large(
    tables: Sequence[Scored], given: Mapping[str, ModelFeatures] | None = None
) -> tuple[list[Scored], str]:
    """Return tables by model, from small to large, and a sentence that says so; empty where no size is declared.

    Args:
        tables: Each of one corpus and model; corpora of a model keep their order.
        given: The user's declarations by model name, before the shipped ones.
    """
    found = _declared(tables, given or {})
    models = by_size(list(found), found)
    corpora = list(dict.fromkeys(table.corpus for table in tables))
    place = {model: nth for nth, model in enumerate(models)}
    ordered = sorted(tables, key=lambda table: (place[table.model], corpora.index(table.corpus)))
    return ordered, _said(models, found)


def names_by_size(names: Sequence[str], given: Mapping[str, ModelFeatures]) -> list[str]:
    """Return models' names from small to large, where there is no more to find them by.

    >>> names_by_size(["mine", "Llama3.1 405B", "Qwen 1.5B"], {})
    ['Qwen 1.5B', 'Llama3.1 405B', 'mine']
    """
    return by_size(names, {name: find_features(name, given=given, beside=names) for name in names})


def _declared(tables: Sequence[Scored], given: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures | None]:
    """Return what is declared of each model, in order of appearance."""
    names = {table.model for table in tables}
    found: dict[str, ModelFeatures | None] = {}
    for table in tables:
        if found.get(table.model) is None:
            model_id = str(table.signature.get("model", {}).get("model_id", ""))
            found[table.model] = find_features(
                table.model, model_id=model_id, corpus=table.corpus, given=given, beside=names
            )
    return found


def _said(models: Sequence[str], found: Mapping[str, ModelFeatures | None]) -> str:
    unknown = [model for model in models if found[model] is None]
    if len(models) < 2 or len(unknown) == len(models):
        return ""
    said = "In tables and figures models stand from small to large, by their declared numbers of parameters"
    if not unknown:
        return f"{said}."
    names = ", ".join(unknown[:MOST_NAMED]) + (
        f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
    )
    return html_as_text(f"{said}; nothing is declared of {names}: last.")
