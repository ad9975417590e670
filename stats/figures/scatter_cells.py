"""Many small scatters in one drawing: in, points of rows and columns; out, a matplotlib figure with a cell each.

All cells are one panel of matplotlib's, so that 200 of them take a second, where as many panels would take a minute.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pairbank.stats.estimates.ties import varies
from pairbank.stats.figures.style import COLOURS, FAINT, INK, SINGLE, drawing, heading, label, levels, styled
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from pairbank.arrays import FloatArray

_ROOM = 0.46
"""Of a cell, between its middle and its farthest points."""
_LEAST_TALL, _LEAST_WIDE, _MOST_WIDE = 0.72, 0.7, 1.4
"""Inches of a cell: many are small."""


def scatter_cells(
    points: pd.DataFrame,
    *,
    rows: str,
    columns: str,
    x_label: str,
    y_label: str,
    reference_line: Literal["zero", "equal"] = "zero",
) -> Drawing:
    """Draw a cell a row and column with its points, a reference, and r; every cell has a scale of its own.

    Args:
        points: Columns `x`, `y`, without NaN, and those named by `rows` and `columns`.
        rows: Column of the rows, from top to bottom in order of appearance.
        columns: Column of the columns, from left to right.
        x_label: What x is.
        y_label: What y is.
        reference_line: Lines through zero, in the middle of the cell; or one where x and y, on one scale, are equal.

    Raises:
        BankError: There is no point.
    """
    lines, heads = levels(points, rows), levels(points, columns)
    with styled():
        wide = max(_LEAST_WIDE, min(_MOST_WIDE, 4.2 / len(heads)))
        longest = max(len(label(head)) for head in heads)
        height = 0.7 + 0.045 * longest + max(_LEAST_TALL, 0.75 * wide) * len(lines)
        width = max(SINGLE, 1.6 + wide * len(heads))
        made = drawing(width, height)
        across_said = heading(f"in each cell, across: {x_label}", int(9 * width))
        axes = made.add_subplot(xlabel=across_said, ylabel=f"up: {y_label}")
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
            axes.text(column + 0.05, row + 0.06, _r(x, y), fontsize=6.5, va="top", color=INK)
        n_most = max(part.size for part in across)
        look: dict[str, Any] = {"c": COLOURS[0], "s": 2.5, "linewidths": 0}
        look["alpha"] = float(np.clip(9 / np.sqrt(n_most), 0.15, 0.85))
        axes.scatter(np.concatenate(across), np.concatenate(down), rasterized=True, **look)
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
    return made


def _scaled(values: FloatArray) -> FloatArray:
    """Return values so that the farthest from 0 stands near the edge of a cell; all 0 stay in its middle."""
    farthest = float(np.abs(values).max())
    return values / farthest * _ROOM if farthest > 0 else np.zeros_like(values)


def _within(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return values between the lowest and the highest number of both, as places around the middle of a cell."""
    low, high = min(values.min(), others.min()), max(values.max(), others.max())
    return (2 * (values - low) / (high - low) - 1) * _ROOM if high > low else np.zeros_like(values)


def _r(x: FloatArray, y: FloatArray) -> str:
    """Return Pearson's r as it is written in a cell; nothing where it is undefined."""
    if len(x) < 3 or not (varies(x) and varies(y)):
        return ""
    return number(np.corrcoef(x, y)[0, 1])
