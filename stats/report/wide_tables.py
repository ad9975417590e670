"""Tables for people: the long summary in, one row per method with cells such as `0.82 [0.79, 0.85]` out.

Where paradigms can be the draws, the interval for paradigms like these follows: `, paradigms [0.74, 0.88]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from pairbank.stats.estimates.estimate import headings
from pairbank.stats.scored_table.scored_table import MOST_SUBSETS
from pairbank.stats.wording import bounds, number, with_interval

Table = Literal["accuracy", "agreement"]


def headline(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows for a first look: whole corpora, or their subsets where these are few and differ in kind."""
    by_subset = summary[summary["group_by"] == "subset"]
    n_subsets = by_subset.groupby("corpus")["group"].nunique()
    few = set(n_subsets.index[n_subsets <= MOST_SUBSETS])
    return summary[(summary["group_by"] == "all") | ((summary["group_by"] == "subset") & summary["corpus"].isin(few))]


def accuracy_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, corpus, group and method, with its accuracies as text.

    Args:
        summary: What `summarise` returned.

    Returns:
        Columns model, corpus, group, method, n, excluded, `accuracy`, `orders pooled`, `first option
        chosen`, where a method has them `of likeliest ratings`, `no answer found` and `mean log P (nats)`, and notes
        (why a number or its interval is missing). People are the method `human`.

    >>> row = {"model": "gpt2", "corpus": "toy", "group_by": "all", "group": "", "method": "direct",
    ...        "versus": "", "metric": "accuracy", "value": 0.82, "low": 0.788, "high": 0.851, "n": 640,
    ...        "n_excluded": 0, "ci_method": "bootstrap-percentile", "reason": None}
    >>> accuracy_table(pd.DataFrame([row]))["accuracy"].item()
    '0.82 [0.79, 0.85]'
    """
    return _wide(summary, "accuracy", _text, [""], empty="")


def agreement_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, corpus, group and pair of methods, with their agreement as text.

    Args:
        summary: What `summarise` returned.

    Returns:
        Columns model, corpus, group, method, versus (`direct` or `human`), n, excluded, `Pearson r`,
        `Spearman rho`, `Cohen's kappa`, `same choice` and notes.

    >>> row = {"model": "gpt2", "corpus": "toy", "group_by": "subset", "group": "binding", "method": "meta",
    ...        "versus": "direct", "metric": "kappa", "value": float("nan"), "low": float("nan"),
    ...        "high": float("nan"), "n": 0, "n_excluded": 3, "ci_method": "kappa-asymptotic",
    ...        "reason": "no items"}
    >>> agreement_table(pd.DataFrame([row]))[["group", "Cohen's kappa", "notes"]].values.tolist()
    [['subset: binding', 'undefined', "Cohen's kappa: no items"]]
    """
    return _wide(summary, "agreement", _text, [""], empty="")


def wide_numbers(summary: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Return the rows of a wide table as numbers, with all digits: value, low, high and n of each column."""
    nested = "n_paradigms" in summary.columns and bool((summary["n_paradigms"] > 0).any())
    beside = ("low", "high", "n", *(("low_paradigms", "high_paradigms") if nested else ()))

    def numbers(heading: str, estimate: Mapping[Any, Any], _n: int) -> dict[str, float]:
        return {heading: estimate["value"]} | {f"{heading} {name}": estimate[name] for name in beside}

    wide = _wide(summary, table, numbers, ["", *(f" {name}" for name in beside)], empty=math.nan)
    columns = [*wide][[*wide].index("excluded") + 1 : -1]
    return wide.astype({name: "Int64" if name.endswith(" n") else float for name in columns})


def _wide(
    summary: pd.DataFrame,
    table: Table,
    cells: Callable[[str, Mapping[Any, Any], int], Mapping[str, Any]],
    ends: Sequence[str],
    *,
    empty: float | str,
) -> pd.DataFrame:
    """Return a row per model, corpus, group, method (and what it is compared with), and the cells of its estimates."""
    shown = headings(table, set(summary["metric"]))
    keys = ["model", "corpus", "group_by", "group", "method", *(["versus"] if table == "agreement" else [])]
    estimates: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    for estimate in summary[summary["metric"].isin(list(shown))].to_dict("records"):
        estimates.setdefault(tuple(estimate[name] for name in keys), []).append(estimate)
    columns = [f"{heading}{end}" for heading in dict.fromkeys(shown.values()) for end in ends]
    rows = []
    for key, part in estimates.items():
        row, n = dict(zip(keys, key, strict=True)) | dict.fromkeys(columns, empty), max(x["n"] for x in part)
        row["group"] = "all" if row["group_by"] == "all" else f"{row['group_by']}: {row['group']}"
        row |= {"n": n, "excluded": min(x["n_excluded"] for x in part)}
        for x in part:
            row |= cells(shown[x["metric"]], x, n)
        row["notes"] = "; ".join(f"{shown[x['metric']]}: {x['reason']}" for x in part if not pd.isna(x["reason"]))
        rows.append(row)
    return pd.DataFrame(
        rows, columns=[*(name for name in keys if name != "group_by"), "n", "excluded", *columns, "notes"]
    )


def _text(heading: str, estimate: Mapping[Any, Any], n: int) -> dict[str, str]:
    """Return a cell, which names its own n where it rests on fewer items than the row."""
    return {heading: estimate_text(estimate) + ("" if estimate["n"] == n else f" (n = {estimate['n']})")}


def estimate_text(estimate: Mapping[Any, Any]) -> str:
    if pd.isna(estimate["value"]):
        return "undefined"
    if pd.isna(estimate["low"]):
        return f"{number(estimate['value'])} [no interval]"
    over = estimate.get("low_paradigms")
    if over is None or pd.isna(over):
        return with_interval(estimate)
    return f"{with_interval(estimate)}, paradigms {bounds(over, estimate['high_paradigms'])}"
