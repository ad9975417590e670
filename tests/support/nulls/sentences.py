"""Scores in which a sentence of a report would be wrong, and how often its condition holds all the same.

The conditions are those of the sections, on arrays: the functions that decide are the sections' own. The data are of
three kinds: few items, items in paradigms (which differ), and ties.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pandas as pd

from nulls import Null, Outcome, Table, at_least, at_most, raters
from nulls.paradigm_draws import UNEVEN
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
Row = tuple[str, str, Said]
"""A sentence, the data in which it is wrong, and whether it is said."""


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


def rows() -> Iterator[Row]:
    """Yield sentences, the data in which they are wrong, and whether they are said."""
    said = "`comparisons`: k of m comparisons differ on such items"
    for n in (24, 200, 1000):
        yield said, f"4 equal models, {n:,} items", partial(differ, n=n)
    for n in (24, 1000):
        yield said, f"the same, one of them with ties on a third, {n:,} items", partial(differ, n=n, rounded=True)
    data = "60 paradigms of 20; models differ on each, not on the whole"
    yield f"{said} (true of these paradigms)", data, partial(differ_on_paradigms, n_paradigms=60, n_each=20)
    for n_paradigms, n_each in ((12, 20), (60, 20), (60, 3)):
        data = f"{n_paradigms} paradigms of {n_each}; models differ on each, not on the whole"
        draw = partial(differ_beyond, n_paradigms=n_paradigms, n_each=n_each)
        yield "`comparisons`: k differ beyond their paradigms", data, draw
    yield from compared()
    yield from lowest()
    yield from ranks()
    said = "`associations`: x % of the variance of people's differences is predicted"
    for kind in ("normal", "heavy", "tied"):
        for n, n_predictors in ((30, 6), (30, 10), (200, 10)):
            data = f"{n_predictors} predictors of nothing, {kind}, {n} items"
            yield said, data, partial(predicted, n=n, n_predictors=n_predictors, kind=kind)
    yield from above_nulls()


def compared() -> Iterator[Row]:
    """Yield differences between 2, 5 and 20 models on 24, 100 and 1,000 items: none, and one model better by 0.10."""
    for n_models, (n_paradigms, n_each) in product((2, 5, 20), ((12, 2), (10, 10), (20, 50))):
        n = n_paradigms * n_each
        equal = f"{n_models} models that are equally good"
        better = f"power: one of {n_models} models better by 0.10"
        said = "`comparisons`: k of m differ on such items, 2 to 20 models"
        yield said, f"{equal}, {n:,} items", partial(differ, n=n, n_models=n_models)
        yield said, f"{better}, {n:,} items", partial(differ, n=n, n_models=n_models, lead=0.36)
        said = "`comparisons`: k differ beyond their paradigms, 2 to 20 models"
        nested = partial(differ_beyond, n_paradigms=n_paradigms, n_each=n_each, n_models=n_models)
        where = f"{n_paradigms} paradigms of {n_each}, on which they vary"
        yield said, f"{equal}, {where}", nested
        yield said, f"{better}, {where}", partial(nested, lead=0.5)


def lowest() -> Iterator[Row]:
    """Yield the sentences on the lowest paradigms: none is below chance, all are equal, and power."""
    said = "`paradigms`: k below chance on average over models"
    for n_models, n_each, ties in (
        (1, 8, 0.0),
        (1, 100, 0.0),
        (1, 30, 0.3),
        (3, 30, 0.0),
        (13, 10, 0.0),
        (20, 50, 0.0),
    ):
        data = f"67 at chance, {n_each} items each, {n_models} model{'s' * (n_models > 1)}{', 0.3 ties' * bool(ties)}"
        yield said, data, partial(below, n_each=n_each, n_models=n_models, ties=ties)
    yield f"{said} (were it not corrected)", "67 at chance, 30 items each", partial(uncorrected_below, n_each=30)
    for n, n_each in ((4, 6), (10, 10), (20, 50)):
        for n_models in (2, 20):
            data = f"power: all {n} at 0.21, {n_each} items each, {n_models} models"
            yield said, data, partial(below, n_each=n_each, n_models=n_models, n=n, share=0.21)
    said = "`paradigms`: an interval of the five lowest misses the truth"
    for n_models, n_each in ((1, 8), (1, 20), (1, 100), (5, 20), (20, 100)):
        for share in (0.5, 0.7, 0.95):
            data = f"67 equal ones at {share:.2f}, {n_each} items each, {n_models} model{'s' * (n_models > 1)}"
            yield said, data, partial(lowest_missed, n_each=n_each, n_models=n_models, share=share)
    for n_each in (20, 100):
        data = f"67 equal ones at 0.70, {n_each} items each, 1 model"
        yield "the lowest one's interval, had it been chosen beforehand", data, partial(alone_missed, n_each=n_each)


def ranks() -> Iterator[Row]:
    """Yield the leaderboard's ranks: of models that are equal over all paradigms, and of one that is better."""
    for over in (False, True):
        said = f"ranks: a model lacks one of the ranks that it has ({'with' if over else 'without'} paradigms)"
        for n_paradigms, n_each in ((10, 10), (20, 50), (75, 10)):
            for n_models in (2, 5, 20):
                data = f"{n_models} equal models, {n_paradigms} paradigms of {n_each} on which they vary"
                draw = partial(misranked, n_paradigms=n_paradigms, n_each=n_each, n_models=n_models, over=over)
                yield said, data, draw
    for n_paradigms, n_each in ((20, 50), (75, 10)):
        data = f"power: the best of 5 is better by 0.15, {n_paradigms} paradigms of {n_each}"
        draw = partial(misranked, n_paradigms=n_paradigms, n_each=n_each, lead=0.75)
        yield "ranks: the best model has rank 1 alone", data, draw


def above_nulls() -> Iterator[Row]:
    """Yield the sentence on word counts and random weights: the same true r, and power."""
    said = "`grammaticality`: log P is above word counts (one of k)"
    sizes = ((24, 1), (200, 1), (1000, 1), (12, 2), (10, 10), (20, 50), (67, 15))
    for people, (n_paradigms, n_each) in product((False, True), sizes):
        which = "prediction 2a" if people else "prediction 1a"
        where = f"{n_paradigms} paradigms of {n_each}" if n_each > 1 else f"{n_paradigms:,} independent pairs"
        draw = partial(above_null, n_paradigms=n_paradigms, n_each=n_each, people=people)
        if n_each > 1:
            yield f"{said}, over items alone (before)", f"{which}, the same true r, {where}", partial(draw, over=False)
        yield said, f"{which}, the same true r, {where}", draw
        yield said, f"{which}, the same true r, heavy tails, {where}", partial(draw, heavy=True)
        lead = 1.0 if people else 0.3
        yield said, f"power: {which}, r higher ({_rs(people, lead)}), {where}", partial(draw, lead=lead)
    said = "`grammaticality`: r is lower in the furthest tenth in k of m (p < .05)"
    uneven = ("200 + 19 x 5", "120, 60, …, 4 (30)", "`jblimp`")
    layouts = {"10 x 20": [20] * 10, "20 x 50": [50] * 20} | {name: UNEVEN[name] for name in uneven}
    for n_models, (where, paradigms) in product((3, 6, 13), layouts.items()):
        draw = partial(falls, sizes=paradigms, n_models=n_models)
        yield said, f"{n_models} models, 2 corpora, paradigms {where}, distance changes nothing", draw
        if n_models == 6:
            power = partial(draw, effect=0.3)
            yield said, f"power: {n_models} models, 2 corpora, paradigms {where}, noise grows with distance", power


def _rs(people: bool, lead: float) -> str:
    if people:
        each = [0.4 * k * 2**0.5 / (2 * (0.4 * k) ** 2 + 1.25) ** 0.5 for k in (1 + lead, 1.0)]
    else:
        each = [(2 * k**2 - 0.16) / (2 * k**2 + 0.16 + 0.36) for k in (1 + lead, 1.0)]
    return f"{each[0]:.2f} for {each[1]:.2f}"


def outcome(rng: np.random.Generator, said: Said) -> Outcome:
    return {"said": said(rng)}


def null_of(*row: Any) -> Null:  # noqa: ANN401 - of Row
    return Null(row[:-1], partial(outcome, said=row[-1]))


def nulls() -> Iterator[Null]:
    return chain((null_of(*row) for row in rows()), raters.nulls())


WRONG = {
    "equal models differ": partial(differ, n=100),
    "equal models differ, one with ties": partial(differ, n=100, rounded=True),
    "models differ beyond paradigms": partial(differ_beyond, n_paradigms=30, n_each=20),
    "paradigms at chance lie below it": partial(below, n_each=30),
    "paradigms at chance lie below it, ties": partial(below, n_each=30, ties=0.3),
    "three models are below chance": partial(below, n_each=30, n_models=3),
    "the lowest lie elsewhere": partial(lowest_missed, n_each=30),
    "the lowest of three models lie elsewhere": partial(lowest_missed, n_each=30, n_models=3),
    "r is above word counts": partial(above_null, n_paradigms=12, n_each=20),
    "r with people is above word counts": partial(above_null, n_paradigms=12, n_each=20, people=True),
    "nothing is predicted": partial(predicted, n=30, n_predictors=10),
    "nothing is predicted, heavy tails": partial(predicted, n=30, n_predictors=6, kind="heavy"),
}
"""15 of 120 wrong at most; at .05, more in 1 of 2,000."""
TESTED = (
    *(null_of(name, said).small(120, at_most(0.125), ci=True) for name, said in WRONG.items()),
    # what would be said without a correction, and what is true of these paradigms alone
    null_of("uncorrected", partial(uncorrected_below, n_each=30)).small(20, at_least(0.801)),
    null_of("the lowest alone", partial(alone_missed, n_each=30)).small(20, at_least(0.501)),
    null_of("on paradigms", partial(differ_on_paradigms, n_paradigms=60, n_each=20)).small(30, at_least(0.201)),
    null_of("over items", partial(above_null, n_paradigms=20, n_each=50, over=False)).small(100, at_least(0.101)),
    *raters.TESTED,
)
TABLES = (Table("sentences", ("sentence", "data"), nulls, TESTED),)
