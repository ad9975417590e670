"""Figures of the introspection report: in, its analyses and shares; out, figures that are drawn when saved.

Song, Hu & Mahowald 2025, figures 2a and 8 (accuracy), 5 (kappa), 2b, 6 and 9 (r of every pair), 10 (seed variants).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.introspection.analysis import Introspection, with_seed_variants
from pairbank.stats.analyses.introspection.by_model import ACCURACY
from pairbank.stats.analyses.introspection.tables import means_by_match_type, under_each_other
from pairbank.stats.figures.charts import file_name, n_text
from pairbank.stats.figures.models import matrices, over_models
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.model_features import (
    MATCH_TYPES,
    SELF,
    by_family,
    by_size,
    size_breaks,
)
from pairbank.stats.scored_table.scored_table import is_reference, reference_names
from pairbank.stats.wording import number, span

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from pairbank.stats.scored_table.model_features import ModelFeatures

    Declared = Mapping[str, Mapping[str, ModelFeatures | None]]

X_LABEL = "similarity: r (direct of A, direct of B)"
Y_LABEL = "consistency: r (direct of A, asked B)"
SCATTERS = "introspection_scatters"
"""Name of the figure of several corpora."""
LEAST_PAIRS = 4
"""Pairs of models (two models' four) from which a figure shows anything."""
LEAST_TREND = 12
"""Pairs of different models (four models' twelve) through which a line is drawn."""


def scatter_name(result: Introspection) -> str:
    """Return the name of the scatter of one set of items."""
    return file_name("introspection", "scatter", result.items, result.corpus.replace("-", "_"))


def introspection_figures(done: Sequence[Introspection]) -> Iterator[Figure]:
    """Yield the bars of each corpus and a scatter of each set of its items; one model alone makes none of them.

    Of several corpora, the set that answers stands in `scatters_of_corpora`.
    """
    corpora = list(dict.fromkeys(result.corpus for result in done))
    for corpus in corpora:
        current = [outcome for outcome in done if outcome.corpus == corpus]
        bars = under_each_other((results, means_by_match_type(results.pairs)) for results in current)
        if bars["n_pairs"].max() >= LEAST_PAIRS - 2 and len(current[0].models) > 1:
            yield Figure(
                name=file_name("introspection", "match_types", corpus.replace("-", "_")),
                caption=(
                    f"{corpus}: mean r between the direct differences of A and the prompted ones of B, by match "
                    f"type, over all pairs of {current[0].n_models} models; mean +- 1.96 standard errors."
                ),
                draw=partial(_draw_bars, bars, corpus),
            )
        alone = current if corpora[1:] == [] else [matches for matches in current if matches is not current[-1]]
        yield from (figure for results in alone if (figure := _scatter(results)) is not None)


def scatters_of_corpora(chosen: Sequence[Introspection]) -> Iterator[Figure]:
    """Yield consistency over similarity of several corpora beside each other (figure 4b); nothing for one corpus."""
    panels = {results.corpus: results.pairs.dropna(subset=["direct_direct", "meta_direct"]) for results in chosen}
    panels = {corpus: _self_on_top(points) for corpus, points in panels.items() if len(points) >= LEAST_PAIRS}
    if len(panels) < 2:
        return
    n_items = pd.Series([result.n_items for result in chosen if result.corpus in panels])
    yield Figure(
        name=SCATTERS,
        caption=(
            f"Each point is a pair of models, A read directly and B asked, by corpus ({n_text(n_items)} items). "
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


def _scatter(result: Introspection) -> Figure | None:
    points = result.pairs.dropna(subset=["direct_direct", "meta_direct"])
    if len(points) < LEAST_PAIRS:
        return None
    line = trend(points)
    text = "" if line is None else " The line is the least-squares trend of the pairs of different models."
    return Figure(
        name=scatter_name(result),
        caption=(
            f"{result.corpus}, {result.items} items (n = {result.n_items}): each point is one of "
            f"{len(points)} pairs of models, A read directly and B asked.{text} Introspection would lift self "
            "above the trend of the others."
        ),
        draw=partial(_draw_scatter, points, f"{result.corpus}, {result.items} items", line),
    )


def trend(pairs: pd.DataFrame) -> tuple[float, float] | None:
    """Return intercept and slope of consistency over similarity of different models; None for few, or equal ones."""
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


_DIRECT_DIRECT, _DIRECT_META = "Direct of A, Direct of B", "Direct of A, Meta of B"


def model_figures(
    shares: pd.DataFrame, done: Sequence[Introspection], declared: Declared, people: Mapping[str, tuple[float, int]]
) -> Iterator[Figure]:
    """Yield lines over models and matrices of pairs; one model alone makes none of them."""
    known = {model: result for of_corpus in declared.values() for model, result in of_corpus.items()}
    models = by_size(list(dict.fromkeys(shares["model"])), known)
    if len(models) < 2:
        return
    yield from _shares(shares, models, known, people)
    yield from _kappas(shares, models, known)
    for results in done:
        if results.pairs["meta_direct"].notna().any():
            yield _pairs(results, known)
    yield from _seed_variants(done, known)


def _shares(
    shares: pd.DataFrame,
    models: Sequence[str],
    known: Mapping[str, ModelFeatures | None],
    people: Mapping[str, tuple[float, int]],
) -> Iterator[Figure]:
    panels = {str(corpus): _in_order(part, models, "share") for corpus, part in shares.groupby("corpus", sort=False)}
    is_accuracy = (shares["what"] == ACCURACY).groupby(shares["corpus"]).all()
    without = [corpus for corpus in panels if not is_accuracy[corpus]]
    text = (
        f" On {' and '.join(without)} neither word is right: what is drawn is the share of items whose drawn word is "
        "preferred, no accuracy."
        if without
        else ""
    )
    yield Figure(
        name=file_name("introspection", "accuracy"),
        caption=(
            f"Share of items whose better side is preferred, by model from small to large, directly and with each "
            f"prompt ({_n_text(shares['n'])} items); vertical lines part bins of similar size."
            f"{_people_text(people)}{text}"
        ),
        draw=partial(
            over_models,
            panels,
            series="method",
            y_label="share of items",
            strong=reference_of(shares["method"]) or "",
            chance=0.5,
            breaks=size_breaks(models, known),
            people={corpus: share for corpus, (share, _) in people.items()},
        ),
    )


def _kappas(shares: pd.DataFrame, models: Sequence[str], known: Mapping[str, ModelFeatures | None]) -> Iterator[Figure]:
    requested = shares[~is_reference(shares) & shares["kappa"].notna()]
    if requested.empty:
        return
    panels = {str(corpus): _in_order(part, models, "kappa") for corpus, part in requested.groupby("corpus", sort=False)}
    yield Figure(
        name=file_name("introspection", "kappa"),
        caption=(
            f"Cohen's kappa between the choices of each prompt and of {reference_names(shares)}, by model from small "
            f"to large ({_n_text(requested['n_kappa'])} items); 0 is what chance gives. Over all lines and models: "
            f"mean {number(requested['kappa'].mean())}, from {span(requested['kappa'])}."
        ),
        draw=partial(
            over_models, panels, series="method", y_label="Cohen's kappa", chance=0.0,
            breaks=size_breaks(models, known),
        ),
    )  # fmt: skip


def _in_order(part: pd.DataFrame, models: Sequence[str], value: str) -> pd.DataFrame:
    """Return model, method and value, the models in order."""
    place = {model: nth for nth, model in enumerate(models)}
    ordered = part.sort_values("model", key=lambda names: names.map(place), kind="stable")
    return ordered[["model", "method", value]].rename(columns={value: "value"})


def pair_matrix(pairs: pd.DataFrame, value: str, models: Sequence[str]) -> pd.DataFrame:
    """Return r as a matrix: A, read directly, in rows; B in columns."""
    wide = pairs.pivot_table(index="direct_model", columns="meta_model", values=value, dropna=False)
    return wide.reindex(index=list(models), columns=list(models))


def _pairs(result: Introspection, known: Mapping[str, ModelFeatures | None]) -> Figure:
    models = by_size(result.models, known)
    panels = {
        _DIRECT_DIRECT: pair_matrix(result.pairs, "direct_direct", models),
        _DIRECT_META: pair_matrix(result.pairs, "meta_direct", models),
    }
    own_values = result.pairs["meta_direct"].dropna()
    return Figure(
        name=file_name("introspection", "pairs", result.items, result.corpus.replace("-", "_")),
        caption=(
            f"{result.corpus}, {result.items} items (n = {result.n_items:,}): Pearson r of every pair of models, from "
            "small to large. Left: differences of A and B, both read directly. Right: of A read directly and B asked "
            f"(mean over prompts), from {span(own_values)}; the diagonal is a model with itself."
        ),
        draw=partial(matrices, panels, value_label="Pearson r", x_label="B", y_label="A, read directly"),
    )


def _seed_variants(done: Sequence[Introspection], known: Mapping[str, ModelFeatures | None]) -> Iterator[Figure]:
    """Yield, of each family that has seed variants, r of its models' pairs on each set of items (figure 10)."""
    families = {
        family: siblings for results in done for family, siblings in with_seed_variants(results.models, known).items()
    }
    for family, siblings in families.items():
        models = by_family(siblings, known)
        panels = {
            f"{result.corpus}, {result.items} items": pair_matrix(result.pairs, "meta_direct", models)
            for result in done
            if set(models) & set(result.models)
        }
        values = np.concatenate([matrix.to_numpy(dtype=float).ravel() for matrix in panels.values()])
        if np.isnan(values).all():
            continue
        limit = max(0.1, float(np.ceil(np.nanmax(np.abs(values)) * 10) / 10))
        yield Figure(
            name=file_name("introspection", "seed_variants", family),
            caption=(
                f"{family}, a family with seed variants: Pearson r (mean over prompts) between A read directly (rows) "
                "and B asked (columns). Introspection would lift the diagonal above a model's seed variants."
            ),
            draw=partial(
                matrices, panels, value_label="Pearson r", limits=(-limit, limit), x_label="B, asked",
                y_label="A, read directly",
            ),
        )  # fmt: skip


def _people_text(people: Mapping[str, tuple[float, int]]) -> str:
    return "".join(
        f" The dotted line on {corpus} is people's mean ratings ({number(share)}, n = {n:,} rated items)."
        for corpus, (share, n) in people.items()
    )


def _n_text(n: pd.Series[float]) -> str:
    least, most = int(n.min()), int(n.max())
    return f"n = {least:,}" if least == most else f"n = {least:,} to {most:,}"
