"""Scored tables as the frames that statistics read: in, `Scored` tables; out, ScoredFrames that are light in memory.

A million items fit beside their statistics: a report without further analyses reads no texts, and equal lists of flags
are one object, where pandas would make an array of each. Rows of tables in files stay there, so that the number of
tables does not matter; the frames read last are kept, up to `KEPT_BYTES`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.scoring.api.layout import MethodLayout, ScoreColumns, columns_of
from pairbank.scoring.signature import design_of
from pairbank.stats.scored_table.method_scores import ScoredFrame, needed_columns
from pairbank.stats.scored_table.scored_table import SUMMARY_COLUMNS

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

WORSE_TEXT = "target_bad"
"""Of it the summary reads only whether it is there."""
_ROWS_A_BATCH = 16_384
KEPT_BYTES = 2**25
"""Of frames that were read from files, by the size of their columns in Arrow; pandas takes up to four times it."""


@dataclass(slots=True)
class KeptFrames:
    """The frames that were read last, by table."""

    frames: OrderedDict[int, tuple[int, pd.DataFrame]] = field(default_factory=OrderedDict)

    def get(self, place: int) -> pd.DataFrame | None:
        if place not in self.frames:
            return None
        self.frames.move_to_end(place)
        return self.frames[place][1]

    def put(self, place: int, frame: pd.DataFrame, n_bytes: int) -> None:
        """Keep a frame, and let go of those that were not asked for longest."""
        self.frames[place] = (n_bytes, frame)
        while self.frames and sum(size for size, _ in self.frames.values()) > KEPT_BYTES:
            self.frames.popitem(last=False)

    def __reduce__(self) -> tuple[type[KeptFrames], tuple[()]]:
        """Send none of them to another process."""
        return KeptFrames, ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """The rows of a scored table in a file."""

    table: Scored
    place: int
    columns: list[str]
    with_texts: bool
    ids: list[str] | None
    """In the place of the table's own ids."""
    kept: KeptFrames

    def __len__(self) -> int:
        return len(self.table)

    def read(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        frame = self.kept.get(self.place)
        if frame is not None:
            return frame if names is None else frame[list(names)]
        arrow = self.table.arrow(self.columns if names is None else names)
        frame = frame_of(arrow, self.table.methods, with_texts=self.with_texts)
        if self.ids is not None and "item_id" in frame.columns:
            frame = frame.assign(item_id=self.ids)
        if names is None:
            self.kept.put(self.place, frame, arrow.nbytes)
        return frame


def scored_frames(
    tables: Sequence[Scored], ids: Mapping[int, list[str]] | None = None, *, for_analyses: bool
) -> list[ScoredFrame]:
    """Return scored tables as statistics read them; the rows of those in files stay there."""
    kept, ids = KeptFrames(), ids or {}
    return [
        scored_frame(table, for_analyses=for_analyses, place=place, ids=ids.get(place), kept=kept)
        for place, table in enumerate(tables)
    ]


def scored_frame(
    table: Scored, *, for_analyses: bool, place: int = 0, ids: list[str] | None = None, kept: KeptFrames | None = None
) -> ScoredFrame:
    layouts = tuple(MethodLayout.from_dict(layout) for layout in table.layouts)
    columns = table.column_names
    if not for_analyses:
        design = design_of(table.signature)
        needed = {
            *SUMMARY_COLUMNS,
            *(factor["column"] for factor in design.get("factors", ())),
            *design.get("fillers", ()),
        }
        for layout in layouts:
            method = ScoreColumns(layout.method)
            needed |= {*needed_columns(layout), method.good, method.unparsed, method.flags}
        columns = [name for name in columns if name in needed]
    frame: pd.DataFrame | FileRows
    if table.is_stored:
        kept = kept or KeptFrames()
        frame = FileRows(table=table, place=place, columns=columns, with_texts=for_analyses, ids=ids, kept=kept)
    else:
        frame = frame_of(table.arrow(columns), table.methods, with_texts=for_analyses)
        frame = frame if ids is None else frame.assign(item_id=ids)
    return ScoredFrame(corpus=table.corpus, model=table.model, frame=frame, layouts=layouts, signature=table.signature)


def frame_of(arrow: pa.Table, methods: Sequence[str], *, with_texts: bool = True) -> pd.DataFrame:
    shared, lists, columns = {"flags"}, set[str](), arrow.column_names
    for method in columns_of(methods, columns):
        shared |= {ScoreColumns(method).flags, ScoreColumns(method).answers}
        lists.add(ScoreColumns(method).logprobs)
    if not with_texts and WORSE_TEXT in columns:
        present = pc.if_else(arrow[WORSE_TEXT].is_valid(), "", pa.scalar(None, pa.string()))
        arrow = arrow.set_column(columns.index(WORSE_TEXT), WORSE_TEXT, present)
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
