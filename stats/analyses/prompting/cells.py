"""How well each question does, and how closely it follows probability: in, scored tables; out, a row a comparison.

Hu & Levy 2023: the task performance of a question is the mean log P of the word that came next (Experiment 1) or its
accuracy by the paper's own definition (2 to 3b); several corpora of a task are pooled, item by item (their Figure 2).
Internal consistency is Pearson's r with `direct`, of log P or of differences, averaged over corpora (Figures 3, 6).
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.analyses.form import cells
from pairbank.stats.estimates.estimate import without_interval
from pairbank.stats.estimates.shares import mean_of_items, share_of_items, share_of_trials, signs
from pairbank.stats.measures.accuracy import credit_of_presentations
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.families import LEAST_WORDINGS, mean_over_wordings
from pairbank.stats.measures.paired_tests import paired_difference
from pairbank.stats.scored_table.method_scores import MethodScores, ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table

N_BINS = 5
"""Of the confidence of an answer, from 0.5 to 1."""
LOG_P, ACCURACY = "mean log P (nats)", "accuracy"
POOLED = "pooled"
"""In the column `corpus`: the items of all corpora of the task."""
_LABEL = re.compile(r"^(?P<prompt>.+?) \((?P<task>Exp\. [^()]+)\)$")
_TASKS = {"sentence_pair": "sentences", "continuation_pair": "continuations", "word_prediction": "next word"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question on one corpus by one model, item by item: the items that `direct` scores too."""

    model: str
    corpus: str
    method: str
    task: str
    """The paper's experiment, or what kind of question on what kind of items."""
    prompt: str
    measure: str
    """`LOG_P` or `ACCURACY`."""
    direct: FloatArray
    """Log P of the word, or credit of the choice, by probability, shape (items,)."""
    asked: FloatArray
    """The same by asking, shape (items, presentations)."""
    direct_nats: FloatArray
    """What r is of: log P or differences by probability, shape (items,)."""
    asked_nats: FloatArray
    """The same by asking, shape (items,)."""
    paradigms: IntArray
    """Number of each item's paradigm, -1 for none, shape (items,)."""
    items: Sequence[str]
    p_correct: FloatArray
    """Probability of the correct option among the options, shape (items, presentations); no presentations where a
    question has no probabilities."""
    n_options: int


def questions(table: ScoredFrame) -> Iterator[Question]:
    """Yield each question that a table has an answer and a probability for; items without a truth are left out."""
    read = read_table(table)
    direct = read.method(read.reference)
    if direct is None:
        return
    for scores in read.methods:
        if not scores.layout.is_prompted or scores.layout.kind == "rating":
            continue
        predicts = bool(scores.predicts.any())
        present = scores.predicts & direct.predicts if predicts else scores.applies & direct.applies & read.is_choice
        present &= read.has_truth
        if present.any():
            yield _question(read, direct, scores, np.flatnonzero(present), predicts=predicts)


def _question(
    read: ScoredTable, direct: MethodScores, scores: MethodScores, rows: IntArray, *, predicts: bool
) -> Question:
    from scipy.special import softmax

    layout = scores.layout
    tasks = [str(x) for x in read.frame["task"].iloc[rows].unique()] if "task" in read.frame.columns else []
    items = ", ".join(_TASKS.get(task, task.replace("_", " ")) for task in tasks)
    task, prompt = names_of(layout.label, layout.method, kind=layout.kind, items=items)
    x = (direct.word_nats if predicts else direct.delta_nats)[rows]
    y = (scores.word_nats if predicts else scores.delta_nats)[rows]
    asked = y if predicts else (signs(y) + 1) / 2
    if layout.is_judged and layout.has_logprobs and layout.accuracy == "pooled":
        asked = credit_of_presentations(scores.logprobs_nats[rows], layout)
    p_correct: FloatArray = np.empty((len(rows), 0))
    if layout.has_logprobs and len(layout.options) > 1 and layout.kind != "prediction":
        p = softmax(scores.logprobs_nats, axis=2)
        p_correct = np.asarray(p[:, np.arange(len(layout.correct)), list(layout.correct)])[rows]
    return Question(
        model=read.model,
        corpus=read.corpus,
        method=layout.method,
        task=task,
        prompt=prompt,
        measure=LOG_P if predicts else ACCURACY,
        direct=x if predicts else (signs(x) + 1) / 2,
        asked=asked.reshape(len(rows), -1),
        direct_nats=x,
        asked_nats=y,
        paradigms=read.paradigms[rows],
        items=[read.item_ids[row] for row in rows],
        p_correct=p_correct,
        n_options=len(layout.options),
    )


def names_of(label: str, method: str, *, kind: str, items: str) -> tuple[str, str]:
    """Return task and prompt as the paper calls them, from the label of a method; else from kind, items and name."""
    if result := _LABEL.match(label):
        return result["task"], result["prompt"]
    return ", ".join(part for part in (kind.replace("_", " "), items) if part), label or method


def comparisons(asked: Sequence[Question]) -> pd.DataFrame:
    """Return every question on each corpus, and on the items of all corpora of its task where there are several."""
    rows: list[dict[str, Any]] = []
    for parts in _grouped(asked, "task", "model", "prompt", "measure").values():
        of_parts = []
        for part in parts:
            r = pearson(part.direct_nats, part.asked_nats, clusters=part.paradigms)
            of_parts.append(_performance(part) | cells(r, "r", paradigms=True) | {"reason": r.reason})
        rows += of_parts
        if len(parts) > 1:
            rows.append(_pooled(parts, [row["r"] for row in of_parts if not np.isnan(row["r"])]))
    result = pd.DataFrame(rows)
    tasks = sorted(dict.fromkeys(result["task"]))
    return result.sort_values("task", key=lambda names: names.map(tasks.index), kind="stable").reset_index(drop=True)


def _grouped(asked: Sequence[Question], *names: str) -> dict[tuple[str, ...], list[Question]]:
    groups = defaultdict(list)
    for question in asked:
        groups[attrgetter(*names)(question)].append(question)
    return groups


def whole(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Return one row a model, task and prompt: that of all corpora, or of the one corpus."""
    keys = ["model", "task", "prompt"]
    is_pooled = comparisons["corpus"] == POOLED
    n_corpora = (~is_pooled).groupby([comparisons[key] for key in keys]).transform("sum")
    return comparisons[is_pooled | (n_corpora == 1)].reset_index(drop=True)


def over_wordings(asked: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Yield how well each model does when asked in any wording, of which three or more are draws."""
    names = ("task", "model", "corpus", "measure")
    for key, questions in _grouped(asked, *names).items():
        if len(questions) < LEAST_WORDINGS:
            continue
        items = [pd.Index(question.items) for question in questions]
        shared = functools.reduce(partial(pd.Index.intersection, sort=False), items)
        at = [of_question.get_indexer(shared) for of_question in items]
        values = np.stack([q.asked.mean(axis=1)[rows] for q, rows in zip(questions, at, strict=True)])
        direct, paradigms = questions[0].direct[at[0]], questions[0].paradigms[at[0]]
        asking = mean_over_wordings(values, clusters=paradigms)
        difference = mean_over_wordings(values - direct, clusters=paradigms)
        row: dict[str, Any] = dict(zip(names, key, strict=True))
        row |= cells(asking, "asked") | cells(difference, "difference")
        counts = {"n_wordings": len(questions), "n": len(shared), "n_of_any": max(map(len, at))}
        yield row | counts | {"reason": difference.reason}


def calibration(asked: Sequence[Question]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return Brier scores of probabilities of two options, and how often answers of a confidence are right."""
    scores: list[dict[str, Any]] = []
    reliability: list[dict[str, Any]] = []
    for question in asked:
        known = ~np.isnan(question.p_correct).any(axis=1)
        p, of = question.p_correct[known], question.paradigms[known]
        if question.n_options != 2 or not p.size:
            continue
        place = {name: getattr(question, name) for name in ("task", "model", "prompt", "method", "corpus")}
        brier = mean_of_items(((1 - p) ** 2).mean(axis=1), clusters=of)
        scores.append(place | cells(brier, paradigms=True) | {"n": brier.n, "reason": brier.reason})
        confidence, right = np.maximum(p, 1 - p), (np.sign(p - 0.5) + 1) / 2
        bins = np.minimum(((confidence - 0.5) * 2 * N_BINS).astype(np.int64), N_BINS - 1)
        items = np.broadcast_to(np.arange(len(p))[:, None], p.shape)
        for number in np.unique(bins):
            inside = bins == number
            share = share_of_trials(right[inside], items[inside], clusters=of[items[inside]])
            row = place | {"bin": int(number) + 1, "confidence": float(confidence[inside].mean())}
            reliability.append(row | cells(share, paradigms=True) | {"n": share.n, "reason": share.reason})
    return scores, reliability


def _pooled(parts: Sequence[Question], known_r: Sequence[float]) -> dict[str, Any]:
    width = max(part.asked.shape[1] for part in parts)
    codes = [part.paradigms for part in parts]  # none has another corpus's paradigm; none where a corpus has none
    starts = np.cumsum([0, *(of.max(initial=-1) + 1 for of in codes)])
    paradigms = np.concatenate([of + start for of, start in zip(codes, starts, strict=False)])
    has_all = all((of >= 0).all() for of in codes)
    together = replace(
        parts[0],  # of which `_performance` reads the names alone
        corpus=POOLED,
        direct=np.concatenate([part.direct for part in parts]),
        asked=np.concatenate([np.broadcast_to(part.asked, (len(part.asked), width)) for part in parts]),
        paradigms=paradigms if has_all else np.full(paradigms.size, -1, dtype=np.int64),
    )
    mean = float(np.mean(known_r)) if known_r else np.nan
    reason = "the mean over corpora has no interval" if known_r else "undefined on every corpus"
    r = without_interval(mean, reason, n=0, method="")
    return _performance(together) | cells(r, "r", paradigms=True) | {"reason": reason}


def _performance(part: Question) -> dict[str, Any]:
    """Return the numbers of asking, of reading, and of their difference on the same items."""
    of_item = part.asked.mean(axis=1)
    of = part.paradigms
    if part.measure == LOG_P:
        asked, direct, gain = (mean_of_items(x, clusters=of) for x in (of_item, part.direct, of_item - part.direct))
    else:
        items = np.repeat(np.arange(len(part.asked)), part.asked.shape[1])
        asked = share_of_trials(part.asked.ravel(), items, clusters=of[items])
        direct, gain = share_of_items(part.direct, clusters=of), paired_difference(of_item - part.direct, clusters=of)
    names = ("task", "model", "prompt", "method", "corpus", "measure")
    row: dict[str, Any] = {name: getattr(part, name) for name in names}
    for name, result in (("asked", asked), ("direct", direct), ("difference", gain)):
        row |= cells(result, name, paradigms=True)
    return row | {"n": len(part.direct)}
