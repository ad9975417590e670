"""Two models that answer both orders of a choice equally well with orders pooled, one of which likes one position.

In: how often it picks the first option; out, whether `comparisons`, ranks or `mixed` would say that the two differ.
"""

import numpy as np
import pandas as pd

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


def sign_differ(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether signs of averaged differences are said to differ, as before credits were of the paper's kind."""
    biased, fair = answers(rng, n=n, first=first)
    result = compare_credits(_averaged(rng, biased, SURER), _averaged(rng, fair, 0.5))
    return result.p_mid < SIGNIFICANCE


def pooled_differ(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether credits with orders pooled are said to differ; with position bias, nothing is."""
    biased, fair = answers(rng, n=n, first=first)
    if _is_biased(biased):
        return False
    return compare_credits(biased.mean(axis=1), fair.mean(axis=1)).p_mid < SIGNIFICANCE


def sign_ranked(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether the leaderboard ranks the two apart by signs of averaged differences, as before."""
    biased, fair = answers(rng, n=n, first=first)
    return _apart(np.stack([_averaged(rng, biased, SURER), _averaged(rng, fair, 0.5)]))


def pooled_ranked(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether it ranks them apart by credits with orders pooled; with position bias there is no rank."""
    biased, fair = answers(rng, n=n, first=first)
    return not _is_biased(biased) and _apart(np.stack([biased.mean(axis=1), fair.mean(axis=1)]))


def _apart(credit: FloatArray) -> bool:
    return bool(rank_intervals(pair_counts(credit)).worst.min() == 1)


def _is_biased(right: BoolArray) -> bool:
    return is_one_place(float((right == [True, False]).mean()))


def sign_modelled(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether `mixed` says that the two differ by signs of averaged differences, as before."""
    biased, fair = answers(rng, n=n, first=first)
    return _modelled([_averaged(rng, biased, SURER), _averaged(rng, fair, 0.5)])


def pooled_modelled(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether it says so by credits with orders pooled; with position bias, nothing is compared."""
    biased, fair = answers(rng, n=n, first=first)
    return not _is_biased(biased) and _modelled([biased.mean(axis=1), fair.mean(axis=1)])


def _modelled(credit: list[FloatArray]) -> bool:
    units = [f"p{k % 20}" for k in range(credit[0].size)]
    cells = [cells_of(one, units=units, method="m", model=name) for one, name in zip(credit, "ab", strict=True)]
    (effect,) = fit_mixed(pd.concat(cells, ignore_index=True)).effects
    return bool(effect.p < SIGNIFICANCE)
