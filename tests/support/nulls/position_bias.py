"""Two models that answer both orders of a choice equally well with orders pooled, one of which likes one position.

In: how often it picks the first option; out, whether `comparisons`, ranks or `mixed` would say that the two differ.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from nulls import Null, Outcome, Table, at_least, at_most, shown
from pairbank.arrays import BoolArray, FloatArray
from pairbank.stats.measures.mixed import cells_of, fit_mixed
from pairbank.stats.measures.paired_tests import compare_credits
from pairbank.stats.measures.rank_intervals import pair_counts, rank_intervals
from pairbank.stats.scored_table.method_scores import is_one_place

SIGNIFICANCE = 0.05
SURER = 0.9
"""Share of the items answered by position of which the biased model is surer in the order that shows the good side."""


def answers(rng: np.random.Generator, *, n: int, first: float) -> tuple[BoolArray, BoolArray]:
    """Return whether the option of each order is right, shape (items, 2), of a model with and one without bias."""
    beyond = min(0.05, 1 - first)
    picks_first = rng.random((n, 2)) < [first + beyond, first - beyond]
    return picks_first == [True, False], rng.random((n, 2)) < 0.5 + beyond


def _averaged(rng: np.random.Generator, right: BoolArray, surer: float) -> FloatArray:
    """Return the sign of the difference averaged over orders as a credit; where orders disagree, the surer one's."""
    both = right.mean(axis=1)
    return np.where(both == 0.5, rng.random(len(both)) < surer, both).astype(np.float64)


def _differ(credit: list[FloatArray]) -> bool:
    return compare_credits(*credit).p_mid < SIGNIFICANCE


def _ranked(credit: list[FloatArray]) -> bool:
    return bool(rank_intervals(pair_counts(np.stack(credit))).worst.min() == 1)


def _modelled(credit: list[FloatArray]) -> bool:
    units = [f"p{k % 20}" for k in range(credit[0].size)]
    cells = [cells_of(one, units=units, method="m", model=name) for one, name in zip(credit, "ab", strict=True)]
    (effect,) = fit_mixed(pd.concat(cells, ignore_index=True)).effects
    return bool(effect.p < SIGNIFICANCE)


SENTENCES = {"`comparisons`": _differ, "ranks": _ranked, "`mixed`": _modelled}


def by_signs(rng: np.random.Generator, *, sentence: str, n: int, first: float) -> Outcome:
    """Return whether signs of averaged differences are said to differ, as before credits were of the paper's kind."""
    biased, fair = answers(rng, n=n, first=first)
    return {"said": SENTENCES[sentence]([_averaged(rng, biased, SURER), _averaged(rng, fair, 0.5)])}


def pooled(rng: np.random.Generator, *, sentence: str, n: int, first: float) -> Outcome:
    """Return whether credits with orders pooled are said to differ; with position bias, nothing is compared."""
    biased, fair = answers(rng, n=n, first=first)
    if is_one_place(float((biased == [True, False]).mean())):
        return {"said": False}
    return {"said": SENTENCES[sentence]([biased.mean(axis=1), fair.mean(axis=1)])}


CREDITS = {"averaged sign (before)": by_signs, "pooled credit": pooled}


def null_of(sentence: str, first: float, n: int, credit: str) -> Null:
    labels = (sentence, f"{first:.2f}", f"{n:,}", credit)
    return Null(labels, partial(CREDITS[credit], sentence=sentence, n=n, first=first))


def nulls() -> Iterator[Null]:
    for sentence, first, n in product(SENTENCES, (0.5, 0.8, 0.94, 1.0), (24, 200, 1000)):
        if sentence != "`mixed`" or n > 24:  # fewer items than it has units and methods
            yield from (null_of(sentence, first, n, credit) for credit in CREDITS)


TESTED = (
    *(null_of("`comparisons`", first, 200, "pooled credit").small(400, at_most(0.08)) for first in (0.5, 0.8, 1.0)),
    null_of("`comparisons`", 1.0, 200, "averaged sign (before)").small(20, at_least(1.0)),
)
TABLES = (Table("position_bias", ("sentence", "options picked first", "items"), nulls, TESTED, shown),)
