"""When two scores are the same: in, differences; out, which of them are ties, and the sign of the others.

One tolerance for all statistics that ask which of two is higher: accuracy, choices, agreement, ranks, paired tests.
It is absolute, since a statistic sees a difference and not the scores behind it, and since a difference has a unit
(nats, or points of a rating) in which 1e-9 means nothing: sums of float64 log-probabilities carry rounding noise of
some 1e-13 nats, and a table printed with fewer digits ties exactly or differs by 1e-7 and more.

A second one is for the answers of a method as a whole: those that hardly differ from item to item are one answer and
the rounding of float32 passes, which differs from batch to batch, and have no r and no kappa.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairbank.scoring.api.names import TIE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import BoolArray, FloatArray

ROUNDING = 1e-4
"""Standard deviation over items, in nats or points of a rating, up to which answers do not vary. Deltas of float32
passes differ by some 1e-6 between batches for small models; tokens of larger ones lie up to 2e-4 off float64."""


def is_tie(difference: ArrayLike) -> BoolArray:
    """Return which differences are at most `TIE` from 0; a NaN is no tie.

    >>> is_tie([0.0, -2e-16, 1e-9, 1e-8]).tolist()
    [True, True, True, False]
    """
    return np.asarray(np.abs(np.asarray(difference, dtype=np.float64)) <= TIE, dtype=np.bool_)


def signs(difference: ArrayLike) -> FloatArray:
    """Return 1 for a positive difference, -1 for a negative one, 0 for a tie, NaN for NaN.

    >>> signs([0.5, -2e-16, -0.5]).tolist()
    [1.0, 0.0, -1.0]
    """
    numbers = np.asarray(difference, dtype=np.float64)
    return np.where(is_tie(numbers), 0.0, np.sign(numbers))


def varies(values: ArrayLike) -> BoolArray:
    """Return whether the numbers of the last axis vary by more than `ROUNDING`; those of one item do not.

    >>> varies([[0.3, 0.3 + 1e-6, 0.3 - 4e-5], [0.3, 0.301, 0.299]]).tolist()
    [False, True]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape[-1] < 2:
        return np.zeros(numbers.shape[:-1], dtype=np.bool_)
    return np.asarray(numbers.std(axis=-1) > ROUNDING, dtype=np.bool_)


def merged(values: ArrayLike) -> FloatArray:
    """Return the values, those that tie with the next smaller one as that one; ranks of these are mid-ranks of ties.

    >>> merged([0.5, -1.0, 0.5 + 1e-12]).tolist()
    [0.5, -1.0, 0.5]
    """
    numbers = np.asarray(values, dtype=np.float64)
    distinct, places = np.unique(numbers, return_inverse=True)
    opens = np.concatenate([[True], ~is_tie(np.diff(distinct))]) if distinct.size else np.zeros(0, dtype=np.bool_)
    firsts = np.maximum.accumulate(np.where(opens, np.arange(distinct.size), 0))
    return np.asarray(distinct[firsts[places]], dtype=np.float64)
