"""Do models go with people? In: the long summary, scored tables with judgments; out, a sentence and scatters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.figures.scatters import scatter_cells, scatter_panels, thinned, thinned_said
from pairbank.stats.figures.shared import file_name, n_said, pages
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import n_items, span, with_interval

WITH_PEOPLE = {
    "pearson_human": "human judgments",
    "pearson_human_sentence": "mean ratings of single sentences",
}
"""The correlations with people, and what each is with."""
MOST_APART = 5
"""Methods whose r are said one by one; of more the lowest and the highest."""
MOST_MODELS, MOST_METHODS = 10, 8
"""In one figure of scatters."""
LEAST_POINTS = 3


def people_said(
    summary: pd.DataFrame, layouts: Mapping[str, MethodLayout], labels: Mapping[str, str], metric: str
) -> str:
    """Return a sentence on r between models and people; empty where there is none.

    Args:
        summary: What `summarise` returned for all tables.
        layouts: The methods, by name.
        labels: What people call them.
        metric: Which r, of `WITH_PEOPLE`.
    """
    rows = summary[(summary["metric"] == metric) & (summary["group_by"] == "all") & summary["value"].notna()]
    if rows.empty:
        return ""
    rows = rows.assign(
        asked=rows["method"].map(lambda name: name in layouts and layouts[name].is_prompted),
        direct=rows["method"] == DIRECT,
        likely=rows["method"].map(lambda name: name in layouts and layouts[name].is_of_probability),
        method=rows["method"].map(lambda name: labels.get(name, f"`{name}`")),
    )
    alone = rows["model"].nunique() == rows["corpus"].nunique() == 1 and len(rows) <= MOST_APART
    kinds = (
        ("direct", rows[rows["direct"]]),
        ("other functions of probability", rows[~rows["direct"] & ~rows["asked"] & rows["likely"]]),
        ("other scores", rows[~rows["direct"] & ~rows["asked"] & ~rows["likely"]]),
        ("prompted", rows[rows["asked"]]),
    )
    ranges = "; ".join(f"{span(part['value'])} ({kind})" for kind, part in kinds if len(part))
    said = _one_by_one(rows) if alone else ranges
    corpora = ", ".join(dict.fromkeys(rows["corpus"]))
    return f"Pearson's r with {WITH_PEOPLE[metric]} ({corpora}, {n_items(rows['n'])}): {said}."


def _one_by_one(rows: pd.DataFrame) -> str:
    several = rows["n"].nunique() > 1
    return "; ".join(
        f"{row['method']} {with_interval(row)}" + (f" (n = {row['n']:,})" if several else "")
        for row in rows.to_dict("records")
    )


def people_figures(tables: Sequence[ScoredFrame]) -> Iterator[Figure]:
    """Yield each item's difference against people's: a panel a method, or a row a model where there are several.

    Args:
        tables: The scored tables.
    """
    for corpus in dict.fromkeys(table.corpus for table in tables):
        found = [(one.model, points) for one in tables if one.corpus == corpus and len(points := _points(one))]
        for nth, shown in pages(found, MOST_MODELS):
            part = pd.concat([points.assign(model=model) for model, points in shown], ignore_index=True)
            place = [shown[0][0]] if len(found) == 1 else [nth] if len(found) > MOST_MODELS else []
            yield _figure(corpus, part, name=file_name("with_people", corpus, *place))


def _points(table: ScoredFrame) -> pd.DataFrame:
    """Return x (people) and y (the model) of each item and method."""
    if not {"human_good", "human_bad"} <= {*table.column_names}:
        return pd.DataFrame()
    methods = [layout.method for layout in table.layouts][:MOST_METHODS]
    columns = ["item_id", "corpus", "flags", "human_good", "human_bad", *(ScoreColumns(name).delta for name in methods)]
    read = read_table(replace(table, frame=table.part(columns))).choices
    people = read.human_delta
    if (~np.isnan(people)).sum() < LEAST_POINTS:
        return pd.DataFrame()
    parts = [thinned(pd.DataFrame({"x": people, "y": read.delta(name), "method": name}).dropna()) for name in methods]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _figure(corpus: str, part: pd.DataFrame, *, name: str) -> Figure:
    models = list(dict.fromkeys(part["model"]))
    who = models[0] if len(models) == 1 else f"{len(models)} models (a row each)"
    look: dict[str, Any] = {"x_label": "people: good - bad", "y_label": "model: good - bad"}
    draw = (
        partial(scatter_panels, part, x="x", y="y", panel="method", with_n=False, **look)
        if len(models) == 1
        else partial(scatter_cells, part, rows="model", columns="method", **look)
    )
    r = "" if len(models) == 1 else " The number in a cell is Pearson's r."
    n = part.groupby(["model", "method"])["n"].first()
    return Figure(
        name=name,
        caption=(
            f"{corpus}, {who}: each item's difference by the model (up) against that of people's mean judgments "
            f"(across), good - bad, by each method ({n_said(n)} items). Lines "
            "are 0: people and model prefer the same side in the upper right and lower left quadrants."
            f"{r}{thinned_said(n)}"
        ),
        draw=draw,
    )
