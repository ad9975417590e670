"""Made-up scores in which a sentence of a report would be wrong, and how often its condition holds all the same.

The conditions are those of the sections, on arrays: the functions that decide are the sections' own. The data are of
three kinds: few items, items in paradigms (which differ), and ties.
"""

import gc
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.analyses.grammaticality.section import exceeds
from pairbank.stats.analyses.paradigms import extremes
from pairbank.stats.measures.accuracy import simultaneous_by_group, wilson_by_group
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.associations import p_of_all
from pairbank.stats.measures.distance_bins import counts_lower_when_far
from pairbank.stats.measures.paired_tests import beyond_clusters_p, corrected, gain_test, mcnemar_mid_p
from pairbank.stats.measures.rank_intervals import pair_counts, rank_intervals

SIGNIFICANCE = 0.05
Said = Callable[[np.random.Generator], bool]


def equal_models(rng: np.random.Generator, *, n: int, n_models: int = 4, rounded: bool = False) -> FloatArray:
    """Return differences of models that are equally good on items that are hard or easy for all; one may be rounded.

    Rounding makes ties of what is near 0; numbers lie around 0, so that rounding changes no accuracy.
    """
    made = rng.standard_normal(n) + rng.standard_normal((n_models, n))
    if rounded:
        made[0] = np.round(made[0] / 2)
    return made


def differ(rng: np.random.Generator, *, n: int, rounded: bool = False, n_models: int = 4, lead: float = 0.0) -> bool:
    """Return whether any two equal models are said to differ on such items; with a `lead`, the first from another."""
    made = equal_models(rng, n=n, rounded=rounded, n_models=n_models)
    made[0] += lead
    return _any_differ(made, first_alone=lead > 0)


def in_paradigms(
    rng: np.random.Generator, *, n_paradigms: int, n_each: int, spread: float = 0.5, n_models: int = 4
) -> tuple[FloatArray, IntArray]:
    """Return models, equally good over all paradigms with ups and downs of their own, and the paradigms."""
    paradigm = np.repeat(np.arange(n_paradigms), n_each)
    easy = 0.5 + rng.standard_normal(n_paradigms)[paradigm] + rng.standard_normal(paradigm.size)
    own = spread * rng.standard_normal((n_models, n_paradigms))
    return easy + own[:, paradigm] + rng.standard_normal((n_models, paradigm.size)), paradigm


def differ_on_paradigms(rng: np.random.Generator, *, n_paradigms: int, n_each: int) -> bool:
    """Return whether any two are said to differ on such items, which they do on these very paradigms."""
    return _any_differ(in_paradigms(rng, n_paradigms=n_paradigms, n_each=n_each)[0])


def differ_beyond(
    rng: np.random.Generator, *, n_paradigms: int, n_each: int, n_models: int = 4, lead: float = 0.0
) -> bool:
    """Return whether any two are said to differ beyond their paradigms; with a `lead`, the first from another."""
    made, paradigm = in_paradigms(rng, n_paradigms=n_paradigms, n_each=n_each, n_models=n_models)
    made[0] += lead
    p = [beyond_clusters_p(_gain(a, b), paradigm) for a, b in combinations(made, 2)]
    holm = corrected(p).holm[: n_models - 1] if lead else corrected(p).holm  # pairs with the first come first
    return bool((holm < SIGNIFICANCE).any())


def misranked(
    rng: np.random.Generator, *, n_paradigms: int, n_each: int, n_models: int = 5, over: bool = True, lead: float = 0.0
) -> bool:
    """Return whether any of equally good models is not given all ranks; with a `lead`, whether the best is told apart.

    Models vary over paradigms by .4 where items vary by 1.4 (`over` false: ranks from items alone, as before).
    """
    made, paradigm = in_paradigms(rng, n_paradigms=n_paradigms, n_each=n_each, spread=0.4, n_models=n_models)
    made[0] += lead
    result = rank_intervals(pair_counts(made > 0, clusters=paradigm if over else None))
    if lead:
        return bool(result.worst[0] == 1)
    return bool((result.best > 1).any() or (result.worst < n_models).any())


def below(
    rng: np.random.Generator, *, n_each: int, n_models: int = 1, ties: float = 0.0, n: int = 67, share: float = 0.5
) -> bool:
    """Return whether any of 67 paradigms is said to lie below chance on average over models; `share` is their truth."""
    return bool((extremes(*_right(rng, n_each, n_models, ties, n, share), n)["p_below_holm"] < SIGNIFICANCE).any())


def lowest_missed(
    rng: np.random.Generator, *, n_each: int, n_models: int = 1, n: int = 67, share: float = 0.7, named: int = 5
) -> bool:
    """Return whether the interval of any of the paradigms named as the lowest, all equally hard, misses the truth."""
    estimates = simultaneous_by_group(*_right(rng, n_each, n_models, 0.0, n, share), n)
    return any(not x.low <= share <= x.high for x in sorted(estimates, key=lambda one: one.value)[:named])


def alone_missed(rng: np.random.Generator, *, n_each: int, n: int = 67, share: float = 0.7) -> bool:
    """Return whether the lowest one's interval does if it is that of a paradigm chosen beforehand: as before."""
    credit, group = _right(rng, n_each, 1, 0.0, n, share)
    lowest = min(wilson_by_group(credit, group, n), key=lambda one: one.value)
    return not lowest.low <= share <= lowest.high


def _right(
    rng: np.random.Generator, n_each: int, n_models: int, ties: float, n: int, share: float
) -> tuple[FloatArray, IntArray]:
    """Return mean credits over models that find the same items hard, with the paradigm of each item."""
    from scipy.stats import norm

    paradigm = np.repeat(np.arange(n), n_each)
    easy = rng.standard_normal(paradigm.size)
    made = (easy + rng.standard_normal((n_models, paradigm.size))) / np.sqrt(2) + norm.ppf(share)
    credit = np.where(rng.random(made.shape) < ties, 0.5, made > 0)
    return credit.mean(axis=0), paradigm


def above_null(
    rng: np.random.Generator,
    *,
    n_paradigms: int,
    n_each: int,
    people: bool = False,
    heavy: bool = False,
    lead: float = 0.0,
    over: bool = True,
) -> bool:
    """Return whether r of a model is said to be above that of word counts, where both are the same over all paradigms.

    Of prediction 1a, both strings of a pair share their length, which varies over paradigms, and either system shifts
    the two sides of a paradigm by a draw of its own. Of 2a (`people`), both systems follow people equally, with draws
    of their own for each paradigm. One item per paradigm: independent items.
    `lead`: how much stronger the model's part is that makes its r (power); `over`: whether paradigms count.
    """
    paradigm = np.repeat(np.arange(n_paradigms), n_each)

    def drawn(of_paradigms: float, of_items: float) -> FloatArray:
        size = (n_paradigms, paradigm.size)
        a, b = (rng.standard_t(3, x) / np.sqrt(3) if heavy else rng.standard_normal(x) for x in size)
        return np.asarray(of_paradigms * a[paradigm] + of_items * b)

    shared = drawn(1.0, 1.0)
    result = []
    for strength in (1 + lead, 1.0):
        if people:
            x, y = 0.4 * strength * shared + drawn(0.5, 1.0), shared
        else:
            shift = drawn(0.4, 0.0)
            x, y = (strength * shared + side * shift + drawn(0.0, 0.6) for side in (1, -1))
        result.append(pearson(x, y, clusters=paradigm if over and n_each > 1 else None))
    model, null = result
    low, high = np.fmin(model.low, model.low_paradigms), np.fmax(null.high, null.high_paradigms)
    return bool(exceeds(model.value, low, null.value, high))


def falls(rng: np.random.Generator, *, sizes: Sequence[int], n_models: int, effect: float = 0.0) -> bool:
    """Return whether r is said to be lower in the furthest tenth of pairs of two corpora, of which paradigms are drawn.

    Distances vary over paradigms and pairs. Models share the length of a pair and half of the variance of the rest.
    With `effect`, the noise of a pair grows with its distance.
    """
    paradigm = np.repeat(np.arange(len(sizes)), sizes)
    counts = []
    for _ in range(2):
        distance, length = (
            rng.standard_normal(len(sizes))[paradigm] + rng.standard_normal(len(paradigm)) for _ in "ab"
        )
        noise = 0.4 * np.exp(effect * distance)
        shared, made = rng.standard_normal((2, len(paradigm))), []
        for model in range(n_models):
            shift = 0.4 * rng.standard_normal(len(sizes))[paradigm]
            own = shared + rng.standard_normal(shared.shape)
            numbers = {"distance": distance, "x": length + shift + noise * own[0], "y": length - shift + noise * own[1]}
            made.append(
                pd.DataFrame({"model": model, "item_id": np.arange(len(paradigm)), "paradigm": paradigm} | numbers)
            )
        counts.append(counts_lower_when_far(pd.concat(made), rng=rng, n_permutations=199))
    both = np.sum(counts, axis=0)
    return bool((both >= both[0]).mean() < SIGNIFICANCE)


def uncorrected_below(rng: np.random.Generator, *, n_each: int) -> bool:
    """Return whether any would be without a correction: what the sentence is not."""
    return bool((extremes(*_right(rng, n_each, 1, 0.0, 67, 0.5), 67)["p_below"] < SIGNIFICANCE).any())


def predicted(rng: np.random.Generator, *, n: int, n_predictors: int, kind: str = "normal") -> bool:
    """Return whether ratings that go with no predictor are said to be predicted."""
    shape = (n, n_predictors + 1)
    made = rng.standard_t(3, shape) if kind == "heavy" else rng.standard_normal(shape)
    if kind == "tied":
        made = np.round(made)
    return p_of_all(made[:, 0], made[:, 1:]) < SIGNIFICANCE


def _gain(a: FloatArray, b: FloatArray) -> FloatArray:
    return (np.sign(a) - np.sign(b)) / 2


def _any_differ(made: FloatArray, *, first_alone: bool = False) -> bool:
    pairs = list(combinations(range(len(made)), 2))
    if (made == 0).any():
        p = [gain_test(_gain(made[a], made[b])).p_mid for a, b in pairs]
    else:  # McNemar's mid-p needs counts alone; of 20 models, there are 190 pairs
        right = (made > 0).astype(np.float64)
        only = right @ (1 - right).T
        p = [mcnemar_mid_p(int(only[a, b]), int(only[b, a])) for a, b in pairs]
    holm = corrected(p).holm[: len(made) - 1] if first_alone else corrected(p).holm  # pairs with the first come first
    return bool((holm < SIGNIFICANCE).any())


def rate(said: Said, *, runs: int, seed: int = 0) -> float:
    rng = np.random.default_rng(seed)
    said(np.random.default_rng(seed))  # imports what it needs
    gc.freeze()  # statsmodels collects garbage in every call of Holm's correction: a tenth of a second
    try:
        return float(np.mean([said(rng) for _ in range(runs)]))
    finally:
        gc.unfreeze()
