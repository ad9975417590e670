"""Figures of Song, Hu & Mahowald 2025: 2a and 8 accuracy, 5 kappa, 2b, 6 and 9 r of every pair, 10 seed variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.form import Chart, where
from pairbank.stats.analyses.introspection.analysis import Introspection, with_seed_variants
from pairbank.stats.analyses.introspection.tables import ACCURACY, by_result, means_by_match_type
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.models import matrices, over_models
from pairbank.stats.figures.scatters import scatter, scatter_grid
from pairbank.stats.scored_table.model_features import MATCH_TYPES, SELF, ModelFeatures, by_family, by_size, size_breaks
from pairbank.stats.scored_table.scored_table import is_reference, reference_names

Features = Mapping[str, ModelFeatures | None]

SCATTERS = "scatters"
"""Name of the chart of several corpora."""
LEAST_PAIRS = 4
"""Pairs of models (two models' four) from which a figure shows anything."""
LEAST_TREND = 12
"""Pairs of different models (four models' twelve) through which a line is drawn."""
_AXES: dict[str, Any] = {
    "x": "direct_direct",
    "y": "meta_direct",
    "x_label": "similarity: r (direct of A, direct of B)",
    "y_label": "consistency: r (direct of A, asked B)",
    "series": "match_type",
}


def file_label(result: Introspection, kind: str) -> str:
    return f"{kind} {result.items} {result.corpus.replace('-', '_')}"


def introspection_charts(results: Sequence[Introspection]) -> Iterator[Chart]:
    """Yield the bars of each corpus and a scatter of each set of its items; one model alone makes none of them.

    Of several corpora, the set that answers is in `scatters_of_corpora`.
    """
    corpora = list(dict.fromkeys(result.corpus for result in results))
    bars = partial(intervals, rows="match_type", series="items", x_label="mean r (direct of A, asked B)", zero=True)
    for corpus in corpora:
        of_corpus = [result for result in results if result.corpus == corpus]
        means = by_result(of_corpus, lambda result: means_by_match_type(result.pairs))
        if means["n_pairs"].max() >= LEAST_PAIRS - 2 and len(of_corpus[0].models) > 1:
            yield Chart(
                name=f"match_types {corpus.replace('-', '_')}",
                caption="bars",
                draw=partial(bars, means, title=f"{corpus}: consistency"),
                values={"corpus": corpus, "n_models": of_corpus[0].n_models},
            )
        for result in of_corpus if len(corpora) == 1 else of_corpus[:-1]:
            points = _points(result)
            if len(points) >= LEAST_PAIRS:
                line, title = trend(points), f"{corpus}, {result.items} items"
                draw = partial(scatter, points, title=title, line=line, **_AXES)
                values = {"result": result, "n_pairs": len(points), "has_line": line is not None}
                yield Chart(name=file_label(result, "scatter"), caption="scatter", draw=draw, values=values)


def scatters_of_corpora(chosen: Sequence[Introspection]) -> Iterator[Chart]:
    """Yield consistency over similarity of several corpora beside each other (figure 4b); nothing for one corpus."""
    panels = {result.corpus: part for result in chosen if len(part := _points(result)) >= LEAST_PAIRS}
    if len(panels) > 1:
        lines = {corpus: line for corpus, part in panels.items() if (line := trend(part)) is not None}
        draw = partial(scatter_grid, panels, lines=lines, **_AXES)
        n = [result.n_items for result in chosen if result.corpus in panels]
        yield Chart(name=SCATTERS, caption=SCATTERS, draw=draw, values={"n": n})


def _points(result: Introspection) -> pd.DataFrame:
    """Return the pairs that have both r, those with self last, so that they are on top."""
    known = result.pairs.dropna(subset=["direct_direct", "meta_direct"])
    return known.sort_values("match_type", key=lambda x: x.map(MATCH_TYPES[::-1].index), kind="stable")


def trend(pairs: pd.DataFrame) -> tuple[float, float] | None:
    """Return intercept and slope of consistency over similarity of different models; None for few, or equal ones."""
    others = pairs[pairs["match_type"] != SELF]
    x = others["direct_direct"].to_numpy(dtype=float)
    if len(x) < LEAST_TREND or np.ptp(x) < 1e-9:
        return None
    slope, intercept = np.polyfit(x, others["meta_direct"].to_numpy(dtype=float), 1)
    return float(intercept), float(slope)


def model_charts(
    shares: pd.DataFrame, results: Sequence[Introspection], features: Features, people: Mapping[str, tuple[float, int]]
) -> Iterator[Chart]:
    """Yield lines over models and matrices of pairs; one model alone makes none of them."""
    models = by_size(list(dict.fromkeys(shares["model"])), features)
    if len(models) < 2:
        return
    breaks = size_breaks(models, features)
    lines = partial(over_models, series="method", breaks=breaks)
    draw = partial(
        lines,
        _panels(shares, models, "share"),
        y_label="share of items",
        strong=reference_of(shares["method"]) or "",
        chance=0.5,
        people={corpus: share for corpus, (share, _) in people.items()},
    )
    without = shares.loc[shares["what"] != ACCURACY, "corpus"].unique().tolist()
    values = {"n": shares["n"], "people": people, "without": without}
    yield Chart(name="accuracy", caption="accuracy", draw=draw, values=values)
    prompted = shares[~is_reference(shares) & shares["kappa"].notna()]
    if len(prompted):
        draw = partial(lines, _panels(prompted, models, "kappa"), y_label="Cohen's kappa", chance=0.0)
        values = {"prompted": prompted, "reference": reference_names(shares)}
        yield Chart(name="kappa", caption="kappa", draw=draw, values=values)
    for result in results:
        if result.pairs["meta_direct"].notna().any():
            columns = {"Direct of A, Direct of B": "direct_direct", "Direct of A, Meta of B": "meta_direct"}
            in_order = by_size(result.models, features)
            panels = {heading: _matrix(result.pairs, column, in_order) for heading, column in columns.items()}
            draw = partial(matrices, panels, value_label="Pearson r", x_label="B", y_label="A, read directly")
            yield Chart(name=file_label(result, "pairs"), caption="heat_maps", draw=draw, values={"result": result})
    yield from _seed_variants(results, features)


def _panels(rows: pd.DataFrame, models: Sequence[str], value: str) -> dict[str, pd.DataFrame]:
    """Return model, method and value by corpus, the models in order."""
    named = rows[["corpus", "model", "method", value]].rename(columns={value: "value"})
    in_order = named.sort_values("model", key=lambda x: x.map([*models].index), kind="stable")
    return {corpus: where(in_order, corpus=corpus).drop(columns="corpus") for corpus in rows["corpus"].unique()}


def _matrix(pairs: pd.DataFrame, value: str, models: Sequence[str]) -> pd.DataFrame:
    """Return r as a matrix: A, read directly, in rows; B in columns."""
    wide = pairs.pivot_table(index="direct_model", columns="meta_model", values=value, dropna=False)
    return wide.reindex(index=list(models), columns=list(models))


def _seed_variants(results: Sequence[Introspection], features: Features) -> Iterator[Chart]:
    """Yield, of each family that has seed variants, r of its models' pairs on each set of items (figure 10)."""
    families: dict[str, list[str]] = {}
    for result in results:
        families |= with_seed_variants(result.models, features)
    for family, siblings in families.items():
        models = by_family(siblings, features)
        panels = {
            f"{result.corpus}, {result.items} items": _matrix(result.pairs, "meta_direct", models)
            for result in results
            if set(models) & set(result.models)
        }
        values = pd.concat(panels.values()).abs().to_numpy(dtype=np.float64)
        if np.isnan(values).all():
            continue
        limit = max(0.1, float(np.ceil(np.nanmax(values) * 10) / 10))
        names: dict[str, Any] = {"value_label": "Pearson r", "x_label": "B, asked", "y_label": "A, read directly"}
        draw = partial(matrices, panels, limits=(-limit, limit), **names)
        yield Chart(name=f"seed_variants {family}", caption="seed_variants", draw=draw, values={"family": family})
