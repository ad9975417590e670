"""What statistics read of a scored table: all that the summary needs, in little memory, and the same numbers."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pairbank
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import open_scored
from pairbank.stats.report import frames
from pairbank.stats.report.frames import KeptFrames, _shared_lists, scored_frame
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
    result = _shared_lists(column)
    assert [None if cell is None else list(cell) for cell in result] == lists
    assert result[0] is result[3]
    assert _shared_lists(column.slice(0, 0)).tolist() == []
    assert result.dtype == np.dtype(object)


def test_a_report_of_files_has_the_numbers_of_one_in_memory_and_keeps_few_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=60)
    tables = [
        pairbank.score(part, FakeScorer(name=name), methods=["direct", "meta_question_simple"])
        for name, part in (("a", items), ("b", items.select(range(50))), ("c", items))
    ]
    files = [open_scored(table.save(tmp_path / f"{table.model}.parquet")) for table in tables]
    whole = pairbank.report(tables, analyses=["comparisons"])
    read: list[int] = []
    monkeypatch.setattr(frames, "KEPT_BYTES", 0)
    monkeypatch.setattr(KeptFrames, "get", lambda kept, _place: read.append(len(kept.frames)))
    streamed = pairbank.report(files, analyses=["comparisons"])
    assert set(read) == {0}
    pd.testing.assert_frame_equal(streamed.summary, whole.summary)
    assert streamed.markdown() == whole.markdown()
    assert "different items" in streamed.warnings[0]


def test_stored_rows_go_to_another_process_as_the_path_of_their_file(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=20).select(range(20))
    path = pairbank.score(items, FakeScorer(), methods=["direct"]).save(tmp_path / "s.parquet")
    frame = scored_frame(open_scored(path), for_analyses=True, ids=[f"other/{k}" for k in range(20)])
    before = frame.frame
    sent = pickle.dumps(frame)
    assert items["target_good"][0].encode() not in sent
    pd.testing.assert_frame_equal(pickle.loads(sent).frame, before)  # noqa: S301 - our own
    assert before["item_id"][0] == "other/0"
