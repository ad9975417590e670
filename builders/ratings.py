"""Ratings of single raters: in, who judged what; out, mean, spread and number for each side of every item."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairbank.builders.schema.columns import Column, Item
from pairbank.errors import unknown_name

if TYPE_CHECKING:
    import pandas as pd

FORCED_CHOICE = "forced-choice"
"""Scale: whether the better side was chosen."""
BINARY = "binary"
"""Scale: 1 = accepts, 0 = not."""
SHARE_THAT_ACCEPTS = "share that accepts"
"""Scale: the share of a rater's repeated yes/no answers that accept the sentence."""


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
    results = tuple(ratings)
    if not results:
        return Rated(item=item)
    scale = results[0].scale
    good, bad = (mean_or_none([entry.value for entry in results if entry.side == side]) for side in ("good", "bad"))
    if scale == FORCED_CHOICE and good is not None:
        bad = 1 - good
    n_raters = len({rating.rater for rating in results})
    rated = replace(item, human_good=good, human_bad=bad, human_scale=scale, human_n=n_raters)
    return Rated(item=rated, ratings=results)


def mean_or_none(values: list[float]) -> float | None:
    """Return the mean, None of no values."""
    return math.fsum(values) / len(values) if values else None


Normalisation = Literal["none", "z-by-rater"]
NORMALISATIONS: tuple[Normalisation, ...] = ("none", "z-by-rater")


def normalised(
    values: Sequence[float], raters: Sequence[int], normalisation: Normalisation = "none"
) -> NDArray[np.float64]:
    """Return the values under a normalisation.

    A rater who gave one rating, or the same one always, has no z-scores: NaN.

    >>> normalised([1.0, 2.0, 3.0, 5.0, 5.0], [0, 0, 0, 1, 1], "z-by-rater").tolist()
    [-1.0, 0.0, 1.0, nan, nan]
    """
    if normalisation not in NORMALISATIONS:
        raise unknown_name("normalisation", normalisation, NORMALISATIONS)
    result = np.asarray(values, dtype=np.float64)
    if normalisation == "none" or not result.size:
        return result
    _, who = np.unique(np.asarray(raters), return_inverse=True)
    n = np.bincount(who)
    centred = result - (np.bincount(who, weights=result) / n)[who]
    squares = np.bincount(who, weights=centred**2)
    spread = np.full(n.shape, np.nan)
    spread[(n > 1) & (squares > 0)] = np.sqrt(squares / np.maximum(n - 1, 1))[(n > 1) & (squares > 0)]
    return np.asarray(centred / spread[who], dtype=np.float64)


def scale_after(scale: str, normalisation: Normalisation) -> str:
    """Return the scale that values are on after a normalisation.

    >>> scale_after("likert7", "z-by-rater"), scale_after("likert7", "none")
    ('likert7-z-by-rater', 'likert7')
    """
    return scale if normalisation == "none" else f"{scale}-{normalisation}"


def rating_summary(ratings: pd.DataFrame | Mapping[str, Any]) -> pd.DataFrame:
    """Return one row a side of an item: mean, standard deviation (n - 1; NaN of one rating) and number of ratings.

    >>> rating_summary({"item_id": ["a", "a"], "side": ["good"] * 2, "value": [5.0, 7.0]}).loc[0, "sd"].round(3).item()
    1.414
    """
    import pandas as pd

    frame = pd.DataFrame(ratings)
    groups = frame.groupby(["item_id", "side"], sort=False)["value"]
    return groups.agg(mean="mean", sd="std", n="count").reset_index()
