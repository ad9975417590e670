"""`pairbank ratings`: individual raters' ratings as a file for R; and what a command's help begins with."""

import csv
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from command_line import run
from pairbank.cards.bank.layout import read_manifest
from pairbank.cli import app
from pairbank.errors import CorpusError, OutputError, ScoringError


def test_ratings_of_single_raters_are_written_as_csv_and_parquet(tmp_path: Path, shared: Path) -> None:
    known = pairbank.load_ratings("turblimp", data_dir=shared / "corpora")
    for name in ("ratings.csv", "ratings.parquet"):
        said = run("ratings", "turblimp", "--data-dir", str(shared / "corpora"), "--out", str(tmp_path / name))
        assert f"{len(known):,} ratings of" in said
    with (tmp_path / "ratings.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [*rows[0]] == ["item_id", "side", "rater", "value", "scale"]
    assert [row["item_id"] for row in rows] == known["item_id"][:]
    assert [float(row["value"]) for row in rows] == pytest.approx(known["value"][:], rel=1e-6)


def test_a_corpus_without_raters_and_a_file_of_no_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no individual ratings; corpora that have"):
        run("ratings", "starter", "--out", str(tmp_path / "r.csv"))
    with pytest.raises(OutputError, match=r"from '.sav' what kind"):
        run("ratings", "turblimp", "--out", str(tmp_path / "r.sav"))


def test_sampled_answers_are_written_as_ratings_beside_the_scored_table(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("good,bad\nThe hens cluck.,The hens clucks.\nShe left.,She leaved.\n", encoding="utf-8")
    out = tmp_path / "drawn.parquet"
    drawn = ("--samples", "6", "--temperature", "0.7", "--seed", "3")
    words = ("score", str(pairs), "--model", "fake:a", "--out", str(out), "-m", "rating_7_free", "-m", "direct")
    assert "drawn.draws.parquet" in run(*words, *drawn)
    scored = pairbank.read_scored(out)
    assert scored.methods == ("direct", "rating_7_free@6samples@t0.7")
    assert scored.signature["methods"]["rating_7_free@6samples@t0.7"]["sampled"] == {
        "n": 6, "temperature": 0.7, "seed": 3
    }  # fmt: skip
    ratings = pd.read_parquet(tmp_path / "drawn.draws.parquet")
    pd.testing.assert_frame_equal(ratings, scored.ratings())
    assert set(ratings["scale"]) == {"likert7"}
    with pytest.raises(ScoringError, match="--samples draws answers that the model writes, and rating_7 reads"):
        run("score", str(pairs), "--model", "fake:a", "--out", str(out), "-m", "rating_7", *drawn)


def test_help_names_what_to_type_and_begins_with_what_is_needed() -> None:
    for group in ("", "methods", "new"):
        assert "<bool>" not in run(*group.split(), "--help")
    page = run("score", "--help-all").partition("─ Options ─")[2]
    places = [
        page.index(word) for word in ("--out", "--model", "--method", "--language", "--column", "--seed", "--ray")
    ]
    assert places == sorted(places)


def test_bank_says_at_once_what_publishing_lacks(tmp_path: Path) -> None:
    pairs = tmp_path / "paare.csv"
    pairs.write_text("good,bad\nThe hens cluck.,The hens clucks.\nShe left.,She leaved.\n", encoding="utf-8")
    scored = pairbank.score(pairbank.load_corpus(pairs), "fake:fake", methods=["direct"])
    path = scored.save(tmp_path / "scored.parquet")
    made = ("bank", str(path), "--out", str(tmp_path / "bank"))
    assert "--licence paare=cc-by-4.0" in run(*made)
    assert "--licence" not in run(*made, "--licence", "paare=cc0-1.0")


def test_title_authors_and_contact_are_stated_of_a_bank_that_is_there(tmp_path: Path) -> None:
    bank = tmp_path / "bank"
    done = CliRunner().invoke(app, ["bank", "--out", str(bank), "--title", "Verbs"])
    assert done.exit_code == 1
    assert "nothing to write; give at least one corpus or one scored table" in str(done.exception)
    items = pairbank.load_corpus("starter", subset="plausibility", limit=1)
    made = pairbank.score(items, "fake:fake", methods=["direct"]).save(tmp_path / "scored.parquet")
    run("bank", str(made), "--out", str(bank), "--title", "Verbs", "--author", "A. Roe", "--author", "B. Low")
    made_by = read_manifest(bank)["command"]
    run("bank", "--out", str(bank), "--contact", "roe@example.org")
    card = (bank / "README.md").read_text(encoding="utf-8")
    assert "# Verbs\n\nBy A. Roe, B. Low.\n" in card
    assert "roe@example.org" in card
    assert read_manifest(bank)["command"] == made_by  # how its scores came, not what was said of it since
    run("check", str(bank))
