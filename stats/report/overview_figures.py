"""The figures that every report has: accuracies, agreement with `direct`, and the differences themselves.

In: the long summary, accuracies, and the scored tables; out, figures with captions a reader can quote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.figures.charts import heat_map, intervals
from pairbank.stats.figures.scatters import scatter_cells, scatter_panels
from pairbank.stats.figures.shared import MOST_LINES, MOST_SERIES, file_name, n_said, pages
from pairbank.stats.figures.style import Figure
from pairbank.stats.report.wide_tables import headline
from pairbank.stats.report.with_people import people_figures
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import with_interval

PEOPLE = "people"
"""In a figure of several models, whose accuracy that of people is."""
MOST_ROWS = 10
"""Models in one figure of scatters; more go on in another."""


def overview_figures(
    summary: pd.DataFrame, accuracies: pd.DataFrame, tables: Sequence[ScoredFrame]
) -> tuple[Figure, ...]:
    """Return the figures of a report's first part.

    Args:
        summary: What `summarise` returned for all tables.
        accuracies: Those of its rows that are a method's accuracy by its own paper's definition.
        tables: The scored tables.
    """
    return (
        *_accuracy(_placed(accuracies)),
        *_sentences(summary[summary["group_by"] == "all"]),
        *_agreement(_placed(summary)),
        *_scatters(tables),
        *people_figures(tables),
    )


def _placed(summary: pd.DataFrame) -> pd.DataFrame:
    shown = headline(summary).copy()
    shown["where"] = shown["corpus"].where(shown["group_by"] == "all", shown["corpus"] + ": " + shown["group"])
    return shown


def _accuracy(shown: pd.DataFrame) -> Iterator[Figure]:
    chosen = _people_once(shown[shown["value"].notna()]).replace({"method": {HUMAN: PEOPLE}})
    n_models, n_methods = (chosen.loc[chosen["model"] != PEOPLE, key].nunique() for key in ("model", "method"))
    together = n_models == 1 and n_methods <= MOST_SERIES
    for place, part in chosen.groupby("corpus" if together else "where", sort=False):
        said = "Lines are 95% intervals (Wilson)."
        look: dict[str, Any] = {"x_label": "accuracy", "title": str(place), "chance": 0.5, "limits": (0, 1)}
        one_definition = not together and min(n_models, n_methods) > MOST_SERIES  # in a map, cells cannot be marked
        if together:
            draw = partial(intervals, part, rows="where", series="method", **look)
        elif one_definition:
            said = _of_people(part[part["method"] == PEOPLE])
            of_models = part[part["method"] != PEOPLE]
            of_models = of_models.assign(value=of_models["averaged"].fillna(of_models["value"]))
            matrix = of_models.pivot_table(index="model", columns="method", values="value", sort=False)
            ends = _ends(matrix)
            draw = partial(heat_map, matrix, title=str(place), value_label="accuracy", limits=ends, diverging=False)
        else:
            rows, series = ("model", "method") if n_models > MOST_SERIES else ("method", "model")
            draw = partial(intervals, part, rows=rows, series=series, **look)
        yield Figure(
            name=file_name("accuracy", place),
            caption=(
                f"Accuracy on {place} ({n_said(part['n'])} items), each method's by its paper's definition: share of "
                f"items whose better side scores higher, or of presentations answered rightly; ties one half. {said}"
                f"{'' if one_definition else _one_place_said(part)}"
            ),
            draw=draw,
        )


def _sentences(whole: pd.DataFrame) -> Iterator[Figure]:
    """Yield how scores of single sentences go with labels (AUC) and with people's ratings (r)."""
    for metric, what, chance in (("auc", "AUC", 0.5), ("pearson_human_sentence", "Pearson r with people", 0.0)):
        part = whole[(whole["metric"] == metric) & whole["value"].notna()]
        several = part["model"].nunique() > 1
        part = part.assign(where=part["corpus"] + (", " + part["model"] if several else ""))
        if part.empty or part["where"].nunique() > MOST_LINES or part["method"].nunique() > MOST_SERIES:
            continue
        yield Figure(
            name=f"sentences_{metric}",
            caption=f"{what} of each method's score of single sentences ({n_said(part['n'])}), with 95% intervals.",
            draw=partial(intervals, part, rows="where", series="method", x_label=what, chance=chance),
        )


def _one_place_said(part: pd.DataFrame) -> str:
    """Return which accuracies are of pooled orders because the answers name a place, not a side."""
    placed = part[part["first_option"].notna()]
    if placed.empty:
        return ""
    methods = {f"`{name}`": list(dict.fromkeys(rows["model"])) for name, rows in placed.groupby("method", sort=False)}
    several = part.loc[part["model"] != PEOPLE, "model"].nunique() > 1
    named = "; ".join(
        f"{name} ({', '.join(models) if len(models) < MOST_SERIES else f'{len(models)} models'})" if several else name
        for name, models in methods.items()
    )
    return f" Position bias, orders pooled: {named}."


def _of_people(part: pd.DataFrame) -> str:
    """Return what people prefer, who have no place among many models and methods."""
    said = [f"{with_interval(row)} (n = {row['n']:,})" for _, row in part.iterrows()]
    return f"People's mean ratings: {' or '.join(said)}." if said else "Intervals stand in the table."


def _ends(matrix: pd.DataFrame) -> tuple[float, float]:
    """Return ends of a colour scale on which the values can be told apart: round tenths around them.

    >>> _ends(pd.DataFrame({"direct": [0.62, 0.82], "meta": [0.5, None]}))
    (0.5, 0.9)
    """
    values = matrix.to_numpy(dtype=float)
    low, high = float(np.floor(np.nanmin(values) * 10 + 1e-9) / 10), float(np.ceil(np.nanmax(values) * 10 - 1e-9) / 10)
    return (low, high) if high > low else (max(0.0, low - 0.1), min(1.0, high + 0.1))


def _people_once(chosen: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with people's as those of nobody's model, where several models have the same items."""
    if chosen["model"].nunique() == 1:
        return chosen
    is_people = chosen["method"] == HUMAN
    people = chosen[is_people].drop_duplicates(["where", "value"]).assign(model=PEOPLE)
    return pd.concat([chosen[~is_people], people])


def _agreement(shown: pd.DataFrame) -> Iterator[Figure]:
    chosen = shown[(shown["metric"] == "pearson") & (shown["versus"] == DIRECT)]
    if not chosen["value"].notna().any():
        return
    several = chosen["model"].nunique() > 1
    for where, part in chosen.groupby("where", sort=False) if several else [("", chosen)]:
        matrix = part.pivot_table(index="model" if several else "where", columns="method", values="value", sort=False)
        if matrix.empty:
            continue
        name = file_name("agreement", where) if several else "agreement"
        yield Figure(
            name=name,
            caption=(
                f"Pearson r between the differences (good - bad) of `direct` and of each prompted method"
                f"{f' on {where}' if several else ''}, over the items that both score."
            ),
            draw=partial(heat_map, matrix, title=str(where), value_label="Pearson r with direct", limits=(-1, 1)),
        )


def _scatters(tables: Sequence[ScoredFrame]) -> Iterator[Figure]:
    """Yield each item's differences by probability and by asking: of one model with numbers, of more side by side."""
    corpora = dict.fromkeys(table.corpus for table in tables)
    for corpus in corpora:
        found = [(table.model, points) for table in tables if table.corpus == corpus and len(points := _points(table))]
        if len(found) == 1:
            yield _of_one_model(corpus, *found[0])
        elif found:
            yield from _of_models(corpus, pd.concat([points.assign(model=model) for model, points in found]))


def _points(table: ScoredFrame) -> pd.DataFrame:
    """Return x (direct) and y (asked) of each item and prompted method."""
    read = read_table(table)
    direct = read.delta(DIRECT)
    prompted = [layout.method for layout in table.layouts if layout.is_prompted]
    parts = [pd.DataFrame({"x": direct, "y": read.delta(name), "method": name}) for name in prompted]
    return pd.concat(parts).dropna() if parts else pd.DataFrame()


def _of_one_model(corpus: str, model: str, points: pd.DataFrame) -> Figure:
    return Figure(
        name=file_name("scatter", corpus, model),
        caption=(
            f"{corpus} by {model}: each item's difference (good - bad) by probability and by each "
            "question. Points in the upper right and lower left quadrants are items on which both agree."
        ),
        draw=partial(
            scatter_panels, points, x="x", y="y", panel="method",
            x_label="direct: log P(good) - log P(bad), nats", y_label="prompted: good - bad",
        ),
    )  # fmt: skip


def _of_models(corpus: str, points: pd.DataFrame) -> Iterator[Figure]:
    """Yield a row of cells a model, as many figures as all models need."""
    models = list(dict.fromkeys(points["model"]))
    several = len(models) > MOST_ROWS
    for nth, shown in pages(models, MOST_ROWS):
        part = points[points["model"].isin(shown)]
        which = f", {shown[0]} to {shown[-1]}" if several else ""
        yield Figure(
            name=file_name("scatter", corpus, *([nth] if several else [])),
            caption=(
                f"{corpus}, {len(models)} models{which}: each item's difference (good - bad) by probability (across) "
                f"and by each question (up; {n_said(part.groupby(['model', 'method']).size())} items a cell). Lines "
                "are 0; each cell ends at its own largest differences. Points in the upper right and lower left "
                "quadrants are items on which both agree; the number is Pearson's r."
            ),
            draw=partial(
                scatter_cells, part, rows="model", columns="method",
                x_label="direct: log P(good) - log P(bad)", y_label="prompted: good - bad",
            ),
        )  # fmt: skip
