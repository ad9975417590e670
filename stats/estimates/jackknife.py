"""How far an interval reaches, on a scale where an estimate is about normal: in, what items shift it by; out, a width.

The standard error is the root of the summed squares of the shifts (the jackknife: Hinkley 1978, Biometrika 65:13-21).
Where a few items do most of the shifting, as with heavy tails, that sum is itself uncertain: Student's t has twice
Satterthwaite's degrees of freedom, as many as there are items less what is estimated at most. Twice, because his own
number makes intervals that cover 97 to 98% in the simulations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray


def half_width(shifts: FloatArray, *, level: float, lost: int = 2) -> float:
    """Return how far the interval reaches to either side; 0 where nothing shifts.

    Args:
        shifts: By how much each item moves the estimate, shape (items,); more than `lost` items.
        level: Confidence level, a share.
        lost: Degrees of freedom that are spent on what was estimated.

    >>> round(half_width(np.array([0.1, -0.1, 0.1, -0.1]), level=0.95), 3)
    0.861
    """
    from scipy import special

    squares = shifts**2
    total = float(squares.sum())
    if not total > 0:
        return 0.0
    uncertainty = float((squares**2).sum()) / total**2 - 1 / shifts.size
    freedom = float(shifts.size - lost)
    if uncertainty > 4 / freedom:
        freedom = max(1.0, 4 / uncertainty)
    return float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)


def deleted(without: FloatArray) -> FloatArray:
    """Return the shifts of a jackknife: from the estimate without each item, on the scale of the interval.

    >>> deleted(np.array([1.0, 2.0, 3.0, 2.0])).round(3).tolist()
    [-0.866, 0.0, 0.866, 0.0]
    """
    return np.asarray(math.sqrt((without.size - 1) / without.size) * (without - without.mean()))
