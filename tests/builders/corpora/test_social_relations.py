"""Social relations on rows invented here in the authors' format; their own items are not published."""

import csv
from pathlib import Path

import pytest

import pairbank
from pairbank.errors import CorpusError, CorpusFileNotFoundError

TEXT = "The zeppelin"


def row(number: int = 1, **changes: object) -> dict[str, object]:
    return {
        "MetaTemplateID": 5,
        "TemplateID": number,
        "Target1": f"{TEXT} trusts the kite {number}.",
        "Target2": f"{TEXT} fears the kite {number}.",
        "Context1": f"{TEXT} likes the kite.",
        "Context2": f"{TEXT} hates the kite.",
    } | changes


LIKERT = {
    "text_likert_target1_context1": 4.5,
    "text_likert_target1_context2": 1.25,
    "text_likert_target2_context1": 2.0,
    "text_likert_target2_context2": 4.0,
}
CHOICE = {"text_choice_target1": 1 + 1 / 7, "text_choice_target2": 1 + 3 / 7}


def write(path: Path, *rows: dict[str, object]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def folder_of(folder: Path, *, choice: bool = True) -> Path:
    write(folder / "results-likert-20231207.csv", *(row(n, **LIKERT) for n in (1, 2)))
    if choice:
        write(folder / "results-choice-20231207.csv", *(row(n, **CHOICE) for n in (2, 1)))
    return folder


def test_an_item_is_two_context_pairs_with_what_people_chose_and_rated(tmp_path: Path) -> None:
    items = pairbank.load_corpus("social-relations", data_dir=folder_of(tmp_path)).to_list()
    assert [item["item_id"] for item in items] == [f"social-relations/00{n}-t{t}" for n in (1, 2) for t in (1, 2)]
    first, second = items[:2]
    assert first["target_good"] == first["target_bad"] == row()["Target1"]
    assert (first["context_good"], first["context_bad"]) == (row()["Context1"], row()["Context2"])
    assert (second["context_good"], second["context_bad"]) == (row()["Context2"], row()["Context1"])
    assert (first["human_good"], first["human_bad"], first["human_scale"]) == (4.5, 1.25, "likert5")
    assert (second["human_good"], second["human_bad"]) == (4.0, 2.0)
    # answers 1 and 2: a mean of 1 + 1/7 is one in seven for context 2, the wrong one of target 1
    assert first["human_choice"] == pytest.approx(6 / 7, abs=1e-6)
    assert second["human_choice"] == pytest.approx(3 / 7, abs=1e-6)
    assert [first["target_number"], second["target_number"]] == [1, 2]


def test_ratings_alone_are_enough(tmp_path: Path) -> None:
    items = pairbank.load_corpus("social-relations", data_dir=folder_of(tmp_path, choice=False))
    assert items["human_choice"][:] == [None] * 4


def test_without_the_tables_the_error_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(CorpusFileNotFoundError, match="sent on request"):
        pairbank.load_corpus("social-relations", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_likert_target1_context1": 6}, r"row 2: people's mean answer is not a number from 1 to 5"),
        ({"Context1": ""}, r"row 2: Context1 empty"),
        ({"TemplateID": 9}, r"row 2: not among the items of results-choice\.csv"),
    ],
)
def test_a_malformed_row_is_named_without_its_text(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    folder = folder_of(tmp_path)
    write(folder / "results-likert-20231207.csv", row(1, **LIKERT) | changes)
    with pytest.raises(CorpusError, match=message) as caught:
        pairbank.load_corpus("social-relations", data_dir=folder)
    assert TEXT not in str(caught.value)


def test_a_row_that_stands_twice_or_a_column_that_is_missing_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    write(folder / "results-likert-20231207.csv", row(1, **LIKERT), row(1, **LIKERT))
    with pytest.raises(CorpusError, match="an item of an earlier row; expected each once"):
        pairbank.load_corpus("social-relations", data_dir=folder)
    write(folder / "results-likert-20231207.csv", row(1))
    with pytest.raises(CorpusError, match="missing column"):
        pairbank.load_corpus("social-relations", data_dir=folder)
