"""The long view of a bank's scores: what the tables hold, in one line, of one model or all, true after every change."""

import json
import re
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score, rehashed
from command_line import completed
from pairbank.cards.bank.tables import read_table
from pairbank.cards.check import check_bank
from pairbank.cards.merge import merge_banks
from pairbank.cards.write import remove_scores, strip_texts
from pairbank.cli import app
from pairbank.errors import BankError
from pairbank.files import sha256_of_file

MODELS = ("one", "two", "three")


def test_the_long_view_holds_every_number_of_the_scored_tables_and_no_text(tmp_path: Path, scored_by: Score) -> None:
    tables = {name: scored_by(name, limit=3) for name in MODELS}
    bank = pairbank.write_bank(tmp_path / "bank", scored=list(tables.values()))
    every = datasets.load_dataset(str(bank), "starter_long", split="all")
    assert every.column_names == ["item_id", "model", "method", "good", "bad", "delta"]
    assert len(every) == sum(len(table) for table in tables.values()) * 2
    for name, table in tables.items():
        one = datasets.load_dataset(str(bank), "starter_long", split=name).to_pandas()
        assert set(one["model"]) == {name}
        for method, rows in one.groupby("method"):
            for column in ("good", "bad", "delta"):
                np.testing.assert_array_equal(rows[column], table[f"{method}_{column}"][:])
            assert list(rows["item_id"]) == table["item_id"][:]
    page = (bank / "README.md").read_text(encoding="utf-8")
    assert re.search(r'deltas = load_dataset\("THIS_BANK", "starter_long", split="one"\)', page)
    assert "item_id, model, method, good, bad, delta" in page
    check_bank(bank)


def test_a_method_without_a_number_has_no_row_and_a_single_sentence_no_worse_side(tmp_path: Path) -> None:
    path = tmp_path / "saetze.csv"
    path.write_text("s,r\nDer Hund bellt.,6\nDer Hund bellen.,2\n", encoding="utf-8")
    (tmp_path / "map.toml").write_text('layout = "sentences"\n[columns]\nsentence = "s"\nhuman = "r"\n')
    scored = pairbank.score(pairbank.load_corpus(path, language="de"), "fake:fake", methods=["direct"])
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    long = datasets.load_dataset(str(bank), "saetze_long", split="all")
    assert (long["bad"][:], long["delta"][:]) == ([None, None], [None, None])
    assert long["good"][:] == scored["direct_good"][:]


@pytest.mark.ci
def test_the_view_stays_true_when_a_bank_is_extended_merged_stripped_and_shortened(
    tmp_path: Path, scored_by: Score, own_pairs: Path
) -> None:
    own = pairbank.score(pairbank.load_corpus(own_pairs), "fake:one", methods=["direct"])
    first = pairbank.write_bank(tmp_path / "first", scored=[scored_by("one", limit=2), own])
    second = pairbank.write_bank(tmp_path / "second", scored=[scored_by("two", limit=2)])
    before = sha256_of_file(first / "long/starter/one.parquet")
    pairbank.write_bank(first, scored=[scored_by("three", limit=2)])
    assert sha256_of_file(first / "long/starter/one.parquet") == before
    merged = merge_banks(first, second, out=tmp_path / "merged")
    names = {path.relative_to(merged).as_posix() for path in (merged / "long").rglob("*.parquet")}
    assert names == {f"long/{name}.parquet" for name in ("own/one", "starter/one", "starter/two", "starter/three")}
    check_bank(merged)
    stripped = strip_texts(merged, tmp_path / "public")
    check_bank(stripped)
    assert datasets.load_dataset(str(stripped), "own_long", split="one")["delta"][:] == own["direct_delta"][:]
    remove_scores(merged, [("starter", "two")])
    assert not (merged / "long/starter/two.parquet").exists()
    check_bank(merged)


def test_a_changed_view_is_found_even_with_its_hash(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("one")])
    path = bank / "long/starter/one.parquet"
    table = pq.read_table(path)
    raised = pa.array([value + 1 for value in table.column("delta").to_pylist()], pa.float64())
    pq.write_table(table.set_column(5, "delta", raised), path)
    with pytest.raises(BankError, match=r"long/starter/one\.parquet: not what scores/starter/one\.parquet holds"):
        check_bank(rehashed(bank))


def test_a_bank_of_before_is_read_and_gets_the_view_when_it_is_extended(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("one")])
    old = tmp_path / "old"
    merge_without_view(bank, old)
    assert len(read_table(old / "scores/starter/one.parquet"))
    pairbank.write_bank(old, scored=[scored_by("two")])
    assert sorted(path.name for path in (old / "long/starter").iterdir()) == ["one.parquet", "two.parquet"]
    check_bank(old)


def merge_without_view(bank: Path, old: Path) -> None:
    """Copy a bank as an earlier version wrote it: no long view, and a card and Croissant file without it."""
    import shutil

    from pairbank.cards.bank.layout import CARD, CROISSANT, bank_files, data_files
    from pairbank.cards.bank.tables import read_summary
    from pairbank.cards.card.croissant import croissant_of
    from pairbank.cards.card.render import bank_in, card_text

    shutil.copytree(bank, old)
    shutil.rmtree(old / "long")
    manifest = json.loads((old / "manifest.json").read_text())
    del manifest["long"]
    hashes = {path: sha256_of_file(old / path) for path in data_files(manifest)}
    made = bank_in(old, manifest, read_summary(old))
    (old / CARD).write_text(card_text(made, hashes), encoding="utf-8")
    (old / CROISSANT).write_text(croissant_of(made, hashes), encoding="utf-8")
    manifest["files"] = {path: sha256_of_file(old / path) for path in bank_files(old)}
    (old / "manifest.json").write_text(json.dumps(manifest))
    check_bank(old)


def test_a_corpus_whose_name_ends_in_long_keeps_its_config(tmp_path: Path) -> None:
    for name in ("own", "own_long"):
        (tmp_path / f"{name}.csv").write_text("good,bad\nShe sleeps.,She sleep.\nDogs bark.,Dogs barks.\n")
    scored = [
        pairbank.score(pairbank.load_corpus(tmp_path / f"{name}.csv"), "fake:one", methods=["direct"])
        for name in ("own", "own_long")
    ]
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored)
    configs = set(datasets.get_dataset_config_names(str(bank)))
    assert {"own", "own_long", "own_scored", "own_long_scored", "own_long_view", "own_long_long"} <= configs
    assert len(datasets.load_dataset(str(bank), "own_long_view", split="one")) == 2


def test_ratings_of_a_users_table_reach_the_bank_and_are_stated(tmp_path: Path) -> None:
    path = tmp_path / "urteile.csv"
    path.write_text(
        "item,who,sentence,ok,points\n1,a,Dogs bark.,1,7\n1,b,Dogs bark.,1,6\n1,a,Dogs barks.,0,2\n"
        "1,b,Dogs barks.,0,3\n"
        "2,a,She sleeps.,1,6\n2,b,She sleeps.,1,7\n2,a,She sleep.,0,1\n2,b,She sleep.,0,1\n"
    )
    (tmp_path / "map.toml").write_text(
        'layout = "long"\n[columns]\nitem = "item"\nsentence = "sentence"\nrater = "who"\nrating = "points"\n'
        '[label]\ncolumn = "ok"\ngood = 1\nbad = 0\n[ratings]\nscale = "likert7"\n'
    )
    out = tmp_path / "scored.parquet"
    scored = pairbank.score(pairbank.load_corpus(path), "fake:fake", methods=["direct"])
    scored.save(out)
    judged = pairbank.load_ratings(path)
    pq.write_table(judged.with_format("arrow")[:], tmp_path / "scored.ratings.parquet")
    done = completed(["bank", str(out), "--out", str(tmp_path / "bank")])
    assert "pairbank bank --out" in done.output
    held = datasets.load_dataset(str(tmp_path / "bank"), "urteile_ratings", split="ratings")
    assert held["value"][:] == judged["value"][:]
    site = CliRunner().invoke(app, ["site", str(tmp_path / "bank"), "--out", str(tmp_path / "site")])
    assert "Texts of urteile are left out: no licence is stated; --all-texts includes them" in site.output
    check_bank(tmp_path / "bank")
