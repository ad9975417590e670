"""Accuracy by phenomenon, where a report asks for no analysis: accuracies in; out, a section with dots and intervals.

A phenomenon is a group that its items' author named. Which of many is lowest is partly chance: nothing is singled out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from pairbank.stats.analyses.base import Section
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.figures.charts import heat_map, intervals
from pairbank.stats.figures.shared import MOST_CELLS, MOST_SERIES, file_name, n_said
from pairbank.stats.figures.style import Figure
from pairbank.stats.report.overview import cell
from pairbank.stats.scored_table.credit import BIAS_NOTE

MOST_LINES = 15
"""Of the table on a first page: a longer one stands in the appendix."""


def phenomena_section(own: pd.DataFrame, labels: Mapping[str, str]) -> Section | None:
    """Return accuracies by phenomenon of every corpus that names 2 to `MOST_CELLS`; None where no corpus does.

    Args:
        own: What `own_accuracies` returned: each method's accuracy by its paper's definition, of all groups.
        labels: What people call the methods, by name.
    """
    found = own[(own["group_by"] == "phenomenon") & (own["method"] != HUMAN) & own["value"].notna()]
    n_groups = found.groupby("corpus", sort=False)["group"].nunique()
    shown = n_groups[n_groups.between(2, MOST_CELLS)]
    found = found[found["corpus"].isin(shown.index)]
    if found.empty:
        return None
    corpora = "; ".join(
        f"{corpus}: {n} phenomena, {n_said(found.loc[found['corpus'] == corpus, 'n'])} items each"
        for corpus, n in shown.items()
    )
    table = _table(found, labels)
    return Section(
        id="phenomena",
        title="Accuracy by phenomenon",
        text="",
        answer=f"{corpora}. Each interval is for one phenomenon: the extremes of several are partly chance.",
        tables={"accuracies": table},
        main_table="accuracies" if len(table) <= MOST_LINES else "",
        footnotes=(BIAS_NOTE,) if len(table) <= MOST_LINES and found["first_option"].notna().any() else (),
        figures=tuple(_figures(found)),
    )


def _table(found: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Return a line a corpus, phenomenon and model, a column a method; pooled orders are marked as in the overview."""
    cells = found.assign(
        shown=[cell(row, n=row["n"]) for _, row in found.iterrows()],
        method=[labels.get(name, name) for name in found["method"]],
    )
    keys = ["corpus", "group", "model"]
    n = cells.groupby(keys, sort=False)["n"].max()
    wide = cells.pivot_table(index=keys, columns="method", values="shown", aggfunc="first", sort=False)
    wide.insert(0, "n", n.reindex(wide.index))
    return wide.reset_index().rename(columns={"group": "phenomenon"}).rename_axis(columns=None)


def _figures(found: pd.DataFrame) -> Iterator[Figure]:
    """Yield dots with intervals: of one model its methods; of several, a figure a method."""
    for corpus, part in found.groupby("corpus", sort=False):
        sizes = part.groupby("group", sort=False)["n"].max()
        named = part.assign(where=[f"{group} (n = {sizes[group]:,})" for group in part["group"]])
        several = named["model"].nunique() > 1
        for method, own in named.groupby("method", sort=False) if several else [("", named)]:
            series = "model" if several else "method"
            said = f"Accuracy by phenomenon of {corpus}{f', `{method}`' if several else ''}: "
            if own[series].nunique() > MOST_SERIES:
                matrix = own.pivot_table(index="where", columns=series, values="value", sort=False)
                draw = partial(heat_map, matrix, value_label="accuracy", limits=(0, 1), diverging=False)
                said += "intervals stand in the table."
            else:
                draw = partial(
                    intervals, own, rows="where", series=series, x_label="accuracy", chance=0.5, limits=(0.0, 1.0)
                )
                said += "lines are 95% intervals (Wilson), the dashed line is chance."
            yield Figure(name=file_name("phenomena", corpus, *([method] if several else [])), caption=said, draw=draw)
