"""Tables for people: the text of each cell, and Markdown that cannot be broken by its contents."""

import math
from typing import Any

import pandas as pd

from pairbank.stats import accuracy_table, agreement_table, to_markdown
from pairbank.stats.report.wide_tables import headline, wide_numbers
from pairbank.stats.scored_table.scored_table import MOST_SUBSETS


def row(metric: str, value: float, low: float, high: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    base = {
        "model": "gpt2",
        "corpus": "toy",
        "group_by": "all",
        "group": "",
        "method": "meta",
        "versus": "",
        "metric": metric,
        "value": value,
        "low": low,
        "high": high,
        "n": 350,
        "n_excluded": 2,
        "ci_method": "bootstrap-percentile",
        "reason": None,
    }
    return base | changes


def test_the_first_look_has_subsets_up_to_a_number_and_that_number_too() -> None:
    for n, shown in ((MOST_SUBSETS, MOST_SUBSETS + 1), (MOST_SUBSETS + 1, 1)):
        subsets = [row("accuracy", 0.8, 0.7, 0.9, group_by="subset", group=f"s{i}") for i in range(n)]
        assert len(headline(pd.DataFrame([row("accuracy", 0.8, 0.7, 0.9), *subsets]))) == shown


def test_each_number_of_a_csv_file_is_in_its_own_column() -> None:
    numbers = wide_numbers(
        pd.DataFrame([row("accuracy", 0.82, 0.78, 0.85), row("accuracy_pooled", 0.5, 0.4, 0.6)]), "accuracy"
    )
    (values,) = numbers.to_dict("records")
    assert [values[f"accuracy{x}"] for x in ("", " low", " high", " n")] == [0.82, 0.78, 0.85, 350]
    assert [values[f"orders pooled{x}"] for x in ("", " low", " high")] == [0.5, 0.4, 0.6]


def test_one_row_holds_all_accuracies_of_a_method() -> None:
    nan = math.nan
    table = accuracy_table(
        pd.DataFrame(
            [
                row("accuracy", 0.8249, 0.786, 0.8549),
                row("accuracy_pooled", 0.5, nan, nan, reason="every resample gives 0.5"),
                row("position_bias", nan, nan, nan, n=0, reason="no items"),
                row("pearson", 0.3, 0.2, 0.4, versus="direct"),
                row("human_accuracy", 1.0, 0.99, 1.0, method="human", group_by="subset", group="binding"),
            ]
        )
    )
    assert table.to_dict("records") == [
        {
            "model": "gpt2",
            "corpus": "toy",
            "group": "all",
            "method": "meta",
            "n": 350,
            "excluded": 2,
            "accuracy": "0.82 [0.79, 0.85]",
            "orders pooled": "0.50 [no interval]",
            "first option chosen": "undefined (n = 0)",
            "notes": "orders pooled: every resample gives 0.5; first option chosen: no items",
        },
        {
            "model": "gpt2",
            "corpus": "toy",
            "group": "subset: binding",
            "method": "human",
            "n": 350,
            "excluded": 2,
            "accuracy": "1.00 [0.99, 1.00]",
            "orders pooled": "",
            "first option chosen": "",
            "notes": "",
        },
    ]


def test_agreement_with_direct_and_with_people_are_rows_of_their_own() -> None:
    table = agreement_table(
        pd.DataFrame(
            [
                row("pearson", -0.234, -0.3, -0.1, versus="direct"),
                row("kappa", 0.434, 0.34, 0.53, versus="direct", n=340, n_excluded=12),
                row("pearson_human", 0.5, 0.4, 0.6, versus="human"),
            ]
        )
    )
    assert table["versus"].tolist() == ["direct", "human"]
    assert table["Pearson r"].tolist() == ["-0.23 [-0.30, -0.10]", "0.50 [0.40, 0.60]"]
    # kappa leaves ties out, so its cell names its own n
    assert table["Cohen's kappa"].tolist() == ["0.43 [0.34, 0.53] (n = 340)", ""]
    assert table["excluded"].tolist() == [2, 2]


def test_a_summary_without_such_metrics_gives_an_empty_table_with_its_columns() -> None:
    table = agreement_table(pd.DataFrame([row("accuracy", 0.8, 0.7, 0.9)]))
    assert len(table) == 0
    assert list(table.columns)[:6] == ["model", "corpus", "group", "method", "versus", "n"]


def test_pipes_newlines_and_backslashes_stay_in_their_cell() -> None:
    text = to_markdown(pd.DataFrame({"a": ["x|y\nz", "\\|"], "b": [1, 2]}))
    assert text.split("\n") == ["| a | b |", "| --- | --- |", "| x\\|y<br>z | 1 |", "| \\\\\\| | 2 |"]


def test_null_is_an_empty_cell_and_no_rows_are_a_header() -> None:
    table = pd.DataFrame({"a": pd.Series([None, "x"], dtype="string"), "b": [math.nan, 0.5]})
    assert to_markdown(table).split("\n")[2:] == ["|  |  |", "| x | 0.5 |"]
    assert to_markdown(table.iloc[:0]) == "| a | b |\n| --- | --- |"
