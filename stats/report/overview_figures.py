"""The figures that every report has: accuracies, agreement with `direct` and with people, the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import is_string_logprob
from pairbank.stats.analyses.form import Chart, groups, where
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.charts import MOST_LINES, MOST_SERIES, heat_map, intervals, pages
from pairbank.stats.figures.scatters import scatter_cells, scatter_grid, scatter_panels, thinned, thinned_text
from pairbank.stats.report.wide_tables import headline
from pairbank.stats.scored_table.scored_table import CONDITION, either, read_table

if TYPE_CHECKING:
    from pairbank.stats.report.checks import Facts
    from pairbank.stats.scored_table.method_scores import ScoredFrame

PEOPLE = "people"
"""In a figure of several models, whose accuracy that of people is."""
MOST_MODELS, MOST_METHODS = 10, 8
"""In one figure of scatters; more models go on in another."""
MOST_FIGURES = 3
"""Of subsets of a corpus; more have one figure per method, with a row per subset."""
MOST_PANELS = 4
"""In one figure of conditions."""
LEAST_POINTS = 3


def overview_charts(facts: Facts) -> Iterator[Chart]:
    yield from _accuracy(_placed(facts.own))
    yield from _sentences(where(facts.summary, group_by="all"))
    yield from _agreement(_placed(facts.summary))
    yield from _conditions(facts.tables)
    axes = {"x_label": "direct: log P(good) - log P(bad)", "y_label": "prompted: good - bad"}
    yield from _scatters(facts.tables, "scatter", _points, axes, {"x_label": f"{axes['x_label']}, nats"})
    axes = {"x_label": "people: good - bad", "y_label": "model: good - bad"}
    yield from _scatters(facts.tables, "with_people", _points_with_people, axes, {"with_n": False})


def _placed(summary: pd.DataFrame) -> pd.DataFrame:
    shown = headline(summary).copy()
    shown["where"] = shown["corpus"].where(shown["group_by"] == "all", shown["corpus"] + ": " + shown["group"])
    return shown


def _accuracy(shown: pd.DataFrame) -> Iterator[Chart]:
    chosen = shown[shown["value"].notna()]
    if chosen["model"].nunique() > 1:  # people are nobody's model, once where several have the same items
        is_people = chosen["method"] == HUMAN
        people = chosen[is_people].drop_duplicates(["where", "value"]).assign(model=PEOPLE)
        chosen = pd.concat([chosen[~is_people], people])
    chosen = chosen.replace({"method": {HUMAN: PEOPLE}})
    n_models, n_methods = (chosen.loc[chosen["model"] != PEOPLE, key].nunique() for key in ("model", "method"))
    together = n_models == 1 and n_methods <= MOST_SERIES
    is_map = not together and min(n_models, n_methods) > MOST_SERIES  # in a map, cells cannot be marked
    rows, series = ("model", "method") if n_models > MOST_SERIES else ("method", "model")
    by = ("where", "method") if together else (rows, series)
    for place, title, part in _parts(chosen, "corpus" if together else "where", several=n_models > 1):
        if place == title:
            yield _accuracies(place, title, part, *by, is_map=is_map)
        elif len(of_models := part[part["model"] != PEOPLE]):
            of_groups = ("model", "group") if n_models > MOST_SERIES else ("group", "model")
            yield _accuracies(place, title, of_models, *of_groups, is_map=n_models > MOST_SERIES)


def _parts(shown: pd.DataFrame, by: str, *, several: bool) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the rows of each figure with their place and its title; subsets too many for one each have one a method."""
    is_subset = shown["group_by"] == "subset"
    n_subsets = shown["group"].where(is_subset).groupby(shown["corpus"]).transform("nunique")
    many = is_subset & (n_subsets > MOST_FIGURES) & several
    for group in groups(shown[~many], by):
        yield str(group.key[0]), str(group.key[0]), group.frame
    for group in groups(shown[many], "corpus", "method"):
        corpus, method = group.key
        yield f"subsets of {corpus} by `{method}`", f"subsets of {corpus}\n{method}", group.frame


def _accuracies(place: str, title: str, part: pd.DataFrame, rows: str, series: str, *, is_map: bool) -> Chart:
    of_models = part[part["model"] != PEOPLE]
    values = {"place": place, "n": part["n"], "is_map": is_map, "people": where(part, method=PEOPLE)}
    biased = groups(part[part["first_option"].notna()], "method")
    values |= {"several": of_models["model"].nunique() > 1, "most_series": MOST_SERIES}
    values |= {"biased": {group.key[0]: list(dict.fromkeys(group.frame["model"])) for group in biased}}
    if is_map:
        cells = of_models.assign(value=of_models["averaged"].fillna(of_models["value"]))
        matrix = cells.pivot_table(index=rows, columns=series, values="value", sort=False)
        style: dict[str, Any] = {"value_label": "accuracy", "limits": _ends(matrix), "diverging": False}
        draw = partial(heat_map, matrix, title=title, **style)
    else:
        style = {"x_label": "accuracy", "title": title, "chance": 0.5, "limits": (0, 1)}
        draw = partial(intervals, part, rows=rows, series=series, **style)
    return Chart(name=f"accuracy {place}".replace("`", ""), caption="accuracy", draw=draw, values=values)


def _ends(matrix: pd.DataFrame) -> tuple[float, float]:
    """Return ends of a colour scale that shows the differences between values: round tenths around them.

    >>> _ends(pd.DataFrame({"direct": [0.62, 0.82], "meta": [0.5, None]}))
    (0.5, 0.9)
    """
    values = matrix.to_numpy(dtype=float)
    low, high = float(np.floor(np.nanmin(values) * 10 + 1e-9) / 10), float(np.ceil(np.nanmax(values) * 10 - 1e-9) / 10)
    return (low, high) if high > low else (max(0.0, low - 0.1), min(1.0, high + 0.1))


def _sentences(whole: pd.DataFrame) -> Iterator[Chart]:
    """Yield how scores of single sentences go with labels (AUC) and with people's ratings (r)."""
    for metric, description, chance in (("auc", "AUC", 0.5), ("pearson_human_sentence", "Pearson r with people", 0.0)):
        part = where(whole[whole["value"].notna()], metric=metric)
        part = part.assign(where=part["corpus"] + (", " + part["model"] if part["model"].nunique() > 1 else ""))
        if part.empty or part["where"].nunique() > MOST_LINES or part["method"].nunique() > MOST_SERIES:
            continue
        draw = partial(intervals, part, rows="where", series="method", x_label=description, chance=chance)
        values = {"description": description, "n": part["n"]}
        yield Chart(name=f"sentences {metric}", caption="single_sentences", draw=draw, values=values)


def _conditions(tables: Sequence[ScoredFrame]) -> Iterator[Chart]:
    """Yield rating against score of single sentences, a panel per model, a colour per condition if any."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        points = [part for table in tables if table.corpus == corpus and len(part := _rated_sentences(table))]
        for nth, shown in pages(points, MOST_PANELS):
            panels = {f"{part['model'].iloc[0]}, {part['method'].iloc[0]}": thinned(part) for part in shown}
            score = f"score ({shown[0]['unit'].iloc[0]})"
            by_condition = shown[0][CONDITION].nunique() > 1
            name = f"{'conditions' if by_condition else 'ratings'} {corpus}"
            yield Chart(
                name=f"{name}{f' {nth}' if len(points) > MOST_PANELS else ''}",
                caption="conditions",
                draw=partial(
                    scatter_grid, panels, x="x", y="y", series=CONDITION, x_label=score, y_label="mean rating"
                ),
                values={
                    "corpus": corpus,
                    "n": len(shown[0]),
                    "by_condition": by_condition,
                    "thinned": thinned_text(pd.Series([*map(len, shown)])),
                },
            )


def _rated_sentences(table: ScoredFrame) -> pd.DataFrame:
    """Return rating (y), score (x) by the reference method and condition, if there are any, of each rated sentence."""
    names = {*table.column_names}
    if not {"human_good", "task"} <= names or "sentence" not in {*table.part(["task"])["task"]}:
        return pd.DataFrame()  # without a look at the rows
    read = read_table(table)
    scores = read.method(read.reference) or next(iter(read.methods), None)
    if scores is None:
        return pd.DataFrame()
    conditions = "sentences" if read.conditions is None else read.conditions
    known = {"y": read.numbers("human_good"), "x": scores.sentence_score, CONDITION: conditions}
    points = pd.DataFrame(known).dropna().sort_values(CONDITION, kind="stable")
    if len(points) < LEAST_POINTS:
        return pd.DataFrame()
    return points.assign(model=table.model, method=scores.layout.method, unit=scores.layout.unit_in_words)


def _agreement(shown: pd.DataFrame) -> Iterator[Chart]:
    chosen = shown[(shown["metric"] == "pearson") & shown["versus"].map(is_string_logprob).astype(bool)]
    if not chosen["value"].notna().any():
        return
    several = chosen["model"].nunique() > 1
    for place, title, part in _parts(chosen, "where", several=True) if several else [("", "", chosen)]:
        columns = "method" if place == title else "group"
        matrix = part.pivot_table(index="model" if several else "where", columns=columns, values="value", sort=False)
        if matrix.empty:
            continue
        label = f"Pearson r with {either(part['versus']).replace('`', '')}"
        draw = partial(heat_map, matrix, title=title, value_label=label, limits=(-1, 1))
        values = {"place": place, "versus": part["versus"]}
        yield Chart(name=f"agreement {place}".replace("`", "").strip(), caption="agreement", draw=draw, values=values)


def _scatters(
    tables: Sequence[ScoredFrame],
    name: str,
    points_of: Callable[[ScoredFrame], pd.DataFrame],
    axes: Mapping[str, Any],
    of_one: Mapping[str, Any],
) -> Iterator[Chart]:
    """Yield each item's differences: of one model with numbers (drawn with `of_one` too), of more a row per model."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        points = {table.model: part for table in tables if table.corpus == corpus and len(part := points_of(table))}
        for nth, models in pages(list(points), MOST_MODELS):
            part = pd.concat([points[model].assign(model=model) for model in models], ignore_index=True)
            place = f" {models[0]}" if len(points) == 1 else f" {nth}" if len(points) > MOST_MODELS else ""
            n = part.groupby(["model", "method"])["n"].first()
            values = {"corpus": corpus, "models": models, "n": n, "n_models": len(points), "thinned": thinned_text(n)}
            values |= {"ends": (models[0], models[-1]) if len(points) > MOST_MODELS else ()}
            if len(points) == 1:
                draw = partial(scatter_panels, part, x="x", y="y", panel="method", **{**axes, **of_one})
            else:
                draw = partial(scatter_cells, part, rows="model", columns="method", **axes)
            yield Chart(name=f"{name} {corpus}{place}", caption=name, draw=draw, values=values)


def _points(table: ScoredFrame) -> pd.DataFrame:
    """Return x (direct) and y (prompted) of each item and prompted method."""
    prompted = [layout.method for layout in table.layouts if layout.is_answer]
    if not prompted:
        return pd.DataFrame()
    likely = [layout.method for layout in table.layouts if is_string_logprob(layout.method)]
    columns = ["item_id", "corpus", "flags", *(ScoreColumns(name).delta for name in (*likely, *prompted))]
    read = read_table(replace(table, frame=table.part(columns))).choices
    direct = read.delta(read.reference)
    parts = (pd.DataFrame({"x": direct, "y": read.delta(name), "method": name}).dropna() for name in prompted)
    return pd.concat([thinned(part) for part in parts])


def _points_with_people(table: ScoredFrame) -> pd.DataFrame:
    """Return x (people) and y (the model) of each item and method."""
    if not {"human_good", "human_bad"} <= {*table.column_names}:
        return pd.DataFrame()
    methods = {layout.method: layout.unit_in_words for layout in table.layouts[:MOST_METHODS]}
    columns = ["item_id", "corpus", "flags", "human_good", "human_bad", *(ScoreColumns(name).delta for name in methods)]
    read = read_table(replace(table, frame=table.part(columns))).choices
    people = read.human_delta
    if (~np.isnan(people)).sum() < LEAST_POINTS or not methods:
        return pd.DataFrame()
    points = [(pd.DataFrame({"x": people, "y": read.delta(name)}).dropna(), name) for name in methods]
    parts = [thinned(part).assign(method=name, unit=methods[name]) for part, name in points]
    return pd.concat(parts, ignore_index=True)
