"""How hard is each item, and does it tell good models from bad ones? Credits by item and model in; item curves out.

A two-parameter logistic model (Birnbaum 1968): log odds of a right answer = easiness + discrimination x ability. The
models are few and fixed, the items many and a sample: abilities and the distribution of items maximise the marginal
likelihood over items (De Boeck 2008, Psychometrika 73:533-559, random items; Gauss-Hermite quadrature centred on each
item, Naylor & Smith 1982). Items are then posterior means under that distribution, a normal one in which
discriminations may be negative. Related models err on the same items. How much the correlation of their errors raises
the variance of a discrimination is a design effect, by which likelihood and test are discounted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special, stats

from pairbank.arrays import BoolArray, FloatArray
from pairbank.errors import BankError
from pairbank.stats.measures.paired_tests import corrected

LEAST_MODELS = 12
"""Fewer give intervals that are those of the distribution of items, and p values that no correction can pass."""
LEAST_ITEMS = 50
"""Items that the distribution of items is estimated from."""
SIGNIFICANCE = 0.05
POWER = 0.8
_MOST_ITEMS_OF_FIT = 1_000
"""Abilities and the distribution of items are estimated from at most so many, at equal distances."""
_MOST_CELLS = 4_000_000
"""Numbers (items x nodes x models) held at once."""
_MOST_ROUNDS, _CLOSE = 60, 2e-3
_PRIOR_ITEMS = 20.0
"""Items that the weak prior of the distribution of items counts as: few models do not show how far items vary."""
_PRIOR = np.diag([1.5, 1.0])
_N_NODES = 3
_LEAST_Z = 1.645
"""Of the correlation of two models' errors, one-sided: smaller ones count as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCurves:
    """The curve of each item, and the abilities that it is a function of."""

    ability: FloatArray
    """Of each model; mean 0, standard deviation 1, shape (models,)."""
    difficulty: FloatArray
    """Log odds that a model of mean ability fails, shape (items,)."""
    difficulty_sd: FloatArray
    discrimination: FloatArray
    """Change of the log odds of a right answer per standard deviation of ability, shape (items,)."""
    discrimination_sd: FloatArray
    design_effect: float
    """Variance of a discrimination over that of independent models, 1 or more."""
    discount: float
    """Factor by which the likelihood is discounted: the larger of the effects on discrimination and on difficulty."""
    mean: FloatArray
    """Of easiness and discrimination over items, shape (2,)."""
    covariance: FloatArray
    """Of the same, shape (2, 2)."""

    def interval(self, of: str) -> tuple[FloatArray, FloatArray]:
        """Return the 95% bounds of `difficulty` or `discrimination` of each item."""
        half = stats.norm.ppf(0.975) * getattr(self, f"{of}_sd")
        return getattr(self, of) - half, getattr(self, of) + half


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeTest:
    """Which items better models fail more often than worse ones."""

    p: FloatArray
    """One-sided, of each item; NaN where all models earn the same, shape (items,)."""
    p_bh: FloatArray
    """The same corrected for all items (Benjamini & Hochberg 1995)."""
    suspect: BoolArray
    detectable: float
    """Discrimination that an item half of the models get right needs to be found with 80% power."""


def fit_items(credit: FloatArray) -> ItemCurves:
    """Return the curve of each item from credits (items, models), NaN where a model has no answer.

    >>> rng = np.random.default_rng(0)
    >>> ability, easiness, slope = rng.normal(size=40), rng.normal(size=300), rng.normal(1, 0.6, size=300)
    >>> chance = special.expit(easiness[:, None] + slope[:, None] * ability)
    >>> fit = fit_items((rng.random(chance.shape) < chance).astype(float))
    >>> bool(np.corrcoef(fit.discrimination, slope)[0, 1] > 0.7), bool(np.corrcoef(fit.ability, ability)[0, 1] > 0.97)
    (True, True)
    """
    known = ~np.isnan(credit)
    n_items, n_models = _checked(credit, known)
    filled = np.where(known, credit, 0.0)
    part = np.unique(np.linspace(0, n_items - 1, min(n_items, _MOST_ITEMS_OF_FIT)).round().astype(int))
    share = (filled.sum(axis=0) + 0.5) / (known.sum(axis=0) + 1)
    spread = special.logit(share)
    if np.ptp(spread) < 1e-9:
        raise BankError("all models have the same accuracy, so that no item can tell better from worse ones")
    ability = (spread - spread.mean()) / spread.std()
    mean, covariance = np.array([special.logit(share.mean()), 0.5]), np.eye(2)
    weight = known.astype(np.float64)
    sample = _Distribution(ability=ability, mean=mean, covariance=covariance)
    sample = _fitted(filled[part], weight[part], sample)
    effect, discount = _design_effects(filled[part], known[part], sample)
    if discount > 1:
        sample = _fitted(filled[part], weight[part] / discount, sample)
    moments = [
        _posterior(filled[rows], weight[rows] / discount, sample)[:2]
        for rows in np.array_split(np.arange(n_items), -(-n_items * n_models * _N_NODES**2 // _MOST_CELLS))
    ]
    value = np.concatenate([moment[0] for moment in moments])
    sd = np.sqrt(np.concatenate([moment[1] for moment in moments])[:, [0, 1], [0, 1]])
    return ItemCurves(
        ability=sample.ability,
        difficulty=-value[:, 0],
        difficulty_sd=sd[:, 0],
        discrimination=value[:, 1],
        discrimination_sd=sd[:, 1],
        design_effect=effect,
        discount=discount,
        mean=sample.mean,
        covariance=sample.covariance,
    )


def negative_items(credit: FloatArray, *, design_effect: float = 1.0) -> NegativeTest:
    """Return which items the better models fail more often than the worse ones.

    The models that earn the item are ranked by what they earn on all other items: the sum of their ranks is tested
    against all assignments of the same credits to models (Wilcoxon's test, exact for credits of 0 and 1; Student's t of
    Spearman's rho for others). The z of that p is divided by the root of the design effect.

    >>> credit = (np.arange(12) >= np.arange(30)[:, None] % 12).astype(float)  # item k: models from k on succeed
    >>> credit[29] = np.arange(12) < 6
    >>> found = negative_items(credit)
    >>> np.flatnonzero(found.suspect).tolist(), float(found.p[29].round(4)), float(found.p[12])
    ([29], 0.0011, nan)
    """
    known = ~np.isnan(credit)
    filled = np.where(known, credit, 0.0)
    total, n = filled.sum(axis=0), known.sum(axis=0)
    p = np.full(len(credit), np.nan)
    for nth, (earned, has) in enumerate(zip(filled, known, strict=True)):
        answers = earned[has]
        if answers.size > 2 and np.ptp(answers) > 0:
            rest = (total - earned)[has] / np.maximum(n - has, 1)[has]
            p[nth] = _p_below(answers, stats.rankdata(rest.round(12)))
    p = stats.norm.cdf(stats.norm.ppf(p) / np.sqrt(design_effect))
    tested, adjusted = ~np.isnan(p), corrected(p).benjamini_hochberg
    least = SIGNIFICANCE / max(int(tested.sum()), 1)
    z = stats.norm.ppf(POWER) - stats.norm.ppf(least)
    return NegativeTest(
        p=p,
        p_bh=adjusted,
        suspect=np.asarray(adjusted < SIGNIFICANCE),
        detectable=-float(z * np.sqrt(design_effect / (0.25 * credit.shape[1]))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Distribution:
    """Abilities of the models, and the normal distribution of items."""

    ability: FloatArray
    mean: FloatArray
    covariance: FloatArray


def _checked(credit: FloatArray, known: BoolArray) -> tuple[int, int]:
    n_items, n_models = credit.shape
    if n_models < LEAST_MODELS or n_items < LEAST_ITEMS:
        raise BankError(
            f"{n_models:,} models on {n_items:,} items; expected at least {LEAST_MODELS} models without position bias "
            f"and {LEAST_ITEMS} items: of fewer, discrimination cannot be estimated"
        )
    if not ((credit[known] >= 0) & (credit[known] <= 1)).all():
        raise BankError("a credit is not from 0 to 1; give what each model earns on each item")
    return n_items, n_models


def _fitted(credit: FloatArray, weight: FloatArray, sample: _Distribution) -> _Distribution:
    """Return the abilities and the distribution that maximise the marginal likelihood (EM)."""
    for _ in range(_MOST_ROUNDS):
        before = sample
        value, variance, push, pull = _posterior(credit, weight, sample)
        mean = value.mean(axis=0)
        apart = value - mean
        second = variance.sum(axis=0) + apart.T @ apart
        covariance = (second + _PRIOR_ITEMS * _PRIOR) / (len(value) + _PRIOR_ITEMS)
        step = (push - sample.ability * (scale := weight.max())) / (pull + scale)
        ability = sample.ability + np.clip(step, -0.5, 0.5)
        shift, spread = ability.mean(), ability.std()
        turn = np.array([[1.0, shift], [0.0, spread]])
        sample = _Distribution(
            ability=(ability - shift) / spread, mean=turn @ mean, covariance=turn @ covariance @ turn.T
        )
        moved = np.abs(sample.ability - before.ability).max(), np.abs(sample.mean - before.mean).max()
        if max(*moved, np.abs(sample.covariance - before.covariance).max()) < _CLOSE:
            break
    return sample


def _posterior(
    credit: FloatArray, weight: FloatArray, sample: _Distribution
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean and covariance of each item's parameters, and score and information of each ability."""
    mode, spread = _modes(credit, weight, sample)
    root = np.linalg.cholesky(spread)
    nodes, log_weights = _nodes()
    at = mode[:, None, :] + np.einsum("iab,qb->iqa", root, nodes)
    odds = at[:, :, :1] + at[:, :, 1:] * sample.ability
    chance = special.expit(odds)
    earned = np.stack([(credit * weight).sum(axis=1), (credit * weight) @ sample.ability], axis=1)
    away = at - sample.mean
    log_density = (at @ earned[:, :, None])[:, :, 0] - (
        (np.maximum(odds, 0) - np.log(np.maximum(chance, 1 - chance))) @ weight[:, :, None]
    )[:, :, 0]
    log_density += log_weights - 0.5 * ((away @ np.linalg.inv(sample.covariance)) * away).sum(axis=2)
    mass = special.softmax(log_density, axis=1)
    value = (mass[:, None, :] @ at)[:, 0]
    off = at - value[:, None, :]
    variance = (mass[:, :, None] * off).transpose(0, 2, 1) @ off
    slopes = mass * at[:, :, 1]
    push = weight * (credit * slopes.sum(axis=1)[:, None] - (slopes[:, None, :] @ chance)[:, 0])
    pull = weight * ((slopes * at[:, :, 1])[:, None, :] @ (chance * (1 - chance)))[:, 0]
    return value, variance, push.sum(axis=0), pull.sum(axis=0)


def _modes(credit: FloatArray, weight: FloatArray, sample: _Distribution) -> tuple[FloatArray, FloatArray]:
    """Return the most probable parameters of each item and the inverse of the curvature there."""
    design = np.stack([np.ones_like(sample.ability), sample.ability])
    squares = (design[:, None] * design).reshape(4, -1).T
    precision = np.linalg.inv(sample.covariance)
    value = np.tile(sample.mean, (len(credit), 1))
    for _ in range(30):
        information = _information(value @ design, weight, squares) + precision
        chance = special.expit(value @ design)
        slope = (weight * (credit - chance)) @ design.T - (value - sample.mean) @ precision
        step = np.linalg.solve(information, slope[:, :, None])[:, :, 0]
        value = value + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-6:
            break
    return value, np.linalg.inv(_information(value @ design, weight, squares) + precision)


def _information(odds: FloatArray, weight: FloatArray, squares: FloatArray) -> FloatArray:
    chance = special.expit(odds)
    return ((weight * chance * (1 - chance)) @ squares).reshape(-1, 2, 2)


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Return points of a standard normal plane, shape (nodes, 2), and the logarithms of their weights over density."""
    points, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    plane = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)
    both = np.log(np.outer(weights, weights)).reshape(-1)
    return plane, both + 0.5 * (plane**2).sum(axis=1)


def _design_effects(credit: FloatArray, known: BoolArray, sample: _Distribution) -> tuple[float, float]:
    """Return how much the correlation of the models' errors raises the variance of a discrimination, and at most."""
    value, *_ = _posterior(credit, known.astype(np.float64), sample)
    chance = special.expit(value[:, :1] + value[:, 1:] * sample.ability)
    error = np.where(known, (credit - chance) / np.sqrt(np.maximum(chance * (1 - chance), 0.01)), 0.0)
    size = np.sqrt((error**2).sum(axis=0))
    n, place = len(size), sample.ability
    correlation = error.T @ error / np.outer(size, size) + (1 + np.outer(place, place)) / n
    differ = np.where(known, credit, np.inf).min(axis=1) < np.where(known, credit, -np.inf).max(axis=1)
    error_of_r = 1 / np.sqrt(max(int(differ.sum()), 1))
    correlation[correlation < _LEAST_Z * error_of_r] = 0.0
    np.fill_diagonal(correlation, 1.0)
    common = (correlation.sum() - n) / (n * (n - 1))
    of_slope = max(1.0, float(place @ correlation @ place / (place @ place) / (1 - common)))
    by_chance = float(stats.norm.pdf(_LEAST_Z)) * error_of_r
    return of_slope, max(of_slope, 1 + (n - 1) * float(common - by_chance))


def _p_below(answers: FloatArray, ranks: FloatArray) -> float:
    """Return how often credits given to models at random are as low or lower for the models of high rank."""
    if np.isin(answers, (0.0, 1.0)).all():
        wrong = answers == 0
        n, k = len(answers), int(min(wrong.sum(), n_right := (~wrong).sum()))
        few = wrong if wrong.sum() <= n_right else ~wrong
        rank_sum = ranks[few].sum() if few is not wrong else (n + 1) * k - ranks[few].sum()
        ways = _rank_sums(n)[k]
        return float(ways[: int(np.floor(rank_sum + 1e-9)) + 1].sum() / ways.sum())
    rho = np.corrcoef(stats.rankdata(answers), ranks)[0, 1]
    free = len(answers) - 2
    return float(stats.t.cdf(rho * np.sqrt(free / max(1 - rho**2, 1e-12)), free))


@cache
def _rank_sums(n: int) -> FloatArray:
    """Return in how many ways k of the ranks 1 to n have each sum, shape (n // 2 + 1, n * (n + 1) / 2 + 1)."""
    most = n // 2
    ways = np.zeros((most + 1, n * (n + 1) // 2 + 1))
    ways[0, 0] = 1
    for rank in range(1, n + 1):
        for k in range(min(rank, most), 0, -1):
            ways[k, rank:] += ways[k - 1, :-rank]
    return ways
