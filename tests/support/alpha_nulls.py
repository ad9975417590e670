"""Made-up raters whose true alpha is known: how often its interval covers it, or a contradiction is claimed."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

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


def alpha_rates(sizes: str, *, n_raters: int, shared: float, n_runs: int, seed: int) -> dict[str, float]:
    """Return how often the wider interval covers the true alpha, and how often it is below 0."""
    rng, covered, below, known = np.random.default_rng(seed), 0, 0, 0
    for _ in range(n_runs):
        counts, paradigm = answers(SIZES[sizes], n_raters, rng, shared=shared)
        codes = paradigm if len(SIZES[sizes]) < len(paradigm) else np.full(len(paradigm), -1)
        made = alpha_of_counts(counts, np.array([0.0, 1.0]), scale="interval", clusters=codes)
        low, high = np.fmin(made.low, made.low_paradigms), np.fmax(made.high, made.high_paradigms)
        known += not np.isnan(low)
        covered += bool(low <= true_alpha(n_raters, shared) <= high)
        below += bool(high < 0)
    return {"covered": covered / max(known, 1), "below 0": below / max(known, 1), "have one": known / n_runs}
