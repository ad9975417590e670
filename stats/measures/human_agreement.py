"""How often people pick the better sentence, and how well anything could agree with them: noise ceilings.

Warstadt et al. 2020 (BLiMP, section 5): individual agreement (a single judgment is right) and aggregate agreement (more
than half of an item's raters are right), both averaged over paradigms. Liu et al. 2024 (ZhoBLiMP): counts a paradigm.
The alternative-annotator test (Calderon et al. 2025): may a model stand in for one of the people?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import deleted, draws, freedom, half_width, standard_error
from pairbank.stats.estimates.estimate import Estimate, finite_vector, undefined
from pairbank.stats.estimates.shares import share_of_trials
from pairbank.stats.measures.raters import check_choices
from pairbank.stats.measures.regression import component_variances
from pairbank.stats.wording import number

EPSILON = 0.1
LEAST_RATERS = 3
LEAST_ITEMS = 30
"""Of a rater's items for a t test (section 3.1 of the paper)."""
ALPHA = 0.05
CORRECTED, MOST_PARTS = "jackknife-corrected", 50
"""Interval of r that is corrected for reliability; parts of the items that it leaves out in turn."""

COMPONENTS = "variance-components"
VARIANCES = "rating-variances"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeAnnotator:
    """The test of one model; NaN with a reason where it cannot be made."""

    winning_rate: float = math.nan
    """Share of the tested raters against whom the model wins (the paper's omega)."""
    beyond_paradigms: float = math.nan
    """The same with the paradigms as draws; NaN below ten of them."""
    advantage: float = math.nan
    """Mean over raters of the share of items on which the model agrees with the others as well as the rater or better
    (the paper's rho)."""
    rater_advantage: float = math.nan
    """The same of the raters over the model."""
    n_raters: int
    """Raters with enough items."""
    n_items: int
    reason: str | None = None


def alternative_annotator(
    choices: FloatArray, model: FloatArray, *, epsilon: float = EPSILON, paradigms: IntArray | None = None
) -> AlternativeAnnotator:
    """Return whether a model may replace one of the raters.

    Choices are (items, raters): 1, -1, 0, or NaN where the rater did not judge the item. A model's have no gaps.

    >>> rng = np.random.default_rng(0)
    >>> people = np.where(rng.random((200, 5)) < 0.9, 1.0, -1.0)
    >>> alternative_annotator(people, np.ones(200)).winning_rate
    1.0
    >>> alternative_annotator(people, np.where(rng.random(200) < 0.6, 1.0, -1.0)).winning_rate
    0.0
    """
    check_choices(choices)
    if model.shape != choices.shape[:1] or np.isnan(model).any():
        raise BankError(f"the model has choices of shape {model.shape}; expected {choices.shape[:1]}, without gaps")
    known = ~np.isnan(choices)
    together = known & (known.sum(axis=1) > 1)[:, np.newaxis]
    left_out = []
    for rater in np.flatnonzero(together.sum(axis=0) >= LEAST_ITEMS):
        rows = together[:, rater]
        own = choices[rows, rater]
        others = np.rint(np.nansum(choices[rows], axis=1) - own)
        left_out.append(_left_out(model[rows] * others - own * others, None if paradigms is None else paradigms[rows]))
    return _test(left_out, epsilon=epsilon, n_items=int(together.any(axis=1).sum()))


def alternative_annotator_of_ratings(  # the arrays of one test
    units: IntArray,
    raters: IntArray,
    values: FloatArray,
    model: FloatArray,
    *,
    epsilon: float = EPSILON,
    paradigms: IntArray | None = None,
) -> AlternativeAnnotator:
    """Return the same of ratings: whoever is nearer to the others' mean has the advantage.

    The paper's alignment of continuous ratings is minus the root of the mean squared distance to the others, which puts
    two ratings of a thing in the same order. A model's scores must stand on the raters' scale, as z-scores do.

    >>> rng = np.random.default_rng(0)
    >>> things, raters, true = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60), rng.normal(size=60)
    >>> said = true[things] + rng.normal(size=240)
    >>> alternative_annotator_of_ratings(things, raters, said, true).winning_rate
    1.0
    """
    n_of = np.bincount(units)
    kept = (n_of[units] > 1) & ~np.isnan(model[units])
    thing, who, value = units[kept], raters[kept], values[kept]
    rest = (np.bincount(units, weights=values)[thing] - value) / (n_of[thing] - 1)
    gap = np.abs(model[thing] - rest) - np.abs(value - rest)
    left_out = [
        _left_out(-gap[rows], None if paradigms is None else paradigms[thing[rows]])
        for rows in np.split(np.argsort(who, kind="stable"), np.cumsum(np.bincount(who))[:-1])
        if rows.size >= LEAST_ITEMS
    ]
    return _test(left_out, epsilon=epsilon, n_items=np.unique(thing).size)


_LeftOut: TypeAlias = "tuple[FloatArray, FloatArray, IntArray | None]"
"""Where the model, and where a rater, agrees with the others as well as the other or better; the items' paradigms."""


def _left_out(lead: FloatArray, paradigms: IntArray | None) -> _LeftOut:
    """Return one rater against the model, by how much better the model agrees with the others on each item."""
    return (lead >= 0).astype(np.float64), (lead <= 0).astype(np.float64), paradigms


def _test(left_out: list[_LeftOut], *, epsilon: float, n_items: int) -> AlternativeAnnotator:
    if not 0 <= epsilon < 1:
        raise BankError(f"epsilon is {epsilon}; expected 0 or more, and below 1")
    n_raters = len(left_out)
    if n_raters < LEAST_RATERS:
        reason = (
            f"{n_raters} raters judged {LEAST_ITEMS} items or more that somebody else judged; expected {LEAST_RATERS}"
        )
        return AlternativeAnnotator(n_raters=n_raters, n_items=n_items, reason=reason)
    lost = [(rater - model - epsilon, paradigms) for model, rater, paradigms in left_out]
    return AlternativeAnnotator(
        winning_rate=_rejected([_p_below_zero(values, None) for values, _ in lost]),
        beyond_paradigms=_rejected([math.nan if x is None else _p_below_zero(values, x) for values, x in lost]),
        advantage=float(np.mean([model.mean() for model, *_ in left_out])),
        rater_advantage=float(np.mean([rater.mean() for _, rater, _ in left_out])),
        n_raters=n_raters,
        n_items=n_items,
    )


def _p_below_zero(values: FloatArray, clusters: IntArray | None) -> float:
    """Return the one-sided p-value that a mean is 0 or more, by Student's t; over clusters where they are given."""
    from scipy import special

    mean = float(values.mean())
    if clusters is None:
        df, error = values.size - 1.0, float(values.std(ddof=1)) / math.sqrt(values.size)
    else:
        if (codes := draws(clusters, values.size)) is None:
            return math.nan
        df, error = freedom(codes), standard_error(values, codes)
    if error <= 1e-12:
        return 0.0 if mean < -1e-12 else 1.0
    return float(special.stdtr(df, mean / error))


def _rejected(p_values: list[float]) -> float:
    """Return the share of null hypotheses that Benjamini and Yekutieli's procedure rejects; NaN without p-values."""
    from scipy.stats import false_discovery_control

    known = [p for p in p_values if not math.isnan(p)]
    return float(np.mean(false_discovery_control(known, method="by") <= ALPHA)) if known else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """How often people agree with the labels of a corpus; shares."""

    individual: float
    """Mean over paradigms of the share of single judgments that are right."""
    aggregate: float
    """Mean over paradigms of the share of items that more than half of the raters get right; a tie is not more."""
    aggregate_ties_half: float
    """The same with tied items counted one half."""
    pooled: Estimate
    """Share of all judgments that are right; the items are the clusters of the interval."""
    n_judgments: int
    n_items: int
    n_tied: int
    """Items on which as many raters are right as wrong."""
    n_paradigms: int


def human_agreement(
    paradigms: ArrayLike, items: ArrayLike, is_right: ArrayLike, *, level: float = 0.95
) -> HumanAgreement:
    """Return the agreement of single judgments with the labels.

    Args:
        paradigms: Paradigm of each judgment, shape (judgments,).
        items: Its item; ids may repeat over paradigms.
        is_right: Whether the rater chose the better side.
        level: Confidence level, a share.

    Raises:
        BankError: If there is no judgment, or the lengths differ.

    >>> found = human_agreement(["a"] * 3 + ["b"] * 2, [1, 1, 1, 1, 1], [True, True, False, True, False])
    >>> round(found.individual, 4), found.aggregate, found.aggregate_ties_half, found.n_items, found.n_tied
    (0.5833, 0.5, 0.75, 2, 1)
    """
    columns = [np.asarray(values) for values in (paradigms, items, is_right)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1 or not columns[0].size:
        raise BankError(
            f"judgments have shapes {[column.shape for column in columns]}; expected one paradigm, item and mark each"
        )
    rows = pd.DataFrame({"paradigm": columns[0], "item": columns[1], "right": columns[2].astype(np.float64)})
    by_item = rows.groupby(["paradigm", "item"], sort=True)
    share = by_item["right"].mean()
    votes = pd.DataFrame({"most": (share > 0.5) + 0.0, "half": np.select([share == 0.5], [0.5], share > 0.5)})
    by_paradigm = votes.groupby("paradigm").mean()
    return HumanAgreement(
        individual=float(rows.groupby("paradigm")["right"].mean().mean()),
        aggregate=float(by_paradigm["most"].mean()),
        aggregate_ties_half=float(by_paradigm["half"].mean()),
        pooled=share_of_trials(rows["right"].to_numpy(), by_item.ngroup().to_numpy(), level=level),
        n_judgments=len(rows),
        n_items=len(votes),
        n_tied=int((share == 0.5).sum()),
        n_paradigms=len(by_paradigm),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Reliability of human means and the largest r that a perfect score could reach with them."""

    reliability: float = math.nan
    """Share of the variance of the means that is not rating noise."""
    ceiling_r: float = math.nan
    """Its square root."""
    n: int
    method: str
    reason: str | None = None
    """Why there is none; None where there is one."""


def ceiling_from_ratings(items: ArrayLike, raters: ArrayLike, ratings: ArrayLike) -> Ceiling:
    """Return the ceiling from individual ratings, by the components of their variance: items, raters and the rest.

    The reliability of the items' means is that of the intraclass correlations: ICC(C,k) where all raters rated all
    items (levels of raters then cancel out), ICC(1,k) where every rating has a rater of its own, and between them, for
    any pattern of missing ratings, the share of the variance of means that is of the items.
    Ratings are on the scale of the means that a score is compared with (for instance z).

    >>> items, raters = np.repeat([0, 1, 2, 3], 4), np.tile([0, 1, 2, 3], 4)
    >>> ceiling = ceiling_from_ratings(items, raters, items + 0.0)
    >>> round(ceiling.ceiling_r, 9), ceiling.n
    (1.0, 4)
    """
    values = finite_vector(ratings, name="ratings")
    item, rater = np.asarray(items), np.asarray(raters)
    if not item.shape == rater.shape == values.shape:
        raise BankError(f"items, raters and ratings have shapes {item.shape}, {rater.shape} and {values.shape}")
    codes = [np.unique(names, return_inverse=True)[1].astype(np.int64) for names in (item, rater)]
    n_items, n_raters = (int(code.max(initial=-1)) + 1 for code in codes)
    n_of_item = np.bincount(codes[0], minlength=n_items)
    if n_raters < 2 or n_items < 3 or n_of_item.max(initial=0) < 2:
        reason = f"{n_raters} raters of {n_items} items; a reliability needs 2 raters of an item, and 3 items"
        return Ceiling(reason=reason, n=n_items, method=COMPONENTS)
    of_items, of_raters, rest = _components(values, *codes)
    # how much of the variance of raters' levels is in the items' means: nothing where all rated all
    weight = 1 / n_of_item[codes[0]]
    of_rater = np.bincount(codes[1], weights=weight) / n_items
    levels = (float(weight @ weight) / n_items - float(of_rater @ of_rater)) * n_items / (n_items - 1)
    noise = max(of_raters, 0.0) * levels + rest * float((1 / n_of_item).mean())
    if of_items + noise <= 0:
        return Ceiling(reason="every item has the same mean rating", n=n_items, method=COMPONENTS)
    return _ceiling(of_items / (of_items + noise), n=n_items, method=COMPONENTS)


def _components(values: FloatArray, item: IntArray, rater: IntArray) -> tuple[float, float, float]:
    """Return the variance of items, of raters and of the rest; without raters where no rater rated two items."""
    if np.bincount(rater).max() > 1:
        result = component_variances(values, {"item": item, "rater": rater})
        return float(result[0]), float(result[1]), float(result[2])
    counts, means = np.bincount(item), np.bincount(item, weights=values) / np.bincount(item)
    within = float(((values - means[item]) ** 2).sum()) / (values.size - counts.size)
    between = float((counts * (means - values.mean()) ** 2).sum()) / (counts.size - 1)
    each = (values.size - float((counts**2).sum()) / values.size) / (counts.size - 1)
    return (between - within) / each, 0.0, within


def ceiling_from_spreads(
    human_delta: ArrayLike, sd_good: ArrayLike, n_good: ArrayLike, sd_bad: ArrayLike, n_bad: ArrayLike
) -> Ceiling:
    """Return the ceiling of r with human differences from the spread of the ratings of each sentence.

    The variance of the differences of means is true variance plus rating noise, sd^2 / n of each side (the raters of
    the two sides taken as independent): reliability = 1 - mean noise / variance.
    Standard deviations over two or more raters have n - 1 in the denominator.

    >>> found = ceiling_from_spreads([0, 2, 4], [1, 1, 1], [4, 4, 4], [1, 1, 1], [4, 4, 4])
    >>> found.reliability
    0.875
    """
    names = ("human_delta", "sd_good", "n_good", "sd_bad", "n_bad")
    provided = (human_delta, sd_good, n_good, sd_bad, n_bad)
    delta, *rest = (finite_vector(values, name=name) for name, values in zip(names, provided, strict=True))
    if any(vector.size != delta.size for vector in rest):
        raise BankError(
            f"{names} have {[delta.size, *(vector.size for vector in rest)]} values; expected as many of each"
        )
    if delta.size < 3:
        return Ceiling(reason=f"{delta.size} items; expected 3 or more", n=delta.size, method=VARIANCES)
    if min(rest[1].min(), rest[3].min()) < 2:
        raise BankError("a sentence has fewer than 2 raters; its standard deviation says nothing, leave it out")
    noise = float(np.mean(rest[0] ** 2 / rest[1] + rest[2] ** 2 / rest[3]))
    variance = float(np.var(delta, ddof=1))
    if variance == 0:
        return Ceiling(reason="the human differences do not vary", n=delta.size, method=VARIANCES)
    return _ceiling(1 - noise / variance, n=delta.size, method=VARIANCES)


def disattenuated(delta: FloatArray, human: FloatArray, noise: FloatArray, *, clusters: IntArray) -> Estimate:
    """Return r over the root of the reliability of people's differences (Spearman 1904), with a jackknife interval.

    `noise` is the error variance of `human`, sd^2 / n of both sides.

    >>> rng = np.random.default_rng(0)
    >>> true, noise = rng.normal(size=4000), np.full(4000, 0.5)
    >>> human = true + rng.normal(size=4000) * 0.5**0.5
    >>> found = disattenuated(true, human, noise, clusters=np.full(4000, -1))
    >>> round(float(np.corrcoef(true, human)[0, 1]), 2), round(found.value, 2)
    (0.81, 1.0)
    """

    def value(kept: BoolArray) -> float:
        variance = float(human[kept].var(ddof=1))
        reliability = 1 - float(noise[kept].mean()) / variance if variance else 0.0
        if reliability <= 0 or not np.ptp(delta[kept]):
            return math.nan
        return float(np.corrcoef(delta[kept], human[kept])[0, 1]) / math.sqrt(reliability)

    codes = draws(clusters, delta.size)
    parts = np.arange(delta.size) % MOST_PARTS if codes is None else codes
    whole = value(np.ones(delta.size, dtype=np.bool_))
    without = np.array([value(parts != part) for part in np.unique(parts)])
    if math.isnan(whole) or np.isnan(without).any():
        return undefined("the ratings are noise only, or do not vary", n=delta.size, method=CORRECTED)
    half = half_width(deleted(without), level=0.95)
    return Estimate(
        value=whole,
        low=whole - half,
        high=whole + half,
        n=delta.size,
        method=CORRECTED,
        n_paradigms=0 if codes is None else without.size,
    )


def _ceiling(reliability: float, *, n: int, method: str) -> Ceiling:
    if math.isnan(reliability):
        return Ceiling(reason="the ratings do not vary", n=n, method=method)
    if reliability <= 0:
        return Ceiling(
            reason=f"the ratings are noise only (reliability {number(reliability, digits=3)})", n=n, method=method
        )
    value = min(reliability, 1.0)
    return Ceiling(reliability=value, ceiling_r=math.sqrt(value), n=n, method=method)
