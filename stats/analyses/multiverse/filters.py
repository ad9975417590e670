"""Which items are taken: in, the rows of a table; out, masks by name: all of them, and what papers leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.measures.distance_bins import distance_filter
from pairbank.stats.scored_table.method_scores import number_column

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.stats.scored_table.scored_table import ScoredTable

ALL = "all"
LEAST_KEPT, LEAST_DROPPED = 20, 0.02


def filters_of(used: ScoredTable) -> dict[str, BoolArray]:
    """Return the filters that leave some items out and 20 in.

    `close`: edit distance of the two sides up to the 75th percentile (Hu et al. 2026); `same length`: as many words on
    both sides; `people agree`: the better side is the one that people prefer on average; `people are sure`: their
    difference is above its median.

    Args:
        used: Rows that are a choice.
    """
    found: dict[str, BoolArray] = {ALL: np.ones(len(used.frame), dtype=np.bool_)}
    distance = edit_distances(used)
    if not np.isnan(distance).all():
        known = ~np.isnan(distance)
        found["close"] = known & (np.nan_to_num(distance, nan=np.inf) <= distance_filter(distance[known]).limit)
    words = [_words(used, name) for name in ("target_good", "target_bad")]
    found["same length"] = (words[0] == words[1]) & (words[0] > 0)
    people = used.human_delta
    if not np.isnan(people).all():
        size = np.nan_to_num(np.abs(people), nan=-1.0)
        found["people agree"] = np.nan_to_num(people, nan=-1.0) > 0
        found["people are sure"] = size > np.median(size[size >= 0])
    n = len(used.frame)
    return {
        name: mask for name, mask in found.items()
        if name == ALL or LEAST_KEPT <= mask.sum() <= (1 - LEAST_DROPPED) * n
    }  # fmt: skip


def edit_distances(used: ScoredTable) -> FloatArray:
    """Return the column `edit_distance`, or what it would hold: edits between the two sides, NaN without texts."""
    known = number_column(used.frame, "edit_distance")
    if not np.isnan(known).all() or not {"target_good", "target_bad"} <= {*used.frame.columns}:
        return known
    from rapidfuzz.distance import Levenshtein

    pairs = zip(used.frame["target_good"], used.frame["target_bad"], strict=True)
    return np.array(
        [Levenshtein.distance(a, b) if isinstance(a, str) and isinstance(b, str) else np.nan for a, b in pairs],
        dtype=np.float64,
    )


def _words(used: ScoredTable, column: str) -> FloatArray:
    if column not in used.frame.columns:
        return np.zeros(len(used.frame))
    return np.array(
        [len(text.split()) if isinstance(text, str) else 0 for text in used.frame[column]], dtype=np.float64
    )
