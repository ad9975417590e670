"""A report's first table: in, a long table of estimates; out, a line a model and corpus and a column a method."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairbank.stats.wording import span, with_interval

MOST_LINES = 25
"""Of a table on a report's first page."""


def wide(long: pd.DataFrame, *, column: str = "method", n_intervals: int = 3) -> pd.DataFrame:
    """Return a line a model and corpus and a column a method; a line a model, or a corpus, where these are too many.

    Args:
        long: Long table, one row a model, corpus and value of `column`.
        column: Whose values are the columns.
        n_intervals: Intervals are shown where there are no more columns than this.
    """
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


def _cell_of(mine: pd.DataFrame, *, interval: bool) -> str:
    if len(mine) == 1:
        return with_interval(mine.iloc[0], interval=interval)
    known = mine["value"].dropna()
    return span(known) if len(known) else "–"


def _whole(n: pd.Series[int]) -> str:
    return f"{n.max():,}" if n.nunique() == 1 else f"{n.min():,} to {n.max():,}"
