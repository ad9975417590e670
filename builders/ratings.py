"""Ratings of single raters: in, who judged what; out, mean, spread and number for each side of every item."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

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
TRIAL = Column(
    name="trial", type="int32", nullable=True, meaning="orders a rater's judgments in time; null = not known"
)
"""Column that `load_ratings(…, trials=True)` adds."""
OF_A_TRIAL: tuple[Column, ...] = (
    Column(name="trial_order", type="int32", nullable=True, meaning="place of the trial in the rater's experiment"),
    Column(
        name="response_time", type="float64", nullable=True, meaning="time that the rating took, as the file has it"
    ),
    Column(name="list", type="string", nullable=True, meaning="list (questionnaire) that the rater had"),
)
"""Of a table of ratings whose source has them; a bank's own table leaves them out."""

Normalisation = Literal["none", "z-by-rater"]
NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)
Z_BY_RATER: Normalisation = "z-by-rater"

SAME_ANSWER = 0.95
"""Share of answers that are the same from which on they tell nothing: of raters here, of models in position bias."""
LEAST_JUDGMENTS, LEAST_CONTRARY, LEAST_CONTRARY_CHOICES = 20, 5, 20
"""Of a rater before the rule applies: all judgments, and those where most of the others answer otherwise. Of forced
choices there must be more of the latter: one answer is always the better side there, and experts choose it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A row of the table of ratings."""

    item_id: str
    side: Side
    rater: int
    value: float
    scale: str
    trial: int | None = None
    """Numbers the rater's judgments in the order in which they were made; None = the source does not say."""
    of_trial: Mapping[str, float | str] = field(default_factory=dict)
    """What is known of `OF_A_TRIAL`."""


def rating_of(
    item: Item, rater: int, value: float, scale: str, *, side: Side = "good", trial: int | None = None
) -> Rating:
    return Rating(item_id=item.item_id, side=side, rater=rater, value=value, scale=scale, trial=trial)


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
    """Return an item with the judgment that its ratings make: means of both sides, scale, raters of either side."""
    ratings = tuple(ratings)
    if not ratings:
        return Rated(item=item)
    scale = ratings[0].scale
    of_sides = ([rating.value for rating in ratings if rating.side == side] for side in ("good", "bad"))
    good, bad = (math.fsum(values) / len(values) if values else None for values in of_sides)
    if scale == FORCED_CHOICE and good is not None:
        bad = 1 - good
    n_raters = len({rating.rater for rating in ratings})
    rated = replace(item, human_good=good, human_bad=bad, human_scale=scale, human_n=n_raters)
    return Rated(item=rated, ratings=ratings)


def normalised(
    values: Sequence[float], raters: Sequence[int], normalisation: Normalisation = "none"
) -> NDArray[np.float64]:
    """Return the values under a normalisation; who gave one rating, or the same one always, has no z-scores: NaN."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRater:
    """A rater who gives one answer whatever is asked, and is left out of means, majorities and ceilings."""

    corpus: str
    rater: int
    scale: str
    value: float
    n_same: int
    n: int

    def __str__(self) -> str:
        what = f"answered {self.value:g}"
        if self.scale == FORCED_CHOICE:
            what = f"chose the {'better' if self.value else 'worse'} side"
        return (
            f"rater {self.rater} of {self.corpus} {what} in {self.n_same:,} of {self.n:,} judgments, also where most "
            "of the others did not"
        )


def constant_raters(
    corpus: str, units: Sequence[Hashable], raters: Sequence[int], values: Sequence[float], scales: Sequence[str]
) -> tuple[ConstantRater, ...]:
    """Return the raters who give the same answer in 95 % of their judgments, whatever the others say.

    Somebody who is right in 95 % of forced choices gives the same answer as often. So the rule also asks for it in the
    judgments in which most of the others answer otherwise, where nothing but the answer itself speaks for it. Of
    z-scores, which no two raters share, such raters were left out before.
    """
    if not len(values) or scales[0].endswith(Z_BY_RATER):
        return ()
    answers, answer = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    numbers, who = np.unique(np.asarray(raters), return_inverse=True)
    of_unit: dict[Hashable, int] = {}
    unit = np.array([of_unit.setdefault(name, len(of_unit)) for name in units], dtype=np.int64)
    counts = np.zeros((numbers.size, answers.size), dtype=np.int64)
    np.add.at(counts, (who, answer), 1)
    n, most = counts.sum(axis=1), counts.argmax(axis=1)
    results = []
    for place in np.flatnonzero((n >= LEAST_JUDGMENTS) & (counts.max(axis=1) >= SAME_ANSWER * n)):
        own, same = who == place, answer == most[place]
        of_others = np.bincount(unit[~own], minlength=len(of_unit))
        as_this = np.bincount(unit[~own & same], minlength=len(of_unit))
        contrary = own & (2 * as_this < of_others)[unit]
        scale = scales[int(np.flatnonzero(own)[0])]
        least = LEAST_CONTRARY_CHOICES if scale == FORCED_CHOICE else LEAST_CONTRARY
        if contrary.sum() >= least and same[contrary].mean() >= SAME_ANSWER:
            results.append(
                ConstantRater(
                    corpus=corpus,
                    rater=int(numbers[place]),
                    scale=scale,
                    value=float(answers[most[place]]),
                    n_same=int(counts[place].max()),
                    n=int(n[place]),
                )
            )
    return tuple(results)


def without_constant_raters(ratings: pd.DataFrame) -> tuple[pd.DataFrame, tuple[ConstantRater, ...]]:
    """Return a table of ratings without the constant raters of each corpus, and who they are."""
    corpus = ratings["item_id"].str.split("/", n=1).str[0]
    kept, results = corpus.notna(), list[ConstantRater]()
    for name, part in ratings.groupby(corpus, sort=False):
        units = list(zip(part["item_id"], part["side"], strict=True))
        constant = constant_raters(str(name), units, part["rater"].tolist(), part["value"].tolist(), [*part["scale"]])
        kept &= ~((corpus == name) & ratings["rater"].isin([rater.rater for rater in constant]))
        results += constant
    return ratings[kept], tuple(results)
