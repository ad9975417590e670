"""Figures of points: scatters with two numbers per row, and specification curves with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.estimates.shares import varies
from pairbank.stats.figures.style import (
    CHANCE,
    COLOURS,
    DOUBLE,
    FAINT,
    INK,
    SINGLE,
    drawing,
    grid,
    heading,
    label,
    legend,
    levels,
    reference,
    series_style,
    styled,
)
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from pairbank.arrays import FloatArray

MOST_POINTS = 5_000
"""Drawn of a cell or panel: a picture of more looks the same, and is slow."""
_ROOM = 0.46
"""Of a cell, between its middle and its farthest points."""
_LEAST_TALL, _LEAST_WIDE, _MOST_WIDE = 0.72, 0.7, 1.4
"""Inches of a cell: many are small."""

_MOST_VECTOR_POINTS = 3_000
"""More points than this are drawn as one picture inside the SVG."""
MOST_DRAWN = 600
"""Specifications; of more, so many at equal distances along the curve."""
MOST_LEVELS = 24
"""Of a choice whose lines are drawn; one with more has no lines."""


def thinned(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points of one cell or panel, evenly spaced ones of very many; `n` and `r` are of all of them.

    >>> import pandas as pd
    >>> some = thinned(pd.DataFrame({"x": np.arange(20_000.0), "y": 0.5}))
    >>> len(some), int(some["n"].iloc[0]), float(some["x"].iloc[-1])
    (5000, 20000, 19999.0)
    """
    n = len(points)
    r = _r(points["x"].to_numpy(dtype=float), points["y"].to_numpy(dtype=float))
    shown = points if n <= MOST_POINTS else points.iloc[np.linspace(0, n - 1, MOST_POINTS).astype(np.int64)]
    return shown.assign(n=n, r=r)


def thinned_text(n: pd.Series[int]) -> str:
    if n.max() <= MOST_POINTS:
        return ""
    return f" Of more than {MOST_POINTS:,} items, {MOST_POINTS:,} evenly spaced ones are drawn."


def scatter_cells(
    points: pd.DataFrame,
    *,
    rows: str,
    columns: str,
    x_label: str,
    y_label: str,
    reference_line: Literal["zero", "equal"] = "zero",
) -> Drawing:
    """Draw a cell a row and column with its points, a reference, and r; every cell has a scale of its own."""
    lines, heads = levels(points, rows), levels(points, columns)
    with styled():
        wide = max(_LEAST_WIDE, min(_MOST_WIDE, 4.2 / len(heads)))
        longest = max(len(label(head)) for head in heads)
        height = 0.7 + 0.045 * longest + max(_LEAST_TALL, 0.75 * wide) * len(lines)
        width = max(SINGLE, 1.6 + wide * len(heads))
        figure = drawing(width, height)
        across_text = heading(f"in each cell, across: {x_label}", int(9 * width))
        axes = figure.add_subplot(xlabel=across_text, ylabel=f"up: {y_label}")
        for nth in range(len(heads) + 1):
            axes.axvline(nth, color=FAINT, linewidth=0.8)
        for nth in range(len(lines) + 1):
            axes.axhline(nth, color=FAINT, linewidth=0.8)
        across, down = [], []
        for (row, line), (column, head) in itertools.product(enumerate(lines), enumerate(heads)):
            part = points[(points[rows] == line) & (points[columns] == head)]
            if part.empty:
                continue
            x, y = part["x"].to_numpy(dtype=float), part["y"].to_numpy(dtype=float)
            ends = np.array([0.5 - _ROOM, 0.5 + _ROOM])
            if reference_line == "zero":
                axes.plot(column + ends, [row + 0.5] * 2, color=INK, linewidth=0.6)
                axes.plot([column + 0.5] * 2, row + ends, color=INK, linewidth=0.6)
                placed = _scaled(x), _scaled(y)
            else:
                axes.plot(column + ends, row + 1 - ends, color=INK, linewidth=0.6)
                placed = _within(x, y), _within(y, x)
            across.append(column + 0.5 + placed[0])
            down.append(row + 0.5 - placed[1])
            r = part["r"].iloc[0] if "r" in part else _r(x, y)
            axes.text(column + 0.05, row + 0.06, r, fontsize=6.5, va="top", color=INK)
        n_most = max(part.size for part in across)
        style: dict[str, Any] = {"c": COLOURS[0], "s": 2.5, "linewidths": 0}
        style["alpha"] = float(np.clip(9 / np.sqrt(n_most), 0.15, 0.85))
        axes.scatter(np.concatenate(across), np.concatenate(down), rasterized=True, **style)
        axes.set(xlim=(0, len(heads)), ylim=(len(lines), 0))
        axes.xaxis.tick_top()
        axes.set_xticks(
            np.arange(len(heads)) + 0.5, [label(head) for head in heads], rotation=28, ha="left", fontsize=7.5
        )
        axes.set_yticks(np.arange(len(lines)) + 0.5, [label(line) for line in lines], fontsize=7.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.xaxis.label.set_fontsize(8.5)
        axes.yaxis.label.set_fontsize(8.5)
    return figure


def _scaled(values: FloatArray) -> FloatArray:
    """Return values so that the farthest from 0 stands near the edge of a cell; all 0 stay in its middle."""
    farthest = float(np.abs(values).max())
    return values / farthest * _ROOM if farthest > 0 else np.zeros_like(values)


def _within(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return values between the lowest and the highest number of both, as places around the middle of a cell."""
    low, high = min(values.min(), others.min()), max(values.max(), others.max())
    return (2 * (values - low) / (high - low) - 1) * _ROOM if high > low else np.zeros_like(values)


def _r(x: FloatArray, y: FloatArray) -> str:
    if len(x) < 3 or not (varies(x) and varies(y)):
        return ""
    return number(np.corrcoef(x, y)[0, 1])


def scatter(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    x_label: str,
    y_label: str,
    title: str = "",
    series: str | None = None,
    signs: bool = False,
    line: tuple[float, float] | None = None,
    zero: bool = False,
) -> Drawing:
    """Draw points; many are drawn faint, those of a table with `low` and `high` with their intervals."""
    points = table.dropna(subset=[x, y])
    kinds = levels(points, series) if series else [None]
    if points.empty:
        raise BankError(f"{title or y_label}: no point to draw")
    with styled():
        figure = drawing(SINGLE + 1.9, SINGLE + 0.9)
        axes = figure.add_subplot(title=heading(title), xlabel=x_label, ylabel=y_label)
        if signs:
            reference(axes, x=0, y=0)
        if zero:
            reference(axes, y=0)
        for nth, kind in enumerate(kinds):
            part = points if kind is None else points[points[series] == kind]
            if zero and "low" in points:
                axes.vlines(part[x], part["low"], part["high"], color=COLOURS[nth % len(COLOURS)], linewidth=1)
            style = series_style(nth) | {"s": 18, "alpha": _opacity(len(points)), "linewidths": 0}
            axes.scatter(part[x], part[y], label=label(kind), rasterized=len(points) > _MOST_VECTOR_POINTS, **style)
        _line(axes, points[x], line)
        legend(figure, axes, len(kinds))
    return figure


def scatter_grid(
    panels: Mapping[str, pd.DataFrame],
    *,
    x: str,
    y: str,
    x_label: str,
    y_label: str,
    series: str,
    lines: Mapping[str, tuple[float, float]] | None = None,
    diagonal: Collection[str] = (),
    zero: bool = False,
    n_columns: int = 2,
) -> Drawing:
    """Draw a scatter a panel, a colour a series, with one legend."""
    if not panels:
        raise BankError(f"{y_label}: no panel to draw")
    names = list(dict.fromkeys(name for points in panels.values() for name in points[series]))
    n_columns = min(n_columns, len(panels))
    n_rows = -(-len(panels) // n_columns)
    n_points = max(len(points) for points in panels.values())
    with styled():
        figure = drawing(DOUBLE if n_columns > 1 else 5.4, 0.9 + (5.4 / n_columns if n_columns > 1 else 3.6) * n_rows)
        for nth, (name_of_panel, table) in enumerate(panels.items()):
            points = table.dropna(subset=[x, y])
            axes = figure.add_subplot(n_rows, n_columns, nth + 1)
            axes.set_title(heading(name_of_panel, 64 // n_columns), fontsize=8)
            axes.tick_params(labelsize=7.5)
            axes.set_xlabel(x_label if nth + n_columns >= len(panels) else "", fontsize=8)
            axes.set_ylabel("" if nth % n_columns else y_label, fontsize=8)
            for place, name in enumerate(names):
                part = points[points[series] == name]
                style = series_style(place) | {"s": 10, "alpha": _opacity(n_points), "linewidths": 0}
                axes.scatter(part[x], part[y], label=label(name), rasterized=n_points > 500, **style)
            if zero:
                axes.axhline(0, color=CHANCE, linewidth=0.8)
                axes.axvline(0, color=CHANCE, linewidth=0.8)
            _line(axes, points[x], (lines or {}).get(name_of_panel))
            if name_of_panel in diagonal:
                axes.axline((0, 0), slope=1, color=INK, linewidth=1)
        legend(figure, figure.axes[0], len(names))
    return figure


def _line(axes: Axes, x: pd.Series[float], line: tuple[float, float] | None) -> None:
    if line is not None and len(x):
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, line[0] + line[1] * ends, color=INK, linewidth=1.2, linestyle="--", scaley=False)


def scatter_panels(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    panel: str,
    x_label: str,
    y_label: str,
    reference_line: Literal["zero", "equal"] = "zero",
    with_n: bool = True,
) -> Drawing:
    """Draw one small scatter a panel; each has its own scale, for units differ between methods."""
    points = table.dropna(subset=[x, y])
    names = levels(points, panel)
    n_columns = min(4, len(names))
    n_rows = -(-len(names) // n_columns)
    with styled():
        figure = drawing(SINGLE if n_columns == 1 else min(DOUBLE, 2.3 * n_columns), 0.6 + 2.1 * n_rows)
        for nth, name in enumerate(names):
            part = points[points[panel] == name]
            axes = figure.add_subplot(n_rows, n_columns, nth + 1)
            known = part.iloc[0]
            facts = [f"n = {known.get('n', len(part)):,}"] if with_n else []
            facts += [f"r = {known['r']}"] if known.get("r") else []
            facts += [known["unit"]] if "unit" in part else []
            title = "\n".join(filter(None, [heading(name, 22), ", ".join(facts)]))
            axes.set_title(title, fontsize=8, fontweight="normal")
            if reference_line == "zero":
                reference(axes, x=0, y=0)
            else:
                reference(axes, diagonal=True)
            style: dict[str, Any] = {"c": COLOURS[0], "s": 7, "linewidths": 0, "alpha": _opacity(len(part))}
            axes.scatter(part[x], part[y], rasterized=len(points) > _MOST_VECTOR_POINTS, **style)
            axes.tick_params(labelsize=7.5)
            axes.locator_params(nbins=4)
        figure.supxlabel(x_label, fontsize=9)
        figure.supylabel(y_label, fontsize=9)
    return figure


def _opacity(n_points: int) -> float:
    return float(np.clip(12 / np.sqrt(max(1, n_points)), 0.12, 0.85))


def specification_curve(table: pd.DataFrame, *, choices: Sequence[str], y_label: str, null: float) -> Drawing:
    if table.empty:
        raise BankError(f"{y_label}: no specification to draw")
    shown = table
    if len(table) > MOST_DRAWN:  # the lowest, the highest, and others at equal distances
        shown = table.iloc[np.unique(np.linspace(0, len(table) - 1, MOST_DRAWN).round().astype(int))]
    rows = [
        (name, level)
        for name in choices
        if table[name].nunique() <= MOST_LEVELS
        for level in dict.fromkeys(table[name])
    ]
    n_gaps = len({name for name, _ in rows})
    below = 0.16 * (len(rows) + 0.6 * n_gaps)
    with styled():
        figure = drawing(DOUBLE, 2.8 + below)
        upper, *others = figure.subplots(
            2 if rows else 1, 1, sharex=True, squeeze=False, height_ratios=[2.5, max(below, 0.3)] if rows else None
        )[:, 0]
        upper.set_ylabel(y_label)
        _curve(upper, shown, null)
        for lower in others:
            _matrix(lower, shown, rows)
        (others or [upper])[-1].set_xlabel("specification, sorted by its estimate")
    return figure


def _curve(axes: Axes, shown: pd.DataFrame, null: float) -> None:
    at = np.arange(len(shown))
    grid(axes, axis="y")
    reference(axes, y=null)
    beyond = shown["beyond"].to_numpy(dtype=bool)
    width = 1.2 if len(shown) < 150 else 0.6
    for marks, colour in ((beyond, COLOURS[0]), (~beyond, COLOURS[1])):
        part = shown[marks]
        axes.vlines(at[marks], part["low"], part["high"], color=colour, alpha=0.35, linewidth=width)
        axes.plot(at[marks], part["estimate"], ".", color=colour, markersize=5 if len(shown) < 150 else 2.5)
    axes.tick_params(bottom=False, labelbottom=False)
    axes.margins(x=0.01)


def _matrix(axes: Axes, shown: pd.DataFrame, rows: Sequence[tuple[str, object]]) -> None:
    """Draw a line a level and a mark a specification that has it; the names of choices head their levels."""
    at, y, places, labels = np.arange(len(shown)), 0.0, [], []
    last = None
    for name, level in rows:
        if name != last:
            y += 0.6
            axes.axhline(y - 0.8, color=FAINT, linewidth=0.7)
            last = name
        has = (shown[name] == level).to_numpy()
        axes.plot(at[has], np.full(has.sum(), y), "|", color=INK, markersize=5, markeredgewidth=0.6)
        places.append(y)
        labels.append(f"{label(name)}: {label(level)}")
        y += 1.0
    axes.set_yticks(places, labels, fontsize=7.5)
    axes.tick_params(length=0)
    axes.spines[["left"]].set_visible(False)
    axes.set_ylim(y - 0.2, -0.3)
