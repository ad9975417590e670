"""Raters whose true alpha is known: how often its interval covers it, or a contradiction is claimed."""

from collections.abc import Iterator
from functools import cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nulls import Null, Outcome, Table, at_least, at_most
from pairbank.stats.measures.raters import alpha_of_counts

SIZES = {
    "200 items": (1,) * 200,
    "12 x 10": (10,) * 12,
    "Zipf over 20 (190)": tuple(np.maximum(60 // np.arange(1, 21), 2)),
}


def answers(
    sizes: tuple[int, ...], n_raters: int, rng: np.random.Generator, *, shared: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return how often each of two sides is chosen of each item, and its paradigm; raters share so much of a score.

    Raters are right more often than not, and the shared part varies over paradigms and over items.
    """
    paradigm = np.repeat(np.arange(len(sizes)), sizes)
    common = rng.normal(0.5, 0.7, len(sizes))[paradigm] + rng.normal(0, 0.7, len(paradigm))
    scores = shared * common[:, None] + (1 - shared) * rng.normal(size=(len(paradigm), n_raters))
    better = (scores > 0) != (rng.random(len(paradigm)) < 0.5)[:, None]
    return np.column_stack([(~better).sum(axis=1), better.sum(axis=1)]).astype(np.float64), paradigm


@cache
def true_alpha(n_raters: int, shared: float) -> float:
    counts, _ = answers((1,) * 400_000, n_raters, np.random.default_rng(1), shared=shared)
    return alpha_of_counts(counts, np.array([0.0, 1.0]), scale="interval").value


def claims(rng: np.random.Generator, *, sizes: str, n_raters: int, shared: float) -> Outcome:
    """Return whether the wider interval covers the true alpha, and whether it is below 0."""
    counts, paradigm = answers(SIZES[sizes], n_raters, rng, shared=shared)
    codes = paradigm if len(SIZES[sizes]) < len(paradigm) else np.full(len(paradigm), -1)
    made = alpha_of_counts(counts, np.array([0.0, 1.0]), scale="interval", clusters=codes)
    low, high = np.fmin(made.low, made.low_paradigms), np.fmax(made.high, made.high_paradigms)
    truth = true_alpha(n_raters, shared)
    if np.isnan(low):
        return {"true alpha": truth, "covered": np.nan, "below 0": np.nan, "have one": 0.0}
    return {"true alpha": truth, "covered": low <= truth <= high, "below 0": high < 0, "have one": 1.0}


def null_of(sizes: str, n_raters: int, shared: float) -> Null:
    return Null((sizes, str(n_raters), str(shared)), partial(claims, sizes=sizes, n_raters=n_raters, shared=shared))


def nulls() -> Iterator[Null]:
    return (null_of(*each) for each in product(SIZES, (2, 5, 10), (0.0, 0.3, 0.6)))


TESTED = (
    null_of("12 x 10", 5, 0.6).small(60, at_least(0.88, "covered"), seed=2),
    null_of("12 x 10", 5, 0.0).small(60, at_most(0.07, "below 0"), seed=2),
)
TABLES = (Table("self_agreement", ("items", "samples", "shared"), nulls, TESTED),)
