"""A specification curve: estimates with intervals from low to high, and below it which choices each of them made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.figures.style import COLOURS, DOUBLE, FAINT, INK, drawing, grid, heading, label, reference, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_DRAWN = 600
"""Specifications; of more, so many at equal distances along the curve."""
MOST_LEVELS = 24
"""Of a choice whose lines are drawn; one with more has no lines."""


def drawn_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the specifications that are drawn: all, or the lowest, the highest, and others at equal distances.

    >>> len(drawn_of(pd.DataFrame({"estimate": range(2000)})))
    600
    """
    if len(table) <= MOST_DRAWN:
        return table
    return table.iloc[np.unique(np.linspace(0, len(table) - 1, MOST_DRAWN).round().astype(int))]


def specification_curve(
    table: pd.DataFrame, *, choices: Sequence[str], y_label: str, null: float, title: str = ""
) -> Drawing:
    """Draw a specification curve.

    Args:
        table: Columns `estimate`, `low`, `high`, `beyond` and the choices, lowest estimate first.
        choices: Columns of the matrix below; one with more levels than can be read is left out.
        y_label: What the estimates are.
        null: Where the claim begins.
        title: Heading.

    Raises:
        BankError: The table is empty.
    """
    if table.empty:
        raise BankError(f"{title or y_label}: no specification to draw")
    shown = drawn_of(table)
    rows = [
        (name, level)
        for name in choices
        if table[name].nunique() <= MOST_LEVELS
        for level in dict.fromkeys(table[name])
    ]
    n_gaps = len({name for name, _ in rows})
    below = 0.16 * (len(rows) + 0.6 * n_gaps)
    with styled():
        made = drawing(DOUBLE, 2.8 + below)
        upper, *others = made.subplots(
            2 if rows else 1, 1, sharex=True, squeeze=False, height_ratios=[2.5, max(below, 0.3)] if rows else None
        )[:, 0]
        upper.set(title=heading(title, 80), ylabel=y_label)
        _curve(upper, shown, null)
        for lower in others:
            _matrix(lower, shown, rows)
        (others or [upper])[-1].set_xlabel("specification, sorted by its estimate")
    return made


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
