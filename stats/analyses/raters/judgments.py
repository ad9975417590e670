"""What people said of the items of one scored table: individual ratings, or means only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.builders.ratings import FORCED_CHOICE, normalised
from pairbank.errors import BankError
from pairbank.files import read_parquet
from pairbank.stats.analyses.people import ceiling_of
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.scored_table.scored_table import ScoredTable

OF_SENTENCES = ("direct", "judgment", "rating")
"""Kinds of methods that score a single side; what compares both has no score of either."""

COLUMNS = ("item_id", "side", "rater", "value", "scale")
_KEYS = ["item_id", "side", "rater"]
MEANS = "mean ratings"
"""Who chooses where raters are known together only."""


def place_of(
    corpus: str, kind: str, who: str, *, method: str = "", estimate: Estimate | None = None, r: float = math.nan
) -> dict[str, Any]:
    """Return the cells of a row."""
    cells: dict[str, Any] = {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    cells |= {"low_paradigms": math.nan, "high_paradigms": math.nan, "n_paradigms": 0}
    if estimate is not None:
        cells = {name: getattr(estimate, name) for name in cells}
    place = {"corpus": corpus, "kind": kind, "who": who, "method": method}
    return place | cells | {"r_with_others": r, "share_ahead": math.nan, "r_with_means": math.nan, "n_means": 0}


def ratings_given(given: Sequence[pd.DataFrame | str]) -> pd.DataFrame:
    """Return all ratings, one a row; somebody's second rating of the same thing is averaged with the first."""
    if not given:
        raise BankError(
            "no individual ratings were given, and the scored files are in no bank that has them; name their "
            "file (--set raters.ratings=FILE.parquet), or where the corpora are (--data-dir), whose raters are then "
            "read, or give options={'raters': {'ratings': [frame]}}"
        )
    frames = [read_parquet(Path(x)).to_pandas() if isinstance(x, str) else x for x in given]
    for frame, name in zip(frames, given, strict=True):
        if missing := [column for column in COLUMNS if column not in frame.columns]:
            description = name if isinstance(name, str) else "a table of ratings"
            raise BankError(f"{description} lacks the column(s) {', '.join(missing)}; expected {', '.join(COLUMNS)}")
    result: pd.DataFrame = pd.concat([frame[list(COLUMNS)] for frame in frames], ignore_index=True).dropna(
        subset=["value"]
    )
    if result.duplicated(_KEYS).any():
        result = result.groupby([*_KEYS, "scale"], sort=False)["value"].mean().reset_index()
    return result


def choices_of(ratings: pd.DataFrame, item_ids: Sequence[str]) -> pd.DataFrame | None:
    """Return which side each rater chose of each item of a table; None where raters judged single sides.

    A row per row of the table that was judged, a column per rater: 1 better side, -1 worse side, 0 neither, NaN not
    judged.
    """
    forced = ratings["scale"] == FORCED_CHOICE
    chosen = ratings[forced].assign(difference=2 * ratings["value"][forced] - 1)
    sides = [ratings[~forced & (ratings["side"] == side)] for side in ("good", "bad")]
    both = sides[0].merge(sides[1], on=["item_id", "rater"], suffixes=("", "_bad"))
    if 2 * len(both) < len(pd.concat(sides).drop_duplicates(["item_id", "rater"])):
        both = both.iloc[:0]  # raters were shown one side; the few who saw both say little
    both = both.assign(difference=both["value"] - both["value_bad"])
    parts = [part[["item_id", "rater", "difference"]] for part in (chosen, both)]
    frame = pd.concat([part for part in parts if len(part)] or parts[:1])
    frame = frame.assign(
        row=pd.Index(item_ids).get_indexer(pd.Index(frame["item_id"])),
        choice=signs(frame["difference"].to_numpy(dtype=np.float64)),
    )
    frame = frame[frame["row"] >= 0]
    made = frame.pivot_table(index="row", columns="rater", values="choice", aggfunc="last")
    return made if len(made) else None


def side_ratings_of(ratings: pd.DataFrame, item_ids: Sequence[str]) -> pd.DataFrame | None:
    """Return the ratings of sides of the items of a table; None where there are none that vary within a rater.

    Beside their own columns: `thing`, the number of what was rated (2 x row of the table, + 1 for the worse side),
    `number` of the rater from 0, and `z`, the z-score by rater.
    """
    rows = pd.Index(item_ids).get_indexer(pd.Index(ratings["item_id"]))
    things = 2 * rows + (ratings["side"] == "bad").to_numpy(dtype=np.int64)
    rated = ratings.assign(thing=things)[(rows >= 0) & (ratings["scale"] != FORCED_CHOICE)]
    raters = np.unique(rated["rater"].to_numpy(), return_inverse=True)[1]
    rated = rated.assign(z=normalised(rated["value"].to_list(), raters.tolist(), "z-by-rater")).dropna(subset="z")
    return rated.assign(number=np.unique(rated["rater"].to_numpy(), return_inverse=True)[1]) if len(rated) else None


def means_of(table: ScoredTable) -> FloatArray:
    """Return the mean ratings of all sides, the better ones first; NaN where there is none."""
    return np.concatenate([table.numbers("human_good"), table.numbers("human_bad")])


def mean_rows(table: ScoredTable) -> Iterator[dict[str, Any]]:
    """Yield what people's means choose, where both sides have one."""
    human = table.human_delta
    known = ~np.isnan(human)
    if known.any():
        yield place_of(table.corpus, "people", MEANS, estimate=accuracy(human[known], clusters=table.paradigms[known]))


def model_mean_rows(table: ScoredTable) -> Iterator[dict[str, Any]]:
    """Yield each method of the model: its choices on the same pairs, and r with the means of the same sentences."""
    means = means_of(table)
    for layout in table.layouts:
        delta = table.delta(layout.method)
        known = ~np.isnan(delta + table.human_delta)
        estimate = accuracy(delta[known], clusters=table.paradigms[known]) if known.any() else None
        r, n = math.nan, 0
        if layout.kind in OF_SENTENCES:
            scores = np.concatenate([table.side(layout.method, side) for side in ("good", "bad")])
            both = ~np.isnan(scores + means)
            if both.sum() > 2:
                r, n = pearson(scores[both], means[both]).value, int(both.sum())
        if estimate is not None or not math.isnan(r):
            row = place_of(table.corpus, "model", table.model, method=layout.method, estimate=estimate)
            yield row | {"r_with_means": r, "n_means": n}


def how_many_rated(table: ScoredTable) -> tuple[int, int] | None:
    """Return the least and the greatest number of raters behind a mean; None where the source does not say."""
    n = table.numbers("human_n")
    n = n[~np.isnan(n)]
    return (int(n.min()), int(n.max())) if n.size else None


def mean_reliability(table: ScoredTable) -> dict[str, Any]:
    """Return the ceiling of r with the pairs' differences, from the spread of the ratings, or why there is none."""
    ceiling = ceiling_of(table)
    place = {"corpus": table.corpus, "of": "mean differences", "measure": "ceiling of r (spread of ratings)"}
    cells = {"value": ceiling.ceiling_r, "low": math.nan, "high": math.nan, "n": ceiling.n, "reason": ceiling.reason}
    return place | cells | {"n_ratings": 0, "n_raters": 0}
