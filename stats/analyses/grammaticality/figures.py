"""The figures of Hu et al. 2026: in, the tables of the section on grammaticality; out, its figures.

Figure 2a, scatters of the two strings of a pair; 2b, r by minimalness; 4a and 5, distributions of good and bad strings;
4b, areas; 6, ROC curves. Every model is a line, a point or a panel of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import is_string_logprob
from pairbank.stats.figures.charts import (
    areas,
    bin_figures,
    distributions,
    file_name,
    n_text,
    pages,
    place_text,
    roc_curves,
    roc_panels,
)
from pairbank.stats.figures.scatters import scatter_cells, scatter_panels
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.scored_table import SummaryRow, is_reference
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.grammaticality.section import ScoredStrings

AREAS = "grammaticality_auc"
MOST_POINTS = 1_500
"""Of a scatter's panel: more would hide one another; they are taken at equal steps."""
SCATTER = "grammaticality_scatter"
MOST_MODELS = 4
"""With a scatter of their own; more are cells of one."""
MOST_CELL_ROWS = 10
MOST_ROWS = 5
"""Models whose distributions stand in one figure; more go on in another."""


def points_of(scored: ScoredStrings, place: SummaryRow) -> pd.DataFrame:
    """Return the two scores of each pair, at most `MOST_POINTS`, with what a scatter's panel says of all of them."""
    n_pairs = scored.good.size
    kept = np.unique(np.linspace(0, n_pairs - 1, min(n_pairs, MOST_POINTS)).round().astype(np.int64))
    names = {"model": place.model, "corpus": place.corpus, "method": place.method, "n_pairs": n_pairs}
    return pd.DataFrame({**names, "good": scored.good[kept], "bad": scored.bad[kept]})


def string_figures(tables: Mapping[str, pd.DataFrame], points: Sequence[pd.DataFrame]) -> Iterator[Figure]:
    """Yield all figures, the main one (areas) first."""
    whole = tables["separability"].query("group_by == 'all' and metric == 'auc'")
    yield Figure(
        name=AREAS,
        caption=(
            "Area under the ROC curve of grammatical against ungrammatical strings, by corpus and score (Hu et al. "
            f"2026, Figure 4b; {n_text(whole['n'])} items). {_marks_text(whole)} The line is chance."
        ),
        draw=partial(areas, whole, x_label="area under the ROC curve"),
    )
    yield from _scatters(points, tables["correlation"])
    yield from bin_figures(tables["by_bin"], section="grammaticality", y_label="Pearson r of the two sides")
    yield from _distributions(tables["distributions"])
    yield from roc_figures(tables["roc"], tables["separability"])


def _marks_text(whole: pd.DataFrame) -> str:
    models = list(dict.fromkeys(whole["model"]))
    numbered = ", ".join(f"{nth} {model}" for nth, model in enumerate(models, 1))
    return "Lines are 95% intervals." if len(models) == 1 else f"Numbers at the marks name the models: {numbered}."


def _scatters(points: Sequence[pd.DataFrame], correlations: pd.DataFrame) -> Iterator[Figure]:
    """Yield the scatter of the good against the bad strings of each pair (Figure 2a), every model's."""
    direct = [part for part in points if is_string_logprob(part["method"].iloc[0]) and len(part) > 2]
    models = list(dict.fromkeys(part["model"].iloc[0] for part in direct))
    result = correlations[(correlations["group_by"] == "all") & is_reference(correlations)]
    r = result.set_index(["model", "corpus"])["value"].to_dict()
    if len(models) > MOST_MODELS:
        yield from _cells(direct, models)
        return
    for model in models:
        parts = []
        for part in direct:
            if part["model"].iloc[0] == model:
                corpus, n_pairs = part["corpus"].iloc[0], part["n_pairs"].iloc[0]
                parts.append(part.assign(panel=f"{corpus}\nr = {number(r[model, corpus])}, n = {n_pairs:,}"))
        yield Figure(
            name=file_name(SCATTER, model),
            caption=(
                f"log P of the grammatical against the ungrammatical string of each pair, by {model} (Hu et al. "
                f"2026, Figure 2a). Points above the line are pairs whose better string is the more probable one. A "
                f"panel shows at most {MOST_POINTS:,} pairs; r is of all."
            ),
            draw=partial(
                scatter_panels, pd.concat(parts, ignore_index=True), x="bad", y="good", panel="panel",
                x_label="log P of the ungrammatical string, nats", y_label="log P of the grammatical string",
                reference_line="equal", with_n=False,
            ),
        )  # fmt: skip


def _cells(direct: Sequence[pd.DataFrame], models: Sequence[str]) -> Iterator[Figure]:
    """Yield the scatters of many models as cells, a row a model and a column a corpus."""
    points = pd.concat(direct, ignore_index=True).rename(columns={"bad": "x", "good": "y"})
    for nth, shown in pages(models, MOST_CELL_ROWS):
        yield Figure(
            name=file_name(SCATTER, *([nth] if len(shown) < len(models) else [])),
            caption=(
                "log P of the grammatical (up) against the ungrammatical (across) string of each pair, one row per "
                f"model ({len(models)}), one column per corpus (Hu et al. 2026, Figure 2a). Points above the line are "
                f"pairs whose better string is the more probable one. A cell shows at most {MOST_POINTS:,} pairs, on "
                "its own scale, and their r."
            ),
            draw=partial(
                scatter_cells, points[points["model"].isin(shown)], rows="model", columns="corpus",
                x_label="log P of the ungrammatical string", y_label="log P of the grammatical string",
                reference_line="equal",
            ),
        )  # fmt: skip


def _distributions(histograms: pd.DataFrame) -> Iterator[Figure]:
    """Yield how good and bad strings are distributed (Figures 4a and 5): a figure a corpus, a row of panels a model."""
    for corpus, part in histograms.groupby("corpus", sort=False):
        models = list(dict.fromkeys(part["model"]))
        for which, shown in pages(models, MOST_ROWS):
            yield Figure(
                name=file_name("grammaticality_distributions", corpus, *([which] if len(shown) < len(models) else [])),
                caption=(
                    f"How the scores of grammatical and ungrammatical strings of {corpus} are distributed (Hu et al. "
                    f"2026, Figures 4a and 5): shares of all strings of either kind, one row per model ({len(models)})."
                ),
                draw=partial(distributions, part[part["model"].isin(shown)]),
            )


def roc_figures(roc: pd.DataFrame, separability: pd.DataFrame) -> Iterator[Figure]:
    """Yield the ROC curves of each corpus: all methods of one model, else a panel a method and a line a model."""
    keys = ["corpus", "group", "model", "method"]
    result = separability[separability["metric"] == "auc"].set_index(keys)["value"].to_dict()
    for (corpus, subset), part in roc.groupby(["corpus", "subset"], sort=False):
        where = place_text(corpus, subset)
        if part["model"].nunique() == 1:
            lines: dict[str, tuple[FloatArray, FloatArray]] = {}
            of_method: dict[str, float] = {}
            for (model, method), points in part.groupby(["model", "method"], sort=False):
                rates = [points[name].to_numpy() for name in ("false_positive_rate", "true_positive_rate")]
                lines[str(method)] = (rates[0], rates[1])
                of_method[str(method)] = result[corpus, subset, model, method]
            who = f"each score of {part['model'].iloc[0]}; the legend has the area under each curve"
            draw = partial(roc_curves, lines, areas=of_method, title=where)
        else:
            who = f"each score, a line for each of {part['model'].nunique()} models"
            draw = partial(roc_panels, part, title=where)
        yield Figure(
            name=file_name("grammaticality_roc", where),
            caption=(
                f"Separating grammatical from ungrammatical strings of {where} by one threshold on {who} (Hu et al. "
                "2026, Figure 6); 0.50 is chance."
            ),
            draw=draw,
        )
