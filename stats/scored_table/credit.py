"""What a method's answers earn on each item: in, one method's scores; out, its credits, by its paper's definition.

Every analysis that compares accuracies takes these. A method whose paper pools presentations (Hu & Levy 2023; Hu &
Frank 2024) has the mean credit of its presentations, any other the sign of its difference. Where a model picks one
option whatever it stands for, the presentations are pooled for any method: the sign of a difference averaged over
orders is then a preference that none of the answers shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.ties import signs
from pairbank.stats.measures.accuracy import chosen_options

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.arrays import FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.stats.scored_table.method_scores import MethodScores

SAME_PLACE = 0.95
"""Share of presentations in which the first option is named (or another one) that counts as position bias."""
MOST_NAMED = 3
"""Cases of position bias that a sentence names."""
MARK = "†"
BIAS_NOTE = (
    f"{MARK} Position bias: the model picks the same option in 95% of the presentations or more; accuracy pools both "
    "orders."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """What one method of one model earns on each item."""

    credit: FloatArray
    """1 right, 0 wrong, between them a tie or a mean over presentations; NaN where there is none, shape (rows,)."""
    first_option: float
    """Share of presentations in which the first option is picked, where that is position bias; NaN elsewhere."""
    averaged: FloatArray
    """By the sign of the difference averaged over presentations, ties one half, shape (rows,)."""
    pooled: FloatArray | None
    """Mean credit of the presentations, shape (rows,); None for methods without options of which one is correct."""

    @property
    def is_biased(self) -> bool:
        """Whether the model picks one option whatever it stands for."""
        return not np.isnan(self.first_option)


def is_one_place(share: float) -> bool:
    """Return whether a share of first options is that of a model with position bias.

    >>> [is_one_place(share) for share in (0.94, 0.95, 0.5, 0.05, float("nan"))]
    [False, True, False, True, False]
    """
    return share >= SAME_PLACE or share <= 1 - SAME_PLACE + 1e-12


def shows_both(layout: MethodLayout) -> bool:
    """Return whether the correct option is shown first in some presentations and not in others."""
    if not layout.is_judged:
        return False
    return len({correct == first for correct, first in zip(layout.correct, layout.shown_first, strict=True)}) > 1


def choices_of(scores: MethodScores) -> FloatArray | None:
    """Return the part of the choice that each option has, shape (rows, presentations, options).

    NaN where nothing was asked or answered; None for methods without options of which one is correct.
    """
    layout = scores.layout
    if not (layout.has_logprobs and layout.is_judged):
        return scores.decisions if layout.has_decisions else None
    found = np.full(scores.logprobs_nats.shape, np.nan)
    known = np.asarray(~np.isnan(scores.logprobs_nats).all(axis=(1, 2)), dtype=np.bool_)
    if known.any():
        found[known] = chosen_options(scores.logprobs_nats[known], layout)
    return found


def credits_of(scores: MethodScores) -> Credits:
    """Return what a method earns on each item, and whether it has position bias.

    Args:
        scores: One method's numbers, of the rows that are a choice.
    """
    layout, choices = scores.layout, choices_of(scores)
    averaged = (signs(scores.delta_nats) + 1) / 2
    if choices is None:
        return Credits(credit=averaged, first_option=np.nan, averaged=averaged, pooled=None)
    pooled = mean_of_known(choices[:, np.arange(len(layout.correct)), list(layout.correct)])
    share = _first_option(choices, layout)
    is_biased = is_one_place(share)
    return Credits(
        credit=pooled if is_biased or layout.accuracy == "pooled" else averaged,
        first_option=share if is_biased else np.nan,
        averaged=averaged,
        pooled=pooled,
    )


def _first_option(choices: FloatArray, layout: MethodLayout) -> float:
    """Return the share of first options; NaN where no order, or no other place of the correct option, is known."""
    if not shows_both(layout) or (layout.has_decisions and layout.orders != "known"):
        return np.nan
    first = choices[:, np.arange(len(layout.presentations)), list(layout.shown_first)]
    known = first[~np.isnan(first)]
    return float(known.mean()) if known.size else np.nan


def not_compared(biased: pd.DataFrame) -> str:
    """Return which accuracies are not compared, and why; "" where all are.

    Args:
        biased: One row per model and method with position bias.
    """
    if biased.empty:
        return ""
    names = [f"`{row['model']}` by `{row['method']}`" for row in biased.to_dict("records")]
    names = list(dict.fromkeys(names))
    shown = "; ".join(names[:MOST_NAMED]) + (f"; and {len(names) - MOST_NAMED:,} more" * (len(names) > MOST_NAMED))
    return (
        f"Not compared because of position bias: {shown}. These models pick the same option throughout, so their "
        "accuracy is near one half whatever they know."
    )
