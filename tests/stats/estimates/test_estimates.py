"""Estimate: a number without an interval, or no number, always says why."""

import dataclasses
import math

import pytest

from pairbank.errors import BankError
from pairbank.stats import Estimate, undefined
from pairbank.stats.estimates.estimate import without_interval


def test_undefined_is_nan_with_a_reason_and_never_zero() -> None:
    estimate = undefined("no items", n=0, method="fisher-z", level=0.9)
    assert all(math.isnan(x) for x in (estimate.value, estimate.low, estimate.high))
    assert (estimate.n, estimate.method, estimate.level, estimate.reason) == (0, "fisher-z", 0.9, "no items")
    assert not estimate.is_defined


def test_a_value_without_interval_is_defined() -> None:
    estimate = without_interval(1.0, "one item has no spread", n=1, method="bootstrap-percentile")
    assert estimate.is_defined
    assert math.isnan(estimate.low)
    assert math.isnan(estimate.high)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": math.nan}, "if and only if something is NaN"),
        ({"low": math.nan, "high": math.nan}, "if and only if something is NaN"),
        ({"reason": "though all is there"}, "if and only if something is NaN"),
        ({"low": math.nan, "reason": "half an interval"}, "not an interval"),
        ({"low": 0.9, "high": 0.1}, "not an interval"),
        ({"high": math.inf}, "infinite"),
        ({"n": -1}, "negative n"),
        ({"level": 95.0}, "a share between 0 and 1, such as 0.95"),
    ],
)
def test_impossible_estimates_are_refused(changes: dict[str, object], message: str) -> None:
    good = Estimate(value=0.5, low=0.4, high=0.6, n=9, method="bootstrap-percentile")
    with pytest.raises(BankError, match=message):
        dataclasses.replace(good, **changes)  # type: ignore[arg-type]


def test_estimates_cannot_be_changed() -> None:
    estimate = undefined("no items", n=0, method="fisher-z")
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.value = 0.0  # type: ignore[misc]
