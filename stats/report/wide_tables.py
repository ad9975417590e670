"""Tables for people: in, the long summary; out, wide tables of `0.82 [0.79, 0.85]`, and Markdown.

Where paradigms can be the draws, the interval for paradigms like these follows: `, paradigms [0.74, 0.88]`.

A summary may be several summaries put under each other, and may be filtered first (one group_by, one corpus).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pairbank.stats.estimates.estimate import headings
from pairbank.stats.scored_table.scored_table import MOST_SUBSETS
from pairbank.stats.wording import bounds, number, with_interval

_KEYS = ["model", "corpus", "group_by", "group", "method"]
_BESIDE = ("low", "high", "n")
"""What stands beside a value in a CSV file."""
_PARADIGMS = ("low_paradigms", "high_paradigms")
"""The same, where an interval is over paradigms."""


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
    shown = headings("accuracy", present=set(summary["metric"]))
    return _wide(summary, shown, _KEYS)


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
    return _wide(summary, headings("agreement", present=set(summary["metric"])), [*_KEYS, "versus"])


def accuracy_numbers(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `accuracy_table` as numbers, with all digits: value, low, high and n of each column."""
    shown = headings("accuracy", present=set(summary["metric"]))
    return _as_numbers(summary, shown, _KEYS)


def agreement_numbers(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `agreement_table` as numbers, with all digits: value, low, high and n of each column."""
    return _as_numbers(summary, headings("agreement", present=set(summary["metric"])), [*_KEYS, "versus"])


def _as_numbers(summary: pd.DataFrame, shown: Mapping[str, str], keys: list[str]) -> pd.DataFrame:
    wide = _wide(summary, shown, keys)
    nested = "n_paradigms" in summary.columns and bool((summary["n_paradigms"] > 0).any())
    beside = (*_BESIDE, *(_PARADIGMS if nested else ()))
    chosen = summary[summary["metric"].isin(list(shown))]
    numbers: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in chosen.to_dict("records"):
        row = numbers.setdefault(tuple(record[name] for name in keys), {})
        heading = shown[record["metric"]]
        row |= {heading: record["value"]} | {f"{heading} {name}": record[name] for name in beside}
    columns = [
        name
        for heading in dict.fromkeys(shown.values())
        for name in (heading, *(f"{heading} {name}" for name in beside))
    ]
    result = pd.DataFrame(list(numbers.values()), columns=columns).astype(float)
    result = result.astype({name: "Int64" for name in columns if name.endswith(" n")})
    labels = [name for name in keys if name != "group_by"]
    return pd.concat([wide[[*labels, "n", "excluded"]], result, wide[["notes"]]], axis="columns")


def _wide(summary: pd.DataFrame, shown: Mapping[str, str], keys: list[str]) -> pd.DataFrame:
    chosen = summary[summary["metric"].isin(list(shown))]
    labels = [name for name in keys if name != "group_by"]
    columns = [*labels, "n", "excluded", *dict.fromkeys(shown.values()), "notes"]
    estimates: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    for estimate in chosen.to_dict("records"):
        estimates.setdefault(tuple(estimate[name] for name in keys), []).append(estimate)
    rows = [dict(zip(keys, key, strict=True)) | _cells(part, shown) for key, part in estimates.items()]
    for row in rows:
        row["group"] = "all" if row["group_by"] == "all" else f"{row['group_by']}: {row['group']}"
    return pd.DataFrame(rows, columns=columns)


def _cells(estimates: list[dict[Any, Any]], shown: Mapping[str, str]) -> dict[str, Any]:
    """Return the cells of one wide row; a cell names its own n where it rests on fewer items than the row."""
    n = max(x["n"] for x in estimates)
    row: dict[str, Any] = dict.fromkeys(shown.values(), "")
    notes: list[str] = []
    for x in estimates:
        heading = shown[x["metric"]]
        row[heading] = _number(x) + ("" if x["n"] == n else f" (n = {x['n']})")
        if not pd.isna(x["reason"]):
            notes.append(f"{heading}: {x['reason']}")
    return row | {"n": n, "excluded": min(x["n_excluded"] for x in estimates), "notes": "; ".join(notes)}


def _number(estimate: Mapping[Any, Any]) -> str:
    if pd.isna(estimate["value"]):
        return "undefined"
    if pd.isna(estimate["low"]):
        return f"{number(estimate['value'])} [no interval]"
    over = estimate.get("low_paradigms")
    if over is None or pd.isna(over):
        return with_interval(estimate)
    return f"{with_interval(estimate)}, paradigms {bounds(over, estimate['high_paradigms'])}"
