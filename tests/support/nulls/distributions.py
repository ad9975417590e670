"""People, strict or mild, and models that answer on a scale of seven points, or yes or no: which is said to be nearer.

Sentences and raters are drawn anew in each run; coverage is of the mean over all runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
from scipy.stats import norm

from nulls import Null, Table, at_least, at_most, own_seed
from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.measures.distributions import DistributionDistance, distribution_distance

POINTS = np.arange(1.0, 8.0)
CUTS = np.arange(1.5, 7.0)
Model = Literal["people", "constant", "between"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    n_things: int = 100
    n_raters: int = 20
    per_thing: int = 20
    """Raters of each sentence."""
    n_paradigms: int = 0
    rater_spread: float = 0.6
    repeats: int = 0
    """Yes/no answers of each rater to each sentence, of which the share that is yes is known; 0 = one rating."""

    @property
    def cuts(self) -> FloatArray:
        """Between which opinions the answers lie."""
        return np.array([4.0]) if self.repeats else CUTS


def shares_at(means: FloatArray, design: Design) -> FloatArray:
    """Return the shares of each answer in the population of raters, shape (things, answers)."""
    spread = np.hypot(1.0, design.rater_spread)
    below = norm.cdf((design.cuts - means[:, np.newaxis]) / spread)
    return np.diff(np.column_stack([np.zeros(len(means)), below, np.ones(len(means))]), axis=1)


def constant_shares(design: Design) -> FloatArray:
    """Return the one distribution nearest to all sentences: the median of the cumulated shares, over many of them."""
    means = 4 + 1.3 * norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    return np.diff(np.median(np.cumsum(shares_at(means, design), axis=1), axis=0), prepend=0.0)


def made(seed: int, *, design: Design, model: Model, n_draws: int) -> DistributionDistance:
    """Return what is found of a model among other sentences and people."""
    rng = np.random.default_rng(seed)
    effect = rng.standard_normal(design.n_things)
    paradigms: IntArray | None = None
    if design.n_paradigms:
        paradigms = np.arange(design.n_things) % design.n_paradigms
        effect = 0.7 * rng.standard_normal(design.n_paradigms)[paradigms] + np.sqrt(1 - 0.49) * effect
    means = 4 + 1.3 * effect
    shares = shares_at(means, design)
    if model != "people":
        constant = np.tile(constant_shares(design), (design.n_things, 1))
        shares = constant if model == "constant" else 0.3 * shares + 0.7 * constant
    if n_draws:
        shares = rng.multinomial(n_draws, shares / shares.sum(axis=1, keepdims=True)) / n_draws
    mild = design.rater_spread * rng.standard_normal(design.n_raters)
    raters = np.concatenate([rng.permutation(design.n_raters)[: design.per_thing] for _ in range(design.n_things)])
    things = np.repeat(np.arange(design.n_things), design.per_thing)
    opinions, points, weights = means[things] + mild[raters], POINTS, None
    if design.repeats:
        chance = norm.cdf((opinions + 0.8 * rng.standard_normal(things.size) - design.cuts[0]) / 0.6)
        yes = rng.binomial(design.repeats, chance) / design.repeats
        things, raters, points = np.tile(things, 2), np.tile(raters, 2), np.array([0.0, 1.0])
        values, weights = np.repeat(points, yes.size), np.concatenate([1 - yes, yes])
    else:
        values = 1.0 + np.searchsorted(CUTS, opinions + rng.standard_normal(things.size))
    return distribution_distance(
        things, raters, values, shares, points, weights=weights, n_draws=n_draws, paradigms=paradigms
    )


def ends(result: DistributionDistance, name: str) -> tuple[float, float]:
    one = getattr(result, name)
    lows, highs = [one.low], [one.high]
    if one.n_paradigms:
        lows, highs = [*lows, one.low_paradigms], [*highs, one.high_paradigms]
    return min(lows), max(highs)


def found(results: Sequence[DistributionDistance]) -> dict[str, float]:
    """Return coverage, the floor, and how often a report says that the model is nearer than any one distribution."""
    distance, difference = (
        float(np.mean([getattr(one, name).value for one in results])) for name in ("model", "nearer")
    )
    floor = float(np.mean([one.floor for one in results]))
    covered = {
        label: float(np.mean([low <= truth <= high for low, high in (ends(one, name) for one in results)]))
        for label, name, truth in (("distance", "model", distance), ("difference", "nearer", difference))
    }
    return {
        "mean distance": distance,
        "floor": floor,
        "floor / distance": floor / distance,
        **{f"coverage: {label}": share for label, share in covered.items()},
        "said to be nearer": float(np.mean([ends(one, "nearer")[1] < 0 for one in results])),
    }


DESIGNS = {
    "100 sentences, the same 20 raters": Design(),
    "30 sentences, the same 8 raters": Design(n_things=30, n_raters=8, per_thing=8),
    "300 sentences, 5 of 60 raters each": Design(n_things=300, n_raters=60, per_thing=5),
    "200 sentences in 20 paradigms, 10 of 40 raters each": Design(
        n_things=200, n_raters=40, per_thing=10, n_paradigms=20
    ),
    "80 sentences in 8 paradigms, yes/no ten times by 10 of 80 raters each": Design(
        n_things=80, n_raters=80, per_thing=10, n_paradigms=8, repeats=10
    ),
}
MODELS: dict[str, tuple[Model, int]] = {
    "people's distributions": ("people", 0),
    "the same, 10 draws": ("people", 10),
    "one distribution for all (null)": ("constant", 0),
    "one distribution, 10 draws (null)": ("constant", 10),
    "30% of the way to people's": ("between", 0),
}


def null_of(data: str, who: str, design: Design) -> Null:
    model, n_draws = MODELS[who]
    return Null((data, who), partial(made, design=design, model=model, n_draws=n_draws), each=own_seed, summary=found)


def nulls() -> Iterator[Null]:
    return (null_of(data, who, design) for (data, design), who in product(DESIGNS.items(), MODELS))


FEW, COVERED = Design(n_things=60, n_raters=12, per_thing=6, n_paradigms=12), at_least(0.88, "coverage: distance")
NEARER, NOT = at_least(0.9, "said to be nearer"), at_most(0.05, "said to be nearer")
PEOPLE = (NEARER, {"floor / distance": (0.8, 1.2)})
TESTED = tuple(
    null_of("12 paradigms", who, FEW).small(60, COVERED, *((NOT,) if "null" in who else PEOPLE), ci=True)
    for who in ("people's distributions", "one distribution for all (null)", "one distribution, 10 draws (null)")
)
RATES = ("mean distance", "floor", "coverage: distance", "coverage: difference", "said to be nearer")
TABLES = (Table("distributions", ("data", "model"), nulls, TESTED, rates=RATES),)
