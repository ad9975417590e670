"""How every statistic reads scored tables: rows in order, groups and parts; deltas of several models side by side.

Rows stand in the order of their ids, so that the order of a file changes no number. Pairs whose sides are the same are
no choice: they are marked, left out of statistics, and counted.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.builders.corpora.column_map import plain_value
from pairbank.builders.schema.columns import IDENTICAL_SIDES, NO_TRUTH
from pairbank.errors import BankError
from pairbank.scoring.api.layout import SIDES, MethodLayout, ScoreColumns, Side
from pairbank.scoring.api.names import DIRECT, is_string_logprob, reference_of
from pairbank.scoring.signature import design_of
from pairbank.stats.estimates.bootstrap import LEAST_RESAMPLED, drawn_from
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.scored_table.method_scores import (
    MethodScores,
    ScoredFrame,
    flagged,
    method_scores,
    needed_columns,
    number_column,
)

CONDITION = "condition"
GROUPINGS = ("subset", "task", "phenomenon", "language", "negative_type", CONDITION)
"""Columns by whose values accuracies are given, beside the whole corpus; conditions are cells of a declared design."""
MOST_CONDITIONS = 16
"""A column with more values names no conditions."""
MOST_SUBSETS = 12
"""A corpus with more subsets than this is shown as a whole in headlines."""
_REQUIRED = ("item_id", "corpus", "subset", "phenomenon", "language", "human_good", "human_bad", "flags")
PARADIGM = "paradigm"
SUMMARY_COLUMNS = (*_REQUIRED, *GROUPINGS, PARADIGM, "target_number", "target_bad", "label")
"""Columns of items that the summary of a report reads, where a table has them."""

_IDENTICAL = "identical sides"
"""Column name that no method can have, because of its space."""
PARADIGM_DTYPES = {"low_paradigms": "float64", "high_paradigms": "float64", "n_paradigms": "int64"}
"""Of the interval over paradigms, where these can be the draws: NaN and 0 elsewhere."""
DTYPES = {
    **dict.fromkeys(("model", "corpus", "group_by", "group", "method", "versus", "metric"), "string"),
    **dict.fromkeys(("value", "low", "high"), "float64"),
    **dict.fromkeys(("n", "n_excluded"), "int64"),
    **dict.fromkeys(("ci_method", "reason"), "string"),
    **PARADIGM_DTYPES,
}
"""Columns of the summary and their pandas types; fixed, so that an all-null reason is still a string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The numbers of some rows of the table: of all (`all`, ""), or of those with one value of a column."""

    group_by: str
    group: str
    rows: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredTable:
    """One corpus scored with one model, or some of its rows, in the order of their ids."""

    corpus: str
    model: str
    layouts: tuple[MethodLayout, ...]
    frame: pd.DataFrame
    """The rows."""
    is_choice: BoolArray
    """False where both sides are the same, which is no choice, shape (rows,)."""
    subset: str = ""
    """Which part of the corpus it is; empty for the whole."""
    design: Mapping[str, Any] = field(default_factory=dict)
    """Factors, levels and fillers, as its manifest states them."""

    @property
    def place(self) -> dict[str, str]:
        """The columns of the summary that say which part of which table it is."""
        group_by = "subset" if self.subset else "all"
        return {"model": self.model, "corpus": self.corpus, "group_by": group_by, "group": self.subset}

    @property
    def n_identical(self) -> int:
        return int((~self.is_choice).sum())

    @property
    def item_ids(self) -> list[str]:
        return self.frame["item_id"].to_list()

    @cached_property
    def has_truth(self) -> BoolArray:
        """False where neither side is right, so that no accuracy is computed, shape (rows,)."""
        return ~flagged(self.frame, "flags", NO_TRUTH)

    @cached_property
    def choices(self) -> ScoredTable:
        """The rows that are a choice."""
        return self if self.is_choice.all() else self.rows(self.is_choice)

    def rows(self, which: BoolArray | IntArray) -> ScoredTable:
        return replace(self, frame=self.frame.iloc[which], is_choice=self.is_choice[which])

    def has_value(self, column: str, *values: str) -> BoolArray:
        """Return which rows have one of some values in a column, shape (rows,); none where there is no such column."""
        if column not in self.frame.columns:
            return np.zeros(len(self.frame), dtype=np.bool_)
        return self.frame[column].isin(values).to_numpy(dtype=np.bool_)

    def numbers(self, column: str) -> FloatArray:
        """Return a number column with NaN for null, or where there is no such column; infinity is refused."""
        return number_column(self.frame, column)

    @cached_property
    def labels(self) -> FloatArray:
        """1 of an acceptable sentence, 0 of another, NaN where none is said, as by a text column of a user's own."""
        has_labels = "label" in self.frame and pd.api.types.is_numeric_dtype(self.frame["label"])
        return self.numbers("label") if has_labels else np.full(len(self.frame), np.nan)

    def delta(self, method: str) -> FloatArray:
        """Return a method's differences (good - bad), shape (rows,); NaN where it does not apply."""
        return self.numbers(ScoreColumns(method).delta)

    def side(self, method: str, side: Side) -> FloatArray:
        """Return a method's scores of one side, `good` or `bad`, shape (rows,); NaN where it gives none."""
        return self.numbers(ScoreColumns(method).of(side))

    @cached_property
    def reference(self) -> str:
        """The method with numbers that others are compared with by probability; `direct` where there is none."""
        return reference_of(self.string_logprobs) or DIRECT

    @cached_property
    def string_logprobs(self) -> list[str]:
        """The methods that are log P of the strings; of several, those with numbers."""
        return _string_logprobs(self.layouts, lambda _names: self.frame)

    def argmax(self, method: str) -> FloatArray:
        """Return a method's most probable ratings of both sides, shape (rows, 2); NaN where there are none."""
        return np.column_stack([self.numbers(ScoreColumns(method).argmax(side)) for side in SIDES])

    @cached_property
    def human_delta(self) -> FloatArray:
        """Human judgment of good minus bad on the corpus's scale, shape (rows,); NaN where either is missing."""
        return self.numbers("human_good") - self.numbers("human_bad")

    @cached_property
    def paradigms(self) -> IntArray:
        """Number of each row's paradigm, -1 where it has none, shape (rows,): what can be drawn in place of items."""
        if PARADIGM not in self.frame.columns:
            return np.full(len(self.frame), -1, dtype=np.int64)
        return np.asarray(pd.factorize(self.frame[PARADIGM])[0], dtype=np.int64)

    @cached_property
    def is_first_context(self) -> FloatArray:
        """1 where the better one is the source's context 1, 0 where it is its context 2; NaN where it is neither."""
        if "target_number" not in self.frame.columns:
            return np.full(len(self.frame), np.nan)
        known = pd.to_numeric(self.frame["target_number"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return np.select([known == 1, known == 2], [1.0, 0.0], np.nan)

    @cached_property
    def methods(self) -> tuple[MethodScores, ...]:
        """The numbers of each method that was asked of at least one row, all checked."""
        requested = [*_REQUIRED, *(name for layout in self.layouts for name in needed_columns(layout))]
        if missing := [name for name in requested if name not in self.frame.columns]:
            raise BankError(f"the scored table has no columns {missing}; it has {list(self.frame.columns)}")
        result = (method_scores(self.frame, layout) for layout in self.layouts)
        return tuple(scores for scores in result if scores.was_asked)

    def method(self, name: str) -> MethodScores | None:
        """Return the numbers of one method; None where it was asked of no row."""
        return next((scores for scores in self.methods if scores.layout.method == name), None)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All rows, then each value of each column that has at least two."""
        groups = [Group(group_by="all", group="", rows=np.arange(len(self.frame)))]
        for column in GROUPINGS:
            cells = self.conditions if column == CONDITION else self.frame.get(column)
            codes, values = pd.factorize(cells, sort=True) if cells is not None else ((), ())
            for code, value in enumerate(values if len(values) > 1 else ()):
                groups.append(Group(group_by=column, group=str(value), rows=np.flatnonzero(codes == code)))
        return tuple(groups)

    @cached_property
    def conditions(self) -> pd.Series[Any] | None:
        """The condition of each row, missing of fillers: its cell of the design, else what its column says."""
        levels = {factor["column"]: factor["levels"] for factor in self.design.get("factors", ())}
        if not levels or not {*levels, *self.design["fillers"]} <= {*self.frame.columns}:
            known = self.frame.get(CONDITION)
            return known if known is not None and known.nunique() <= MOST_CONDITIONS else None
        cells = [", ".join(cell) for cell in itertools.product(*levels.values())]
        named = self.frame[[*levels]].astype("string").fillna("").agg(", ".join, axis=1)
        named = named.mask(is_filler(self.frame, self.design["fillers"]))
        return pd.Series(pd.Categorical(named, cells), index=self.frame.index)

    def parts(self) -> Iterator[ScoredTable]:
        """Yield the whole table and then its subsets, where there are two or more and few enough to differ in kind."""
        yield self
        subsets = [group for group in self.groups if group.group_by == "subset"]
        if len(subsets) <= MOST_SUBSETS:
            for group in subsets:
                yield replace(self.rows(group.rows), subset=group.group)


def is_filler(frame: pd.DataFrame, fillers: Mapping[str, Sequence[str]]) -> BoolArray:
    """Return which rows have one of the values of a column that mark fillers, shape (rows,)."""
    marked = [frame[name].map(plain_value).isin(values).to_numpy(dtype=np.bool_) for name, values in fillers.items()]
    return np.any(marked, axis=0) if marked else np.zeros(len(frame), dtype=np.bool_)


def read_table(table: ScoredFrame) -> ScoredTable:
    """Return a scored table with its rows in the order of their ids."""
    frame, where = table.frame, f"{table.corpus} by {table.model}"
    names = [layout.method for layout in table.layouts]
    if len(set(names)) != len(names):
        raise BankError(f"{where}: methods {names} are not all different; give one layout per method")
    if "item_id" not in frame.columns:
        raise BankError(f"{where}: no column item_id; expected a scored table")
    if not frame["item_id"].is_unique:
        twice = frame["item_id"][frame["item_id"].duplicated()].iloc[0]
        raise BankError(f"{where}: item_id {twice!r} occurs in several rows; expected each id once")
    if "corpus" in frame.columns and frame["corpus"].nunique(dropna=False) > 1:
        raise BankError(f"{where}: corpora {sorted(map(str, frame['corpus'].unique()))}; expected one corpus per call")
    in_order = frame["item_id"].is_monotonic_increasing
    rows = frame if in_order else frame.sort_values("item_id", kind="stable")  # a copy of a million rows is not small
    return ScoredTable(
        corpus=table.corpus,
        model=table.model,
        layouts=tuple(table.layouts),
        frame=rows,
        is_choice=~flagged(rows, "flags", IDENTICAL_SIDES),
        design=design_of(table.signature),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaStack:
    """What some models say about the same items, directly and when asked."""

    corpus: str
    models: tuple[str, ...]
    prompts: tuple[str, ...]
    """The prompted methods."""
    item_ids: tuple[str, ...]
    direct_nats: FloatArray
    """Direct deltas (good - bad), shape (models, items); NaN where the method does not apply."""
    meta_nats: FloatArray
    """Prompted deltas (good - bad), shape (prompts, models, items); NaN likewise."""
    n_identical: int
    """Items left out because both sides are the same to a model, which is no choice."""
    reference: str = DIRECT
    """The method of `direct_nats`, one for all models: a model that is scored by another one has NaN there."""
    clusters: IntArray | None = None
    """Number of each item's paradigm, from 0, where paradigms are the draws; None where items are."""
    has_truth: bool = True
    """Whether one side of the items is right; if not, nothing is said of correctness."""

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.item_ids))
        if self.direct_nats.shape != shape or self.meta_nats.shape != (len(self.prompts), *shape):
            raise BankError(
                f"{self.corpus}: deltas have the shapes {self.direct_nats.shape} and {self.meta_nats.shape}; expected "
                f"{shape} and {(len(self.prompts), *shape)}: models, items and prompts, models, items"
            )

    def select(self, keep: BoolArray) -> DeltaStack:
        return replace(
            self,
            item_ids=tuple(item for item, kept in zip(self.item_ids, keep, strict=True) if kept),
            direct_nats=self.direct_nats[:, keep],
            meta_nats=self.meta_nats[:, :, keep],
            clusters=None if self.clusters is None else drawn_from(self.clusters[keep], least=LEAST_RESAMPLED),
        )


def stack_deltas(tables: Sequence[ScoredFrame]) -> DeltaStack:
    """Return the deltas of one corpus's tables on the items of all of them, in the order of their ids."""
    names = [table.model for table in tables]
    corpora = sorted({table.corpus for table in tables})
    if len(corpora) != 1 or len(set(names)) < len(names):
        raise BankError(f"tables of the corpora {corpora} and models {names}; expected one corpus, each model once")
    prompts = list(dict.fromkeys(x.method for table in tables for x in table.layouts if x.is_prompted))
    known = (name for table in tables for name in _string_logprobs(table.layouts, table.part))
    reference = reference_of(known) or DIRECT
    frames = [_deltas(table, reference) for table in tables]
    item_ids = sorted(set().union(*(frame.index for frame in frames)))
    identical = set().union(*(frame.index[frame[_IDENTICAL]] for frame in frames))
    used = [item for item in item_ids if item not in identical]
    values = np.stack(
        [frame.reindex(index=used, columns=[reference, *prompts]).to_numpy(dtype=np.float64).T for frame in frames],
        axis=1,
    )
    return DeltaStack(
        corpus=corpora[0],
        models=tuple(names),
        prompts=tuple(prompts),
        item_ids=tuple(used),
        reference=reference,
        direct_nats=values[0],
        meta_nats=values[1:],
        n_identical=len(identical),
        clusters=_paradigms(tables, used),
        has_truth=not all(flagged(table.frame, "flags", NO_TRUTH).all() for table in tables),
    )


def _paradigms(tables: Sequence[ScoredFrame], items: Sequence[str]) -> IntArray | None:
    """Return the number of each item's paradigm; None where one has none, or there are too few to be draws."""
    known: dict[str, str] = {}
    for table in tables:
        if PARADIGM in table.frame.columns:
            named = table.frame[table.frame[PARADIGM].notna()]
            known |= dict(zip(named["item_id"], named[PARADIGM], strict=True))
    if not items or not known.keys() >= set(items):
        return None
    return drawn_from(np.array([known[item] for item in items]), least=LEAST_RESAMPLED)


def _string_logprobs(layouts: Sequence[MethodLayout], part: Callable[[Sequence[str]], pd.DataFrame]) -> list[str]:
    """Return the methods that are log P of the strings; of several, those with numbers in a part of the columns."""
    known = [layout.method for layout in layouts if is_string_logprob(layout.method)]
    if len(known) < 2:
        return known
    names = {name: (ScoreColumns(name).delta, ScoreColumns(name).good) for name in known}
    frame = part([column for columns in names.values() for column in columns])
    return [name for name in known if not np.isnan([number_column(frame, column) for column in names[name]]).all()]


def _deltas(table: ScoredFrame, reference: str) -> pd.DataFrame:
    """Return the delta of each method, one row an item id, and whether the item's sides are identical."""
    layouts = tuple(x for x in table.layouts if x.is_prompted or x.method == reference)
    read = read_table(replace(table, layouts=layouts))
    columns = {scores.layout.method: scores.delta_nats for scores in read.methods}
    return pd.DataFrame(columns | {_IDENTICAL: ~read.is_choice}, index=pd.Index(read.item_ids, dtype=object))


def is_reference(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows are by the method that others of its model and corpus are compared with by probability.

    >>> rows = pd.DataFrame({"model": ["a", "a", "b"], "method": ["direct", "direct_space", "direct_space"]})
    >>> is_reference(rows).tolist()
    [True, False, True]
    """
    direct = rows["method"] == DIRECT
    others = rows["method"].map(is_string_logprob).astype(bool) & ~direct
    if not others.any():
        return direct
    keys = [rows[name] for name in ("model", "corpus") if name in rows.columns]
    lacks = ~direct.groupby(keys).transform("any")
    first = rows["method"].where(others).groupby(keys).transform("first")
    return direct | (lacks & others & (rows["method"] == first))


def reference_names(rows: pd.DataFrame) -> str:
    """Return the names of these methods, for captions; `direct` where there is none.

    >>> reference_names(pd.DataFrame({"model": ["a", "b"], "method": ["direct", "direct_space"]}))
    '`direct` or `direct_space`'
    """
    return either(rows["method"][is_reference(rows)]) or f"`{DIRECT}`"


def either(names: Iterable[str]) -> str:
    return " or ".join(f"`{name}`" for name in dict.fromkeys(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """What a row of the summary is, apart from its numbers; `model` ... `metric` are its identity."""

    model: str
    corpus: str
    group_by: str
    group: str
    method: str = ""
    versus: str = ""
    metric: str = ""

    @property
    def identity(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__slots__}

    def rng(self, seed: int) -> np.random.Generator:
        """Return a fresh generator that depends on the seed and the identity alone."""
        name = json.dumps(list(self.identity.values())).encode()
        key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "big")
        return np.random.default_rng([seed, key])

    def row(self, estimate: Estimate, *, n_rows: int) -> dict[str, Any]:
        numbers = {name: getattr(estimate, name) for name in ("value", "low", "high", "n", "reason", *PARADIGM_DTYPES)}
        return self.identity | numbers | {"n_excluded": n_rows - estimate.n, "ci_method": estimate.method}


def long_table(rows: Iterable[Mapping[str, Any]], extra: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return rows as a table with the columns and types of the summary, and further columns where asked.

    >>> list(long_table([], {"bin": "int64"}).columns)[6:9]
    ['metric', 'bin', 'value']
    """
    more = dict(extra or {})
    names = list(DTYPES)
    cut = names.index("value")
    types = {name: DTYPES[name] for name in names[:cut]} | more | {name: DTYPES[name] for name in names[cut:]}
    return pd.DataFrame([{"n_paradigms": 0} | dict(row) for row in rows], columns=list(types)).astype(types)
