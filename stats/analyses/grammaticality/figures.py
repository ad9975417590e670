"""Figures of Hu et al. 2026: 2a scatters of both sides, 2b r by minimalness, 4a and 5 strings, 4b areas, 6 ROC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.scoring.api.names import is_string_logprob
from pairbank.stats.analyses.by_distance import bin_charts
from pairbank.stats.analyses.form import Chart, charts, equal_steps, groups, where
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
    """Yield the scatters of the good against the bad strings of each pair (Figure 2a); of many models as cells."""
    direct = [part for part in points if is_string_logprob(part["method"].iloc[0]) and len(part) > 2]
    drawn = pd.concat(direct or [pd.DataFrame({"model": []})], ignore_index=True)
    models = list(drawn["model"].unique())
    if len(models) <= MOST_MODELS:
        r = where(correlations[is_reference(correlations)], group_by="all").set_index(["model", "corpus"])["value"]
        parts = [
            part.frame.assign(panel=f"{corpus}\nr = {number(r[model, corpus])}, n = {part.first['n_pairs']:,}")
            for part in groups(drawn, "model", "corpus")
            for model, corpus in [part.key]
        ]
        draw = partial(scatter_panels, x="bad", y="good", panel="panel", reference_line="equal", with_n=False)
        labels: dict[str, Any] = LABELS | {"x_label": "log P of the ungrammatical string, nats"}
        yield from charts("scatter", pd.concat(parts or [drawn]), "model", name="scatter {model}", draw=draw, **labels)
        return
    points_of_cells = drawn.rename(columns={"bad": "x", "good": "y"})
    for nth, shown in pages(models, MOST_CELL_ROWS):
        of_models = points_of_cells[points_of_cells["model"].isin(shown)]
        yield Chart(
            name=f"scatter{f' {nth}' if len(shown) < len(models) else ''}",
            caption="scatter_of_many",
            draw=partial(scatter_cells, of_models, rows="model", columns="corpus", **LABELS, reference_line="equal"),
            values={"n_models": len(models)},
        )


def _curves(roc: pd.DataFrame, separability: pd.DataFrame) -> Iterator[Chart]:
    """Yield the ROC curves of each corpus: all methods of one model, else a panel per method and a line per model."""
    for group in groups(roc, "corpus", "subset"):
        place = place_text(*group.key)
        models = list(group.frame["model"].unique())
        draw = partial(roc_panels, group.frame, title=place)
        if len(models) == 1:
            own = where(separability, corpus=group.key[0], group=group.key[1], model=models[0])
            rates = ["false_positive_rate", "true_positive_rate"]
            lines: dict[str, Any] = {
                str(x.key[0]): tuple(x.frame[rates].to_numpy().T) for x in groups(group.frame, "method")
            }
            draw = partial(roc_curves, lines, areas=dict(zip(own["method"], own["value"], strict=True)), title=place)
        yield Chart(name=f"roc {place}", caption="curves", draw=draw, values={"where": place, "models": models})
