"""Estimates in words and in a first table: in, a long table; out, cells with intervals, ranges that name their ends.

Several models or corpora are said from the smallest to the largest value, each with whose it is: never as a mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

MOST_LINES = 25
"""Of a table on a report's first page."""


def cell(row: Mapping[Any, Any] | pd.Series[Any], *, interval: bool = True) -> str:
    """Return a value with its interval.

    >>> cell({"value": 0.5, "low": 0.4, "high": 0.61}), cell({"value": float("nan"), "low": 0.4, "high": 0.61})
    ('0.50 [0.40, 0.61]', 'undefined')
    """
    if pd.isna(row["value"]):
        return "undefined"
    shown = f"{row['value']:z.2f}"
    return f"{shown} [{row['low']:z.2f}, {row['high']:z.2f}]" if interval and not pd.isna(row["low"]) else shown


def ranged(rows: pd.DataFrame, keys: Sequence[str], *, code: Sequence[str] = ("method",)) -> str:
    """Return the one value, or the smallest and the largest with whose they are; `undefined` where none is known.

    Args:
        rows: Long table.
        keys: Columns that tell the rows apart; those that do not vary are not said.
        code: Which of them stand between backticks.
    """
    known = rows[rows["value"].notna()].sort_values("value", kind="stable")
    if known.empty:
        return "undefined"
    if len(known) == 1:
        return cell(known.iloc[0])
    varying = [key for key in keys if rows[key].nunique() > 1]
    ends = (known.iloc[0], known.iloc[-1])
    return " to ".join(
        f"{cell(end)} ({', '.join(f'`{end[key]}`' if key in code else str(end[key]) for key in varying)})"
        for end in ends
    )


def said_once(values: pd.Series[float]) -> str | None:
    """Return what several values are, where two digits do not tell them apart; None where they do.

    >>> said_once(pd.Series([0.501, 0.499])), said_once(pd.Series([0.5, 0.52]))
    ('0.50 everywhere', None)
    """
    low, high = f"{values.min():z.2f}", f"{values.max():z.2f}"
    return f"{low} everywhere" if low == high else None


def span(values: pd.Series[float]) -> str:
    """Return the smallest and the largest of some values, or one where two digits do not tell them apart.

    >>> span(pd.Series([0.501, 0.499])), span(pd.Series([0.52, 0.5]))
    ('0.50', '0.50 to 0.52')
    """
    low, high = f"{values.min():z.2f}", f"{values.max():z.2f}"
    return low if low == high else f"{low} to {high}"


def counts(rows: pd.DataFrame) -> str:
    """Return how many items some rows rest on: `n = 10 to 1,000`."""
    least, most = int(rows["n"].min()), int(rows["n"].max())
    return f"n = {least:,}" if least == most else f"n = {least:,} to {most:,}"


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
            mine = part[part[column] == name]
            row[str(name)] = _cell_of(mine, interval=len(names) <= n_intervals)
        rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, "n", *map(str, names)])


def _lines(long: pd.DataFrame) -> list[str]:
    if len(long[["model", "corpus"]].drop_duplicates()) <= MOST_LINES:
        return ["corpus", "model"]
    return ["model"] if long["model"].nunique() <= MOST_LINES else ["corpus"]


def _cell_of(mine: pd.DataFrame, *, interval: bool) -> str:
    if len(mine) == 1:
        return cell(mine.iloc[0], interval=interval)
    known = mine["value"].dropna()
    return f"{known.min():z.2f} to {known.max():z.2f}" if len(known) else "–"


def _whole(n: pd.Series[int]) -> str:
    return f"{n.max():,}" if n.nunique() == 1 else f"{n.min():,} to {n.max():,}"
