"""Checks of scores: none, at chance, constant, position bias, ties; impossible, and copied from another model.

In: `Audited` methods; out: `CheckResult`, a row for each check.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pairbank.scoring.api.names import DIRECT, DIRECT_WB, TIE, TRUNCATED
from pairbank.stats.analyses.form import Words
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.shares import is_tie, share_of_items, signs
from pairbank.stats.scored_table.method_scores import choices_of, flagged
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.stats.scored_table.method_scores import MethodScores
    from pairbank.stats.scored_table.scored_table import ScoredTable

Outcome = Literal["found", "clean", "inconclusive", "not checked"]
LEAST_ITEMS = 20
"""Items below which nothing is said of a method's choices."""
LEAST_EFFECT = 0.1
"""Biases smaller than this are not told, however sure: of the share of first options, or of accuracy by length."""
MOST_IDS = 5
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of one method of one model on one corpus (or of a corpus), and what came of it."""

    check: str
    corpus: str
    method: str = ""
    """Empty where the check is of items."""
    model: str = ""
    outcome: Outcome = "clean"
    phrase: str = ""
    """Macro of the template: what was found, or why nothing could be; it goes on after the model's name."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the macro reads."""
    n: int = 0
    """Items looked at."""
    n_concerned: int = 0
    """Items that show the fault."""
    headline: float = np.nan
    """The accuracy as it is reported (or, of a corpus, of a rule that needs no model)."""
    without: float = np.nan
    """The same without what was found; NaN where nothing would be left."""
    p: float = np.nan
    """Of the test behind it, where there is one; corrected later for all tests of the audit."""
    items: tuple[str, ...] = ()
    """Some of the items concerned."""

    @property
    def said(self) -> str:
        """The phrase in words."""
        return _words().render(self.phrase, self.values) if self.phrase else ""


@functools.cache
def _words() -> Words:
    return Words(
        Path(__file__).with_name("audit.md.j2"),
        {"share": share_text, "listed": listed, "quoted": repr, "least": LEAST_ITEMS},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Audited:
    """One method of one model on one corpus: the rows of which one side is right and which are a choice."""

    table: ScoredTable
    """Those rows."""
    scores: MethodScores
    """Of those rows."""

    @property
    def layout(self) -> MethodLayout:
        """The method's."""
        return self.scores.layout

    def result(self, check: str, **values: Any) -> CheckResult:  # noqa: ANN401 - as CheckResult takes them
        """Return what came of a check; without further values, that nothing was found."""
        place = {"corpus": self.table.corpus, "method": self.layout.method, "model": self.table.model}
        known: dict[str, Any] = {"check": check, "n": self.n, "headline": self.accuracy} | place | values
        return CheckResult(**known)

    def not_checked(self, check: str, phrase: str, **values: object) -> CheckResult:
        """Return that a check was not possible, and why."""
        return self.result(check, outcome="not checked", phrase=phrase, values=values)

    def without(self, which: BoolArray) -> float:
        """Return the accuracy without some of the rows; NaN where none would be left."""
        kept = self.credit[self.scored & ~which]
        return float(kept.mean()) if kept.size else np.nan

    def among(self, ids: set[str]) -> BoolArray:
        """Return which rows are of some items."""
        return np.asarray(self.table.frame["item_id"].isin(ids), dtype=np.bool_)

    @cached_property
    def choices(self) -> FloatArray | None:
        """Part of the choice that each option has, shape (rows, presentations, options); None for other methods."""
        return choices_of(self.scores)

    @cached_property
    def credit_averaged(self) -> FloatArray:
        """1 right, 0 wrong, one half a tie of the difference, NaN without one, shape (rows,)."""
        return (signs(self.scores.delta_nats) + 1) / 2

    @cached_property
    def credit_by_presentation(self) -> FloatArray | None:
        """Credit of the correct option, shape (rows, presentations), NaN where not asked; None for other methods."""
        if self.choices is None:
            return None
        return self.choices[:, np.arange(len(self.layout.correct)), list(self.layout.correct)]

    @cached_property
    def credit(self) -> FloatArray:
        """Credit of each item by the definition of the method's paper; NaN where there is none, shape (rows,)."""
        if self.layout.accuracy == "pooled" and self.credit_by_presentation is not None:
            return mean_of_known(self.credit_by_presentation)
        return self.credit_averaged

    @cached_property
    def scored(self) -> BoolArray:
        """Which rows have a credit."""
        return ~np.isnan(self.credit)

    @cached_property
    def asked(self) -> BoolArray:
        """Which rows are of a task and language of which the method has any score, shape (rows,)."""
        kinds = [name for name in ("task", "language") if name in self.table.frame.columns]
        known = self.scored | ~np.isnan(self.scores.unparsed)
        if not kinds:
            return np.ones_like(known)
        codes = self.table.frame.groupby(kinds, dropna=False, sort=False).ngroup().to_numpy()
        return np.isin(codes, np.unique(codes[known]))

    @cached_property
    def n(self) -> int:
        """Rows with a credit."""
        return int(self.scored.sum())

    @cached_property
    def accuracy(self) -> float:
        """Mean credit, the headline; NaN without any."""
        return float(self.credit[self.scored].mean()) if self.n else np.nan

    def some(self, which: BoolArray) -> tuple[str, ...]:
        """Return the ids of some of the rows that are marked."""
        return tuple(self.table.frame["item_id"].iloc[np.flatnonzero(which)[:MOST_IDS]])


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


def share_text(value: float) -> str:
    """Return a share with three digits.

    >>> share_text(0.5), share_text(1.0), share_text(float("nan"))
    ('0.500', '1.000', 'none')
    """
    return "none" if np.isnan(value) else number(value, digits=3)


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """Return names in a phrase, of many the first ones.

    >>> listed(["a", "b"]), listed(list("abcdef"))
    ('`a`, `b`', '`a`, `b`, `c`, `d` and 2 more')
    """
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def answer_checks(entry: Audited) -> Iterator[CheckResult]:
    """Yield what was found of a method's answers."""
    yield no_answer(entry)
    for check in (zero, chance, ties, constant, position):
        if entry.n < LEAST_ITEMS:
            yield entry.not_checked(check.__name__, "few_answers", n=entry.n)
        else:
            yield check(entry)


def no_answer(entry: Audited) -> CheckResult:
    """Items without a score or an answer: an accuracy is of the others, and lower if they count as wrong."""
    missing = ~entry.scored & entry.asked
    n, n_missing = int(entry.asked.sum()), int(missing.sum())
    as_wrong = entry.accuracy * entry.n / n if entry.n else 0.0
    found: dict[str, Any] = {}
    if n_missing >= LEAST_MISSING * n and n_missing > 0:
        n_unparsed = int((np.nan_to_num(entry.scores.unparsed) > 0).sum())
        n_cut = int(flagged(entry.table.frame, entry.layout.columns.flags, TRUNCATED).sum())
        values: dict[str, Any] = {"n_missing": n_missing, "n": n, "n_unparsed": n_unparsed, "n_cut": n_cut}
        values |= {"accuracy": entry.accuracy, "as_wrong": as_wrong}
        found = {"outcome": "found", "phrase": "no_answer", "values": values}
    items = entry.some(missing)
    return entry.result("no_answer", n=n, n_concerned=n_missing, without=as_wrong, items=items, **found)


def zero(entry: Audited) -> CheckResult:
    """An accuracy of exactly 0, or below chance: unread answers that count as wrong, or reversed labels."""
    credit = entry.credit[entry.scored]
    two_sided = mean_share_p(credit, about=CHANCE)
    p = two_sided / 2 if entry.accuracy < CHANCE else 1 - two_sided / 2
    n_wrong = int((credit == 0).sum())
    if entry.accuracy >= CHANCE - CHANCE_MARGIN:
        return entry.result("zero", n_concerned=n_wrong, p=p)
    values = {"accuracy": entry.accuracy, "is_zero": n_wrong == credit.size}
    wrong = entry.some(entry.credit == 0)
    return entry.result("zero", outcome="found", phrase="zero", values=values, n_concerned=n_wrong, p=p, items=wrong)


def chance(entry: Audited) -> CheckResult:
    """An accuracy that is shown to be within 0.05 of 0.50; one that may be, or may not, cannot be told."""
    from scipy.stats import norm

    credit = entry.credit[entry.scored]
    error = np.sqrt((float(((credit - CHANCE) ** 2).sum()) + 0.25) / (entry.n + 1) / entry.n)
    p = float(norm.sf((CHANCE_MARGIN - abs(entry.accuracy - CHANCE)) / error))
    interval = share_of_items(credit)
    is_near = abs(entry.accuracy - CHANCE) < CHANCE_MARGIN  # a finding if the test holds after the correction, too
    if not is_near and not interval.low <= CHANCE <= interval.high:
        return entry.result("chance", p=p)
    values = {"accuracy": entry.accuracy, "low": interval.low, "high": interval.high, "is_near": is_near}
    outcome: Outcome = "found" if is_near else "inconclusive"
    n = entry.n if is_near else 0
    return entry.result("chance", outcome=outcome, phrase="chance", values=values, n_concerned=n, p=p)


def ties(entry: Audited) -> CheckResult:
    """Items on which neither side is preferred: they count one half, nothing, or are left out."""
    delta = entry.scores.delta_nats[entry.scored & ~np.isnan(entry.scores.delta_nats)]
    tied = is_tie(entry.scores.delta_nats)
    n_tied = int(tied.sum())
    if not delta.size or n_tied < LEAST_TIES * delta.size:
        return entry.result("ties", n_concerned=n_tied)
    decided = delta[~is_tie(delta)]
    without = float((decided > 0).mean()) if decided.size else np.nan
    right = float((delta > 0).mean())
    values: dict[str, Any] = {
        "n_tied": n_tied,
        "n": delta.size,
        "half": right + n_tied / delta.size / 2,
        "right": right,
    }
    return entry.result(
        "ties",
        outcome="found",
        phrase="ties",
        values=values | {"without": without},
        n=delta.size,
        n_concerned=n_tied,
        without=without,
        items=entry.some(tied),
    )


def constant(entry: Audited) -> CheckResult:
    """One same answer to everything: the option shown first, `no`, or one rating."""
    layout = entry.layout
    share, values = 0.0, dict[str, Any]()
    if layout.kind == "rating" and layout.has_logprobs:
        ratings = entry.scores.argmax[~np.isnan(entry.scores.argmax).any(axis=1)]
        if ratings.size:
            levels, counts = np.unique(ratings, return_counts=True)
            share, values = float(counts.max() / counts.sum()), {"rating": float(levels[counts.argmax()])}
    elif entry.choices is None:
        return entry.not_checked("constant", "compares_numbers")
    elif layout.orders == "unknown":
        return entry.not_checked("constant", "unknown_order")
    else:
        requested = entry.choices[~np.isnan(entry.choices).any(axis=2)]
        shares = requested.mean(axis=0)
        share = float(shares.max())
        values = {"option": layout.options[int(shares.argmax())], "n": len(requested)}
        if layout.asked == "one" and not _both_orders(entry):
            return entry.not_checked("constant", "one_order")
    if share < CONSTANT:
        return entry.result("constant")
    values["share"] = share
    return entry.result("constant", outcome="found", phrase="constant", values=values, n_concerned=entry.n)


def position(entry: Audited) -> CheckResult:
    """The option shown first (or yes) is chosen far more or less often than half of the time."""
    credit, layout = entry.credit_by_presentation, entry.layout
    if entry.choices is None:
        return entry.not_checked("position", "shows_neither_first")
    if credit is None or layout.orders == "unknown" or not _both_orders(entry):
        return entry.not_checked("position", "unknown_or_one_order")
    first = entry.choices[:, np.arange(len(layout.correct)), list(layout.shown_first)]
    by_item = mean_of_known(first)[entry.scored]
    share = float(np.nanmean(first))
    correct_first = np.array(layout.correct) == np.array(layout.shown_first)
    where_first, where_second = (float(np.nanmean(credit[:, which])) for which in (correct_first, ~correct_first))
    p = mean_share_p(by_item[~np.isnan(by_item)], about=CHANCE)
    both = layout.asked == "all" and layout.has_logprobs
    without = float(np.nanmean(entry.credit_averaged)) if both else (where_first + where_second) / 2
    if abs(share - CHANCE) < LEAST_EFFECT:
        return entry.result("position", without=without, p=p)
    values: dict[str, Any] = {"share": share, "first": where_first, "second": where_second}
    values |= {"judged": layout.kind == "judgment", "option": layout.options[0]}
    found = {"outcome": "found", "phrase": "position", "values": values, "n_concerned": entry.n}
    return entry.result("position", without=without, p=p, **found)


def _both_orders(entry: Audited) -> bool:
    """Return whether the better side is shown first in some questions and second in others."""
    credit = entry.credit_by_presentation
    if credit is None:
        return False
    correct_first = np.array(entry.layout.correct) == np.array(entry.layout.shown_first)
    requested = ~np.isnan(credit)
    return bool(requested[:, correct_first].any() and requested[:, ~correct_first].any())


def constant_scores(entry: Audited) -> CheckResult:
    """One number again and again, or log-probabilities of 0 (a probability of 1) and above."""
    scores = _values(entry)
    if scores is None:
        return entry.not_checked("scores", "answers_alone")
    if scores.size < LEAST_ITEMS:
        return entry.not_checked("scores", "few_scores", n=scores.size)
    distinct, counts = np.unique(np.round(scores, 9), return_counts=True)
    share, most = float(counts.max() / scores.size), float(distinct[counts.argmax()])
    is_logprob = not entry.layout.unit and (entry.layout.has_logprobs or entry.layout.method in (DIRECT, DIRECT_WB))
    impossible = float((scores >= -TIE).mean()) if is_logprob else 0.0
    if share < SAME and impossible < IMPOSSIBLE:
        return entry.result("scores")
    same = _at_fault(entry, most if share >= SAME else None)
    values = {"score": most, "share": share if share >= SAME else impossible, "n": scores.size}
    return entry.result(
        "scores",
        outcome="found",
        phrase="same_score" if share >= SAME else "impossible_score",
        values=values,
        n_concerned=int((same & entry.scored).sum()),
        without=entry.without(same),
        items=entry.some(same),
    )


def _sides(entry: Audited) -> FloatArray:
    """Return all scores of each row, shape (rows, scores)."""
    if entry.layout.has_logprobs:
        return entry.scores.logprobs_nats.reshape(len(entry.credit), -1)
    method = entry.layout.method
    return np.column_stack([entry.table.side(method, "good"), entry.table.side(method, "bad")])


def _values(entry: Audited) -> FloatArray | None:
    """Return the scores that a method has, without NaN; None where it has decisions, or differences alone."""
    if entry.layout.has_decisions or entry.layout.readout == "generation":
        return None
    values = _sides(entry)
    return values[~np.isnan(values)] if not np.isnan(values).all() else None


def _at_fault(entry: Audited, most: float | None) -> np.ndarray:
    values = _sides(entry)
    same = np.abs(values - most) <= TIE if most is not None else values >= -TIE
    return np.asarray(same.any(axis=1))


def copies(methods: Sequence[Audited]) -> Iterator[CheckResult]:
    """Yield which models have the scores of another on all items that both have, corpus by corpus, method by method."""
    keyed: dict[tuple[str, str], list[Audited]] = {}
    for entry in methods:
        keyed.setdefault((entry.table.corpus, entry.layout.method), []).append(entry)
    for (corpus, method), same in keyed.items():
        if len(same) < 2:
            yield CheckResult(check="copies", corpus=corpus, method=method, outcome="not checked", phrase="one_model")
            continue
        yield from _copied(same)


def _copied(same: Sequence[Audited]) -> Iterator[CheckResult]:
    deltas = _side_by_side(same)
    copied: dict[str, str] = {}
    for a, b in itertools.combinations(range(len(same)), 2):
        if same[b].table.model not in copied and _equal(deltas[a], deltas[b]):
            copied[same[b].table.model] = same[a].table.model
    means = {
        "with_copies": float(np.nanmean([run.accuracy for run in same])),
        "without_copies": float(np.nanmean([run.accuracy for run in same if run.table.model not in copied])),
    }
    for run in same:
        of = copied.get(run.table.model)
        if of is None:
            yield run.result("copies")
        else:
            values: dict[str, Any] = {"of": of} | means
            yield run.result("copies", outcome="found", phrase="copies", values=values, n_concerned=run.n)


def _side_by_side(same: Sequence[Audited]) -> FloatArray:
    """Return differences of all models on the items of any of them, shape (models, items)."""
    ids = [np.array(member.table.item_ids, dtype=object) for member in same]
    union, places = np.unique(np.concatenate(ids), return_inverse=True)
    result = np.full((len(same), union.size), np.nan)
    starts = np.cumsum([0, *(len(x) for x in ids)])
    for nth, entry in enumerate(same):
        result[nth, places[starts[nth] : starts[nth + 1]]] = entry.scores.delta_nats
    return result


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
