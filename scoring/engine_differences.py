"""The numbers of two engines on the same items, for `compare-engines` and `score --compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import ScoreColumns, columns_of

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.scored import Scored


def engine_differences(reference: Scored, other: Scored) -> pd.DataFrame:
    if not reference.arrow(["item_id"]).equals(other.arrow(["item_id"])) or reference.methods != other.methods:
        raise ScoringError(f"{reference.corpus}: expected two tables of the same items and methods to compare")
    table, other_table = reference.to_pandas(), other.to_pandas()
    methods = columns_of(reference.methods, table.columns)
    return pd.DataFrame([_of_method(table, other_table, method, columns) for method, columns in methods.items()])


def item_differences(reference: Scored, other: Scored, reasons: Mapping[str, str]) -> pd.DataFrame:
    """Return both engines' scores, one row per item and method: the difference of a pair, the score of a sentence.

    `why` puts the other engine's flags, where the reference has them not, into the words of `reasons`.
    """
    table, other_table, frames = reference.to_pandas(), other.to_pandas(), []
    for method in (method for method in reference.methods if method in other.methods):
        names = ScoreColumns(method)
        is_pair = bool(table[names.delta].notna().any())
        ours, theirs = (frame[names.delta if is_pair else names.good] for frame in (table, other_table))
        new_flags = (
            [flag for flag in flags if flag not in known]
            for flags, known in zip(other_table[names.flags], table[names.flags], strict=True)
        )
        frame = pd.DataFrame({"item_id": table["item_id"], "method": method, "reference": ours, "other": theirs})
        frame["difference"] = theirs - ours
        frame["other_side"] = (np.sign(ours) != np.sign(theirs)) if is_pair else False
        frame["why"] = ["; ".join(reasons.get(flag, flag) for flag in flags) for flags in new_flags]
        frames.append(frame[ours.notna() & theirs.notna()])
    return pd.concat(frames, ignore_index=True)


def _of_method(
    table: pd.DataFrame, other_table: pd.DataFrame, method: str, columns: Sequence[str]
) -> Mapping[str, object]:
    names = ScoreColumns(method)
    ranks = (names.ranks("good"), names.ranks("bad"))  # they move where tokens are nearly as probable
    axis = names.delta if table[names.delta].notna().any() else names.good
    nats, other_nats = (of_engine[axis].to_numpy(dtype=np.float64) for of_engine in (table, other_table))
    gaps = np.abs(nats - other_nats)
    differ = np.isnan(nats) != np.isnan(other_nats)
    parts = 0.0
    for name in columns:
        if name in (axis, *ranks):
            continue
        largest, others = _column_differences(table[name], other_table[name])
        parts, differ = max(parts, largest), differ | others
    n = int(np.isfinite(gaps).sum())
    return {
        "method": method,
        "n": n,
        "median": float(np.nanmedian(gaps)) if n else np.nan,
        "max": float(np.nanmax(gaps)) if n else np.nan,
        "worst_item": table["item_id"][int(np.nanargmax(gaps))] if n else "",
        "sign_changes": int((np.sign(nats) * np.sign(other_nats) < 0).sum()),
        "max_token": parts,
        "other": int(differ.sum()),
    }


def _column_differences(cells: Iterable[object], others: Iterable[object]) -> tuple[float, BoolArray]:
    """Return the largest difference of numbers, or of numbers in lists, and in which rows something else differs."""
    largest, differ = 0.0, []
    for a, b in zip(cells, others, strict=True):
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
