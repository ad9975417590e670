"""What single ratings say of an item: in, the table of ratings; out, mean, spread and number a side of every item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def rating_summary(ratings: pd.DataFrame | Mapping[str, Any]) -> pd.DataFrame:
    """Return one row a side of an item: mean, standard deviation (n - 1; NaN of one rating) and number of ratings.

    Args:
        ratings: the table of ratings (`load_ratings(...).to_pandas()`), or its columns.

    >>> rating_summary({"item_id": ["a", "a"], "side": ["good"] * 2, "value": [5.0, 7.0]}).loc[0, "sd"].round(3).item()
    1.414
    """
    import pandas as pd

    frame = pd.DataFrame(ratings)
    groups = frame.groupby(["item_id", "side"], sort=False)["value"]
    return groups.agg(mean="mean", sd="std", n="count").reset_index()
