"""Two-way choices between the first and the second option: in, differences or counts; out, confusion and agreement.

Ivanova et al. 2024: a rating or a log-probability becomes a choice by comparing the two contexts; the published code
takes the second context where it scores higher and the first one otherwise, so that a tie counts as the first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray
from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, finite_vector, paired_vectors, undefined
from pairbank.stats.estimates.shares import share_of_items, signs
from pairbank.stats.measures.agreement import cohens_kappa


class Confusion(NamedTuple):
    """Counts of two choosers' joint choices: the first word is the reference's, the second the other's."""

    first_first: int
    first_second: int
    second_first: int
    second_second: int

    @property
    def n(self) -> int:
        return sum(self)


def takes_second(second_minus_first: ArrayLike) -> BoolArray:
    """Return which items go to the second option; a tie goes to the first, as in the published code."""
    return np.asarray(signs(finite_vector(second_minus_first, name="second_minus_first")) > 0, dtype=np.bool_)


def confusion(reference_second: ArrayLike, other_second: ArrayLike) -> Confusion:
    """Return the joint counts of two choosers."""
    a, b = np.asarray(reference_second, dtype=np.bool_), np.asarray(other_second, dtype=np.bool_)
    if a.shape != b.shape or a.ndim != 1:
        raise BankError(f"choices have shapes {a.shape} and {b.shape}; expected one of each per item, shape (n,)")
    return Confusion(
        first_first=int(np.sum(~a & ~b)),
        first_second=int(np.sum(~a & b)),
        second_first=int(np.sum(a & ~b)),
        second_second=int(np.sum(a & b)),
    )


def confusion_kappa(table: Confusion) -> Estimate:
    """Return Cohen's kappa of a confusion table with its interval.

    >>> round(confusion_kappa(Confusion(first_first=122, first_second=51, second_first=48, second_second=129)).value, 3)
    0.434
    """
    result = cohens_kappa(np.repeat([1.0, 1.0, -1.0, -1.0], table), np.repeat([1.0, -1.0, 1.0, -1.0], table))
    if not result.is_defined:
        reason = "there are no items" if not table.n else "the reference or the other always makes one choice"
        return undefined(reason, n=table.n, method=result.method)
    return replace(result, n=table.n) if result.reason else result


def agreement_share(table: Confusion) -> Estimate:
    """Return the share of items with the same choice, with Wilson's interval.

    >>> found = agreement_share(Confusion(first_first=2, first_second=1, second_first=0, second_second=1))
    >>> found.value, found.n
    (0.75, 4)
    """
    return share_of_items(np.repeat([1.0, 0.0, 0.0, 1.0], table))


def choice_counts(delta: ArrayLike, human_delta: ArrayLike) -> dict[str, int]:
    """Return how often a method and people prefer which side; ties are items on which either prefers neither.

    >>> choice_counts([1, 1, -1, 0], [2, -1, 1, 1])
    {'both_good': 1, 'only_method_good': 1, 'only_people_good': 1, 'both_bad': 0, 'n_ties': 1}
    """
    a, b = (signs(x) for x in paired_vectors(delta, human_delta, names=("delta", "human_delta")))
    kinds = {
        "both_good": (a > 0) & (b > 0),
        "only_method_good": (a > 0) & (b < 0),
        "only_people_good": (a < 0) & (b > 0),
        "both_bad": (a < 0) & (b < 0),
        "n_ties": (a == 0) | (b == 0),
    }
    return {name: int(of.sum()) for name, of in kinds.items()}
