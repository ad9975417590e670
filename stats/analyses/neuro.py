"""The report's section on probes: what `probe` found in, tables and curves over layers out (He et al. 2025)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.files import replaced_atomically, write_json
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis, cells, charts, where
from pairbank.stats.estimates.estimate import undefined, without_interval
from pairbank.stats.figures.charts import curves
from pairbank.stats.measures.probes import chosen_by_other_folds, fold_mean
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import SummaryRow

ALL = "all"
METRICS = ("f1", "accuracy")
LAYER_DTYPES = {
    **dict.fromkeys(("model", "corpus", "group_by", "group"), "string"),
    "layer": "int64",
    "metric": "string",
    **dict.fromkeys(("value", "low", "high", "fold_sd"), "float64"),
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


def layer_rows(
    scores: ProbeScores | str, current: SummaryRow, *, n_layers: int, n_pairs: int
) -> Iterator[dict[str, Any]]:
    """Yield a group's rows in the table of layers: real labels and control task, every metric."""
    names = {name: getattr(current, name) for name in ("model", "corpus", "group_by", "group")}
    for layer, metric, control in itertools.product(range(n_layers), METRICS, (False, True)):
        if isinstance(scores, str):
            sd, estimate = np.nan, undefined(scores, n=n_pairs, method="")
        else:
            values = (scores.control if control else scores.real)[metric][layer]
            sd, estimate = float(values.std(ddof=1)), fold_mean(values, n=n_pairs)
        place = {"layer": layer, "metric": metric, "control": control, "fold_sd": sd, "n": n_pairs}
        yield names | place | cells(estimate) | {"ci_method": estimate.method, "reason": estimate.reason}


def summary_rows(
    scores: ProbeScores | str, current: SummaryRow, *, n_pairs: int, n_rows: int
) -> Iterator[dict[str, Any]]:
    """Yield what is said of all layers together; the embedding is not one of them."""
    none = partial(without_interval, n=n_pairs, method="")
    for metric in METRICS:
        names = (metric, f"{metric}_layer", f"{metric}_chosen", f"{metric}_control", f"{metric}_selectivity")
        if isinstance(scores, str):
            estimates = [undefined(scores, n=n_pairs, method="")] * len(names)
        else:
            real, control = scores.real[metric][1:], scores.control[metric][1:]
            # the layer with the highest mean over folds, the lowest such layer in a tie
            best, best_control = (int(np.argmax(np.round(x.mean(axis=1), 12))) for x in (real, control))
            chosen = [fold_mean(real[best], n=n_pairs), fold_mean(control[best_control], n=n_pairs)]
            # their intervals are those of the best of many layers, as if it had been chosen beforehand
            marked = [replace(x, method=f"{x.method}, best of {len(real)} layers") for x in chosen]
            selectivity = float(real[best].mean() - control[best].mean())
            estimates = [
                marked[0],
                none(best + 1.0, "the number of a layer"),
                fold_mean(chosen_by_other_folds(real), n=n_pairs),
                marked[1],
                none(selectivity, "a difference of two probes"),
            ]
        for name, estimate in zip(names, estimates, strict=True):
            yield replace(current, metric=name).row(estimate, n_rows=n_rows)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What probes found in a model's hidden states.

    >>> probe(load_corpus("starter"), load_model("demo")).layers  # doctest: +SKIP
    """

    layers: pd.DataFrame
    """One row per group, layer, metric, and real labels or control task; `LAYER_DTYPES`. Values are means over folds,
    `fold_sd` their spread, `low` and `high` a corrected-t interval; `n` counts pairs."""
    summary: pd.DataFrame
    """Rows like those of `summarise` (`pairbank.stats.scored_table.scored_table.DTYPES`), method `neuro`. Metrics: `f1`
    and `accuracy`, the maximum over layers (the paper's, optimistic); `..._layer`, the layer that has it;
    `..._chosen`, at the layer that the other folds choose (not optimistic); `..._control`, the control task's maximum;
    `..._selectivity`, `f1` or `accuracy` minus the control at the same layer. For several groups also the mean over
    them (group_by `all`)."""
    signature: Mapping[str, Any]
    """Model, corpus, method and seed."""

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.signature["model"]["name"])

    @property
    def corpus(self) -> str:
        """The corpus's name."""
        return str(self.signature["corpus"]["name"])

    def save(self, folder: str | Path) -> Path:
        """Write `neuro_layers.parquet`, `neuro_summary.csv` and `neuro.json` (the signature); return the folder."""
        root = Path(folder)
        with replaced_atomically(root / "neuro_layers.parquet") as temporary:
            self.layers.to_parquet(temporary, index=False)
        with replaced_atomically(root / "neuro_summary.csv") as temporary:
            self.summary.to_csv(temporary, index=False, lineterminator="\n")
        write_json(root / "neuro.json", self.signature)
        return root


@analysis(title="Neuro: probes of hidden states", facts=("probed",))
def neuro(_tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return what probes found, one per corpus and model."""
    if not context.probed:
        raise BankError("no probes to report; give at least one result of pairbank.probe")
    layers, summary = (
        pd.concat(tables, ignore_index=True)
        for tables in zip(*((probes.layers, probes.summary) for probes in context.probed), strict=True)
    )
    models = pd.DataFrame([_means(probes.summary) for probes in context.probed])
    f1 = layers[(layers["metric"] == "f1") & layers["value"].notna()]
    unfitted = summary[(summary["metric"] == "f1") & summary["reason"].notna()]
    is_group = unfitted["group_by"] != ALL
    draw = partial(curves, x="layer", series="labels", x_label="layer", y_label="F1")
    return Result(
        tables={"models": models, "summary": summary, "layers": layers},
        main_table="models" if models["f1"].notna().any() else "",
        charts=charts("layers_of", f1, "corpus", "model", draw=draw, select=_by_layer),
        values={"unfitted": unfitted[is_group] if is_group.any() else unfitted},
    )


def _means(summary: pd.DataFrame) -> dict[str, Any]:
    """Return the means over groups of a corpus and model; a single group is all of them."""
    wholes = where(summary, group_by=ALL)
    means = (wholes if len(wholes) else summary).groupby("metric", sort=False)["value"].mean()
    row = {name: summary[name].iloc[0] for name in ("model", "corpus")}
    row |= {"pairs": int(where(summary, metric="f1")["n"].max())}
    names = ("f1", "f1_chosen", "f1_control", "f1_selectivity", "accuracy")
    return row | {name: means.get(name, np.nan) for name in names}


def _by_layer(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over groups at each layer, of real labels and of the control task."""
    means = rows.groupby(["control", "layer"], sort=True)["value"].mean().reset_index()
    labels = means["control"].map({False: "real labels", True: "control task"})
    return means.assign(labels=labels, low=np.nan, high=np.nan)
