"""What both analyses of languages read: every item by every method, and where languages belong."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from pairbank.builders.languages import LanguageFacts, language_facts
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


def facts_of(tag: str) -> LanguageFacts:
    """Return what is known of a language; of one that the list does not have, that it is of an unknown family.

    >>> facts_of("fr-CA").family, facts_of("xx").family
    ('Indo-European, Romance', 'unknown')
    """
    unknown = LanguageFacts(language=tag, name="", family=UNKNOWN, resource=None)
    return language_facts().get(tag.partition("-")[0], unknown)
