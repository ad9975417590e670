"""Figures of Hu et al. 2026: 2a scatters of both sides, 2b r by minimalness, 4a and 5 strings, 4b areas, 6 ROC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from pairbank.scoring.api.names import is_string_logprob
from pairbank.stats.analyses.by_distance import bin_charts
from pairbank.stats.analyses.form import Chart, equal_steps, groups, records, where
from pairbank.stats.figures.charts import areas, distributions, pages, place_text, roc_curves, roc_panels
from pairbank.stats.figures.scatters import scatter_cells, scatter_panels
from pairbank.stats.scored_table.scored_table import SummaryRow, is_reference
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.stats.analyses.grammaticality.section import ScoredStrings

MOST_POINTS = 1_500
"""Of a scatter's panel: more would hide one another; they are taken at equal steps."""
MOST_MODELS = 4
"""With a scatter of their own; more are cells of one."""
MOST_CELL_ROWS = 10
MOST_ROWS = 5
"""Models whose distributions are in one figure; more go on in another."""
LABELS = {"x_label": "log P of the ungrammatical string", "y_label": "log P of the grammatical string"}


def string_charts(tables: Mapping[str, pd.DataFrame], points: Sequence[pd.DataFrame]) -> Iterator[Chart]:
    """Yield all charts, the main one (areas) first."""
    whole = where(tables["separability"], group_by="all", metric="auc")
    yield Chart(
        name="auc",
        caption="areas_of_models",
        draw=partial(areas, whole, x_label="area under the ROC curve"),
        values={"n": whole["n"], "models": list(whole["model"].unique())},
    )
    yield from _scatters(points, tables["correlation"])
    yield from bin_charts(tables["by_bin"], y_label="Pearson r of the two sides")
    for corpus in groups(tables["distributions"], "corpus"):
        models = list(corpus.frame["model"].unique())
        for nth, shown in pages(models, MOST_ROWS):
            yield Chart(
                name=f"distributions {corpus.key[0]}{f' {nth}' if len(shown) < len(models) else ''}",
                caption="distributions_of",
                draw=partial(distributions, corpus.frame[corpus.frame["model"].isin(shown)]),
                values={"corpus": corpus.key[0], "n_models": len(models)},
            )
    yield from _curves(tables["roc"], where(tables["separability"], metric="auc"))


def points_of(scored: ScoredStrings, place: SummaryRow) -> pd.DataFrame:
    """Return the two scores of each pair, at most `MOST_POINTS`, with what a scatter's panel says of all of them."""
    n_pairs = scored.good.size
    kept = equal_steps(n_pairs, MOST_POINTS)
    names = {"model": place.model, "corpus": place.corpus, "method": place.method, "n_pairs": n_pairs}
    return pd.DataFrame({**names, "good": scored.good[kept], "bad": scored.bad[kept]})


def _scatters(points: Sequence[pd.DataFrame], correlations: pd.DataFrame) -> Iterator[Chart]:
    """Yield the scatter of the good against the bad strings of each pair (Figure 2a), every model's."""
    direct = [part for part in points if is_string_logprob(part["method"].iloc[0]) and len(part) > 2]
    models = list(dict.fromkeys(part["model"].iloc[0] for part in direct))
    if len(models) > MOST_MODELS:
        yield from _cells(pd.concat(direct, ignore_index=True), models)
        return
    rows = records(where(correlations[is_reference(correlations)], group_by="all"))
    r = {(row["model"], row["corpus"]): row["value"] for row in rows}
    for model in models:
        parts = []
        for part in direct:
            if part["model"].iloc[0] == model:
                corpus, n_pairs = part["corpus"].iloc[0], part["n_pairs"].iloc[0]
                parts.append(part.assign(panel=f"{corpus}\nr = {number(r[model, corpus])}, n = {n_pairs:,}"))
        yield Chart(
            name=f"scatter {model}",
            caption="scatter",
            draw=partial(
                scatter_panels,
                pd.concat(parts, ignore_index=True),
                x="bad",
                y="good",
                panel="panel",
                **LABELS | {"x_label": "log P of the ungrammatical string, nats"},
                reference_line="equal",
                with_n=False,
            ),
            values={"model": model},
        )


def _cells(points: pd.DataFrame, models: Sequence[str]) -> Iterator[Chart]:
    """Yield the scatters of many models as cells, one row per model and one column per corpus."""
    points = points.rename(columns={"bad": "x", "good": "y"})
    for nth, shown in pages(models, MOST_CELL_ROWS):
        yield Chart(
            name=f"scatter{f' {nth}' if len(shown) < len(models) else ''}",
            caption="scatter_of_many",
            draw=partial(
                scatter_cells,
                points[points["model"].isin(shown)],
                rows="model",
                columns="corpus",
                **LABELS,
                reference_line="equal",
            ),
            values={"n_models": len(models)},
        )


def _curves(roc: pd.DataFrame, separability: pd.DataFrame) -> Iterator[Chart]:
    """Yield the ROC curves of each corpus: all methods of one model, else a panel per method and a line per model."""
    for group in groups(roc, "corpus", "subset"):
        place = place_text(*group.key)
        models = list(group.frame["model"].unique())
        draw = partial(roc_panels, group.frame, title=place)
        if len(models) == 1:
            own = records(where(separability, corpus=group.key[0], group=group.key[1], model=models[0]))
            lines = {
                str(method.key[0]): (
                    method.frame["false_positive_rate"].to_numpy(),
                    method.frame["true_positive_rate"].to_numpy(),
                )
                for method in groups(group.frame, "method")
            }
            draw = partial(roc_curves, lines, areas={row["method"]: row["value"] for row in own}, title=place)
        yield Chart(name=f"roc {place}", caption="curves", draw=draw, values={"where": place, "models": models})
