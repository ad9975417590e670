"""The items of a file, made by column: the same, with the same flags and messages, as row by row."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairbank.builders.corpora.column_map import ShapedRow
from pairbank.builders.corpora.tabular_items import TabularOptions, TextIds, mapped_item
from pairbank.builders.schema.validation import Validator
from pairbank.errors import CorpusError
from pairbank.scoring.importing.method import Chunk
from pairbank.scoring.importing.model_table import OwnItems
from pairbank.scoring.importing.profile import ITEM_NAMES, ImportProfile

HOW = ImportProfile(corpus="mine", language="pt-BR")
# e + combining acute is not NFC; few texts, so that sides and pairs repeat
TEXTS = st.sampled_from(["a.", "b c.", "cafe\u0301.", "café.", " d"])
MAYBE = st.none() | TEXTS
ROWS = st.fixed_dictionaries(
    {
        "target_good": TEXTS,
        "target_bad": TEXTS,
        "context_good": MAYBE,
        "context_bad": MAYBE,
        "phenomenon": MAYBE,
        "subset": st.sampled_from([None, "x", "y"]),
        "language": st.sampled_from([None, "zh", "zh_CN"]),
        "task": st.sampled_from([None, "continuation_pair"]),
        "human_good": st.sampled_from([None, "6.5", "-1"]),
        "human_bad": st.sampled_from([None, "2"]),
        "human_scale": st.sampled_from([None, "likert7-z"]),
        "human_n": st.sampled_from([None, "12", "3.0"]),
    }
)


def row_by_row(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What `score` makes of the rows of a user's own file."""
    options = TabularOptions(language=HOW.language, task=HOW.task)
    items = []
    ids = TextIds(corpus="mine")
    for line, row in enumerate(rows, 2):
        cells = {name: cell for name, cell in row.items() if name != "item_id"}
        shaped = ShapedRow(number=line, cells=cells, good=cells)
        item = mapped_item(shaped, ids.of, f"f.csv, row {line}", corpus="mine", options=options)
        items.append(replace(item, item_id=row.get("item_id") or item.item_id))
    return [item.row() for item in Validator("mine").checked(items)]


def by_column(rows: list[dict[str, Any]], at_a_time: int) -> list[dict[str, Any]]:
    own = OwnItems(HOW)
    for start in range(0, len(rows), at_a_time):
        part = rows[start : start + at_a_time]
        cells = {name: [row[name] for row in part] for name in rows[0]}
        own.add(Chunk(path=Path("f.csv"), lines=range(start + 2, start + 2 + len(part)), cells=cells))
    made: list[dict[str, Any]] = own.dataset("").to_list()
    return made


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=12), st.integers(1, 5))
def test_items_by_column_are_those_row_by_row(rows: list[dict[str, Any]], at_a_time: int) -> None:
    assert by_column(rows, at_a_time) == row_by_row(rows)


GOOD = dict.fromkeys(ITEM_NAMES, None) | {"target_good": "a.", "target_bad": "b."}


@pytest.mark.parametrize(
    "bad",
    [
        {"target_good": None},
        {"target_bad": " "},
        {"human_good": "inf"},
        {"human_bad": "1e300"},
        {"human_good": "six"},
        {"human_good": "-1", "human_scale": "likert7"},
        {"human_n": "3000000000"},
        {"task": "guessing"},
        {"language": "german"},
        {"item_id": TextIds(corpus="mine").of("all", ("", "a.", "", "b."))},
    ],
)
def test_the_same_row_is_refused_in_the_same_words(bad: dict[str, Any]) -> None:
    rows = [GOOD, GOOD | bad, GOOD]
    with pytest.raises(CorpusError) as expected:
        row_by_row(rows)
    with pytest.raises(CorpusError) as result:
        by_column(rows, 2)
    assert str(result.value) == str(expected.value)


def test_pair_ids_of_several_paradigms_make_ids_that_differ() -> None:
    rows = [GOOD | {"pair_id": "0", "subset": "blimp", "paradigm": paradigm} for paradigm in ("island", "npi", None)]
    result = [row["item_id"] for row in by_column(rows, 2)]
    assert result == ["mine/blimp/island/0", "mine/blimp/npi/0", "mine/blimp/0"]
