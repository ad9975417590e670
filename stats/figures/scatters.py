"""Figures of points: in, a tidy table with two numbers a row; out, a matplotlib figure in the style of `style`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.figures.style import (
    COLOURS,
    DOUBLE,
    MARKERS,
    SINGLE,
    drawing,
    heading,
    label,
    legend,
    levels,
    reference,
    styled,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

_MOST_VECTOR_POINTS = 3_000
"""More points than this are drawn as one picture inside the SVG."""


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
) -> Drawing:
    """Draw points; many are drawn faint.

    Args:
        table: The points; rows with NaN are left out.
        x: Column of the horizontal position.
        y: Column of the vertical position.
        x_label: What x is, with the unit.
        y_label: What y is, with the unit.
        title: Heading.
        series: Column of the colours; later ones are drawn on top.
        signs: Whether zero lines part the four quadrants.

    Raises:
        BankError: No point has both numbers.
    """
    points = table.dropna(subset=[x, y])
    kinds = levels(points, series) if series else [None]
    if points.empty:
        raise BankError(f"{title or y_label}: no point to draw")
    with styled():
        made = drawing(SINGLE + 1.9, SINGLE + 0.9)
        axes = made.add_subplot(title=heading(title), xlabel=x_label, ylabel=y_label)
        if signs:
            reference(axes, x=0, y=0)
        for nth, kind in enumerate(kinds):
            part = points if kind is None else points[points[series] == kind]
            look: dict[str, Any] = {"c": COLOURS[nth % len(COLOURS)], "marker": MARKERS[nth % len(MARKERS)]}
            look |= {
                "s": 18,
                "alpha": _opacity(len(points)),
                "linewidths": 0,
                "rasterized": len(points) > _MOST_VECTOR_POINTS,
            }
            axes.scatter(part[x], part[y], label=label(kind), **look)
        legend(made, axes, len(kinds))
    return made


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
    """Draw one small scatter a panel; each has its own scale, for units differ between methods.

    Args:
        table: The points; rows with NaN are left out.
        x: Column of the horizontal position.
        y: Column of the vertical position.
        panel: Column whose values are the panels, in order of appearance.
        x_label: What x is, with the unit.
        y_label: What y is, with the unit.
        reference_line: Lines through zero, or one where both are equal.
        with_n: Whether a panel's title has the number of its points.

    Raises:
        BankError: No point has both numbers.
    """
    points = table.dropna(subset=[x, y])
    names = levels(points, panel)
    n_columns = min(4, len(names))
    n_rows = -(-len(names) // n_columns)
    with styled():
        made = drawing(SINGLE if n_columns == 1 else min(DOUBLE, 2.3 * n_columns), 0.6 + 2.1 * n_rows)
        for nth, name in enumerate(names):
            part = points[points[panel] == name]
            axes = made.add_subplot(n_rows, n_columns, nth + 1)
            n_said = f"\nn = {len(part):,}" if with_n else ""
            axes.set_title(f"{heading(name, 22)}{n_said}", fontsize=8, fontweight="normal")
            if reference_line == "zero":
                reference(axes, x=0, y=0)
            else:
                reference(axes, diagonal=True)
            look: dict[str, Any] = {"c": COLOURS[0], "s": 7, "linewidths": 0, "alpha": _opacity(len(part))}
            axes.scatter(part[x], part[y], rasterized=len(points) > _MOST_VECTOR_POINTS, **look)
            axes.tick_params(labelsize=7.5)
            axes.locator_params(nbins=4)
        made.supxlabel(x_label, fontsize=9)
        made.supylabel(y_label, fontsize=9)
    return made


def _opacity(n_points: int) -> float:
    return float(np.clip(12 / np.sqrt(max(1, n_points)), 0.12, 0.85))
