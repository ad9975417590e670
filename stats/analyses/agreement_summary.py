"""Agreement between direct and prompted scores over many models: of scored tables, or of their summary.

Hu & Levy 2023, figures 3 and 6: Pearson's r of each method, the unweighted mean over corpora of each model, then over
models. Song, Hu & Mahowald 2025, figure 5: Cohen's kappa of every model and prompt, its mean and range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import IntArray
from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis, cells, groups, where
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
_NEEDED = ("model", "corpus", "group_by", "method", "versus", "metric", "value")


@analysis(
    title="Agreement between direct and prompted scores, over models",
    needs="no table is scored both directly and with a prompt; agreement needs both",
    references=(
        "Hu & Levy 2023: Prompting is not a substitute for probability measurements in large language models. EMNLP.",
        "Song, Hu & Mahowald 2025: Language Models Fail to Introspect About Their Knowledge of Language. COLM.",
    ),
)
def agreement_summary(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return means and ranges of the agreement between direct and prompted scores."""
    agreements = pd.DataFrame([row for table in tables for row in _agreements(table)])
    if agreements.empty:
        return Result()
    agreements["run"] = _runs(agreements)
    has_kappa = (agreements["metric"] == "kappa").any()
    means = mean_agreement(agreements)
    kappas = agreement_ranges(agreements) if has_kappa else pd.DataFrame(columns=_RANGE)
    named = kappas.rename(columns={name: f"{name} kappa" for name in ("mean", "min", "max")} | {"n": "kappas"})
    return Result(
        tables={"ranges": _ranges(agreements), "mean_r": means, "kappa_range": named},
        values={"known": wider(agreements[agreements["value"].notna()]), "kappas": where(kappas, method=ALL_METHODS)}
        | {"means": where(means, model=ALL_MODELS)},
    )


def mean_agreement(summary: pd.DataFrame, *, metric: str = "pearson", versus: str | None = None) -> pd.DataFrame:
    """Return the mean agreement of each method: over corpora for each model, then over models.

    Means are unweighted: a corpus counts as much as another whatever its size, and a model as much as another
    however many corpora it has. Undefined numbers are left out and counted.

    Source: Hu & Levy 2023, section 5, figures 3 and 6.
    """
    methods = groups(_whole(summary, metric, versus), "method")
    rows = [row for method in methods for row in _mean_rows(str(method.key[0]), method.frame)]
    return pd.DataFrame(rows).astype({"reason": "string"})


def agreement_ranges(summary: pd.DataFrame, *, metric: str = "kappa", versus: str | None = None) -> pd.DataFrame:
    """Return the mean and range of agreement over models and corpora, for each method and for all together.

    Source: Song, Hu & Mahowald 2025, appendix B, figure 5.
    """
    whole = _whole(summary, metric, versus)
    parts = [(str(group.key[0]), group.frame) for group in groups(whole, "method")]
    rows = [_range_row(method, part, metric) for method, part in [*parts, (ALL_METHODS, whole)]]
    return pd.DataFrame(rows).astype({"reason": "string"})


def _whole(summary: pd.DataFrame, metric: str, versus: str | None) -> pd.DataFrame:
    """Return the rows of whole corpora with this metric, one per model, corpus and method."""
    if missing := [name for name in _NEEDED if name not in summary.columns]:
        raise BankError(f"the summary has no columns {missing}; expected what `summarise` returns")
    keep = (summary["group_by"] == "all") & (summary["metric"] == metric)
    keep &= summary["versus"].map(is_string_logprob).astype(bool) if versus is None else summary["versus"] == versus
    whole = summary[keep]
    if whole.empty:
        raise BankError(
            f"the summary has no {metric} versus {versus or DIRECT!r}; its metrics are "
            f"{sorted(set(summary['metric']))}: score with direct and a prompted method"
        )
    keys = ["model", "corpus", "method"]
    if whole.duplicated(keys).any():
        twice = whole[whole.duplicated(keys)].iloc[0]
        raise BankError(f"{twice['method']} of {twice['model']} on {twice['corpus']} occurs twice; give it once")
    return whole


def _runs(rows: pd.DataFrame) -> pd.Series[str]:
    """Return the model of each row; checkpoints of one run (`RUN@step-1000`) are one."""
    runs: pd.Series[str] = rows["model"].str.partition("@")[0]
    return runs


def _mean_of_runs(rows: pd.DataFrame) -> float:
    """Return the mean of values in which each run, method and corpus counts once."""
    return float(rows.groupby([_runs(rows), "method", "corpus"])["value"].mean().mean())


def _mean_rows(method: str, of_method: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the mean over corpora of each model, then that over models."""
    means, models = [], groups(of_method, "model")
    for model in models:
        values = model.frame["value"].dropna()
        means.append(float(values.mean()))
        n_undefined = len(model.frame) - len(values)
        yield _row(
            method,
            model.key[0],
            means[-1],
            n_corpora=len(values),
            n_models=int(len(values) > 0),
            n_undefined=n_undefined,
        )
    known = of_method[of_method["value"].notna()]
    by_model = pd.DataFrame({"model": [model.key[0] for model in models], "value": means})
    of_runs = by_model.groupby(_runs(by_model))["value"].mean().dropna()
    n_undefined = len(of_method) - len(known)
    mean, n_corpora = float(of_runs.mean()), known["corpus"].nunique()
    yield _row(method, ALL_MODELS, mean, n_corpora=n_corpora, n_models=len(of_runs), n_undefined=n_undefined)


def _row(method: str, model: str, value: float, *, n_corpora: int, n_models: int, n_undefined: int) -> dict[str, Any]:
    reason = "undefined on every corpus" if math.isnan(value) else None
    counts = {"n_corpora": n_corpora, "n_models": n_models, "n_undefined": n_undefined}
    return {"method": method, "model": model, "value": value} | counts | {"reason": reason}


def _range_row(method: str, rows: pd.DataFrame, metric: str) -> dict[str, Any]:
    used = rows["value"].dropna()
    return {
        "method": method,
        "mean": _mean_of_runs(rows),
        "min": float(used.min()),
        "max": float(used.max()),
        "n": len(used),
        "n_undefined": len(rows) - len(used),
        "reason": None if len(used) else f"{metric} is undefined everywhere",
    }


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


def _is_test(estimate: Estimate, paradigms: IntArray) -> bool:
    """Return whether 0 is outside the interval of one null in twenty: not over items that few paradigms share."""
    return bool(not np.isnan(estimate.low) and (estimate.n_paradigms or (paradigms < 0).any()))


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
            counts = {"n": estimate.n, "n_paradigms": estimate.n_paradigms, "is_test": _is_test(estimate, codes[used])}
            yield names | {"versus": read.reference, "metric": metric} | cells(estimate, paradigms=True) | counts
