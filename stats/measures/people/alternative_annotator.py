"""The alternative annotator test: choices of raters and of a model in; whether it is as good as one more person, out.

Calderon, Reichart & Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge", section 3. Each rater is left out
in turn. On the items that the rater judged, the model and the rater are each compared with the other raters; the model
wins against the rater where its advantage is shown to be above -epsilon (a one-sided t test; false discoveries over
raters held by Benjamini & Yekutieli 2001). It passes where it wins against half of the raters or more. Epsilon is what
a rater costs more than a model: .2 for experts, 0.15 for trained raters, .1 for crowds.

Two choices agree by 1, opposite ones by 0, and one half where either is a tie. Items of one paradigm are alike: with
ten or more of them the test is given over paradigms as well (Cochran 1977, Sampling Techniques, section 6.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.measures.people.raters import check_choices

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

EPSILON = 0.1
LEAST_RATERS = 3
LEAST_ITEMS = 30
"""Of a rater's items for a t test (section 3.1 of the paper)."""
LEAST_CLUSTERS = 10
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeAnnotator:
    """The test of one model; NaN with a reason where it cannot be made."""

    winning_rate: float
    """Share of the tested raters against whom the model wins (the paper's omega)."""
    beyond_paradigms: float
    """The same with the paradigms as draws; NaN below ten of them."""
    advantage: float
    """Mean over raters of the share of items on which the model agrees with the others as well as the rater or better
    (the paper's rho)."""
    rater_advantage: float
    """The same of the raters over the model."""
    n_raters: int
    """Raters with enough items."""
    n_items: int
    reason: str | None = None

    @property
    def passes(self) -> bool:
        """Whether the model is as good as one more person, within epsilon, on such items."""
        return self.winning_rate >= 0.5


def alternative_annotator(
    choices: FloatArray, model: FloatArray, *, epsilon: float = EPSILON, paradigms: IntArray | None = None
) -> AlternativeAnnotator:
    """Return whether a model may stand in for one of the raters.

    Args:
        choices: Shape (items, raters): 1, -1, 0, or NaN where the rater did not judge the item.
        model: Its choices, shape (items,), no gaps.
        epsilon: From 0 to below 1.
        paradigms: Number of each item's paradigm, from 0; None = there are none.

    Raises:
        BankError: If the arrays do not fit each other, or epsilon is out of its range.

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
        won, lost = _wins(choices[rows], model[rows], int(rater))
        left_out.append(_LeftOut(model=won, rater=lost, paradigms=None if paradigms is None else paradigms[rows]))
    return _test(left_out, epsilon=epsilon, n_items=int(together.any(axis=1).sum()))


def alternative_annotator_of_ratings(  # the arrays of one test
    things: IntArray,
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

    Args:
        things: Number of what was rated, from 0, shape (ratings,).
        raters: Number of the rater, from 0, same shape.
        values: The ratings.
        model: The model's rating of each thing, shape (things,); NaN where it has none.
        epsilon: As for `alternative_annotator`.
        paradigms: Number of each thing's paradigm, shape (things,).

    >>> rng = np.random.default_rng(0)
    >>> things, raters, true = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60), rng.normal(size=60)
    >>> said = true[things] + rng.normal(size=240)
    >>> alternative_annotator_of_ratings(things, raters, said, true).winning_rate
    1.0
    """
    n_of = np.bincount(things)
    kept = (n_of[things] > 1) & ~np.isnan(model[things])
    thing, who, value = things[kept], raters[kept], values[kept]
    rest = (np.bincount(things, weights=values)[thing] - value) / (n_of[thing] - 1)
    gap = np.abs(model[thing] - rest) - np.abs(value - rest)
    left_out = []
    for rows in np.split(np.argsort(who, kind="stable"), np.cumsum(np.bincount(who))[:-1]):
        if rows.size >= LEAST_ITEMS:
            own = None if paradigms is None else paradigms[thing[rows]]
            won, lost = (gap[rows] <= 0).astype(np.float64), (gap[rows] >= 0).astype(np.float64)
            left_out.append(_LeftOut(model=won, rater=lost, paradigms=own))
    return _test(left_out, epsilon=epsilon, n_items=np.unique(thing).size)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftOut:
    """One rater against the model: where each agrees with the others as well as the other or better."""

    model: FloatArray
    rater: FloatArray
    paradigms: IntArray | None


def _test(left_out: list[_LeftOut], *, epsilon: float, n_items: int) -> AlternativeAnnotator:
    if not 0 <= epsilon < 1:
        raise BankError(f"epsilon is {epsilon}; expected 0 or more, and below 1")
    nan = math.nan
    if len(left_out) < LEAST_RATERS:
        return AlternativeAnnotator(
            winning_rate=nan,
            beyond_paradigms=nan,
            advantage=nan,
            rater_advantage=nan,
            n_raters=len(left_out),
            n_items=n_items,
            reason=(
                f"{len(left_out)} raters judged {LEAST_ITEMS} items or more that somebody else judged; "
                f"expected {LEAST_RATERS}"
            ),
        )
    lost = [one.rater - one.model - epsilon for one in left_out]
    beyond = [
        nan if one.paradigms is None else _p_below_zero(values, one.paradigms)
        for one, values in zip(left_out, lost, strict=True)
    ]
    return AlternativeAnnotator(
        winning_rate=_rejected([_p_below_zero(values, None) for values in lost]),
        beyond_paradigms=_rejected(beyond),
        advantage=float(np.mean([one.model.mean() for one in left_out])),
        rater_advantage=float(np.mean([one.rater.mean() for one in left_out])),
        n_raters=len(left_out),
        n_items=n_items,
    )


def _wins(choices: FloatArray, model: FloatArray, rater: int) -> tuple[FloatArray, FloatArray]:
    """Return on which items the model agrees with the other raters as well as the rater does or better, and vice versa.

    Mean agreement with the others is (1 + own x mean of theirs) / 2, so that own x sum of theirs decides.
    """
    mine = choices[:, rater]
    others = np.rint(np.nansum(choices, axis=1) - mine)
    return (model * others >= mine * others).astype(np.float64), (mine * others >= model * others).astype(np.float64)


def _p_below_zero(values: FloatArray, clusters: IntArray | None) -> float:
    """Return the one-sided p-value that a mean is 0 or more, by Student's t; over clusters where they are given."""
    from scipy import special

    mean = float(values.mean())
    if clusters is None:
        n, error = values.size, float(values.std(ddof=1)) / math.sqrt(values.size)
    else:
        _, number = np.unique(clusters, return_inverse=True)
        n = int(number.max()) + 1
        if n < LEAST_CLUSTERS:
            return math.nan
        sums = np.bincount(number, weights=values - mean)
        error = math.sqrt(n / (n - 1) * float(sums @ sums)) / values.size
    if error <= 1e-12:
        return 0.0 if mean < -1e-12 else 1.0
    return float(special.stdtr(n - 1, mean / error))


def _rejected(p_values: list[float]) -> float:
    """Return the share of null hypotheses that Benjamini and Yekutieli's procedure rejects; NaN without p-values."""
    p = np.sort([one for one in p_values if not math.isnan(one)])
    if not p.size:
        return math.nan
    harmonic = float((1 / np.arange(1, p.size + 1)).sum())
    below = np.flatnonzero(p <= ALPHA * np.arange(1, p.size + 1) / (p.size * harmonic))
    return (int(below[-1]) + 1) / p.size if below.size else 0.0
