"""What do methods, models and phenomena change, beyond these very items? Linear mixed models of scored tables.

Paradigms (or, in a corpus without them, items) are a sample of what might have been written, and so is how far a method
or model does better on each. From four models on, methods are compared on models like these; with fewer, on these.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray
from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, Words, analysis, charts, groups, records, typed
from pairbank.stats.analyses.form import cells as cells_of_estimate
from pairbank.stats.estimates.estimate import without_interval
from pairbank.stats.figures.charts import intervals
from pairbank.stats.measures.mixed import LEAST_MODELS, LEAST_UNITS, Fitted, cells_of, fit_mixed
from pairbank.stats.measures.mixed_covariates import NO_EFFECT, fit_covariates
from pairbank.stats.measures.mixed_logistic import fit_logistic
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, not_compared
from pairbank.stats.scored_table.model_features import ModelFeatures, find_features
from pairbank.stats.scored_table.scored_table import PARADIGM, ScoredTable, read_table
from pairbank.stats.wording import with_interval

SIGNIFICANCE = 0.05
LOG_ODDS, CREDIT = "log odds", "credit"
FEW_MODELS = "likelihood underestimates how methods vary by model; read the accuracies"
LIKE_THESE = "models like these"
MOST_ANSWERS = 2
"""Corpora whose effects the answer has; of more, the table."""
MOST_LEVELS = 40
"""Of a figure."""
NOUNS = {"method": "other method", "model": "other model", "phenomenon": "phenomenon"}
COVARIATES: dict[str, Callable[[ModelFeatures], float]] = {
    "size": lambda features: np.log10(features.size_billions),
    "tokens": lambda features: np.log10(features.training_tokens or np.nan),
    "instruct": lambda features: float(features.type == "instruct"),
}
"""Slopes are per tenfold parameters, per tenfold training tokens, and from base to instruction-tuned."""
SLOPE_NAMES = {"size": "tenfold parameters", "tokens": "tenfold training tokens", "instruct": "instruction tuning"}
SLOPE_COLUMNS = (
    "corpus", "outcome", "term", "level", "versus", "value", "low", "high", "df", "p", "p_holm", "n", "n_families",
    "n_items", "unit", "ci_method", "reason",
)  # fmt: skip
UNITS = {"delta": "standard deviations", "accuracy": "in accuracy", LOG_ODDS: "in log odds"}
_NOTHING = pd.DataFrame({"unit": [], "method": [], "model": [], "phenomenon": [], "value": []})


def _log_odds(answers: pd.DataFrame, *, references: dict[str, str] | None = None) -> Fitted:
    """Return effects on log odds; of methods on models like these without intervals: they would be too narrow."""
    fitted = fit_logistic(answers, references=references)
    if fitted.reason or answers["model"].nunique() < LEAST_MODELS:
        return fitted
    effects = []
    for effect in fitted.effects:
        known = effect.estimate
        estimate = without_interval(known.value, FEW_MODELS, n=known.n, method=known.method)
        is_method = effect.term == "method"
        effects.append(replace(effect, estimate=estimate, p=np.nan, degrees=np.nan) if is_method else effect)
    return replace(fitted, effects=tuple(effects))


@functools.cache
def words() -> Words:
    return Words(Path(__file__).with_suffix(".md.j2"), {key: x for key, x in globals().items() if key.isupper()})


OUTCOMES = {"delta": fit_mixed, "accuracy": fit_mixed, LOG_ODDS: _log_odds}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of one corpus, for all outcomes."""

    corpus: str
    unit: str
    n_items: int
    n_all: int
    by_outcome: dict[str, pd.DataFrame]
    credit: pd.DataFrame
    """Accuracies, and those of pooled presentations that have position bias: about one half is what they are."""
    not_compared: str
    """Which accuracies are not compared, and why; empty where all are."""


@analysis(title="Effects of methods, models and phenomena beyond these items", facts=("features",))
def mixed(
    tables: Sequence[ScoredFrame],
    context: Context,
    *,
    max_items: int = 300,
    logistic: bool = False,
    covariates: tuple[str, ...] = ("size",),
) -> Result:
    """Return the effects of methods, models and phenomena, with paradigms or items as random effects."""
    rows: dict[str, Rows] = defaultdict(list)
    refused, fits = list[str](), list[dict[str, Any]]()
    for corpus in dict.fromkeys(table.corpus for table in tables):
        of_corpus = [table for table in tables if table.corpus == corpus]
        cells = _cells(corpus, of_corpus, seed=context.seed, max_items=max_items, logistic=logistic)
        fitted, reasons = _fitted(cells)
        if not fitted:
            refused.append(f"{corpus}: {'; '.join(dict.fromkeys(reasons.values()))}")
            continue
        refused += [f"{corpus}, {outcome}: {reason}" for outcome, reason in reasons.items()]
        effects = [row for outcome, fit in fitted.items() for row in _effects(outcome, fit, cells)]
        comparisons = [_comparison(family.frame, cells) for family in groups(pd.DataFrame(effects), "outcome", "term")]
        features = _features(cells, context.features)
        rows["effects"] += effects
        rows["covariates"] += _slopes(cells, features, covariates)
        rows["comparisons"] += [row["compared"] for row in comparisons if row["compared"]]
        for outcome, fit in fitted.items():
            place = {"corpus": corpus, "outcome": outcome}
            rows["variance"] += [place | {"part": x, "variance": v, "unit": cells.unit} for x, v in fit.variances]
            shares = {name: getattr(fit, name) for name in ("r_squared", "r_squared_with_units", "reason")}
            rows["fit"].append(place | {"n_cells": len(cells.by_outcome[outcome])} | shares)
        families = sorted(Counter(of.family for of in features.values()).items())
        n_unknown = cells.by_outcome["delta"]["model"].nunique() - len(features)
        made = {"cells": cells, "n": max(row["n"] for row in effects), "comparisons": comparisons}
        fits.append(made | {"families": families, "n_unknown": n_unknown})
    if not rows:
        raise BankError("; ".join(refused))
    effects_table = typed(rows["effects"])
    drawn = effects_table[(effects_table["outcome"] == "delta") & effects_table["value"].notna()]
    sizes = drawn.groupby("corpus")["corpus"].transform("size")
    draw = partial(intervals, rows="level", series="term", x_label="difference (standard deviations)", chance=0)
    return Result(
        tables={
            "comparisons": pd.DataFrame(rows["comparisons"]),
            "effects": effects_table,
            "fit": pd.DataFrame(rows["fit"]).astype({"reason": "string"}),
            "variance": pd.DataFrame(rows["variance"]),
            "covariates": typed(rows["covariates"], SLOPE_COLUMNS),
        },
        main_table="comparisons",
        charts=charts("effects_on_deltas", drawn[sizes <= MOST_LEVELS], "corpus", draw=draw),
        values={"fits": fits, "refused": refused},
    )


def _features(cells: Cells, given: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures]:
    """Return what is declared of the models, of those of which anything is."""
    models = list(dict.fromkeys(cells.by_outcome["delta"]["model"]))
    known = {name: find_features(name, corpus=cells.corpus, given=given, beside=models) for name in models}
    return {name: features for name, features in known.items() if features is not None}


def _slopes(cells: Cells, features: Mapping[str, ModelFeatures], covariates: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the slopes of models' covariates by method; nothing where too few models declare them."""
    if wrong := [name for name in covariates if name not in COVARIATES]:
        raise BankError(f"unknown covariates {', '.join(wrong)}; expected some of {', '.join(COVARIATES)}")
    families = {model: of.family for model, of in features.items()}
    rows = {model: [COVARIATES[name](of) for name in covariates] for model, of in features.items()}
    known = pd.DataFrame.from_dict(rows, orient="index", columns=list(covariates), dtype="float64").dropna()
    for outcome in ("accuracy", "delta") if len(known) else ():
        of_outcome = cells.by_outcome[outcome] if outcome == "delta" else cells.credit
        of_known = of_outcome[of_outcome["model"].isin(known.index)]
        if of_known.empty:
            continue
        try:
            # by each method alone, since models vary more by some; differences from all together
            fitted = fit_covariates(of_known, known, families, reference=reference_of(of_known["method"]))
            apart = [fit_covariates(method.frame, known, families) for method in groups(of_known, "method")]
        except BankError as error:
            yield {"corpus": cells.corpus, "outcome": outcome, "reason": str(error)}
            continue
        together = [effect for effect in fitted.effects if effect.versus != NO_EFFECT]
        fitted = replace(fitted, effects=(*(effect for method in apart for effect in method.effects), *together))
        n_families = len({families[model] for model in of_known["model"]})
        for row in _effects(outcome, fitted, cells):
            yield {**row, "n_families": n_families}


def _fitted(cells: Cells) -> tuple[dict[str, Fitted], dict[str, str]]:
    """Return what is fitted to each outcome, and why the others have nothing.

    What others are compared with is the same for all outcomes: `direct`, and a model with all methods.
    """
    references: dict[str, str] = {}
    if len(
        of_first := cells.by_outcome["accuracy"] if len(cells.by_outcome["accuracy"]) else cells.by_outcome["delta"]
    ):
        methods = of_first.groupby("model")["method"].nunique()
        references["model"] = min(methods.index[methods == methods.max()])
        if reference := reference_of(of_first["method"]):
            references["method"] = reference
    fitted: dict[str, Fitted] = {}
    reasons: dict[str, str] = {}
    for outcome, of_outcome in cells.by_outcome.items():
        try:
            fitted[outcome] = OUTCOMES[outcome](of_outcome, references=references)
        except BankError as error:
            reasons[outcome] = str(error)
    return fitted, reasons


def _comparison(effects: pd.DataFrame, cells: Cells) -> dict[str, Any]:
    """Return what is compared with what of one outcome and term, how many differ, and which differs most."""
    first = records(effects.head(1))[0]
    known = effects[effects["value"].notna()]
    made = {"outcome": first["outcome"], "term": first["term"], "reason": first["reason"], "compared": {}}
    if known.empty:
        return made
    most = records(known.loc[[known["value"].abs().idxmax()]])[0]
    difference = with_interval(most, sign=True, interval=len(known) == 1)
    n_differ = int((known["p_holm"] < SIGNIFICANCE).sum())
    of_outcome = cells.by_outcome[str(first["outcome"])]
    methods, n_methods = of_outcome.groupby("model")["method"].nunique(), of_outcome["method"].nunique()
    sample = words().render("sample", first["term"], n_methods, len(methods), int((methods > 1).sum()))
    tested = bool(known["p_holm"].notna().any())
    compared = {
        "corpus": cells.corpus,
        "outcome": first["outcome"],
        "compared": words().render("levels", first["term"], len(known)),
        "sample": sample.removeprefix("of ").removeprefix("by "),
        "differ": str(n_differ) if tested else "",
        "furthest": most["level"],
        "versus": "mean of all" if most["versus"] == "mean" else most["versus"],
        "difference": difference,
        "p_holm": most["p_holm"],
    }
    made |= {"most": most, "difference": difference, "n": len(known), "n_differ": n_differ, "tested": tested}
    return made | {"sample": f" {sample}" if sample else "", "compared": compared}


def _cells(corpus: str, tables: Sequence[ScoredFrame], *, seed: int, max_items: int, logistic: bool) -> Cells:
    reads = [read_table(table).choices for table in tables]
    items = sorted({item for table in reads for item in table.item_ids})
    names = {name for table in reads if PARADIGM in table.frame.columns for name in table.frame[PARADIGM].dropna()}
    by_paradigm = len(names) >= LEAST_UNITS
    kept = items
    if not by_paradigm and len(items) > max_items:
        kept = sorted(np.random.default_rng([seed, len(items)]).choice(items, size=max_items, replace=False))
    created: dict[str, list[pd.DataFrame]] = {name: [] for name in (*OUTCOMES, CREDIT) if logistic or name != LOG_ODDS}
    biased: list[dict[str, str]] = []
    for table in reads:
        used = np.ones(len(table.frame), dtype=np.bool_)
        if not by_paradigm:
            used = pd.Series(table.item_ids).isin(kept).to_numpy(dtype=np.bool_)
        for name, cells in _of_table(table, used, biased, by_paradigm=by_paradigm, logistic=logistic):
            created[name].append(cells)
    joined = {name: pd.concat(result, ignore_index=True) if result else _NOTHING for name, result in created.items()}
    return Cells(
        corpus=corpus,
        unit=PARADIGM if by_paradigm else "item",
        n_items=len(kept),
        n_all=len(items),
        credit=joined.pop(CREDIT),
        by_outcome=joined,
        not_compared=not_compared(pd.DataFrame(biased)),
    )


def _of_table(
    table: ScoredTable, used: BoolArray, biased: list[dict[str, str]], *, by_paradigm: bool, logistic: bool
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the cells of each method and outcome; a method with position bias has no accuracy to compare."""
    rows = table.frame[used]
    units = rows[PARADIGM if by_paradigm else "item_id"].to_list()
    phenomena = rows["phenomenon"].to_list() if "phenomenon" in rows.columns else None
    for scores in table.methods:
        method, delta = scores.layout.method, scores.delta_nats[used]
        known = delta[~np.isnan(delta)]
        if known.size < LEAST_UNITS or not np.ptp(known):
            continue
        earned = credits_of(scores)
        outcomes = {"delta": delta / known.std(ddof=1)}
        if earned.is_biased:
            biased.append({"model": table.model, "method": method})
        else:
            outcomes["accuracy"] = earned.credit[used]
        if not earned.is_biased or scores.layout.accuracy == "pooled":
            outcomes[CREDIT] = earned.credit[used]
        if logistic and not earned.is_biased:
            answers = pd.DataFrame({"unit": units, "item": rows["item_id"].to_list(), "value": outcomes["accuracy"]})
            answers = answers.assign(phenomenon=phenomena, method=method, model=table.model)
            yield LOG_ODDS, answers.dropna(subset=["unit", "value"])
        for name, values in outcomes.items():
            yield name, cells_of(values, units=units, method=method, model=table.model, phenomena=phenomena)


def _effects(outcome: str, fitted: Fitted, cells: Cells) -> Iterator[dict[str, Any]]:
    """Yield the effects, p-values corrected for all levels of a term."""
    for term in dict.fromkeys(effect.term for effect in fitted.effects):
        of_term = [effect for effect in fitted.effects if effect.term == term]
        for effect, holm in zip(of_term, corrected([effect.p for effect in of_term]).holm, strict=True):
            estimate, unit = effect.estimate, {"n_items": cells.n_items, "unit": cells.unit}
            place = {"corpus": cells.corpus, "outcome": outcome, "term": term, "level": effect.level}
            row: dict[str, Any] = place | {"versus": effect.versus} | cells_of_estimate(estimate)
            row |= {"df": effect.degrees, "p": effect.p, "p_holm": holm, "n": estimate.n} | unit
            yield row | {"ci_method": estimate.method, "reason": estimate.reason}
