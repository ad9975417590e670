"""Accuracies beside a baseline: models with random weights, and the same without items that lists call faulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import KNOWN_ERROR
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis
from pairbank.stats.measures.accuracy import wilson
from pairbank.stats.measures.paired_tests import corrected, gain_test
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, flagged
from pairbank.stats.scored_table.scored_table import read_table

SIGNIFICANCE = 0.05
CHANCE = 0.5
_Earned = dict[tuple[str, str, str], tuple["pd.Series[float]", bool]]
"""Corpus, model and method -> credit by item, and whether presentations are pooled."""


def with_and_without(tables: Sequence[ScoredFrame]) -> pd.DataFrame:
    """Return accuracies with and without the items that are known to be faulty, one row per model and method."""
    rows = Rows()
    for table in tables:
        if "flags" not in table.column_names or not flagged(table.part(["flags"]), "flags", KNOWN_ERROR).any():
            continue
        read = read_table(table).choices
        is_faulty = flagged(read.frame, "flags", KNOWN_ERROR)
        for scores in read.methods:
            earned = credits_of(scores)
            used = scores.applies & ~np.isnan(earned.credit)
            if not (used & is_faulty).any() or not (used & ~is_faulty).any():
                continue
            row: dict[str, Any] = {"corpus": table.corpus, "model": table.model, "method": scores.layout.method}
            row |= {"n": int(used.sum()), "n_known_errors": int((used & is_faulty).sum())}
            for which, kept in (("with", used), ("without", used & ~is_faulty)):
                estimate = wilson(earned.credit[kept], is_pooled=earned.is_pooled)
                row[f"accuracy_{which}"] = estimate.value
                row |= {f"low_{which}": estimate.low, f"high_{which}": estimate.high}
            rows.append(row | {"difference": row["accuracy_without"] - row["accuracy_with"]})
    return pd.DataFrame(rows)


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
    names = list(dict.fromkeys(null.model for null in context.nulls))
    return Result(tables={"null_models": table}, values={"names": names})


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
        compared = [others for key, (others, _) in models.items() if (key[0], key[2]) == (corpus, method)]
        gains = [gain for x in compared if (gain := (x - credit).dropna().to_numpy(dtype=np.float64)).size]
        above = np.array([gain.mean() > 0 for gain in gains], dtype=np.bool_)
        if gains:
            above &= corrected([gain_test(gain).p_exact for gain in gains]).holm < SIGNIFICANCE
        place = {"model": name, "corpus": corpus, "method": method, "accuracy": estimate.value}
        counts = {"n": estimate.n, "models": len(gains), "models_above": int(above.sum())}
        yield place | {"low": estimate.low, "high": estimate.high} | counts
