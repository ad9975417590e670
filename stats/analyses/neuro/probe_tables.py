"""The tables of probes: in, what probes scored in each layer and fold; out, rows for layers and for groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.measures.probes import chosen_by_other_folds, fold_mean
from pairbank.stats.scored_table.summary_row import SummaryRow

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

ALL = "all"
METRICS = ("f1", "accuracy")
LAYER_DTYPES = {
    "model": "string",
    "corpus": "string",
    "group_by": "string",
    "group": "string",
    "layer": "int64",
    "metric": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "fold_sd": "float64",
    "n": "int64",
    "control": "bool",
    "ci_method": "string",
    "reason": "string",
}
"""Columns of the table of layers and their pandas types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeScores:
    """Scores of a group's probes, shape (layers, folds) each, by metric."""

    real: Mapping[str, FloatArray]
    control: Mapping[str, FloatArray]


def layer_rows(scores: ProbeScores | str, here: SummaryRow, *, n_layers: int, n_pairs: int) -> Iterator[dict[str, Any]]:
    """Yield a group's rows in the table of layers: real labels and control task, every metric."""
    names = {name: getattr(here, name) for name in ("model", "corpus", "group_by", "group")}
    for layer in range(n_layers):
        for metric in METRICS:
            for control in (False, True):
                if isinstance(scores, str):
                    sd, estimate = np.nan, undefined(scores, n=n_pairs, method="")
                else:
                    values = (scores.control if control else scores.real)[metric][layer]
                    sd, estimate = float(values.std(ddof=1)), fold_mean(values, n=n_pairs)
                yield names | {
                    "layer": layer,
                    "metric": metric,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "fold_sd": sd,
                    "n": n_pairs,
                    "control": control,
                    "ci_method": estimate.method,
                    "reason": estimate.reason,
                }


def summary_rows(scores: ProbeScores | str, here: SummaryRow, *, n_pairs: int, n_rows: int) -> Iterator[dict[str, Any]]:
    """Yield what is said of all layers together; the embedding is not one of them."""
    for metric in METRICS:
        for name, estimate in _over_layers(metric, scores, n_pairs).items():
            yield replace(here, metric=name).row(estimate, n_rows=n_rows)


def _over_layers(metric: str, scores: ProbeScores | str, n: int) -> dict[str, Estimate]:
    names = (metric, f"{metric}_layer", f"{metric}_chosen", f"{metric}_control", f"{metric}_selectivity")
    if isinstance(scores, str):
        return {name: undefined(scores, n=n, method="") for name in names}
    real, control = scores.real[metric][1:], scores.control[metric][1:]
    best, control_best = _best(real), _best(control)
    estimates = (
        _marked(fold_mean(real[best], n=n), len(real)),
        without_interval(best + 1.0, "the number of a layer", n=n, method=""),
        fold_mean(chosen_by_other_folds(real), n=n),
        _marked(fold_mean(control[control_best], n=n), len(real)),
        without_interval(float(real[best].mean() - control[best].mean()), "a difference of two probes", n=n, method=""),
    )
    return dict(zip(names, estimates, strict=True))


def _best(scores: FloatArray) -> int:
    """Return the layer with the highest mean over folds, the lowest such layer in a tie."""
    return int(np.argmax(np.round(scores.mean(axis=1), 12)))


def _marked(estimate: Estimate, n_layers: int) -> Estimate:
    """Say that an interval is that of the best of many layers, as if it had been chosen beforehand."""
    return replace(estimate, method=f"{estimate.method}, best of {n_layers} layers")


def mean_rows(summary: pd.DataFrame, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield the unweighted mean over groups of what has one (not of layer numbers)."""
    for metric, rows in summary.groupby("metric", sort=False):
        if str(metric).endswith("_layer"):
            continue
        n, n_rows = int(rows["n"].sum()), int((rows["n"] + rows["n_excluded"]).sum())
        used = rows["value"].dropna()
        reason = f"mean of {len(used)} probes of {len(rows)} groups; no interval"
        method = "unweighted mean over groups"
        mean = float(used.mean()) if len(used) else np.nan
        estimate = without_interval(mean, reason, n=n, method=method)
        yield replace(place, group_by=ALL, group="", metric=str(metric)).row(estimate, n_rows=n_rows)
