"""CHOICE, LIKERT and LOGPROBS on the same items: scored tables of context pairs in, a section out.

Ivanova et al. 2024: does a model choose the context that people choose, and does it choose alike when it must choose,
when it rates, and when its log-probabilities are compared? People are a measure like the others, where the corpus has
what they chose or rated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.choice_likert.answer import DEFINITIONS, answer, first_table, ties_said
from pairbank.stats.analyses.choice_likert.figures import ACCURACIES, CONFUSION, MOST_COLUMNS, agreement_figures
from pairbank.stats.analyses.choice_likert.measures import Measure, human_measures, measures, of_the_paper, references
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.estimates.ties import is_tie, signs
from pairbank.stats.figures.shared import file_name
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.confusion import Confusion, agreement_share, confusion, confusion_kappa, takes_second
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

TASK = "context_pair"
CELLS = ("first_first", "first_second", "second_first", "second_second")
EXTRA = {
    "measure": "string",
    "reading": "string",
    "told_by": "string",
    "in_paper": "bool",
    "n_ties": "int64",
    **dict.fromkeys(CELLS, "int64"),
}
"""Columns beside those of the summary: what is measured and read how, what tells the reference, whether it is the one
method of its kind that figures and first tables show, ties, and the confusion counts (reference, method)."""


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return accuracy against people and design, and consistency between the measures.

    Args:
        tables: Scored tables; used are their items of the task `context_pair`.

    Raises:
        BankError: If no table has scored context pairs.
    """
    against: list[dict[str, Any]] = []
    between: list[dict[str, Any]] = []
    people: dict[str, tuple[ScoredTable, SummaryRow]] = {}
    for table in tables:
        read = read_table(table)
        pairs = read.rows(read.has_value("task", TASK))
        place = SummaryRow(**pairs.place)
        found = list(measures(pairs.choices))
        against += _all_against(found, pairs, place)
        between += _all_between(found, pairs, place)
        if found:
            people.setdefault(pairs.corpus, (pairs, place))
    for pairs, place in people.values():
        own = list(human_measures(pairs.choices))
        against += _all_against(own, pairs, replace(place, model=HUMAN))
        between += _all_between(own, pairs, replace(place, model=HUMAN))
    if not against:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of the task {TASK}; score ewok, or "
            "your own pairs of contexts with one target"
        )
    return _section(long_table(against, EXTRA), long_table(between, EXTRA))


def _section(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> Section:
    corpus = str(accuracies["corpus"].iloc[0])
    main = CONFUSION if accuracies["model"].nunique() <= MOST_COLUMNS else ACCURACIES
    return Section(
        id="choice_likert",
        title="Choosing, rating and log-probabilities",
        text=_text(accuracies, consistency),
        answer=answer(accuracies, consistency),
        definitions=DEFINITIONS,
        tables={
            "choices": first_table(accuracies, consistency),
            "accuracy": accuracies,
            "consistency": consistency,
        },
        main_table="choices",
        main_figure=file_name(main, corpus),
        figures=tuple(agreement_figures(accuracies, consistency)),
        references=("Ivanova et al. 2024: Tables 1 and 2, Figure 2",),
    )


def _all_against(found: Sequence[Measure], pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield the choices of each measure beside those of people and of the design; none beside itself."""
    shown = of_the_paper(found).values()
    for item in found:
        more = {"in_paper": item in shown}
        for row in _against(item, pairs, place):
            if not (item.method == HUMAN and row["told_by"] == item.measure):
                yield row | more


def _all_between(found: Sequence[Measure], pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    shown = of_the_paper(found).values()
    for a, b in itertools.combinations(found, 2):
        if a.method != b.method or a.method == HUMAN:
            for row in _between(a, b, pairs, place):
                yield row | {"in_paper": a in shown and b in shown}


def _sides(pairs: ScoredTable) -> FloatArray:
    """Return 1 where the right context is the item's second one, -1 where it is the first or the items do not say."""
    return np.where(pairs.is_first_context == 0, 1.0, -1.0)


def _against(item: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    sides = _sides(pairs.choices)
    for reference in references(pairs.choices):
        right = reference.good_minus_bad
        kept = ~np.isnan(item.good_minus_bad + right) & ~is_tie(right)
        if not kept.any():
            continue
        delta, sign, side = item.good_minus_bad[kept], signs(right[kept]), sides[kept]
        table = confusion(sign * side > 0, takes_second(delta * side))
        cells = _cells(item.measure, item.reading, table, n_ties=int(np.sum(is_tie(delta))))
        cells["told_by"] = reference.told_by
        here = replace(place, method=item.name, versus=reference.versus)
        n_rows = kept.size + pairs.n_identical
        half = replace(here, metric="accuracy")
        yield half.row(accuracy(delta * sign), n_rows=n_rows) | cells
        first = replace(here, metric="accuracy_ties_first")
        yield first.row(agreement_share(table), n_rows=n_rows) | cells
        yield replace(here, metric="kappa").row(confusion_kappa(table), n_rows=n_rows) | cells


def _between(a: Measure, b: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    kept = ~np.isnan(a.good_minus_bad + b.good_minus_bad)
    if not kept.any():
        return
    side = _sides(pairs.choices)[kept]
    x, y = a.good_minus_bad[kept], b.good_minus_bad[kept]
    table = confusion(takes_second(x * side), takes_second(y * side))
    cells = _cells(f"{a.measure}-{b.measure}", "", table, n_ties=int(np.sum(is_tie(x) | is_tie(y))))
    here = replace(place, method=a.name, versus=b.name, metric="consistency")
    n_rows = kept.size + pairs.n_identical
    yield here.row(agreement_share(table), n_rows=n_rows) | cells
    yield replace(here, metric="kappa").row(confusion_kappa(table), n_rows=n_rows) | cells


def _cells(measure: str, reading: str, table: Confusion, *, n_ties: int) -> dict[str, Any]:
    counts = dict(zip(CELLS, table.cells, strict=True))
    return {"measure": measure, "reading": reading, "told_by": "", "n_ties": n_ties} | counts


def _text(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> str:
    parts = []
    of_models = accuracies[accuracies["model"] != HUMAN]
    for (corpus, told_by), part in of_models[of_models["metric"] == "accuracy"].groupby(
        ["corpus", "told_by"], sort=False
    ):
        said = [_said(*row) for row in _ranges(part, ["measure", "method"])]
        whom = "the items' design" if told_by == "design" else f"people ({told_by})"
        parts.append(f"**{corpus}**, share of choices that agree with {whom}: {'; '.join(said)}.")
    same = consistency[(consistency["metric"] == "consistency") & (consistency["model"] != HUMAN)]
    for corpus in same["corpus"].unique():
        part = same[same["corpus"] == corpus]
        said = [_said(*row) for row in _ranges(part, ["measure", "method", "versus"])]
        parts.append(f"**{corpus}**, same choice by two measures: {'; '.join(said)}.")
    parts += ties_said(accuracies)
    parts.append(
        "`accuracy` credits ties one half, `accuracy_ties_first` gives them to the first context as the paper does."
    )
    return "\n\n".join(parts)


def _ranges(part: pd.DataFrame, keys: list[str]) -> Iterator[tuple[tuple[str, ...], pd.Series[float]]]:
    for names, rows in part.groupby(keys, sort=False):
        yield tuple(map(str, names)), rows["value"]


def _said(names: tuple[str, ...], values: pd.Series[float]) -> str:
    measure, *methods = names
    shown = " and ".join(_named(method) for method in methods)
    shown_range = number(values.min())
    if len(values) > 1:
        shown_range += f" to {number(values.max())} over {len(values)} models"
    return f"{measure} ({shown}) {shown_range}"


def _named(measure: str) -> str:
    """Return a measure with its method's id between backticks, and how a rating was read after it."""
    method, _, reading = measure.partition(" (")
    return f"`{method}` ({reading}" if reading else f"`{method}`"
