"""Checks of scores: none, at chance, constant, position bias, ties; impossible, and copied from another model."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.api.names import DIRECT, DIRECT_WB, TIE, TRUNCATED
from pairbank.stats.analyses.form import Words
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.shares import is_tie, share_of_items
from pairbank.stats.scored_table.method_scores import Credits, MethodScores, choices_of, credits_of, flagged
from pairbank.stats.scored_table.scored_table import ScoredTable

LEAST_ITEMS = 20
"""Items below which nothing is said of a method's choices."""
LEAST_EFFECT = 0.1
"""Biases smaller than this are not told, however sure: of the share of first options, or of accuracy by length."""
MOST_IDS = 5
"""Of the items concerned."""
_NOTHING_FOUND: dict[str, Any] = {
    "method": "",
    "model": "",
    "outcome": "clean",
    "said": "",
    "n": 0,
    "n_concerned": 0,
    "headline": np.nan,
    "without": np.nan,
    "p": np.nan,
    "items": "",
}
COLUMNS = ("corpus", "check", *_NOTHING_FOUND)
"""Of a check's row. Method or model are empty where the check is of items. `outcome` is found, clean, inconclusive or
not checked. `headline` is the accuracy as reported (of a corpus, of a rule that needs no model), `without` the same
without what was found; NaN where nothing would be left. `p` is of a test, where there is one; `items` are some ids."""
CHANCE = 0.5
CHANCE_MARGIN = 0.05
"""An accuracy that is shown to lie closer to .5 than this is at chance."""
LEAST_MISSING, LEAST_TIES, CONSTANT = 0.01, 0.05, 0.99
"""Shares of items without an answer, and with a tie, that are told; and of one same answer, that is called constant."""
SAME, IMPOSSIBLE = 0.2, 0.01
"""Share of scores that are one same number, and of log-probabilities of 0 or more, that is told."""
FEW_VALUES, LEAST_COPIED, LEAST_COPIED_ANSWERS = 10, 5, 30
"""A method with no more values than this gives answers. Equal scores on so many items are copies; of answers it takes
so many of the rarer one, for two good models are right on the same items by chance."""


@functools.cache
def words() -> Words:
    """Return the template, for phrases that are cells of tables too."""
    return Words(Path(__file__).with_name("audit.md.j2"), {"LEAST_ITEMS": LEAST_ITEMS})


def result(
    check: str,
    corpus: str,
    *,
    phrase: str = "",
    values: Mapping[str, Any] | None = None,
    which: BoolArray | None = None,
    ids: pd.Series[str] | None = None,
    **cells: object,
) -> dict[str, Any]:
    """Return what came of one check as a row of `COLUMNS`; without further cells, that nothing was found.

    `phrase` is a macro of the template, which reads `values`: what was found, or why nothing could be. It goes on after
    the model's name. `which` of the items with `ids` show the fault.
    """
    row = {"corpus": corpus, "check": check, **_NOTHING_FOUND}
    if phrase:
        row["said"] = words().render(phrase, values or {})
    if which is not None and ids is not None:
        row |= {"n_concerned": int(which.sum()), "items": " ".join(ids.iloc[np.flatnonzero(which)[:MOST_IDS]])}
    return row | cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Audited:
    """One method of one model on one corpus: the rows of which one side is right and which are a choice."""

    table: ScoredTable
    scores: MethodScores

    @property
    def layout(self) -> MethodLayout:
        return self.scores.layout

    def result(self, check: str, **cells: Any) -> dict[str, Any]:  # noqa: ANN401 - as `result` takes them
        place = {"method": self.layout.method, "model": self.table.model, "ids": self.table.frame["item_id"]}
        return result(check, self.table.corpus, **{"n": self.n, "headline": self.accuracy} | place | cells)

    def not_checked(self, check: str, phrase: str, **values: object) -> dict[str, Any]:
        """Return that a check was not possible, and why."""
        return self.result(check, outcome="not checked", phrase=phrase, values=values)

    def found(self, check: str, values: Mapping[str, Any], **cells: object) -> dict[str, Any]:
        """Return what was found of the rows that are marked, or of all."""
        concerned = {} if "which" in cells else {"n_concerned": self.n}
        return self.result(check, **{"outcome": "found", "phrase": check, "values": values} | concerned | cells)

    def without(self, which: BoolArray) -> float:
        """Return the accuracy without some of the rows; NaN where none would be left."""
        kept = self.credit[self.scored & ~which]
        return float(kept.mean()) if kept.size else np.nan

    @cached_property
    def choices(self) -> FloatArray | None:
        """Part of the choice that each option has, shape (rows, presentations, options); None for other methods."""
        return choices_of(self.scores)

    @cached_property
    def earned(self) -> Credits:
        return credits_of(self.scores)

    @cached_property
    def credit_by_presentation(self) -> FloatArray | None:
        """Credit of the correct option, shape (rows, presentations), NaN where not asked; None for other methods."""
        if self.choices is None:
            return None
        return self.choices[:, np.arange(len(self.layout.correct)), list(self.layout.correct)]

    @cached_property
    def credit(self) -> FloatArray:
        """Credit of each item by the definition of the method's paper; NaN where there is none, shape (rows,)."""
        pooled = self.earned.pooled if self.layout.accuracy == "pooled" else None
        return self.earned.averaged if pooled is None else pooled

    @cached_property
    def scored(self) -> BoolArray:
        return ~np.isnan(self.credit)

    @cached_property
    def asked(self) -> BoolArray:
        """Which rows are of a task and language of which the method has any score, shape (rows,)."""
        known = pd.Series(self.scored | ~np.isnan(self.scores.unparsed), self.table.frame.index)
        if not (kinds := [name for name in ("task", "language") if name in self.table.frame.columns]):
            return np.ones(len(known), dtype=np.bool_)
        of_kinds = known.groupby([self.table.frame[name] for name in kinds], dropna=False)
        return of_kinds.transform("any").to_numpy(dtype=np.bool_)

    @cached_property
    def n(self) -> int:
        """Rows with a credit."""
        return int(self.scored.sum())

    @cached_property
    def accuracy(self) -> float:
        """Mean credit, the headline; NaN without any."""
        return float(self.credit[self.scored].mean()) if self.n else np.nan


def audited(table: ScoredTable) -> Iterator[Audited]:
    """Yield each method that was asked of items of which one side is right."""
    used = table.rows(table.is_choice & table.has_truth)
    for scores in used.methods if len(used.frame) else ():
        if scores.applies.any() or not np.isnan(scores.unparsed).all():
            yield Audited(table=used, scores=scores)


def mean_share_p(values: FloatArray, *, about: float) -> float:
    """Return the two-sided p-value of a mean of items' shares being `about`: normal, with a pseudo-item either side.

    >>> round(mean_share_p(np.array([1.0] * 60 + [0.0] * 40), about=0.5), 3)
    0.046
    """
    from scipy.stats import norm

    deviation = values - about
    variance = (float((deviation**2).sum()) + 0.25) / (values.size + 1)
    return float(2 * norm.sf(abs(float(deviation.mean())) / np.sqrt(variance / values.size)))


def answer_checks(method: Audited) -> Iterator[dict[str, Any]]:
    yield no_answer(method)
    for check in (zero, chance, ties, constant, position):
        if method.n < LEAST_ITEMS:
            yield method.not_checked(check.__name__, "few_answers", n=method.n)
        else:
            yield check(method)


def no_answer(method: Audited) -> dict[str, Any]:
    """Items without a score or an answer: an accuracy is of the others, and lower if they count as wrong."""
    missing = ~method.scored & method.asked
    n, n_missing = int(method.asked.sum()), int(missing.sum())
    as_wrong = method.accuracy * method.n / n if method.n else 0.0
    if not n_missing or n_missing < LEAST_MISSING * n:
        return method.result("no_answer", n=n, without=as_wrong, which=missing)
    values = {
        "n_missing": n_missing,
        "n": n,
        "n_unparsed": int((np.nan_to_num(method.scores.unparsed) > 0).sum()),
        "n_cut": int(flagged(method.table.frame, method.layout.columns.flags, TRUNCATED).sum()),
        "accuracy": method.accuracy,
        "as_wrong": as_wrong,
    }
    return method.found("no_answer", values, which=missing, n=n, without=as_wrong)


def zero(method: Audited) -> dict[str, Any]:
    """An accuracy of exactly 0, or below chance: unread answers that count as wrong, or reversed labels."""
    credit = method.credit[method.scored]
    two_sided = mean_share_p(credit, about=CHANCE)
    p = two_sided / 2 if method.accuracy < CHANCE else 1 - two_sided / 2
    n_wrong = int((credit == 0).sum())
    if method.accuracy >= CHANCE - CHANCE_MARGIN:
        return method.result("zero", n_concerned=n_wrong, p=p)
    values = {"accuracy": method.accuracy, "is_zero": n_wrong == credit.size}
    return method.found("zero", values, which=method.credit == 0, p=p)


def chance(method: Audited) -> dict[str, Any]:
    """An accuracy that is shown to be within 0.05 of 0.50; one that may be, or may not, cannot be told."""
    from scipy.stats import norm

    credit = method.credit[method.scored]
    error = np.sqrt((float(((credit - CHANCE) ** 2).sum()) + 0.25) / (method.n + 1) / method.n)
    p = float(norm.sf((CHANCE_MARGIN - abs(method.accuracy - CHANCE)) / error))
    interval = share_of_items(credit)
    is_near = abs(method.accuracy - CHANCE) < CHANCE_MARGIN  # a finding if the test holds after the correction, too
    values = {"accuracy": method.accuracy, "low": interval.low, "high": interval.high, "is_near": is_near}
    if is_near:
        return method.found("chance", values, p=p)
    if interval.low <= CHANCE <= interval.high:
        return method.result("chance", outcome="inconclusive", phrase="chance", values=values, p=p)
    return method.result("chance", p=p)


def ties(method: Audited) -> dict[str, Any]:
    """Items on which neither side is preferred: they count one half, nothing, or are left out."""
    delta = method.scores.delta_nats[method.scored & ~np.isnan(method.scores.delta_nats)]
    tied = is_tie(method.scores.delta_nats)
    n_tied = int(tied.sum())
    if not delta.size or n_tied < LEAST_TIES * delta.size:
        return method.result("ties", n_concerned=n_tied)
    decided = delta[~is_tie(delta)]
    right, without = float((delta > 0).mean()), float((decided > 0).mean()) if decided.size else np.nan
    half = right + n_tied / delta.size / 2
    values = {"n_tied": n_tied, "n": delta.size, "half": half, "right": right, "without": without}
    return method.found("ties", values, which=tied, n=delta.size, without=without)


def constant(method: Audited) -> dict[str, Any]:
    """One same answer to everything: the option shown first, `no`, or one rating."""
    layout = method.layout
    share, values = 0.0, dict[str, Any]()
    if layout.kind == "rating" and layout.has_logprobs:
        ratings = method.scores.argmax[~np.isnan(method.scores.argmax).any(axis=1)]
        if ratings.size:
            levels, counts = np.unique(ratings, return_counts=True)
            share, values = float(counts.max() / counts.sum()), {"rating": float(levels[counts.argmax()])}
    elif method.choices is None:
        return method.not_checked("constant", "compares_numbers")
    elif layout.orders == "unknown":
        return method.not_checked("constant", "unknown_order")
    elif layout.asked == "one" and not _both_orders(method):
        return method.not_checked("constant", "one_order")
    else:
        asked = method.choices[~np.isnan(method.choices).any(axis=2)]
        shares = asked.mean(axis=0)
        share = float(shares.max())
        values = {"option": layout.options[int(shares.argmax())], "n": len(asked)}
    return method.result("constant") if share < CONSTANT else method.found("constant", values | {"share": share})


def position(method: Audited) -> dict[str, Any]:
    """The option shown first (or yes) is chosen far more or less often than half of the time."""
    credit, layout = method.credit_by_presentation, method.layout
    if method.choices is None:
        return method.not_checked("position", "shows_neither_first")
    if credit is None or layout.orders == "unknown" or not _both_orders(method):
        return method.not_checked("position", "unknown_or_one_order")
    first = method.choices[:, np.arange(len(layout.correct)), list(layout.shown_first)]
    by_item = mean_of_known(first)[method.scored]
    share = float(np.nanmean(first))
    correct_first = np.array(layout.correct) == np.array(layout.shown_first)
    where_first, where_second = (float(np.nanmean(credit[:, which])) for which in (correct_first, ~correct_first))
    p = mean_share_p(by_item[~np.isnan(by_item)], about=CHANCE)
    both = layout.asked == "all" and layout.has_logprobs
    without = float(np.nanmean(method.earned.averaged)) if both else (where_first + where_second) / 2
    if abs(share - CHANCE) < LEAST_EFFECT:
        return method.result("position", without=without, p=p)
    values: dict[str, Any] = {"share": share, "first": where_first, "second": where_second}
    values |= {"judged": layout.kind == "judgment", "option": layout.options[0]}
    return method.found("position", values, without=without, p=p)


def _both_orders(method: Audited) -> bool:
    """Return whether the better side is shown first in some questions and second in others."""
    if method.credit_by_presentation is None:
        return False
    correct_first = np.array(method.layout.correct) == np.array(method.layout.shown_first)
    asked = ~np.isnan(method.credit_by_presentation)
    return bool(asked[:, correct_first].any() and asked[:, ~correct_first].any())


def constant_scores(method: Audited) -> dict[str, Any]:
    """One number again and again, or log-probabilities of 0 (a probability of 1) and above."""
    layout = method.layout
    if layout.has_decisions or layout.readout == "generation":
        return method.not_checked("scores", "answers_alone")
    if layout.has_logprobs:
        sides = method.scores.logprobs_nats.reshape(len(method.credit), -1)
    else:
        sides = np.column_stack([method.table.side(layout.method, side) for side in ("good", "bad")])
    scores = sides[~np.isnan(sides)]
    if not scores.size:
        return method.not_checked("scores", "answers_alone")
    if scores.size < LEAST_ITEMS:
        return method.not_checked("scores", "few_scores", n=scores.size)
    distinct, counts = np.unique(np.round(scores, 9), return_counts=True)
    share, most = float(counts.max() / scores.size), float(distinct[counts.argmax()])
    is_logprob = not layout.unit and (layout.has_logprobs or layout.method in (DIRECT, DIRECT_WB))
    impossible = float((scores >= -TIE).mean()) if is_logprob else 0.0
    is_same = share >= SAME
    if not is_same and impossible < IMPOSSIBLE:
        return method.result("scores")
    which = np.asarray((np.abs(sides - most) <= TIE if is_same else sides >= -TIE).any(axis=1))
    values = {"score": most, "share": share if is_same else impossible, "n": scores.size}
    concerned = {"n_concerned": int((which & method.scored).sum()), "without": method.without(which)}
    phrase = "same_score" if is_same else "impossible_score"
    return method.found("scores", values, which=which, phrase=phrase, **concerned)


def copies(methods: Sequence[Audited]) -> Iterator[dict[str, Any]]:
    """Yield which models have the scores of another on all items that both have, corpus by corpus, method by method."""
    by_method: dict[tuple[str, str], list[Audited]] = {}
    for method in methods:
        by_method.setdefault((method.table.corpus, method.layout.method), []).append(method)
    for (corpus, name), models in by_method.items():
        if len(models) < 2:
            yield result("copies", corpus, method=name, outcome="not checked", phrase="one_model")
            continue
        of_models = [(model.table, model.scores.delta_nats) for model in models]
        deltas = {table.model: pd.Series(delta, table.item_ids) for table, delta in of_models}
        copied: dict[str, str] = {}
        for a, b in itertools.combinations(deltas, 2):
            if b not in copied and _equal(*(x.to_numpy() for x in deltas[a].align(deltas[b]))):
                copied[b] = a
        accuracies = pd.Series({model.table.model: model.accuracy for model in models})
        means = {"with_copies": accuracies.mean(), "without_copies": accuracies.drop([*copied]).mean()}
        for model in models:
            of = copied.get(model.table.model)
            yield model.found("copies", {"of": of} | means) if of else model.result("copies")


def _equal(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two models have the same scores, on enough items that it cannot be chance."""
    both = ~np.isnan(a + b)
    x, y = a[both], b[both]
    if not x.size or not is_tie(x - y).all():
        return False
    values, counts = np.unique(np.round(x, 9), return_counts=True)
    if values.size > FEW_VALUES:
        return x.size >= LEAST_COPIED
    return int(x.size - counts.max()) >= LEAST_COPIED_ANSWERS
