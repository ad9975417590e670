"""Every number of one corpus and one model: the scored table in, one long table out. Nothing is drawn at random.

Accuracies for every grouping; agreement between `direct` and each prompted method (Hu & Levy 2023; Song et al. 2025)
and with people, for the whole corpus and its subsets.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.estimates.estimate import HUMAN, Estimate, undefined
from pairbank.stats.estimates.shares import is_tie, mean_of_items, share_of_items, signs
from pairbank.stats.measures.accuracy import accuracy, accuracy_pooled, balanced_accuracy, decided_share, position_bias
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement, spearman
from pairbank.stats.measures.roc import LEAST_OF_A_CLASS, auc, held_out_margins, labelled_strings
from pairbank.stats.scored_table.method_scores import MethodScores, ScoredFrame
from pairbank.stats.scored_table.scored_table import CONDITION, DTYPES, Group, ScoredTable, SummaryRow, read_table

_AGREEMENT_GROUPINGS = ("all", "subset", CONDITION)
_LEAST_WITH_PEOPLE = 3

V = TypeVar("V", bound=np.generic)
T = TypeVar("T")
R = TypeVar("R")
WORTH_SECONDS = 8.0
"""Of work that is left, by the pace so far, from which other processes are begun."""
WORTH_BEGINNING_SECONDS = 2.0
"""Of work that is left, from which processes are begun for what follows it."""
_IMPORTED = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg")


def summarise(
    frame: pd.DataFrame, layouts: Sequence[MethodLayout], *, model: str, signature: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return all estimates of one corpus scored with one model.

    Args:
        frame: Items in the shared schema with, per method m, `m_delta` (nats, or points of a rating; null where m
            does not apply to the row), for prompted methods `m_logprobs`, for ratings `m_argmax_good` and
            `m_argmax_bad`, and `m_good` where items have one side only.
        layouts: The methods. One that applies to no row is left out of the result.
        model: Name of the model, copied to every row.
        signature: Of the table: it states the design, whose conditions are groups.

    Returns:
        One row per group, method and metric, with the columns and types of `DTYPES`. `n` counts the items
        used and `n_excluded` those that the method applies to but the number leaves out: identical sides, and
        for kappa and raw agreement ties too. Intervals are at level 0.95. An undefined value is NaN with a `reason`.

    Raises:
        BankError: If the table is not one corpus in the shared schema with complete scores.

    >>> items = pd.DataFrame({
    ...     "item_id": ["a", "b", "c"], "corpus": "toy", "subset": "s", "phenomenon": None, "language": "en",
    ...     "human_good": [None] * 3, "human_bad": [None] * 3, "flags": [[], [], ["identical_sides"]],
    ...     "direct_delta": [1.5, -0.5, 0.0]})
    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> direct = MethodLayout(method="direct", kind="direct", presentations=(), options=(), correct=())
    >>> summarise(items, [direct], model="gpt2")[["metric", "value", "n", "n_excluded"]].to_dict("records")
    [{'metric': 'accuracy', 'value': 0.5, 'n': 2, 'n_excluded': 1}]
    """
    corpus = str(frame["corpus"].iloc[0]) if "corpus" in frame.columns and len(frame) else ""
    table = read_table(
        ScoredFrame(corpus=corpus, model=model, frame=frame, layouts=tuple(layouts), signature=signature or {})
    )
    del frame  # beside the rows in order, those as they were given would be a second table
    margins, ratings = _margins(table), table.numbers("human_good")
    rows: list[dict[str, Any]] = []
    for group in table.groups:
        place = SummaryRow(model=model, corpus=table.corpus, group_by=group.group_by, group=group.group)
        for family in _FAMILIES:
            for scores in table.methods:
                of_method = replace(place, method=scores.layout.method)
                part = _Part(table, scores, of_method, group.rows, group.rows, margins.get(of_method.method), ratings)
                rows += (row for metrics in family for row in metrics(part))
            if family is _WORDS:  # people's accuracy has no method; it has its place among the rows here
                rows += _human_accuracy(table, group, place)
    return pd.DataFrame(rows, columns=list(DTYPES)).astype(DTYPES)


Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of one method."""

    table: ScoredTable
    scores: MethodScores
    place: SummaryRow
    rows: IntArray
    used: IntArray
    """Of the rows: those that numbers are computed on, where pairs of identical sides are left out."""
    margins: FloatArray | None
    """How far the table's labelled sentences are above a threshold learned from others; NaN elsewhere."""
    ratings: FloatArray
    """People's, of the table's single sentences."""

    def where(self, is_kept: BoolArray, *, of_choices: bool = True, versus: str = "") -> _Part:
        rows = self.rows[is_kept]
        used = rows[self.table.is_choice[rows]] if of_choices else rows
        return replace(self, rows=rows, used=used, place=replace(self.place, versus=versus))

    def at(self, values: NDArray[V]) -> NDArray[V]:
        return values[self.used]

    @property
    def clusters(self) -> IntArray:
        return self.at(self.table.paradigms)

    @property
    def has_subsets(self) -> bool:
        """Whether the group is the corpus or a subset: agreement is computed for these alone."""
        return self.place.group_by in _AGREEMENT_GROUPINGS

    @property
    def direct(self) -> MethodScores | None:
        """What the method is compared with; None where the table lacks it, and for itself."""
        direct = self.table.method(self.table.reference)
        return None if direct is self.scores else direct

    def known(self, *values: FloatArray, of_choices: bool = True, versus: str = "") -> _Part:
        """Return the rows that have a number of each."""
        is_known = ~np.isnan([self.at(x) for x in values]).any(axis=0)
        return self.where(np.asarray(is_known), of_choices=of_choices, versus=versus)

    def row(self, metric: str, measure: Callable[..., Estimate], *arguments: object) -> dict[str, Any]:
        estimate = measure(*arguments, clusters=self.clusters)
        return replace(self.place, metric=metric).row(estimate, n_rows=self.rows.size)

    def correlations(self, x: FloatArray, y: FloatArray, end: str = "") -> Rows:
        yield self.row(f"pearson{end}", pearson, self.at(x), self.at(y))
        yield self.row(f"spearman{end}", spearman, self.at(x), self.at(y))


def _accuracies(part: _Part) -> Rows:
    scores, layout = part.scores, part.scores.layout
    part = part.where(part.at(scores.applies) & part.at(part.table.has_truth))
    if not part.rows.size:
        return
    yield part.row("accuracy", accuracy, part.at(scores.delta_nats))
    if layout.has_decisions:
        yield part.row("accuracy_pooled", decided_share, part.at(scores.decisions), layout.correct)
    if layout.has_logprobs and layout.kind == "rating":
        good, bad = part.at(scores.argmax).T
        gap, first = good - bad, part.at(part.table.is_first_context)
        yield part.row("accuracy_argmax", accuracy, gap)
        if first.size and not np.isnan(first).any():  # ties as a choice of context 1 (Ivanova et al. 2024)
            yield part.row("accuracy_argmax_ties_first", accuracy, np.where(is_tie(gap), first - 0.5, gap))
    if layout.has_logprobs and layout.is_judged:
        yield part.row("accuracy_pooled", accuracy_pooled, part.at(scores.logprobs_nats), layout)


def _position_bias(part: _Part) -> Rows:
    scores, layout = part.scores, part.scores.layout
    part = part.known(scores.delta_nats)
    if part.rows.size and layout.has_logprobs and layout.is_judged:
        yield part.row("position_bias", position_bias, part.at(scores.logprobs_nats), layout)
    if part.rows.size and layout.has_decisions and layout.orders == "known":
        yield part.row("position_bias", decided_share, part.at(scores.decisions), layout.shown_first)


def _unparsed(part: _Part) -> Rows:
    """Yield, of methods whose answers the model writes, the share of texts in which no answer was found."""
    part = part.known(part.scores.unparsed)
    if part.rows.size:
        yield part.row("unparsed", share_of_items, part.at(part.scores.unparsed))


def _mean_of_words(part: _Part) -> Rows:
    """Yield mean log-probabilities of one-sided items: task performance in Hu & Levy 2023, Experiment 1."""
    part = part.known(part.scores.word_nats, of_choices=False)
    if part.rows.size:
        yield part.row("mean_logprob", mean_of_items, part.at(part.scores.word_nats))


def _agreement_of_words(part: _Part) -> Rows:
    """Yield how a prompt's numbers of one-sided items go with those of `direct`: r is their internal consistency."""
    scores, direct = part.scores, part.direct
    if direct is None or not part.has_subsets:
        return
    one_sided = scores.word_nats if scores.predicts.any() or not scores.layout.is_prompted else scores.sentence_score
    part = part.known(direct.word_nats, one_sided, of_choices=False, versus=part.table.reference)
    if part.rows.size:
        yield from part.correlations(direct.word_nats, one_sided, "_logprob")


def _human_accuracy(table: ScoredTable, group: Group, place: SummaryRow) -> Rows:
    if group.group_by == CONDITION:
        ratings = table.numbers("human_good")[group.rows]
        rated = ~np.isnan(ratings) & np.isnan(table.numbers("human_bad")[group.rows])
        if rated.any():
            estimate = mean_of_items(ratings[rated], clusters=table.paradigms[group.rows][rated])
            yield replace(place, method=HUMAN, metric="mean_rating").row(estimate, n_rows=int(rated.sum()))
    rows = group.rows[~np.isnan(table.human_delta[group.rows])]
    if rows.size:
        used = rows[table.is_choice[rows]]
        estimate = accuracy(table.human_delta[used], clusters=table.paradigms[used])
        yield replace(place, method=HUMAN, metric="human_accuracy").row(estimate, n_rows=rows.size)


def _agreement(part: _Part) -> Rows:
    scores, direct = part.scores, part.direct
    if direct is None or not scores.layout.is_prompted or not part.has_subsets:
        return
    part = part.known(direct.delta_nats, scores.delta_nats, versus=part.table.reference)
    if part.rows.size:
        yield from part.correlations(direct.delta_nats, scores.delta_nats)
        x, y = part.at(direct.delta_nats), part.at(scores.delta_nats)
        yield part.row("kappa", cohens_kappa, x, y)
        yield part.row("raw_agreement", raw_agreement, x, y)


def _with_people(part: _Part) -> Rows:
    scores, human = part.scores, part.table.human_delta
    part = part.known(scores.delta_nats, human, versus=HUMAN)
    if part.rows.size >= _LEAST_WITH_PEOPLE and part.has_subsets:
        yield from part.correlations(scores.delta_nats, human, "_human")


def _margins(table: ScoredTable) -> dict[str, FloatArray]:
    """Return, by method, how far the labelled sentences are above a threshold learned from others; NaN elsewhere."""
    results: dict[str, FloatArray] = {}
    for scores in table.methods:
        labelled = np.flatnonzero(scores.rates & ~np.isnan(table.labels))
        if labelled.size:
            margins = np.full(len(table.frame), np.nan)
            ids = [table.item_ids[row] for row in labelled]
            margins[labelled] = held_out_margins(scores.sentence_score[labelled], table.labels[labelled], ids)
            results[scores.layout.method] = margins
    return results


def _acceptance(part: _Part) -> Rows:
    scores = part.scores
    part = part.known(scores.sentence_score, scores.says_yes, of_choices=False)
    if part.rows.size:
        yield part.row("acceptance", share_of_items, part.at(scores.says_yes))
        if not np.isnan(first := part.at(scores.says_first)).any():
            yield part.row("position_bias_sentence", share_of_items, first)


def _with_labels(part: _Part) -> Rows:
    """Yield the AUC of a score and how right held-out thresholds are; of judgments also how right its answers are."""
    scores, table = part.scores, part.table
    part = part.known(scores.sentence_score, table.labels, of_choices=False)
    if not part.rows.size or part.margins is None:
        return
    labels, margins = part.at(table.labels), part.at(part.margins)
    yield part.row("auc", auc, labelled_strings(part.at(scores.sentence_score), labels))
    if np.isnan(margins).any():
        missing = undefined(f"a threshold needs {LEAST_OF_A_CLASS} sentences of each label", n=0, method="none")
        yield from (part.row(metric, lambda **_: missing) for metric in ("balanced_accuracy", "mcc"))
    else:
        yield part.row("balanced_accuracy", balanced_accuracy, margins, labels == 1)
        yield part.row("mcc", pearson, signs(margins), labels)
    answers = part.at(scores.says_yes) - 0.5
    if not np.isnan(answers).any():
        yield part.row("answer_accuracy", balanced_accuracy, answers, labels == 1)


def _with_ratings(part: _Part) -> Rows:
    part = part.known(part.scores.sentence_score, part.ratings, of_choices=False, versus=HUMAN)
    if part.rows.size >= _LEAST_WITH_PEOPLE and part.has_subsets:
        yield from part.correlations(part.scores.sentence_score, part.ratings, "_human_sentence")


def _means(part: _Part) -> Rows:
    """Yield the mean score of a condition's single sentences; of log-probabilities it is among those of words."""
    scores = part.scores
    part = part.where(part.at(scores.rates) & np.isnan(part.at(scores.word_nats)), of_choices=False)
    if part.rows.size and part.place.group_by == CONDITION:
        yield part.row("mean_score", mean_of_items, part.at(scores.sentence_score))


_WORDS = (_mean_of_words, _agreement_of_words)
_FAMILIES = (
    (_accuracies, _position_bias),
    (_unparsed,),
    _WORDS,
    (_agreement,),
    (_with_people,),
    (_acceptance, _means, _with_labels, _with_ratings),
)
"""Metrics that follow each other in the summary, method by method."""


def on_all_cores(work: Callable[[T], R], pieces: Sequence[T], *, more_follows: bool = False) -> list[R]:
    """Return the result of each piece."""
    import joblib

    done: list[R] = []
    first_done_at = now = time.monotonic()
    for piece in pieces:
        n_paced, n_left = len(done) - 1, len(pieces) - len(done)
        if n_paced > 0 and (now - first_done_at) / n_paced * n_left > WORTH_SECONDS and joblib.cpu_count() > 1:
            break
        done.append(work(piece))
        now = time.monotonic()
        if len(done) == 1:  # it imported what all need
            first_done_at = now
        if len(done) == 2 and more_follows and (now - first_done_at) * n_left > WORTH_BEGINNING_SECONDS:
            threading.Thread(target=_begin_processes, daemon=True).start()
    rest = pieces[len(done) :]
    if not rest:
        return done
    n_processes = min(joblib.cpu_count(), len(rest))
    return done + list(joblib.Parallel(n_jobs=n_processes)(joblib.delayed(work)(piece) for piece in rest))


def _begin_processes() -> None:
    import joblib

    n = joblib.cpu_count()
    if n > 1:
        joblib.Parallel(n_jobs=n)(joblib.delayed(_import)((__name__, *_IMPORTED)) for _ in range(n))


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)
