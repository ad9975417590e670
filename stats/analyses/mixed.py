"""What do methods, models and phenomena change, beyond these very items? Scored tables in, a section out.

Standardised deltas and accuracies by a linear mixed model; paradigms (or, in a corpus without them, items) are a sample
of what might have been written, and so is how far a method or model does better on each. From four models on, methods
are compared on models like these; with fewer, on these models.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.estimate import without_interval
from pairbank.stats.figures.charts import file_name, intervals
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.mixed import (
    LEAST_MODELS,
    LEAST_UNITS,
    METHOD,
    MODEL,
    PHENOMENON,
    UNIT,
    VALUE,
    Effect,
    Fitted,
    cells_of,
    fit_mixed,
)
from pairbank.stats.measures.mixed_logistic import ITEM, fit_logistic
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, not_compared
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.wording import capitalised, p_value, plural, with_interval

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray

PARADIGM = "paradigm"
SIGNIFICANCE = 0.05
LOG_ODDS = "log odds"
FEW_MODELS = (
    "likelihood takes how methods vary by model for smaller than it is (95% intervals covered 0.90 with five models); "
    "read the accuracies"
)


def _log_odds(answers: pd.DataFrame, *, references: dict[str, str] | None = None) -> Fitted:
    """Return effects on log odds; of methods on models like these without intervals: they would be too narrow."""
    fitted = fit_logistic(answers, references=references)
    if fitted.reason or answers[MODEL].nunique() < LEAST_MODELS:
        return fitted
    return replace(fitted, effects=tuple(_without(x) if x.term == METHOD else x for x in fitted.effects))


def _without(effect: Effect) -> Effect:
    known = effect.estimate
    estimate = without_interval(known.value, FEW_MODELS, n=known.n, method=known.method)
    return replace(effect, estimate=estimate, p=np.nan, degrees=np.nan)


OUTCOMES = {"delta": fit_mixed, "accuracy": fit_mixed, LOG_ODDS: _log_odds}
_TYPES = {
    "corpus": "string",
    "outcome": "string",
    "term": "string",
    "level": "string",
    "versus": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "df": "float64",
    "p": "float64",
    "p_holm": "float64",
    "n": "int64",
    "n_items": "int64",
    "unit": "string",
    "ci_method": "string",
    "reason": "string",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """The cells of one corpus, for both outcomes."""

    corpus: str
    unit: str
    n_items: int
    n_all: int
    by_outcome: dict[str, pd.DataFrame]
    apart: str
    """Which accuracies are not compared, and why; empty where all are."""


def section(
    tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, max_items: int = 300, logistic: bool = False
) -> Section:
    """Return the effects of methods, models and phenomena, with paradigms or items as random effects."""
    rows: list[dict[str, Any]] = []
    variances: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    parts, answers, apart, refused, drawn = list[str](), list[str](), list[str](), list[str](), list[str]()
    compared: list[dict[str, Any]] = []
    for corpus in dict.fromkeys(table.corpus for table in tables):
        cells = _cells(
            corpus, [t for t in tables if t.corpus == corpus], seed=context.seed, max_items=max_items, logistic=logistic
        )
        references = _references(cells.by_outcome)
        fitted: dict[str, Fitted] = {}
        reasons: dict[str, str] = {}
        for name, created in cells.by_outcome.items():
            try:
                fitted[name] = OUTCOMES[name](created, references=references)
            except BankError as error:
                reasons[name] = str(error)
        if not fitted:
            refused.append(f"{corpus}: {'; '.join(dict.fromkeys(reasons.values()))}")
            continue
        refused += [f"{corpus}, {name}: {reason}" for name, reason in reasons.items()]
        selected = [row for name, value in fitted.items() for row in _rows(name, value, cells)]
        rows += selected
        variances += [
            {"corpus": corpus, "outcome": outcome, "part": name, "variance": x, "unit": cells.unit}
            for outcome, entry in fitted.items()
            for name, x in entry.variances
        ]
        fits += [_fit_row(cells, name, member) for name, member in fitted.items()]
        own = pd.DataFrame(selected)
        parts.append(_wording(own, cells))
        answers.append(_answer(own, cells))
        compared += _compared(own, cells)
        apart += _left_out(own, cells)
        drawn += [f"{cells.n_items:,} of {cells.n_all:,} items of {corpus}"] if cells.n_items < cells.n_all else []
    if not rows:
        raise BankError("; ".join(refused))
    more = [f"The table has all {len(answers)} corpora."] if len(answers) > MOST_ANSWERS else []
    effects = pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)
    return Section(
        id="mixed",
        title="Effects of methods, models and phenomena beyond these items",
        text="\n\n".join([*parts, *(f"Not computed: {message}." for message in refused)]),
        answer="\n\n".join([*answers[:MOST_ANSWERS], *more]),
        main_table="comparisons",
        footnotes=(*_footnotes(compared), *apart, *(f"Not computed: {message}." for message in refused)),
        draws=", ".join(drawn),
        definitions=DEFINITIONS,
        tables={
            "comparisons": pd.DataFrame(compared),
            "effects": effects,
            "fit": pd.DataFrame(fits).astype({"reason": "string"}),
        }
        | ({"variance": pd.DataFrame(variances)} if variances else {}),
        figures=tuple(_figures(effects)),
        references=(
            "Barr, Levy, Scheepers & Tily 2013, J Mem Lang 68:255-278: random effects",
            "Bates, Maechler, Bolker & Walker 2015, J Stat Softw 67(1): REML and Laplace's approximation",
            "Kuznetsova, Brockhoff & Christensen 2017, J Stat Softw 82(13): Satterthwaite's degrees of freedom",
            "Nakagawa & Schielzeth 2013, Methods in Ecology and Evolution 4:133-142: R2 of mixed models",
            "Holm 1979, Scandinavian Journal of Statistics 6:65-70",
        ),
    )


def _fit_row(cells: _Cells, outcome: str, fitted: Fitted) -> dict[str, Any]:
    return {
        "corpus": cells.corpus,
        "outcome": outcome,
        "n_cells": len(cells.by_outcome[outcome]),
        "r_squared": fitted.r_squared,
        "r_squared_with_units": fitted.r_squared_with_units,
        "reason": fitted.reason,
    }


def _cells(corpus: str, tables: Sequence[ScoredFrame], *, seed: int, max_items: int, logistic: bool) -> _Cells:
    read = [read_table(table).choices for table in tables]
    items = sorted({item for table in read for item in table.item_ids})
    names = {name for table in read if PARADIGM in table.frame.columns for name in table.frame[PARADIGM].dropna()}
    by_paradigm = len(names) >= LEAST_UNITS
    kept = items
    if not by_paradigm and len(items) > max_items:
        kept = sorted(np.random.default_rng([seed, len(items)]).choice(items, size=max_items, replace=False))
    created: dict[str, list[pd.DataFrame]] = {name: [] for name in OUTCOMES if logistic or name != LOG_ODDS}
    biased: list[dict[str, str]] = []
    for table in read:
        used = np.ones(len(table.frame), dtype=np.bool_)
        if not by_paradigm:
            used = pd.Series(table.item_ids).isin(kept).to_numpy(dtype=np.bool_)
        for name, cells in _of_table(table, used, biased, by_paradigm=by_paradigm, logistic=logistic):
            created[name].append(cells)
    joined = {name: pd.concat(result, ignore_index=True) if result else _NOTHING for name, result in created.items()}
    return _Cells(
        corpus=corpus,
        unit=PARADIGM if by_paradigm else "item",
        n_items=len(kept),
        n_all=len(items),
        by_outcome=joined,
        apart=not_compared(pd.DataFrame(biased)),
    )


_NOTHING = pd.DataFrame({UNIT: [], METHOD: [], MODEL: [], PHENOMENON: [], "value": []})


def _of_table(
    table: ScoredTable, used: BoolArray, biased: list[dict[str, str]], *, by_paradigm: bool, logistic: bool
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the cells of each method and outcome; a method with position bias has no accuracy to compare."""
    rows = table.frame[used]
    units = rows[PARADIGM if by_paradigm else "item_id"].to_list()
    phenomena = rows[PHENOMENON].to_list() if PHENOMENON in rows.columns else None
    for scores in table.methods:
        method, delta = scores.layout.method, scores.delta_nats[used]
        known = delta[~np.isnan(delta)]
        if known.size < LEAST_UNITS or not np.ptp(known):
            continue
        result = credits_of(scores)
        outcomes = {"delta": delta / known.std(ddof=1)}
        if result.is_biased:
            biased.append({"model": table.model, "method": method})
        else:
            outcomes["accuracy"] = result.credit[used]
        if logistic and not result.is_biased:
            answers = pd.DataFrame({UNIT: units, ITEM: rows["item_id"].to_list(), VALUE: outcomes["accuracy"]})
            answers = answers.assign(phenomenon=phenomena, method=method, model=table.model)
            yield LOG_ODDS, answers.dropna(subset=[UNIT, VALUE])
        for name, values in outcomes.items():
            yield name, cells_of(values, units=units, method=method, model=table.model, phenomena=phenomena)


def _references(by_outcome: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Return what others are compared with, the same for all outcomes: `direct`, and a model with all methods.

    Of several, the first by name; position bias leaves some models without the accuracy of a method.
    """
    cells = next((by_outcome[name] for name in ("accuracy", "delta") if len(by_outcome[name])), _NOTHING)
    if cells.empty:
        return {}
    methods = cells.groupby(MODEL)[METHOD].nunique()
    return {MODEL: min(methods.index[methods == methods.max()])} | (
        {METHOD: reference} if (reference := reference_of(cells[METHOD])) else {}
    )


def _rows(outcome: str, fitted: Fitted, cells: _Cells) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for term in dict.fromkeys(x.term for x in fitted.effects):
        selected = [x for x in fitted.effects if x.term == term]
        for entry, holm in zip(selected, corrected([x.p for x in selected]).holm, strict=True):
            rows.append(
                {
                    "corpus": cells.corpus,
                    "outcome": outcome,
                    "term": term,
                    "level": entry.level,
                    "versus": entry.versus,
                    "value": entry.estimate.value,
                    "low": entry.estimate.low,
                    "high": entry.estimate.high,
                    "df": entry.degrees,
                    "p": entry.p,
                    "p_holm": holm,
                    "n": entry.estimate.n,
                    "n_items": cells.n_items,
                    "unit": cells.unit,
                    "ci_method": entry.estimate.method,
                    "reason": entry.estimate.reason,
                }
            )
    return rows


def _size(rows: pd.DataFrame, cells: _Cells) -> str:
    of = f", drawn from {cells.n_all:,}" if cells.n_items < cells.n_all else ""
    return f"{rows['n'].max():,} {cells.unit}s" + (f" of {cells.n_items:,} items" if cells.unit == PARADIGM else of)


def _answer(rows: pd.DataFrame, cells: _Cells) -> str:
    """Return whether methods differ (of one method models, of one of each phenomena), accuracy before deltas."""
    term = next(term for term in _NOUN if (rows["term"] == term).any())
    of_term = rows[(rows["term"] == term) & rows["p_holm"].notna()]
    results = {str(name): part for name, part in of_term.groupby("outcome", sort=False)}
    texts = [_result(name, results[name], cells) for name in ("accuracy", "delta") if name in results]
    first, *others = texts or ["no effect has an interval."]
    return f"**{cells.corpus}** ({_size(rows, cells)}): {' '.join([first, *map(capitalised, others)])}"


def _result(outcome: str, selected: pd.DataFrame, cells: _Cells) -> str:
    """Return how the levels of one term differ from their reference, beginning with a small letter."""
    most, by, differ = _furthest(selected)
    level, versus, term = f"`{most['level']}`", _versus(str(most["versus"])), str(most["term"])
    by += f"{_IN_UNITS[outcome]} (Holm's {p_value(most['p_holm'])})"
    sample = _sample(term, cells.by_outcome[outcome])
    if len(selected) > 1:
        return (
            f"in {outcome}{sample}, {differ} of {_others(term, len(selected))} differ significantly from {versus}. "
            f"Furthest: {level}, by {by}."
        )
    if differ:
        return f"{level} is {'higher' if most['value'] > 0 else 'lower'} than {versus} in {outcome}{sample}: {by}."
    return f"inconclusive whether {level} and {versus} differ in {outcome}{sample}: {by}."


def _furthest(selected: pd.DataFrame) -> tuple[dict[Hashable, Any], str, int]:
    """Return the level that is furthest from its reference, by how much, and how many levels differ significantly."""
    (most,) = selected.loc[[selected["value"].abs().idxmax()]].to_dict("records")
    by = with_interval(most, sign=True, interval=len(selected) == 1)
    return most, by, int((selected["p_holm"] < SIGNIFICANCE).sum())


def _compared(rows: pd.DataFrame, cells: _Cells) -> Iterator[dict[str, Any]]:
    """Yield what is compared with what, how many differ, and which differs most."""
    known = rows[rows["value"].notna()]
    for (outcome, term), selected in known.groupby(["outcome", "term"], sort=False):
        most, by, differ = _furthest(selected)
        yield {
            "corpus": cells.corpus,
            "outcome": outcome,
            "compared": _others(str(term), len(selected)),
            "sample": _sample(str(term), cells.by_outcome[str(outcome)]).removeprefix(" of ").removeprefix(" by "),
            "differ": str(differ) if selected["p_holm"].notna().any() else "",
            "furthest": most["level"],
            "versus": "mean of all" if most["versus"] == "mean" else most["versus"],
            "difference": by,
            "p_holm": most["p_holm"],
        }


def _footnotes(compared: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield how the table of comparisons is read."""
    yield (
        "Outcomes: delta is the difference between the two sides (good - bad) in its standard deviations, by model and "
        "method. Accuracy is the share of right choices."
    )
    yield (
        "Differ: significantly, at 0.05, by Holm's p. Furthest: the largest of several differences, without an "
        "interval because it was chosen by its size."
    )
    if any(LIKE_THESE in row["sample"] for row in compared):
        yield (
            f"{capitalised(LIKE_THESE)}: a sample of models, so that the result is about others, too. Few models leave "
            "wide intervals, even where each of them differs in the same direction."
        )


def _left_out(rows: pd.DataFrame, cells: _Cells) -> Iterator[str]:
    """Yield which accuracies a corpus lacks because of position bias, and which outcomes have no numbers."""
    if cells.apart:
        yield f"{cells.corpus}, accuracy: {cells.apart[0].lower()}{cells.apart[1:]}"
    for outcome, part in rows.groupby("outcome", sort=False):
        if part["value"].isna().all():
            yield f"{cells.corpus}, {outcome}: {part['reason'].iloc[0]}."


def _wording(rows: pd.DataFrame, cells: _Cells) -> str:
    texts = [f"**{cells.corpus}** ({_size(rows, cells)} as a sample):"]
    for outcome, part in rows.groupby("outcome", sort=False):
        if part["value"].isna().all():
            texts.append(f"- {outcome}: {part['reason'].iloc[0]}.")
            continue
        for term, selected in part.groupby("term", sort=False):
            where = f"- {outcome}{_sample(str(term), cells.by_outcome[str(outcome)])}:"
            most, by, differ = _furthest(selected)
            versus = _versus(str(most["versus"]))
            if selected["p"].isna().all():
                texts.append(
                    f"{where} `{most['level']}` is furthest from {versus}, by {by} {_UNITS[str(outcome)]} "
                    f"(no interval: {most['reason']})."
                )
                continue
            texts.append(
                f"{where} of {_others(str(term), len(selected))}, {differ} differ from {versus} at {SIGNIFICANCE} "
                f"(Holm). `{most['level']}` is furthest from it, by {by} {_UNITS[str(outcome)]} (Holm's "
                f"{p_value(most['p_holm'])})."
            )
    return "\n".join([*texts, *([f"- Accuracies: {cells.apart}"] if cells.apart else [])])


def _sample(term: str, cells: pd.DataFrame) -> str:
    """Return which models, or methods, a comparison is about."""
    methods, models = (cells[name].nunique() for name in (METHOD, MODEL))
    if term == METHOD:
        if models >= LEAST_MODELS:
            several = int((cells.groupby(MODEL)[METHOD].nunique() > 1).sum())
            part = f" ({several} with several methods)" if several < models else ""
            return f" of {LIKE_THESE} {models}{part}"
        return f" of these {models} models" if models > 1 else ""
    return f" by these {methods} methods" if term == MODEL and methods > 1 else ""


LIKE_THESE = "models like these"
MOST_ANSWERS = 2
"""Corpora whose effects the answer has; of more, the table."""
_NOUN = {METHOD: "other method", MODEL: "other model", PHENOMENON: "phenomenon"}
_IN_UNITS = {"delta": " standard deviations", "accuracy": ""}
_UNITS = {"delta": "standard deviations", "accuracy": "in accuracy", LOG_ODDS: "in log odds"}


def _others(term: str, n: int) -> str:
    return f"{n:,} phenomena" if term == PHENOMENON and n > 1 else plural(n, _NOUN[term])


def _versus(level: str) -> str:
    return "the mean of all" if level == "mean" else f"`{level}`"


def _figures(effects: pd.DataFrame) -> list[Figure]:
    shown = effects[(effects["outcome"] == "delta") & effects["value"].notna()]
    return [
        Figure(
            name=file_name("mixed", corpus),
            caption=(
                f"Effects on standardised deltas of {corpus}, {part['n'].max():,} {part['unit'].iloc[0]}s as a random "
                "sample. Lines are 95% intervals."
            ),
            draw=partial(
                intervals, part, rows="level", series="term", x_label="difference (standard deviations)", chance=0
            ),
        )
        for corpus, part in shown.groupby("corpus", sort=False)
        if len(part) <= 40
    ]


DEFINITIONS = f"""\
- **delta**: each method's difference (good - bad) over its standard deviation on the corpus, by model, so that nats and
  points of a scale are comparable. **accuracy**: share of right choices, by the definition of each method's paper,
  without models that have position bias. Both by a linear mixed model (REML); its variances may be 0.
- **log odds** (option `logistic`): single right and wrong answers by a logistic mixed model (Laplace's approximation,
  as lme4's `glmer`), with items as a further random part within paradigms. A half-right answer counts as half of each.
  An effect is on the log odds of one item in one paradigm, so that it is larger than that on averages. Degrees of
  freedom are those of the same effect on accuracy. From {LEAST_MODELS} models on, effects of methods have no interval.
- **units**: paradigms where the corpus has {LEAST_UNITS} or more (each is the mean of its items, and counts once
  whatever its size), else items, of which at most `max_items` are drawn (option). `variance` has the variances of
  units, of methods and models within units, and the rest, with items within paradigms.
- **models**: from {LEAST_MODELS} models on, how much a method changes a single model is random as well
  (`method x model`), so that methods are compared on models like these, as if they were drawn at random. With fewer,
  methods are compared on these models. Models are compared by these methods; one that lacks a method has wider
  intervals.
- **r_squared**: share of the variance of cells that methods, models and phenomena explain (Nakagawa & Schielzeth's
  marginal R2). **r_squared_with_units**: with all random effects as well (conditional R2).
- **versus**: `direct`, or the first method, or model; for phenomena (each with two units or more) the mean of all.
- Intervals are Student's at level 0.95; **df** are Satterthwaite's. **p_holm**: corrected for all levels of the term
  and outcome. A model that cannot be fitted has no numbers, and a reason.
"""
