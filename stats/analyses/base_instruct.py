"""What differs between instruction-tuned models and the base models that they are made of, beyond these families?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, charts, typed
from pairbank.stats.figures.charts import MOST_SERIES, intervals
from pairbank.stats.measures import families
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, not_compared
from pairbank.stats.scored_table.model_features import ModelFeatures, declared_of, tuned_pairs
from pairbank.stats.scored_table.scored_table import PARADIGM, read_table

MEASURES = ACCURACY, WITH_PEOPLE, GAP = "accuracy", "r with people", "direct - prompted"
SIGNIFICANCE = 0.05
LEAST_RATED = 20
CONTRASTS = (
    "corpus", "measure", "method", "base", "instruct", "value", "low", "high", "p", "holm", "n", "families",
    "pairs", "n_paradigms", "reason",
)  # fmt: skip
FIRST_PAGE = tuple(name for name in CONTRASTS if name not in ("p", "n_paradigms", "reason"))
_Values = dict[tuple[str, str], dict[str, "pd.Series[float]"]]
"""Measure and method -> model -> one number per item, whose mean is the measure."""


@analysis(title="Base and instruction-tuned models", leads=False, facts=("features",))
def base_instruct(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return what differs between instruction-tuned and base models of the same family, generation and size."""
    features = declared_of(tables, context.features)
    pairs = tuned_pairs(features)
    if not pairs:
        raise BankError(
            "no instruction-tuned model has its base model beside it; expected two models that are declared with one "
            "family, generation and size, one of type base and one of type instruct (docs/models.md)"
        )
    contrasts, of_pairs, biased = Rows(), Rows(), Rows()
    for corpus in dict.fromkeys(table.corpus for table in tables):
        values, paradigms = _values([table for table in tables if table.corpus == corpus], biased)
        for (measure, method), by_model in sorted(values.items(), key=lambda x: MEASURES.index(x[0][0])):
            place = {"corpus": corpus, "measure": measure, "method": method}
            of_pairs += contrast_of_pairs(place, by_model, features, paradigms, contrasts)
    in_pairs = {model for pair in pairs for model in (*pair.base, *pair.instruct)}
    biased = [row for row in biased if row["model"] in in_pairs]
    if not contrasts:
        raise BankError(f"{not_compared(pd.DataFrame(biased))} No method has numbers for both models of a pair".strip())
    table = typed(contrasts, CONTRASTS)
    table["holm"] = corrected(table["p"]).holm
    drawn = table[table["low"].notna() & (table["method"].nunique() <= MOST_SERIES * 3)]
    draw = partial(intervals, rows="method", series="measure", x_label="instruct - base", zero=True)
    return Result(
        tables={"contrasts": table, "pairs": typed(of_pairs), "position_bias": typed(biased)},
        columns=FIRST_PAGE,
        charts=charts("differences", drawn, "corpus", name="{corpus}", draw=draw),
        values={
            "tested": table[table["p"].notna()],
            "differ": table[table["holm"] < SIGNIFICANCE],
            "not_compared": not_compared(pd.DataFrame(biased)),
        },
    )


def _values(tables: Sequence[ScoredFrame], biased: Rows) -> tuple[_Values, pd.Series[Any]]:
    """Return the numbers of all models on a corpus, and the paradigm of each item."""
    values: _Values = defaultdict(dict)
    paradigms: dict[str, Any] = {}
    for table in tables:
        pairs = read_table(table).choices
        ids = pd.Index(pairs.item_ids, dtype=object)
        paradigms |= dict(zip(ids, pairs.frame.get(PARADIGM, pd.Series(None, index=pairs.frame.index)), strict=True))
        likely = (scores for scores in pairs.methods if scores.layout.is_of_probability)
        direct, earned = pairs.method(pairs.reference) or next(likely, None), {}
        for scores in pairs.methods:
            method, rated = scores.layout.method, scores.rates.any() and not scores.applies.any()
            people = pairs.numbers("human_good") if rated else pairs.human_delta
            score = scores.sentence_score if rated else scores.delta_nats
            known = ~np.isnan(score + people)
            if known.sum() >= LEAST_RATED and min(np.ptp(score[known]), np.ptp(people[known])) > 0:
                parts = families.correlation_parts(score[known], people[known])
                values[WITH_PEOPLE, method][table.model] = pd.Series(parts, index=ids[known])
            credit = credits_of(scores)
            of_items = pd.Series(credit.credit, index=ids)[pairs.has_truth & scores.applies]
            if credit.is_biased:
                numbers = {"first_option": credit.first_option, "accuracy": of_items.mean(), "n": len(of_items)}
                biased.append({"corpus": table.corpus, "model": table.model, "method": method} | numbers)
            elif len(of_items):
                earned[method] = values[ACCURACY, method][table.model] = of_items
        for scores in pairs.methods:
            method = scores.layout.method
            if direct and direct.layout.method in earned and method in earned and scores.layout.is_answer:
                values[GAP, method][table.model] = (earned[direct.layout.method] - earned[method]).dropna()
    return values, pd.Series(paradigms, dtype=object)


def contrast_of_pairs(
    place: Mapping[str, str],
    by_model: Mapping[str, pd.Series[float]],
    features: Mapping[str, ModelFeatures | None],
    paradigms: pd.Series[Any],
    contrasts: Rows,
) -> Iterator[dict[str, Any]]:
    """Yield what each pair differs by on the items (or participants) that all have, and add the mean over families."""
    pairs = tuned_pairs({model: features.get(model) for model in by_model})
    names = [name for pair in pairs for name in (*pair.base, *pair.instruct)]
    common = pd.DataFrame({name: by_model[name] for name in names}).dropna()
    if common.empty:
        return
    means = {
        kind: np.column_stack([common[[*getattr(pair, kind)]].mean(axis=1) for pair in pairs])
        for kind in ("base", "instruct")
    }
    names_of = [pair.family for pair in pairs]
    codes = pd.factorize(paradigms.reindex(common.index))[0].astype(np.int64)
    result = families.family_contrast(means["instruct"] - means["base"], names_of, codes)
    by_family = {kind: pd.Series(x.mean(axis=0)).groupby(names_of).mean().mean() for kind, x in means.items()}
    contrasts.append(
        {**place, **by_family, **cells(result.estimate), "p": result.p, "n": result.estimate.n}
        | {"families": len(set(names_of)), "pairs": len(pairs), "n_paradigms": result.estimate.n_paradigms}
        | {"reason": result.estimate.reason}
    )
    for nth, pair in enumerate(pairs):
        base, instruct = (float(means[kind][:, nth].mean()) for kind in ("base", "instruct"))
        row = {**place, **pair._asdict(), "base": ", ".join(pair.base), "instruct": ", ".join(pair.instruct)}
        yield row | {"value_base": base, "value_instruct": instruct, "difference": instruct - base, "n": len(common)}
