"""Checks of what a method chose: answers that are missing, accuracy of exactly 0, below or at chance, constant, ties.

In: `Audited` methods; out: one `Looked` a check. What is a test gives its p; the audit corrects all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pairbank.scoring.api.names import TRUNCATED
from pairbank.stats.analyses.audit.looked import (
    LEAST_EFFECT,
    LEAST_ITEMS,
    Audited,
    Looked,
    Outcome,
    mean_share_p,
    share_said,
)
from pairbank.stats.estimates.arrays import mean_of_known
from pairbank.stats.estimates.shares import share_of_items
from pairbank.stats.estimates.ties import is_tie
from pairbank.stats.scored_table.frame import flagged
from pairbank.stats.wording import percent

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
