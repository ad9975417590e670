"""Scored tables as the frames that statistics read: in, `Scored` tables; out, ScoredFrames that are light in memory.

A million items fit beside their statistics: a report without further analyses reads no texts, and equal lists of flags
are one object, where pandas would make an array of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.scoring.api.layout import MethodLayout, ScoreColumns, columns_of
from pairbank.stats.scored_table.method_scores import ScoredFrame, needed_columns
from pairbank.stats.scored_table.scored_table import SUMMARY_COLUMNS

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

WORSE_TEXT = "target_bad"
"""Of it the summary reads only whether it is there."""
_ROWS_A_BATCH = 16_384


def scored_frame(table: Scored, *, for_analyses: bool) -> ScoredFrame:
    """Return a scored table as statistics read it.

    Args:
        table: of one corpus and model.
        for_analyses: whether analyses are to read it, which may want any column; else those of the summary are there.
    """
    layouts = tuple(MethodLayout.from_dict(layout) for layout in table.layouts)
    columns = table.column_names
    if not for_analyses:
        wanted = {*SUMMARY_COLUMNS, *(name for layout in layouts for name in _of_method(layout))}
        columns = [name for name in columns if name in wanted]
    return ScoredFrame(
        corpus=table.corpus,
        model=table.model,
        frame=_frame(table, columns, with_texts=for_analyses),
        layouts=layouts,
        signature=table.signature,
    )


def _of_method(layout: MethodLayout) -> Iterator[str]:
    columns = ScoreColumns(layout.method)
    yield from (*needed_columns(layout), columns.good, columns.unparsed, columns.flags)


def _frame(table: Scored, columns: list[str], *, with_texts: bool) -> pd.DataFrame:
    shared, lists = {"flags"}, set[str]()
    for method in columns_of(table.methods, columns):
        shared |= {ScoreColumns(method).flags, ScoreColumns(method).answers}
        lists.add(ScoreColumns(method).logprobs)
    arrow = table.arrow(columns)
    if not with_texts and WORSE_TEXT in columns:
        there = pc.if_else(arrow[WORSE_TEXT].is_valid(), "", pa.scalar(None, pa.string()))
        arrow = arrow.set_column(columns.index(WORSE_TEXT), WORSE_TEXT, there)
    frame: pd.DataFrame = arrow.select([name for name in columns if name not in shared | lists]).to_pandas()
    for place, name in enumerate(columns):
        if name in shared:
            frame.insert(place, name, _shared_lists(arrow[name]))
        elif name in lists:
            frame.insert(place, name, pd.Series(pd.arrays.ArrowExtensionArray(arrow[name])))
    return frame


def _shared_lists(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of lists as objects, None for null; equal lists are one tuple."""
    cells: np.ndarray = np.empty(len(column), dtype=object)
    cells.fill(())
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)  # NaN for null
    cells[np.isnan(lengths)] = None
    known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    filled = np.flatnonzero(lengths > 0)
    for start in range(0, filled.size, _ROWS_A_BATCH):
        places = filled[start : start + _ROWS_A_BATCH]
        for place, cell in zip(places, column.take(pa.array(places)).to_pylist(), strict=True):
            key = tuple(cell)
            cells[place] = known.setdefault(key, key)
    return cells
