"""Every number of one corpus and one model, on all cores: the scored table in, one long table out.

Accuracies for every grouping, agreement between `direct` and each prompted method (Hu & Levy 2023; Song et
al. 2025) and with people for the whole corpus and its subsets. All intervals are closed forms: nothing is drawn.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from pairbank.stats.estimates.estimate import HUMAN, undefined
from pairbank.stats.estimates.shares import is_tie, mean_of_items, share_of_items, signs
from pairbank.stats.measures.accuracy import (
    accuracy,
    accuracy_pooled,
    balanced_accuracy,
    decided_accuracy,
    decided_position_bias,
    position_bias,
    unparsed_share,
)
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement, spearman
from pairbank.stats.measures.roc import LEAST_OF_A_CLASS, auc, held_out_margins, labelled_strings
from pairbank.stats.scored_table.method_scores import MethodScores, ScoredFrame
from pairbank.stats.scored_table.scored_table import DTYPES, Group, ScoredTable, SummaryRow, read_table

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.scoring.api.layout import MethodLayout


_AGREEMENT_GROUPINGS = ("all", "subset")
_LEAST_WITH_PEOPLE = 3


def summarise(
    frame: pd.DataFrame,
    layouts: Sequence[MethodLayout],
    *,
    model: str,
) -> pd.DataFrame:
    """Return all estimates of one corpus scored with one model.

    Args:
        frame: Items in the shared schema with, per method m, `m_delta` (nats, or points of a rating; null where m
            does not apply to the row), for prompted methods `m_logprobs`, for ratings `m_argmax_good` and
            `m_argmax_bad`, and `m_good` where items have one side only.
        layouts: The methods. One that applies to no row is left out of the result.
        model: Name of the model, copied to every row.

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
    table = read_table(ScoredFrame(corpus=corpus, model=model, frame=frame, layouts=tuple(layouts)))
    del frame  # beside the rows in order, those as they were given would be a second table
    rows: list[dict[str, Any]] = []
    margins = _margins(table)
    for group in table.groups:
        place = SummaryRow(
            model=model,
            corpus=table.corpus,
            group_by=group.group_by,
            group=group.group,
        )
        rows += _accuracy_rows(table, group, place)
        rows += _unparsed_rows(table, group, place)
        rows += _word_rows(table, group, place)
        rows += _human_accuracy_rows(table, group, place)
        if group.group_by in _AGREEMENT_GROUPINGS:
            rows += _agreement_rows(table, group, place)
            rows += _people_rows(table, group, place)
        rows += _sentence_rows(table, group, place, margins)
    return pd.DataFrame(rows, columns=list(DTYPES)).astype(DTYPES)


def _accuracy_rows(table: ScoredTable, group: Group, place: SummaryRow) -> Iterator[dict[str, Any]]:
    for scores in table.methods:
        rows = group.rows[scores.applies[group.rows]]
        if not rows.size:
            continue
        place = replace(place, method=scores.layout.method)
        if (judged := rows[table.has_truth[rows]]).size:
            yield from _right_rows(table, scores, judged, place)
        used, bias = rows[table.is_choice[rows]], replace(place, metric="position_bias")
        if scores.layout.has_logprobs and scores.layout.is_judged:
            yield bias.row(
                position_bias(scores.logprobs_nats[used], scores.layout, clusters=table.paradigms[used]),
                n_rows=rows.size,
            )
        if scores.layout.has_decisions and scores.layout.orders == "known":
            yield bias.row(
                decided_position_bias(scores.decisions[used], scores.layout, clusters=table.paradigms[used]),
                n_rows=rows.size,
            )


def _right_rows(
    table: ScoredTable, scores: MethodScores, rows: IntArray, place: SummaryRow
) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of a method on rows of which one side is the better one."""
    layout, used = scores.layout, rows[table.is_choice[rows]]
    current, pooled = replace(place, metric="accuracy"), replace(place, metric="accuracy_pooled")
    yield current.row(accuracy(scores.delta_nats[used], clusters=table.paradigms[used]), n_rows=rows.size)
    if layout.has_decisions:
        yield pooled.row(
            decided_accuracy(scores.decisions[used], layout, clusters=table.paradigms[used]), n_rows=rows.size
        )
    if layout.has_logprobs and layout.kind == "rating":
        yield from _rating_rows(table, scores, used, current, n_rows=rows.size)
    if layout.has_logprobs and layout.is_judged:
        yield pooled.row(
            accuracy_pooled(scores.logprobs_nats[used], layout, clusters=table.paradigms[used]), n_rows=rows.size
        )


def _unparsed_rows(table: ScoredTable, group: Group, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield, of methods whose answers the model writes, the share of texts in which no answer was found."""
    for scores in table.methods:
        rows = group.rows[~np.isnan(scores.unparsed[group.rows])]
        if rows.size:
            current = replace(place, method=scores.layout.method, metric="unparsed")
            used = rows[table.is_choice[rows]]
            yield current.row(unparsed_share(scores.unparsed[used], clusters=table.paradigms[used]), n_rows=rows.size)


def _rating_rows(
    table: ScoredTable, scores: MethodScores, used: IntArray, current: SummaryRow, *, n_rows: int
) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of the most probable ratings: ties one half, and ties as context 1 (Ivanova et al. 2024)."""
    gap = scores.argmax[used, 0] - scores.argmax[used, 1]
    current = replace(current, metric="accuracy_argmax")
    yield current.row(accuracy(gap, clusters=table.paradigms[used]), n_rows=n_rows)
    first = table.is_first_context[used]
    if first.size and not np.isnan(first).any():
        current = replace(current, metric="accuracy_argmax_ties_first")
        yield current.row(
            accuracy(np.where(is_tie(gap), first - 0.5, gap), clusters=table.paradigms[used]), n_rows=n_rows
        )


def _word_rows(table: ScoredTable, group: Group, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield mean log-probabilities of one-sided items, and how those of prompts go with those of `direct`.

    Hu & Levy 2023, Experiment 1: the mean is their task performance, Pearson's r their internal consistency.
    """
    direct = table.method(table.reference)
    for scores in table.methods:
        rows = group.rows[scores.predicts[group.rows]]
        if rows.size:
            current = replace(place, method=scores.layout.method, metric="mean_logprob")
            yield current.row(mean_of_items(scores.word_nats[rows], clusters=table.paradigms[rows]), n_rows=rows.size)
        if direct is None or scores is direct or group.group_by not in _AGREEMENT_GROUPINGS:
            continue
        one_sided = (
            scores.word_nats if scores.predicts.any() or not scores.layout.is_prompted else scores.sentence_score
        )
        rows = group.rows[direct.predicts[group.rows] & ~np.isnan(one_sided[group.rows])]
        if rows.size:
            x, y = direct.word_nats[rows], one_sided[rows]
            current = replace(place, method=scores.layout.method, versus=table.reference, metric="pearson_logprob")
            yield current.row(pearson(x, y, clusters=table.paradigms[rows]), n_rows=rows.size)
            current = replace(current, metric="spearman_logprob")
            yield current.row(spearman(x, y, clusters=table.paradigms[rows]), n_rows=rows.size)


def _human_accuracy_rows(table: ScoredTable, group: Group, place: SummaryRow) -> Iterator[dict[str, Any]]:
    rows = group.rows[~np.isnan(table.human_delta[group.rows])]
    if rows.size:
        current = replace(place, method=HUMAN, metric="human_accuracy")
        used = rows[table.is_choice[rows]]
        yield current.row(accuracy(table.human_delta[used], clusters=table.paradigms[used]), n_rows=rows.size)


def _agreement_rows(table: ScoredTable, group: Group, place: SummaryRow) -> Iterator[dict[str, Any]]:
    direct = table.method(table.reference)
    for scores in table.methods:
        if direct is None or not scores.layout.is_prompted:
            continue
        rows = _rows_of_both(direct, scores, group)
        if not rows.size:
            continue
        used = rows[table.is_choice[rows]]
        x, y = direct.delta_nats[used], scores.delta_nats[used]
        current = replace(place, method=scores.layout.method, versus=table.reference, metric="pearson")
        yield current.row(pearson(x, y, clusters=table.paradigms[used]), n_rows=rows.size)
        current = replace(current, metric="spearman")
        yield current.row(spearman(x, y, clusters=table.paradigms[used]), n_rows=rows.size)
        current = replace(current, metric="kappa")
        yield current.row(cohens_kappa(x, y, clusters=table.paradigms[used]), n_rows=rows.size)
        current = replace(current, metric="raw_agreement")
        yield current.row(raw_agreement(x, y, clusters=table.paradigms[used]), n_rows=rows.size)


def _rows_of_both(a: MethodScores, b: MethodScores, group: Group) -> IntArray:
    return group.rows[a.applies[group.rows] & b.applies[group.rows]]


def _people_rows(table: ScoredTable, group: Group, place: SummaryRow) -> Iterator[dict[str, Any]]:
    judged = ~np.isnan(table.human_delta)
    for scores in table.methods:
        rows = group.rows[(scores.applies & judged)[group.rows]]
        if rows.size < _LEAST_WITH_PEOPLE:
            continue
        used = rows[table.is_choice[rows]]
        x, y = scores.delta_nats[used], table.human_delta[used]
        current = replace(place, method=scores.layout.method, versus=HUMAN, metric="pearson_human")
        yield current.row(pearson(x, y, clusters=table.paradigms[used]), n_rows=rows.size)
        current = replace(current, metric="spearman_human")
        yield current.row(spearman(x, y, clusters=table.paradigms[used]), n_rows=rows.size)


def _margins(table: ScoredTable) -> dict[str, FloatArray]:
    """Return, by method, how far the labelled sentences are above a threshold learned from others; NaN elsewhere."""
    results: dict[str, FloatArray] = {}
    labels = table.labels
    for scores in table.methods:
        labelled = np.flatnonzero(scores.rates & ~np.isnan(labels))
        if labelled.size:
            margins = np.full(len(table.frame), np.nan)
            ids = [table.item_ids[row] for row in labelled]
            margins[labelled] = held_out_margins(scores.sentence_score[labelled], labels[labelled], ids)
            results[scores.layout.method] = margins
    return results


def _sentence_rows(
    table: ScoredTable, group: Group, place: SummaryRow, margins: Mapping[str, FloatArray]
) -> Iterator[dict[str, Any]]:
    """Yield how scores and answers of single sentences go with their labels, and with people's ratings."""
    labels, human = table.labels, table.numbers("human_good")
    for scores in table.methods:
        current = replace(place, method=scores.layout.method)
        rows = group.rows[scores.rates[group.rows]]
        if (judged := rows[~np.isnan(scores.says_yes[rows])]).size:
            says_yes = share_of_items(scores.says_yes[judged], clusters=table.paradigms[judged])
            yield replace(current, metric="acceptance").row(says_yes, n_rows=judged.size)
        if (labelled := rows[~np.isnan(labels[rows])]).size:
            margin = margins[scores.layout.method]
            yield from _label_rows(scores, labels, margin, labelled, current, paradigms=table.paradigms[labelled])
        rated = rows[~np.isnan(human[rows])]
        if rated.size >= _LEAST_WITH_PEOPLE and group.group_by in _AGREEMENT_GROUPINGS:
            x, y, people = scores.sentence_score[rated], human[rated], replace(current, versus=HUMAN)
            yield replace(people, metric="pearson_human_sentence").row(
                pearson(x, y, clusters=table.paradigms[rated]), n_rows=rated.size
            )
            yield replace(people, metric="spearman_human_sentence").row(
                spearman(x, y, clusters=table.paradigms[rated]), n_rows=rated.size
            )


def _label_rows(
    scores: MethodScores,
    labels: FloatArray,
    margins: FloatArray,
    rows: IntArray,
    current: SummaryRow,
    *,
    paradigms: IntArray,
) -> Iterator[dict[str, Any]]:
    """Yield the AUC of a score and how right held-out thresholds are; of judgments also how right its answers are."""
    good = labels[rows] == 1
    area = auc(labelled_strings(scores.sentence_score[rows], labels[rows]), clusters=paradigms)
    yield replace(current, metric="auc").row(area, n_rows=rows.size)
    if np.isnan(margins[rows]).any():
        reason = f"a threshold needs {LEAST_OF_A_CLASS} sentences of each label"
        missing = undefined(reason, n=0, method="none")
        for metric in ("balanced_accuracy", "mcc"):
            yield replace(current, metric=metric).row(missing, n_rows=rows.size)
    else:
        balanced = balanced_accuracy(margins[rows], good, clusters=paradigms)
        yield replace(current, metric="balanced_accuracy").row(balanced, n_rows=rows.size)
        matthews = pearson(signs(margins[rows]), labels[rows], clusters=paradigms)
        yield replace(current, metric="mcc").row(matthews, n_rows=rows.size)
    answers = scores.says_yes[rows] - 0.5
    if not np.isnan(answers).any():
        right = balanced_accuracy(answers, good, clusters=paradigms)
        yield replace(current, metric="answer_accuracy").row(right, n_rows=rows.size)


T = TypeVar("T")
R = TypeVar("R")

WORTH_SECONDS = 8.0
"""Of work that is left, by the pace so far, from which other processes are begun."""
WORTH_BEGINNING_SECONDS = 2.0
"""Of work that is left, from which processes are begun for what follows it."""
_IMPORTED = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg")


def on_all_cores(work: Callable[[T], R], pieces: Sequence[T], *, more_follows: bool = False) -> list[R]:
    """Return the result of each piece.

    >>> on_all_cores(abs, [-1, 2])
    [1, 2]
    """
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
