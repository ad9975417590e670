"""Ratings in a bank: in, tables of who gave which value to which side; out, those of its items, and facts of them.

They stand where the items do, raters by number. They say something of texts that a licence may keep back, so they go
with the texts: a bank that is published has only those of corpora whose texts it holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.load import rating_features
from pairbank.builders.ratings import FORCED_CHOICE, NORMALISATIONS, RATING_COLUMNS, Raters
from pairbank.cards.bank.layout import RATINGS, ratings_path
from pairbank.cards.bank.tables import read_table
from pairbank.cards.bank.writing import Draft
from pairbank.errors import BankError
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.measures.raters import Level, krippendorff_alpha

if TYPE_CHECKING:
    import datasets

SIDES = ("good", "bad")
NAMES = [column.name for column in RATING_COLUMNS]


def take_ratings(draft: Draft, given: Sequence[datasets.Dataset | pd.DataFrame]) -> None:
    """Put ratings into the draft: those of items that the bank will hold, under the corpora of these items.

    Raises:
        BankError: a column is missing, a cell is none of a rating, or a table has no rating of any item of the bank.
    """
    left = [_checked(entry if isinstance(entry, pd.DataFrame) else entry.to_pandas()) for entry in given]
    n_before = [len(frame) for frame in left]
    corpora = draft.manifest["corpora"]
    for corpus in sorted(corpora, key=lambda name: name not in draft.items):
        if not any(len(frame) for frame in left):
            break
        ids = set(draft.items_of(corpus)["item_id"][:])
        selected = [frame["item_id"].isin(ids) for frame in left]
        if any(rows.any() for rows in selected):
            parts = [frame[rows] for frame, rows in zip(left, selected, strict=True)]
            draft.ratings[corpus] = _numbered(pd.concat(parts, ignore_index=True))
            left = [frame[~rows] for frame, rows in zip(left, selected, strict=True)]
    for frame, n in zip(left, n_before, strict=True):
        if len(frame) == n:
            raise BankError(
                f"ratings of {frame['item_id'].iloc[0]!r:.80} and others, none of which is an item of this bank; give "
                "the items too (corpora=), with the same item_id"
            )


def settle_ratings(draft: Draft) -> None:
    """Keep of the bank's ratings those of its items, and say in the manifest how many there are."""
    held = draft.manifest.get(RATINGS, {})
    for corpus in [name for name in held if name in draft.items and name not in draft.ratings]:
        table = read_table(draft.root / ratings_path(corpus)).to_pandas()
        selected = table[table["item_id"].isin(set(draft.items_of(corpus)["item_id"][:]))]
        if len(selected):
            draft.ratings[corpus] = _as_table(selected)
        else:
            drop_ratings(draft, corpus)
    for corpus, table in draft.ratings.items():
        draft.manifest.setdefault(RATINGS, {})[corpus] = rating_facts(table.to_pandas())


def drop_ratings(draft: Draft, corpus: str) -> None:
    """Take a corpus's ratings out of the draft and the new state of the bank."""
    draft.ratings.pop(corpus, None)
    if draft.manifest.get(RATINGS, {}).pop(corpus, None) is not None:
        (draft.root / ratings_path(corpus)).unlink(missing_ok=True)
    if not draft.manifest.get(RATINGS, True):
        del draft.manifest[RATINGS]


def rating_facts(frame: pd.DataFrame) -> dict[str, Any]:
    """Return what a bank says of a corpus's ratings: scale, normalisation, how many of whom, and how far raters agree.

    Agreement is Krippendorff's alpha, nominal where raters chose between sides and interval where they rated them.

    Args:
        frame: the table of ratings, one row at least.
    """
    scales = sorted(set(frame["scale"]))
    a_side = frame.groupby(["item_id", "side"], sort=False).size()
    level: Level = "nominal" if scales == [FORCED_CHOICE] else "interval"
    alpha: dict[str, Any] = {"level": level, "value": None, "low": None, "high": None, "reason": ""}
    if len(scales) > 1:
        alpha["reason"] = f"{len(scales)} scales"
    else:
        try:
            result = krippendorff_alpha(ratings_given([frame]), scale=level)
        except BankError as error:
            alpha["reason"] = str(error)
        else:
            numbers = {name: getattr(result, name) for name in ("value", "low", "high")}
            alpha |= {name: None if math.isnan(x) else round(x, 6) for name, x in numbers.items()}
            alpha["reason"] = result.reason or ""
    return {
        "scale": ", ".join(scales),
        "normalisation": _normalisation(scales),
        "n_ratings": len(frame),
        "n_raters": int(frame["rater"].nunique()),
        "n_items": int(frame["item_id"].nunique()),
        "least_a_side": int(a_side.min()),
        "most_a_side": int(a_side.max()),
        "alpha": alpha,
    }


def _normalisation(scales: list[str]) -> str:
    """Return the normalisation that the scale's name states."""
    known = [name for name in NORMALISATIONS if all(scale.endswith(f"-{name}") for scale in scales)]
    return known[0] if known else "none"


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of ratings whose cells are those of ratings; ratings that are missing are left out."""
    if missing := [name for name in NAMES if name not in frame.columns]:
        raise BankError(f"a table of ratings lacks the column(s) {', '.join(missing)}; expected {', '.join(NAMES)}")
    values = pd.to_numeric(frame["value"], errors="coerce").astype(np.float64)
    wrong = frame["value"].notna() & ~np.isfinite(values)
    for name, problem in (("value", wrong), ("side", ~frame["side"].isin(SIDES))):
        if problem.any():
            place, expected = int(np.flatnonzero(problem)[0]), "a number" if name == "value" else "good or bad"
            cell, item = frame[name].iloc[place], frame["item_id"].iloc[place]
            raise BankError(
                f"ratings, row {place + 1} ({item!r:.80}): {name} is {str(cell)!r:.80}; expected {expected}"
            )
    kept: pd.DataFrame = frame.assign(value=values)[NAMES].dropna(subset=["value"])
    if kept.empty or kept.isna().any(axis=None):
        raise BankError("a table of ratings is empty, or has no item_id, rater or scale in a row; expected all of them")
    return kept


def _numbered(frame: pd.DataFrame) -> datasets.Dataset:
    """Return ratings as a table of the bank's, raters by number: those that are numbers already keep theirs."""
    if not pd.api.types.is_integer_dtype(frame["rater"]):
        raters = Raters()
        frame = frame.assign(rater=[raters.number(who) for who in frame["rater"]])
    return _as_table(frame)


def _as_table(frame: pd.DataFrame) -> datasets.Dataset:
    import datasets

    columns = {name: frame[name].tolist() for name in NAMES}
    return datasets.Dataset.from_dict(columns, features=rating_features())
