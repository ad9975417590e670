"""How numbers are written in the sentences of the verdict: in, numbers; out, text as papers print r and p."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate


def signed_with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval, or with why there is none.

    >>> from pairbank.stats.estimates.estimate import Estimate
    >>> signed_with_interval(Estimate(value=0.0451, low=-0.01, high=0.1, n=40, method="m"))
    '+0.045 [-0.010, +0.100]'
    """
    if math.isnan(estimate.low):
        return f"{signed(estimate.value)} [no interval: {estimate.reason}]"
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]"


def signed(value: float) -> str:
    """Return a number with its sign and three digits.

    >>> signed(-0.25), signed(1.5)
    ('-0.250', '+1.500')
    """
    return number(value, digits=3, sign=True)
