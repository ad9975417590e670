"""Position bias: in, the long summary; out, which models pick one option whatever it stands for.

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
from pairbank.stats.scored_table.credit import SAME_PLACE, is_one_place, shows_both

KEYS = ["model", "corpus", "method"]
FIRST, OTHER = "always picks the first option", "never picks the first option"
POOLED, BIAS = "accuracy_pooled", "position_bias"
MOST_NAMED = 3


def picks(share: float) -> str:
    """Return what such a model does."""
    return FIRST if share >= SAME_PLACE else OTHER


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
        f"**Position bias** in {len(shares)} of {n_asked} prompted cases ({who}; {how}): the model picks the same "
        "option whatever it stands for. Their differences and correlations compare degrees of certainty, not answers."
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more"
