"""What statistics read of a scored table: all that the summary needs, in little memory, and the same numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

import pairbank
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.report.frames import _shared_lists, scored_frame
from pairbank.stats.report.report import table_summary
from pairbank.stats.report.summary import summarise


def test_the_summary_of_a_light_frame_is_that_of_the_whole_table() -> None:
    items = pairbank.load_corpus("starter")
    table = pairbank.score(items, FakeScorer(), methods=["direct", "meta_question_simple", "acceptability_judgment_i"])
    layouts = [MethodLayout.from_dict(layout) for layout in table.layouts]
    whole = summarise(table.to_pandas(), layouts, model=table.model)
    pd.testing.assert_frame_equal(table_summary(table), whole)
    light = scored_frame(table, for_analyses=False).frame
    assert "target_good" not in light
    assert set(light["target_bad"]) == {""}
    assert "target_good" in scored_frame(table, for_analyses=True).frame


def test_equal_lists_are_one_object_and_null_stays_null() -> None:
    lists = [["a", "b"], [], None, ["a", "b"], ["b"], [], None]
    column = pa.chunked_array([pa.array(lists[:3], pa.list_(pa.string())), pa.array(lists[3:], pa.list_(pa.string()))])
    found = _shared_lists(column)
    assert [None if cell is None else list(cell) for cell in found] == lists
    assert found[0] is found[3]
    assert _shared_lists(column.slice(0, 0)).tolist() == []
    assert found.dtype == np.dtype(object)
