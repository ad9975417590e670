"""What both analyses of languages read: every item by every method, and where languages belong."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from pairbank.builders.languages import language_facts
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table

UNKNOWN = "unknown"
LEAST_LANGUAGES = 2
FACETS = ("item_id", "language", "phenomenon", "negative_type", "property", "target_good")


def items_of(table: ScoredFrame) -> Iterator[pd.DataFrame]:
    """Yield the items of a table by each of its methods; `delta` is NaN where a method has none."""
    read = read_table(table)
    items = read.frame.reindex(columns=[*FACETS]).astype(object)
    items = items.assign(model=table.model, corpus=table.corpus, is_choice=read.is_choice)
    for layout in read.layouts:
        yield items.assign(method=layout.method, delta=read.delta(layout.method))


def name(tag: str) -> str:
    """Return the name of a language; empty where the list does not have it."""
    facts = language_facts().get(tag.partition("-")[0])
    return facts.name if facts else ""


def family(tag: str) -> str:
    """Return the family of a language, `unknown` where the list does not have it.

    >>> family("fr-CA"), family("xx")
    ('Indo-European, Romance', 'unknown')
    """
    facts = language_facts().get(tag.partition("-")[0])
    return facts.family if facts else UNKNOWN


def resource(tag: str) -> int:
    """Return the class of a language; -1 where it has none."""
    facts = language_facts().get(tag.partition("-")[0])
    return facts.resource if facts is not None and facts.resource is not None else -1
