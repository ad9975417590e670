"""The scored table as arrays: in, a DataFrame of one corpus and one model; out, ScoredTable with its groups.

Everything that can be wrong with the table is found here, with the item's name, before any statistic is
computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import BankError

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.scoring.api.layout import MethodLayout

IDENTICAL_SIDES = "identical_sides"
GROUPINGS = ("subset", "task", "phenomenon", "language", "negative_type")
"""Columns by whose values accuracies are given, beside the whole corpus."""
OVER_LENGTH = "over_length"
"""Flag of an item whose prompt leaves the model no room to write."""
DIRECT = "direct"
_REQUIRED = ("item_id", "corpus", "subset", "phenomenon", "language", "human_good", "human_bad", "flags")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some rows of the table: all of them, or those with one value of a column."""

    group_by: str
    """`all`, or the column."""
    group: str
    """The column's value; empty for `all`."""
    rows: IntArray
    """Row numbers in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScores:
    """One method's numbers for every row of the table."""

    layout: MethodLayout
    """Says what the log-probabilities are."""
    delta_nats: FloatArray
    """Good minus bad, shape (rows,), for a rating in points; NaN where the method does not apply."""
    logprobs_nats: FloatArray
    """Shape (rows, presentations, options); NaN where the method does not apply or a presentation is not asked."""
    word_nats: FloatArray
    """Log-probability of the target of a one-sided item (a word, a sentence), shape (rows,); NaN elsewhere."""
    argmax: FloatArray
    """Most probable ratings of the better and the worse side, shape (rows, 2); NaN for other methods."""
    unparsed: FloatArray
    """Share of the texts written for an item without an answer, shape (rows,); NaN for methods that read answers."""

    @property
    def applies(self) -> BoolArray:
        """Whether the method gives a difference of two sides, shape (rows,)."""
        return ~np.isnan(self.delta_nats)

    @property
    def predicts(self) -> BoolArray:
        """Whether the method gives the log-probability of an item's one word, shape (rows,)."""
        return ~np.isnan(self.word_nats)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTable:
    """One corpus scored with one model, rows in the order of their ids."""

    corpus: str
    """Name of the corpus; empty for a table without rows."""
    is_choice: BoolArray
    """False where both sides are the same to the model, which is no choice."""
    is_first_context: FloatArray
    """1 where the better context is the source's context 1, 0 where it is its context 2; NaN where it says neither."""
    human_delta: FloatArray
    """Human judgment of good minus bad on the corpus's scale; NaN where either is missing."""
    methods: tuple[MethodScores, ...]
    """The methods that were asked of at least one row, in the order given."""
    groups: tuple[Group, ...]
    """All rows, then each value of each column that has at least two."""


def read_table(frame: pd.DataFrame, layouts: Sequence[MethodLayout]) -> ScoredTable:
    """Return the table as arrays, sorted by item_id so that the order of the file changes no number.

    Args:
        frame: Item columns of the shared schema and the columns of each method.
        layouts: The methods to read.

    Raises:
        BankError: If a column is missing, an id repeats, there is more than one corpus, or a score that
            should be there is null or not finite.
    """
    methods = [layout.method for layout in layouts]
    if len(set(methods)) != len(methods):
        raise BankError(f"methods {methods} are not all different; give one layout per method")
    _check_items(frame, layouts)
    table = frame.sort_values("item_id", kind="stable")
    scores = [_method_scores(table, layout) for layout in layouts]
    corpora = table["corpus"].unique()
    return ScoredTable(
        corpus=str(corpora[0]) if len(corpora) else "",
        is_choice=np.array([not has_flag(x, IDENTICAL_SIDES) for x in table["flags"]], dtype=np.bool_),
        is_first_context=_is_first_context(table),
        human_delta=_numbers(table, "human_good") - _numbers(table, "human_bad"),
        methods=tuple(x for x in scores if x.applies.any() or x.predicts.any() or not np.isnan(x.unparsed).all()),
        groups=tuple(_groups(table)),
    )


def _check_items(frame: pd.DataFrame, layouts: Sequence[MethodLayout]) -> None:
    wanted = [*_REQUIRED, *(f"{x.method}_delta" for x in layouts)]
    wanted += [f"{x.method}_logprobs" for x in layouts if x.has_logprobs]
    wanted += [f"{x.method}_good" for x in layouts if x.kind == "prediction"]
    ratings = [x.method for x in layouts if x.kind == "rating" and x.has_logprobs]
    wanted += [f"{method}_argmax_{side}" for method in ratings for side in ("good", "bad")]
    if missing := [name for name in wanted if name not in frame.columns]:
        raise BankError(f"the scored table has no columns {missing}; it has {list(frame.columns)}")
    if not frame["item_id"].is_unique:
        twice = frame["item_id"][frame["item_id"].duplicated()].iloc[0]
        raise BankError(f"item_id {twice!r} stands in several rows; expected each id once")
    if frame["corpus"].nunique(dropna=False) > 1:
        raise BankError(f"corpora {sorted(map(str, frame['corpus'].unique()))}; expected one corpus per call")


def _numbers(table: pd.DataFrame, name: str) -> FloatArray:
    """Return a nullable number column as float64 with NaN for null, refusing infinity."""
    numbers = np.asarray(table[name].to_numpy(dtype=np.float64, na_value=np.nan))
    if np.isinf(numbers).any():
        where = int(np.argmax(np.isinf(numbers)))
        raise BankError(f"{table['item_id'].iloc[where]}: {name} is {numbers[where]}; expected a number or null")
    return numbers


def _is_first_context(table: pd.DataFrame) -> FloatArray:
    if "target_number" not in table.columns:
        return np.full(len(table), np.nan)
    numbers = table["target_number"].astype("string")
    return np.select([(numbers == "1").fillna(value=False), (numbers == "2").fillna(value=False)], [1.0, 0.0], np.nan)


def _method_scores(table: pd.DataFrame, layout: MethodLayout) -> MethodScores:
    delta = _numbers(table, f"{layout.method}_delta")
    word = np.full(delta.shape, np.nan)
    if layout.kind == "prediction" or (layout.method == DIRECT and _has_one_sided(table, layout)):
        word = np.where(np.isnan(delta), _numbers(table, f"{layout.method}_good"), np.nan)
        if "target_bad" in table.columns:
            word[table["target_bad"].notna().to_numpy()] = np.nan
    logprobs = np.full((delta.size, len(layout.presentations), len(layout.options)), np.nan)
    if layout.has_logprobs and layout.kind != "prediction":
        applies = ~np.isnan(delta)
        logprobs[applies] = _logprobs(table[applies], layout)
    argmax = np.full((delta.size, 2), np.nan)
    if layout.kind == "rating" and layout.has_logprobs:
        argmax = np.column_stack([_numbers(table, f"{layout.method}_argmax_{side}") for side in ("good", "bad")])
    return MethodScores(
        layout=layout,
        delta_nats=delta,
        logprobs_nats=logprobs,
        word_nats=word,
        argmax=argmax,
        unparsed=_unparsed(table, layout),
    )


def _unparsed(table: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return the share of each item's texts without an answer; NaN where nothing was written."""
    name = f"{layout.method}_unparsed"
    if layout.readout != "generation" or name not in table.columns:
        return np.full(len(table), np.nan)
    n_asked = 1 if layout.asked == "one" else len(layout.presentations)
    shares = _numbers(table, name) / n_asked
    if (flags := f"{layout.method}_flags") in table.columns:
        shares[[has_flag(cell, OVER_LENGTH) for cell in table[flags]]] = np.nan
    return shares


def _has_one_sided(table: pd.DataFrame, layout: MethodLayout) -> bool:
    return {"target_bad", f"{layout.method}_good"} <= set(table.columns) and bool(table["target_bad"].isna().any())


def _logprobs(table: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return the list column of rows the method applies to, shape (rows, presentations, options)."""
    name, width = f"{layout.method}_logprobs", len(layout.presentations) * len(layout.options)
    lists = table[name].to_list()
    for item_id, values in zip(table["item_id"], lists, strict=True):
        if not isinstance(values, list | tuple | np.ndarray) or len(values) != width:
            raise BankError(f"{item_id}: {name} is {values!r}; expected {width} numbers, since it has a delta")
    flat = np.array(list(chain.from_iterable(lists)), dtype=np.float64).reshape(-1, width)
    is_whole = np.isfinite(flat)
    if layout.asked == "one":
        empty = np.asarray(np.isnan(layout.reshape(flat)).all(axis=-1))
        left_out = empty & ~np.asarray(empty.all(axis=1))[:, np.newaxis]
        is_whole |= left_out.repeat(len(layout.options), axis=1)
    if not is_whole.all():
        where = int(np.argmin(is_whole.all(axis=1)))
        raise BankError(f"{table['item_id'].iloc[where]}: {name} is {flat[where]}; expected finite numbers")
    return layout.reshape(flat)


def has_flag(flags: object, flag: str) -> bool:
    """Return whether a cell of a column of flags (list, array or null) has this one."""
    return isinstance(flags, list | tuple | np.ndarray) and flag in list(flags)


def _groups(table: pd.DataFrame) -> Iterator[Group]:
    yield Group(group_by="all", group="", rows=np.arange(len(table)))
    for column in GROUPINGS:
        if column not in table.columns:
            continue
        codes, values = pd.factorize(table[column], sort=True)
        if len(values) < 2:
            continue
        for code, value in enumerate(values):
            yield Group(group_by=column, group=str(value), rows=np.flatnonzero(codes == code))
