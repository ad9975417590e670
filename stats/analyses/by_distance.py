"""Pairs by how far apart their sides are: r within bins of distance, tables of close pairs alone, and curves over bins.

Hu et al. 2026, TACL, section 4.2: ten bins of equal size by the cosine distance of embeddings, and by edits. Section
5.1: pairs of two sentences that were not made from one another are kept where their Levenshtein distance is no larger
than the 75th percentile. The reading which gives the paper's 1,883 pairs of LI takes the percentile over the rated
pairs (18 edits) and keeps all pairs up to it. With the defects of the source repaired it leaves 1,884 pairs; people
rated both sides of 1,792 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.stats.analyses.form import Chart, Rows, groups
from pairbank.stats.figures.charts import MOST_BANDS, MOST_SERIES, curve_panels, curves, place_text
from pairbank.stats.measures.distance_bins import correlation_by_bin, largest_distance_kept
from pairbank.stats.scored_table.method_scores import ScoredFrame, number_column
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow

EDIT_DISTANCE = "edit_distance"
DISTANCES = ("cosine_distance", EDIT_DISTANCE)
BIN_COLUMNS = {"subset": "string", "bin": "int64", "bin_low": "float64", "bin_high": "float64", "bin_median": "float64"}


def rows_by_bin(pairs: ScoredTable, x: FloatArray, y: FloatArray, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield r within each bin of each distance that the pairs have."""
    for column in DISTANCES:
        distance = pairs.numbers(column)
        known = ~np.isnan(distance)
        for result in correlation_by_bin(x[known], y[known], distance[known]):
            b = result.bin
            current = replace(place, group_by=column, group=f"bin {b.number}")
            yield current.row(result.estimate, n_rows=b.rows.size) | b.cells | {"subset": place.group}


def close_pairs(tables: Sequence[ScoredFrame], filtered: Sequence[str]) -> tuple[list[ScoredFrame], Rows]:
    """Return the tables, some corpora with their close pairs only, and what is left of each filtered corpus."""
    used, filters = list[ScoredFrame](), Rows()
    for table in tables:
        if table.corpus not in filtered:
            used.append(table)
            continue
        distance = number_column(table.frame, EDIT_DISTANCE)
        known = ~np.isnan(distance)
        if not known.any():
            raise BankError(
                f"{table.corpus} by {table.model} is to be filtered by {EDIT_DISTANCE}, which it does not have; add it "
                "with pairbank minimalness, or ask for no filter"
            )
        human = number_column(table.frame, "human_good") - number_column(table.frame, "human_bad")
        rated = known & ~np.isnan(human)
        limit = largest_distance_kept(distance[rated if rated.any() else known])
        close = known & (distance <= limit)
        used.append(replace(table, frame=table.frame.iloc[np.flatnonzero(close)].reset_index(drop=True)))
        differs = distance > 0  # identical sides are no choice
        counts = {"n_close": int((close & differs).sum()), "n": int((known & differs).sum()), "limit": float(limit)}
        if (left := {"corpus": table.corpus} | counts) not in filters:
            filters.append(left)
    return used, filters


def bin_charts(binned: pd.DataFrame, *, y_label: str) -> Iterator[Chart]:
    """Yield the curve of r over bins of minimalness, for each corpus and distance, with a line per model."""
    for group in groups(binned, "corpus", "subset", "group_by"):
        corpus, subset, column = group.key
        shown = group.frame[group.frame["method"].isin(list(dict.fromkeys(group.frame["method"]))[:MOST_SERIES])]
        if shown["value"].isna().all():
            continue
        distance, where, n_models = str(column).replace("_", " "), place_text(corpus, subset), shown["model"].nunique()
        style: dict[str, Any] = {"x": "bin_median", "x_label": f"{distance} (median of bin)", "y_label": y_label}
        if n_models == 1:
            draw = partial(curves, shown, series="method", title=where, chance=0, **style)
        else:
            draw = partial(curve_panels, shown, panel="method", series="model", zero=True, **style)
        values = {"y_label": y_label, "distance": distance, "where": where, "n": shown["n"], "n_models": n_models}
        yield Chart(
            name=f"bins {where} {column}", caption="bins", draw=draw, values=values | {"bands": n_models <= MOST_BANDS}
        )
