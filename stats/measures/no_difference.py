"""Is there evidence that two accuracies on the same items do not differ? What both earn in, a p-value out.

Equivalence within a margin: two one-sided tests (Schuirmann 1987) by the score statistic of a paired difference in
shares (Tango 1998, Stat Med 17:891-908), since a t test of shares says so too often where few items are discordant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import paired_vectors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MARGIN = 0.05
"""Accuracies closer than this are called equivalent, unless another margin is asked for."""


def no_difference(credit_a: ArrayLike, credit_b: ArrayLike, *, margin: float = MARGIN) -> float:
    """Return the p-value of a difference as large as the margin: where small, the accuracies are equivalent.

    Args:
        credit_a: From 0 (wrong) to 1 (right), between them a tie or a mean over presentations, shape (items,).
        credit_b: The other's for the same items.
        margin: A difference in accuracy that does not matter, a share.

    Raises:
        BankError: If the lengths differ, a number is not finite, or the margin is no share between 0 and 1.

    >>> round(no_difference([1.0] * 90 + [0.0, 1.0] * 5, [1.0] * 90 + [1.0, 0.0] * 5), 3)
    0.071
    """
    a, b = paired_vectors(credit_a, credit_b, names=("credit_a", "credit_b"))
    if not 0 < margin < 1:
        raise BankError(f"margin is {margin}; expected a share between 0 and 1, such as {MARGIN}")
    gain = a - b
    return equivalence_p(gain[gain > 0].sum(), -gain[gain < 0].sum(), a.size, margin=margin)


def equivalence_p(only_a: float, only_b: float, n: int, *, margin: float) -> float:
    """Return the p-value of two one-sided tests that a paired difference in shares is within a margin.

    Args:
        only_a: Items that A gets right and B wrong; one on which one of both ties is half an item, which takes the
            variance for larger than it is.
        only_b: Items that B gets right and A wrong, likewise.
        n: Items.
        margin: The largest difference that does not matter.

    >>> round(equivalence_p(10, 10, 400, margin=0.05), 5), equivalence_p(0, 0, 0, margin=0.05)
    (0.00016, nan)
    """
    from scipy.special import ndtr

    if not n:
        return math.nan
    return float(max(ndtr(_score(only_a, only_b, n, margin)), ndtr(_score(only_b, only_a, n, margin))))


def _score(b: float, c: float, n: int, margin: float) -> float:
    """Return Tango's score statistic of b / n - c / n = margin (his equations 11 and 12)."""
    linear = -b - c + (2 * n - b + c) * margin
    share = (math.sqrt(max(0.0, linear**2 + 8 * n * c * margin * (1 - margin))) - linear) / (4 * n)
    return (b - c - n * margin) / math.sqrt(n * (2 * share + margin * (1 - margin)))
