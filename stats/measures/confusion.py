"""Two-way choices between the first and the second option: in, differences or counts; out, confusion and agreement.

Ivanova et al. 2024: a rating or a log-probability becomes a choice by comparing the two contexts; the published code
takes the second context where it scores higher and the first one otherwise, so that a tie counts as the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray
from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, finite_vector, paired_vectors, undefined, without_interval
from pairbank.stats.estimates.shares import share_of_items, signs
from pairbank.stats.measures.agreement import cohens_kappa


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Counts of two choosers' joint choices: the first word is the reference's, the second the other's.

    >>> table = Confusion(first_first=93, first_second=80, second_first=83, second_second=94)
    >>> table.n, round(table.agreement, 4)
    (350, 0.5343)
    """

    first_first: int
    first_second: int
    second_first: int
    second_second: int

    def __post_init__(self) -> None:
        if min(self.cells) < 0:
            raise BankError(f"confusion counts are {self.cells}; expected 0 or more")

    @property
    def cells(self) -> tuple[int, int, int, int]:
        return self.first_first, self.first_second, self.second_first, self.second_second

    @property
    def n(self) -> int:
        return sum(self.cells)

    @property
    def agreement(self) -> float:
        """Share of items with the same choice; NaN without items."""
        return (self.first_first + self.second_second) / self.n if self.n else float("nan")

    @property
    def first_share(self) -> float:
        """How often the other chooser takes the first option, a share; NaN without items."""
        return (self.first_first + self.second_first) / self.n if self.n else float("nan")


def takes_second(second_minus_first: ArrayLike) -> BoolArray:
    """Return which items go to the second option; a tie goes to the first, as in the published code.

    >>> takes_second([0.5, 0.0, -1.0])
    array([ True, False, False])
    """
    return np.asarray(signs(finite_vector(second_minus_first, name="second_minus_first")) > 0, dtype=np.bool_)


def confusion(reference_second: ArrayLike, other_second: ArrayLike) -> Confusion:
    """Return the joint counts of two choosers.

    >>> confusion([False, False, True], [False, True, True])
    Confusion(first_first=1, first_second=1, second_first=0, second_second=1)
    """
    a, b = np.asarray(reference_second, dtype=np.bool_), np.asarray(other_second, dtype=np.bool_)
    if a.shape != b.shape or a.ndim != 1:
        raise BankError(f"choices have shapes {a.shape} and {b.shape}; expected one of each per item, shape (n,)")
    return Confusion(
        first_first=int(np.sum(~a & ~b)),
        first_second=int(np.sum(~a & b)),
        second_first=int(np.sum(a & ~b)),
        second_second=int(np.sum(a & b)),
    )


def confusion_kappa(table: Confusion, *, level: float = 0.95) -> Estimate:
    """Return Cohen's kappa of a confusion table with its interval.

    >>> round(confusion_kappa(Confusion(first_first=122, first_second=51, second_first=48, second_second=129)).value, 3)
    0.434
    """
    reference = np.repeat([1.0, 1.0, -1.0, -1.0], table.cells)
    other = np.repeat([1.0, -1.0, 1.0, -1.0], table.cells)
    result = cohens_kappa(reference, other, level=level)
    if not result.is_defined:
        entry = "there are no items" if not table.n else "the reference or the other always makes one choice"
        return undefined(entry, n=table.n, method=result.method, level=level)
    if result.reason:
        return without_interval(result.value, result.reason, n=table.n, method=result.method, level=level)
    return result


def agreement_share(table: Confusion, *, level: float = 0.95) -> Estimate:
    """Return the share of items with the same choice, with Wilson's interval.

    >>> found = agreement_share(Confusion(first_first=2, first_second=1, second_first=0, second_second=1))
    >>> found.value, found.n
    (0.75, 4)
    """
    same = np.repeat([1.0, 0.0, 0.0, 1.0], table.cells)
    return share_of_items(same, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceCounts:
    """How often a method and people prefer which side."""

    both_good: int
    only_method_good: int
    only_people_good: int
    both_bad: int
    n_ties: int
    """Items on which the method or people prefer neither."""


def choice_counts(delta: ArrayLike, human_delta: ArrayLike) -> ChoiceCounts:
    """Return the confusion counts of a method's choices with those of people.

    >>> choice_counts([1, 1, -1, 0], [2, -1, 1, 1])
    ChoiceCounts(both_good=1, only_method_good=1, only_people_good=1, both_bad=0, n_ties=1)
    """
    a, b = (signs(x) for x in paired_vectors(delta, human_delta, names=("delta", "human_delta")))
    return ChoiceCounts(
        both_good=int(np.sum((a > 0) & (b > 0))),
        only_method_good=int(np.sum((a > 0) & (b < 0))),
        only_people_good=int(np.sum((a < 0) & (b > 0))),
        both_bad=int(np.sum((a < 0) & (b < 0))),
        n_ties=int(np.sum((a == 0) | (b == 0))),
    )
