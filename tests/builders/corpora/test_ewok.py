"""EWoK on rows invented here in its format. Its own items must not stand in this repository."""

import base64
import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pairbank
from pairbank.errors import CorpusError, CorpusFileNotFoundError

CANARY = "EWoK canary UUID 00000000-0000-0000-0000-000000000000"
TEXT = "The zeppelin"
"""Stands in every invented text; an error that shows it would show an item."""


def ewok_row(**changes: object) -> dict[str, Any]:
    return {
        "MetaTemplateID": 3,
        "TemplateID": 4,
        "Domain": "spatial_relations",
        "ConceptA": "above",
        "ConceptB": "below",
        "TargetDiff": "concept swap",
        "ContextDiff": "antonym",
        "ContextType": "direct",
        "Target1": f"{TEXT} sees the roof of the barn.",
        "Target2": f"{TEXT} sees the floor of the barn.",
        "Context1": f"{TEXT} hovers over the barn.",
        "Context2": f"{TEXT} stands in the barn.",
        "TemplateName": "template-spatial_relations",
        "TemplateIndex": 0,
        "ItemTags": "agent1",
    } | changes


def write(path: Path, *rows: dict[str, Any], canary: bool = True) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        if canary:
            out.write(CANARY + "\n")
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path.parent


def test_an_item_gives_two_context_pairs_with_the_target_the_same_on_both_sides(tmp_path: Path) -> None:
    folder = write(tmp_path / "ewok-core-1.0.csv", ewok_row(), ewok_row(ConceptB="under"))
    rows = pairbank.load_corpus("ewok", data_dir=folder).to_list()
    assert [row["item_id"] for row in rows] == [f"ewok/spatial-relations/3.4.{n}-t{t}" for n in (1, 2) for t in (1, 2)]
    first, second = rows[:2]
    assert first["target_good"] == first["target_bad"] == ewok_row()["Target1"]
    assert (first["context_good"], first["context_bad"]) == (ewok_row()["Context1"], ewok_row()["Context2"])
    assert second["target_good"] == second["target_bad"] == ewok_row()["Target2"]
    assert (second["context_good"], second["context_bad"]) == (ewok_row()["Context2"], ewok_row()["Context1"])
    assert first["pair_id"] == second["pair_id"]
    assert (first["target_number"], second["target_number"]) == (1, 2)
    assert (first["task"], first["phenomenon"], first["concept_a"]) == ("context_pair", "spatial-relations", "above")
    assert first["human_good"] is None
    assert rows[0]["flags"] == []


def test_human_likert_means_are_taken_where_the_copy_has_them(tmp_path: Path) -> None:
    means = {f"response_mean_target{t}_context{c}": 1 + t + c / 2 for t in (1, 2) for c in (1, 2)}
    blank = dict.fromkeys(means, "")
    rows = (ewok_row(**means), ewok_row(**blank, Context1=f"{TEXT} hangs above the barn."))
    items = pairbank.load_corpus("ewok", data_dir=write(tmp_path / "ewok-core-1.0.csv", *rows))
    assert [(row["human_good"], row["human_bad"], row["human_scale"]) for row in items][:3] == [
        (2.5, 3.0, "likert5"),
        (4.0, 3.5, "likert5"),
        (None, None, None),
    ]
    assert items["flags"][:] == [[], [], ["no_human_rating"], ["no_human_rating"]]


def test_one_csv_a_domain_a_hub_export_and_one_file_give_the_same_rows(tmp_path: Path) -> None:
    rows = (ewok_row(Domain="social_properties"), ewok_row())
    for name in ("one", "many", "hub", "plain"):
        (tmp_path / name).mkdir()
    write(tmp_path / "one" / "ewok-core-1.0.csv", *rows)
    write(tmp_path / "plain" / "ewok-core-1.0.csv", *rows, canary=False)
    for row in rows:
        write(tmp_path / "many" / f"testsuite-{row['Domain']}.csv", row)
    (tmp_path / "hub" / "data").mkdir()
    pd.DataFrame(rows).to_parquet(tmp_path / "hub" / "data" / "test-00000-of-00001.parquet")
    tables = [
        pairbank.load_corpus("ewok", data_dir=tmp_path / name).to_list() for name in ("one", "many", "hub", "plain")
    ]
    assert tables[0] == tables[1] == tables[2] == tables[3]
    assert len(pairbank.load_corpus("ewok", data_dir=tmp_path / "one", subset="social-properties")) == 2


@pytest.mark.parametrize("data_dir", [None, "."])
def test_without_a_copy_the_error_says_how_to_be_authorised(tmp_path: Path, data_dir: str | None) -> None:
    with pytest.raises(
        CorpusFileNotFoundError, match=r"it is gated: accept the terms of use at https://huggingface\.co"
    ):
        pairbank.load_corpus("ewok", data_dir=None if data_dir is None else tmp_path / data_dir)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Context2": " "}, r"ewok-core-1\.0\.csv, row 3: Context2 is empty"),
        ({"Domain": f"{TEXT} domain"}, r"row 3: Domain is none of agent-properties"),
        ({"response_mean_target1_context2": f"{TEXT}"}, r"row 3: people's mean answer is not a number from 1 to 5"),
        ({"response_mean_target2_context2": 9}, r"row 3: people's mean answer is not a number from 1 to 5"),
    ],
)
def test_a_bad_row_is_named_and_its_text_is_not_shown(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write(tmp_path / "ewok-core-1.0.csv", ewok_row(**changes))
    with pytest.raises(CorpusError, match=message) as caught:
        pairbank.load_corpus("ewok", data_dir=folder)
    assert TEXT not in str(caught.value)


def cells(row: dict[str, Any]) -> str:
    return ",".join(map(str, row.values()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{CANARY}\n{cells(ewok_row())}\n", r"missing column\(s\) Domain, .*expected the header of EWoK-core"),
        (f"{CANARY}\n{','.join(ewok_row())}\n{TEXT} sees,it\n", r"row 3: 2 cells, expected 15 as in the header"),
        (f'{CANARY}\n{",".join(ewok_row())}\n"{TEXT} sees', r"row 3: not readable as delimited text"),
        (f"{CANARY}\n", r"missing column\(s\) Domain"),
        (f"{CANARY}\n{','.join(ewok_row())}\n", r"corpus 'ewok': no rows"),
    ],
)
def test_a_broken_copy_is_one_clear_error_without_its_text(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "ewok-core-1.0.csv").write_text(text)
    with pytest.raises(CorpusError, match=message) as caught:
        pairbank.load_corpus("ewok", data_dir=tmp_path)
    assert TEXT not in str(caught.value)
    assert TEXT not in repr(caught.value.__cause__)


def test_a_copy_that_is_not_utf8_is_one_clear_error_without_its_text(tmp_path: Path) -> None:
    write(tmp_path / "ewok-core-1.0.csv", ewok_row(Target1=f"{TEXT} é"))
    path = tmp_path / "ewok-core-1.0.csv"
    path.write_bytes(path.read_bytes().decode().encode("latin-1"))
    with pytest.raises(CorpusError, match=r"ewok-core-1\.0\.csv: not UTF-8; take a fresh copy") as caught:
        pairbank.load_corpus("ewok", data_dir=tmp_path)
    assert TEXT not in f"{caught.value} {caught.value.__cause__!r}"


def test_a_broken_parquet_copy_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "ewok-core-1.0.parquet").write_text("not parquet")
    with pytest.raises(CorpusError, match=r"ewok-core-1\.0\.parquet: not a readable parquet file"):
        pairbank.load_corpus("ewok", data_dir=tmp_path)


LOCKED = (  # testsuite.csv: the rows of the test, encrypted with "open sesame" as PKWARE's APPNOTE says (6.1)
    "P)h>@6aWDL2mk;8Apo{tO{4Vy006)O000dD004Alb98fcX>?^SV{>+h`CbS75a4o?-mM0$QEu_qcs$wX8x29++y%3UG&e7epe`!;&89q`Mr~hpbV"
    "%EEHc+>rXP7wSe6m5g8^IXRfd8b|Gm;d6Zqt3(P_TqVzObPeHZs}y_K+u04$sIQk*+TRg^MVDZ|+%c)hzQ{7j=YttiiMzNVQ!__^}+}_8^7{VsI|"
    "G=xN6D#zeWb0#wx1dvxt}UN;XUf7g`Kd1&rzBigqkV2Vl|2q{g!Fwt@-pv<^7(?XBKkV@uiIC2c{j3nyH)x?ONu-_f2z&HdXf|Xi>ODCHAH)SzIS"
    "be$9YypQNFAE`q%iu!5B#7ThP)h*<6aW+e0RRX9001EXwqH%7^#A|>zybgO4FCWD000000000000000004Alb98fcX>?^SV{>*;O9ci100001009"
    "6y0000W0RR9100"
)


def test_the_encrypted_release_asks_for_its_password_and_gives_the_rows_of_the_csv_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    write(tmp_path / "plain" / "ewok-core-1.0.csv", ewok_row(), ewok_row(ConceptB="under"))
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "ewok-core-1.0.zip").write_bytes(base64.b85decode(LOCKED))
    with pytest.raises(CorpusError, match=r"is encrypted; set PAIRBANK_EWOK_PASSWORD"):
        pairbank.load_corpus("ewok", data_dir=folder)
    monkeypatch.setenv("PAIRBANK_EWOK_PASSWORD", "wrong")
    with pytest.raises(CorpusError, match=r"the password is wrong, or the file damaged; set PAIRBANK_EWOK_PASSWORD"):
        pairbank.load_corpus("ewok", data_dir=folder)
    monkeypatch.setenv("PAIRBANK_EWOK_PASSWORD", "open sesame")
    rows = pairbank.load_corpus("ewok", data_dir=folder).to_list()
    assert rows == pairbank.load_corpus("ewok", data_dir=tmp_path / "plain").to_list()
