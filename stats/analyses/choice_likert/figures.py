"""The figures on choices: the long tables in; confusion matrices, accuracies and consistencies, every model shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.analyses.choice_likert.answer import TIES_FIRST, shown_rows
from pairbank.stats.analyses.choice_likert.measures import DESIGN, MEASURES
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.shared import file_name, n_said
from pairbank.stats.figures.style import INK, SEQUENTIAL, Figure, drawing, label, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CONFUSION, ACCURACIES = "choice_likert_confusion", "choice_likert"
CELLS = (("first_first", "first_second"), ("second_first", "second_second"))
MOST_COLUMNS = 6
"""Models side by side; more go on below."""
SHORT_NAME = 15
TIED = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": INK, "linewidth": 0.5}
"""Round the words on a matrix that says nothing of a preference."""


def agreement_figures(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> Iterator[Figure]:
    """Yield confusion matrices, accuracies, and how often two measures choose alike.

    Args:
        accuracies: Long table of `choice_likert`.
        consistency: The same.
    """
    right = shown_rows(accuracies, TIES_FIRST)
    for corpus, part in right.groupby("corpus", sort=False):
        whom = _whom(part)
        first = "ties are given to the first context, as in the paper."
        yield Figure(
            name=file_name(CONFUSION, corpus),
            caption=(
                f"{corpus}: choices of the first context (C1) or the second (C2), rows by {whom}, columns by each "
                f"model and measure ({n_said(part['n'])}); {first}"
            ),
            draw=partial(confusion_panels, part),
        )
        yield Figure(
            name=file_name(ACCURACIES, corpus),
            caption=(
                f"Share of items of {corpus!s} on which each model's measure chooses as {whom} "
                f"({n_said(part['n'])}). Lines are 95% intervals (Wilson); {first}"
            ),
            draw=partial(_of_models, part, x_label=f"same choice as {whom}", title=str(corpus), chance=0.5),
        )
    same = shown_rows(consistency, "consistency")
    for corpus, part in same.groupby("corpus", sort=False):
        yield Figure(
            name=file_name("choice_likert_consistency", corpus),
            caption=(
                f"Share of items of {corpus} on which two measures of a model choose the same context "
                f"({n_said(part['n'])}). Lines are 95% intervals (Wilson)."
            ),
            draw=partial(_of_models, part, x_label="same choice", title=str(corpus)),
        )


def _whom(part: pd.DataFrame) -> str:
    (told_by,) = set(part["told_by"])
    return "the items' design" if told_by == DESIGN else f"people ({told_by})"


def _of_models(part: pd.DataFrame, **look: Any) -> Drawing:  # noqa: ANN401 - of `intervals`
    return intervals(part, rows="model", series="measure", limits=(0, 1), **look)


def confusion_panels(rows: pd.DataFrame) -> Drawing:
    """Draw a matrix of counts a model (columns) and measure (rows), as the paper's Figure 2.

    Args:
        rows: A row a model and measure, with the counts of `CELLS`.
    """
    models = list(dict.fromkeys(rows["model"]))
    kinds = [kind for kind in MEASURES if kind in set(rows["measure"])]
    n_columns = min(MOST_COLUMNS, len(models))
    n_blocks = -(-len(models) // MOST_COLUMNS)
    with styled():
        made = drawing(0.9 + 1.05 * max(2, n_columns), 0.3 + n_blocks * (0.3 + 0.98 * len(kinds)))
        for nth, model in enumerate(models):
            block, column = divmod(nth, MOST_COLUMNS)
            for row, kind in enumerate(kinds):
                place = (block * len(kinds) + row) * n_columns + column + 1
                axes = made.add_subplot(n_blocks * len(kinds), n_columns, place)
                own = rows[(rows["model"] == model) & (rows["measure"] == kind)]
                _matrix(axes, own)
                if row == 0:
                    axes.set_title(_short(str(model)), fontsize=7.5, fontweight="normal", loc="center")
                if column == 0:
                    axes.set_ylabel(kind, fontsize=8)
    return made


def _short(name: str) -> str:
    """Return a model's name without its organisation, in lines of at most `SHORT_NAME` letters."""
    return "\n".join(textwrap.wrap(label(name.rsplit("/", 1)[-1]), SHORT_NAME))


def _matrix(axes: Axes, own: pd.DataFrame) -> None:
    """Draw one matrix of counts; nothing where the model has not this measure."""
    axes.set_xticks([0, 1], ["C1", "C2"], fontsize=6.5)
    axes.set_yticks([0, 1], ["C1", "C2"], fontsize=6.5)
    axes.tick_params(length=0, pad=1)
    if own.empty:
        axes.tick_params(labelbottom=False, labelleft=False)
        axes.spines[:].set_visible(False)
        return
    counts = np.array([[int(own.iloc[0][name]) for name in line] for line in CELLS])
    image = axes.imshow(counts, cmap=SEQUENTIAL, vmin=0, vmax=max(1, counts.sum() * 0.6), aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        red, green, blue, _ = image.to_rgba(count)
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        axes.text(column, row, f"{count:,}", ha="center", va="center", fontsize=8, color="white" if dark else INK)
    if own.iloc[0]["n_ties"] == counts.sum():
        axes.text(0.5, 0.5, "all tie", ha="center", va="center", fontsize=7, color=INK, bbox=TIED)
