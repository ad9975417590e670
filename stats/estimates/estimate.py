"""The named result of every statistic: a value, its interval, and why either is missing; headings of metrics.

`docs/statistics.md` has the formulas; the metrics of a further analysis are defined in its own section.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray
from pairbank.errors import BankError

HUMAN = "human"
"""In the columns `method` and `versus`: the mean judgments of people."""
HEADINGS = {
    "accuracy": {
        "accuracy": "accuracy",
        "human_accuracy": "accuracy",
        "accuracy_pooled": "orders pooled",
        "position_bias": "first option chosen",
        "accuracy_argmax": "of likeliest ratings",
        "unparsed": "no answer found",
        "auc": "AUC",
        "balanced_accuracy": "balanced accuracy",
        "mcc": "MCC",
        "answer_accuracy": "balanced accuracy of answers",
        "acceptance": "says yes",
        "position_bias_sentence": "first option chosen for single sentences",
        "mean_logprob": "mean log P (nats)",
        "mean_score": "mean score",
        "mean_rating": "mean score",
    },
    "agreement": {
        **dict.fromkeys(("pearson", "pearson_human", "pearson_logprob"), "Pearson r"),
        **dict.fromkeys(("spearman", "spearman_human", "spearman_logprob"), "Spearman rho"),
        "pearson_human_sentence": "Pearson r of sentences",
        "spearman_human_sentence": "Spearman rho of sentences",
        "kappa": "Cohen's kappa",
        "raw_agreement": "same choice",
    },
}
"""Columns of the wide tables by metric, in their order; a row has at most one of the metrics that share a heading."""
_ALWAYS_SHOWN = {"accuracy", "orders pooled", "first option chosen"}
_ALWAYS_SHOWN |= {"Pearson r", "Spearman rho", "Cohen's kappa", "same choice"}


def finite_vector(values: ArrayLike, *, name: str) -> FloatArray:
    """Return the values as a one-dimensional float64 array, refusing NaN and infinity in a message with `name`.

    >>> finite_vector([1, 2], name="delta_nats")
    array([1., 2.])
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise BankError(f"{name} has shape {vector.shape}; expected one number per item, shape (n,)")
    refuse_non_finite(vector, name=name)
    return vector


def refuse_non_finite(values: FloatArray, *, name: str) -> None:
    """Raise if any value of an array (any shape) is NaN or infinite, naming the first one."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = ", ".join(str(i) for i in bad[0])
        raise BankError(
            f"{name}[{where}] is {values[tuple(bad[0])]}; expected finite numbers ({len(bad)} are not). "
            "Leave out the rows a method does not apply to, and score the others again"
        )


def paired_vectors(x: ArrayLike, y: ArrayLike, *, names: tuple[str, str]) -> tuple[FloatArray, FloatArray]:
    """Return two finite vectors of one length: row i of both belongs to the same item."""
    first, second = finite_vector(x, name=names[0]), finite_vector(y, name=names[1])
    if first.size != second.size:
        raise BankError(
            f"{names[0]} has {first.size} values, {names[1]} has {second.size}; expected one of each per item"
        )
    return first, second


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise BankError(f"level is {level!r}; expected a share between 0 and 1, such as 0.95")


def mean_of_known(values: FloatArray, *, axis: int | tuple[int, ...] = 1) -> FloatArray:
    """Return the mean of each row (or over another axis) over its numbers; NaN where it has none.

    >>> mean_of_known(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    known = ~np.isnan(values)
    counts = known.sum(axis=axis)
    sums = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0))


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


class Tested(NamedTuple):
    """An estimate, the p-value of its being 0 and the test's degrees of freedom; NaN where there are none."""

    estimate: Estimate
    p: float = math.nan
    degrees: float = math.nan


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


def headings(table: Literal["accuracy", "agreement"], present: Collection[str]) -> dict[str, str]:
    """Return the headings of a wide table by metric: those that it always has, and those of metrics in a summary.

    >>> list(headings("accuracy", {"accuracy"}).values())
    ['accuracy', 'accuracy', 'orders pooled', 'first option chosen']
    """
    return {m: name for m, name in HEADINGS[table].items() if name in _ALWAYS_SHOWN or m in present}
