"""Accuracies beside a baseline: models with random weights, and the same without items that lists call faulty.

In: scored tables. Out: models and null models apart, rows and sections (flag `known_error`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import KNOWN_ERROR
from pairbank.stats.analyses.base import Section
from pairbank.stats.measures.accuracy import wilson
from pairbank.stats.measures.paired_tests import corrected, gain_test
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, flagged
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import number, plural, span

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate


def with_and_without(tables: Sequence[ScoredFrame]) -> pd.DataFrame:
    """Return accuracies with and without the items that are known to be faulty, one row per model and method."""
    return pd.DataFrame([row for table in tables if _has_known_errors(table) for row in _both_ways(table)])


def known_error_notes(tables: Sequence[ScoredFrame]) -> list[str]:
    """Return what known faulty items change, a sentence per corpus that has some."""
    return known_texts(with_and_without(tables))


def known_texts(rows: pd.DataFrame) -> list[str]:
    """Return a sentence per corpus on what its known faulty items change."""
    return [_known_text(part) for _, part in rows.groupby("corpus", sort=False)] if len(rows) else []


def _has_known_errors(table: ScoredFrame) -> bool:
    return "flags" in table.column_names and bool(flagged(table.part(["flags"]), "flags", KNOWN_ERROR).any())


def _both_ways(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    read = read_table(table).choices
    is_faulty = flagged(read.frame, "flags", KNOWN_ERROR)
    for scores in read.methods:
        result = credits_of(scores)
        used = scores.applies & ~np.isnan(result.credit)
        if not (used & is_faulty).any() or not (used & ~is_faulty).any():
            continue
        both = [wilson(result.credit[rows], is_pooled=result.is_pooled) for rows in (used, used & ~is_faulty)]
        yield {
            "corpus": table.corpus,
            "model": table.model,
            "method": scores.layout.method,
            "n": int(used.sum()),
            "n_known_errors": int((used & is_faulty).sum()),
            **_shown(both[0], "with"),
            **_shown(both[1], "without"),
            "difference": both[1].value - both[0].value,
        }


def _shown(estimate: Estimate, which: str) -> dict[str, float]:
    return {f"accuracy_{which}": estimate.value, f"low_{which}": estimate.low, f"high_{which}": estimate.high}


def _known_text(part: pd.DataFrame) -> str:
    """Return what the known faulty items of one corpus change."""
    most = part.iloc[int(part["difference"].abs().to_numpy().argmax())]
    return (
        f"**{most['corpus']}** has {plural(int(part['n_known_errors'].max()), 'item')} with a known error (flag "
        f"`{KNOWN_ERROR}`). Without them accuracy changes by at most {number(abs(most['difference']), digits=3)} "
        f"({most['model']}, `{most['method']}`: {number(most['accuracy_with'], digits=3)} with, "
        f"{number(most['accuracy_without'], digits=3)} without)."
    )


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
    """Return the accuracies of null models, and how many models are above each."""
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
