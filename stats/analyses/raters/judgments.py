"""Individual ratings of the items of one scored table: ratings and a table in, arrays out.

Ratings find their items by `item_id`. Where a rater judged both sides of an item, or chose between them, the rater
made a choice; ratings of sides are kept too, as z-scores by rater, which raters' habits move less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.builders.ratings.normalisation import normalised
from pairbank.builders.ratings.scales import FORCED_CHOICE
from pairbank.errors import BankError
from pairbank.files import read_parquet
from pairbank.stats.estimates.ties import signs

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

COLUMNS = ("item_id", "side", "rater", "value", "scale")
_KEYS = ["item_id", "side", "rater"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Which side each rater chose of each item."""

    rows: IntArray
    """Rows of the table that the items are, shape (items,), ascending."""
    made: FloatArray
    """1 better side, -1 worse side, 0 neither, NaN not judged; shape (items, raters)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRatings:
    """Ratings of single sides, one a row."""

    thing: IntArray
    """Number of what was rated: 2 x row of the table, + 1 for the worse side."""
    rater: IntArray
    """Number of the rater, from 0."""
    value: FloatArray
    """Its z-score by rater."""
    raw: pd.DataFrame
    """The same ratings as they were given, with the columns of the table of ratings."""


def ratings_given(given: Sequence[pd.DataFrame | str]) -> pd.DataFrame:
    """Return all ratings, one a row; somebody's second rating of the same thing is averaged with the first.

    Args:
        given: Tables as `load_ratings(...).to_pandas()` has them, or parquet files of such tables.

    Raises:
        BankError: If there is none, or a table lacks a column.
    """
    if not given:
        raise BankError(
            "no individual ratings were given, and the scored files stand in no bank that has them; name their "
            "file (--set raters.ratings=FILE.parquet), or where the corpora are (--data-dir), whose raters are then "
            "read, or give options={'raters': {'ratings': [frame]}}"
        )
    frames = [read_parquet(Path(one)).to_pandas() if isinstance(one, str) else one for one in given]
    for frame, name in zip(frames, given, strict=True):
        if missing := [column for column in COLUMNS if column not in frame.columns]:
            what = name if isinstance(name, str) else "a table of ratings"
            raise BankError(f"{what} lacks the column(s) {', '.join(missing)}; expected {', '.join(COLUMNS)}")
    found: pd.DataFrame = pd.concat([frame[list(COLUMNS)] for frame in frames], ignore_index=True).dropna(
        subset=["value"]
    )
    if found.duplicated(_KEYS).any():
        found = found.groupby([*_KEYS, "scale"], sort=False)["value"].mean().reset_index()
    return found


def choices_of(ratings: pd.DataFrame, item_ids: Sequence[str]) -> Choices | None:
    """Return the choices of raters among the items of a table; None where raters judged single sides.

    >>> frame = pd.DataFrame({"item_id": ["a", "a", "b"], "side": "good", "rater": [0, 1, 1], "value": [1.0, 0.0, 1.0],
    ...                       "scale": "forced-choice"})
    >>> choices_of(frame, ["a", "b"]).made
    array([[ 1., -1.],
           [nan,  1.]])
    """
    forced = ratings["scale"] == FORCED_CHOICE
    chosen = ratings[forced].assign(difference=2 * ratings["value"][forced] - 1)
    sides = [ratings[~forced & (ratings["side"] == side)] for side in ("good", "bad")]
    both = sides[0].merge(sides[1], on=["item_id", "rater"], suffixes=("", "_bad"))
    if 2 * len(both) < len(pd.concat(sides).drop_duplicates(["item_id", "rater"])):
        both = both.iloc[:0]  # raters were shown one side; the few who saw both say little
    both = both.assign(difference=both["value"] - both["value_bad"])
    wanted = ["item_id", "rater", "difference"]
    made = pd.concat([one for one in (chosen[wanted], both[wanted]) if len(one)] or [chosen[wanted]])
    rows = pd.Index(item_ids).get_indexer(pd.Index(made["item_id"]))
    made, rows = made[rows >= 0], rows[rows >= 0]
    if not len(made):
        return None
    places, item = np.unique(rows, return_inverse=True)
    _, rater = np.unique(made["rater"].to_numpy(), return_inverse=True)
    matrix = np.full((places.size, int(rater.max()) + 1), np.nan)
    matrix[item, rater] = signs(made["difference"].to_numpy(dtype=np.float64))
    return Choices(rows=places, made=matrix)


def side_ratings_of(ratings: pd.DataFrame, item_ids: Sequence[str]) -> SideRatings | None:
    """Return the ratings of sides of the items of a table; None where there are none that vary within a rater."""
    rated = ratings[ratings["scale"] != FORCED_CHOICE]
    rows = pd.Index(item_ids).get_indexer(pd.Index(rated["item_id"]))
    rated = rated[rows >= 0].assign(row=rows[rows >= 0])
    _, rater = np.unique(rated["rater"].to_numpy(), return_inverse=True)
    z = normalised(rated["value"].to_list(), rater.tolist(), "z-by-rater")
    kept = ~np.isnan(z)
    if not kept.any():
        return None
    rated = rated[kept]
    _, who = np.unique(rater[kept], return_inverse=True)
    return SideRatings(
        thing=2 * rated["row"].to_numpy(dtype=np.int64) + (rated["side"] == "bad").to_numpy(dtype=np.int64),
        rater=who,
        value=z[kept],
        raw=rated[list(COLUMNS)],
    )
