"""Heat maps whose rows stand in groups, for many rows: in, a table with counts; out, a matplotlib figure.

Made for languages in their families: a row is a fifth of an inch, groups are parted and named at the right, an empty
cell is grey, and a cell of few items is pale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.figures.charts import write_cells
from pairbank.stats.figures.style import DIVERGING, DOUBLE, INK, SEQUENTIAL, drawing, heading, label, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FEW = 10
"""Items below which a cell is pale."""
EMPTY = (0.925, 0.925, 0.925, 1.0)
_ROW, _CELL, _LETTER = 0.21, 0.4, 0.068
_PALE = 0.6


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
    """Draw shares with their numbers; NaN is an empty cell.

    Args:
        matrix: Row and column names are the labels, values shares from 0 to 1.
        counts: Items behind each cell, of the same shape.
        row_groups: Of each row; those of one group stand together.
        column_groups: Of each column, named above; empty = columns have none.
        value_label: What the numbers are.
        title: Heading.
        diverging: Whether one half means something (chance), else light is high.

    Raises:
        BankError: The table is empty.
    """
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
        made = _sheet(matrix, row_groups)
        axes = made.add_subplot(title=heading(title, 60))
        axes.imshow(colours, aspect="auto")
        write_cells(axes, values, colours, size=6.5)
        axes.tick_params(length=0, labelsize=7.5)
        axes.spines[:].set_visible(False)
        axes.set_yticks(range(len(matrix)), [label(name) for name in matrix.index])
        axes.set_xticks(range(matrix.shape[1]), [label(name) for name in matrix.columns], rotation=40, ha="right")
        _name_rows(axes, row_groups)
        _name_columns(axes, column_groups)
        bar = made.colorbar(scale, ax=axes, label=value_label, location="bottom", shrink=0.4, aspect=30)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7.5)
    return made


def _sheet(matrix: pd.DataFrame, row_groups: Sequence[str]) -> Drawing:
    """Return a figure with room for the cells and for what stands around them."""
    beside = max(len(label(name)) for name in matrix.index) + max(len(label(name)) for name in row_groups)
    below = max(len(label(name)) for name in matrix.columns)
    width = max(DOUBLE, 0.4 + _LETTER * beside + _CELL * matrix.shape[1])
    return drawing(width, 1.5 + 0.045 * below + _ROW * len(matrix))


def _runs(groups: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each run of equal names with its first place and the one after its last.

    >>> list(_runs(["a", "a", "b"]))
    [('a', 0, 2), ('b', 2, 3)]
    """
    start = 0
    for place in range(1, len(groups) + 1):
        if place == len(groups) or groups[place] != groups[start]:
            yield groups[start], start, place
            start = place


def _name_rows(axes: Axes, groups: Sequence[str]) -> None:
    runs = list(_runs(groups))
    for _, start, _ in runs[1:]:
        axes.axhline(start - 0.5, color="white", linewidth=2.2)
    right = axes.secondary_yaxis("right")
    right.set_yticks([(start + stop - 1) / 2 for _, start, stop in runs], [label(name) for name, _, _ in runs])
    right.tick_params(length=0, labelsize=7.5)
    right.spines[:].set_visible(False)


def _name_columns(axes: Axes, groups: Sequence[str]) -> None:
    if not groups:
        return
    runs = list(_runs(groups))
    for _, start, _ in runs[1:]:
        axes.axvline(start - 0.5, color=INK, linewidth=0.9)
    top = axes.secondary_xaxis("top")
    top.set_xticks([(start + stop - 1) / 2 for _, start, stop in runs], [heading(label(x), 20) for x, _, _ in runs])
    top.tick_params(length=0, labelsize=8)
    top.spines[:].set_visible(False)
