"""Two models that answer both orders of a choice equally well with orders pooled, one of which likes one position.

In: how often it picks the first option; out, whether `comparisons` would say that the two differ.
"""

from __future__ import annotations

import numpy as np

from pairbank.arrays import BoolArray, FloatArray
from pairbank.stats.measures.paired_tests import compare_credits
from pairbank.stats.scored_table.credit import is_one_place

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
    found = compare_credits(_averaged(rng, biased, SURER), _averaged(rng, fair, 0.5))
    return found.p_mid < SIGNIFICANCE


def pooled_differ(rng: np.random.Generator, *, n: int, first: float) -> bool:
    """Return whether credits with orders pooled are said to differ; with position bias, nothing is."""
    biased, fair = answers(rng, n=n, first=first)
    if is_one_place(float((biased == [True, False]).mean())):
        return False
    return compare_credits(biased.mean(axis=1), fair.mean(axis=1)).p_mid < SIGNIFICANCE
