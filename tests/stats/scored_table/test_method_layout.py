"""MethodLayout: what a flat list of log-probabilities means, and what cannot be a layout."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats import MethodLayout
from rated_tables import DIRECT

CHOICE: dict[str, Any] = {
    "method": "meta",
    "kind": "forced_choice",
    "presentations": ["good first", "bad first"],
    "options": ["1", "2", "3"],
    "correct": [0, 1],
}


def test_a_list_column_is_read_row_by_row() -> None:
    layout = MethodLayout.from_dict(CHOICE)
    numbers = layout.reshape([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]])
    assert numbers.shape == (2, 2, 3)
    assert numbers[1, 0].tolist() == [6, 7, 8]
    assert numbers[0, 1, 2] == 5


@pytest.mark.parametrize("cell", [list, np.array, tuple])
def test_a_pandas_column_of_lists_is_read(cell: Any) -> None:  # noqa: ANN401
    column = pd.Series([cell([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])] * 3)
    assert MethodLayout.from_dict(CHOICE).reshape(column.to_numpy()).shape == (3, 2, 3)


def test_no_rows_are_an_empty_array_of_the_right_shape() -> None:
    assert MethodLayout.from_dict(CHOICE).reshape([]).shape == (0, 2, 3)
    assert DIRECT.reshape([]).shape == (0, 0, 0)


@pytest.mark.parametrize(
    ("flat", "message"),
    [
        ([[1.0, 2.0]], r"shape \(1, 2\); expected lists of 6 numbers each: 2 presentations x 3 options"),
        ([1.0] * 6, r"shape \(6,\)"),
        ([[], []], r"shape \(2, 0\)"),
        ([[1.0] * 6, [1.0] * 5], "expected lists of 6 numbers each"),
        ([["a"] * 6], "expected lists of 6 numbers each"),
    ],
)
def test_lists_of_another_length_are_refused(flat: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(BankError, match=f"meta_logprobs.*{message}"):
        MethodLayout.from_dict(CHOICE).reshape(flat)


def test_a_layout_survives_json() -> None:
    layout = MethodLayout.from_dict(CHOICE)
    assert layout.to_dict() == CHOICE
    assert MethodLayout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout
    assert layout.correct == (0, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "likert"}, "kind is 'likert'; expected 'direct', 'forced_choice'"),
        ({"kind": "direct"}, "a direct method has no presentations"),
        ({"presentations": []}, r"presentations are \(\); expected at least 1"),
        ({"options": ["1"]}, "expected at least 2, all different"),
        ({"options": ["1", "1"]}, "expected at least 2, all different"),
        ({"correct": [0]}, "expected one index below 3 for each of the 2 presentations"),
        ({"correct": [0, 3]}, "expected one index below 3"),
        ({"correct": [0, -1]}, "expected one index below 3"),
        ({"correct": [0, True]}, r"correct\.1 is True; expected a whole number"),
        ({"options": "12"}, "options is '12'; expected"),
        ({"method": None}, "method is None; expected"),
        ({"unti": "red"}, r"unknown key 'unti'; did you mean 'unit'\?"),
    ],
)
def test_contradictory_layouts_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BankError, match=message):
        MethodLayout.from_dict(CHOICE | changes)


def test_a_missing_key_is_an_error() -> None:
    with pytest.raises(BankError, match="method layout 'meta': options is missing"):
        MethodLayout.from_dict({key: value for key, value in CHOICE.items() if key != "options"})
