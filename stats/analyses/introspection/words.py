"""How numbers are written in the sentences of the verdict: in, numbers; out, text as papers print r and p."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate


def with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval, or with why there is none.

    >>> from pairbank.stats.estimates.estimate import Estimate
    >>> with_interval(Estimate(value=0.0451, low=-0.01, high=0.1, n=40, method="m"))
    '+.045 [-.010, +.100]'
    """
    if math.isnan(estimate.low):
        return f"{signed(estimate.value)} [no interval: {estimate.reason}]"
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]"


def signed(value: float) -> str:
    """Return a number with its sign and three digits.

    >>> signed(-0.25), signed(1.5)
    ('-.250', '+1.500')
    """
    return bare(f"{value:+z.3f}")


def p_words(value: float) -> str:
    """Return a p value with its relation.

    >>> p_words(0.0004), p_words(0.02)
    ('< .001', '= .020')
    """
    return "< .001" if value < 0.001 else bare(f"= {value:z.3f}")


def bare(number: str) -> str:
    """Return a number without the 0 before its point.

    >>> bare("= 0.05")
    '= .05'
    """
    return number.replace("0.", ".", 1) if number.lstrip("=+- ").startswith("0.") else number
