"""How probable is the word that came next, measured and asked? Of scored one-sided items (Hu & Levy 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis, wide
from pairbank.stats.estimates.shares import mean_of_items
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table
from pairbank.stats.wording import number, with_interval

TASK = "word_prediction"


@analysis(
    title="Word prediction", needs=f"none of {{corpora}} has scored items of the task {TASK}; score p18 or news-2023"
)
def prediction(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return mean log P by method, and its correlation with `direct`."""
    rows = [
        row for table in map(read_table, tables) for row in _rows(table.rows(table.has_value("task", TASK)).choices)
    ]
    if not rows:
        return Result()
    result = long_table(rows)
    return Result(
        tables={"words": wide(result, rows=("model", "corpus"), columns="method", cell=_cell), "prediction": result}
    )


def _rows(words: ScoredTable) -> Iterator[dict[str, Any]]:
    direct = words.side(words.reference, "good")
    for layout in words.layouts:
        logprob = words.side(layout.method, "good")
        known, both = ~np.isnan(logprob), ~np.isnan(logprob + direct)
        place, n = SummaryRow(method=layout.method, **words.place), int(known.sum())
        if n:
            yield replace(place, metric="mean_logprob").row(mean_of_items(logprob[known]), n_rows=n)
        if layout.method != words.reference and both.any():
            r = pearson(direct[both], logprob[both])
            yield replace(place, versus=words.reference, metric="pearson").row(r, n_rows=n)


def _cell(row: dict[str, Any]) -> str:
    return with_interval(row) if row["metric"] == "mean_logprob" else f", r = {number(row['value'])}"
