"""Figures in which each of several models has a place of its own: lines, bars, matrices. Nothing is averaged here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.figures.charts import write_cells
from pairbank.stats.figures.style import (
    CHANCE,
    COLOURS,
    DIVERGING,
    DOUBLE,
    FAINT,
    INK,
    SEQUENTIAL,
    drawing,
    grid,
    heading,
    label,
    legend,
    levels,
    reference,
    series_style,
    styled,
    with_error,
)
from pairbank.stats.wording import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FEW = 10
"""Items below which a cell is pale."""
EMPTY = (0.925, 0.925, 0.925, 1.0)
_ROW, _CELL, _LETTER = 0.21, 0.4, 0.068
_PALE = 0.6

MOST_NUMBERED = 12
"""Rows or columns of a matrix in whose cells numbers are written."""
_STRONG: dict[str, Any] = {"color": INK, "linewidth": 2.4, "marker": "o", "markersize": 4, "zorder": 3}
_THIN: dict[str, Any] = {"linewidth": 1.1, "markersize": 3.2}
_MOST_WIDE = 6
"""Models whose names stand level under bars."""


def grouped_map(
    matrix: pd.DataFrame,
    counts: pd.DataFrame,
    *,
    row_groups: Sequence[str],
    column_groups: Sequence[str] = (),
    value_label: str,
    title: str = "",
    diverging: bool = True,
) -> Drawing:
    """Draw shares with their numbers; NaN is an empty cell."""
    if matrix.empty:
        raise BankError(f"{title or value_label}: no cell to draw")
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    values, n = matrix.to_numpy(dtype=float), counts.to_numpy(dtype=float)
    scale = ScalarMappable(Normalize(0, 1), colormaps[DIVERGING if diverging else SEQUENTIAL])
    colours = np.asarray(scale.to_rgba(values))
    pale = n < FEW
    colours[pale, :3] += _PALE * (1 - colours[pale, :3])
    colours[np.isnan(values)] = EMPTY
    with styled():
        beside = max(len(label(name)) for name in matrix.index) + max(len(label(name)) for name in row_groups)
        below = max(len(label(name)) for name in matrix.columns)
        width = max(DOUBLE, 0.4 + _LETTER * beside + _CELL * matrix.shape[1])
        figure = drawing(width, 1.5 + 0.045 * below + _ROW * len(matrix))
        axes = figure.add_subplot(title=heading(title, 60))
        axes.imshow(colours, aspect="auto")
        write_cells(axes, values, colours, size=6.5)
        axes.tick_params(length=0, labelsize=7.5)
        axes.spines[:].set_visible(False)
        axes.set_yticks(range(len(matrix)), [label(name) for name in matrix.index])
        axes.set_xticks(range(matrix.shape[1]), [label(name) for name in matrix.columns], rotation=40, ha="right")
        _name_groups(axes, row_groups, of_rows=True)
        if column_groups:
            _name_groups(axes, column_groups, of_rows=False)
        bar = figure.colorbar(scale, ax=axes, label=value_label, location="bottom", shrink=0.4, aspect=30)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7.5)
    return figure


def runs(groups: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each run of equal names with its first place and the one after its last."""
    start = 0
    for name, run in itertools.groupby(groups):
        stop = start + len(list(run))
        yield name, start, stop
        start = stop


def _name_groups(axes: Axes, groups: Sequence[str], *, of_rows: bool) -> None:
    """Draw a line between groups of rows or columns, and write their names at the right or on top."""
    in_runs = list(runs(groups))
    for _, start, _ in in_runs[1:]:
        if of_rows:
            axes.axhline(start - 0.5, color="white", linewidth=2.2)
        else:
            axes.axvline(start - 0.5, color=INK, linewidth=0.9)
    beside = axes.secondary_yaxis("right") if of_rows else axes.secondary_xaxis("top")
    names = [label(name) if of_rows else heading(label(name), 20) for name, _, _ in in_runs]
    beside.set_ticks([(start + stop - 1) / 2 for _, start, stop in in_runs], names)
    beside.tick_params(length=0, labelsize=7.5 if of_rows else 8)
    beside.spines[:].set_visible(False)


def over_models(
    panels: Mapping[str, pd.DataFrame],
    *,
    series: str,
    y_label: str,
    strong: str = "",
    chance: float | None = None,
    breaks: Sequence[float] = (),
    people: Mapping[str, float] | None = None,
) -> Drawing:
    """Draw a line a series through each model's value, one panel under the other."""
    models = list(dict.fromkeys(model for table in panels.values() for model in table["model"]))
    names = list(dict.fromkeys(name for table in panels.values() for name in table[series]))
    if not models:
        raise BankError(f"{y_label}: no model to draw")
    with styled():
        figure = drawing(DOUBLE, 1.4 + 1.9 * len(panels) + 0.16 * -(-len(names) // 4))
        all_axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        requested = [name for name in names if name != strong]
        for axes, (heading, table) in zip(all_axes, panels.items(), strict=True):
            axes.set_title(label(heading))
            grid(axes, axis="y")
            for place in breaks:
                axes.axvline(place - 0.5, color=FAINT, linewidth=1)
            reference(axes, y=chance, dashed=bool(chance))
            for name in names:
                part = table[(table[series] == name) & table["value"].notna()]
                style = _STRONG if name == strong else series_style(requested.index(name)) | _THIN
                axes.plot([models.index(model) for model in part["model"]], part["value"], label=label(name), **style)
            if people and heading in people:
                axes.axhline(people[heading], color=INK, linestyle=":", linewidth=1.4, label="people (mean ratings)")
        figure.supylabel(y_label, fontsize=9.5)
        all_axes[-1].set_xticks(range(len(models)), [label(m) for m in models], rotation=45, ha="right", fontsize=8)
        all_axes[-1].set_xlim(-0.5, len(models) - 0.5)
        legend(figure, all_axes[0], len(names) + bool(people))
    return figure


def bars(
    panels: Mapping[str, pd.DataFrame],
    *,
    groups: str,
    series: str,
    y_labels: Mapping[str, str],
    chance: Mapping[str, float] | None = None,
) -> Drawing:
    """Draw a group of bars a model, a colour a series, with intervals, one panel a heading."""
    if not panels:
        raise BankError("no panel of bars to draw")
    models = list(dict.fromkeys(model for table in panels.values() for model in levels(table, groups)))
    names = list(dict.fromkeys(name for table in panels.values() for name in table[series]))
    n_columns = 1 if len(models) > _MOST_WIDE else min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)
    with styled():
        figure = drawing(DOUBLE, 1.2 + (1.7 if n_columns == 1 else 2.1) * n_rows + 0.16 * -(-len(names) // 4))
        for nth, (heading, table) in enumerate(panels.items()):
            axes = figure.add_subplot(n_rows, n_columns, nth + 1)
            axes.set_title(label(heading))
            axes.set_ylabel(y_labels.get(heading, ""))
            grid(axes, axis="y")
            reference(axes, y=(level := (chance or {}).get(heading)), dashed=bool(level))
            width = 0.8 / len(names)
            for place, name in enumerate(names):
                part = table[(table[series] == name) & table["value"].notna()]
                value, error = with_error(part)
                at = np.array([models.index(model) for model in part[groups]], dtype=float)
                at = at + (place + 0.5) * width - 0.4
                colour = COLOURS[(place - 1) % len(COLOURS)] if place else INK
                style: dict[str, Any] = {"color": colour, "error_kw": {"elinewidth": 0.9, "ecolor": CHANCE}}
                axes.bar(at, value, width=width, yerr=error, label=label(name), **style)
            tilt: dict[str, Any] = {"rotation": 30 if len(models) <= _MOST_WIDE else 45, "ha": "right", "fontsize": 8}
            is_last = nth + n_columns >= len(panels)
            names_here = [label(model) if is_last or n_columns > 1 else "" for model in models]
            axes.set_xticks(range(len(models)), names_here, **(tilt if len(models) > 1 else {}))
            axes.set_xlim(*((-0.9, 0.9) if len(models) == 1 else (-0.6, len(models) - 0.4)))
        legend(figure, figure.axes[0], len(names))
    return figure


def matrices(
    panels: Mapping[str, pd.DataFrame],
    *,
    value_label: str,
    limits: tuple[float, float] | None = None,
    n_columns: int = 2,
    x_label: str = "",
    y_label: str = "",
) -> Drawing:
    """Draw tables as coloured cells beside each other; numbers where they can be read, a dash where there is none."""
    if not panels or any(matrix.empty for matrix in panels.values()):
        raise BankError(f"{value_label}: no cell to draw")
    n_columns = min(n_columns, len(panels))
    n_rows = -(-len(panels) // n_columns)
    most_rows, most_columns = (max(matrix.shape[axis] for matrix in panels.values()) for axis in (0, 1))
    is_alike = len({tuple(matrix.columns) for matrix in panels.values()}) == 1
    longest = max(len(label(name)) for matrix in panels.values() for name in matrix.columns)
    size = 8 if max(most_rows, most_columns) <= MOST_NUMBERED else 5.5
    cell = min(0.34, max(0.13, 2.8 / max(most_rows, most_columns))) * (2 / n_columns if n_columns > 2 else 1)
    with styled():
        names_once = limits is not None and is_alike
        height = n_rows * (0.45 + max(0.8, cell * most_rows)) + 0.4
        height += 0.0055 * size * longest * (1 if names_once else n_rows)
        figure = drawing(DOUBLE, height)
        grid_of = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        image: Any = None
        for nth, axes in enumerate(grid_of):
            if nth >= len(panels):
                axes.set_axis_off()
                continue
            heading = list(panels)[nth]
            axes.set_title("\n".join(wrap(label(heading), 60 // n_columns)), fontsize=8.5 if n_columns < 4 else 7.5)
            image = _cells(axes, panels[heading], limits=limits, size=size)
            if limits is None:
                figure.colorbar(image, ax=axes, label=value_label, shrink=0.7, aspect=25).outline.set_visible(False)
            if nth % n_columns:
                if list(panels[heading].index) == list(panels[list(panels)[nth - 1]].index):
                    axes.set_yticks([])
            else:
                axes.set_ylabel(y_label, fontsize=8)
            if nth + n_columns < len(panels) and is_alike:
                axes.set_xticks([])
            else:
                axes.set_xlabel(x_label, fontsize=8)
        if limits is not None:
            bar = figure.colorbar(image, ax=list(grid_of), label=value_label, shrink=min(0.8, 2.6 / height), aspect=22)
            bar.outline.set_visible(False)
    return figure


def _cells(axes: Axes, matrix: pd.DataFrame, *, limits: tuple[float, float] | None, size: float) -> Any:  # noqa: ANN401
    values = matrix.to_numpy(dtype=float)
    ends = limits or ((np.nanmin(values), np.nanmax(values)) if not np.isnan(values).all() else (0.0, 1.0))
    image = axes.imshow(
        values, cmap=SEQUENTIAL if limits is None else DIVERGING, vmin=ends[0], vmax=ends[1], aspect="auto"
    )
    if max(values.shape) <= MOST_NUMBERED:
        write_cells(axes, values, np.asarray(image.to_rgba(values)), size=6.5)
        for row, column in np.argwhere(np.isnan(values)):
            axes.text(column, row, MISSING, ha="center", va="center", color=CHANCE, fontsize=6.5)
    tilt: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(values.shape[1]), [label(c) for c in matrix.columns], fontsize=size, **tilt)
    axes.set_yticks(range(values.shape[0]), [label(r) for r in matrix.index], fontsize=size)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image
