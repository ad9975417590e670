"""Checks of scores: none, at chance, constant, position bias, ties; impossible, and copied from another model.

In: `Audited` methods; out: `Looked`, a row for each check.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pairbank.scoring.api.names import DIRECT, DIRECT_WB, TIE, TRUNCATED
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.shares import is_tie, share_of_items, signs
from pairbank.stats.scored_table.method_scores import choices_of, flagged
from pairbank.stats.wording import number, percent

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One check of one method of one model on one corpus (or of a corpus), and what came of it."""

    check: str
    corpus: str
    method: str = ""
    """Empty where the check is of items."""
    model: str = ""
    outcome: Outcome = "clean"
    said: str = ""
    """What was found, or why nothing could be; a phrase that goes on after the model's name."""
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

    @property
    def place(self) -> dict[str, Any]:
        """Corpus, method and model, as `Looked` has them."""
        return {"corpus": self.table.corpus, "method": self.layout.method, "model": self.table.model}

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


def share_said(value: float) -> str:
    """Return a share with three digits.

    >>> share_said(0.5), share_said(1.0), share_said(float("nan"))
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


CHANCE = 0.5
CHANCE_MARGIN = 0.05
"""An accuracy that is shown to lie closer to .5 than this is at chance."""
LEAST_MISSING, LEAST_TIES, CONSTANT = 0.01, 0.05, 0.99
"""Shares of items without an answer, and with a tie, that are told; and of one same answer, that is called constant."""


def answer_checks(one: Audited) -> Iterator[Looked]:
    """Yield what was found of a method's answers."""
    yield no_answer(one)
    checks: tuple[Callable[[Audited], Looked], ...] = (zero, chance, ties, constant, position)
    names = ("zero", "chance", "ties", "constant", "position")
    for name, check in zip(names, checks, strict=True):
        if one.n < LEAST_ITEMS:
            reason = f"{one.n:,} items with an answer; it takes {LEAST_ITEMS}"
            yield Looked(check=name, outcome="not checked", said=reason, n=one.n, **one.place)
        else:
            yield check(one)


def no_answer(one: Audited) -> Looked:
    """Items without a score or an answer: an accuracy is of the others, and lower if they count as wrong."""
    missing = ~one.scored & one.asked
    n, n_missing = int(one.asked.sum()), int(missing.sum())
    as_wrong = one.accuracy * one.n / n if one.n else 0.0
    unparsed = int((np.nan_to_num(one.scores.unparsed) > 0).sum())
    found = n_missing >= LEAST_MISSING * n and n_missing > 0
    of_which = f", of {unparsed:,} because no answer was found in what was written" if unparsed else ""
    if cut := int(flagged(one.table.frame, one.layout.columns.flags, TRUNCATED).sum()):
        of_which += f" ({cut:,} cut before the model had finished thinking: raise --thinking-tokens)"
    said = (
        f"has no score on {n_missing:,} of {n:,} items{of_which}: {share_said(one.accuracy)} right of the others, "
        f"{share_said(as_wrong)} if they count as wrong"
    )
    return Looked(
        check="no_answer", outcome="found" if found else "clean", said=said if found else "", n=n,
        n_concerned=n_missing, headline=one.accuracy, without=as_wrong, items=one.some(missing), **one.place,
    )  # fmt: skip


def zero(one: Audited) -> Looked:
    """An accuracy of exactly 0, or below chance: unread answers that count as wrong, or reversed labels."""
    credit = one.credit[one.scored]
    exact = bool((credit == 0).all())
    two_sided = mean_share_p(credit, about=CHANCE)
    p = two_sided / 2 if one.accuracy < CHANCE else 1 - two_sided / 2
    below = one.accuracy < CHANCE - CHANCE_MARGIN
    beyond = 1 - 2 * one.accuracy
    said = f"is right in {share_said(one.accuracy)}, which is below chance" if not exact else "is right in exactly 0"
    said += (
        f": guessing would be right in 0.50, so that on {percent(beyond)} of the items or more it did not choose at all"
    )
    said += ", or chose the wrong side on purpose"
    return Looked(
        check="zero", outcome="found" if below else "clean", said=said if below else "", n=one.n,
        n_concerned=int((credit == 0).sum()), headline=one.accuracy, p=p,
        items=one.some(one.credit == 0) if below else (), **one.place,
    )  # fmt: skip


def chance(one: Audited) -> Looked:
    """An accuracy that is shown to be within 0.05 of 0.50; one that may be, or may not, cannot be told."""
    from scipy.stats import norm

    credit = one.credit[one.scored]
    error = np.sqrt((float(((credit - CHANCE) ** 2).sum()) + 0.25) / (one.n + 1) / one.n)
    p = float(norm.sf((CHANCE_MARGIN - abs(one.accuracy - CHANCE)) / error))
    interval = share_of_items(credit)
    outcome: Outcome
    low, high = interval.low, interval.high
    if abs(one.accuracy - CHANCE) < CHANCE_MARGIN:
        outcome, said = (
            "found",
            f"is right in {share_said(one.accuracy)} [{share_said(low)}, {share_said(high)}], no more than guessing",
        )
    else:
        outcome, said = "clean", ""
    if low <= CHANCE <= high:  # becomes `found` only if the test holds after the correction
        said = said or f"is right in {share_said(one.accuracy)} [{share_said(low)}, {share_said(high)}]"
        outcome = "found" if outcome == "found" else "inconclusive"
    return Looked(
        check="chance", outcome=outcome, said=said, n=one.n, n_concerned=one.n if outcome == "found" else 0,
        headline=one.accuracy, p=p, **one.place,
    )  # fmt: skip


def ties(one: Audited) -> Looked:
    """Items on which neither side is preferred: they count one half, nothing, or are left out."""
    delta = one.scores.delta_nats[one.scored & ~np.isnan(one.scores.delta_nats)]
    tied = is_tie(one.scores.delta_nats)
    n_tied = int(tied.sum())
    if not delta.size or n_tied < LEAST_TIES * delta.size:
        return Looked(check="ties", n=one.n, n_concerned=n_tied, headline=one.accuracy, **one.place)
    decided = delta[~is_tie(delta)]
    without = float((decided > 0).mean()) if decided.size else np.nan
    right = float((delta > 0).mean())
    half = share_said(right + n_tied / delta.size / 2)
    said = (
        f"prefers neither side on {n_tied:,} of {delta.size:,} items: right in {half} "
        f"if these count one half, {share_said(right)} if they are wrong, {share_said(without)} of the others"
    )
    return Looked(
        check="ties", outcome="found", said=said, n=delta.size, n_concerned=n_tied, headline=one.accuracy,
        without=without, items=one.some(tied), **one.place,
    )  # fmt: skip


def constant(one: Audited) -> Looked:
    """One same answer to everything: the option shown first, `no`, or one rating."""
    place, layout = one.place, one.layout
    if layout.kind == "rating" and layout.has_logprobs:
        ratings = one.scores.argmax[~np.isnan(one.scores.argmax).any(axis=1)]
        values, counts = np.unique(ratings, return_counts=True)
        share = float(counts.max() / counts.sum()) if counts.size else 0.0
        what = (
            f"rates {values[counts.argmax()]:g} in {percent(share, digits=1)} of its most probable ratings"
            if counts.size
            else ""
        )
    elif one.choices is None or layout.orders == "unknown":
        why = "which side was shown first is not known" if one.choices is not None else "it compares two numbers"
        return Looked(check="constant", outcome="not checked", said=why, n=one.n, headline=one.accuracy, **place)
    else:
        asked = one.choices[~np.isnan(one.choices).any(axis=2)]
        shares = asked.mean(axis=0)
        share = float(shares.max())
        option = layout.options[int(shares.argmax())]
        what = f"answers {option!r} in {percent(share, digits=1)} of {len(asked):,} questions"
        if layout.asked == "one" and not _both_orders(one):
            why = "the same side is always shown first, so that a constant answer may be a right one"
            return Looked(check="constant", outcome="not checked", said=why, n=one.n, headline=one.accuracy, **place)
    outcome: Outcome = "found" if share >= CONSTANT else "clean"
    said = f"{what}: it does not choose" if outcome == "found" else ""
    concerned = one.n if outcome == "found" else 0
    return Looked(
        check="constant", outcome=outcome, said=said, n=one.n, n_concerned=concerned, headline=one.accuracy, **place
    )


def position(one: Audited) -> Looked:
    """The option shown first (or yes) is chosen far more or less often than half of the time."""
    credit = one.credit_by_presentation
    if credit is None or one.choices is None or one.layout.orders == "unknown" or not _both_orders(one):
        why = (
            "it compares two numbers and shows neither first" if one.choices is None
            else "which side was shown first is not known, or is the same one always"
        )  # fmt: skip
        return Looked(check="position", outcome="not checked", said=why, n=one.n, headline=one.accuracy, **one.place)
    first = one.choices[:, np.arange(len(one.layout.correct)), list(one.layout.shown_first)]
    by_item = mean_of_known(first)[one.scored]
    share = float(np.nanmean(first))
    correct_first = np.array(one.layout.correct) == np.array(one.layout.shown_first)
    where_first, where_second = (float(np.nanmean(credit[:, which])) for which in (correct_first, ~correct_first))
    p = mean_share_p(by_item[~np.isnan(by_item)], about=CHANCE)
    biased = abs(share - CHANCE) >= LEAST_EFFECT
    judged = one.layout.kind == "judgment"
    what = f"says {one.layout.options[0]!r}" if judged else "takes the option shown first"
    where = "of good sentences, {} of bad ones" if judged else "where the better side is shown first, {} where second"
    said = f"{what} in {share_said(share)}: right in {share_said(where_first)} {where.format(share_said(where_second))}"
    both = one.layout.asked == "all" and one.layout.has_logprobs
    without = float(np.nanmean(one.credit_averaged)) if both else (where_first + where_second) / 2
    return Looked(
        check="position", outcome="found" if biased else "clean", said=said if biased else "", n=one.n,
        n_concerned=one.n if biased else 0, headline=one.accuracy, without=without, p=p, **one.place,
    )  # fmt: skip


def _both_orders(one: Audited) -> bool:
    """Return whether the better side is shown first in some questions and second in others."""
    credit = one.credit_by_presentation
    if credit is None:
        return False
    correct_first = np.array(one.layout.correct) == np.array(one.layout.shown_first)
    asked = ~np.isnan(credit)
    return bool(asked[:, correct_first].any() and asked[:, ~correct_first].any())


SAME, IMPOSSIBLE = 0.2, 0.01
"""Share of scores that are one same number, and of log-probabilities of 0 or more, that is told."""
FEW_VALUES, LEAST_COPIED, LEAST_COPIED_ANSWERS = 10, 5, 30
"""A method with no more values than this gives answers. Equal scores on so many items are copies; of answers it takes
so many of the rarer one, for two good models are right on the same items by chance."""


def constant_scores(one: Audited) -> Looked:
    """One number again and again, or log-probabilities of 0 (a probability of 1) and above."""
    values = _values(one)
    if values is None or values.size < LEAST_ITEMS:
        why = "only its answers are known" if values is None else f"{values.size:,} scores; it takes {LEAST_ITEMS}"
        return Looked(check="scores", outcome="not checked", said=why, n=one.n, headline=one.accuracy, **one.place)
    distinct, counts = np.unique(np.round(values, 9), return_counts=True)
    share, most = float(counts.max() / values.size), float(distinct[counts.argmax()])
    is_logprob = not one.layout.unit and (one.layout.has_logprobs or one.layout.method in (DIRECT, DIRECT_WB))
    impossible = float((values >= -TIE).mean()) if is_logprob else 0.0
    if share >= SAME:
        said = f"has the score {most:g} in {percent(share)} of {values.size:,} places"
    elif impossible >= IMPOSSIBLE:
        said = f"has log-probabilities of 0 or more, as none can be, in {percent(impossible)} of {values.size:,} places"
    else:
        return Looked(check="scores", n=one.n, headline=one.accuracy, **one.place)
    same = _at_fault(one, most if share >= SAME else None)
    kept = one.credit[one.scored & ~same]
    without = float(kept.mean()) if kept.size else np.nan
    return Looked(
        check="scores", outcome="found", said=said, n=one.n, n_concerned=int((same & one.scored).sum()),
        headline=one.accuracy, without=without, items=one.some(same), **one.place,
    )  # fmt: skip


def _sides(one: Audited) -> FloatArray:
    """Return all scores of each row, shape (rows, scores)."""
    if one.layout.has_logprobs:
        return one.scores.logprobs_nats.reshape(len(one.credit), -1)
    method = one.layout.method
    return np.column_stack([one.table.side(method, "good"), one.table.side(method, "bad")])


def _values(one: Audited) -> FloatArray | None:
    """Return the scores that a method has, without NaN; None where it has decisions, or differences alone."""
    if one.layout.has_decisions or one.layout.readout == "generation":
        return None
    values = _sides(one)
    return values[~np.isnan(values)] if not np.isnan(values).all() else None


def _at_fault(one: Audited, most: float | None) -> np.ndarray:
    values = _sides(one)
    same = np.abs(values - most) <= TIE if most is not None else values >= -TIE
    return np.asarray(same.any(axis=1))


def copies(methods: Sequence[Audited]) -> Iterator[Looked]:
    """Yield which models have the scores of another on all items that both have, corpus by corpus, method by method.

    Args:
        methods: Of all models.
    """
    keyed: dict[tuple[str, str], list[Audited]] = {}
    for one in methods:
        keyed.setdefault((one.table.corpus, one.layout.method), []).append(one)
    for (corpus, method), same in keyed.items():
        if len(same) < 2:
            yield Looked(
                check="copies", corpus=corpus, method=method, outcome="not checked", said="there is one model only"
            )
            continue
        yield from _copied(corpus, method, same)


def _copied(corpus: str, method: str, same: Sequence[Audited]) -> Iterator[Looked]:
    deltas = _side_by_side(same)
    copied: dict[str, str] = {}
    for a, b in itertools.combinations(range(len(same)), 2):
        if same[b].table.model not in copied and _equal(deltas[a], deltas[b]):
            copied[same[b].table.model] = same[a].table.model
    place: dict[str, Any] = {"corpus": corpus, "method": method}
    every = np.array([one.accuracy for one in same])
    kept = np.array([one.accuracy for one in same if one.table.model not in copied])
    for one in same:
        of = copied.get(one.table.model)
        if of is None:
            yield Looked(check="copies", model=one.table.model, n=one.n, headline=one.accuracy, **place)
            continue
        yield Looked(
            check="copies", model=one.table.model, outcome="found", n=one.n, n_concerned=one.n, headline=one.accuracy,
            said=f"has the scores of {listed([of])} on every item: the mean over models is {_mean(every)} with copies "
            f"and {_mean(kept)} without", **place,
        )  # fmt: skip


def _side_by_side(same: Sequence[Audited]) -> FloatArray:
    """Return differences of all models on the items of any of them, shape (models, items)."""
    ids = [np.array(one.table.item_ids, dtype=object) for one in same]
    union, places = np.unique(np.concatenate(ids), return_inverse=True)
    found = np.full((len(same), union.size), np.nan)
    starts = np.cumsum([0, *(len(x) for x in ids)])
    for nth, one in enumerate(same):
        found[nth, places[starts[nth] : starts[nth + 1]]] = one.scores.delta_nats
    return found


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


def _mean(values: FloatArray) -> str:
    return number(float(np.nanmean(values)), digits=3)
