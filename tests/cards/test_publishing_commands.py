"""`pairbank check`, `publish`, `merge` and `strip` on the command line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score
from command_line import run
from hub_emulator import FakeHub
from pairbank.cli import app
from pairbank.errors import BankError


def test_publish_shows_the_difference_then_says_where_the_bank_is(
    hub: FakeHub, tmp_path: Path, scored_by: Score
) -> None:
    bank = str(pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")]))
    shown = run("publish", bank, "acme/bank", "--private", "--dry-run")
    assert "+ data/starter/items.parquet (" in shown
    assert "dry run: nothing was published" in shown
    assert hub.repos == {}
    shown = run("publish", bank, "acme/bank", "--private")
    assert f"{hub.url}/datasets/acme/bank is at {hub.repo('acme/bank').head.oid[:12]}" in shown
    assert hub.repo("acme/bank").private
    assert "there was nothing to change" in run("publish", bank, "acme/bank")


def test_check_says_that_a_bank_is_whole_or_what_is_wrong(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])
    assert run("check", str(bank)).strip() == f"{bank}: whole; corpora: 1, scored tables: 1"
    (bank / "README.md").write_text("changed")
    with pytest.raises(BankError, match=r"README\.md: changed since the bank was written"):
        run("check", str(bank))


def test_merge_says_how_to_open_the_result(tmp_path: Path, scored_by: Score) -> None:
    banks = [str(pairbank.write_bank(tmp_path / name, scored=[scored_by(name)])) for name in ("fake-1", "fake-2")]
    shown = run("merge", *banks, "--out", str(tmp_path / "merged"))
    assert f"load_dataset('{tmp_path / 'merged'}', 'starter_scored', split='fake_1')" in shown
    assert (tmp_path / "merged/scores/starter/fake_2.parquet").is_file()


def test_strip_says_what_to_do_next(tmp_path: Path, own_pairs: Path) -> None:
    scored = pairbank.score(pairbank.load_corpus(own_pairs), "fake:fake-1")
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    shown = run("strip", str(bank), "--out", str(tmp_path / "public"))
    assert f"pairbank publish {tmp_path / 'public'} ORG/NAME --dry-run" in shown


def test_the_licence_of_ones_own_items_is_stated_when_the_bank_is_written(tmp_path: Path, own_pairs: Path) -> None:
    scored = tmp_path / "scored.parquet"
    pairbank.score(pairbank.load_corpus(own_pairs), "fake:fake-1").save(scored)
    run("bank", str(scored), "--out", str(tmp_path / "bank"), "--licence", "own=cc-by-4.0")
    assert "licence: cc-by-4.0" in (tmp_path / "bank" / "README.md").read_text()
    done = CliRunner().invoke(app, ["bank", str(scored), "--out", str(tmp_path / "b"), "--licence", "mit"])
    assert done.exit_code == 2
    assert "expected CORPUS=LICENCE" in done.output
