"""How far a model's distribution of answers is from people's: in, ratings and the model's shares; out, distances.

The distance of one sentence is Wasserstein's of the first order: the area between both cumulated distributions, in
points of the scale (with two answers: the difference of two shares). Few people make any distribution look far: `floor`
is the distance that people's own distribution would have, from people split at random into halves. Its null is a model
whose answers do not depend on the sentence: none of those is nearer to people than `constant`, the one distribution
that is nearest to all of these sentences' (of cumulated shares, the median over sentences minimises the area).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import deleted, draws, half_width, shifts_of_mean, with_paradigms
from pairbank.stats.estimates.estimate import Estimate, undefined

LEAST_THINGS, LEAST_RATERS = 10, 3
MOST_GROUPS = 50
"""Groups of raters that are left out in turn; of fewer raters, each is one."""
N_HALVES = 20
"""Splits of the raters into halves, for the floor."""
METHOD = "jackknife over sentences and raters"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionDistance:
    """Mean distances in points of the scale, over what was rated."""

    model: Estimate
    """Of the model's distributions from people's."""
    constant: Estimate
    """Of the one distribution that suits these sentences best."""
    nearer: Estimate
    """model - constant: below 0, the model's answers follow the sentence as people's do."""
    floor: float
    """What the model's distance would be about, were its distributions people's; NaN of fewer than four people each."""
    n_raters: int


def distribution_distance(
    units: IntArray,
    raters: IntArray,
    values: FloatArray,
    shares: FloatArray,
    points: FloatArray,
    *,
    weights: FloatArray | None = None,
    n_draws: int = 0,
    paradigms: IntArray | None = None,
) -> DistributionDistance:
    """Return how far a model's distributions are from those of people, and what that is held against.

    Ratings have the number of what was rated and of their rater, `shares` a row per thing (NaN: none) and a column per
    point, ascending. Weights of one rater's ratings of one thing add to 1. Shares are of `n_draws` answers, or the
    model's probabilities (0).

    >>> things, raters = np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12)
    >>> shares = np.eye(3)[np.arange(12) % 3]
    >>> found = distribution_distance(things, raters, 1.0 + things % 3, shares, np.array([1.0, 2.0, 3.0]))
    >>> found.model.value, round(found.constant.value, 3), found.floor
    (0.0, 0.667, 0.0)
    """
    if shares.ndim != 2 or shares.shape[1] != points.size or (np.diff(points) <= 0).any():
        given = f"shares of shape {shares.shape} and {points.size} answers"
        raise BankError(f"{given}; expected ascending answers, a share each")
    known = np.asarray(~np.isnan(shares).any(axis=1), dtype=np.bool_)
    weight = np.ones(units.size) if weights is None else weights
    kept = known[units] & (np.rint(np.bincount(units, weights=weight, minlength=len(shares)))[units] > 1)
    which, thing = np.unique(units[kept], return_inverse=True)
    _, rater = np.unique(raters[kept], return_inverse=True)
    n_raters = int(rater.max(initial=-1)) + 1
    if which.size < LEAST_THINGS or n_raters < LEAST_RATERS:
        rated = f"{which.size} sentences rated by two people or more, {n_raters} people"
        none = undefined(f"{rated}; it takes {LEAST_THINGS} and {LEAST_RATERS}", n=which.size, method=METHOD)
        return DistributionDistance(model=none, constant=none, nearer=none, floor=math.nan, n_raters=n_raters)
    grid = np.unique(np.concatenate([points, values[kept]]))
    column = np.searchsorted(grid, values[kept])
    cells = _Cells(thing=thing, rater=rater, column=column, weight=weight[kept], n=which.size, grid=grid)
    model = np.zeros((which.size, grid.size))
    model[:, np.searchsorted(grid, points)] = shares[which]
    model = np.cumsum(model / model.sum(axis=1, keepdims=True), axis=1)
    own_values = None if paradigms is None else draws(paradigms[which], which.size)
    of_things = _distances(cells, model, np.ones(thing.size, dtype=np.bool_))
    group = rater % min(n_raters, MOST_GROUPS)
    without = np.array([_distances(cells, model, group != entry).mean(axis=0) for entry in range(int(group.max()) + 1)])
    names = ("model", "constant", "nearer")
    results = {name: _estimate(of_things[:, nth], without[:, nth], own_values) for nth, name in enumerate(names)}
    return DistributionDistance(**results, floor=_floor(cells, n_draws), n_raters=n_raters)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """Ratings on a grid of values."""

    thing: IntArray
    rater: IntArray
    column: IntArray
    """Of the value, in the grid."""
    weight: FloatArray
    """Of the rating, among all of its thing."""
    n: int
    """Things."""
    grid: FloatArray

    def cumulated(self, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the cumulated shares of each thing among some ratings, NaN of none, and how many there are."""
        k, cell = self.grid.size, self.thing[chosen] * self.grid.size + self.column[chosen]
        counts = np.bincount(cell, weights=self.weight[chosen], minlength=self.n * k).reshape(self.n, k)
        n = counts.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.cumsum(counts, axis=1) / n[:, np.newaxis]), np.asarray(np.rint(n))

    def apart(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the areas between cumulated shares, one per thing."""
        return np.asarray(np.abs(a - b)[:, :-1] @ np.diff(self.grid))


def _distances(cells: _Cells, model: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return the distances of each thing: of the model, of the best constant, their difference; shape (things, 3)."""
    people, n = cells.cumulated(chosen)
    rated = n > 0
    of_model = cells.apart(model[rated], people[rated])
    of_constant = cells.apart(np.median(people[rated], axis=0), people[rated])
    return np.column_stack([of_model, of_constant, of_model - of_constant])


def _estimate(values: FloatArray, without: FloatArray, codes: IntArray | None) -> Estimate:
    """Return a mean over things with the interval of other things and other raters, and one of other paradigms."""
    mean, raters = float(values.mean()), deleted(without)
    shifts = (values - mean) / math.sqrt(values.size * (values.size - 1))
    half = half_width(np.concatenate([shifts, raters]))
    result = Estimate(value=mean, low=mean - half, high=mean + half, n=values.size, method=METHOD)
    if codes is None:
        return result
    half = half_width(np.concatenate([shifts_of_mean(values, codes), raters]), lost=1)
    return with_paradigms(result, mean - half, mean + half, codes)


def _floor(cells: _Cells, n_draws: int) -> float:
    """Return the mean distance that people's own distributions would have, from halves of the people."""
    rng, result = np.random.default_rng(0), []
    _, n = cells.cumulated(np.ones(cells.thing.size, dtype=np.bool_))
    enough = n >= 4
    if not enough.any():
        return math.nan
    for _ in range(N_HALVES):
        half = rng.permutation(int(cells.rater.max()) + 1) % 2 == 0
        (a, n_a), (b, n_b) = (cells.cumulated(half[cells.rater] == side) for side in (True, False))
        both = enough & (n_a > 0) & (n_b > 0)
        if not both.any():
            continue
        want = 1 / n[both] + (1 / n_draws if n_draws else 0.0)
        result.append(float((cells.apart(a[both], b[both]) * np.sqrt(want / (1 / n_a[both] + 1 / n_b[both]))).mean()))
    return float(np.mean(result)) if result else math.nan
