"""The figures of the introspection report: in, analyses of sets of items; out, figures to draw when saved.

Song, Hu & Mahowald 2025, figures 3, 4 and 7: bars by match type, and consistency over similarity with its trend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES, SELF
from pairbank.stats.analyses.introspection.tables import means_by_match_type, under_each_other
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import file_name, n_said

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from pairbank.stats.analyses.introspection.analysis import Introspection

X_LABEL = "similarity: r (direct of A, direct of B)"
Y_LABEL = "consistency: r (direct of A, asked B)"
SCATTERS = "introspection_scatters"
"""Name of the figure of several corpora."""
LEAST_PAIRS = 4
"""Pairs of models (two models' four) from which a figure shows anything."""
LEAST_TREND = 12
"""Pairs of different models (four models' twelve) through which a line is drawn."""


def scatter_name(found: Introspection) -> str:
    """Return the name of the scatter of one set of items."""
    return file_name("introspection", "scatter", found.items, found.corpus.replace("-", "_"))


def introspection_figures(done: Sequence[Introspection]) -> Iterator[Figure]:
    """Yield the bars of each corpus and a scatter of each set of its items; one model alone makes none of them.

    Of several corpora, the set that answers stands in `scatters_of_corpora`.

    Args:
        done: The analyses.
    """
    corpora = list(dict.fromkeys(found.corpus for found in done))
    for corpus in corpora:
        here = [found for found in done if found.corpus == corpus]
        bars = under_each_other((found, means_by_match_type(found.pairs)) for found in here)
        if bars["n_pairs"].max() >= LEAST_PAIRS - 2 and len(here[0].models) > 1:
            yield Figure(
                name=file_name("introspection", "match_types", corpus.replace("-", "_")),
                caption=(
                    f"{corpus}: mean r between the direct differences of A and the prompted ones of B, by match "
                    f"type, over all pairs of {here[0].n_models} models; mean +- 1.96 standard errors."
                ),
                draw=partial(_draw_bars, bars, corpus),
            )
        alone = here if corpora[1:] == [] else [found for found in here if found is not here[-1]]
        yield from (made for found in alone if (made := _scatter(found)) is not None)


def scatters_of_corpora(chosen: Sequence[Introspection]) -> Iterator[Figure]:
    """Yield consistency over similarity of several corpora beside each other (figure 4b); nothing for one corpus.

    Args:
        chosen: One analysis a corpus.
    """
    panels = {found.corpus: found.pairs.dropna(subset=["direct_direct", "meta_direct"]) for found in chosen}
    panels = {corpus: _self_on_top(points) for corpus, points in panels.items() if len(points) >= LEAST_PAIRS}
    if len(panels) < 2:
        return
    n_items = pd.Series([found.n_items for found in chosen if found.corpus in panels])
    yield Figure(
        name=SCATTERS,
        caption=(
            f"Each point is a pair of models, A read directly and B asked, by corpus ({n_said(n_items)} items). "
            "Lines are least-squares trends of the pairs of different models, from four models on. "
            "Introspection would lift self above them."
        ),
        draw=partial(
            _draw_scatters,
            panels,
            {corpus: line for corpus, points in panels.items() if (line := trend(points)) is not None},
        ),
    )


def _draw_scatters(panels: dict[str, pd.DataFrame], lines: dict[str, tuple[float, float]]) -> Drawing:
    from pairbank.stats.figures.scatters import scatter_grid

    return scatter_grid(
        panels, x="direct_direct", y="meta_direct", x_label=X_LABEL, y_label=Y_LABEL, series="match_type", lines=lines
    )


def _self_on_top(points: pd.DataFrame) -> pd.DataFrame:
    order = {kind: nth for nth, kind in enumerate(reversed(MATCH_TYPES))}
    return points.sort_values("match_type", key=lambda kinds: kinds.map(order), kind="stable")


def _scatter(found: Introspection) -> Figure | None:
    points = found.pairs.dropna(subset=["direct_direct", "meta_direct"])
    if len(points) < LEAST_PAIRS:
        return None
    line = trend(points)
    said = "" if line is None else " The line is the least-squares trend of the pairs of different models."
    return Figure(
        name=scatter_name(found),
        caption=(
            f"{found.corpus}, {found.items} items (n = {found.n_items}): each point is a pair of models "
            f"(n = {len(points)}), A read directly and B asked.{said} Introspection would lift self above the "
            "trend of the others."
        ),
        draw=partial(_draw_scatter, points, f"{found.corpus}, {found.items} items", line),
    )


def trend(pairs: pd.DataFrame) -> tuple[float, float] | None:
    """Return intercept and slope of consistency over similarity of different models; None for few, or equal ones.

    Args:
        pairs: What `pair_table` returned, without undefined r.
    """
    others = pairs[pairs["match_type"] != SELF]
    x = others["direct_direct"].to_numpy(dtype=float)
    if len(x) < LEAST_TREND or np.ptp(x) < 1e-9:
        return None
    slope, intercept = np.polyfit(x, others["meta_direct"].to_numpy(dtype=float), 1)
    return float(intercept), float(slope)


def _draw_bars(table: pd.DataFrame, corpus: str) -> Drawing:
    from pairbank.stats.figures.charts import intervals

    return intervals(
        table,
        rows="match_type",
        series="items",
        x_label="mean r (direct of A, asked B)",
        title=f"{corpus}: consistency",
        zero=True,
    )


def _draw_scatter(points: pd.DataFrame, title: str, line: tuple[float, float] | None) -> Drawing:
    from pairbank.stats.figures.scatters import scatter

    return scatter(
        _self_on_top(points),
        x="direct_direct",
        y="meta_direct",
        x_label=X_LABEL,
        y_label=Y_LABEL,
        title=title,
        series="match_type",
        line=line,
    )
