"""Where the variance lies: in, what tables hold and raters said; out, shares of items, prompts, models, raters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.multiverse.specifications import Held
from pairbank.stats.measures.crossed_variance import crossed_components

if TYPE_CHECKING:
    from pairbank.stats.analyses.multiverse.measures import Reading

COLUMNS = ["corpus", "of", "part", "share", "low", "high", "variance", "levels", "cells"]
LEAST_ITEMS = 20
ASKED, MEASURED, RATED = "right when asked", "right by probability", "ratings"


def component_rows(tables: Sequence[Held], ratings: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yield the shares of variance of each corpus: of right answers when asked and by probability, and of ratings.

    Args:
        tables: What the tables hold.
        ratings: Columns corpus or item_id, rater and value; None where nobody's are known.
    """
    for corpus in dict.fromkeys(table.corpus for table in tables):
        mine = [table for table in tables if table.corpus == corpus]
        for of, asked in ((ASKED, True), (MEASURED, False)):
            cells = _cells(mine, asked=asked)
            yield from _rows(corpus, of, cells, ["item", "prompt" if asked else "linking", "model"])
        if ratings is not None:
            ids = {item for table in mine for item in table.item_ids}
            theirs = ratings[ratings["item_id"].isin(ids)]
            if len(theirs):
                side = theirs["side"].astype(str) if "side" in theirs.columns else ""
                cells = pd.DataFrame({
                    "item": theirs["item_id"].astype(str) + " " + side, "rater": theirs["rater"].astype(str),
                    "value": theirs["value"],
                })  # fmt: skip
                yield from _rows(corpus, RATED, cells, ["item", "rater"])


def _cells(tables: Sequence[Held], *, asked: bool) -> pd.DataFrame:
    """Return one line per item, method and model: its credit, by the definition of the method's paper."""
    parts = [
        pd.DataFrame(
            {"item": table.item_ids, name: _method(one), "model": _model(table), "value": one.credit}
        )
        for table in tables
        for one in table.readings
        for name in ["prompt" if asked else "linking"]
        if one.layout.is_prompted == asked and one.by_paper and not one.is_biased
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["item", "value"])


def _method(one: Reading) -> str:
    return one.layout.method if one.layout.is_prompted else one.choices["linking"]


def _model(table: Held) -> str:
    return " ".join([table.model, *table.setting.values()])


def _rows(corpus: str, of: str, cells: pd.DataFrame, factors: Sequence[str]) -> Iterator[dict[str, Any]]:
    cells = cells[cells["value"].notna()]
    used = [name for name in factors if name in cells.columns and cells[name].nunique() > 1]
    if len(used) < 2 or used[0] != "item" or cells["item"].nunique() < LEAST_ITEMS or cells["value"].nunique() < 2:
        return
    codes = {name: np.asarray(pd.factorize(cells[name])[0], dtype=np.int64) for name in used}
    try:
        found = crossed_components(cells["value"].to_numpy(dtype=np.float64), codes)
    except BankError:  # too few cells share a level: raters who each judged other items
        return
    for one in found:
        yield {
            "corpus": corpus, "of": of, "part": one.name, "share": one.share, "low": one.low, "high": one.high,
            "variance": one.variance, "levels": one.n_levels, "cells": len(cells),
        }  # fmt: skip
