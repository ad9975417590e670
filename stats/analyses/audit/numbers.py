"""Checks of scores: constant or impossible log-probabilities, as a server gives that computes none, and copied scores.

In: `Audited` methods; out: `Looked`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.scoring.api.names import DIRECT, DIRECT_WB, TIE
from pairbank.stats.analyses.audit.looked import LEAST_ITEMS, Audited, Looked, listed
from pairbank.stats.estimates.ties import is_tie
from pairbank.stats.wording import number, percent

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

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
