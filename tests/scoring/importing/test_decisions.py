"""Decisions: whatever a file calls the sides, whichever orders it has; ties, unparsed answers and position bias."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.cli import app
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.scored import Scored

N = 6
SENTENCES = {"good": [f"The hens cluck {i}." for i in range(N)], "bad": [f"The hens clucks {i}." for i in range(N)]}
DIRECT = {"direct_good": [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], "direct_bad": [-2.0, -1.0, -4.0, -3.0, -6.0, -5.0]}
DECISION: dict[str, Any] = {"kind": "decision"}


def imported(folder: Path, said: Any = "decision", **columns: Any) -> Scored:  # noqa: ANN401
    path = folder / "judged.csv"
    pd.DataFrame(SENTENCES | columns).to_csv(path, index=False)
    (table,) = pairbank.import_scores(path, scores={"judge": said}, model="m")
    return table


def column(table: Scored, name: str) -> list[Any]:
    cells: list[Any] = table.dataset[f"judge_{name}"][:]
    return cells


def numbers(table: Scored) -> dict[str, Any]:
    """Value and n of each metric of the judge on the whole corpus."""
    summary = pairbank.report([table], n_resamples=20).summary
    mine = summary[(summary["method"] == "judge") & (summary["group_by"] == "all")]
    return {row["metric"]: (row["value"], row["n"]) for row in mine.to_dict("records")}


@pytest.mark.parametrize(
    ("answers", "cells"),
    [
        ({}, ["good", "good", "bad", "tie", "unparsed", None]),
        ({"good": 1, "bad": 0, "tie": 0.5}, [1, 1, 0, 0.5, "unparsed", None]),
        ({"good": 1, "bad": 0, "tie": 2, "unparsed": -1}, [1.0, 1.0, 0.0, 2.0, -1.0, None]),
        ({"good": ["A", "a)"], "bad": "B", "tie": "=", "unparsed": "?"}, ["A", " a) ", "b", "=", "?", "NA"]),
    ],
)
def test_one_answer_an_item_is_the_same_whatever_the_file_calls_the_sides(
    tmp_path: Path, answers: dict[str, Any], cells: list[Any]
) -> None:
    table = imported(tmp_path, DECISION | {"answers": answers}, judge=cells)
    assert column(table, "delta") == [1.0, 1.0, -1.0, 0.0, None, None]
    assert column(table, "good") == [1.0, 1.0, 0.0, 0.5, None, None]
    assert column(table, "answers") == [["good"], ["good"], ["bad"], ["tie"], [None], None]
    assert column(table, "unparsed") == [0, 0, 0, 0, 1, None]
    assert column(table, "flags") == [[], [], [], [], ["unparsed"], None]
    assert table.signature["n_by_flag"]["judge"] == {"unparsed": 1, "not_imported": 1}
    # 2 right, 1 wrong, 1 tie; the unparsed one is no choice, and is counted among the 5 that were asked
    result = numbers(table)
    assert result["accuracy"] == result["accuracy_pooled"] == (0.625, 4)
    assert result["unparsed"] == (0.2, 5)
    # which side the question showed first is not known, so that there is no position bias to measure
    assert "position_bias" not in result
    assert "judge_logprobs" not in table.dataset.column_names


def test_two_orders_give_shares_a_position_bias_and_the_accuracy_of_all_answers(tmp_path: Path) -> None:
    orders = {
        "judge:good_first": ["1", "1", "2", "1", "tie", "unparsed"],
        "judge:bad_first": ["2", "1", "1", "unparsed", "2", "unparsed"],
    }
    table = imported(tmp_path, DECISION | {"answers": {"first": "1", "second": "2"}}, **orders)
    assert column(table, "good") == [1.0, 0.5, 0.0, 0.5, 0.75, None]
    assert column(table, "delta") == [1.0, 0.0, -1.0, 0.5, 0.5, None]
    assert column(table, "answers")[3:] == [["1", None], ["tie", "2"], [None, None]]
    result = numbers(table)
    assert result["accuracy"] == ((1 + 0.5 + 0 + 1 + 1) / 5, 5)
    # 9 answers of 5 items: right 1 1 | 1 0 | 0 0 | 1 | .5 1
    assert result["accuracy_pooled"] == (pytest.approx(5.5 / 9), 5)
    # the first one shown: 1 0 | 1 1 | 0 1 | 1 | .5 0
    assert result["position_bias"] == (pytest.approx(5.5 / 9), 5)
    assert result["unparsed"] == (pytest.approx(3 / 12), 6)
    named = {
        "judge:good_first": ["good", "good", "bad", "good", "tie", "unparsed"],
        "judge:bad_first": ["good", "bad", "bad", "unparsed", "good", "unparsed"],
    }
    assert imported(tmp_path, **named).dataset.to_list() == table.dataset.to_list()


def test_one_order_an_item_needs_to_know_which_side_came_first(tmp_path: Path) -> None:
    said = DECISION | {"answers": {"first": "A", "second": "B"}, "shown_first": {"good": "AB", "bad": "BA"}}
    columns = {
        "judge": ["A", "B", "A", "B", "A", "unparsed"],
        "judge:shown_first": ["AB", "BA", "BA", "AB", "AB", "AB"],
    }
    table = imported(tmp_path, said, **columns)
    assert column(table, "delta") == [1.0, 1.0, -1.0, -1.0, 1.0, None]
    assert column(table, "answers") == [["1", None], [None, "2"], [None, "1"], ["2", None], ["1", None], [None, None]]
    result = numbers(table)
    assert result["accuracy"] == result["accuracy_pooled"] == (0.6, 5)
    assert result["position_bias"] == (0.6, 5)
    assert result["unparsed"] == (pytest.approx(1 / 6), 6)
    with pytest.raises(ScoreImportError, match=r"needs it for bad and good; map judge:shown_first to the column that"):
        imported(tmp_path, said, judge=columns["judge"])


def test_a_yes_or_no_about_each_side_is_a_judgment(tmp_path: Path) -> None:
    said = DECISION | {"answers": {"yes": 1, "no": 0}}
    columns = {"judge_good": [1, 1, 0, 0, 1, "unparsed"], "judge_bad": [0, 1, 0, 1, "unparsed", 0]}
    table = imported(tmp_path, said, **columns)
    assert column(table, "delta") == [1.0, 0.0, 0.0, -1.0, None, None]
    assert column(table, "good") == [1.0, 1.0, 0.0, 0.0, 1.0, None]
    result = numbers(table)
    assert result["accuracy"] == (0.5, 4)
    # balanced accuracy over the 8 answers of the 4 items that have both: right 1 1 | 1 0 | 0 1 | 0 0
    assert result["accuracy_pooled"] == (0.5, 4)
    assert result["position_bias"] == (0.5, 4)
    assert result["unparsed"] == (pytest.approx(2 / 12), 6)


def test_decisions_agree_with_the_probabilities_as_signs_do(tmp_path: Path) -> None:
    result = numbers(imported(tmp_path, judge=["good", "bad", "good", "good", "tie", "unparsed"], **DIRECT))
    # direct prefers good, bad, good, bad: the same on 3 of the 4 that are decided; kappa = (.75 - .5) / .5
    assert result["raw_agreement"] == (0.75, 4)
    assert result["kappa"] == (pytest.approx(0.5), 4)


def test_half_an_answer_is_flagged_and_no_number_comes_of_it(tmp_path: Path) -> None:
    orders = {"judge:good_first": ["good"] * 6, "judge:bad_first": ["good", None, "good", "good", "good", "good"]}
    table = imported(tmp_path, **orders)
    assert column(table, "flags")[:2] == [[], ["half_empty"]]
    assert [column(table, x)[1] for x in ("good", "delta", "answers", "unparsed")] == [None] * 4
    assert table.signature["n_by_flag"]["judge"] == {"half_empty": 1}
    assert numbers(table)["unparsed"] == (0.0, 5)


def test_decisions_of_a_long_file_and_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    rows = [(i, "The hens cluck.", f"The hens clucks {i}.", "judge", answer) for i, answer in enumerate("AABC")]
    pd.DataFrame(rows, columns=["pair_id", "good", "bad", "score", "value"]).to_csv(path, index=False)
    command = ["import", str(path), "--score", "judge=decision,good=A,bad=B|b,tie=C", "--model", "m"]
    completed([*command, "--out", str(tmp_path / "out")])
    table = pairbank.read_scored(tmp_path / "out" / "m.parquet")
    assert column(table, "delta") == [1.0, 1.0, -1.0, 0.0]
    empty = tmp_path / "empty.csv"
    pd.DataFrame(SENTENCES | {"judge": ["good", "bad", *["unparsed"] * 3, None]}).to_csv(empty, index=False)
    shown = CliRunner().invoke(app, ["import", str(empty), "--score=judge=decision", "--model=m", f"--out={tmp_path}"])
    assert "6 items with judge (3 unparsed, 1 not imported)" in shown.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("said", "columns", "message"),
    [
        (
            "decision",
            {"judge": [1] * 6},
            r"row 2: judge is '1', expected one of good, bad, tie, unparsed; say what else",
        ),
        ("decision", {"verdict": 1}, r"judge needs judge or judge and judge:shown_first or .* map them to columns"),
        (
            DECISION | {"answers": {"good": 1}},
            {"judge": [1] * 6},
            r"answers says what stands for good; a file with judge",
        ),
        (
            DECISION | {"answers": {"yes": 1, "no": 0}},
            {"judge": [1] * 6},
            r"says what stands for no, yes; .* bad and good",
        ),
        (
            "decision",
            {"judge": "good", "judge:shown_first": "left"},
            r"judge:shown_first is 'left', expected one of good",
        ),
        (
            "decision",
            {"judge": [None] * 6},
            r"no scores of judge in any row \(6 empty, 0 half empty\); looked .*'judge'",
        ),
    ],
)
def test_an_answer_that_nothing_stands_for_is_one_clear_error(
    tmp_path: Path, said: dict[str, Any] | str, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScoreImportError, match=message):
        imported(tmp_path, said, **columns)
