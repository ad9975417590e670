"""Does a model agree with itself? Its sampled answers, orders and wordings as raters; beside models and people."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis, cells, typed
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.raters import alpha_of_counts
from pairbank.stats.scored_table.method_scores import MethodScores, ScoredFrame, choices_of, shows_both
from pairbank.stats.scored_table.scored_table import PARADIGM, ScoredTable, read_table

SAMPLES, ORDERS, WORDINGS = "sampled answers", "orders", "wordings"
MODELS, PEOPLE = "models", "model and people"
OWN = (SAMPLES, ORDERS, WORDINGS)
LEAST_COMMON = 10
FIRST_PAGE = ("corpus", "raters", "model", "method", "value", "low", "high", "same", "n")


class _Answers(NamedTuple):
    """Answers of several raters to the same things, NaN where there is none."""

    raters: str
    model: str
    method: str
    values: pd.DataFrame
    """A row per thing (its item is the index), a column per rater; of two sides, 1 for the better one."""
    of_sides: bool = True


@analysis(
    title="Does a model agree with itself?",
    needs="no model of {corpora} has two wordings, two orders or sampled answers; score several prompts, or --samples",
)
def self_agreement(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return alpha of the answers that one model gives, of several models, and of models and people."""
    rows = [
        row
        for corpus in dict.fromkeys(table.corpus for table in tables)
        for row in _of_corpus([read_table(table).choices for table in tables if table.corpus == corpus])
    ]
    if not any(row["raters"] in OWN for row in rows):
        return Result()
    table = wider(typed(rows))
    contradicts = table[table["raters"].isin(OWN) & (table["high"] < 0)]
    return Result(tables={"agreement": table}, columns=FIRST_PAGE, values={"contradicts": contradicts})


def _of_corpus(tables: Sequence[ScoredTable]) -> Iterator[dict[str, Any]]:
    paradigms: dict[str, Any] = {}
    by_method: dict[str, dict[str, pd.Series[float]]] = defaultdict(dict)
    for table in tables:
        paradigms |= dict(zip(table.item_ids, table.frame.get(PARADIGM, [None] * len(table.frame)), strict=True))
        chosen = {}
        for scores in table.methods:
            if not scores.layout.is_answer or scores.layout.kind == "prediction":
                continue
            for answers in _within(table, scores):
                yield _row(table.corpus, answers, paradigms)
            if scores.applies.any():
                of_items = pd.Series((signs(scores.delta_nats) + 1) / 2, index=table.item_ids)
                chosen[scores.layout.method] = by_method[scores.layout.method][table.model] = of_items
        if len(chosen) > 1:
            yield _row(table.corpus, _Answers(WORDINGS, table.model, "", pd.DataFrame(chosen)), paradigms)
        people = pd.Series((signs(table.human_delta) + 1) / 2, index=table.item_ids)
        for method, of_items in chosen.items() if people.notna().sum() >= LEAST_COMMON else ():
            both = pd.DataFrame({"model": of_items, "people": people}).dropna()
            yield _row(table.corpus, _Answers(PEOPLE, table.model, method, both), paradigms)
    for method, by_model in by_method.items():
        if len(by_model) > 1:
            yield _row(tables[0].corpus, _Answers(MODELS, "", method, pd.DataFrame(by_model)), paradigms)


def _within(table: ScoredTable, scores: MethodScores) -> Iterator[_Answers]:
    """Yield the sampled answers to each presentation, and the answers to both orders."""
    layout, ids, is_choice = scores.layout, table.item_ids, scores.layout.kind == "forced_choice"
    if layout.samples > 1:
        n = len(layout.presentations)
        nothing = np.full(n * layout.samples, np.nan)
        drawn = [nothing if cell is None else cell for cell in table.frame[ScoreColumns(layout.method).draws]]
        values = np.array(drawn, dtype=np.float64).reshape(-1, layout.samples)
        yield _Answers(SAMPLES, table.model, layout.method, pd.DataFrame(values, index=np.repeat(ids, n)), is_choice)
    choices = choices_of(scores) if is_choice and shows_both(layout) else None
    if choices is not None:
        better = choices[:, np.arange(len(layout.correct)), list(layout.correct)]
        yield _Answers(ORDERS, table.model, layout.method, pd.DataFrame(better, index=ids))


def _row(corpus: str, answers: _Answers, paradigms: dict[str, Any]) -> dict[str, Any]:
    frame = answers.values[answers.values.notna().sum(axis=1) > 1]
    given = frame.to_numpy(dtype=np.float64)
    if answers.of_sides:  # which of the two it is: if the better one were 1 for all, accuracy would be agreement
        is_second = np.array([zlib.crc32(str(item).encode()) % 2 == 1 for item in frame.index])
        given = np.where(is_second[:, np.newaxis], 1 - given, given)
    values = np.unique(given[~np.isnan(given)])
    counts: FloatArray = (given[:, :, np.newaxis] == values).sum(axis=1).astype(np.float64)
    codes = pd.factorize(pd.Series(frame.index).map(paradigms))[0].astype(np.int64)
    alpha = alpha_of_counts(counts, values, scale="interval", clusters=codes)
    n_of = counts.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1) / (n_of * (n_of - 1))
    return {
        "corpus": corpus, "raters": answers.raters, "model": answers.model, "method": answers.method,
        **cells(alpha, paradigms=True), "same": same.mean() if len(same) else np.nan,
        "n_raters": answers.values.shape[1], "n": alpha.n, "n_paradigms": alpha.n_paradigms, "reason": alpha.reason,
    }  # fmt: skip
