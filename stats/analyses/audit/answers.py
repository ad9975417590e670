"""Checks of scores: none, at chance, constant, position bias, ties; impossible, and copied from another model.

In: `Audited` methods; out: `CheckResult`, a row for each check.
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
class CheckResult:
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
        """Corpus, method and model, as `CheckResult` has them."""
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


CHANCE = 0.5
CHANCE_MARGIN = 0.05
"""An accuracy that is shown to lie closer to .5 than this is at chance."""
LEAST_MISSING, LEAST_TIES, CONSTANT = 0.01, 0.05, 0.99
"""Shares of items without an answer, and with a tie, that are told; and of one same answer, that is called constant."""


def answer_checks(entry: Audited) -> Iterator[CheckResult]:
    """Yield what was found of a method's answers."""
    yield no_answer(entry)
    checks: tuple[Callable[[Audited], CheckResult], ...] = (zero, chance, ties, constant, position)
    names = ("zero", "chance", "ties", "constant", "position")
    for name, check in zip(names, checks, strict=True):
        if entry.n < LEAST_ITEMS:
            reason = f"{entry.n:,} items with an answer; it takes {LEAST_ITEMS}"
            yield CheckResult(check=name, outcome="not checked", said=reason, n=entry.n, **entry.place)
        else:
            yield check(entry)


def no_answer(entry: Audited) -> CheckResult:
    """Items without a score or an answer: an accuracy is of the others, and lower if they count as wrong."""
    missing = ~entry.scored & entry.asked
    n, n_missing = int(entry.asked.sum()), int(missing.sum())
    as_wrong = entry.accuracy * entry.n / n if entry.n else 0.0
    unparsed = int((np.nan_to_num(entry.scores.unparsed) > 0).sum())
    result = n_missing >= LEAST_MISSING * n and n_missing > 0
    of_which = f", of {unparsed:,} because no answer was found in what was written" if unparsed else ""
    if cut := int(flagged(entry.table.frame, entry.layout.columns.flags, TRUNCATED).sum()):
        of_which += f" ({cut:,} cut before the model had finished thinking: raise --thinking-tokens)"
    text = (
        f"has no score on {n_missing:,} of {n:,} items{of_which}: {share_text(entry.accuracy)} right of the others, "
        f"{share_text(as_wrong)} if they count as wrong"
    )
    return CheckResult(
        check="no_answer", outcome="found" if result else "clean", said=text if result else "", n=n,
        n_concerned=n_missing, headline=entry.accuracy, without=as_wrong, items=entry.some(missing), **entry.place,
    )  # fmt: skip


def zero(entry: Audited) -> CheckResult:
    """An accuracy of exactly 0, or below chance: unread answers that count as wrong, or reversed labels."""
    credit = entry.credit[entry.scored]
    exact = bool((credit == 0).all())
    two_sided = mean_share_p(credit, about=CHANCE)
    p = two_sided / 2 if entry.accuracy < CHANCE else 1 - two_sided / 2
    below = entry.accuracy < CHANCE - CHANCE_MARGIN
    beyond = 1 - 2 * entry.accuracy
    text = f"is right in {share_text(entry.accuracy)}, which is below chance" if not exact else "is right in exactly 0"
    text += (
        f": guessing would be right in 0.50, so that on {percent(beyond)} of the items or more it did not choose at all"
    )
    text += ", or chose the wrong side on purpose"
    return CheckResult(
        check="zero", outcome="found" if below else "clean", said=text if below else "", n=entry.n,
        n_concerned=int((credit == 0).sum()), headline=entry.accuracy, p=p,
        items=entry.some(entry.credit == 0) if below else (), **entry.place,
    )  # fmt: skip


def chance(entry: Audited) -> CheckResult:
    """An accuracy that is shown to be within 0.05 of 0.50; one that may be, or may not, cannot be told."""
    from scipy.stats import norm

    credit = entry.credit[entry.scored]
    error = np.sqrt((float(((credit - CHANCE) ** 2).sum()) + 0.25) / (entry.n + 1) / entry.n)
    p = float(norm.sf((CHANCE_MARGIN - abs(entry.accuracy - CHANCE)) / error))
    interval = share_of_items(credit)
    outcome: Outcome
    low, high = interval.low, interval.high
    if abs(entry.accuracy - CHANCE) < CHANCE_MARGIN:
        outcome, text = (
            "found",
            f"is right in {share_text(entry.accuracy)} [{share_text(low)}, {share_text(high)}], no more than guessing",
        )
    else:
        outcome, text = "clean", ""
    if low <= CHANCE <= high:  # becomes `found` only if the test holds after the correction
        text = text or f"is right in {share_text(entry.accuracy)} [{share_text(low)}, {share_text(high)}]"
        outcome = "found" if outcome == "found" else "inconclusive"
    return CheckResult(
        check="chance", outcome=outcome, said=text, n=entry.n, n_concerned=entry.n if outcome == "found" else 0,
        headline=entry.accuracy, p=p, **entry.place,
    )  # fmt: skip


def ties(entry: Audited) -> CheckResult:
    """Items on which neither side is preferred: they count one half, nothing, or are left out."""
    delta = entry.scores.delta_nats[entry.scored & ~np.isnan(entry.scores.delta_nats)]
    tied = is_tie(entry.scores.delta_nats)
    n_tied = int(tied.sum())
    if not delta.size or n_tied < LEAST_TIES * delta.size:
        return CheckResult(check="ties", n=entry.n, n_concerned=n_tied, headline=entry.accuracy, **entry.place)
    decided = delta[~is_tie(delta)]
    without = float((decided > 0).mean()) if decided.size else np.nan
    right = float((delta > 0).mean())
    half = share_text(right + n_tied / delta.size / 2)
    text = (
        f"prefers neither side on {n_tied:,} of {delta.size:,} items: right in {half} "
        f"if these count one half, {share_text(right)} if they are wrong, {share_text(without)} of the others"
    )
    return CheckResult(
        check="ties", outcome="found", said=text, n=delta.size, n_concerned=n_tied, headline=entry.accuracy,
        without=without, items=entry.some(tied), **entry.place,
    )  # fmt: skip


def constant(entry: Audited) -> CheckResult:
    """One same answer to everything: the option shown first, `no`, or one rating."""
    place, layout = entry.place, entry.layout
    if layout.kind == "rating" and layout.has_logprobs:
        ratings = entry.scores.argmax[~np.isnan(entry.scores.argmax).any(axis=1)]
        values, counts = np.unique(ratings, return_counts=True)
        share = float(counts.max() / counts.sum()) if counts.size else 0.0
        description = (
            f"rates {values[counts.argmax()]:g} in {percent(share, digits=1)} of its most probable ratings"
            if counts.size
            else ""
        )
    elif entry.choices is None or layout.orders == "unknown":
        why = "which side was shown first is not known" if entry.choices is not None else "it compares two numbers"
        return CheckResult(
            check="constant", outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **place
        )
    else:
        requested = entry.choices[~np.isnan(entry.choices).any(axis=2)]
        shares = requested.mean(axis=0)
        share = float(shares.max())
        option = layout.options[int(shares.argmax())]
        description = f"answers {option!r} in {percent(share, digits=1)} of {len(requested):,} questions"
        if layout.asked == "one" and not _both_orders(entry):
            why = "the same side is always shown first, so that a constant answer may be a right one"
            return CheckResult(
                check="constant", outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **place
            )
    outcome: Outcome = "found" if share >= CONSTANT else "clean"
    text = f"{description}: it does not choose" if outcome == "found" else ""
    concerned = entry.n if outcome == "found" else 0
    return CheckResult(
        check="constant", outcome=outcome, said=text, n=entry.n, n_concerned=concerned, headline=entry.accuracy, **place
    )


def position(entry: Audited) -> CheckResult:
    """The option shown first (or yes) is chosen far more or less often than half of the time."""
    credit = entry.credit_by_presentation
    if credit is None or entry.choices is None or entry.layout.orders == "unknown" or not _both_orders(entry):
        why = (
            "it compares two numbers and shows neither first" if entry.choices is None
            else "which side was shown first is not known, or is the same one always"
        )  # fmt: skip
        return CheckResult(
            check="position", outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **entry.place
        )
    first = entry.choices[:, np.arange(len(entry.layout.correct)), list(entry.layout.shown_first)]
    by_item = mean_of_known(first)[entry.scored]
    share = float(np.nanmean(first))
    correct_first = np.array(entry.layout.correct) == np.array(entry.layout.shown_first)
    where_first, where_second = (float(np.nanmean(credit[:, which])) for which in (correct_first, ~correct_first))
    p = mean_share_p(by_item[~np.isnan(by_item)], about=CHANCE)
    biased = abs(share - CHANCE) >= LEAST_EFFECT
    judged = entry.layout.kind == "judgment"
    description = f"says {entry.layout.options[0]!r}" if judged else "takes the option shown first"
    where = "of good sentences, {} of bad ones" if judged else "where the better side is shown first, {} where second"
    text = (
        f"{description} in {share_text(share)}: right in {share_text(where_first)} "
        f"{where.format(share_text(where_second))}"
    )
    both = entry.layout.asked == "all" and entry.layout.has_logprobs
    without = float(np.nanmean(entry.credit_averaged)) if both else (where_first + where_second) / 2
    return CheckResult(
        check="position", outcome="found" if biased else "clean", said=text if biased else "", n=entry.n,
        n_concerned=entry.n if biased else 0, headline=entry.accuracy, without=without, p=p, **entry.place,
    )  # fmt: skip


def _both_orders(entry: Audited) -> bool:
    """Return whether the better side is shown first in some questions and second in others."""
    credit = entry.credit_by_presentation
    if credit is None:
        return False
    correct_first = np.array(entry.layout.correct) == np.array(entry.layout.shown_first)
    requested = ~np.isnan(credit)
    return bool(requested[:, correct_first].any() and requested[:, ~correct_first].any())


SAME, IMPOSSIBLE = 0.2, 0.01
"""Share of scores that are one same number, and of log-probabilities of 0 or more, that is told."""
FEW_VALUES, LEAST_COPIED, LEAST_COPIED_ANSWERS = 10, 5, 30
"""A method with no more values than this gives answers. Equal scores on so many items are copies; of answers it takes
so many of the rarer one, for two good models are right on the same items by chance."""


def constant_scores(entry: Audited) -> CheckResult:
    """One number again and again, or log-probabilities of 0 (a probability of 1) and above."""
    values = _values(entry)
    if values is None or values.size < LEAST_ITEMS:
        why = "only its answers are known" if values is None else f"{values.size:,} scores; it takes {LEAST_ITEMS}"
        return CheckResult(
            check="scores", outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **entry.place
        )
    distinct, counts = np.unique(np.round(values, 9), return_counts=True)
    share, most = float(counts.max() / values.size), float(distinct[counts.argmax()])
    is_logprob = not entry.layout.unit and (entry.layout.has_logprobs or entry.layout.method in (DIRECT, DIRECT_WB))
    impossible = float((values >= -TIE).mean()) if is_logprob else 0.0
    if share >= SAME:
        text = f"has the score {most:g} in {percent(share)} of {values.size:,} places"
    elif impossible >= IMPOSSIBLE:
        text = f"has log-probabilities of 0 or more, as none can be, in {percent(impossible)} of {values.size:,} places"
    else:
        return CheckResult(check="scores", n=entry.n, headline=entry.accuracy, **entry.place)
    same = _at_fault(entry, most if share >= SAME else None)
    kept = entry.credit[entry.scored & ~same]
    without = float(kept.mean()) if kept.size else np.nan
    return CheckResult(
        check="scores", outcome="found", said=text, n=entry.n, n_concerned=int((same & entry.scored).sum()),
        headline=entry.accuracy, without=without, items=entry.some(same), **entry.place,
    )  # fmt: skip


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
            yield CheckResult(
                check="copies", corpus=corpus, method=method, outcome="not checked", said="there is one model only"
            )
            continue
        yield from _copied(corpus, method, same)


def _copied(corpus: str, method: str, same: Sequence[Audited]) -> Iterator[CheckResult]:
    deltas = _side_by_side(same)
    copied: dict[str, str] = {}
    for a, b in itertools.combinations(range(len(same)), 2):
        if same[b].table.model not in copied and _equal(deltas[a], deltas[b]):
            copied[same[b].table.model] = same[a].table.model
    place: dict[str, Any] = {"corpus": corpus, "method": method}
    every = np.array([run.accuracy for run in same])
    kept = np.array([run.accuracy for run in same if run.table.model not in copied])
    for run in same:
        of = copied.get(run.table.model)
        if of is None:
            yield CheckResult(check="copies", model=run.table.model, n=run.n, headline=run.accuracy, **place)
            continue
        yield CheckResult(
            check="copies", model=run.table.model, outcome="found", n=run.n, n_concerned=run.n,
            headline=run.accuracy,
            said=f"has the scores of {listed([of])} on every item: the mean over models is {_mean(every)} with copies "
            f"and {_mean(kept)} without", **place,
        )  # fmt: skip


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


def _mean(values: FloatArray) -> str:
    return number(float(np.nanmean(values)), digits=3)
