"""A corpus that publishes mean ratings only: its people and models on the same items. A table in, rows out.

Single raters, their majorities and how far they agree cannot be had of means; the choice that the means make, and r of
a score with them, can.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.stats.analyses.people.section import ceiling_of
from pairbank.stats.analyses.raters.rows import OF_SENTENCES, place_of
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import pearson

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.stats.scored_table.scored_table import ScoredTable

MEANS = "mean ratings"
"""Who chooses where raters are known together only."""


def has_means(table: ScoredTable) -> bool:
    """Return whether people's mean ratings stand beside the items."""
    return bool((~np.isnan(_means(table))).any())


def mean_rows(table: ScoredTable) -> Iterator[dict[str, Any]]:
    """Yield what people's means choose, where both sides have one."""
    human = table.human_delta
    known = ~np.isnan(human)
    if known.any():
        yield place_of(table.corpus, "people", MEANS, estimate=accuracy(human[known]))


def model_mean_rows(table: ScoredTable) -> Iterator[dict[str, Any]]:
    """Yield each method of the model: its choices on the same pairs, and r with the means of the same sentences."""
    means = _means(table)
    for layout in table.layouts:
        delta = table.delta(layout.method)
        known = ~np.isnan(delta + table.human_delta)
        estimate = accuracy(delta[known]) if known.any() else None
        r, n = _r_with(table, layout, means)
        if estimate is not None or not math.isnan(r):
            row = place_of(table.corpus, "model", table.model, method=layout.method, estimate=estimate)
            yield row | {"r_with_means": r, "n_means": n}


def _means(table: ScoredTable) -> FloatArray:
    """Return the mean ratings of all sides, the better ones first; NaN where there is none."""
    return np.concatenate([table.numbers("human_good"), table.numbers("human_bad")])


def _r_with(table: ScoredTable, layout: MethodLayout, means: FloatArray) -> tuple[float, int]:
    """Return r of a method's scores of single sides with people's means, and of how many sides."""
    if layout.kind not in OF_SENTENCES:
        return math.nan, 0
    scores = np.concatenate([table.side(layout.method, side) for side in ("good", "bad")])
    known = ~np.isnan(scores + means)
    found = pearson(scores[known], means[known]) if known.sum() > 2 else None
    return (found.value, int(known.sum())) if found is not None else (math.nan, 0)


def how_many_rated(table: ScoredTable) -> tuple[int, int] | None:
    """Return the least and the greatest number of raters behind a mean; None where the source does not say."""
    n = table.numbers("human_n")
    n = n[~np.isnan(n)]
    return (int(n.min()), int(n.max())) if n.size else None


def mean_reliability_rows(table: ScoredTable) -> Iterator[dict[str, Any]]:
    """Yield the ceiling of r with the pairs' differences, from the spread of the ratings, or why there is none."""
    found = ceiling_of(table)
    yield {
        "corpus": table.corpus,
        "of": "mean differences",
        "measure": "ceiling of r (spread of ratings)",
        "value": found.ceiling_r,
        "low": math.nan,
        "high": math.nan,
        "n": found.n,
        "n_ratings": 0,
        "n_raters": 0,
        "reason": found.reason,
    }
