"""Every metric of a summary: its id, the heading it stands under, what it is, and its range.

The one place for these: reports, the card, its check and the site read them here. `docs/statistics.md` has the
formulas; the metrics of a further analysis are defined in its own section.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

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
        id="mean_logprob",
        heading="mean log P (nats)",
        what="mean log-probability of the one word or sentence of one-sided items",
        table="accuracy",
        low=-math.inf,
        high=0.0,
        always_shown=False,
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

    Args:
        table: Which one.
        present: The metrics that a summary has: what it lacks and need not show is left out. None: all.

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
