"""One row of raters beside models: who, of what kind, an accuracy and correlations in; the row's cells out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate

OF_SENTENCES = ("direct", "judgment", "rating")
"""Kinds of methods that score a single side; what compares both has no score of either."""


def place_of(
    corpus: str, kind: str, who: str, *, method: str = "", estimate: Estimate | None = None, r: float = math.nan
) -> dict[str, Any]:
    """Return the cells of a row.

    Args:
        corpus: Of the items.
        kind: people, rater or model.
        who: The rater, the group of raters, or the model.
        method: Of a model.
        estimate: Accuracy on the items.
        r: With the other raters' mean.
    """
    cells = {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    if estimate is not None:
        cells = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
    place = {"corpus": corpus, "kind": kind, "who": who, "method": method}
    return place | cells | {"r_with_others": r, "share_ahead": math.nan, "r_with_means": math.nan, "n_means": 0}
