"""Normalisation of ratings, by name: in, raters and their values; out, values that raters' habits move less.

`none` leaves them. `z-by-rater` subtracts a rater's mean and divides by the rater's standard deviation (n - 1), over
all that the rater judged in the corpus: Sprouse, Schütze & Almeida 2013, section 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pairbank.errors import unknown_name

Normalisation = Literal["none", "z-by-rater"]
NORMALISATIONS: tuple[Normalisation, ...] = ("none", "z-by-rater")


def normalised(
    values: Sequence[float], raters: Sequence[int], normalisation: Normalisation = "none"
) -> NDArray[np.float64]:
    """Return the values under a normalisation.

    A rater who gave one rating, or the same one always, has no z-scores: NaN.

    Raises:
        UnknownNameError: no such normalisation.

    >>> normalised([1.0, 2.0, 3.0, 5.0, 5.0], [0, 0, 0, 1, 1], "z-by-rater").tolist()
    [-1.0, 0.0, 1.0, nan, nan]
    """
    if normalisation not in NORMALISATIONS:
        raise unknown_name("normalisation", normalisation, NORMALISATIONS)
    found = np.asarray(values, dtype=np.float64)
    if normalisation == "none" or not found.size:
        return found
    _, who = np.unique(np.asarray(raters), return_inverse=True)
    n = np.bincount(who)
    centred = found - (np.bincount(who, weights=found) / n)[who]
    squares = np.bincount(who, weights=centred**2)
    spread = np.full(n.shape, np.nan)
    spread[(n > 1) & (squares > 0)] = np.sqrt(squares / np.maximum(n - 1, 1))[(n > 1) & (squares > 0)]
    return np.asarray(centred / spread[who], dtype=np.float64)


def scale_after(scale: str, normalisation: Normalisation) -> str:
    """Return the scale that values are on after a normalisation.

    >>> scale_after("likert7", "z-by-rater"), scale_after("likert7", "none")
    ('likert7-z-by-rater', 'likert7')
    """
    return scale if normalisation == "none" else f"{scale}-{normalisation}"
