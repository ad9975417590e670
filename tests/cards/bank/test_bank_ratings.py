"""Ratings in a bank: they load, they are those of its items, they leave with the texts, and a wrong cell is found."""

import json
from pathlib import Path

import datasets
import pandas as pd
import pytest
import yaml

import pairbank
from bank_fixtures import Score, rehashed
from command_line import run
from pairbank.cards.bank.tables import read_table, write_table
from pairbank.cards.check import check_bank, check_publishable
from pairbank.cards.merge import merge_banks
from pairbank.cards.write import strip_texts
from pairbank.errors import BankError
from three_models import ratings_of


def of_starter(limit: int = 8) -> pd.DataFrame:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=limit)
    return ratings_of(items)


def test_load_dataset_gives_the_ratings_back_and_no_identifier(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("one", limit=4)], ratings=[of_starter()])
    table = datasets.load_dataset(str(bank), "starter_ratings", split="ratings")
    items = datasets.load_dataset(str(bank), "starter", split="items")
    assert set(table["item_id"][:]) <= set(items["item_id"][:])  # those of other items are not in the bank
    assert table.column_names == ["item_id", "side", "rater", "value", "scale"]
    assert set(table["rater"][:]) == {0, 1, 2}
    assert "A9XQ" not in (bank / "ratings" / "starter.parquet").read_bytes().decode("latin-1")
    page = (bank / "README.md").read_text(encoding="utf-8")
    assert f"| starter | starter_ratings | likert7 | 3 | {len(table)} | {len(items)} | 3 |" in page
    configs = yaml.safe_load(page.split("---\n")[1])["configs"]
    assert "starter_ratings" in [config["config_name"] for config in configs]
    check_bank(bank)


def test_ratings_stay_when_a_bank_grows_and_go_with_the_items_that_go(tmp_path: Path, scored_by: Score) -> None:
    ratings = of_starter()
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("one", limit=4)], ratings=[ratings])
    held = json.loads((bank / "manifest.json").read_text())["ratings"]
    pairbank.write_bank(bank, scored=[scored_by("one", limit=4)])
    assert json.loads((bank / "manifest.json").read_text())["ratings"] == held
    few = scored_by("one", limit=1)
    pairbank.write_bank(bank, corpora=[pairbank.load_corpus("starter", subset="plausibility", limit=1)], scored=[few])
    assert json.loads((bank / "manifest.json").read_text())["ratings"]["starter"]["n_items"] == len(few)
    assert check_bank(bank)


def test_ratings_of_other_items_and_cells_that_are_none_are_refused(tmp_path: Path, scored_by: Score) -> None:
    ratings, scored = of_starter(), [scored_by("one", limit=4)]
    wrong = {
        "none of which is an item of this bank": ratings.assign(item_id="other/1"),
        "side is 'left'; expected good or bad": ratings.assign(side="left"),
        "value is 'much'; expected a number": ratings.assign(value="much"),
        "value is 'inf'; expected a number": ratings.assign(value=float("inf")),
        "lacks the column": ratings.drop(columns="rater"),
        "is empty": ratings.assign(rater=None),
    }
    for said, frame in wrong.items():
        with pytest.raises(BankError, match=said):
            pairbank.write_bank(tmp_path / "bank", scored=scored, ratings=[frame])
    assert not (tmp_path / "bank" / "manifest.json").exists()


def test_ratings_leave_with_the_texts_and_are_not_published_without_them(tmp_path: Path, own_pairs: Path) -> None:
    items = pairbank.load_corpus(own_pairs)
    scored = pairbank.score(items, "fake:one", methods=["direct"])
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored], ratings=[ratings_of(items)])
    with pytest.raises(BankError, match="texts that may not be published"):
        check_publishable(bank)
    public = strip_texts(bank, tmp_path / "public")
    assert not (public / "ratings").exists()
    assert "ratings" not in json.loads((public / "manifest.json").read_text())
    assert "_ratings" not in (public / "README.md").read_text(encoding="utf-8")
    check_publishable(public)
    licensed = pairbank.write_bank(bank, scored=[scored], licences={"own": "cc-by-4.0"})
    assert "own" in check_publishable(licensed)["ratings"]


def test_a_bank_with_ratings_and_one_without_make_one_with_and_other_ratings_contradict(
    tmp_path: Path, scored_by: Score
) -> None:
    ratings = of_starter()
    with_them = pairbank.write_bank(tmp_path / "a", scored=[scored_by("one")], ratings=[ratings])
    without = pairbank.write_bank(tmp_path / "b", scored=[scored_by("two")])
    other = pairbank.write_bank(
        tmp_path / "c", scored=[scored_by("two")], ratings=[ratings.assign(value=ratings["value"] + 1)]
    )
    merged = merge_banks(with_them, without, out=tmp_path / "ab")
    assert check_bank(merged)["ratings"] == check_bank(with_them)["ratings"]
    with pytest.raises(BankError, match="corpus 'starter', ratings: column value differs"):
        merge_banks(with_them, other, out=tmp_path / "ac")


def test_an_edited_rating_is_found_even_where_its_hash_was_edited_too(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("one", limit=4)], ratings=[of_starter()])
    path = bank / "ratings" / "starter.parquet"
    table = read_table(path)
    edited = table.to_pandas().assign(value=lambda frame: frame["value"].where(frame.index > 0, 1.0))
    write_table(path, datasets.Dataset.from_pandas(edited, features=table.features, preserve_index=False))
    with pytest.raises(BankError, match=r"ratings/starter\.parquet: alpha is"):
        check_bank(rehashed(bank))
    with pytest.raises(BankError, match=r"ratings\.starter\.n_ratings is 'many'"):
        check_bank(rehashed(bank, lambda manifest: manifest["ratings"].update(starter={"n_ratings": "many"})))


@pytest.mark.ci
def test_a_report_reads_the_ratings_of_the_bank_that_its_files_stand_in(tmp_path: Path, own_pairs: Path) -> None:
    items = pairbank.load_corpus(own_pairs)
    scored = pairbank.score(items, "fake:one", methods=["direct"])
    scored.save(tmp_path / "scored.parquet")
    ratings_of(items).to_parquet(tmp_path / "who.parquet")
    run("bank", tmp_path / "scored.parquet", "--out", tmp_path / "b", "--ratings", tmp_path / "who.parquet")
    run("report", tmp_path / "b/scores/own/one.parquet", "--analysis", "raters", "--out", tmp_path / "r")
    page = (tmp_path / "r" / "report.md").read_text(encoding="utf-8")
    assert "Is a model as good as one more person?" in page
    assert "could not be computed" not in page
    run("report", tmp_path / "scored.parquet", "--analysis", "raters", "--out", tmp_path / "o")
    assert "are in no bank that has them" in (tmp_path / "o" / "report.md").read_text(encoding="utf-8")
