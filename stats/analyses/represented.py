"""Do probabilities, representations, answers and people rank the same items alike? And does a probe beat its nulls?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.scoring.api.names import PROBE_GRAMMAR, PROBE_GRAMMAR_NULL
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, groups
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN, undefined
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.agreement import spearman
from pairbank.stats.measures.paired_tests import paired_difference
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table
from pairbank.stats.wording import counts, median_and_span, with_interval

KINDS = "probabilities", "representations", "shuffled labels", "answers", "people"
PROBABILITIES, REPRESENTATIONS, NULL, ANSWERS, PEOPLE = KINDS
LEAST_ITEMS = 10


class _Measure(NamedTuple):
    kind: str
    method: str
    values: FloatArray
    """Of the items, NaN where there is none."""


@analysis(
    title="Probabilities, representations, answers and people",
    needs=f"{{corpora}} have no two of {', '.join(KINDS)} on {LEAST_ITEMS} items; score them with {PROBE_GRAMMAR}",
)
def represented(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return rank correlations of all measures, and the accuracy of the grammar probe beside its nulls."""
    read = [read_table(table).choices for table in tables]
    ranks = wider(long_table([row for table in read for row in _ranks(table)], {"measures": "string"}))
    random = [read_table(table).choices for table in context.nulls]
    leads = wider(pd.DataFrame([row for table in read for row in _beside_nulls(table, random)]))
    known = ranks[ranks["value"].notna()].assign(above=ranks["low"] > 0)
    named = {"median": ("value", "median"), "least": ("value", "min"), "most": ("value", "max")}
    alike = Rows()
    for group in groups(known, "corpus", "measures"):
        of, is_one = group.frame, len(group.frame) == 1
        rho = with_interval(of.iloc[0]) if is_one else median_and_span(of["value"])
        row = group.place | {"rho": rho, "n": counts(of["n"]), "above 0": int(of["above"].sum())}
        alike.append(row | {"cases": len(of)})
    kinds = known.groupby("measures", sort=False).agg(**named, above=("above", "sum"), cases=("above", "size"))
    return Result(
        tables={"alike": pd.DataFrame(alike), "ranks": ranks, "probes": leads.filter(regex="^(?!.*paradigms)")},
        second_table="probes" if len(leads) else "",
        values={
            "kinds": kinds.sort_values("median", ascending=False, kind="stable").reset_index(),
            "of_null": [name for name in kinds.index if NULL in name],
        },
    )


def _ranks(table: ScoredTable) -> Iterator[dict[str, Any]]:
    pairs = any(scores.applies.any() for scores in table.methods)
    kinds = {table.reference: PROBABILITIES, PROBE_GRAMMAR: REPRESENTATIONS, PROBE_GRAMMAR_NULL: NULL}
    measures = [_Measure(PEOPLE, HUMAN, table.human_delta if pairs else table.numbers("human_good"))]
    for scores in table.methods:
        if kind := kinds.get(scores.layout.method, ANSWERS if scores.layout.is_answer else ""):
            values = scores.delta_nats if pairs else scores.sentence_score
            measures.append(_Measure(kind, scores.layout.method, values))
    in_order = sorted(measures, key=lambda measure: KINDS.index(measure.kind))
    texts = pd.factorize(table.frame.get("target_good", pd.Series(table.item_ids)))[0].astype(np.int64)
    is_repeated = (table.paradigms < 0).all() and texts.max(initial=0) + 1 < len(texts)  # as a sentence in contexts
    clusters = texts if is_repeated else table.paradigms
    for a, b in itertools.combinations(in_order, 2):
        both = ~np.isnan(a.values + b.values)
        is_asked = NULL not in (a.kind, b.kind) or {a.kind, b.kind} & {PROBABILITIES, PEOPLE}
        if a.kind == b.kind or not is_asked or both.sum() < LEAST_ITEMS:
            continue
        place = SummaryRow(**table.place, method=a.method, versus=b.method, metric="spearman")
        rho = spearman(a.values[both], b.values[both], clusters=clusters[both])
        yield place.row(rho, n_rows=len(both)) | {"measures": f"{a.kind} and {b.kind}"}


def _beside_nulls(table: ScoredTable, random: Sequence[ScoredTable]) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of the probe, and its lead over each null on the same pairs."""
    credit = _credit(table, PROBE_GRAMMAR)
    weights = [_credit(other, PROBE_GRAMMAR) for other in random if other.corpus == table.corpus]
    nulls = {
        NULL: (_credit(table, PROBE_GRAMMAR_NULL), f"{PROBE_GRAMMAR_NULL} was not scored"),
        "random weights": (max(weights, key=pd.Series.mean, default=credit[:0]), "no random weights were scored"),
    }
    paradigms = pd.Series(table.paradigms, index=table.item_ids)
    for name, (null, reason) in nulls.items() if len(credit) else ():
        gain = (credit - null).dropna()
        lead = undefined(reason, n=0, method="")
        if len(gain):
            lead = paired_difference(gain, clusters=paradigms[gain.index])
        row = {"corpus": table.corpus, "model": table.model, "null": name, "n": len(credit), "probe": credit.mean()}
        row |= {"with the null": null.mean()} | cells(lead, paradigms=True)
        yield row | {"reason": lead.reason or ""}


def _credit(table: ScoredTable, method: str) -> pd.Series[float]:
    """Return the credit of each pair that a method tells apart, by item; a tie is one half."""
    delta = pd.Series(table.delta(method), index=table.item_ids).dropna()
    return pd.Series((signs(delta) + 1) / 2, index=delta.index)
