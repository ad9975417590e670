"""Pairs by how far apart their sides are: r within bins of distance, tables of close pairs alone, and a first table.

Hu et al. 2026, TACL, section 4.2: ten bins of equal size by the cosine distance of embeddings, and by edits. Section
5.1: pairs of two sentences that were not made from one another are kept where their Levenshtein distance is no larger
than the 75th percentile. The reading which gives the paper's 1,883 pairs of LI takes the percentile over the rated
pairs (18 edits) and keeps all pairs up to it. With the defects of the source mended it leaves 1,884 pairs; people rated
both sides of 1,792 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.measures.distance_bins import correlation_by_bin, distance_filter
from pairbank.stats.scored_table.method_scores import ScoredFrame, number_column
from pairbank.stats.wording import span, with_interval

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
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


def close_pairs(tables: Sequence[ScoredFrame], filtered: Sequence[str]) -> tuple[list[ScoredFrame], list[str]]:
    """Return the tables, those of some corpora with their close pairs only, and a sentence a filtered corpus.

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


MOST_LINES = 25
"""Of a table on a report's first page."""


def wide(long: pd.DataFrame, *, column: str = "method", n_intervals: int = 3) -> pd.DataFrame:
    """Return a line a model and corpus and a column a method; a line a model, or a corpus, where these are too many."""
    names = list(dict.fromkeys(long[column]))
    keys = _lines(long)
    rows: list[dict[str, Any]] = []
    for place, part in long.groupby(keys, sort=False):
        row: dict[str, Any] = {**dict(zip(keys, place, strict=True)), "n": _whole(part["n"])}
        for name in names:
            selected = part[part[column] == name]
            row[str(name)] = _cell_of(selected, interval=len(names) <= n_intervals)
        rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, "n", *map(str, names)])


def _lines(long: pd.DataFrame) -> list[str]:
    if len(long[["model", "corpus"]].drop_duplicates()) <= MOST_LINES:
        return ["corpus", "model"]
    return ["model"] if long["model"].nunique() <= MOST_LINES else ["corpus"]


def _cell_of(rows: pd.DataFrame, *, interval: bool) -> str:
    return with_interval(rows.iloc[0], interval=interval) if len(rows) == 1 else span(rows["value"])


def _whole(n: pd.Series[int]) -> str:
    return f"{n.max():,}" if n.nunique() == 1 else f"{n.min():,} to {n.max():,}"
