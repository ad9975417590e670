"""What goes with what, given the rest? Partial and within-model correlations, and what predicts people's ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.scoring.api.layout import SIDES, ScoreColumns
from pairbank.scoring.api.names import DIRECT, reference_of
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis, typed
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.measures.associations import (
    bayes_factor_of_r,
    p_of_all,
    p_over_paradigms,
    partial_correlation,
    relative_importance,
    within_correlation,
)
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table

LENGTH, MEAN = "length", "mean"
SIGNIFICANCE = 0.05
MOST_PREDICTORS = 10
LEAST_ITEMS = 20
"""Of a regression or partial correlation."""
_BAYES = {"given": "string", "bf01": "float64"}


@analysis(
    title="Correlations given the rest, and what predicts ratings",
    needs=f"none of {{corpora}} has {LEAST_ITEMS} items with ratings, or with `direct` and a prompted method by two "
    "models",
)
def associations(tables: Sequence[ScoredFrame], _context: Context, *, given: tuple[str, ...] = ()) -> Result:
    """Return partial correlations, correlations within models, and the relative importance of predictors of ratings."""
    reads = [read_table(table).choices for table in tables]
    for name in given:
        if not any(name in table.frame.columns for table in reads):
            raise BankError(f"no table has a column {name!r}; `given` names number columns of the items")
    corpora = dict.fromkeys(table.corpus for table in reads)
    rows = {
        "answers_given_other_models": [row for table in reads for row in _given_others(table, reads)],
        "people_given_length": [row for table in reads for row in _given_length(table, given)],
        "within_models": [row for corpus in corpora for row in _within(corpus, reads)],
    }
    made = {name: long_table(rows[name], {} if name == "within_models" else _BAYES) for name in rows if rows[name]}
    made["predictors_of_ratings"] = typed([row for table in reads for row in _predictors(table)])
    return Result(
        tables=made,
        main_table="",
        values={
            "correlations": {name: wider(made[name]) for name in rows if name in made},
            "predictors": made["predictors_of_ratings"],
        },
    )


def _given_others(table: ScoredTable, reads: Sequence[ScoredTable]) -> Iterator[dict[str, Any]]:
    others = [x for x in reads if x.corpus == table.corpus and x.model != table.model]
    deltas = [pd.Series(x.delta(table.reference), x.item_ids).reindex(table.item_ids) for x in others]
    known = [np.asarray(delta, dtype=np.float64) for delta in deltas if delta.notna().any()]
    own = table.delta(table.reference)
    if not known or np.isnan(own).all():
        return
    given = f"{table.reference} of {len(known)} other models"
    for layout in table.layouts:
        if layout.is_prompted:
            place = _place(table, layout.method, table.reference)
            yield from _partial_row(own, table.delta(layout.method), known, place, given, paradigms=table.paradigms)


def _given_length(table: ScoredTable, given: Sequence[str]) -> Iterator[dict[str, Any]]:
    human = table.human_delta
    rest = {LENGTH: _length(table)} | {name: table.numbers(name) for name in given}
    known = {name: x for name, x in rest.items() if not np.isnan(x).all()}
    if np.isnan(human).all() or not known:
        return
    for layout in table.layouts:
        place, x, names = _place(table, layout.method, HUMAN), table.delta(layout.method), ", ".join(known)
        yield from _partial_row(x, human, [*known.values()], place, names, paradigms=table.paradigms)


def _place(table: ScoredTable, method: str, versus: str) -> SummaryRow:
    return SummaryRow(**table.place, method=method, versus=versus, metric="partial_pearson")


def _partial_row(
    x: FloatArray, y: FloatArray, given: Sequence[FloatArray], place: SummaryRow, names: str, *, paradigms: IntArray
) -> Iterator[dict[str, Any]]:
    applies, rest = ~np.isnan(x + y), np.column_stack(given)
    both = applies & ~np.isnan(rest).any(axis=1)
    if both.sum() >= LEAST_ITEMS:
        result = partial_correlation(x[both], y[both], rest[both], clusters=paradigms[both])
        bf01 = bayes_factor_of_r(result.value, result.n - rest.shape[1])
        yield place.row(result, n_rows=int(applies.sum())) | {"given": names, "bf01": bf01}


def _within(corpus: str, reads: Sequence[ScoredTable]) -> Iterator[dict[str, Any]]:
    of_corpus = [table for table in reads if table.corpus == corpus]
    reference = reference_of(name for table in of_corpus for name in table.string_logprobs) or DIRECT
    for method in dict.fromkeys(x.method for table in of_corpus for x in table.layouts if x.is_prompted):
        named = [table.frame.reindex(columns=["item_id", "paradigm"]).assign(model=table.model) for table in of_corpus]
        deltas = [{"x": table.delta(reference), "y": table.delta(method)} for table in of_corpus]
        parts = [frame.assign(**delta) for frame, delta in zip(named, deltas, strict=True)]
        rows = pd.concat(parts, ignore_index=True).dropna(subset=["x", "y"])
        if rows["model"].nunique() < 3:
            continue
        of = (rows[name] for name in ("x", "y", "model", "item_id"))
        result = within_correlation(*of, clusters=pd.factorize(rows["paradigm"])[0])
        place = replace(_place(of_corpus[0], method, reference), model="all models", metric="pearson_within")
        yield place.row(result, n_rows=int(rows["item_id"].nunique()))


def _length(table: ScoredTable) -> FloatArray:
    """Return how many more tokens the better side has, of those that are scored; NaN where that is not known."""
    columns = ScoreColumns(table.reference)
    return np.asarray(table.numbers(columns.good_n) - table.numbers(columns.bad_n))


def _predictors(table: ScoredTable) -> Iterator[dict[str, Any]]:
    prompted = {layout.method: table.delta(layout.method) for layout in table.layouts if layout.is_prompted}
    names = ScoreColumns(table.reference)
    sides = zip(SIDES, (names.good_n, names.bad_n), strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        good, bad = (table.side(table.reference, side) / table.numbers(n) for side, n in sides)
        mean = np.where(np.isfinite(good - bad), good - bad, np.nan)
    columns = {table.reference: table.delta(table.reference), MEAN: mean, LENGTH: _length(table)} | prompted
    human = table.human_delta
    rated = ~np.isnan(human)
    # a column that most rated items lack, or that is the same for all, says nothing
    used = {name: x for name, x in columns.items() if np.isnan(x[rated]).sum() <= rated.sum() / 10}
    used = dict(list(used.items())[:MOST_PREDICTORS])
    if not used:
        return
    both = rated & ~np.isnan(np.column_stack(list(used.values()))).any(axis=1)
    kept = {name: x[both] for name, x in used.items() if both.any() and np.ptp(x[both]) > 0}
    if both.sum() < LEAST_ITEMS + len(kept) or not kept or not np.ptp(human[both]):
        return
    predictors, r2 = relative_importance(human[both], kept)
    n = int(both.sum())
    p_all = p_of_all(human[both], np.column_stack(list(kept.values())))
    p_paradigms = p_over_paradigms(human[both], kept, table.paradigms[both])
    of_all = {"r2": r2, "r2_adjusted": 1 - (1 - r2) * (n - 1) / (n - len(kept) - 1)}
    for x in predictors:
        row: dict[str, Any] = {"model": table.model, "corpus": table.corpus, "predictor": x.name, "slope": x.slope}
        row |= {"p": x.p, "importance": x.importance, "share": x.importance / r2 if r2 else np.nan} | of_all
        yield row | {"p_all": p_all, "p_paradigms": p_paradigms, "n": n}
