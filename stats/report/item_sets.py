"""Whether models have the same items: in, the scored tables of a report; out, a note for its head where they do not.

An item counts where a method gave it a number. Rows of such models in the tables of accuracy and agreement are each on
the model's own items, and no comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import ScoreColumns

if TYPE_CHECKING:
    from pairbank.arrays import IntArray
    from pairbank.stats.scored_table.frame import ScoredFrame

MOST_NAMED = 6
"""Models with the same items that are named; the others are counted."""
HOW_COMPARED = (
    "The tables of accuracy and agreement, and means over models, are on each model's own items (column n). "
    "Comparisons of models are on common items: those of both in `comparisons`, those of all in `introspection` and in "
    "partial correlations."
)


def item_set_notes(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return what a reader must know of models that have different items; nothing where all have the same.

    Args:
        tables: One a corpus and model.

    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> from pairbank.stats.scored_table.frame import ScoredFrame
    >>> direct = MethodLayout(method="direct", kind="direct", presentations=(), options=(), correct=())
    >>> def table(model, ids):
    ...     frame = pd.DataFrame({"item_id": list(ids), "direct_delta": 1.0})
    ...     return ScoredFrame(corpus="toy", model=model, frame=frame, layouts=(direct,))
    >>> item_set_notes([table("a", "wxyz"), table("b", "xyz"), table("c", "yzx")])[0]
    '**The models have different items of toy** (`direct`): `a` 4; `b`, `c` 3; 3 in common.'
    """
    notes = [said for corpus in dict.fromkeys(table.corpus for table in tables) for said in _of_corpus(corpus, tables)]
    return (*notes, HOW_COMPARED) if notes else ()


def _of_corpus(corpus: str, tables: Sequence[ScoredFrame]) -> Iterator[str]:
    mine = [table for table in tables if table.corpus == corpus]
    if len(mine) < 2:
        return
    codes = np.split(
        pd.factorize(np.concatenate([table.frame["item_id"].to_numpy(dtype=object) for table in mine]))[0],
        np.cumsum([len(table.frame) for table in mine])[:-1],
    )
    said: dict[str, list[str]] = {}
    for method in dict.fromkeys(layout.method for table in mine for layout in table.layouts):
        scored = {
            table.model: items
            for table, own in zip(mine, codes, strict=True)
            if any(layout.method == method for layout in table.layouts)
            and (items := _scored(table.frame, method, own)).size
        }
        if text := _said(scored):
            said.setdefault(text, []).append(f"`{html_as_text(method)}`")
    for text, methods in said.items():
        yield f"**The models have different items of {html_as_text(corpus)}** ({', '.join(methods)}): {text}."


def _scored(frame: pd.DataFrame, method: str, codes: IntArray) -> IntArray:
    """Return the items that have a difference, or a score of their one side, in ascending order."""
    columns = ScoreColumns(method)
    names = [name for name in (columns.delta, columns.good) if name in frame.columns]
    return np.sort(codes[frame[names].notna().any(axis=1).to_numpy()])


def _said(scored: Mapping[str, IntArray]) -> str:
    """Return which models have how many items; nothing where all have the same ones."""
    alike: dict[bytes, list[str]] = {}
    for model, items in scored.items():
        alike.setdefault(items.tobytes(), []).append(model)
    if len(alike) < 2:
        return ""
    sets = [f"{_named(models)} {scored[models[0]].size:,}" for models in alike.values()]
    common = reduce(np.intersect1d, [scored[models[0]] for models in alike.values()])
    return f"{'; '.join(sets)}; {common.size:,} in common"


def _named(models: Sequence[str]) -> str:
    names = [f"`{html_as_text(model)}`" for model in models]
    more = len(names) - MOST_NAMED
    return ", ".join(names if more <= 1 else [*names[:MOST_NAMED], f"{more} more"])
