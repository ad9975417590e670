"""Differences of items that lie in paradigms, with true values: how often intervals hold them.

Each paradigm shifts the differences of its items by a draw of its own, for `direct`, for a question and for people. The
truth is that of all paradigms: paradigms are drawn anew in every run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from pingouin.correlation import percbend
from scipy.stats import multivariate_normal, norm

from nulls import Null, Outcome, Table, at_least, at_most, means, published, shown
from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.stats.analyses.suites.results import model_rows
from pairbank.stats.estimates.bootstrap import effective_number
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import share_of_items, share_of_trials
from pairbank.stats.measures.accuracy import accuracy, balanced_accuracy
from pairbank.stats.measures.agreement import cohens_kappa, pearson, percentage_bend, raw_agreement, spearman
from pairbank.stats.measures.paired_tests import beyond_clusters_p, compare_credits
from pairbank.stats.measures.roc import auc, pooled_pairs

MEAN, SPREAD = 0.6, 0.5
"""Of differences in standard deviations of items: their mean, and the standard deviation between paradigms."""


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
    "robust r": lambda x, y, codes: percentage_bend(x, y, clusters=codes),
}


Truth = tuple[float, FloatArray | None]
"""Of an estimate, and of paradigms that are the same in all runs."""


def truth_of(
    rng: np.random.Generator, *, name: str, sizes: Sequence[int], shared: float, heavy: bool, fixed: bool
) -> Truth:
    """Return the truth of all paradigms, which are drawn anew in every run; or, where they are fixed, that of these.

    Where it is not known in closed form, it is that of 200,000 items.
    """
    n = len(sizes)
    paradigms = rng.normal(size=(2, n)) if fixed else None
    if name in (known := truths(shared)) and not heavy and not fixed:
        return known[name], None
    many = [200_000 // n] * n if fixed else MANY
    x, y, codes = nested(rng, many, shared=shared, heavy=heavy, paradigms=paradigms)
    if name == "robust r":  # its interval would take minutes
        return float(percbend(x, y)[0]), paradigms
    return STATISTICS[name](x, y, codes).value, paradigms


def covered(
    rng: np.random.Generator, truth: Truth, *, name: str, sizes: Sequence[int], shared: float, heavy: bool
) -> Outcome:
    """Return whether the intervals over items, and over paradigms, hold the truth, and whether there is the latter."""
    value, paradigms = truth
    one = STATISTICS[name](*nested(rng, sizes, shared=shared, heavy=heavy, paradigms=paradigms))
    if np.isnan(one.low):
        return {"items": np.nan, "paradigms": np.nan, "given": 0.0}
    over = one.low_paradigms <= value <= one.high_paradigms if one.n_paradigms else np.nan
    return {"items": one.low <= value <= one.high, "paradigms": over, "given": float(one.n_paradigms > 0)}


def coverage(
    name: str,
    sizes: Sequence[int],
    *labels: str,
    shared: float = 0.5,
    heavy: bool = False,
    fixed: bool = False,
    seed: int = 7,
) -> Null:
    data: dict[str, Any] = {"name": name, "sizes": sizes, "shared": shared, "heavy": heavy}
    seeds = [seed, len(sizes), sum(sizes), round(100 * shared), *[1] * heavy, *[2] * fixed]
    truth = partial(truth_of, fixed=fixed, **data)
    return Null(labels or (name,), partial(covered, **data), seed=seeds, truth=truth)


def beyond(rng: np.random.Generator, *, sizes: Sequence[int]) -> Outcome:
    """Return whether two equal models "differ beyond their paradigms", at .05."""
    x, y, codes = nested(rng, sizes, shared=0.0)
    return {"paradigms": beyond_clusters_p((np.sign(x) - np.sign(y)) / 2, codes) < 0.05}


def said_beyond(sizes: Sequence[int], *labels: str) -> Null:
    return Null(labels, partial(beyond, sizes=sizes), seed=[7, len(sizes), sum(sizes)])


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


def shares_covered(rng: np.random.Generator, *, solved: Solved, sizes: Sequence[int]) -> Outcome:
    """Return whether the wider interval of an accuracy, as reports print it, holds the truth."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    right = rng.random(codes.size) < solved.drawn(rng, len(sizes))[codes]
    one = share_of_items(right.astype(np.float64), clusters=codes)
    low, high = np.fmin(one.low, one.low_paradigms), np.fmax(one.high, one.high_paradigms)
    return {"covered": low <= solved.truth <= high}


def of_shares(paradigms: str, sizes: str, *, seed: int = 7) -> Null:
    of = CEILING_SIZES[sizes]
    run = partial(shares_covered, solved=CEILING[paradigms], sizes=of)
    return Null((paradigms, sizes), run, seed=[seed, len(of), sum(of)])


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


SIZES = ((12, 2), (10, 10), (20, 10), (20, 50), (67, 15), (75, 10))
"""Paradigms, items in each."""
NESTED = ((12, 2), (10, 10), (20, 50))
"""24, 100 and 1,000 items."""
SHOWN = (
    *("accuracy", "accuracy pooled, position bias", "difference (`comparisons`)", "r", "rho", "kappa", "AUC"),
    "balanced accuracy",
)
"""Estimates of the table of uneven sizes."""


def equal_sizes() -> Iterator[Null]:
    for shared, name, (n, each) in product((0.0, 0.5), STATISTICS, SIZES):
        yield coverage(name, [each] * n, f"{name}, true r {shared}", f"{n} x {each}", shared=shared)
    for shared, (n, each) in product((0.0, 0.5), SIZES):
        heavy = f"robust r, true r {shared}, tails as t (3)"
        yield coverage("robust r", [each] * n, heavy, f"{n} x {each}", shared=shared, heavy=True)


def only(outcomes: Sequence[Outcome], *, of: str) -> dict[str, float]:
    return {of: means(outcomes)[of]}


def fixed_paradigms() -> Iterator[Null]:
    for name, heavy, fixed, (n, each) in product(STATISTICS, (False, True), (True, False), NESTED):
        tails, of = "t (3)" if heavy else "normal", "items" if fixed else "paradigms"
        column = f"{'always these' if fixed else 'drawn anew'} {n} x {each}: {of}"
        null = coverage(name, [each] * n, name, tails, column, heavy=heavy, fixed=fixed)
        yield replace(null, summary=partial(only, of=of))


def uneven(layouts: Mapping[str, Sequence[int]]) -> Iterator[Null]:
    """Yield the coverage over paradigms of some sizes, and how often equal models "differ beyond"."""
    for layout, sizes in layouts.items():
        number = effective_number(np.repeat(np.arange(len(sizes)), sizes))
        labels = (layout, f"{sum(sizes):,}", f"{number:.1f}")
        yield from (coverage(name, sizes, *labels, name) for name in SHOWN)
        yield said_beyond(sizes, *labels, "differ beyond")


def over_paradigms(rates: Mapping[str, float]) -> str:
    return f"{rates['paradigms']:.3f}" if rates.get("given", 1) else "none"


def over_both(rates: Mapping[str, float]) -> str:
    return f"{rates['items']:.3f} / {rates['paradigms']:.3f}"


def ceiling() -> Iterator[Null]:
    return (of_shares(*each) for each in product(CEILING, CEILING_SIZES))


NEAR = 4 * np.sqrt(0.05 * 0.95 * (1 / 200 + 1 / 600))
"""Four standard errors of the difference between 200 runs and the 600 of the table."""


def as_published(section: str, row: str, column: str) -> tuple[float, float]:
    stated = float(published(section)[row, column])
    assert stated > 0.915, (row, column)
    return stated - NEAR, stated + NEAR


def as_stated(section: str, layouts: Mapping[str, Sequence[int]], layout: str, name: str) -> Null:
    bounds = {"given": (0.85 if layouts is FEW else 0.951, 1.0), "paradigms": as_published(section, layout, name)}
    return coverage(name, layouts[layout], layout, name, seed=8).small(200, bounds)


def ceiling_as_stated(paradigms: str, sizes: str) -> Null:
    stated = as_published("Accuracies near 1 and 0", paradigms, sizes)
    return of_shares(paradigms, sizes, seed=8).small(200, {"covered": stated})


UNEVEN_TESTED = (
    ("40, 20, 13, …, 3 (12)", "accuracy"),
    ("`jblimp`", "difference (`comparisons`)"),
    ("`jblimp`", "rho"),
    ("120, 60, …, 4 (30)", "AUC"),
    ("40, 20, 13, …, 3 (12)", "kappa"),
    ("40, 20, 13, …, 3 (12)", "balanced accuracy"),
)
FEW_TESTED = (
    ("6 x 4", "accuracy"),
    ("4 x 20", "r"),
    ("4 x 6", "difference (`comparisons`)"),
    ("30, 20, 10, 5, 5, 2", "accuracy"),
    ("9, 8, 7, 8", "kappa"),
    ("5 x 10", "rho"),
    ("6 x 20", "AUC"),
)
CEILING_TESTED = product(
    ("0.995; 1 in 20 fails", "0.97 ± 0.03", "0.03 ± 0.03; 1 in 20 at 0.90"), ("6 x 10", "12 x 10", "`jblimp`")
)
ELSEWHERE = {"robust r", *(name for _, name in (*UNEVEN_TESTED, *FEW_TESTED))} - {"accuracy"}
ANEW = {"given": (1.0, 1.0), "paradigms": (0.9, 0.99), "items": (0.0, 0.93)}  # .947 to .957 over paradigms in 2,000
SAME = ("accuracy pooled, position bias", "difference (`comparisons`)", "mean over suites")
ITEMS = at_least(0.91, "items")
"""Of .95; below .91 in 1 of 100."""
TESTED = (
    *(coverage(name, [50] * 20, name, "drawn anew").small(200, ANEW) for name in STATISTICS if name not in ELSEWHERE),
    *(coverage(x, [10] * 10, x, "always these", fixed=True, heavy=True).small(200, ITEMS) for x in SAME),
    # .950 and .958 in 1,500 runs; .906 and .911 with one quarter added
    coverage("kappa", [2] * 12, "kappa", "12 x 2", shared=0.0).small(300, at_least(0.92, "items", "paradigms")),
    # 0.12 with Cochran's ratio of sums
    said_beyond(UNEVEN["`jblimp`"], "equal models", "`jblimp`").small(300, at_most(0.1, "paradigms")),
)
OF_UNEVEN = tuple(as_stated("Paradigms of uneven sizes", UNEVEN, *cell) for cell in UNEVEN_TESTED)
OF_FEW = tuple(as_stated("Few paradigms", FEW, *cell) for cell in FEW_TESTED)
OF_CEILING = tuple(ceiling_as_stated(*cell) for cell in CEILING_TESTED)
HEADS = ("sizes", "items", "effective number")
TABLES = (
    Table("paradigms", ("estimate",), equal_sizes, TESTED, over_both),
    Table("paradigms_fixed", ("estimate", "tails"), fixed_paradigms, cell=shown),
    Table("paradigms_uneven", HEADS, partial(uneven, UNEVEN), OF_UNEVEN, over_paradigms),
    Table("paradigms_few", HEADS, partial(uneven, FEW), OF_FEW, over_paradigms),
    Table("ceiling", ("paradigms",), ceiling, OF_CEILING, shown),
)
