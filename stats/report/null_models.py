"""Models with random weights: scored tables in; models and nulls apart, and the section that compares them, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.stats.analyses.base import Section
from pairbank.stats.measures.accuracy import wilson
from pairbank.stats.measures.paired_tests import corrected, gain_test
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import number, plural, span

SIGNIFICANCE = 0.05
CHANCE = 0.5
_Earned = dict[tuple[str, str, str], tuple["pd.Series[float]", bool]]
"""Corpus, model and method -> credit by item, and whether presentations are pooled."""


def models_and_nulls(frames: Sequence[ScoredFrame]) -> tuple[list[ScoredFrame], tuple[ScoredFrame, ...]]:
    """Return the tables of models, and those of models with random weights; all are models where there are no others.

    A null is no model of the report: it stands in no range, rank or count of models.
    """
    nulls = tuple(frame for frame in frames if frame.is_null)
    if len(nulls) == len(frames):
        return list(frames), ()
    return [entry for entry in frames if not entry.is_null], nulls


def null_models_section(models: Sequence[ScoredFrame], nulls: Sequence[ScoredFrame]) -> Section:
    """Return the accuracies of null models, and how many models are above each.

    Args:
        models: Scored tables of trained models.
        nulls: Those of models with random weights.
    """
    rows = list(_rows(_earned(models), _earned(nulls)))
    table = pd.DataFrame(rows)
    return Section(
        id="null_models",
        title="Null models (random weights)",
        text=_text(table, nulls),
        definitions=DEFINITIONS,
        tables={"null_models": table},
        main_table="null_models",
    )


def _earned(tables: Sequence[ScoredFrame]) -> _Earned:
    result: _Earned = {}
    for table in tables:
        read = read_table(table).choices
        for scores in read.methods:
            credit = credits_of(scores)
            used = scores.applies & ~np.isnan(credit.credit)
            if used.any():
                ids = pd.Index(read.item_ids, dtype=object)[used]
                key = (table.corpus, table.model, scores.layout.method)
                result[key] = pd.Series(credit.credit[used], index=ids), credit.is_pooled
    return result


def _rows(models: _Earned, nulls: _Earned) -> Iterator[dict[str, Any]]:
    """Yield one row per null model, corpus and method."""
    for (corpus, name, method), (credit, is_pooled) in nulls.items():
        estimate = wilson(credit.to_numpy(), is_pooled=is_pooled)
        p, ahead = [], []
        for (other_corpus, _, other_method), (selected, _) in models.items():
            if (other_corpus, other_method) != (corpus, method):
                continue
            gain = (selected - credit).dropna().to_numpy(dtype=np.float64)
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


def _text(table: pd.DataFrame, nulls: Sequence[ScoredFrame]) -> str:
    names = list(dict.fromkeys(null.model for null in nulls))
    if table.empty:
        return f"{', '.join(names)}: no pairs, so that accuracies cannot be compared."
    compared = table[table["models"] > 0]
    above, n = int(compared["models_above"].sum()), int(compared["models"].sum())
    return (
        f"{plural(len(names), 'model')} with random weights: accuracy {span(table['accuracy'])} (chance: "
        f"{number(CHANCE)}). Models are above the null on the same items in {above:,} of {n:,} comparisons (signs "
        f"exchanged by item, Holm, {number(SIGNIFICANCE)}). Null models are left out of all other counts and ranges."
    )


DEFINITIONS = """\
- **null model**: the architecture and tokenizer of a model with weights as they are before training (`random:MODEL`,
  or `weights = "random"` in a model list). What it reaches is due to length, repeated words and the like.
- **accuracy**: by the method's own definition, with a 95% interval (Wilson) over items.
- **models_above**: models of which the accuracy on the common items is above the null's (exact test over the signs of
  the items' differences, Holm over **models**).
"""
