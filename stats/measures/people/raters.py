"""People as systems: what each rater chose of each item in, accuracies of raters, majorities and ceilings out.

A choice is 1 for the better side, -1 for the worse one, 0 for neither (a tie, credited one half), NaN where the rater
did not judge the item. What individual raters reach together is what a model can be held against: one more person, or
many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.shares import share_of_items, share_of_trials

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.stats.estimates.estimate import Estimate

LEAST_TOGETHER = 10
"""Things that a rater must have rated for a correlation with the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAccuracy:
    """How often raters choose the better side, alone and together; ties are one half."""

    single: Estimate
    """Share of all judgments; the items are the clusters of the interval."""
    each: tuple[Estimate, ...]
    """Of each rater, in the order of the columns."""
    majority: Estimate
    """Of what most raters of an item chose."""
    majority_of_others: Estimate
    """Of what most of the others chose, averaged over the raters who are left out."""

    @property
    def spread(self) -> tuple[float, float, float, float]:
        """Mean over raters, standard deviation (n - 1), lowest and highest."""
        values = np.array([one.value for one in self.each if one.is_defined])
        sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
        return float(values.mean()), sd, float(values.min()), float(values.max())


def rater_accuracy(choices: FloatArray) -> RaterAccuracy:
    """Return the accuracy of individual raters and of majorities.

    Args:
        choices: Shape (items, raters): 1, -1, 0 or NaN; every item judged by somebody.

    Raises:
        BankError: If a choice is something else, or an item or rater has none.

    >>> found = rater_accuracy(np.array([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [1.0, 0.0, np.nan]]))
    >>> [round(one.value, 3) for one in found.each], round(found.majority.value, 3)
    ([1.0, 0.625, 0.333], 0.75)
    """
    check_choices(choices)
    credit = (1 + choices) / 2
    items, raters = np.nonzero(~np.isnan(choices))
    return RaterAccuracy(
        single=share_of_trials(credit[items, raters], items),
        each=tuple(share_of_items(column[~np.isnan(column)]) for column in credit.T),
        majority=share_of_items((1 + np.sign(np.nansum(choices, axis=1))) / 2),
        majority_of_others=share_of_items(_of_others(choices)),
    )


def check_choices(choices: FloatArray) -> None:
    """Refuse what are no choices.

    Raises:
        BankError: If a choice is not 1, 0, -1 or NaN, or an item or a rater has none.
    """
    if choices.ndim != 2 or not choices.size:
        raise BankError(f"choices have shape {choices.shape}; expected items x raters")
    known = ~np.isnan(choices)
    if odd := sorted(set(np.unique(choices[known])) - {-1.0, 0.0, 1.0}):
        raise BankError(f"a choice is {odd[0]}; expected 1 (better side), -1 (worse side), 0 (neither) or NaN")
    if not known.any(axis=1).all() or not known.any(axis=0).all():
        raise BankError("an item or a rater has no choice at all; leave it out")


def _of_others(choices: FloatArray) -> FloatArray:
    """Return the credit of each item's majority without one of its raters, averaged over them; items of two or more."""
    known = ~np.isnan(choices)
    several = known.sum(axis=1) > 1
    part, known = choices[several], known[several]
    rest = np.sign(np.nansum(part, axis=1, keepdims=True) - np.nan_to_num(part))
    credit = np.where(known, (1 + rest) / 2, 0.0)
    return np.asarray(credit.sum(axis=1) / known.sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class WithOthers:
    """How each rater goes with the mean of the other raters, and a model with the same means on the same things."""

    rater: FloatArray
    """Pearson r of each rater with the others' mean, shape (raters,); NaN of too few things or of no spread."""
    model: FloatArray
    """The same of the model; all NaN where there is none."""
    n: IntArray
    """Things of each."""


def with_others(things: IntArray, raters: IntArray, values: FloatArray, model: FloatArray | None = None) -> WithOthers:
    """Return correlations of raters, and of a model, with the mean of all raters but one.

    Args:
        things: Number of what was rated, from 0, shape (ratings,).
        raters: Number of the rater, from 0, same shape.
        values: The ratings.
        model: The model's score of each thing, shape (things,); NaN where it has none.

    >>> things, raters = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    >>> found = with_others(things, raters, things + 0.0, model=-np.arange(12.0))
    >>> found.rater.round(6).tolist(), found.model.round(6).tolist()
    ([1.0, 1.0, 1.0], [-1.0, -1.0, -1.0])
    """
    n_of = np.bincount(things)
    rest = (np.bincount(things, weights=values)[things] - values) / np.maximum(n_of[things] - 1, 1)
    kept = n_of[things] > 1
    theirs = np.full(values.shape, np.nan) if model is None else model[things]
    if model is not None:
        kept &= ~np.isnan(theirs)
    n_raters = int(raters.max()) + 1
    who, other = raters[kept], rest[kept]
    n = np.bincount(who, minlength=n_raters)
    return WithOthers(
        rater=_r_by(who, values[kept], other, n_raters),
        model=_r_by(who, theirs[kept], other, n_raters) if model is not None else np.full(n_raters, np.nan),
        n=n,
    )


def _r_by(who: IntArray, x: FloatArray, y: FloatArray, n_groups: int) -> FloatArray:
    """Return Pearson's r within each group; NaN below `LEAST_TOGETHER` or without spread."""
    n = np.maximum(np.bincount(who, minlength=n_groups), 1)

    def centred(values: FloatArray) -> FloatArray:
        return np.asarray(values - (np.bincount(who, weights=values, minlength=n_groups) / n)[who])

    def summed(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, weights=values, minlength=n_groups), dtype=np.float64)

    a, b = centred(x), centred(y)
    below = summed(a * a) * summed(b * b)
    found = np.full(n_groups, np.nan)
    np.divide(summed(a * b), np.sqrt(below), out=found, where=(below > 1e-18) & (n >= LEAST_TOGETHER))
    return found
