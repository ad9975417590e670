"""More kinds of data with known truth for `coverage`: r given the rest, raters, clustered items."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from nulls.coverage import Case, Draw
from pairbank.arrays import FloatArray
from pairbank.stats.estimates.estimate import Estimate, without_interval
from pairbank.stats.measures.agreement import pearson, spearman
from pairbank.stats.measures.associations import ROBUST, jackknifed_r
from pairbank.stats.measures.raters import ICC, Level, alpha_of_counts, single_rater_correlations, single_rater_interval

NOISES = ("normal", "heavy-tailed (t3)", "tied (rounded)")


def noise(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> FloatArray:
    """Return numbers of mean 0; those that are to be tied are rounded at the end, not here."""
    return rng.standard_t(3, shape) if kind == NOISES[1] else rng.standard_normal(shape)


def finished(kind: str, *columns: FloatArray) -> tuple[FloatArray, ...]:
    return tuple(np.round(x) for x in columns) if kind == NOISES[2] else columns


def subjects_of_items(rng: np.random.Generator, n: int, *, kind: str, r: float) -> tuple[FloatArray, ...]:
    """Return x and y of four subjects, shape (items, subjects): half of what varies is the item's, for all alike."""
    own_x, own_y = (noise(rng, kind, (n, 1)) + noise(rng, kind, (n, 4)) for _ in range(2))
    return finished(kind, own_x + np.arange(4), r * own_x + np.sqrt(1 - r * r) * own_y)


def within_r(x: FloatArray, y: FloatArray) -> Estimate:
    """Return what `within_correlation` does, without pingouin, which takes 26 ms for the same r."""
    n, k = x.shape
    u, v = ((c - c.mean(axis=0)).ravel() for c in (x, y))
    r = float(u @ v / np.sqrt((u @ u) * (v @ v)))
    weight = np.full(u.size, n / (n - 1))
    return jackknifed_r(r, u, v, weight, np.repeat(np.arange(n), k), lost=2)


def given_columns(rng: np.random.Generator, n: int, *, kind: str, r: float, n_given: int) -> tuple[FloatArray, ...]:
    """Return x, y and what is given: both are its sum and parts of their own that correlate at r."""
    given, (x, e) = noise(rng, kind, (n, n_given)), noise(rng, kind, (2, n))
    common = given.sum(axis=1) / np.sqrt(n_given)
    y = r * x + np.sqrt(1 - r * r) * (rng.standard_normal(n) * (0.3 + np.abs(x)) if kind == "spread grows" else e)
    return finished(kind, common + x, common + y, given)


def partial_r(x: FloatArray, y: FloatArray, given: FloatArray) -> Estimate:
    n, lost = given.shape
    basis, _ = np.linalg.qr(np.column_stack([np.ones(n), given]))
    u, v = (c - basis @ (basis.T @ c) for c in (x, y))
    r = float(u @ v / np.sqrt((u @ u) * (v @ v)))
    if n < 8 + 3 * lost:
        return without_interval(r, "too few items", n=n, method=ROBUST)
    weight = (n / (n - 1)) ** 0.25 * (1 - (basis**2).sum(axis=1)) ** -0.75
    return jackknifed_r(r, u, v, weight, np.arange(n), lost=2 + lost)


def in_paradigms(rng: np.random.Generator, n: int, *, fixed: bool) -> tuple[FloatArray, FloatArray]:
    """Return two numbers of items of ten paradigms, whose means share .3 of the variance: always these, or drawn."""
    at = np.random.default_rng(4) if fixed else rng
    level = at.standard_normal((2, 10))
    level[1] = 0.7 * level[0] + 0.7 * level[1]
    x, e = rng.standard_normal((2, n))
    paradigm = np.arange(n) % 10
    parts = (x, 0.5 * x + np.sqrt(0.75) * e)
    first, second = (
        np.asarray(np.sqrt(0.3) * m[paradigm] + np.sqrt(0.7) * p) for m, p in zip(level, parts, strict=True)
    )
    return first, second


def rated_things(rng: np.random.Generator, n: int, *, raters: int, r: float, points: bool) -> tuple[FloatArray]:
    """Return ratings, shape (things, raters), some raters stricter; on a scale of five points, or any number."""
    drawn = np.sqrt(r) * rng.standard_normal((n, 1)) + np.sqrt(1 - r) * rng.standard_normal((n, raters))
    drawn += np.linspace(-0.4, 0.4, raters)
    return (np.clip(np.round(1.5 * drawn + 3.5), 1, 5) if points else drawn,)


def one_rater(ratings: FloatArray, *, kind: str) -> Estimate:
    """Return an intraclass correlation of one rater, as `intraclass_correlations` does."""
    n, k = ratings.shape
    value, *without = single_rater_correlations(ratings)[kind].tolist()
    ends = single_rater_interval(value, np.array(without), n_raters=k)
    if isinstance(ends, str):
        return without_interval(value, ends, n=n, method=ICC)
    return Estimate(value=value, low=ends[0], high=ends[1], n=n, method=ICC)


def counted_ratings(
    rng: np.random.Generator, n: int, *, values: int, raters: int, alike: float, missing: float, rare: bool
) -> tuple[FloatArray, FloatArray]:
    """Return how often each value was given to each thing, two ratings or more, and the values."""
    shares = np.full(values, 0.1 / (values - 1)) if rare else np.full(values, 1 / values)
    if rare:
        shares[0] = 0.9
    same, own = rng.choice(values, (n, 1), p=shares), rng.choice(values, (n, raters), p=shares)
    given = np.where(rng.random((n, raters)) < alike, same, own)
    there = rng.random((n, raters)) >= missing
    there[:, :2] |= there.sum(axis=1, keepdims=True) < 2
    counts = np.stack([((given == value) & there).sum(axis=1) for value in range(values)], axis=1)
    return counts.astype(np.float64), np.arange(1, values + 1, dtype=np.float64)


def alpha(counts: FloatArray, values: FloatArray, *, scale: Level) -> Estimate:
    return alpha_of_counts(counts, values, scale=scale)


def given_the_rest() -> Iterator[Case]:
    for kind in NOISES:
        for r in (0.0, 0.5, 0.9):
            drawn: Draw = partial(subjects_of_items, kind=kind, r=r)
            data = f"{kind}, four models that share half, r = {r}"
            yield Case("r within models", data, drawn, within_r, None if kind == NOISES[2] else r)
    for kind in (*NOISES, "spread grows"):
        for n_given, r in ((1, 0.0), (1, 0.7), (5, 0.0), (5, 0.7), (20, 0.0)):
            if kind == "spread grows" and r:
                continue
            drawn = partial(given_columns, kind=kind, r=r, n_given=n_given)
            data = f"{kind}, {n_given} given, r = {r}"
            yield Case("partial r", data, drawn, partial_r, None if kind == NOISES[2] else r)


def clustered() -> Iterator[Case]:
    for name, statistic in (("pearson", pearson), ("spearman", spearman)):
        for fixed, said in ((True, "ten paradigms, always these"), (False, "ten paradigms drawn anew")):
            drawn: Draw = partial(in_paradigms, fixed=fixed)
            claim = name if fixed else f"{name} (no claim: see text)"
            yield Case(claim, said, drawn, statistic, None if fixed else _over_draws(name))


def _over_draws(name: str) -> float:
    # within paradigms .5, between .7 / sqrt(.98): the mean over all of them, normal; rho = 6 / pi asin(r / 2)
    r = (0.3 * 0.7 + 0.7 * 0.5) / np.sqrt(0.3 * 0.98 + 0.7)
    return float(r if name == "pearson" else 6 / np.pi * np.arcsin(r / 2))


def raters() -> Iterator[Case]:
    for points in (False, True):
        for n_raters, r in ((2, 0.2), (2, 0.9), (5, 0.6)):
            drawn: Draw = partial(rated_things, raters=n_raters, r=r, points=points)
            for kind in ("consistency_single", "agreement_single"):
                statistic = partial(one_rater, kind=kind)
                data = f"{'five points' if points else 'normal'}, {n_raters} raters, r = {r}"
                name = f"ICC, {kind.removesuffix('_single')}"
                yield Case(name, data, drawn, statistic)
    kinds: tuple[tuple[Level, int, int, float, float, bool], ...] = (
        ("nominal", 2, 2, 0.5, 0.0, False),
        ("nominal", 2, 2, 0.8, 0.0, True),
        ("nominal", 4, 5, 0.4, 0.3, False),
        ("ordinal", 5, 3, 0.5, 0.2, False),
        ("interval", 7, 4, 0.3, 0.0, False),
        ("interval", 7, 4, 0.0, 0.0, False),
        ("interval", 7, 2, 0.9, 0.1, False),
    )
    for scale, values, n_raters, alike, missing, rare in kinds:
        drawn = partial(counted_ratings, values=values, raters=n_raters, alike=alike, missing=missing, rare=rare)
        statistic = partial(alpha, scale=scale)
        data = (
            f"{scale}, {values} values{' (one of .9)' if rare else ''}, {n_raters} raters"
            f"{f', {missing:.0%} missing' if missing else ''}, {alike:.0%} alike"
        )
        yield Case("Krippendorff's alpha", data, drawn, statistic, partial(_alpha_of_many, draw=drawn, scale=scale))


def _alpha_of_many(_: int, draw: Draw, scale: Level) -> float:
    return float(np.mean([alpha(*draw(np.random.default_rng(seed), 20_000), scale=scale).value for seed in range(8)]))
