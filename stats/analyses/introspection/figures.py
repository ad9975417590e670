"""The figures of the introspection report: in, analyses of sets of items; out, bars and scatters to draw when saved.

Song, Hu & Mahowald 2025, figures 3, 4 and 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES
from pairbank.stats.analyses.introspection.tables import means_by_match_type, under_each_other
from pairbank.stats.figures.figure import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from pairbank.stats.analyses.introspection.analysis import Introspection


def introspection_figures(done: Sequence[Introspection]) -> Iterator[Figure]:
    """Yield the bars of each corpus and a scatter of each set of its items; what has no number is not drawn.

    Args:
        done: The analyses.
    """
    for corpus in dict.fromkeys(found.corpus for found in done):
        here = [found for found in done if found.corpus == corpus]
        name = re.sub(r"\W+", "_", corpus)
        bars = under_each_other((found, means_by_match_type(found.pairs)) for found in here)
        if bars["value"].notna().any():
            yield Figure(
                name=f"introspection_match_types_{name}",
                caption=(
                    f"{corpus}: mean r between the direct differences of A and the prompted ones of B, by match "
                    f"type, over all pairs of {here[0].n_models} models; mean +- 1.96 standard errors."
                ),
                draw=partial(_draw_bars, bars, corpus),
            )
        for found in here:
            points = found.pairs.dropna(subset=["direct_direct", "meta_direct"])
            if len(points):
                yield Figure(
                    name=f"introspection_scatter_{found.items}_{name}",
                    caption=(
                        f"{corpus}, {found.items} items (n = {found.n_items}): each point is a pair of models "
                        f"(n = {len(points)}), A read directly and B asked. Introspection would lift self above the "
                        "trend of the others."
                    ),
                    draw=partial(_draw_scatter, points, f"{corpus}, {found.items} items"),
                )


def _draw_bars(table: pd.DataFrame, corpus: str) -> Drawing:
    from pairbank.stats.figures.charts import intervals

    return intervals(
        table,
        rows="match_type",
        series="items",
        x_label="mean r (direct of A, asked B)",
        title=f"{corpus}: consistency",
    )


def _draw_scatter(points: pd.DataFrame, title: str) -> Drawing:
    from pairbank.stats.figures.scatters import scatter

    order = {kind: nth for nth, kind in enumerate(reversed(MATCH_TYPES))}  # self is drawn last, on top
    return scatter(
        points.sort_values("match_type", key=lambda kinds: kinds.map(order), kind="stable"),
        x="direct_direct",
        y="meta_direct",
        x_label="similarity: r (direct of A, direct of B)",
        y_label="consistency: r (direct of A, asked B)",
        title=title,
        series="match_type",
    )
