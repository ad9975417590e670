"""Tables fit the terminal, with nothing cut off."""

import re

import pandas as pd
import pytest
from rich.cells import cell_len
from rich.console import Console

from pairbank.builders.catalogue import catalogue_rows
from pairbank.cli.display.tables import folded, lines
from pairbank.scoring.methods.page import method_rows
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.study.model_list import list_rows


def printed(table: pd.DataFrame, width: int, whole: tuple[str, ...] = ()) -> list[str]:
    console = Console(width=width, record=True, file=None, color_system=None, force_terminal=False)
    with console.capture() as shown:
        for line in lines(table, width=width, whole=whole):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=isinstance(line, str))
    return shown.get().splitlines()


def accuracies(corpus: str, group: str, method: str) -> pd.DataFrame:
    row = {
        "corpus": corpus,
        "group": "all",
        "method": "direct",
        "n": 67_000,
        "excluded": 104,
        "accuracy": "0.73 [0.70, 0.76]",
        "orders pooled": "",
        "first option chosen": "",
        "mean log P (nats)": "",
    }
    asked = {
        "group": group,
        "method": method,
        "orders pooled": "0.50 [0.49, 0.51]",
        "first option chosen": "1.00 [0.98, 1.00] (n = 66,981)",
    }
    return pd.DataFrame([row, row | asked])


def letters(text: str) -> str:
    return re.sub(r"\s", "", text)


TABLES = {
    "a report": accuracies("starter", "subset: minimal-pairs", "acceptability_judgment_i"),
    "long names": accuracies(
        "social-relations", "phenomenon: filler_gap_dependency", "hl23_sent_comp_meta_instruct@chat"
    ),
    "Chinese": accuracies("zhoblimp", "phenomenon: 把字句与被字句的句法限制以及其他一些现象", "better_sentence"),
    "corpora": pd.DataFrame(catalogue_rows()),
    "methods": pd.DataFrame(method_rows(prompts_of(()))),
    "lists of models": pd.DataFrame(list_rows()),
    "one row": pd.DataFrame(
        [{"model": "an-organisation/" + "m" * 90, "corpus": "li", "tokens": 123_456_789, "hours_1": 0.001}]
    ),
    "no row": pd.DataFrame({"corpus": [], "n": []}),
}


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("name", TABLES)
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_cut_off(name: str, width: int) -> None:
    table = TABLES[name]
    shown = printed(table, width)
    assert max((cell_len(line.rstrip()) for line in shown), default=0) <= width
    everything = "".join(sorted(letters("".join(shown))))
    for cell in table.to_numpy().ravel():
        rest = everything
        for letter in letters(str(cell)):
            assert letter in rest, (cell, shown)


@pytest.mark.parametrize("name", ["a report", "long names"])
def test_an_interval_is_never_broken_nor_a_heading_within_a_word(name: str) -> None:
    shown = "\n".join(printed(TABLES[name], 80))
    assert "[0.70, 0.76]" in shown
    assert "[0.98, 1.00]" in shown
    for word in ("excluded", "accuracy", "pooled", "chosen"):
        assert word in shown


def test_columns_that_hold_nothing_take_no_room_where_there_is_little() -> None:
    table = accuracies("starter", "subset: minimal-pairs", "acceptability_judgment_i")
    assert "mean log P" not in "\n".join(printed(table, 80))
    assert "mean log P" in "\n".join(printed(table, 300))


def test_what_pandas_holds_for_missing_is_an_empty_cell() -> None:
    frame = pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "x": [0.5, float("nan")], "text": [None, "b"]})
    [table] = lines(frame, width=80)
    assert [[*column.cells] for column in table.columns] == [["1", ""], ["0.5", ""], ["", "b"]]


def test_what_all_rows_share_stands_once_above_a_narrow_table() -> None:
    shown = printed(accuracies("starter", "subset: minimal-pairs", "acceptability_judgment_i"), 80)
    assert shown[0] == "corpus: starter"
    assert "starter" not in "\n".join(shown[1:])


def test_what_fits_in_no_way_is_printed_row_by_row() -> None:
    wide = pd.DataFrame([{f"column_{i}": f"value_number_{i}" for i in range(12)}] * 2).assign(column_0=["a", "b"])
    shown = printed(
        wide.assign(**{f"column_{i}": [f"x{i}aaaaaaaaaaaaa", f"y{i}aaaaaaaaaaaaa"] for i in range(1, 12)}), 80
    )
    assert "column_0: a" in shown
    assert "  column_11: y11aaaaaaaaaaaaa" in shown


@pytest.mark.parametrize(
    "text",
    [
        "The dogs bark at the cat.",
        "他昨天去了学校然后又去了图书馆。",
        "ثلاث كلمات هنا",
        "Donaudampfschifffahrtsgesellschaft",
    ],
)
def test_a_text_is_folded_by_what_it_takes_on_a_terminal(text: str) -> None:
    result = folded(text, 20, indent="  ", hanging="  ")
    assert all(cell_len(line) <= 20 for line in result)
    assert letters("".join(result)) == letters(text)
