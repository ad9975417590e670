"""Differences of items that lie in paradigms, with true values: what simulations of intervals over paradigms use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pingouin.correlation import percbend
from scipy.stats import multivariate_normal, norm

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import cohens_kappa, pearson, percentage_bend, raw_agreement, spearman

MEAN, SPREAD = 0.6, 0.5
"""Of differences in standard deviations of items: their mean, and the standard deviation between paradigms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Shares of runs."""

    items: float
    """Whose interval over items holds the truth."""
    paradigms: float
    """Whose interval over paradigms does."""
    given: float
    """That have the latter."""


def nested(
    rng: np.random.Generator, n_paradigms: int, n_items: int, *, shared: float, heavy: bool = False
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the differences of two methods and each item's paradigm; `shared` is their correlation at both levels."""
    codes = np.repeat(np.arange(n_paradigms), n_items)
    draws = {"paradigms": rng.normal(size=(2, n_paradigms))}
    draws["items"] = rng.standard_t(3, size=(2, codes.size)) / np.sqrt(3) if heavy else rng.normal(size=(2, codes.size))
    both = {level: (x, shared * x + np.sqrt(1 - shared**2) * y) for level, (x, y) in draws.items()}
    first, second = (MEAN + SPREAD * both["paradigms"][k][codes] + both["items"][k] for k in (0, 1))
    return first, second, codes


def truths(shared: float) -> dict[str, float]:
    """Return the true value of each estimate for normal data, over all paradigms."""
    p = float(norm.cdf(MEAN / np.hypot(1, SPREAD)))
    limit = MEAN / np.hypot(1, SPREAD)
    both = float(multivariate_normal([0, 0], [[1, shared], [shared, 1]], allow_singular=True).cdf([limit, limit]))
    same = both + (1 - 2 * p + both)
    chance = p**2 + (1 - p) ** 2
    return {
        "accuracy": p,
        "r": shared,
        "rho": 6 / np.pi * np.arcsin(shared / 2),
        "kappa": (same - chance) / (1 - chance),
        "same choice": same,
    }


Statistic = Callable[[FloatArray, FloatArray, IntArray], Estimate]
STATISTICS: dict[str, Statistic] = {
    "accuracy": lambda x, _, codes: accuracy(x, clusters=codes),
    "r": lambda x, y, codes: pearson(x, y, clusters=codes),
    "rho": lambda x, y, codes: spearman(x, y, clusters=codes),
    "kappa": lambda x, y, codes: cohens_kappa(x, y, clusters=codes),
    "same choice": lambda x, y, codes: raw_agreement(x, y, clusters=codes),
}


def robust_coverage(n_paradigms: int, n_items: int, *, shared: float, heavy: bool, runs: int, seed: int = 7) -> Held:
    """Return how often the intervals of the robust r hold its truth, which is that of very many draws."""
    rng = np.random.default_rng([seed, n_paradigms, n_items, round(100 * shared), heavy])
    many, others, _ = nested(rng, 20_000, 10, shared=shared, heavy=heavy)
    truth = float(percbend(many, others)[0]) if shared else 0.0
    draws = (nested(rng, n_paradigms, n_items, shared=shared, heavy=heavy) for _ in range(runs))
    found = [percentage_bend(x, y, clusters=codes) for x, y, codes in draws]
    over = [one.low_paradigms <= truth <= one.high_paradigms for one in found if one.n_paradigms]
    return Held(
        items=float(np.mean([one.low <= truth <= one.high for one in found])),
        paradigms=float(np.mean(over)) if over else np.nan,
        given=len(over) / runs,
    )


def coverage(name: str, n_paradigms: int, n_items: int, *, shared: float, runs: int, seed: int = 7) -> Held:
    """Return how often the intervals of one estimate hold its truth."""
    rng, truth = np.random.default_rng([seed, n_paradigms, n_items, round(100 * shared)]), truths(shared)[name]
    found = [STATISTICS[name](*nested(rng, n_paradigms, n_items, shared=shared)) for _ in range(runs)]
    over = [one for one in found if one.n_paradigms]
    return Held(
        items=float(np.mean([one.low <= truth <= one.high for one in found])),
        paradigms=float(np.mean([one.low_paradigms <= truth <= one.high_paradigms for one in over])),
        given=len(over) / runs,
    )
