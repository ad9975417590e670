"""The mean over wordings of a question, with wordings and paradigms (or items) as draws."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray
from pairbank.stats.estimates.bootstrap import draws, freedom, standard_error
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval

LEAST_WORDINGS = 3
METHOD = "wordings-t"


def mean_over_wordings(values: FloatArray, *, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of crossed wordings and items, whose interval is about other wordings and paradigms.

    The squared standard error is that of the wordings' means and that of the items' (over paradigms where they can be
    drawn, CR2); both contain what wordings do to single items. Degrees of freedom are Satterthwaite's.

    Values are (wordings, items); clusters are the items' paradigms.

    >>> result = mean_over_wordings(np.array([[1.0, 0, 1, 1], [0.0, 0, 1, 1], [1.0, 0, 0, 1]]))
    >>> round(result.value, 3), round(result.low, 3), round(result.high, 3)
    (0.583, -0.051, 1.218)
    """
    from scipy.special import stdtrit

    n_wordings, n = values.shape
    if n_wordings < LEAST_WORDINGS or n < 2:
        return undefined(f"{n_wordings} wordings of {n} items; it takes {LEAST_WORDINGS}", n=n, method=METHOD)
    value, codes = float(values.mean()), draws(clusters, n)
    paradigms = np.full(n, -1) if clusters is None else np.asarray(clusters)
    if codes is None and paradigms.min() >= 0 and np.unique(paradigms).size < n:
        return without_interval(value, "paradigms are too few or too uneven to be draws", n=n, method=METHOD)
    units = np.arange(n) if codes is None else codes
    parts = np.array([values.mean(axis=1).var(ddof=1) / n_wordings, standard_error(values.mean(axis=0), units) ** 2])
    square = float(parts.sum())
    if not square:
        return without_interval(value, "the same answer by all wordings to all items", n=n, method=METHOD)
    degrees = square**2 / float((parts**2 / [n_wordings - 1, freedom(units)]).sum())
    half = float(stdtrit(degrees, 0.975)) * math.sqrt(square)
    return Estimate(value=value, low=value - half, high=value + half, n=n, method=METHOD)
