"""Agreement between direct and prompted scores over models: Hu & Levy 2023, figures 3 and 6; Song et al. 2025, 5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, groups, where
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.measures.agreement import cohens_kappa, pearson
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import number, span

ALL_MODELS, ALL_METHODS = "all models", "all methods"
METRICS = {"pearson": ("Pearson's r", "n (r)"), "kappa": ("Cohen's kappa", "n (kappa)")}
"""Metric -> headings of its mean and of its count."""
_RANGE = ("method", "mean", "min", "max", "n", "n_undefined", "reason")


@analysis(
    title="Agreement between direct and prompted scores, over models",
    needs="no table is scored both directly and with a prompt; agreement needs both",
)
def agreement_summary(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return means and ranges of the agreement between direct and prompted scores."""
    agreements = pd.DataFrame([row for table in tables for row in _agreements(table)])
    if agreements.empty:
        return Result()
    agreements["run"] = agreements["model"].str.partition("@")[0]
    has_kappa = (agreements["metric"] == "kappa").any()
    means = mean_agreement(agreements)
    kappas = agreement_ranges(agreements) if has_kappa else pd.DataFrame(columns=_RANGE)
    named = kappas.rename(columns={name: f"{name} kappa" for name in ("mean", "min", "max")} | {"n": "kappas"})
    return Result(
        tables={"ranges": _ranges(agreements), "mean_r": means, "kappa_range": named},
        values={"known": wider(agreements[agreements["value"].notna()]), "kappas": where(kappas, method=ALL_METHODS)}
        | {"means": where(means, model=ALL_MODELS)},
    )


def mean_agreement(agreements: pd.DataFrame) -> pd.DataFrame:
    """Return mean r of each method: over corpora for each model, then over models (Hu & Levy 2023, figures 3 and 6).

    Means are unweighted: a corpus counts as much as another whatever its size, and a model as much as another
    however many corpora it has. Undefined numbers are left out and counted.
    """
    rows = Rows()
    for method in groups(_of_metric(agreements, "pearson"), "method"):
        means: dict[Any, float] = {}
        for model in [*groups(method.frame, "model"), method]:
            known = model.frame[model.frame["value"].notna()]
            if model is method:
                of_runs = pd.Series(means).groupby(lambda name: name.partition("@")[0]).mean().dropna()
                name, mean, n_models = ALL_MODELS, float(of_runs.mean()), len(of_runs)
            else:
                name, n_models = model.key[0], int(len(known) > 0)
                mean = means[name] = float(known["value"].mean())
            row = {"method": method.key[0], "model": name, "value": mean, "n_corpora": known["corpus"].nunique()}
            row |= {"n_models": n_models, "n_undefined": len(model.frame) - len(known)}
            rows.append(row | {"reason": "undefined on every corpus" if math.isnan(mean) else None})
    return pd.DataFrame(rows).astype({"reason": "string"})


def agreement_ranges(agreements: pd.DataFrame) -> pd.DataFrame:
    """Return mean and range of kappa over models and corpora, for each method and for all together.

    Source: Song, Hu & Mahowald 2025, appendix B, figure 5.
    """
    whole = _of_metric(agreements, "kappa")
    rows = Rows()
    for method, part in [*((group.key[0], group.frame) for group in groups(whole, "method")), (ALL_METHODS, whole)]:
        used = part["value"].dropna()
        row = {"method": method, "mean": _mean_of_runs(part), "min": used.min(), "max": used.max(), "n": len(used)}
        reason = None if len(used) else "kappa is undefined everywhere"
        rows.append(row | {"n_undefined": len(part) - len(used), "reason": reason})
    return pd.DataFrame(rows).astype({"reason": "string"})


def _of_metric(agreements: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a metric, one per model, corpus and method."""
    rows, keys = where(agreements, metric=metric), ["model", "corpus", "method"]
    if rows.duplicated(keys).any():
        twice = rows[rows.duplicated(keys)].iloc[0]
        raise BankError(f"{twice['method']} of {twice['model']} on {twice['corpus']} occurs twice; give it once")
    return rows


def _mean_of_runs(rows: pd.DataFrame) -> float:
    """Return the mean of values in which each run, method and corpus counts once; `RUN@step-1000` is of a run."""
    run = rows["model"].str.partition("@")[0]
    return float(rows.groupby([run, "method", "corpus"])["value"].mean().mean())


def _ranges(agreements: pd.DataFrame) -> pd.DataFrame:
    """Return mean and range of r and kappa, one row per method and one for all."""
    methods = list(dict.fromkeys(agreements["method"]))
    rows: list[dict[str, str]] = []
    for method in [*methods, *([ALL_METHODS] if len(methods) > 1 else [])]:
        row = {"method": method}
        for metric, (heading, n) in METRICS.items():
            of_method = (agreements["method"] == method) | (method == ALL_METHODS)
            part = agreements[of_method & (agreements["metric"] == metric)]
            n_defined = part["value"].notna().sum()
            mean = f"{number(_mean_of_runs(part))} ({span(part['value'])})" if n_defined > 1 else span(part["value"])
            row |= {heading: mean, n: f"{n_defined} of {len(part)}" if len(part) else ""}
        rows.append(row)
    return pd.DataFrame(rows)


def _agreements(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    """Yield r and kappa of each prompted method, as rows of a summary."""
    read = read_table(table)
    direct, codes = read.method(read.reference), read.paradigms
    for scores in read.methods:
        if direct is None or not scores.layout.is_prompted:
            continue
        if scores.predicts.any():  # words have one side: r of log-probabilities, and no choice (their footnote 7)
            used = direct.predicts & scores.predicts
            x, y = direct.word_nats[used], scores.word_nats[used]
        else:
            used = direct.applies & scores.applies & read.is_choice
            x, y = direct.delta_nats[used], scores.delta_nats[used]
        estimates: dict[str, Estimate] = {"pearson": pearson(x, y, clusters=codes[used])}
        if not scores.predicts.any():
            estimates["kappa"] = cohens_kappa(x, y, clusters=codes[used])
        names = {"model": table.model, "corpus": table.corpus, "group_by": "all", "method": scores.layout.method}
        for metric, estimate in estimates.items():
            # 0 is outside the interval of one null in twenty: not over items that few paradigms share
            is_test = not np.isnan(estimate.low) and (estimate.n_paradigms > 0 or (codes[used] < 0).any())
            counts = {"n": estimate.n, "n_paradigms": estimate.n_paradigms, "is_test": bool(is_test)}
            yield names | {"versus": read.reference, "metric": metric} | cells(estimate, paradigms=True) | counts
