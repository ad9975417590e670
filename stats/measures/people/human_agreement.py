"""How often people pick the better sentence: single forced choices or counts in, agreement with the labels out.

Warstadt et al. 2020 (BLiMP, section 5): individual agreement (a single judgment is right) and aggregate agreement (more
than half of an item's raters are right), both averaged over paradigms. Liu et al. 2024 (ZhoBLiMP): counts a paradigm.
The alternative-annotator test (Calderon et al. 2025): may a model stand in for one of the people?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import paired_vectors
from pairbank.stats.estimates.shares import share_of_trials
from pairbank.stats.measures.people.raters import check_choices

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray, IntArray
    from pairbank.stats.estimates.estimate import Estimate

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAgreement:
    """The same from counts a paradigm; shares."""

    micro: float
    """Right judgments of all judgments."""
    macro: float
    """Mean over paradigms of the share of right judgments."""
    lowest: float
    """Smallest share of a paradigm."""
    n_judgments: int
    n_paradigms: int


def human_agreement(
    paradigms: ArrayLike,
    items: ArrayLike,
    is_right: ArrayLike,
    *,
    level: float = 0.95,
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
            f"judgments have shapes {[c.shape for c in columns]}; expected one paradigm, item and mark each"
        )
    rows = pd.DataFrame({"paradigm": columns[0], "item": columns[1], "right": columns[2].astype(np.float64)})
    each = rows.groupby(["paradigm", "item"], sort=True)["right"].mean()
    shares = each.to_numpy(dtype=np.float64)
    votes = pd.DataFrame(
        {
            "paradigm": each.index.get_level_values("paradigm"),
            "most": shares > 0.5,
            "half": np.where(shares == 0.5, 0.5, shares > 0.5),
        }
    )
    by_paradigm = votes.groupby("paradigm")[["most", "half"]].mean()
    return HumanAgreement(
        individual=float(rows.groupby("paradigm")["right"].mean().mean()),
        aggregate=float(by_paradigm["most"].mean()),
        aggregate_ties_half=float(by_paradigm["half"].mean()),
        pooled=share_of_trials(
            rows["right"].to_numpy(),
            rows.groupby(["paradigm", "item"], sort=True).ngroup().to_numpy(),
            level=level,
        ),
        n_judgments=len(rows),
        n_items=len(votes),
        n_tied=int(np.sum(shares == 0.5)),
        n_paradigms=len(by_paradigm),
    )


def counted_agreement(n_right: ArrayLike, n_judgments: ArrayLike) -> CountedAgreement:
    """Return the agreement from right and all judgments of each paradigm.

    Args:
        n_right: Right judgments, shape (paradigms,).
        n_judgments: All judgments, 1 or more, same shape.

    Raises:
        BankError: If there is no paradigm, or counts that cannot be.

    >>> found = counted_agreement([19, 28], [22, 28])
    >>> round(found.micro, 4), round(found.macro, 4)
    (0.94, 0.9318)
    """
    right, total = paired_vectors(n_right, n_judgments, names=("n_right", "n_judgments"))
    if not right.size or (total < 1).any() or (right < 0).any() or (right > total).any():
        raise BankError(
            f"{right.size} paradigms; expected one or more, each with 0 to n right of n judgments, n above 0"
        )
    shares = right / total
    return CountedAgreement(
        micro=float(right.sum() / total.sum()),
        macro=float(shares.mean()),
        lowest=float(shares.min()),
        n_judgments=int(total.sum()),
        n_paradigms=right.size,
    )
