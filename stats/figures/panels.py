"""Charts of several models at once: in, tidy tables; out, figures: each model has its own line, mark or panel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.figures.style import (
    COLOURS,
    DOUBLE,
    SINGLE,
    drawing,
    grid,
    heading,
    label,
    legend_below,
    levels,
    line_looks,
    reference,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_BANDS = 4
"""More bands than this hide each other."""
_SMALL = 8


def curve_panels(
    table: pd.DataFrame, *, x: str, panel: str, series: str, x_label: str, y_label: str, zero: bool = False
) -> Drawing:
    """Draw a panel a method and in it a line a model, with bands where there are few.

    Args:
        table: Columns `value`, `low`, `high` and those named by the others.
        x: Column of the horizontal position.
        panel: Column of the panels.
        series: Column of the lines.
        x_label: What x is.
        y_label: What the values are.
        zero: Whether a line marks 0.

    Raises:
        BankError: The table is empty.
    """
    names, looks = levels(table, panel), line_looks(levels(table, series))
    with styled():
        made, grid_of = _grid(len(names), height=2.3, n_below=len(looks))
        for name, axes in zip(names, grid_of, strict=False):
            axes.set_title(heading(name, 24), fontsize=_SMALL + 0.5)
            grid(axes, axis="y")
            if zero:
                reference(axes, y=0)
            for kind, look in looks.items():
                part = table[(table[panel] == name) & (table[series] == kind) & table["value"].notna()]
                axes.plot(part[x], part["value"], label=label(kind), **look)
                if len(looks) <= MOST_BANDS and part[["low", "high"]].notna().any(axis=None):
                    low, high = (part[end].to_numpy(dtype=float) for end in ("low", "high"))
                    axes.fill_between(part[x], low, high, color=look["color"], alpha=0.15, linewidth=0)
            axes.tick_params(labelsize=_SMALL)
            axes.locator_params(axis="x", integer=pd.api.types.is_integer_dtype(table[x]))
        _name_axes(made, grid_of, x_label, y_label)
        legend_below(made, grid_of[0], len(looks))
    return made


def roc_panels(points: pd.DataFrame, *, title: str = "") -> Drawing:
    """Draw ROC curves: a panel a method, a line a model.

    Args:
        points: Columns model, method, false_positive_rate, true_positive_rate.
        title: Heading.

    Raises:
        BankError: There is no point.
    """
    names, looks = levels(points, "method"), line_looks(levels(points, "model"))
    with styled():
        made, grid_of = _grid(len(names), height=2.5, n_below=len(looks))
        made.suptitle(heading(title, int(10 * made.get_figwidth())), fontsize=10.5, x=0.01, ha="left")
        for name, axes in zip(names, grid_of, strict=False):
            axes.set_title(heading(name, 24), fontsize=_SMALL + 0.5)
            reference(axes, diagonal=True)
            for (model, method), part in points.groupby(["model", "method"], sort=False):
                if method == name:
                    look = looks[model] | {"marker": "", "linewidth": 1.1}
                    axes.plot(part["false_positive_rate"], part["true_positive_rate"], label=label(model), **look)
            axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            axes.tick_params(labelsize=_SMALL)
        _name_axes(made, grid_of, "share of bad strings above", "share of good strings above the threshold")
        legend_below(made, grid_of[0], len(looks))
    return made


def areas(table: pd.DataFrame, *, x_label: str) -> Drawing:
    """Draw the area of each corpus and method: an interval for one model, a mark a model for several.

    Args:
        table: Columns corpus, method, model, value, low, high.
        x_label: What the values are.

    Raises:
        BankError: The table is empty.
    """
    corpora, methods = levels(table, "corpus"), levels(table, "method")
    one_model = table["model"].nunique() == 1
    with styled():
        made = drawing(DOUBLE, 1.2 + 0.14 * len(corpora) * max(2, len(methods)))
        axes = made.add_subplot(xlabel=x_label)
        grid(axes, axis="x")
        reference(axes, x=0.5, dashed=True)
        for nth, (method, look) in enumerate(line_looks(methods).items()):
            part = table[(table["method"] == method) & table["value"].notna()]
            step = 0 if len(methods) == 1 else (nth / (len(methods) - 1) - 0.5) * 0.66
            at = np.array([corpora.index(corpus) for corpus in part["corpus"]], dtype=float) + step
            value, low, high = (part[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
            error = np.nan_to_num(np.clip(np.vstack([value - low, high - value]), 0, None)) if one_model else None
            marks: dict[str, Any] = look | {"linestyle": "none", "markersize": 4.5, "alpha": 1 if one_model else 0.65}
            axes.errorbar(value, at, xerr=error, elinewidth=1.3, label=label(method), **marks)
        axes.set_yticks(range(len(corpora)), [label(name) for name in corpora])
        axes.set_ylim(len(corpora) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        legend_below(made, axes, len(methods))
    return made


def distributions(table: pd.DataFrame) -> Drawing:
    """Draw histograms of good and bad strings: a column of panels a method, a row a model.

    Args:
        table: Columns model, method, low, high (ends of a step), n_good, n_bad.

    Raises:
        BankError: The table is empty.
    """
    models, methods = levels(table, "model"), levels(table, "method")
    with styled():
        made = drawing(max(SINGLE, 0.4 + 1.5 * len(methods)), 0.7 + 1.35 * len(models))
        for row, model in enumerate(models):
            for column, method in enumerate(methods):
                axes = made.add_subplot(len(models), len(methods), row * len(methods) + column + 1)
                _histogram(axes, table[(table["model"] == model) & (table["method"] == method)])
                if row == 0:
                    axes.set_title(heading(method, 17), fontsize=_SMALL)
                if column == 0:
                    axes.set_ylabel(heading(model, 22), fontsize=_SMALL - 1)
        legend_below(made, made.axes[0], 2)
    return made


def _histogram(axes: Axes, part: pd.DataFrame) -> None:
    edges = [*part["low"], *part["high"].iloc[-1:]]
    for name, words, colour in (("n_good", "grammatical", COLOURS[0]), ("n_bad", "ungrammatical", COLOURS[1])):
        shares = part[name].to_numpy(dtype=float) / max(1, part[name].sum())
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.45, label=words)
    axes.set_yticks([])
    axes.tick_params(labelsize=_SMALL - 1.5)
    axes.locator_params(axis="x", nbins=3)


def _grid(n_panels: int, *, height: float, n_below: int) -> tuple[Drawing, list[Axes]]:
    """Return a figure with panels in rows of three, and room for a legend of some entries below."""
    n_columns = min(3, n_panels)
    n_rows = -(-n_panels // n_columns)
    width = DOUBLE if n_columns > 1 else SINGLE + 1.2
    made = drawing(width, 0.7 + height * n_rows + 0.17 * -(-n_below // 3))
    return made, list(_axes(made, n_panels, n_rows, n_columns))


def _name_axes(made: Drawing, grid_of: list[Axes], x_label: str, y_label: str) -> None:
    """Say what x is below the lowest panel of each column: one label for all would stand where the legend is."""
    for axes in grid_of[-3:]:
        axes.set_xlabel(x_label, fontsize=_SMALL + 0.5)
    made.supylabel(y_label, fontsize=9)


def _axes(made: Drawing, n_panels: int, n_rows: int, n_columns: int) -> Iterator[Axes]:
    first: Axes | None = None
    for nth in range(n_panels):
        axes = made.add_subplot(n_rows, n_columns, nth + 1, sharey=first)
        first = first or axes
        yield axes
