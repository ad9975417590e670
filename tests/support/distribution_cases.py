"""Made-up people, strict or mild, and models that answer on a scale of seven points, or yes or no."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

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


def made(
    rng: np.random.Generator, design: Design, model: Model, *, n_draws: int = 0
) -> tuple[DistributionDistance, FloatArray]:
    """Return what is found of a model among other sentences and people, and its distances."""
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
    result = distribution_distance(
        things, raters, values, shares, points, weights=weights, n_draws=n_draws, paradigms=paradigms
    )
    return result, np.array([result.model.value, result.constant.value, result.nearer.value])


def ends(result: DistributionDistance, name: str) -> tuple[float, float]:
    one = getattr(result, name)
    lows, highs = [one.low], [one.high]
    if one.n_paradigms:
        lows, highs = [*lows, one.low_paradigms], [*highs, one.high_paradigms]
    return min(lows), max(highs)


def is_nearer(result: DistributionDistance) -> bool:
    """Return whether a report says that the model is nearer to people than any one distribution."""
    return ends(result, "nearer")[1] < 0
