"""The named result of every statistic: a value, its interval, and why either is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.arrays import check_level
from pairbank.stats.wording import number


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One number, its confidence interval, how many items it rests on and how the interval was made.

    An undefined value, or an interval that cannot be had, is NaN and `reason` says why; neither is ever 0.

    Raises:
        BankError: If something is NaN without a reason, infinite, or the interval is half there or upside
            down.

    >>> Estimate(value=0.75, low=0.51, high=0.90, n=40, method="bootstrap-percentile").high
    0.9
    """

    value: float
    """The estimate, in the unit of the statistic; NaN where it is undefined."""
    low: float
    """Lower end of the interval, same unit; NaN where there is none."""
    high: float
    """Upper end of the interval, same unit; NaN where there is none."""
    n: int
    """Items used (a clustered estimate counts clusters, not rows)."""
    method: str
    """How the interval was made, e.g. `bootstrap-percentile`, `fisher-z`."""
    level: float = 0.95
    """Confidence level of the interval, a share."""
    reason: str | None = None
    """Why the value or the interval is NaN; None where both are there."""
    low_paradigms: float = math.nan
    """Lower end of the interval over other paradigms like these; NaN where paradigms are too few or unknown."""
    high_paradigms: float = math.nan
    """Upper end of it."""
    n_paradigms: int = 0
    """Paradigms that it rests on; 0 where there is none."""

    def __post_init__(self) -> None:
        check_level(self.level)
        numbers = (self.value, self.low, self.high)
        if math.isnan(self.low_paradigms) != math.isnan(self.high_paradigms) or (
            self.low_paradigms > self.high_paradigms
        ):
            raise BankError(f"{self.method}: low and high over paradigms are not an interval: {self!r}")
        if any(math.isinf(x) for x in numbers) or self.n < 0:
            raise BankError(f"{self.method}: an infinite number or a negative n cannot be a result: {self!r}")
        if any(math.isnan(x) for x in numbers) != bool(self.reason):
            raise BankError(f"{self.method}: a result has a reason if and only if something is NaN: {self!r}")
        if math.isnan(self.low) != math.isnan(self.high) or self.low > self.high:
            raise BankError(f"{self.method}: low and high are not an interval: {self!r}")

    @property
    def is_defined(self) -> bool:
        """Whether the value is a number; its interval may still be missing."""
        return not math.isnan(self.value)


def undefined(reason: str, *, n: int, method: str, level: float = 0.95) -> Estimate:
    """Return the estimate of something that has no value for these data.

    Args:
        reason: Why, in a few words; travels to tables and cards.
        n: Items there were.
        method: How the interval would have been made.
        level: Confidence level, a share.

    >>> undefined("no items", n=0, method="bootstrap-percentile").value
    nan
    """
    return without_interval(math.nan, reason, n=n, method=method, level=level)


def without_interval(value: float, reason: str, *, n: int, method: str, level: float = 0.95) -> Estimate:
    """Return an estimate whose value is known and whose interval is not.

    >>> without_interval(1.0, "one item has no spread", n=1, method="bootstrap-percentile").low
    nan
    """
    return Estimate(value=value, low=math.nan, high=math.nan, n=n, method=method, level=level, reason=reason)


def said(estimate: Estimate) -> str:
    """Return an estimate as a reader quotes it.

    >>> from pairbank.stats.estimates.estimate import Estimate
    >>> said(Estimate(value=0.754, low=0.512, high=0.9, n=40, method="bootstrap-percentile"))
    '0.75 [0.51, 0.90]'
    """
    if not estimate.is_defined:
        return f"undefined ({estimate.reason})"
    if np.isnan(estimate.low):
        return f"{number(estimate.value)} (no interval: {estimate.reason})"
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"
