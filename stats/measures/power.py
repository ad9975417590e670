"""How many items, paradigms and raters detect a difference? The tests of reports, on simulated data.

A difference in accuracy: two models that differ by it on average, by more or less on each paradigm; "beyond their
paradigms" as `comparisons` (t test over paradigms, and McNemar). r with people: the interval over paradigms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.paired_tests import mcnemar_mid_p

POWER, SIGNIFICANCE = 0.8, 0.05
PARADIGMS, RATERS = (6, 12, 24, 48), (3, 6, 12, 24)
MOST_ITEMS = 512
"""Per paradigm."""
DISCORDANT, SD_OF_DIFFERENCE, SD_OF_PARADIGMS, RELIABILITY = 0.3, 0.1, 0.5, 0.3
"""Share of items that one of both models gets right alone; sd over paradigms of the difference, and of scores (of the
items' sd); reliability of one rater's difference. All are typical of the corpora in docs/validation.md."""


def items_for_difference(difference: float, *, n_runs: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return the fewest items per paradigm that detect a difference in accuracy in 80% of runs, by number of paradigms.

    >>> found = items_for_difference(0.2, n_runs=100)
    >>> found["items_per_paradigm"].dropna().is_monotonic_decreasing
    True
    """
    if not 0 < difference <= DISCORDANT:
        raise BankError(f"a difference of {difference:g}; expected one above 0 and up to {DISCORDANT:g}")
    rng = np.random.default_rng(seed)
    rows = []
    for n in PARADIGMS:
        least = _least(partial(detected, difference, n, n_runs=n_runs, rng=rng))
        rows.append({"difference": difference, "paradigms": n, "items_per_paradigm": least, "items": least * n})
    return pd.DataFrame(rows)


def detected(difference: float, n_paradigms: int, n_items: int, *, n_runs: int, rng: np.random.Generator) -> BoolArray:
    """Return in which runs two models are said to differ beyond their paradigms."""
    from scipy.stats import t

    own = np.clip(rng.normal(difference, SD_OF_DIFFERENCE, (n_runs, n_paradigms)), -DISCORDANT, DISCORDANT)
    n_discordant = rng.binomial(n_items, DISCORDANT, own.shape)
    better = rng.binomial(n_discordant, (1 + own / DISCORDANT) / 2)
    gains = (2 * better - n_discordant) / n_items
    spread = np.maximum(gains.std(axis=1, ddof=1), 1e-12) / np.sqrt(n_paradigms)
    p_values = 2 * t.sf(np.abs(gains.mean(axis=1)) / spread, n_paradigms - 1)
    sums = zip(better.sum(axis=1), (n_discordant - better).sum(axis=1), strict=True)
    over_items = np.array([mcnemar_mid_p(int(a), int(b)) if a + b else 1.0 for a, b in sums])
    return np.asarray(np.fmax(p_values, over_items) < SIGNIFICANCE)


def items_for_r(r: float, *, n_runs: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return the fewest items per paradigm that detect an r with people's true differences, by paradigms and raters."""
    if not 0 < r < 1:
        raise BankError(f"r is {r:g}; expected one between 0 and 1")
    rng, rows = np.random.default_rng(seed), []
    for n in PARADIGMS[2:]:
        for k in RATERS:
            least = _least(partial(_r_power, r, n, k, n_runs=n_runs, rng=rng))
            rows.append({"r": r, "paradigms": n, "raters": k, "items_per_paradigm": least, "items": least * n})
    return pd.DataFrame(rows)


def _r_power(r: float, n: int, k: int, m: int, *, n_runs: int, rng: np.random.Generator) -> float:
    codes: IntArray = np.repeat(np.arange(n), m)
    share = SD_OF_PARADIGMS**2 / (1 + SD_OF_PARADIGMS**2)
    noise = np.sqrt((1 - RELIABILITY) / RELIABILITY / k)
    said = 0
    for _ in range(n_runs):
        # r holds within paradigms; paradigms have levels of their own, of people and of the model
        people, other, levels, of_model = (rng.normal(size=size) for size in (codes.size, codes.size, n, n))
        model = r * people + np.sqrt(1 - r**2) * other
        human = np.sqrt(1 - share) * people + np.sqrt(share) * levels[codes] + noise * rng.normal(size=codes.size)
        level = r * levels + np.sqrt(1 - r**2) * of_model
        estimate = pearson(np.sqrt(1 - share) * model + np.sqrt(share) * level[codes], human, clusters=codes)
        said += estimate.low_paradigms > 0
    return said / n_runs


def _least(power: Callable[[int], float | BoolArray]) -> float:
    """Return the fewest items per paradigm with enough power, by halving; NaN where even the most have too little."""
    if np.mean(power(MOST_ITEMS)) < POWER:
        return np.nan
    low, high = 1, MOST_ITEMS
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if np.mean(power(middle)) >= POWER else (middle, high)
    return float(high)
