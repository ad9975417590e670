"""Sentences rated with and without context: do scores given the context follow these ratings, and are they compressed?

Items of one sentence share `pair_id` and text, and are told apart by `subset` (no, real, random context: Lau et al.
2020). Scored tables in; r with people by condition, with and without the context, and slopes of ratings out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, charts
from pairbank.stats.estimates.bootstrap import bootstrap_statistic
from pairbank.stats.figures.scatters import scatter_panels
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table

LEAST_SENTENCES = 20
SENTENCE = ["pair_id", "target_good"]
WITHOUT, WITH = "without context", "with the context"


@analysis(
    title="Does context change ratings and scores?",
    needs="{corpora} have no 20 sentences that people rated with and without context; score lau-2020-context",
)
def context(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return r of each method's scores with people in each context, and the compression of ratings."""
    correlation, compression, points = Rows(), Rows(), list[pd.DataFrame]()
    for table in tables:
        rated = _rated(table)
        in_context = rated["has_context"].astype("bool")
        without = rated[~in_context].drop(columns=["subset", "has_context"])
        conditions = {
            str(condition): both  # beside the same sentences without
            for condition, rows in rated[in_context].groupby("subset", sort=False)
            if len(both := rows.merge(without, on=SENTENCE, suffixes=("", "_without"))) >= LEAST_SENTENCES
        }
        correlation += _correlations(table, rated, conditions)
        if table.corpus not in {row["corpus"] for row in compression}:
            for condition, both in conditions.items():
                x, y = both["human_without"].to_numpy(), both["human"].to_numpy()
                fitted = partial(deming_slope, ratio=float(both["n_raters_without"].mean() / both["n_raters"].mean()))
                slope = bootstrap_statistic([x, y], fitted, rng=context.rng, n_resamples=context.n_resamples)
                names = {"corpus": table.corpus, "condition": condition, "mean_shift": float((y - x).mean())}
                compression.append(names | cells(slope) | {"n": slope.n, "reason": slope.reason or ""})
                points.append(both.assign(corpus=table.corpus, condition=condition))
    shown = pd.concat(points) if points else pd.DataFrame({"corpus": []})
    draw = partial(scatter_panels, x="human_without", y="human", panel="condition", reference_line="equal")
    labels: dict[str, Any] = {"x_label": "mean rating without context", "y_label": "mean rating in context"}
    return Result(
        tables={"correlation": pd.DataFrame(correlation), "compression": pd.DataFrame(compression)},
        second_table="compression" if compression else "",
        values={"n_resamples": context.n_resamples},
        charts=charts("ratings", shown, "corpus", draw=draw, **labels),
    )


def _rated(table: ScoredFrame) -> pd.DataFrame:
    """Return the single sentences that are rated, with the scores of each method that rates them."""
    read = read_table(table)
    frame = read.frame
    if not {*SENTENCE, "context_good", "human_good"} <= {*frame.columns}:
        return pd.DataFrame(columns=[*SENTENCE, "subset", "human", "has_context"])
    rated = frame[[*SENTENCE, "subset"]].assign(human=frame["human_good"].astype(float))
    rated["n_raters"] = frame["human_n"].astype(float).fillna(1.0) if "human_n" in frame else 1.0
    rated["has_context"] = frame["context_good"].fillna("").str.len() > 0
    scored = {scores.layout.method: scores.sentence_score for scores in read.methods if scores.rates.any()}
    rated = rated.assign(**scored)
    return rated[rated["human"].notna()].drop_duplicates([*SENTENCE, "subset"])


def _correlations(
    table: ScoredFrame, rated: pd.DataFrame, conditions: Mapping[str, pd.DataFrame]
) -> Iterator[dict[str, Any]]:
    """Yield r of scores with and without the context with the ratings of each condition."""
    named = [(name, both, "human", {WITH: "", WITHOUT: "_without"}) for name, both in conditions.items()]
    if conditions:
        named.insert(0, ("no context", next(iter(conditions.values())), "human_without", {WITHOUT: "_without"}))
    for method in (layout.method for layout in table.layouts if layout.method in rated):
        for condition, both, human, scored in named:
            used = both.dropna(subset=[human, *(f"{method}{suffix}" for suffix in scored.values())])
            for score, suffix in scored.items():
                r = pearson(used[f"{method}{suffix}"], used[human])
                names = {"corpus": table.corpus, "model": table.model, "method": method}
                yield names | {"ratings": condition, "score": score} | cells(r) | {"n": r.n, "reason": r.reason or ""}


def deming_slope(x: FloatArray, y: FloatArray, *, ratio: float = 1.0) -> FloatArray:
    """Return the slope of y on x by Deming regression, over the last axis; NaN where they do not vary together.

    Both have errors; `ratio` is the error variance of y over that of x, 1 being total least squares.
    """
    first, second = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    xx, yy, xy = (np.sum(part, axis=-1) for part in (first**2, second**2, first * second))
    more = yy - ratio * xx
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (more + np.sqrt(more**2 + 4 * ratio * xy**2)) / (2 * xy)
    return np.where(np.isfinite(slope), slope, np.nan)
