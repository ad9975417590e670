"""The named result of every statistic: a value, its interval, and why either is missing; arrays made ready for one.

And every metric of a summary: its id, the heading it stands under, what it is, and its range. Reports, the card, its
check and the site read them here. `docs/statistics.md` has the formulas; the metrics of a further analysis are defined
in its own section.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray
from pairbank.errors import BankError


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


def mean_of_known(values: FloatArray) -> FloatArray:
    """Return the mean of each row over its numbers; NaN where it has none.

    >>> mean_of_known(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    sums = np.where(known, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0))


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


HUMAN = "human"
"""In the columns `method` and `versus`: the mean judgments of people."""

Table = Literal["accuracy", "agreement", "probes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One kind of number in a summary's column `metric`."""

    id: str
    heading: str
    """Of its column in a wide table; several metrics may share one, where a row has one of them at most."""
    what: str
    """A phrase for a reader who has not seen the definitions."""
    table: Table
    """The wide table it stands in; numbers of probes are shown by their own section."""
    low: float = 0.0
    """Smallest value it can take."""
    high: float = 1.0
    """Largest value it can take."""
    always_shown: bool = True
    """Whether the wide table has its column even where no method has the metric."""


_ACCURACY = (
    Metric(
        id="accuracy",
        heading="accuracy",
        what="share of items whose difference (good - bad) is positive, ties one half",
        table="accuracy",
    ),
    Metric(
        id="human_accuracy",
        heading="accuracy",
        what="share of items whose better side people prefer on average, ties one half",
        table="accuracy",
    ),
    Metric(
        id="accuracy_pooled",
        heading="orders pooled",
        what="share of presentations in which the correct option is the most probable",
        table="accuracy",
    ),
    Metric(
        id="position_bias",
        heading="first option chosen",
        what="share of presentations in which the option shown first is the most probable; 0.50 is no bias",
        table="accuracy",
    ),
    Metric(
        id="accuracy_argmax",
        heading="of likeliest ratings",
        what="share of items whose better side has the higher most probable rating, ties one half",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="accuracy_argmax_ties_first",
        heading="",
        what="the same, a tie counted as a choice of context 1",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="unparsed",
        heading="no answer found",
        what="share of written texts in which no answer was found",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="auc",
        heading="AUC",
        what="area under the ROC curve of single sentences labelled acceptable against not; 0.50 is chance",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="balanced_accuracy",
        heading="balanced accuracy",
        what="of labelled sentences, the mean of the shares of acceptable and of unacceptable ones that a threshold "
        "learned from other sentences (10-fold) classifies correctly; 0.50 is chance",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="mcc",
        heading="MCC",
        what="Matthews correlation of the same classification with the labels; 0 is chance",
        table="accuracy",
        low=-1.0,
        always_shown=False,
    ),
    Metric(
        id="answer_accuracy",
        heading="balanced accuracy of answers",
        what="of labelled sentences, the same mean for the model's own yes or no, without a threshold",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="acceptance",
        heading="says yes",
        what="share of presentations of single sentences in which the model's answer is yes",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="position_bias_sentence",
        heading="first option chosen for single sentences",
        what="share of presentations of single sentences answered by the first option, where both orders are asked",
        table="accuracy",
        always_shown=False,
    ),
    Metric(
        id="mean_logprob",
        heading="mean log P (nats)",
        what="mean log-probability of the one word or sentence of one-sided items",
        table="accuracy",
        low=-math.inf,
        high=0.0,
        always_shown=False,
    ),
    *(
        Metric(
            id=name,
            heading="mean score",
            what=f"mean of {what} of a condition's single sentences",
            table="accuracy",
            low=-math.inf,
            high=math.inf,
            always_shown=False,
        )
        for name, what in (("mean_score", "a method's scores"), ("mean_rating", "people's mean ratings"))
    ),
)
_OF_WHAT = {
    "": "the differences of a method and of `direct`",
    "_human": "a method's differences and people's",
    "_logprob": "the scores that a method and `direct` give to one-sided items",
}
_AGREEMENT = (
    *(
        Metric(id=f"{name}{end}", heading=heading, what=f"{heading} of {of}", table="agreement", low=-1.0)
        for name, heading in (("pearson", "Pearson r"), ("spearman", "Spearman rho"))
        for end, of in _OF_WHAT.items()
    ),
    *(
        Metric(
            id=f"{name}_human_sentence",
            heading=f"{heading} of sentences",
            what=f"{heading} of a method's scores of single sentences and people's mean ratings",
            table="agreement",
            low=-1.0,
            always_shown=False,
        )
        for name, heading in (("pearson", "Pearson r"), ("spearman", "Spearman rho"))
    ),
    Metric(
        id="kappa",
        heading="Cohen's kappa",
        what="agreement of the choices of a method and of `direct` beyond chance, ties left out",
        table="agreement",
        low=-1.0,
    ),
    Metric(
        id="raw_agreement",
        heading="same choice",
        what="share of items on which a method and `direct` prefer the same side, ties left out",
        table="agreement",
    ),
)


def _probes() -> Iterator[Metric]:
    for name, score in (("f1", "F1"), ("accuracy", "accuracy")):
        if name == "f1":
            yield Metric(id=name, heading=score, what="F1 of the probe of the best layer", table="probes")
        kinds = {
            "layer": ("the number of the best layer", 1.0, math.inf),
            "chosen": (f"{score} at the layer that the other folds choose", 0.0, 1.0),
            "control": (f"{score} of the best layer, labels exchanged at random within pairs", 0.0, 1.0),
            "selectivity": (f"{score} minus that of the control at the same layer", -1.0, 1.0),
        }
        for end, (description, low, high) in kinds.items():
            yield Metric(
                id=f"{name}_{end}", heading=f"{score} {end}", what=description, table="probes", low=low, high=high
            )


METRICS: dict[str, Metric] = {metric.id: metric for metric in (*_ACCURACY, *_AGREEMENT, *_probes())}
"""By id, in the order of the columns."""


def headings(table: Table, *, present: Collection[str] | None = None) -> dict[str, str]:
    """Return the headings of a wide table by metric, in the order of its columns.

    What a summary lacks (`present`) and need not show is left out.

    >>> list(headings("accuracy", present={"accuracy"}).values())
    ['accuracy', 'accuracy', 'orders pooled', 'first option chosen']
    """
    shown = (m for m in METRICS.values() if m.table == table and m.heading)
    return {m.id: m.heading for m in shown if present is None or m.always_shown or m.id in present}


def metrics_by_heading(table: Table) -> dict[str, tuple[str, ...]]:
    """Return the metrics that stand under each heading of a wide table.

    >>> metrics_by_heading("agreement")["Pearson r"]
    ('pearson', 'pearson_human', 'pearson_logprob')
    """
    results: dict[str, tuple[str, ...]] = {}
    for metric, heading in headings(table).items():
        results[heading] = (*results.get(heading, ()), metric)
    return results
