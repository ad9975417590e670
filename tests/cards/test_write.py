"""The bank: what `load_dataset` reads is what was scored, and tables that do not fit are refused."""

import json
from pathlib import Path

import datasets
import pytest
import yaml

import pairbank
from pairbank.cards.bank.layout import read_manifest
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored

METHODS = ["direct", "meta_question_simple", "acceptability_judgment_i"]


def scored_by(name: str, *, methods: list[str] = METHODS, limit: int = 2) -> Scored:
    return pairbank.score(pairbank.load_corpus("starter", limit=limit), f"fake:{name}", methods=methods)


def test_load_dataset_gives_back_exactly_what_was_scored(tmp_path: Path) -> None:
    scored = scored_by("fake-1")
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    loaded = datasets.load_dataset(str(bank), "starter_scored", split="fake_1")
    assert loaded.features == scored.dataset.features
    assert loaded.to_list() == scored.dataset.to_list()
    items = datasets.load_dataset(str(bank), "starter", split="items")
    assert items.to_list() == pairbank.load_corpus("starter", limit=2).to_list()
    assert datasets.get_dataset_config_names(str(bank)) == ["starter", "starter_scored", "starter_long", "summary"]


def test_the_card_shows_the_figures_of_the_summary(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])
    summary = datasets.load_dataset(str(bank), "summary", split="results").to_pandas()
    [row] = summary[
        (summary["metric"] == "accuracy")
        & (summary["method"] == "direct")
        & (summary["group"] == "minimal-pairs")
        & (summary["group_by"] == "subset")
    ].to_dict("records")
    page = (bank / "README.md").read_text(encoding="utf-8")
    cell = f"{row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    assert row["n_paradigms"] >= 10
    cell += f", paradigms [{row['low_paradigms']:.2f}, {row['high_paradigms']:.2f}]"
    assert f"| fake-1 | starter | subset: minimal-pairs | direct | {row['n']} | 0 | {cell} |" in page
    head = yaml.safe_load(page.split("---\n")[1])
    assert head["license"] == ["apache-2.0"]
    assert len(head["language"]) == 18
    for text in (
        "model:pairbank/fake-1@1|",
        "Song, Hu & Mahowald 2025, Table 2, MetaQuestionSimple",
        "@software{pairbank",
    ):
        assert text in page


def test_rows_written_anew_are_the_rows_that_load(tmp_path: Path) -> None:
    # On a local folder, datasets' own cache key is blind to a file's content (shared/LIBRARIES.md 1.2).
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1", limit=1)])
    assert len(datasets.load_dataset(str(bank), "starter_scored", split="fake_1")) == 1 * 28 + 4 + 10 + 18 * 4
    again = scored_by("fake-1", limit=2)
    pairbank.write_bank(bank, scored=[again], corpora=[pairbank.load_corpus("starter", limit=2)])
    assert len(datasets.load_dataset(str(bank), "starter_scored", split="fake_1")) == len(again)
    assert len(datasets.load_dataset(str(bank), "starter", split="items")) == len(again)


@pytest.mark.ci
def test_a_bank_of_several_models_written_again_or_elsewhere_is_the_same_bytes(tmp_path: Path) -> None:
    methods = ["meta_question_simple", "direct"]
    tables = [scored_by(name, methods=methods) for name in ("two", "one")]
    bank, other = (pairbank.write_bank(tmp_path / name, scored=tables) for name in ("bank", "other"))
    pairbank.write_bank(bank, scored=tables)
    datasets.load_dataset(str(bank), "starter", split="items")
    first, second = (
        {path.relative_to(one): path.read_bytes() for path in one.rglob("*") if path.is_file()} for one in (bank, other)
    )
    assert first == second


def test_a_manifest_of_many_tables_states_once_what_they_share_and_its_card_names_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [scored_by(name, methods=["direct"], limit=1) for name in ("one", "two", "three")]
    plain = read_manifest(pairbank.write_bank(tmp_path / "plain", scored=tables))
    monkeypatch.setattr("pairbank.cards.bank.layout.MANY_TABLES", 2)
    for limit in ("MOST_ROWS", "MOST_WHOLE"):
        monkeypatch.setattr(f"pairbank.cards.card.render.{limit}", 1)
    bank = pairbank.write_bank(tmp_path / "bank", scored=tables)
    stated = json.loads((bank / "manifest.json").read_bytes())
    assert len(stated["parts"]) == 2  # methods and corpus, which all three have
    assert read_manifest(bank)["scores"] == plain["scores"] == pairbank.check_bank(bank)["scores"]
    before = {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()}
    pairbank.write_bank(bank, scored=tables[:1])
    assert len(datasets.load_dataset(str(bank), "starter_scored", split="two")) == len(tables[1])
    assert {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()} == before
    card = (bank / "README.md").read_text(encoding="utf-8")
    assert "There are too many for this page." in card
    assert "- and 2 more" in card
    stated["parts"].popitem()
    (bank / "manifest.json").write_text(json.dumps(stated), encoding="utf-8")
    with pytest.raises(BankError, match=r"is 'part:\w+'; expected a table"):
        read_manifest(bank)


def test_the_manifest_holds_the_hash_of_every_file(tmp_path: Path) -> None:
    from pairbank.files import sha256_of_file

    report = pairbank.report([scored_by("fake-1")])
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")], reports={"demo": report})
    datasets.load_dataset(str(bank), "starter", split="items")
    manifest = json.loads((bank / "manifest.json").read_text())
    result = {p.relative_to(bank).as_posix() for p in bank.rglob("*") if p.is_file()} - {"manifest.json"}
    assert set(manifest["files"]) == result
    assert "reports/demo/report.md" in result
    assert all(sha256_of_file(bank / path) == digest for path, digest in manifest["files"].items())


def test_tables_that_do_not_fit_are_refused_and_the_bank_stays(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])
    before = {p: p.read_bytes() for p in bank.rglob("*") if p.is_file()}
    with pytest.raises(BankError, match="fake_2 and fake_1 were scored on different items"):
        pairbank.write_bank(bank, scored=[scored_by("fake-2", limit=1)])
    with pytest.raises(BankError, match="the bank's scores of fake_1 are of other items than those given"):
        pairbank.write_bank(bank, corpora=[pairbank.load_corpus("starter", limit=1)])
    with pytest.raises(BankError, match="scored with different methods"):
        pairbank.write_bank(bank, scored=[scored_by("fake-2", methods=["direct"])])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(BankError, match="exists and is not a bank"):
        pairbank.write_bank(tmp_path / "other", scored=[scored_by("fake-1")])
    with pytest.raises(BankError, match="nothing to write"):
        pairbank.write_bank(tmp_path / "empty")
    assert {p: p.read_bytes() for p in bank.rglob("*") if p.is_file()} == before
    datasets.load_dataset(str(bank), "starter", split="items")


def test_two_models_of_one_name_never_share_a_bank(tmp_path: Path) -> None:
    scored = scored_by("fake-1", methods=["direct"], limit=1)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    before = {p: p.read_bytes() for p in bank.rglob("*") if p.is_file()}
    for key, value in (("revision", "2"), ("dtype", "bfloat16"), ("quantisation", "int8"), ("model_id", "run2/fake-1")):
        signature = json.loads(json.dumps(scored.signature))
        signature["model"][key] = value
        with pytest.raises(BankError, match=f"would both be the split 'fake_1', and their {key} is"):
            pairbank.write_bank(bank, scored=[Scored.of(scored.dataset, signature)])
    assert {p: p.read_bytes() for p in bank.rglob("*") if p.is_file()} == before
    datasets.load_dataset(str(bank), "starter", split="items")
