"""Answers that name a place, not a side: in, the long summary; out, which models give one option whatever it is.

Where a model names the option shown first in 95% of the presentations or more, or in 5% or fewer, its answers tell
nothing of the sides; differences averaged over orders still tell how much surer it is of that option in one order than
in the other. The accuracy that leads is then that of its answers, with the orders pooled; the averaged one, where that
is its paper's, stands beside it. A method that shows the correct option in one place only is left as it is: there, to
be right and to name that place are one.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.wording import number, percent, shared_value, span

SAME_PLACE = 0.95
"""Share of presentations in which the first option is named (or another one) that counts as an answer by place."""
KEYS = ["model", "corpus", "method"]
FIRST, OTHER = "always the first option", "never the first option"
POOLED, BIAS = "accuracy_pooled", "position_bias"
MOST_NAMED = 3


def is_one_place(share: float) -> bool:
    """Return whether a share of first options is that of a model which answers by place.

    >>> [is_one_place(share) for share in (0.94, 0.95, 0.5, 0.05, float("nan"))]
    [False, True, False, True, False]
    """
    return share >= SAME_PLACE or share <= 1 - SAME_PLACE + 1e-12


def place_said(share: float) -> str:
    """Return what such a model answers."""
    return FIRST if share >= SAME_PLACE else OTHER


def shows_both(layout: MethodLayout) -> bool:
    """Return whether the correct option is shown first in some presentations and not in others."""
    if not layout.is_judged:
        return False
    return len({correct == first for correct, first in zip(layout.correct, layout.shown_first, strict=True)}) > 1


def by_place(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> pd.Series[float]:
    """Return the share of first options of those that answer by place, by model, corpus and method.

    Args:
        summary: What `summarise` returned for all tables.
        layouts: The methods, by name.
    """
    whole = summary[(summary["group_by"] == "all") & summary["method"].isin([*_both(layouts)])]
    shares: pd.Series[float] = whole[whole["metric"] == BIAS].set_index(KEYS)["value"].astype(float)
    pooled = whole[(whole["metric"] == POOLED) & whole["value"].notna()].set_index(KEYS).index
    return shares[shares.map(is_one_place).astype(bool) & shares.index.isin(pooled)]


def _both(layouts: Mapping[str, MethodLayout]) -> list[str]:
    return [name for name, layout in layouts.items() if shows_both(layout)]


def places_said(part: pd.DataFrame, labels: Mapping[str, str], *, n_asked: int, pooled: str) -> str:
    """Return a sentence on models that answer by place.

    Args:
        part: Their rows of a table of accuracies, with the share of first options in `first_option`.
        labels: What people call the methods.
        n_asked: How many models, corpora and prompted methods there are in all.
        pooled: Their accuracies in words, with the orders pooled.
    """
    of_paper = part["averaged"].dropna()
    averaged = f", {span(of_paper)} averaged over them" if len(of_paper) else ""
    if len(part) == 1:
        (one,) = part.to_dict("records")
        share = f" ({percent(one['first_option'])} of answers)"
        return (
            f"Asked by {labels.get(one['method'], one['method'])}, {one['model']} names "
            f"{place_said(one['first_option'])}{share}, whichever side that is: {pooled} with orders pooled{averaged}"
        )
    varying = [key for key in KEYS if part[key].nunique() > 1]
    who: dict[str, list[str]] = {}
    for row in part.to_dict("records"):
        first, *rest = (labels.get(row[key], str(row[key])) for key in varying)
        name = f"{first} ({', '.join(rest)})" if rest else first
        who.setdefault(place_said(row["first_option"]), []).append(name)
    said = "; ".join(f"{place}: {_listed(names)}" for place, names in who.items())
    return (
        f"In {len(part)} of {n_asked} cases (a model asked in one way about one corpus) the answer is one option, "
        f"whichever side that is ({said}): {pooled} with orders pooled{averaged}"
    )


def place_caution(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout], labels: Mapping[str, str]) -> str:
    """Return what whoever reads numbers with averaged orders must know of models that answer by place, or "".

    Args:
        summary: What `summarise` returned for all tables.
        layouts: The methods, by name.
        labels: What people call the methods.
    """
    shares = by_place(summary, layouts)
    if shares.empty:
        return ""
    asked = summary[(summary["group_by"] == "all") & (summary["metric"] == "accuracy") & summary["value"].notna()]
    n_asked = int(asked["method"].map(lambda name: name in layouts and layouts[name].is_prompted).sum())
    who = _listed(list(dict.fromkeys(str(model) for model, _, _ in shares.index)))
    how = _listed(list(dict.fromkeys(labels.get(method, f"`{method}`") for _, _, method in shares.index)))
    return (
        f"**Answers by place**: in {len(shares)} of {n_asked} cases (a model asked in one way about one corpus; {who}; "
        f"{how}) the answer is one option, whichever side that is. What averages both presentations (differences, "
        "their correlations, accuracies where it does not say that orders are pooled) then compares how sure a model "
        "is of that option in one and in the other: a preference that none of its answers shows."
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more"


def pooled_range(part: pd.DataFrame) -> str:
    """Return the one accuracy, or the lowest and the highest, without whose they are.

    >>> pooled_range(pd.DataFrame({"value": [0.5, 0.52], "low": [0.4, 0.5], "high": [0.6, 0.54]}))
    '0.50 to 0.52'
    """
    if len(part) == 1:
        (one,) = part.to_dict("records")
        return number(one["value"]) + ("" if pd.isna(one["low"]) else f" [{number(one['low'])}, {number(one['high'])}]")
    return shared_value(part["value"]) or span(part["value"])
