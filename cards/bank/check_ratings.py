"""A bank's ratings against its items and its manifest: in, a folder and its manifest; out, in words, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.load_ratings import rating_features
from pairbank.cards.bank.layout import RATINGS, items_path, ratings_path
from pairbank.cards.bank.ratings import SIDES, rating_facts
from pairbank.cards.bank.redistribution import is_left_out
from pairbank.cards.bank.tables import read_table
from pairbank.errors import BankError

if TYPE_CHECKING:
    import datasets

_CLOSE = 1e-5
"""Rounding of a mean that the items have as float32."""


def rating_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a bank's ratings."""
    for corpus, facts in manifest.get(RATINGS, {}).items():
        path = ratings_path(corpus)
        try:
            items, ratings = read_table(root / items_path(corpus)), read_table(root / path)
        except BankError as error:
            yield str(error)
            continue
        if is_left_out(manifest["corpora"][corpus]):
            yield f"{path}: ratings of a corpus whose texts are left out"
        if ratings.features != rating_features():
            yield f"{path}: columns {', '.join(ratings.column_names)}; expected {', '.join(rating_features())}"
            continue
        yield from (f"{path}: {problem}" for problem in _problems(ratings.to_pandas(), items, facts, corpus))


def _problems(ratings: pd.DataFrame, items: datasets.Dataset, facts: Mapping[str, Any], corpus: str) -> Iterator[str]:
    if ratings.isna().any(axis=None) or not np.isfinite(ratings["value"]).all():
        yield "a cell is empty, or a value is no number"
        return
    if other := set(ratings["side"]) - set(SIDES):
        yield f"side {min(other)!r:.80}; expected good or bad"
        return
    if unknown := set(ratings["item_id"]) - set(items["item_id"][:]):
        yield f"{len(unknown)} item(s) that the corpus does not have, as {min(unknown)!r:.80}"
        return
    found = rating_facts(ratings)
    for name in sorted(found):
        if found[name] != facts.get(name):
            yield f"{name} is {found[name]!r:.200}, the manifest says {facts.get(name)!r:.200}"
    if corpus in CORPORA and found["normalisation"] == "none" and "human_good" in items.column_names:
        yield from _mean_problems(ratings, items)


def _mean_problems(ratings: pd.DataFrame, items: datasets.Dataset) -> Iterator[str]:
    """Yield where the human judgment of an item of a corpus that ships is not the mean of its ratings."""
    frame = items.select_columns(["item_id", "human_good", "human_scale"]).to_pandas().set_index("item_id")
    means = ratings[ratings["side"] == "good"].groupby("item_id")["value"].mean()
    scales = ratings.groupby("item_id")["scale"].first()
    rows = frame.loc[means.index]
    alike = (rows["human_scale"] == scales.loc[means.index]).to_numpy()
    wrong = alike & ~np.isclose(rows["human_good"].astype(float), means, atol=_CLOSE, rtol=_CLOSE)
    if wrong.any():
        yield f"human_good of {int(wrong.sum())} item(s), first {means.index[wrong][0]}, is not the mean of the ratings"
