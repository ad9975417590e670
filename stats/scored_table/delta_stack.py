"""The deltas of several models on the same items: in, scored tables of one corpus; out, arrays side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import NO_TRUTH
from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.paradigms import LEAST_PARADIGMS
from pairbank.stats.scored_table.method_scores import flagged
from pairbank.stats.scored_table.scored_table import PARADIGM, read_table

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.stats.scored_table.method_scores import ScoredFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaStack:
    """What some models say about the same items, directly and when asked.

    Raises:
        BankError: If the shapes contradict each other.

    >>> stack = DeltaStack(corpus="toy", models=("a",), prompts=("meta",), item_ids=("x", "y"), n_identical=0,
    ...                    direct_nats=np.array([[1.0, -1.0]]), meta_nats=np.array([[[0.5, 0.2]]]))
    >>> stack.select(np.array([True, False])).item_ids
    ('x',)
    """

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
        """Return the stack with some of its items.

        Args:
            keep: Which, shape (items,).
        """
        return replace(
            self,
            item_ids=tuple(item for item, kept in zip(self.item_ids, keep, strict=True) if kept),
            direct_nats=self.direct_nats[:, keep],
            meta_nats=self.meta_nats[:, :, keep],
            clusters=None if self.clusters is None else _numbered(self.clusters[keep]),
        )


def stack_deltas(tables: Sequence[ScoredFrame]) -> DeltaStack:
    """Return the deltas of one corpus's tables on the items of all of them, in the order of their ids.

    Args:
        tables: One a model, all of one corpus. A model that lacks a method or an item has NaN there.

    Raises:
        BankError: If there is no table, the corpora differ, a model stands twice, or a table breaks the schema.
    """
    names = [table.model for table in tables]
    corpora = sorted({table.corpus for table in tables})
    if len(corpora) != 1 or len(set(names)) < len(names):
        raise BankError(f"tables of the corpora {corpora} and models {names}; expected one corpus, each model once")
    prompts = list(dict.fromkeys(x.method for table in tables for x in table.layouts if x.is_prompted))
    frames = [_deltas(table) for table in tables]
    item_ids = sorted(set().union(*(frame.index for frame in frames)))
    identical = set().union(*(frame.index[frame[_IDENTICAL]] for frame in frames))
    used = [item for item in item_ids if item not in identical]
    values = np.stack(
        [frame.reindex(index=used, columns=[DIRECT, *prompts]).to_numpy(dtype=np.float64).T for frame in frames],
        axis=1,
    )
    return DeltaStack(
        corpus=corpora[0],
        models=tuple(names),
        prompts=tuple(prompts),
        item_ids=tuple(used),
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
    return _numbered(np.array([known[item] for item in items])) if items and known.keys() >= set(items) else None


def _numbered(labels: np.ndarray) -> IntArray | None:
    names, codes = np.unique(labels, return_inverse=True)
    return np.asarray(codes, dtype=np.int64) if LEAST_PARADIGMS <= names.size < labels.size else None


_IDENTICAL = "identical sides"
"""Column name that no method can have, because of its space."""


def _deltas(table: ScoredFrame) -> pd.DataFrame:
    """Return the delta of each method, one row an item id, and whether the item's sides are identical."""
    layouts = tuple(x for x in table.layouts if x.is_prompted or x.method == DIRECT)
    read = read_table(replace(table, layouts=layouts))
    columns = {scores.layout.method: scores.delta_nats for scores in read.methods}
    return pd.DataFrame(columns | {_IDENTICAL: ~read.is_choice}, index=pd.Index(read.item_ids, dtype=object))
