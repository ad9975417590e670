"""The figures of the section on people: in, correlations, points and bins; out, figures.

Hu et al. 2026, Figures 3a (differences of a model against people's) and 3b (r by minimalness).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.figures.charts import heat_map, intervals
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.scatters import scatter_panels
from pairbank.stats.figures.shared import MOST_SERIES, bin_figures, file_name, first_cells, n_said, pages
from pairbank.stats.scored_table.summary_row import SummaryRow
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

SCATTER = "people_scatter"
MOST_PANELS = 8
MOST_POINTS = 1_500
"""Of a scatter's panel; they are taken at equal steps."""


def points_of(delta: FloatArray, human_delta: FloatArray, place: SummaryRow) -> pd.DataFrame:
    """Return a method's difference and people's of each pair, at most `MOST_POINTS`."""
    kept = np.unique(np.linspace(0, delta.size - 1, min(delta.size, MOST_POINTS)).round().astype(np.int64))
    names = {"model": place.model, "corpus": place.corpus, "method": place.method}
    return pd.DataFrame({**names, "delta": delta[kept], "human": human_delta[kept]})


def main_figure(whole: pd.DataFrame) -> str:
    """Return the name of the main figure: the scatter where its panels are few; empty = the first one."""
    direct = whole[(whole["method"] == DIRECT) & whole["value"].notna()]
    return SCATTER if 0 < len(direct) <= MOST_PANELS else ""


def people_figures(whole: pd.DataFrame, points: Sequence[pd.DataFrame], by_bin: pd.DataFrame) -> Iterator[Figure]:
    """Yield all figures.

    Args:
        whole: Correlations of the whole corpora.
        points: What `points_of` gave.
        by_bin: Correlations by bin.
    """
    yield from correlation_figures(whole, section="people", metric="pearson_human", x_label="Pearson r with people")
    yield from _scatters(whole, points)
    yield from bin_figures(by_bin, section="people", y_label="Pearson r with people")


def _scatters(whole: pd.DataFrame, points: Sequence[pd.DataFrame]) -> Iterator[Figure]:
    """Yield a panel a corpus and model, as many figures as they need."""
    direct = whole[(whole["method"] == DIRECT) & whole["value"].notna()].set_index(["corpus", "model"])
    several = direct.index.get_level_values("model").nunique() > 1
    parts = []
    for part in points:
        where = (part["corpus"].iloc[0], part["model"].iloc[0])
        if part["method"].iloc[0] == DIRECT and where in direct.index:
            r, n = float(direct.loc[where, "value"]), int(direct.loc[where, "n"])
            name = ", ".join(where) if several else where[0]
            parts.append(part.assign(panel=f"{name}\nr = {number(r)}, n = {n:,}"))
    for nth, shown in pages(parts, MOST_PANELS):
        yield Figure(
            name=file_name(SCATTER, *([nth] if len(shown) < len(parts) else [])),
            caption=(
                "Difference of log P against the difference of people's mean ratings, good minus bad, of each pair (Hu "
                f"et al. 2026, Figure 3a; {n_said(direct['n'])}). A panel shows at most {MOST_POINTS:,} pairs, r is of "
                "all; lines mark no difference."
            ),
            draw=partial(
                scatter_panels, pd.concat(shown, ignore_index=True), x="delta", y="human", panel="panel",
                x_label="log P(good) - log P(bad), nats", y_label="people: good - bad", with_n=False,
            ),
        )  # fmt: skip


def correlation_figures(found: pd.DataFrame, *, section: str, metric: str, x_label: str) -> Iterator[Figure]:
    """Yield one figure of the whole corpora: intervals for one model, else models x methods for each corpus.

    Args:
        found: Long table with the columns of the summary.
        section: Prefix of the file names.
        metric: Which numbers to draw.
        x_label: What they are.
    """
    shown = found[(found["metric"] == metric) & (found["group_by"] == "all") & found["value"].notna()]
    if shown.empty:
        return
    if shown["model"].nunique() == 1 and shown["method"].nunique() <= MOST_SERIES:
        yield Figure(
            name=file_name(section, metric),
            caption=f"{x_label} of {shown['model'].iloc[0]} ({n_said(shown['n'])}). Lines are 95% intervals.",
            draw=partial(intervals, shown, rows="corpus", series="method", x_label=x_label, limits=(-1, 1), chance=0),
        )
        return
    for corpus, part in shown.groupby("corpus", sort=False):
        matrix = part.pivot_table(index="model", columns="method", values="value", sort=False)
        yield Figure(
            name=file_name(section, metric, corpus),
            caption=f"{x_label} on {corpus}, by model and method ({n_said(part['n'])}).",
            draw=partial(heat_map, first_cells(matrix), title=str(corpus), value_label=x_label, limits=(-1, 1)),
        )
