"""Accuracies beside a baseline: models with random weights, and the same without items that lists call faulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import KNOWN_ERROR
from pairbank.errors import BankError
from pairbank.stats.analyses.form import Result, analysis
from pairbank.stats.measures.accuracy import wilson
from pairbank.stats.measures.paired_tests import corrected, gain_test
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, flagged
from pairbank.stats.scored_table.scored_table import read_table

if TYPE_CHECKING:
    from pairbank.stats.analyses.base import Context

SIGNIFICANCE = 0.05
CHANCE = 0.5
_Earned = dict[tuple[str, str, str], tuple["pd.Series[float]", bool]]
"""Corpus, model and method -> credit by item, and whether presentations are pooled."""


def with_and_without(tables: Sequence[ScoredFrame]) -> pd.DataFrame:
    """Return accuracies with and without the items that are known to be faulty, one row per model and method."""
    return pd.DataFrame([row for table in tables if _has_known_errors(table) for row in _both_ways(table)])


def _has_known_errors(table: ScoredFrame) -> bool:
    return "flags" in table.column_names and bool(flagged(table.part(["flags"]), "flags", KNOWN_ERROR).any())


def _both_ways(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    read = read_table(table).choices
    is_faulty = flagged(read.frame, "flags", KNOWN_ERROR)
    for scores in read.methods:
        earned = credits_of(scores)
        used = scores.applies & ~np.isnan(earned.credit)
        if not (used & is_faulty).any() or not (used & ~is_faulty).any():
            continue
        both = [wilson(earned.credit[rows], is_pooled=earned.is_pooled) for rows in (used, used & ~is_faulty)]
        yield {
            "corpus": table.corpus,
            "model": table.model,
            "method": scores.layout.method,
            "n": int(used.sum()),
            "n_known_errors": int((used & is_faulty).sum()),
            **{
                f"{name}_{which}": getattr(estimate, "value" if name == "accuracy" else name)
                for which, estimate in zip(("with", "without"), both, strict=True)
                for name in ("accuracy", "low", "high")
            },
            "difference": both[1].value - both[0].value,
        }


def models_and_nulls(frames: Sequence[ScoredFrame]) -> tuple[list[ScoredFrame], tuple[ScoredFrame, ...]]:
    """Return the tables of models, and those of random weights; all are models where there are no others."""
    nulls = tuple(frame for frame in frames if frame.is_null)
    if len(nulls) == len(frames):
        return list(frames), ()
    return [frame for frame in frames if not frame.is_null], nulls


@analysis(title="Null models (random weights)")
def null_models(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return the accuracies of models with random weights, and how many models are above each."""
    if not context.nulls:
        raise BankError("no model has random weights; score random:MODEL, or one with weights = 'random' in its list")
    table = pd.DataFrame(_rows(_earned(tables), _earned(context.nulls)))
    return Result(
        tables={"null_models": table},
        values={
            "names": list(dict.fromkeys(null.model for null in context.nulls)),
            "CHANCE": CHANCE,
            "SIGNIFICANCE": SIGNIFICANCE,
        },
    )


def _earned(tables: Sequence[ScoredFrame]) -> _Earned:
    earned: _Earned = {}
    for table in tables:
        read = read_table(table).choices
        for scores in read.methods:
            credit = credits_of(scores)
            used = scores.applies & ~np.isnan(credit.credit)
            if used.any():
                ids = pd.Index(read.item_ids, dtype=object)[used]
                key = (table.corpus, table.model, scores.layout.method)
                earned[key] = pd.Series(credit.credit[used], index=ids), credit.is_pooled
    return earned


def _rows(models: _Earned, nulls: _Earned) -> Iterator[dict[str, Any]]:
    """Yield one row per null model, corpus and method."""
    for (corpus, name, method), (credit, is_pooled) in nulls.items():
        estimate = wilson(credit.to_numpy(), is_pooled=is_pooled)
        p, ahead = [], []
        for (other_corpus, _, other_method), (others, _) in models.items():
            if (other_corpus, other_method) != (corpus, method):
                continue
            gain = (others - credit).dropna().to_numpy(dtype=np.float64)
            if gain.size:
                p.append(gain_test(gain).p_exact)
                ahead.append(float(gain.mean()))
        above = np.array(ahead) > 0
        if p:
            above &= corrected(p).holm < SIGNIFICANCE
        yield {
            "model": name,
            "corpus": corpus,
            "method": method,
            "accuracy": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n,
            "models": len(p),
            "models_above": int(above.sum()),
        }
