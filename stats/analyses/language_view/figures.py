"""The figures of the language view: in, accuracies by language, phenomenon, model and method; out, maps and means.

Languages stand by family, in it from the best resourced to the least; a map has at most `MOST_LANGUAGES` rows, and
families stay together where they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.language_view.alignment import OTHER, shared_names
from pairbank.stats.analyses.language_view.places import UNKNOWN, family, name_with_tag, resource
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.grouped_map import FEW, grouped_map
from pairbank.stats.figures.panels import areas
from pairbank.stats.figures.shared import MOST_LINES, MOST_SERIES, file_name, n_said, pages

MOST_LANGUAGES = 56
"""Rows of a map: twelve inches."""
MOST_COLUMNS = 18
MODELS = "language_view_models"
EXPLAINED = (
    "Languages stand by family; their number is the resource class (Joshi et al. 2020, 5 = most). White is chance, "
    f"grey has no items, pale cells have fewer than {FEW}."
)


def figures(
    cells: pd.DataFrame, whole: pd.DataFrame, groups: pd.DataFrame, *, order: Sequence[str], models: Sequence[str]
) -> Iterator[Figure]:
    """Yield languages x models and methods, means by resource class and family, languages x phenomena by model.

    Args:
        cells: Columns model, method, language, phenomenon, value, n.
        whole: The same over phenomena.
        groups: Columns by, group, model, method, languages, mean, lowest, highest.
        order: Languages, as they are shown.
        models: As they are shown.
    """
    yield from _of_models(whole, order, models)
    yield from _of_groups(groups, models)
    columns = [name for name in (*shared_names(), OTHER) if name in set(cells["phenomenon"])]
    for model in models:
        part = cells[(cells["model"] == model) & (cells["method"] == DIRECT)]
        for nth, some in language_pages([tag for tag in order if tag in set(part["language"])]):
            shown = part[part["language"].isin(some)]
            caption = f"Accuracy of {model} (`{DIRECT}`) by language and phenomenon ({n_said(shown['n'])} a cell)."
            place = ("language_view", model, DIRECT, nth)
            look = {"caption": caption, "title": f"{model}, {DIRECT}"}
            yield _map(place, shown, "phenomenon", tags=some, columns=columns, **look)


def language_pages(tags: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield languages in as few maps as hold them, parted between families where one ends near by.

    >>> [(nth, len(some)) for nth, some in language_pages(["de"] * 30 + ["tr"] * 50)]
    [('', 30), ('2', 50)]
    """
    n_pages = -(-len(tags) // MOST_LANGUAGES)
    start = 0
    for nth in range(n_pages):
        target = start + -(-(len(tags) - start) // (n_pages - nth))
        room = len(tags) - MOST_LANGUAGES * (n_pages - nth - 1)
        ends = [
            at
            for at in range(max(start + 1, room), min(start + MOST_LANGUAGES, len(tags)) + 1)
            if at == len(tags) or family(tags[at]) != family(tags[at - 1])
        ]
        stop = len(tags) if nth == n_pages - 1 else min(ends or [target], key=lambda end: abs(end - target))
        yield str(nth + 1) if nth else "", list(tags[start:stop])
        start = stop


def _of_models(whole: pd.DataFrame, order: Sequence[str], models: Sequence[str]) -> Iterator[Figure]:
    """Yield languages x models with a block a method; where they do not fit beside each other, a figure a method."""
    methods = sorted(set(whole["method"]), key=lambda method: (method != DIRECT, method))
    fit = len(methods) * len(models) <= MOST_COLUMNS
    for block in [methods] if fit else [[method] for method in methods]:
        for page, some_models in pages(models, MOST_COLUMNS):
            mine = whole[whole["method"].isin(block) & whole["model"].isin(some_models)]
            known = set(mine["language"])
            for nth, some in language_pages([tag for tag in order if tag in known]):
                part = mine[mine["language"].isin(some)]
                part = part.assign(column=pd.Series(_pairs(part["method"], part["model"]), index=part.index))
                columns = [(method, model) for method in block for model in some_models]
                named = (MODELS, "" if fit else block[0], page if page > 1 else "", nth)
                caption = f"Accuracy by language, method and model ({n_said(part['n'])} a cell)."
                yield _map(named, part, "column", tags=some, columns=columns, caption=caption)


def _pairs(first: pd.Series[str], second: pd.Series[str]) -> list[tuple[str, str]]:
    return list(zip(first, second, strict=True))


def _map(
    name: tuple[object, ...],
    part: pd.DataFrame,
    column: str,
    *,
    tags: Sequence[str],
    columns: Sequence[str] | Sequence[tuple[str, str]],
    caption: str,
    title: str = "",
) -> Figure:
    """Return a map of languages; columns that are pairs stand in blocks by their first."""
    known = set(part[column])
    kept = [one for one in columns if one in known]
    values, n = (_matrix(part, column, cell, tags, kept) for cell in ("value", "n"))
    blocks = [one[0] for one in kept if isinstance(one, tuple)]
    labels = [one[1] if isinstance(one, tuple) else one for one in kept]
    rows = [_row_label(tag) for tag in tags]
    draw = partial(
        grouped_map,
        pd.DataFrame(values, index=rows, columns=labels),
        pd.DataFrame(n, index=rows, columns=labels),
        row_groups=[family(tag) for tag in tags],
        column_groups=blocks,
        value_label="accuracy",
        title=title,
    )
    return Figure(
        name=file_name(*(piece for piece in name if piece != "")), caption=f"{caption} {EXPLAINED}", draw=draw
    )


def _matrix(
    part: pd.DataFrame, column: str, cell: str, tags: Sequence[str], kept: Sequence[object]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    found: dict[tuple[str, object], float] = dict(
        zip(zip(part["language"], part[column], strict=True), part[cell], strict=True)
    )
    return np.array([[found.get((tag, one), np.nan) for one in kept] for tag in tags], dtype=np.float64)


def _row_label(tag: str) -> str:
    return f"{name_with_tag(tag)} {resource(tag)}" if resource(tag) >= 0 else f"{name_with_tag(tag)} –"


def _of_groups(groups: pd.DataFrame, models: Sequence[str]) -> Iterator[Figure]:
    """Yield means over the languages of each resource class and family: a line a model, or a mark where many."""
    direct = groups[groups["method"] == DIRECT]
    for by in ("resource", "family"):
        part = direct[direct["by"] == by]
        if part["group"].nunique() < 2:
            continue
        ordered = part.sort_values("group", ascending=by == "family", kind="stable")
        ordered = ordered.sort_values("group", key=lambda group: group == UNKNOWN, kind="stable")
        shown = ordered.assign(
            value=ordered["mean"], low=ordered["lowest"], high=ordered["highest"], row=_group_labels(ordered, by)
        )
        shown = shown.sort_values("model", key=lambda names: names.map(list(models).index), kind="stable")
        rows = list(dict.fromkeys(_group_labels(ordered, by)))
        for page, some in pages(rows, MOST_LINES):
            mine = shown[shown["row"].isin(some)]
            mine = mine.assign(place=mine["row"].map(some.index)).sort_values("place", kind="stable")
            what = "accuracy by log P, mean over languages"
            yield Figure(
                name=file_name("language_view", by, *([page] if page > 1 else [])),
                caption=(
                    f"Accuracy (`{DIRECT}`), mean over the languages of each {_BY[by]} (their number in brackets)"
                    + ("; lines go from the lowest language to the highest." if len(models) <= MOST_SERIES else ".")
                    + " Corpora differ in how hard they are, and with them languages."
                ),
                draw=(
                    partial(intervals, mine, rows="row", series="model", x_label=what, chance=0.5)
                    if len(models) <= MOST_SERIES
                    else partial(areas, mine.assign(corpus=mine["row"]), x_label=what)
                ),
            )


_BY = {"resource": "resource class (Joshi et al. 2020)", "family": "family"}


def _group_labels(part: pd.DataFrame, by: str) -> list[str]:
    named = [f"class {name}" if by == "resource" and name.isdigit() else name for name in part["group"]]
    most = part.groupby("group")["languages"].max()
    return [f"{name} ({most[group]})" for name, group in zip(named, part["group"], strict=True)]
