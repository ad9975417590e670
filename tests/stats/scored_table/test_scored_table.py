"""Reading a scored table: what is wrong with it is said with the item's name."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats import MethodLayout
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from rated_tables import DIRECT, META


def scored(**changes: Any) -> pd.DataFrame:  # noqa: ANN401
    """Three items, of which `meta` applies to the first two."""
    columns: dict[str, Any] = {
        "item_id": ["toy/s/2", "toy/s/0", "toy/s/1"],
        "corpus": "toy",
        "subset": ["s", "s", "t"],
        "phenomenon": pd.Series(["binding", None, None], dtype="string"),
        "language": "en",
        "human_good": pd.Series([6.0, None, 5.0], dtype="Float32"),
        "human_bad": [2.5, 1.0, None],
        "flags": [None, np.array(["boundary_merge"], dtype=object), ["identical_sides"]],
        "direct_delta": [1.0, -2.0, 0.0],
        "meta_delta": [0.5, 0.25, None],
        "meta_logprobs": [[-1.0, -2.0, -3.0, -4.0], np.array([-5.0, -6.0, -7.0, -8.0]), None],
    }
    return pd.DataFrame(columns | changes)


def read(frame: pd.DataFrame, layouts: list[MethodLayout]) -> ScoredTable:
    return read_table(ScoredFrame(corpus="toy", model="gpt2", frame=frame, layouts=tuple(layouts)))


def test_rows_stand_in_the_order_of_their_ids_with_nan_for_null() -> None:
    table = read(scored(), [DIRECT, META])
    direct, meta = table.methods
    assert direct.delta_nats.tolist() == [-2.0, 0.0, 1.0]
    assert meta.applies.tolist() == [True, False, True]
    assert meta.logprobs_nats[2].tolist() == [[-1.0, -2.0], [-3.0, -4.0]]
    assert np.isnan(meta.logprobs_nats[1]).all()
    assert table.is_choice.tolist() == [True, False, True]
    assert np.isnan(table.human_delta).tolist() == [True, True, False]
    assert table.human_delta[2] == 3.5
    assert table.corpus == "toy"


def test_groups_are_all_rows_and_the_values_of_columns_that_vary() -> None:
    table = read(scored(negative_type=["b", "a", "a"]), [DIRECT])
    result = {(x.group_by, x.group): x.rows.tolist() for x in table.groups}
    # language and the one known phenomenon do not vary; rows are numbered in the order of the ids
    assert result == {
        ("all", ""): [0, 1, 2],
        ("subset", "s"): [0, 2],
        ("subset", "t"): [1],
        ("negative_type", "a"): [0, 1],
        ("negative_type", "b"): [2],
    }


def test_a_method_that_applies_to_no_row_is_left_out() -> None:
    table = read(scored(meta_delta=None, meta_logprobs=None), [DIRECT, META])
    assert [x.layout.method for x in table.methods] == ["direct"]


def test_an_arrow_backed_table_reads_the_same() -> None:
    expected = read(scored(), [DIRECT, META])
    arrow = scored(
        meta_logprobs=[[-1.0, -2.0, -3.0, -4.0], [-5.0, -6.0, -7.0, -8.0], None],
        flags=[[], ["boundary_merge"], ["identical_sides"]],
    ).convert_dtypes(dtype_backend="pyarrow")
    result = read(arrow, [DIRECT, META])
    for a, b in zip(expected.methods, result.methods, strict=True):
        np.testing.assert_array_equal(a.delta_nats, b.delta_nats)
        np.testing.assert_array_equal(a.logprobs_nats, b.logprobs_nats)
    assert result.is_choice.tolist() == expected.is_choice.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"item_id": ["a", "b", "a"]}, "item_id 'a' occurs in several rows"),
        ({"corpus": ["toy", "toy", "li"]}, r"corpora \['li', 'toy'\]; expected one corpus"),
        ({"direct_delta": [1.0, math.inf, 0.0]}, "toy/s/0: direct_delta is inf; expected a number or null"),
        ({"meta_logprobs": [None, [-1.0] * 4, None]}, "toy/s/2: meta_logprobs is None; expected 4 numbers"),
        ({"meta_logprobs": [[-1.0] * 3, [-1.0] * 4, None]}, "toy/s/2: meta_logprobs is .*expected 4 numbers"),
        (
            {"meta_logprobs": [[-1.0] * 4, [-1.0, math.nan, -1.0, -1.0], None]},
            "toy/s/0: meta_logprobs is .*expected finite numbers",
        ),
    ],
)
def test_a_faulty_table_is_refused_with_the_items_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BankError, match=message):
        _ = read(scored(**changes), [DIRECT, META]).methods


def test_a_missing_column_and_a_repeated_method_are_refused() -> None:
    with pytest.raises(BankError, match=r"has no columns \['flags', 'meta_delta'\]; it has \['item_id'"):
        _ = read(scored().drop(columns=["flags", "meta_delta"]), [DIRECT, META]).methods
    with pytest.raises(BankError, match=r"methods \['direct', 'direct'\] are not all different"):
        read(scored(), [DIRECT, DIRECT])


def test_rows_that_are_no_choice_are_left_out_and_counted_in_every_part() -> None:
    table = read(scored(), [DIRECT, META])
    assert (table.n_identical, table.choices.n_identical) == (1, 0)
    assert table.choices.item_ids == ["toy/s/0", "toy/s/2"]
    assert table.choices.delta("direct").tolist() == [-2.0, 1.0]
    parts = {part.subset: part for part in table.parts()}
    assert {name: (part.n_identical, part.choices.item_ids) for name, part in parts.items()} == {
        "": (1, ["toy/s/0", "toy/s/2"]),
        "s": (0, ["toy/s/0", "toy/s/2"]),
        "t": (1, []),
    }
    assert parts["t"].place == {"model": "gpt2", "corpus": "toy", "group_by": "subset", "group": "t"}


def test_a_column_that_is_not_there_is_nan_and_has_no_value() -> None:
    table = read(scored(), [DIRECT])
    assert np.isnan(table.numbers("edit_distance")).all()
    assert np.isnan(table.side("direct", "good")).all()
    assert not table.has_value("task", "sentence_pair").any()
    assert table.has_value("phenomenon", "binding").tolist() == [False, False, True]


@pytest.mark.parametrize(
    "numbers",
    [[1, 2, 1], ["1", "2", "1"], [1.0, 2.0, 1.0], pd.array([1, 2, 1], dtype="Int32")],
    ids=["integers", "texts", "integers that were nullable", "nullable"],
)
def test_the_number_of_a_context_is_read_whatever_its_type(numbers: Any) -> None:  # noqa: ANN401
    assert read(scored(target_number=numbers), [DIRECT]).is_first_context.tolist() == [0.0, 1.0, 1.0]
    known = read(scored(target_number=[None, 3, "x"]), [DIRECT]).is_first_context
    assert np.isnan(known).all()


def test_many_subsets_are_no_parts() -> None:
    assert [part.subset for part in read(scored(), [DIRECT]).parts()] == ["", "s", "t"]
    many = pd.concat([scored(item_id=[f"{n}/{i}" for i in range(3)], subset=f"s{n:02d}") for n in range(13)])
    assert [part.subset for part in read(many, [DIRECT]).parts()] == [""]
