"""The column `model`: tables may be put under each other, and those of before it are read as if they had it."""

from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import MODEL, Scored


def scored_by(name: str, subset: str = "plausibility") -> Scored:
    items = pairbank.load_corpus("starter", subset=subset, limit=2)
    return pairbank.score(items, FakeScorer(name=name), methods=["direct"])


def as_before(table: Scored) -> Scored:
    """The table as versions without the column wrote it."""
    return Scored.of(table.dataset.remove_columns([MODEL]), table.signature)


def test_tables_of_several_models_may_be_put_under_each_other() -> None:
    both = datasets.concatenate_datasets([scored_by(name).dataset for name in ("fake-1", "org/fake-2")])
    assert both.unique(MODEL) == ["fake-1", "org/fake-2"]


def test_items_that_name_several_models_are_not_scored_as_if_they_named_none() -> None:
    items = pairbank.load_corpus("starter", limit=1)
    assert pairbank.score(items.add_column(MODEL, ["x"] * len(items)), FakeScorer(name="fake-1"))[MODEL][0] == "fake-1"
    own = items.add_column(MODEL, ["x", *["y"] * (len(items) - 1)])
    with pytest.raises(ScoringError, match="already have the column model, of 2 values"):
        pairbank.score(own, FakeScorer())


def test_a_table_of_before_is_read_with_its_model(tmp_path: Path) -> None:
    new = scored_by("fake-1")
    old = pairbank.read_scored(as_before(new).save(tmp_path / "old.parquet"))
    assert old.dataset.features == new.dataset.features
    assert old.dataset.column_names == new.dataset.column_names
    assert old.dataset.to_list() == new.dataset.to_list()


def test_a_bank_of_before_is_whole_and_has_one_form_once_it_is_extended(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])
    path = bank / "scores" / "starter" / "fake_1.parquet"
    made_old(bank, path)
    assert MODEL not in pq.read_schema(path).names
    pairbank.check_bank(bank)
    pairbank.write_bank(bank, scored=[scored_by("fake-2")])
    assert MODEL in pq.read_schema(path).names
    pairbank.check_bank(bank)
    other = pairbank.write_bank(tmp_path / "other", scored=[scored_by("fake-1"), scored_by("fake-3")])
    made_old(other, other / "scores" / "starter" / "fake_1.parquet")
    made_old(other, other / "scores" / "starter" / "fake_3.parquet")
    merged = pairbank.merge_banks(bank, other, out=tmp_path / "merged")
    loaded = datasets.load_dataset(str(merged), "starter_scored", cache_dir=str(tmp_path / "hf"))
    assert {split: table.unique(MODEL) for split, table in loaded.items()} == {
        "fake_1": ["fake-1"],
        "fake_2": ["fake-2"],
        "fake_3": ["fake-3"],
    }


def made_old(bank: Path, path: Path) -> None:
    """Take the column out of a bank's table, as if an old version had written the bank."""
    from pairbank.files import read_json, sha256_of_file, write_json

    as_before(pairbank.read_scored(path)).save(path)
    manifest = read_json(bank / "manifest.json")
    manifest["files"][path.relative_to(bank).as_posix()] = sha256_of_file(path)
    (bank / "croissant.json").unlink(missing_ok=True)
    manifest["files"].pop("croissant.json", None)
    write_json(bank / "manifest.json", manifest)


def test_it_stays_where_texts_may_not_be_published(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("good,bad,model\nA b.,A c.,x\nB c.,B d.,y\n")
    items = pairbank.load_corpus(tmp_path / "mine.csv")
    assert "model_source" in items.column_names
    table = pairbank.score(items, FakeScorer(name="fake-1"), methods=["direct"])
    bank = pairbank.write_bank(tmp_path / "bank", scored=[table])
    public = pairbank.strip_texts(bank, tmp_path / "public")
    stripped = pairbank.read_scored(public / "scores" / "mine" / "fake_1.parquet").dataset
    assert stripped.unique(MODEL) == ["fake-1"]
    assert not {"model_source", "target_good"} & set(stripped.column_names)
