"""Figures of He et al. 2025: 1 a heat map per model, 3 methods against each other, 4 means by morphological type."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import typology
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.form import Chart, charts, where
from pairbank.stats.analyses.languages.statistics import ORDER
from pairbank.stats.figures.charts import MOST_SERIES, heat_map
from pairbank.stats.figures.models import runs
from pairbank.stats.figures.style import CHANCE, COLOURS, INK, drawing, grid, label, legend, series_style, styled
from pairbank.stats.wording import span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PAPER_ORDER = (
    "en", "ca", "nl", "fr", "fa", "es", "ar", "de", "el", "he", "ru", "uk", "zh", "vi", "hu", "ja", "ko", "tr",
)  # fmt: skip
"""Languages as in Figure 1: weakly inflected, strongly inflected, analytic, agglutinative."""
KINDS = ("taxonomic", "overlap", "co-occurrence", "random")
NEURO = "neuro"
FEWEST = 3
"""Languages below which a scatter shows nothing."""
MOST_METHODS = 4


def in_order(names: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return languages or kinds of wrong concepts as the paper orders them, others behind in alphabetical order.

    >>> in_order(["sw", "zh", "en", "ar", "am"], PAPER_ORDER)
    ['en', 'ar', 'zh', 'am', 'sw']
    """
    return sorted(set(names), key=lambda name: (order.index(name) if name in order else len(order), name))


def methods_in_order(names: Sequence[str]) -> list[str]:
    """Return methods as the paper orders them: what is asked (Meta), Direct, Neuro.

    >>> methods_in_order(["direct", "neuro", "xcomps_meta"])
    ['xcomps_meta', 'direct', 'neuro']
    """
    return sorted(dict.fromkeys(names), key=lambda name: {DIRECT: 1, NEURO: 2}.get(name, 0))


def language_charts(accuracies: pd.DataFrame, means: pd.DataFrame, controls: pd.DataFrame) -> Iterator[Chart]:
    """Yield means by type, methods against each other, and a heat map per model."""
    cells = accuracies[accuracies["value"].notna()]
    methods = methods_in_order(list(cells["method"]))[:MOST_METHODS]
    metrics = {*cells["metric"]}
    what = "F1" if metrics == {"f1"} else "accuracy (Neuro: F1)" if "f1" in metrics else "accuracy"
    values = {"what": what, "n": cells["n"], "n_models": cells["model"].nunique()}
    if means["typology"].nunique() > 1:
        shown = means[means["method"].isin(methods)]
        of_others = controls.loc[controls["language"] != "en", "value"]  # what probes reach with exchanged labels
        draw = partial(type_panels, shown, methods=methods, value_label=what, chance_f1=float(of_others.mean()))
        has_neuro = {"has_neuro": (shown["method"] == NEURO).any()}
        yield Chart(name="types", caption="types", draw=draw, values=values | has_neuro)
    if cells["language"].nunique() >= FEWEST and len(methods) > 1:
        draw = partial(method_panels, cells[cells["method"].isin(methods)], methods=methods)
        yield Chart(name="methods", caption="pairs", draw=draw, values=values)
    yield from charts("map", cells.assign(what=what), "model", draw=cell_map, title="{model}")


def cell_map(part: pd.DataFrame, *, title: str) -> Drawing:
    """Draw the cells of a model: languages by group, kinds within methods."""
    tags = in_order(list(part["language"]), PAPER_ORDER)
    lines = list(
        itertools.product(methods_in_order(list(part["method"])), in_order(list(part["negative_type"]), KINDS))
    )
    wide = part.pivot_table(index=["method", "negative_type"], columns="language", values="value", sort=False)
    matrix = wide.reindex(index=pd.MultiIndex.from_tuples(lines), columns=tags)
    matrix.index = pd.Index([f"{kind}  {label(method)}" for method, kind in lines])
    least = min(0.4, float(np.floor(np.nanmin(matrix.to_numpy(dtype=float)) * 10) / 10))
    figure = heat_map(matrix, title=title, value_label=part["what"].iloc[0], limits=(least, 1), diverging=False)
    with styled():
        axes = figure.axes[0]
        axes.set_title(label(title), pad=18)
        for group, start, stop in runs([typology()[tag].group if tag in typology() else "" for tag in tags]):
            if start:
                axes.axvline(start - 0.5, color="white", linewidth=4)
            text = group.replace(" ", "\n") if stop - start < 4 else group
            axes.text((start + stop - 1) / 2, -0.6, text, ha="center", va="bottom", fontsize=7.5)
        for _, start, _ in [*runs([method for method, _ in lines])][1:]:
            axes.axhline(start - 0.5, color="white", linewidth=4)
        axes.set_xticks(range(len(tags)), tags, rotation=0, ha="center")
    return figure


def type_panels(
    means: pd.DataFrame, *, methods: Sequence[str], value_label: str, chance_f1: float = float("nan")
) -> Drawing:
    """Draw means by morphological type: a panel a method (rows) and kind (columns), a line a model."""
    kinds, models = in_order(list(means["negative_type"]), KINDS), list(dict.fromkeys(means["model"]))
    low, high = min(0.4, float(means["value"].min()) - 0.03), max(0.8, float(means["value"].max()) + 0.03)
    with styled():
        figure = drawing(7.2, 0.8 + 1.45 * len(methods))
        for axes, method, kind in _panels(figure, methods, kinds, [label(method) for method in methods]):
            grid(axes, axis="y")
            axes.axhline(chance_f1 if method == NEURO else 0.5, color=CHANCE, linestyle="--", linewidth=1)
            for nth, model in enumerate(models):
                own = where(means, model=model, method=method, negative_type=kind)
                by_type = own.set_index("typology")["value"].reindex(list(ORDER))
                axes.plot(range(len(ORDER)), by_type, markersize=4, label=label(model), **_style(nth, len(models)))
            names = list(ORDER) if method == methods[-1] else [""] * len(ORDER)
            axes.set_xticks(range(len(ORDER)), names, fontsize=7, rotation=30, ha="right")
            axes.set(ylim=(low, high), xlim=(-0.3, len(ORDER) - 0.7))
            axes.tick_params(axis="y", labelsize=7.5, labelleft=kind == kinds[0])
        figure.supylabel(value_label, fontsize=8.5)
        if len(models) <= MOST_SERIES:
            legend(figure, figure.axes[0], len(models))
    return figure


def method_panels(cells: pd.DataFrame, *, methods: Sequence[str]) -> Drawing:
    """Draw two methods against each other: a panel a pair (rows) and kind (columns), a point a language and model."""
    kinds, models = in_order(list(cells["negative_type"]), KINDS), list(dict.fromkeys(cells["model"]))
    wide = cells.pivot_table(index=["model", "negative_type", "language"], columns="method", values="value", sort=False)
    table = wide.reset_index()
    pairs = [(a, b) for a, b in itertools.combinations(methods, 2) if table[[a, b]].notna().all(axis=1).any()]
    with styled():
        figure = drawing(7.2, 0.7 + 1.75 * max(1, len(pairs)))
        for axes, (a, b), kind in _panels(figure, pairs, kinds, [label(b) for _, b in pairs]):
            current = table[table["negative_type"] == kind]
            for nth, model in enumerate(models):
                own = where(current, model=model)
                style = _style(nth, len(models))
                marker: dict[str, Any] = {"color": style["color"], "marker": style["marker"], "linestyle": "none"}
                axes.plot(own[a], own[b], markersize=3.2, alpha=0.75, label=label(model), **marker)
                x, y = own[[a, b]].dropna().to_numpy(dtype=float).T
                if len(x) >= FEWEST and np.ptp(x) > 0:
                    slope, intercept = np.polyfit(x, y, 1)
                    ends = np.array([x.min(), x.max()])
                    axes.plot(ends, intercept + slope * ends, color=style["color"], linewidth=0.8, alpha=0.8)
            axes.text(0.04, 0.96, _r_text(current, a, b), transform=axes.transAxes, va="top", fontsize=6.5, color=INK)
            english = current[current["language"] == "en"]
            axes.plot(english[a], english[b], "o", markersize=7, markerfacecolor="none", color=INK, markeredgewidth=0.8)
            axes.tick_params(labelsize=7)
            axes.set_xlabel(label(a), fontsize=7.5)
        if len(models) <= MOST_SERIES:
            legend(figure, figure.axes[0], len(models))
    return figure


def _r_text(current: pd.DataFrame, a: str, b: str) -> str:
    """Return r of two methods over languages, and without English; of several models the smallest and the largest."""

    def of(rows: pd.DataFrame) -> str:
        results = [part[a].corr(part[b]) for _, part in rows.dropna(subset=[a, b]).groupby("model") if len(part) > 2]
        return span(pd.Series(results, dtype=float))

    without = current[current["language"] != "en"]
    return f"r = {of(current)}" + (f" | {of(without)}" if len(without) < len(current) else "")


def _panels(
    figure: Drawing, rows: Sequence[Any], kinds: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[Axes, Any, str]]:
    """Yield a panel per row and kind of wrong concept, with the names of rows at the left, those of kinds above."""
    for nth, (row, kind) in enumerate(itertools.product(rows, kinds)):
        axes = figure.add_subplot(len(rows), len(kinds), nth + 1)
        axes.set_title(kind if nth < len(kinds) else "", fontsize=8, fontweight="normal", loc="center")
        if nth % len(kinds) == 0:
            axes.set_ylabel(names[nth // len(kinds)], fontsize=8)
        yield axes, row, kind


def _style(nth: int, n_models: int) -> dict[str, Any]:
    """Return colour and marker of a model; many models are all alike and thin."""
    if n_models <= MOST_SERIES:
        return series_style(nth)
    return {"color": COLOURS[6], "marker": ".", "alpha": 0.45, "linewidth": 0.8}
