"""Correlations within bins of pairs by how far apart their sides are: in, two numbers a pair; out, rows of a table.

Hu et al. 2026, TACL: section 4.2, ten bins of equal size by the cosine distance of embeddings, and by edits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.stats.measures.distance_bins import correlation_by_bin

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.scored_table.scored_table import ScoredTable
    from pairbank.stats.scored_table.summary_row import SummaryRow

DISTANCES = ("cosine_distance", "edit_distance")
BIN_COLUMNS = {"subset": "string", "bin": "int64", "bin_low": "float64", "bin_high": "float64", "bin_median": "float64"}


def rows_by_bin(pairs: ScoredTable, x: FloatArray, y: FloatArray, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield r within each bin of each distance that the pairs have.

    Args:
        pairs: The pairs.
        x: One number a pair, shape (pairs,).
        y: The other.
        place: Model, corpus, method and metric of the rows; its group becomes their subset.
    """
    for column in DISTANCES:
        distance = pairs.numbers(column)
        known = ~np.isnan(distance)
        for result in correlation_by_bin(x[known], y[known], distance[known]):
            b = result.bin
            current = replace(place, group_by=column, group=f"bin {b.number}")
            yield current.row(result.estimate, n_rows=b.rows.size) | b.cells | {"subset": place.group}
