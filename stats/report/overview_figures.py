"""The figures that every report has: accuracies, agreement with `direct` and with people, the differences.

In: the long summary, accuracies, and the scored tables; out, figures with captions a reader can quote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.api.names import is_string_logprob
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.charts import MOST_LINES, MOST_SERIES, file_name, heat_map, intervals, n_text, pages
from pairbank.stats.figures.scatters import scatter_cells, scatter_panels, thinned, thinned_text
from pairbank.stats.figures.style import Figure
from pairbank.stats.report.wide_tables import headline
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import either, is_reference, read_table
from pairbank.stats.wording import n_items, span, with_interval

PEOPLE = "people"
"""In a figure of several models, whose accuracy that of people is."""
MOST_ROWS = 10
"""Models in one figure of scatters; more go on in another."""


def overview_figures(
    summary: pd.DataFrame, accuracies: pd.DataFrame, tables: Sequence[ScoredFrame]
) -> tuple[Figure, ...]:
    """Return the figures of a report's first part."""
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
        text = "Lines are 95% intervals (the wider of items and paradigms)."
        style: dict[str, Any] = {"x_label": "accuracy", "title": str(place), "chance": 0.5, "limits": (0, 1)}
        one_definition = not together and min(n_models, n_methods) > MOST_SERIES  # in a map, cells cannot be marked
        if together:
            draw = partial(intervals, part, rows="where", series="method", **style)
        elif one_definition:
            text = _of_people(part[part["method"] == PEOPLE])
            of_models = part[part["method"] != PEOPLE]
            of_models = of_models.assign(value=of_models["averaged"].fillna(of_models["value"]))
            matrix = of_models.pivot_table(index="model", columns="method", values="value", sort=False)
            ends = _ends(matrix)
            draw = partial(heat_map, matrix, title=str(place), value_label="accuracy", limits=ends, diverging=False)
        else:
            rows, series = ("model", "method") if n_models > MOST_SERIES else ("method", "model")
            draw = partial(intervals, part, rows=rows, series=series, **style)
        yield Figure(
            name=file_name("accuracy", place),
            caption=(
                f"Accuracy on {place} ({n_text(part['n'])} items), each method's by its paper's definition: share of "
                f"items whose better side scores higher, or of presentations answered rightly; ties one half. {text}"
                f"{'' if one_definition else _one_place_text(part)}"
            ),
            draw=draw,
        )


def _sentences(whole: pd.DataFrame) -> Iterator[Figure]:
    """Yield how scores of single sentences go with labels (AUC) and with people's ratings (r)."""
    for metric, description, chance in (("auc", "AUC", 0.5), ("pearson_human_sentence", "Pearson r with people", 0.0)):
        part = whole[(whole["metric"] == metric) & whole["value"].notna()]
        several = part["model"].nunique() > 1
        part = part.assign(where=part["corpus"] + (", " + part["model"] if several else ""))
        if part.empty or part["where"].nunique() > MOST_LINES or part["method"].nunique() > MOST_SERIES:
            continue
        yield Figure(
            name=f"sentences_{metric}",
            caption=(
                f"{description} of each method's score of single sentences ({n_text(part['n'])}), with 95% intervals."
            ),
            draw=partial(intervals, part, rows="where", series="method", x_label=description, chance=chance),
        )


def _one_place_text(part: pd.DataFrame) -> str:
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
    texts = [f"{with_interval(row)} (n = {row['n']:,})" for _, row in part.iterrows()]
    return f"People's mean ratings: {' or '.join(texts)}." if texts else "Intervals stand in the table."


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
    chosen = shown[(shown["metric"] == "pearson") & shown["versus"].map(is_string_logprob).astype(bool)]
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
                f"Pearson r between the differences (good - bad) of {either(part['versus'])} and of each prompted "
                f"method{f' on {where}' if several else ''}, over the items that both score."
            ),
            draw=partial(
                heat_map,
                matrix,
                title=str(where),
                value_label=f"Pearson r with {either(part['versus']).replace('`', '')}",
                limits=(-1, 1),
            ),
        )


def _scatters(tables: Sequence[ScoredFrame]) -> Iterator[Figure]:
    """Yield each item's differences by probability and prompted: of one model with numbers, of more side by side."""
    corpora = dict.fromkeys(table.corpus for table in tables)
    for corpus in corpora:
        results = [
            (table.model, points) for table in tables if table.corpus == corpus and len(points := _points(table))
        ]
        if len(results) == 1:
            yield _of_one_model(corpus, *results[0])
        elif results:
            yield from _of_models(corpus, pd.concat([points.assign(model=model) for model, points in results]))


def _points(table: ScoredFrame) -> pd.DataFrame:
    """Return x (direct) and y (asked) of each item and prompted method."""
    prompted = [layout.method for layout in table.layouts if layout.is_answer]
    if not prompted:
        return pd.DataFrame()
    likely = [layout.method for layout in table.layouts if is_string_logprob(layout.method)]
    columns = ["item_id", "corpus", "flags", *(ScoreColumns(name).delta for name in (*likely, *prompted))]
    read = read_table(replace(table, frame=table.part(columns)))
    direct = read.delta(read.reference)
    parts = (pd.DataFrame({"x": direct, "y": read.delta(name), "method": name}).dropna() for name in prompted)
    return pd.concat([thinned(part) for part in parts])


def _of_one_model(corpus: str, model: str, points: pd.DataFrame) -> Figure:
    return Figure(
        name=file_name("scatter", corpus, model),
        caption=(
            f"{corpus} by {model}: each item's difference (good - bad) by probability and by each "
            "question. Points in the upper right and lower left quadrants are items on which both agree."
            f"{thinned_text(points['n'])}"
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
        n = part.groupby(["model", "method"])["n"].first()
        which = f", {shown[0]} to {shown[-1]}" if several else ""
        yield Figure(
            name=file_name("scatter", corpus, *([nth] if several else [])),
            caption=(
                f"{corpus}, {len(models)} models{which}: each item's difference (good - bad) by probability (across) "
                f"and by each question (up; {n_text(n)} items a cell). Lines "
                "are 0; each cell ends at its own largest differences. Points in the upper right and lower left "
                f"quadrants are items on which both agree; the number is Pearson's r.{thinned_text(n)}"
            ),
            draw=partial(
                scatter_cells, part, rows="model", columns="method",
                x_label="direct: log P(good) - log P(bad)", y_label="prompted: good - bad",
            ),
        )  # fmt: skip


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


def people_text(
    summary: pd.DataFrame, layouts: Mapping[str, MethodLayout], labels: Mapping[str, str], metric: str
) -> str:
    """Return a sentence on r between models and people; empty where there is none."""
    rows = summary[(summary["metric"] == metric) & (summary["group_by"] == "all") & summary["value"].notna()]
    if rows.empty:
        return ""
    rows = rows.assign(
        asked=rows["method"].map(lambda name: name in layouts and layouts[name].is_answer),
        direct=is_reference(rows),
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
    text = _one_by_one(rows) if alone else ranges
    corpora = ", ".join(dict.fromkeys(rows["corpus"]))
    return f"Pearson's r with {WITH_PEOPLE[metric]} ({corpora}, {n_items(rows['n'])}): {text}."


def _one_by_one(rows: pd.DataFrame) -> str:
    several = rows["n"].nunique() > 1
    return "; ".join(
        f"{row['method']} {with_interval(row)}" + (f" (n = {row['n']:,})" if several else "")
        for row in rows.to_dict("records")
    )


def people_figures(tables: Sequence[ScoredFrame]) -> Iterator[Figure]:
    """Yield each item's difference against people's: a panel a method, or a row a model where there are several."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        results = [
            (entry.model, points)
            for entry in tables
            if entry.corpus == corpus and len(points := _points_with_people(entry))
        ]
        for nth, shown in pages(results, MOST_MODELS):
            part = pd.concat([points.assign(model=model) for model, points in shown], ignore_index=True)
            place = [shown[0][0]] if len(results) == 1 else [nth] if len(results) > MOST_MODELS else []
            yield _figure(corpus, part, name=file_name("with_people", corpus, *place))


def _points_with_people(table: ScoredFrame) -> pd.DataFrame:
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
    style: dict[str, Any] = {"x_label": "people: good - bad", "y_label": "model: good - bad"}
    draw = (
        partial(scatter_panels, part, x="x", y="y", panel="method", with_n=False, **style)
        if len(models) == 1
        else partial(scatter_cells, part, rows="model", columns="method", **style)
    )
    r = "" if len(models) == 1 else " The number in a cell is Pearson's r."
    n = part.groupby(["model", "method"])["n"].first()
    return Figure(
        name=name,
        caption=(
            f"{corpus}, {who}: each item's difference by the model (up) against that of people's mean judgments "
            f"(across), good - bad, by each method ({n_text(n)} items). Lines "
            "are 0: people and model prefer the same side in the upper right and lower left quadrants."
            f"{r}{thinned_text(n)}"
        ),
        draw=draw,
    )
