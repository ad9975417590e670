"""One rating: which rater gave which value to which side of an item. In, ratings; out, the human judgment of an item.

A rater is a number from 0, given in the order in which raters appear in the source: no identifier of a source is kept.
A forced choice is a rating of the better side: 1 = this side was chosen, 0 = the other one was.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pairbank.builders.ratings.scales import FORCED_CHOICE
from pairbank.builders.schema.columns import Column, Item

if TYPE_CHECKING:
    import datasets

Side = Literal["good", "bad"]
RATING_COLUMNS: tuple[Column, ...] = (
    Column(name="item_id", type="string", nullable=False, meaning="the item that was judged"),
    Column(name="side", type="string", nullable=False, meaning="good or bad; of a forced choice: good"),
    Column(name="rater", type="int32", nullable=False, meaning="number of the rater within the corpus, from 0"),
    Column(
        name="value",
        type="float64",
        nullable=False,
        meaning="the rating; of a forced choice 1 = this side was chosen, 0 = not",
    ),
    Column(name="scale", type="string", nullable=False, meaning="likert7, binary, forced-choice (1 = chose good) …"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A row of the table of ratings."""

    item_id: str
    side: Side
    rater: int
    value: float
    scale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """An item and every rating of it; its human judgment is made of them."""

    item: Item
    ratings: tuple[Rating, ...] = ()


@dataclass(kw_only=True)
class Raters:
    """Numbers of raters, in the order in which their identifiers appear."""

    numbers: dict[Hashable, int] = field(default_factory=dict)

    def number(self, identifier: Hashable) -> int:
        """Return a rater's number; whoever is new gets the next one.

        >>> raters = Raters()
        >>> [raters.number(who) for who in ("A9XQ", "B2", "A9XQ")]
        [0, 1, 0]
        """
        return self.numbers.setdefault(identifier, len(self.numbers))


def judged(item: Item, ratings: Iterable[Rating]) -> Rated:
    """Return an item with the human judgment that its ratings make: means of both sides, scale, number of raters.

    `human_n` counts the raters who judged either side. The bad side of a forced choice has the share that chose it.
    """
    found = tuple(ratings)
    if not found:
        return Rated(item=item)
    scale = found[0].scale
    good, bad = (mean_or_none([one.value for one in found if one.side == side]) for side in ("good", "bad"))
    if scale == FORCED_CHOICE and good is not None:
        bad = 1 - good
    n_raters = len({rating.rater for rating in found})
    rated = replace(item, human_good=good, human_bad=bad, human_scale=scale, human_n=n_raters)
    return Rated(item=rated, ratings=found)


def mean_or_none(values: list[float]) -> float | None:
    """Return the mean, None of no values."""
    return math.fsum(values) / len(values) if values else None


def rating_features() -> datasets.Features:
    """Return the explicit Features of the table of ratings."""
    import datasets

    return datasets.Features({column.name: datasets.Value(column.type) for column in RATING_COLUMNS})
