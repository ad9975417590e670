"""The pairs that count as minimal: in, scored tables and which corpora to filter; out, tables of their close pairs.

Hu et al. 2026, TACL, section 5.1: pairs of two sentences that were not made from one another are kept where their
Levenshtein distance is no larger than the 75th percentile. The reading which gives the paper's 1,883 pairs of LI takes
the percentile over the rated pairs (18 edits) and keeps all pairs up to it. With the defects of the source mended it
leaves 1,884 pairs; people rated both sides of 1,792 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.measures.distance_bins import distance_filter
from pairbank.stats.scored_table.method_scores import ScoredFrame, number_column

EDIT_DISTANCE = "edit_distance"


def close_pairs(tables: Sequence[ScoredFrame], filtered: Sequence[str]) -> tuple[list[ScoredFrame], list[str]]:
    """Return the tables, those of some corpora with their close pairs only, and a sentence a filtered corpus.

    Args:
        tables: Scored tables.
        filtered: Names of the corpora whose pairs are filtered; one that no table is of is passed over.

    Raises:
        BankError: Such a table has no edit distances.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item_id": list("abcde"), "edit_distance": [1, 2, 3, 3, 9]})
    >>> toy = ScoredFrame(corpus="toy", model="m", frame=frame, layouts=())
    >>> close_pairs([toy], ["toy"])[1]
    ['Of toy, the 4 of 5 pairs at most 3 edits apart are used (75th percentile).']
    """
    results = [_close(table) if table.corpus in filtered else (table, "") for table in tables]
    return [table for table, _ in results], list(dict.fromkeys(text for _, text in results if text))


def _close(table: ScoredFrame) -> tuple[ScoredFrame, str]:
    frame = table.frame
    distance = number_column(frame, EDIT_DISTANCE)
    known = ~np.isnan(distance)
    if not known.any():
        raise BankError(
            f"{table.corpus} by {table.model} is to be filtered by {EDIT_DISTANCE}, which it does not have; add it "
            "with pairbank minimalness, or ask for no filter"
        )
    human = number_column(frame, "human_good") - number_column(frame, "human_bad")
    rated = known & ~np.isnan(human)
    limit = distance_filter(distance[rated if rated.any() else known]).limit
    close = known & (distance <= limit)
    differs = distance > 0  # identical sides are no choice
    text = (
        f"Of {table.corpus}, the {(close & differs).sum():,} of {(known & differs).sum():,} pairs at most "
        f"{limit:g} edits apart are used (75th percentile)."
    )
    return replace(table, frame=frame.iloc[np.flatnonzero(close)].reset_index(drop=True)), text
