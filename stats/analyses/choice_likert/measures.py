"""What chooses between the two contexts of an item: a scored table in; preferences of its methods and of people out.

CHOICE are forced-choice prompts, LIKERT rating prompts, LOGPROBS log P(target | context). People have a CHOICE where
the corpus has the share of them that chose the right context, and a LIKERT where it has their mean ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.scored_table.scored_table import ScoredTable

CHOICE, LIKERT, LOGPROBS = MEASURES = ("CHOICE", "LIKERT", "LOGPROBS")
DESIGN = "design"
ARGMAX, EXPECTED = "argmax", "expected"
HUMAN_CHOICE = "human_choice"
"""Column of the items: the share of people who chose the right context, 0 to 1; null where nobody was asked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """One preference between the two contexts of each item."""

    method: str
    """A method, or `human`."""
    measure: str
    """CHOICE, LIKERT or LOGPROBS."""
    reading: str
    """Of LIKERT `expected` (mean rating) or `argmax` (the most probable one); of people the measure; else empty."""
    good_minus_bad: FloatArray
    """Preference for the right context, shape (rows,); NaN where there is none."""

    @property
    def name(self) -> str:
        """Method, and reading where there are two."""
        return f"{self.method} ({self.reading})" if self.reading else self.method


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What choices are compared with."""

    versus: str
    """`human` or `design`."""
    told_by: str
    """CHOICE or LIKERT of people, or `design`."""
    good_minus_bad: FloatArray
    """Above 0 where it is the right context, shape (rows,)."""


def measures(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield the preferences of each method that chooses, rates or scores; a rating in both its readings.

    Args:
        pairs: Rows of a scored table. A rating method m has the columns m_argmax_good and m_argmax_bad beside its
            expected ratings.
    """
    for layout in pairs.layouts:
        delta = pairs.delta(layout.method)
        if np.isnan(delta).all():
            continue
        if layout.kind == "rating":
            yield Measure(method=layout.method, measure=LIKERT, reading=EXPECTED, good_minus_bad=delta)
            likeliest = pairs.argmax(layout.method)
            gap = likeliest[:, 0] - likeliest[:, 1]
            if not np.isnan(gap).all():
                yield Measure(method=layout.method, measure=LIKERT, reading=ARGMAX, good_minus_bad=gap)
        elif layout.kind == "forced_choice":
            yield Measure(method=layout.method, measure=CHOICE, reading="", good_minus_bad=delta)
        elif not layout.is_prompted:
            yield Measure(method=layout.method, measure=LOGPROBS, reading="", good_minus_bad=delta)


def human_measures(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield people's preferences: what they chose, and what they rated higher, as far as the corpus has them.

    Args:
        pairs: Rows of a scored table.
    """
    for measure, preference in ((CHOICE, pairs.numbers(HUMAN_CHOICE) - 0.5), (LIKERT, pairs.human_delta)):
        if not np.isnan(preference).all():
            yield Measure(method=HUMAN, measure=measure, reading=measure, good_minus_bad=preference)


def references(pairs: ScoredTable) -> Iterator[Reference]:
    """Yield what choices are compared with: the items' design, and people: their CHOICE, or LIKERT where that is all.

    Args:
        pairs: Rows of a scored table.
    """
    yield Reference(versus=DESIGN, told_by=DESIGN, good_minus_bad=np.ones(len(pairs.frame)))
    for people in human_measures(pairs):
        yield Reference(versus=HUMAN, told_by=people.measure, good_minus_bad=people.good_minus_bad)
        return


def of_the_paper(found: Sequence[Measure]) -> dict[str, Measure]:
    """Return one measure of each kind, the first one of the table; a rating as it would be written (`argmax`).

    >>> a = Measure(method="r", measure=LIKERT, reading=EXPECTED, good_minus_bad=np.zeros(1))
    >>> b = Measure(method="r", measure=LIKERT, reading=ARGMAX, good_minus_bad=np.zeros(1))
    >>> of_the_paper([a, b])["LIKERT"].reading
    'argmax'
    """
    chosen: dict[str, Measure] = {}
    for kind in MEASURES:
        own_values = [member for member in found if member.measure == kind]
        first = [value for value in own_values if value.method == own_values[0].method]
        if own_values:
            chosen[kind] = next((entry for entry in first if entry.reading == ARGMAX), first[0])
    return chosen
