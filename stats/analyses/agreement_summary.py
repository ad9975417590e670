"""Agreement between direct and prompted scores over many models: scored tables (or their summary) in, a section out.

Hu & Levy 2023, figures 3 and 6: Pearson's r of each method, the unweighted mean over corpora of each model, then over
models. Song, Hu & Mahowald 2025, figure 5: Cohen's kappa of every model and prompt, its mean and range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.measures.agreement import cohens_kappa, pearson
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import either, read_table
from pairbank.stats.wording import mean_and_span, n_items, number, span, with_interval

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate

ALL_MODELS = "all models"
ALL_METHODS = "all methods"
_RANGE = ("method", "mean", "min", "max", "n", "n_undefined", "reason")
_NEEDED = ("model", "corpus", "group_by", "method", "versus", "metric", "value")


def mean_agreement(summary: pd.DataFrame, *, metric: str = "pearson", versus: str | None = None) -> pd.DataFrame:
    """Return the mean agreement of each method: over corpora for each model, then over models.

    Means are unweighted: a corpus counts as much as another whatever its size, and a model as much as another
    however many corpora it has. Undefined numbers are left out and counted.

    Source: Hu & Levy 2023, section 5, figures 3 and 6.

    >>> rows = [("m", "a", 0.8), ("m", "b", 0.9), ("n", "a", 0.5)]
    >>> summary = pd.DataFrame([{"model": m, "corpus": c, "group_by": "all", "method": "meta", "versus": "direct",
    ...                          "metric": "pearson", "value": r} for m, c, r in rows])
    >>> mean_agreement(summary)[["model", "value", "n_corpora"]].round(6).values.tolist()
    [['m', 0.85, 2], ['n', 0.5, 1], ['all models', 0.675, 2]]
    """
    cells = _cells(summary, metric=metric, versus=versus)
    rows = [row for method in dict.fromkeys(cells["method"]) for row in _method_rows(cells, method)]
    return pd.DataFrame(rows).astype({"reason": "string"})


def agreement_ranges(summary: pd.DataFrame, *, metric: str = "kappa", versus: str | None = None) -> pd.DataFrame:
    """Return the mean and range of agreement over models and corpora, for each method and for all together.

    Source: Song, Hu & Mahowald 2025, appendix B, figure 5.

    >>> summary = pd.DataFrame({"model": ["m", "n"], "corpus": "a", "group_by": "all", "method": "meta",
    ...                         "versus": "direct", "metric": "kappa", "value": [0.2, 0.3]})
    >>> agreement_ranges(summary)[["method", "mean", "min", "max"]].values.tolist()
    [['meta', 0.25, 0.2, 0.3], ['all methods', 0.25, 0.2, 0.3]]
    """
    cells = _cells(summary, metric=metric, versus=versus)
    parts = [(method, cells[cells["method"] == method]) for method in dict.fromkeys(cells["method"])]
    rows = [_range_row(name, part["value"], metric) for name, part in [*parts, (ALL_METHODS, cells)]]
    return pd.DataFrame(rows).astype({"reason": "string"})


def _cells(summary: pd.DataFrame, *, metric: str, versus: str | None) -> pd.DataFrame:
    """Return the rows of whole corpora with this metric, one a model, corpus and method."""
    if missing := [name for name in _NEEDED if name not in summary.columns]:
        raise BankError(f"the summary has no columns {missing}; expected what `summarise` returns")
    keep = (summary["group_by"] == "all") & (summary["metric"] == metric)
    keep &= summary["versus"].map(is_string_logprob).astype(bool) if versus is None else summary["versus"] == versus
    cells = summary[keep]
    if cells.empty:
        raise BankError(
            f"the summary has no {metric} versus {versus or DIRECT!r}; its metrics are "
            f"{sorted(set(summary['metric']))}: score with direct and a prompted method"
        )
    keys = ["model", "corpus", "method"]
    if cells.duplicated(keys).any():
        twice = cells[cells.duplicated(keys)].iloc[0]
        raise BankError(f"{twice['method']} of {twice['model']} on {twice['corpus']} stands twice; give it once")
    return cells


def _method_rows(cells: pd.DataFrame, method: str) -> Iterator[dict[str, Any]]:
    of_method = cells[cells["method"] == method]
    means, corpora, n_undefined = [], set[str](), 0
    for model in dict.fromkeys(of_method["model"]):
        part = of_method[of_method["model"] == model]
        used = part[part["value"].notna()]
        undefined = len(part) - len(used)
        value = float(used["value"].mean()) if len(used) else math.nan
        yield _row(method, model, value, n_corpora=len(used), n_models=int(len(used) > 0), n_undefined=undefined)
        means.append(value)
        corpora |= set(used["corpus"])
        n_undefined += undefined
    defined = np.array([x for x in means if not math.isnan(x)])
    value = float(defined.mean()) if defined.size else math.nan
    yield _row(method, ALL_MODELS, value, n_corpora=len(corpora), n_models=defined.size, n_undefined=n_undefined)


def _row(method: str, model: str, value: float, *, n_corpora: int, n_models: int, n_undefined: int) -> dict[str, Any]:
    reason = "undefined on every corpus" if math.isnan(value) else None
    counts = {"n_corpora": n_corpora, "n_models": n_models, "n_undefined": n_undefined}
    return {"method": method, "model": model, "value": value} | counts | {"reason": reason}


def _range_row(method: str, values: pd.Series[float], metric: str) -> dict[str, Any]:
    used = values.dropna()
    mean, lowest, highest = (used.mean(), used.min(), used.max()) if len(used) else (math.nan,) * 3
    return {
        "method": method,
        "mean": float(mean),
        "min": float(lowest),
        "max": float(highest),
        "n": len(used),
        "n_undefined": len(values) - len(used),
        "reason": None if len(used) else f"{metric} is undefined everywhere",
    }


DEFINITIONS = """\
- **Mean r**: Pearson's r over items between the direct and the prompted difference (good - bad) of a model, for each
  corpus and method. For words to predict, it is between the two log-probabilities. The mean is unweighted, over corpora
  and then over models (Hu & Levy 2023, figures 3 and 6).
- **Kappa**: Cohen's kappa between the signs of the two differences, ties left out; mean, lowest and highest over models
  and corpora (Song, Hu & Mahowald 2025, figure 5).
- Undefined numbers are left out of means and counted. Items with identical sides are left out. No resampling
  is used. The section Agreement has the intervals of each r and kappa.
"""


REFERENCES = (
    "Hu & Levy 2023: Prompting is not a substitute for probability measurements in large language models. EMNLP.",
    "Song, Hu & Mahowald 2025: Language Models Fail to Introspect About Their Knowledge of Language. COLM.",
)


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return means and ranges of the agreement between direct and prompted scores."""
    cells = pd.DataFrame([row for table in tables for row in _model_cells(table)])
    if cells.empty:
        raise BankError("no table is scored both directly and with a prompt; agreement needs both")
    means = mean_agreement(cells)
    kappas = agreement_ranges(cells) if (cells["metric"] == "kappa").any() else pd.DataFrame(columns=_RANGE)
    named = kappas.rename(columns={name: f"{name} kappa" for name in ("mean", "min", "max")} | {"n": "kappas"})
    return Section(
        id="agreement_summary",
        title="Agreement between direct and prompted scores, over models",
        text=_text(means, kappas),
        answer=_answer(wider(cells)),
        main_table="ranges",
        footnotes=(FOOTNOTE,),
        definitions=DEFINITIONS,
        tables={"ranges": _ranges(cells), "mean_r": means, "kappa_range": named},
        references=REFERENCES,
    )


METRICS = {"pearson": ("Pearson's r", "n (r)"), "kappa": ("Cohen's kappa", "n (kappa)")}
FOOTNOTE = (
    "Mean (lowest to highest). n: combinations of model and corpus in which the number is defined, of all; it is "
    "undefined where answers do not vary. Pearson's r compares how much the better side is preferred (of words to "
    "predict, log P), Cohen's kappa which side is."
)


def _ranges(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean and range of r and kappa, a line per method and one for all."""
    methods = list(dict.fromkeys(cells["method"]))
    rows: list[dict[str, str]] = []
    for method in [*methods, *([ALL_METHODS] if len(methods) > 1 else [])]:
        row = {"method": method}
        for metric, (heading, n) in METRICS.items():
            of_method = (cells["method"] == method) | (method == ALL_METHODS)
            values = cells.loc[of_method & (cells["metric"] == metric), "value"]
            row |= {
                heading: mean_and_span(values),
                n: f"{values.notna().sum()} of {len(values)}" if len(values) else "",
            }
        rows.append(row)
    return pd.DataFrame(rows)


def _model_cells(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    """Yield r and kappa of each prompted method, as rows of a summary."""
    read = read_table(table)
    direct = read.method(read.reference)
    for scores in read.methods:
        if direct is None or not scores.layout.is_prompted:
            continue
        if scores.predicts.any():  # words have one side: r of log-probabilities, and no choice (their footnote 7)
            used = direct.predicts & scores.predicts
            results: dict[str, Estimate] = {
                "pearson": pearson(direct.word_nats[used], scores.word_nats[used], clusters=read.paradigms[used])
            }
        else:
            used = direct.applies & scores.applies & read.is_choice
            x, y = direct.delta_nats[used], scores.delta_nats[used]
            of = read.paradigms[used]
            results = {"pearson": pearson(x, y, clusters=of), "kappa": cohens_kappa(x, y, clusters=of)}
        for metric, estimate in results.items():
            yield {
                "model": table.model,
                "corpus": table.corpus,
                "group_by": "all",
                "method": scores.layout.method,
                "versus": read.reference,
                "metric": metric,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
                "low_paradigms": estimate.low_paradigms,
                "high_paradigms": estimate.high_paradigms,
            }


def _answer(cells: pd.DataFrame) -> str:
    """Return the mean and range of r and kappa over models, methods and corpora."""
    texts = []
    named = either(cells["versus"])
    for metric, name in (
        ("pearson", f"Pearson's r of prompts with {named}"),
        ("kappa", f"Cohen's kappa of prompts with {named}"),
    ):
        known = cells[(cells["metric"] == metric) & cells["value"].notna()]
        if known.empty:
            continue
        if len(known) == 1:
            texts.append(f"{name} is {with_interval(known.iloc[0])} ({n_items(known['n'])}).")
            continue
        size = ", ".join(_counted(known[key].nunique(), key) for key in ("model", "method", "corpus"))
        texts.append(
            f"{name} averages {number(known['value'].mean())} and ranges from {span(known['value'])} ({size}, "
            f"{n_items(known['n'])}{_away_from_zero(known)})."
        )
    return html_as_text("\n\n".join(texts)) or "No correlation is defined for these tables."


def _away_from_zero(known: pd.DataFrame) -> str:
    """Say in how many cells the interval excludes 0, beside what chance alone would give."""
    reported = known[known["low"].notna()]
    if len(reported) < 2:
        return ""
    away = int(((reported["low"] > 0) | (reported["high"] < 0)).sum())
    return f"; {away} of {len(reported)} intervals exclude 0, {number(len(reported) / 20, digits=1)} expected by chance"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {'corpora' if what == 'corpus' else f'{what}s'}"


def _text(means: pd.DataFrame, kappas: pd.DataFrame) -> str:
    overall = means[(means["model"] == ALL_MODELS) & (means["n_models"] > 0)].to_dict("records")
    lines = [
        f"- {row['method']}: mean r = {number(row['value'])} ({_counted(row['n_models'], 'model')}, "
        f"{_counted(row['n_corpora'], 'corpus')})"
        for row in overall
    ]
    totals = kappas[(kappas["method"] == ALL_METHODS) & (kappas["n"] > 0)].to_dict("records")
    lines += [
        f"- Cohen's kappa is {number(total['mean'])} on average and ranges from {number(total['min'])} to "
        f"{number(total['max'])} (over {total['n']:,} combinations of model, corpus and method)"
        for total in totals
    ]
    return "\n".join(lines) if lines else "No correlation is defined for these tables; the tables below say why."
