"""Two engines on the same items: in, two scored tables; out, how far apart they are, one row per method.

The engines may be transformers and a server, two dtypes, a CPU and a GPU, or two versions of a library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import ScoreColumns, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.scored import Scored


def engine_differences(reference: Scored, other: Scored) -> pd.DataFrame:
    """Return how far another engine's scores are from the reference's.

    Args:
        reference: a scored table.
        other: of the same items by the same methods.

    Returns:
        One row per method: method, n (items with a score), median, max (of the absolute difference, in the method's
        unit: of the sides' difference, of single sentences' scores), worst_item, sign_changes, max_token (of the
        sides' scores, tokens and options), other (items whose flags, token counts or answers differ, or that have a
        number by one engine alone).

    Raises:
        ScoringError: other items or methods.
    """
    if reference.dataset["item_id"][:] != other.dataset["item_id"][:] or reference.methods != other.methods:
        raise ScoringError(f"{reference.corpus}: expected two tables of the same items and methods to compare")
    current, present = reference.to_pandas(), other.to_pandas()
    known = columns_of(reference.methods, current.columns)
    return pd.DataFrame([_of_method(current, present, method, columns) for method, columns in known.items()])


def _of_method(
    current: pd.DataFrame, present: pd.DataFrame, method: str, columns: Sequence[str]
) -> Mapping[str, object]:
    names = ScoreColumns(method)
    compared_in_nats = (names.ranks("good"), names.ranks("bad"))  # ranks move where tokens are nearly as probable
    axis = names.delta if current[names.delta].notna().any() else names.good
    entry, two = (table[axis].to_numpy(dtype=np.float64) for table in (current, present))
    gaps = np.abs(entry - two)
    differ = np.isnan(entry) != np.isnan(two)
    parts = 0.0
    for name in columns:
        if name in (axis, *compared_in_nats):
            continue
        largest, others = _column_differences(current[name], present[name])
        parts, differ = max(parts, largest), differ | others
    n = int(np.isfinite(gaps).sum())
    return {
        "method": method,
        "n": n,
        "median": float(np.nanmedian(gaps)) if n else np.nan,
        "max": float(np.nanmax(gaps)) if n else np.nan,
        "worst_item": current["item_id"][int(np.nanargmax(gaps))] if n else "",
        "sign_changes": int((np.sign(entry) * np.sign(two) < 0).sum()),
        "max_token": parts,
        "other": int(differ.sum()),
    }


def _column_differences(entry: Iterable[object], two: Iterable[object]) -> tuple[float, BoolArray]:
    """Return the largest difference of numbers, or of numbers in lists, and in which rows something else differs."""
    largest, differ = 0.0, []
    for a, b in zip(entry, two, strict=True):
        left, right = _numbers(a), _numbers(b)
        if left is None or right is None:
            differ.append(repr(a) != repr(b))
            continue
        differ.append(left.shape != right.shape or bool((np.isnan(left) != np.isnan(right)).any()))
        if not differ[-1]:
            largest = max(largest, float(np.nanmax(np.abs(left - right), initial=0.0)))
    return largest, np.array(differ)


def _numbers(value: object) -> FloatArray | None:
    """Return a cell of floating-point numbers as an array; None = counts, flags and texts, which have to be equal."""
    array = np.asarray(value)
    return np.atleast_1d(array) if array.dtype.kind == "f" else None
