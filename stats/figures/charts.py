"""The kinds of figures that reports draw: a tidy table in, a matplotlib figure in the style of `style` out.

One model is drawn with its intervals; several models are lines of their own, never their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.files import sha256_of_text
from pairbank.stats.figures.style import (
    COLOURS,
    DIVERGING,
    DOUBLE,
    FAINT,
    INK,
    SEQUENTIAL,
    SINGLE,
    drawing,
    grid,
    heading,
    label,
    legend,
    levels,
    line_looks,
    reference,
    series_style,
    styled,
    with_error,
)
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray

T = TypeVar("T")
_DODGE = 0.012
"""Of the width of a panel: how far the points of two models stand apart, so that no interval hides another."""
MOST_BANDS = 4
"""More bands than this hide each other."""
_SMALL = 8

MOST_SERIES = 8
"""Colours that can be told apart."""
MOST_LINES = 24
"""Lines of an interval plot that fit a page."""
MOST_CELLS = 30
"""Rows or columns of a heat map whose numbers can be read."""
LONGEST_NAME = 80


def curve_panels(
    table: pd.DataFrame,
    *,
    x: str,
    panel: str,
    series: str,
    x_label: str,
    y_label: str,
    zero: bool = False,
    diagonal: bool = False,
) -> Drawing:
    """Draw a panel a method and in it a line a model; few have their intervals, beside each other."""
    names, looks = levels(table, panel), line_looks(levels(table, series))
    with styled():
        figure, grid_of = _grid(len(names), height=2.3, n_below=len(looks))
        dodge = _DODGE * float(np.ptp(table[x].to_numpy(dtype=float)))
        for name, axes in zip(names, grid_of, strict=False):
            axes.set_title(heading(name, 24), fontsize=_SMALL + 0.5)
            grid(axes, axis="y")
            if zero:
                reference(axes, y=0)
            if diagonal:
                reference(axes, diagonal=True)
            for nth, (kind, style) in enumerate(looks.items()):
                part = table[(table[panel] == name) & (table[series] == kind) & table["value"].notna()]
                at = part[x].to_numpy(dtype=float)
                if len(looks) <= MOST_BANDS:
                    at = at + dodge * (nth - (len(looks) - 1) / 2)
                axes.plot(at, part["value"], label=label(kind), **style)
                if len(looks) <= MOST_BANDS and part[["low", "high"]].notna().any(axis=None):
                    low, high = (part[end].to_numpy(dtype=float) for end in ("low", "high"))
                    axes.vlines(at, low, high, color=style["color"], linewidth=0.8)
            axes.tick_params(labelsize=_SMALL)
            axes.locator_params(axis="x", integer=pd.api.types.is_integer_dtype(table[x]))
        _name_axes(figure, grid_of, x_label, y_label)
        legend(figure, grid_of[0], len(looks), least=1)
    return figure


def interaction_panels(table: pd.DataFrame, *, factors: Sequence[str], y_label: str) -> Drawing:
    """Draw cell means: a row of panels a design, a column `who`, a line a value of `series` over the levels."""
    designs, people = levels(table, "design"), levels(table, "who")
    looks, ticks = line_looks(levels(table, "series")), levels(table, "level")
    with styled():
        figure = drawing(max(SINGLE, 0.5 + 1.75 * len(people)), 0.8 + 1.5 * len(designs))
        panels = figure.subplots(len(designs), len(people), squeeze=False, sharex=True, sharey="row")
        for (row, column), axes in np.ndenumerate(panels):
            part = table[(table["design"] == designs[row]) & (table["who"] == people[column])]
            grid(axes, axis="y")
            for name, style in looks.items():
                line = part[part["series"] == name]
                at = np.array([ticks.index(level) for level in line["level"]], dtype=float)
                value, error = with_error(line)
                axes.errorbar(at, value, yerr=error, label=label(name), elinewidth=1, **style)
            if row == 0:
                axes.set_title(heading(str(people[column]).replace(", ", "\n"), 22), fontsize=_SMALL)
            if column == 0:
                axes.set_ylabel(heading(designs[row] if len(designs) > 1 else y_label, 16), fontsize=_SMALL)
            axes.set_xticks(range(len(ticks)), [label(tick) for tick in ticks])
            axes.set_xlim(-0.4, len(ticks) - 0.6)
            axes.tick_params(labelsize=_SMALL)
            if row == len(designs) - 1:
                axes.set_xlabel(label(factors[-1]), fontsize=_SMALL)
        figure.supylabel(y_label if len(designs) > 1 else "", fontsize=9)
        legend(figure, panels[0, 0], len(looks), title=label(", ".join(factors[:-1])))
    return figure


def roc_panels(points: pd.DataFrame, *, title: str = "") -> Drawing:
    """Draw ROC curves: a panel a method, a line a model."""
    names, looks = levels(points, "method"), line_looks(levels(points, "model"))
    with styled():
        figure, grid_of = _grid(len(names), height=2.5, n_below=len(looks))
        figure.suptitle(heading(title, int(10 * figure.get_figwidth())), fontsize=10.5, x=0.01, ha="left")
        for name, axes in zip(names, grid_of, strict=False):
            axes.set_title(heading(name, 24), fontsize=_SMALL + 0.5)
            reference(axes, diagonal=True)
            for model, part in points[points["method"] == name].groupby("model", sort=False):
                style = looks[model] | {"marker": "", "linewidth": 1.1}
                axes.plot(part["false_positive_rate"], part["true_positive_rate"], label=label(model), **style)
            axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            axes.tick_params(labelsize=_SMALL)
        _name_axes(figure, grid_of, "share of bad strings above", "share of good strings above the threshold")
        legend(figure, grid_of[0], len(looks), least=1)
    return figure


def areas(table: pd.DataFrame, *, x_label: str) -> Drawing:
    """Draw the area of each corpus and method: an interval for one model, a numbered mark a model for several."""
    corpora, methods = levels(table, "corpus"), levels(table, "method")
    one_model = table["model"].nunique() == 1
    numbers = {model: number for number, model in enumerate(levels(table, "model"), 1)}
    with styled():
        figure = drawing(DOUBLE, 1.2 + 0.14 * len(corpora) * max(2, len(methods)))
        axes = figure.add_subplot(xlabel=x_label)
        grid(axes, axis="x")
        reference(axes, x=0.5, dashed=True)
        for nth, (method, style) in enumerate(line_looks(methods).items()):
            part = table[(table["method"] == method) & table["value"].notna()]
            step = 0 if len(methods) == 1 else (nth / (len(methods) - 1) - 0.5) * 0.66
            at = np.array([corpora.index(corpus) for corpus in part["corpus"]], dtype=float) + step
            value, error = with_error(part)
            marks: dict[str, Any] = style | {"linestyle": "none", "markersize": 4.5, "alpha": 1 if one_model else 0.65}
            axes.errorbar(value, at, xerr=error if one_model else None, elinewidth=1.3, label=label(method), **marks)
            for x, y, model in () if one_model else zip(value, at, part["model"], strict=True):
                up = numbers[model] % 2  # odd ones above, even ones below: neighbours hide each other less
                text: dict[str, Any] = {"ha": "center", "va": "bottom" if up else "top", "fontsize": 5, "color": INK}
                axes.annotate(f"{numbers[model]}", (x, y), (0, 3 if up else -3), textcoords="offset points", **text)
        axes.set_yticks(range(len(corpora)), [label(name) for name in corpora])
        axes.set_ylim(len(corpora) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        legend(figure, axes, len(methods), least=1)
    return figure


def distributions(table: pd.DataFrame) -> Drawing:
    """Draw histograms of good and bad strings: a column of panels a method, a row a model."""
    models, methods = levels(table, "model"), levels(table, "method")
    with styled():
        figure = drawing(max(SINGLE, 0.4 + 1.5 * len(methods)), 0.7 + 1.35 * len(models))
        for row, model in enumerate(models):
            for column, method in enumerate(methods):
                axes = figure.add_subplot(len(models), len(methods), row * len(methods) + column + 1)
                part = table[(table["model"] == model) & (table["method"] == method)]
                edges = [*part["low"], *part["high"].iloc[-1:]]
                for name, text, colour in (("n_good", "grammatical", 0), ("n_bad", "ungrammatical", 1)):
                    shares = part[name].to_numpy(dtype=float) / max(1, part[name].sum())
                    axes.stairs(shares, edges, fill=True, color=COLOURS[colour], alpha=0.45, label=text)
                axes.set_yticks([])
                axes.tick_params(labelsize=_SMALL - 1.5)
                axes.locator_params(axis="x", nbins=3)
                if row == 0:
                    axes.set_title(heading(method, 17), fontsize=_SMALL)
                if column == 0:
                    axes.set_ylabel(heading(model, 22), fontsize=_SMALL - 1)
        legend(figure, figure.axes[0], 2)
    return figure


def _grid(n_panels: int, *, height: float, n_below: int) -> tuple[Drawing, list[Axes]]:
    """Return a figure with panels in rows of three, and room for a legend of some entries below."""
    n_columns = min(3, n_panels)
    n_rows = -(-n_panels // n_columns)
    width = DOUBLE if n_columns > 1 else SINGLE + 1.2
    figure = drawing(width, 0.7 + height * n_rows + 0.17 * -(-n_below // 3))
    grid_of: list[Axes] = []
    for nth in range(n_panels):
        first = grid_of[0] if grid_of else None
        grid_of.append(figure.add_subplot(n_rows, n_columns, nth + 1, sharey=first))
    return figure, grid_of


def _name_axes(figure: Drawing, grid_of: list[Axes], x_label: str, y_label: str) -> None:
    """Say what x is below the lowest panel of each column: one label for all would stand where the legend is."""
    for axes in grid_of[-3:]:
        axes.set_xlabel(x_label, fontsize=_SMALL + 0.5)
    figure.supylabel(y_label, fontsize=9)


def intervals(
    table: pd.DataFrame,
    *,
    rows: str,
    series: str,
    x_label: str,
    title: str = "",
    chance: float | None = None,
    limits: tuple[float, float] | None = None,
    zero: bool = False,
) -> Drawing:
    """Draw values with their intervals, one line a row, one colour and marker a series."""
    names, kinds = levels(table, rows), levels(table, series)
    alone = not table[[rows, series]].drop_duplicates().duplicated(rows).any()
    with styled():
        figure = drawing(DOUBLE, 1.1 + 0.3 * len(names) * (1.0 if alone else max(1.0, 0.62 * len(kinds))))
        axes = figure.add_subplot(title=heading(title), xlabel=x_label)
        grid(axes, axis="x")
        for nth, kind in enumerate(kinds):
            part = table[(table[series] == kind) & table["value"].notna()]
            step = (nth / max(1, len(kinds) - 1) - 0.5) * 0.62  # so that intervals do not cover each other
            at = np.array([names.index(name) for name in part[rows]]) + (0 if alone or len(kinds) == 1 else step)
            value, error = with_error(part)
            style = series_style(nth) | {"label": label(kind), "markersize": 5, "elinewidth": 1.3, "linestyle": "none"}
            axes.errorbar(value, at, xerr=error, **style)
        if chance is not None:
            reference(axes, x=chance, dashed=bool(chance))
            place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            axes.annotate("chance" if chance else "0", (chance, 1), (3, 2), color=INK, fontsize=8, **place)
        if zero:
            axes.axvline(0, color=INK, linewidth=1.2)
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.hlines(
            np.arange(1, len(names)) - 0.5, 0, 1, color=FAINT, linewidth=0.7, transform=axes.get_yaxis_transform()
        )
        if limits:  # a mark at an end is seen whole
            room = 0.02 * (limits[1] - limits[0])
            axes.set_xlim(limits[0] - room, limits[1] + room)
        legend(figure, axes, len(kinds))
    return figure


SHORT_NAME, MOST_TALL_ROWS = 15, 30
"""Characters of a row's name that need no room of their own; rows that are drawn tall, of more they are low."""


def heat_map(
    matrix: pd.DataFrame, *, title: str = "", value_label: str, limits: tuple[float, float], diverging: bool = True
) -> Drawing:
    """Draw a table as coloured cells with their numbers; NaN is an empty cell."""
    if matrix.empty:
        raise BankError(f"{title or value_label}: no cell to draw")
    values = matrix.to_numpy(dtype=float)
    n_rows, n_columns = values.shape
    with styled():
        below, beside = (max(len(label(name)) for name in names) for names in (matrix.columns, matrix.index))
        row = 0.36 if n_rows <= MOST_TALL_ROWS else 0.2
        width = 2.2 + 0.62 * n_columns + 0.07 * max(0, beside - SHORT_NAME)
        figure = drawing(max(SINGLE, width), 0.5 + 0.05 * below + max(1.3, row * n_rows))
        axes = figure.add_subplot(title=heading(title, 24))
        image = axes.imshow(
            values, cmap=DIVERGING if diverging else SEQUENTIAL, vmin=limits[0], vmax=limits[1], aspect="auto"
        )
        write_cells(axes, values, np.asarray(image.to_rgba(values)), size=8)
        axes.set_xticks(range(n_columns), [label(c) for c in matrix.columns], rotation=40, ha="right")
        axes.set_yticks(range(n_rows), [label(r) for r in matrix.index])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(image, ax=axes, label=value_label, shrink=0.8).outline.set_visible(False)
    return figure


def write_cells(
    axes: Axes, values: FloatArray, colours: FloatArray, *, size: float, text: Callable[[float], str] = number
) -> None:
    """Write the numbers of a heat map into its cells, light on dark ones; NaN stays empty."""
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    for row, column in np.argwhere(~np.isnan(values)):
        dark = colours[row, column, :3] @ (0.299, 0.587, 0.114) < 0.55
        axes.text(column, row, text(values[row, column]), color="white" if dark else INK, **style)


def curves(
    table: pd.DataFrame,
    *,
    x: str,
    series: str,
    x_label: str,
    y_label: str,
    title: str = "",
    chance: float | None = None,
) -> Drawing:
    """Draw one line a series through `value` over `x`, with a band from `low` to `high` where they are numbers."""
    kinds = levels(table, series)
    with styled():
        figure = drawing(DOUBLE, 3.6)
        axes = figure.add_subplot(title=heading(title), xlabel=x_label, ylabel=y_label)
        grid(axes, axis="y")
        for nth, kind in enumerate(kinds):
            part = table[(table[series] == kind) & table["value"].notna()]
            style = series_style(nth)
            axes.plot(part[x], part["value"], markersize=4.5, label=label(kind), **style)
            if part[["low", "high"]].notna().any(axis=None):
                low, high = (part[name].to_numpy(dtype=float) for name in ("low", "high"))
                axes.fill_between(part[x], low, high, color=style["color"], alpha=0.15, linewidth=0)
        axes.locator_params(axis="x", integer=pd.api.types.is_integer_dtype(table[x]))
        reference(axes, y=chance, dashed=bool(chance))
        legend(figure, axes, len(kinds))
    return figure


def roc_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], *, areas: Mapping[str, float] | None = None, title: str = ""
) -> Drawing:
    if not curves:
        raise BankError(f"{title or 'ROC'}: no curve to draw")
    texts = {name: f"{label(name)}: {number(areas[name])}" if areas else label(name) for name in curves}
    with styled():
        figure = drawing(SINGLE + 1.3, SINGLE + 1)
        axes = figure.add_subplot(
            title=heading(title),
            xlabel="share of bad strings above the threshold",
            ylabel="share of good strings above",
        )
        reference(axes, diagonal=True, dashed=True)
        for nth, (name, (false_share, true_share)) in enumerate(curves.items()):
            axes.plot(false_share, true_share, color=COLOURS[nth % len(COLOURS)], label=texts[name])
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.legend(loc="lower right")
    return figure


def file_name(*parts: object) -> str:
    """Return a file name without ending from labels that may hold anything.

    A hash keeps apart what would be alike once letters that are not ASCII, or a long end, are gone.

    >>> file_name("people", "li: adger", "a/b")
    'people_li_adger_a_b'
    >>> file_name("accuracy", "\u4e2d"), file_name("accuracy", "\u6587")
    ('accuracy_83016d78', 'accuracy_af86c534')
    """
    text = " ".join(str(part) for part in parts)
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-._") else " " for c in text)
    name = "_".join(kept.split()).strip(".")
    if text.isascii() and len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9].strip('.')}_{sha256_of_text(text)[:8]}"


def pages(models: Sequence[T], most: int) -> Iterator[tuple[int, list[T]]]:
    """Yield models in groups of about the same size, with the number of each: so many stand in one figure.

    >>> list(pages("abcde", 4))
    [(1, ['a', 'b']), (2, ['c', 'd', 'e'])]
    """
    n_pages = -(-len(models) // most)
    for nth in range(n_pages):
        yield nth + 1, list(models[nth * len(models) // n_pages : (nth + 1) * len(models) // n_pages])


def place_text(corpus: object, subset: object) -> str:
    return f"{corpus}: {subset}" if subset else str(corpus)


def first_cells(matrix: pd.DataFrame) -> pd.DataFrame:
    """Return as many of the first rows and columns as a heat map can show with numbers that can be read."""
    return matrix.iloc[:MOST_CELLS, :MOST_CELLS]
