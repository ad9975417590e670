"""Differences of items that lie in paradigms, with true values: what simulations of intervals over paradigms use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pingouin.correlation import percbend
from scipy.stats import multivariate_normal, norm

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.stats.analyses.suites.results import model_rows
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import share_of_items, share_of_trials
from pairbank.stats.measures.accuracy import accuracy, balanced_accuracy
from pairbank.stats.measures.agreement import cohens_kappa, pearson, percentage_bend, raw_agreement, spearman
from pairbank.stats.measures.paired_tests import beyond_clusters_p, compare_credits
from pairbank.stats.measures.roc import auc, pooled_pairs

MEAN, SPREAD = 0.6, 0.5
"""Of differences in standard deviations of items: their mean, and the standard deviation between paradigms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    items: float
    """Whose interval over items holds the truth."""
    paradigms: float
    """Whose interval over paradigms does."""
    given: float
    """That have the latter."""


def zipf(n: int, largest: int) -> tuple[int, ...]:
    """Return sizes of paradigms of which the k-th has a k-th of the items of the largest, and two at least."""
    return tuple(max(2, round(largest / k)) for k in range(1, n + 1))


UNEVEN: dict[str, tuple[int, ...]] = {
    "12 x 5": (5,) * 12,
    "38 + 11 x 2": (38, *[2] * 11),
    "200 + 19 x 5": (200, *[5] * 19),
    "40, 20, 13, …, 3 (12)": zipf(12, 40),
    "120, 60, …, 4 (30)": zipf(30, 120),
    "200, 100, …, 3 (67)": zipf(67, 200),
    "`li`": (12,) * 81 + (11,) * 17 + (10,) * 2 + (8,) * 150,
    "`jblimp`": (100, 44, 26, 17, 14, 13, 11, 10, 9, 8, 7, 7, 6, 5, 5, 5, 4, *[3] * 6, *[2] * 8, *[1] * 6),
    "`syntaxgym`": (80, 80, *[48] * 4, *[46] * 4, *[42] * 2, *[38] * 9, *[28] * 2),
    "167, 12, …, 3 (90)": (167, *[12] * 9, *[11] * 3, *[10] * 69, 9, 8, 8, 7, 6, 6, 3, 3),
    "`turblimp`, a tenth": (100,) * 16 + (22,) + (10,) * 22,
}
"""Sizes of paradigms; those of corpora as they are."""
FEW: dict[str, tuple[int, ...]] = {
    "4 x 6": (6,) * 4,
    "4 x 20": (20,) * 4,
    "5 x 10": (10,) * 5,
    "6 x 4": (4,) * 6,
    "6 x 20": (20,) * 6,
    "8 x 3": (3,) * 8,
    "9 x 20": (20,) * 9,
    "9, 8, 7, 8": (9, 8, 7, 8),
    "14, 10, 9, 8, 5": (14, 10, 9, 8, 5),
    "30, 20, 10, 5, 5, 2": (30, 20, 10, 5, 5, 2),
    "2 of 100, 10 of 5": (100,) * 2 + (5,) * 10,
    "3 of 100, 10 of 5": (100,) * 3 + (5,) * 10,
}
"""Few paradigms, or few that have most items."""


def nested(
    rng: np.random.Generator,
    sizes: Sequence[int],
    *,
    shared: float,
    heavy: bool = False,
    paradigms: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the differences of two methods and each item's paradigm; `shared` is their correlation at both levels.

    Paradigms are drawn anew unless what they shift both methods by is given, shape (2, paradigms), in units of SPREAD.
    """
    codes = np.repeat(np.arange(len(sizes)), sizes)
    drawn = rng.normal(size=(2, len(sizes)))
    items = rng.standard_t(3, size=(2, codes.size)) / np.sqrt(3) if heavy else rng.normal(size=(2, codes.size))
    shifts = drawn if paradigms is None else paradigms
    both = {
        level: (x, shared * x + np.sqrt(1 - shared**2) * y)
        for level, (x, y) in {"paradigms": shifts, "items": items}.items()
    }
    first, second = (MEAN + SPREAD * both["paradigms"][k][codes] + both["items"][k] for k in (0, 1))
    return first, second, codes


def truths(shared: float) -> dict[str, float]:
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
MANY = [10] * 20_000
"""Sizes of so many paradigms that their estimate is the truth."""
LIKING = 0.8
"""What the order that shows the good side first adds to a difference, and the other takes away."""


def pooled_credit(x: FloatArray) -> FloatArray:
    """Return the credit of both orders of a model that likes a position, shape (items, 2)."""
    return np.column_stack([x + LIKING > 0, x - LIKING > 0]).astype(np.float64)


def _pooled(x: FloatArray, _: FloatArray, codes: IntArray) -> Estimate:
    credit = pooled_credit(x)
    return share_of_trials(credit.ravel(), np.repeat(np.arange(x.size), 2), clusters=np.repeat(codes, 2))


def _difference(x: FloatArray, y: FloatArray, codes: IntArray) -> Estimate:
    """Return the difference that `comparisons` prints: by log-probability, and asked with position bias."""
    return compare_credits((x > 0).astype(np.float64), pooled_credit(y).mean(axis=1), clusters=codes).difference


def _suites(x: FloatArray, _: FloatArray, codes: IntArray) -> Estimate:
    each, n = np.bincount(codes, weights=x > 0), np.bincount(codes)
    (row,) = model_rows(pd.DataFrame({"model": "m", "value": each / n, "n": n}))
    return Estimate(method="suites", **{key: row[key] for key in ROW})


def _area(x: FloatArray, y: FloatArray, codes: IntArray) -> Estimate:
    """Return the AUC of the strings of pairs: y is what both share (their length), x how far the good one is above."""
    return auc(pooled_pairs(y + x / 2, y - x / 2), clusters=codes)


def _sentences(x: FloatArray, y: FloatArray, codes: IntArray) -> tuple[FloatArray, BoolArray, IntArray]:
    scores, good = np.concatenate([y + x / 2, y - x / 2]), np.repeat([True, False], x.size)
    return scores, good, np.concatenate([codes, codes])


def _balanced(x: FloatArray, y: FloatArray, codes: IntArray) -> Estimate:
    scores, good, both = _sentences(x, y, codes)
    return balanced_accuracy(scores, good, items=np.tile(np.arange(x.size), 2), clusters=both)


def _mcc(x: FloatArray, y: FloatArray, codes: IntArray) -> Estimate:
    scores, good, both = _sentences(x, y, codes)
    return pearson(np.sign(scores), good.astype(float), clusters=both)


ROW = ("value", "low", "high", "n", "low_paradigms", "high_paradigms", "n_paradigms")
STATISTICS: dict[str, Statistic] = {
    "accuracy": lambda x, _, codes: accuracy(x, clusters=codes),
    "r": lambda x, y, codes: pearson(x, y, clusters=codes),
    "rho": lambda x, y, codes: spearman(x, y, clusters=codes),
    "kappa": lambda x, y, codes: cohens_kappa(x, y, clusters=codes),
    "same choice": lambda x, y, codes: raw_agreement(x, y, clusters=codes),
    "accuracy pooled, position bias": _pooled,
    "difference (`comparisons`)": _difference,
    "mean over suites": _suites,
    "AUC": _area,
    "balanced accuracy": _balanced,
    "Matthews correlation": _mcc,
}


def robust_coverage(n_paradigms: int, n_items: int, *, shared: float, heavy: bool, runs: int, seed: int = 7) -> Held:
    """Return how often the intervals of the robust r hold its truth, which is that of very many draws."""
    rng = np.random.default_rng([seed, n_paradigms, n_items, round(100 * shared), heavy])
    many, others, _ = nested(rng, MANY, shared=shared, heavy=heavy)
    truth = float(percbend(many, others)[0]) if shared else 0.0
    draws = (nested(rng, [n_items] * n_paradigms, shared=shared, heavy=heavy) for _ in range(runs))
    result = [percentage_bend(x, y, clusters=codes) for x, y, codes in draws]
    over = [one.low_paradigms <= truth <= one.high_paradigms for one in result if one.n_paradigms]
    return Held(
        items=float(np.mean([one.low <= truth <= one.high for one in result])),
        paradigms=float(np.mean(over)) if over else np.nan,
        given=len(over) / runs,
    )


def coverage(
    name: str,
    sizes: Sequence[int],
    *,
    shared: float,
    runs: int,
    heavy: bool = False,
    fixed: bool = False,
    seed: int = 7,
) -> Held:
    """Return how often the intervals of one estimate hold its truth.

    The truth is that of all paradigms, which are drawn anew in every run; or, where they are fixed, that of these.
    Where it is not known in closed form, it is that of 200,000 items.
    """
    n = len(sizes)
    rng = np.random.default_rng([seed, n, sum(sizes), round(100 * shared), *[1] * heavy, *[2] * fixed])
    paradigms = rng.normal(size=(2, n)) if fixed else None
    truth = truths(shared).get(name, np.nan) if not heavy and not fixed else np.nan
    if np.isnan(truth):
        many = [200_000 // n] * n if fixed else MANY
        truth = STATISTICS[name](*nested(rng, many, shared=shared, heavy=heavy, paradigms=paradigms)).value
    draws = (nested(rng, sizes, shared=shared, heavy=heavy, paradigms=paradigms) for _ in range(runs))
    result = [one for one in (STATISTICS[name](*drawn) for drawn in draws) if not np.isnan(one.low)]
    over = [one for one in result if one.n_paradigms]
    held = [one.low_paradigms <= truth <= one.high_paradigms for one in over]
    return Held(
        items=float(np.mean([one.low <= truth <= one.high for one in result])),
        paradigms=float(np.mean(held)) if held else np.nan,
        given=len(over) / runs,
    )


def said_beyond(sizes: Sequence[int], *, runs: int, seed: int = 7) -> float:
    """Return how often two equal models "differ beyond their paradigms", at .05."""
    rng = np.random.default_rng([seed, len(sizes), sum(sizes)])
    draws = (nested(rng, sizes, shared=0.0) for _ in range(runs))
    return float(np.mean([beyond_clusters_p((np.sign(x) - np.sign(y)) / 2, codes) < 0.05 for x, y, codes in draws]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """How well a model does on paradigms: a beta distribution, and a share of them on which it fails."""

    mean: float
    sd: float
    failing: float = 0.0
    failed: float = 0.1
    """The accuracy on paradigms that fail."""

    def drawn(self, rng: np.random.Generator, n: int) -> FloatArray:
        size = self.mean * (1 - self.mean) / self.sd**2 - 1 if self.sd else np.inf
        good = rng.beta(self.mean * size, (1 - self.mean) * size, n) if self.sd else np.full(n, self.mean)
        return np.where(rng.random(n) < self.failing, self.failed, good)

    @property
    def truth(self) -> float:
        return (1 - self.failing) * self.mean + self.failing * self.failed


def holds_of_shares(solved: Solved, sizes: Sequence[int], *, runs: int, seed: int = 7) -> float:
    """Return how often the wider interval of an accuracy, as reports print it, holds the truth."""
    rng, codes, held = np.random.default_rng([seed, len(sizes), sum(sizes)]), np.repeat(np.arange(len(sizes)), sizes), 0
    for _ in range(runs):
        right = rng.random(codes.size) < solved.drawn(rng, len(sizes))[codes]
        one = share_of_items(right.astype(np.float64), clusters=codes)
        held += np.fmin(one.low, one.low_paradigms) <= solved.truth <= np.fmax(one.high, one.high_paradigms)
    return held / runs


CEILING = {
    "all at 0.995": Solved(mean=0.995, sd=0.0),
    "0.995; 1 in 20 fails": Solved(mean=0.995, sd=0.0, failing=0.05),
    "0.995; 1 in 10 fails": Solved(mean=0.995, sd=0.0, failing=0.1),
    "0.97 ± 0.03": Solved(mean=0.97, sd=0.03),
    "0.97 ± 0.03; 1 in 20 fails": Solved(mean=0.97, sd=0.03, failing=0.05),
    "0.97 ± 0.03; 1 in 10 at 0.40": Solved(mean=0.97, sd=0.03, failing=0.1, failed=0.4),
    "0.90 ± 0.08; 1 in 20 fails": Solved(mean=0.9, sd=0.08, failing=0.05),
    "0.80 ± 0.16": Solved(mean=0.8, sd=0.16),
    "0.80 ± 0.15; 1 in 20 fails": Solved(mean=0.8, sd=0.15, failing=0.05),
    "0.03 ± 0.03; 1 in 20 at 0.90": Solved(mean=0.03, sd=0.03, failing=0.05, failed=0.9),
}
CEILING_SIZES = {
    "6 x 10": (10,) * 6,
    "12 x 10": (10,) * 12,
    "20 x 10": (10,) * 20,
    "20 x 50": (50,) * 20,
    "67 x 10": (10,) * 67,
    "`jblimp`": UNEVEN["`jblimp`"],
}
