"""People's ratings as PsychLing-101 stores them: what is exported is read back, and other studies are opened."""

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from bank_fixtures import bank_of
from pairbank.cli import app
from pairbank.errors import CorpusError
from three_models import rated_items, ratings_of


def test_ratings_are_exported_as_a_study_and_read_back(tmp_path: Path) -> None:
    ratings = ratings_of(rated_items())
    bank = bank_of(tmp_path / "bank", rated_items(), "a", ratings=ratings)
    done = CliRunner().invoke(app, ["export", str(bank), "--to", "psychling", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    study = tmp_path / "out" / "rated"
    assert {path.name for path in study.iterdir()} == {"README.md", "CODEBOOK.csv", "processed_data"}
    trials = pd.read_csv(study / "processed_data" / "exp1.csv")
    codebook = pd.read_csv(study / "CODEBOOK.csv")
    assert codebook["Recommended Column Name"].tolist() == trials.columns.tolist()
    assert (len(trials), trials["participant_id"].nunique()) == (len(ratings), 3)
    assert trials["participant_id"].is_monotonic_increasing
    back = pairbank.load_ratings(study).to_pandas()
    items = pairbank.load_corpus(study).to_pandas()
    texts = back.merge(items, on="item_id").groupby("target_good")["value"].apply(sorted).to_dict()
    sides = (
        rated_items().to_pandas().melt(id_vars="item_id", value_vars=["target_good", "target_bad"], value_name="text")
    )
    sides["side"] = sides["variable"].str.removeprefix("target_")
    expected = ratings.merge(sides, on=["item_id", "side"]).groupby("text")["value"].apply(sorted).to_dict()
    assert texts == expected
    assert pairbank.score(study, "fake:a")["human_good"]


def test_a_study_of_others_is_opened_and_one_without_numbers_says_what_it_expected(tmp_path: Path) -> None:
    study = tmp_path / "mandarin2026"
    (study / "processed_data").mkdir(parents=True)
    (study / "original_data").mkdir()
    (study / "CODEBOOK.csv").write_text("Recommended Column Name,Description\nparticipant_id,who\n")
    (study / "original_data" / "raw.csv").write_text("x,y\n1,2\n")
    header = "participant_id,trial_order,stimulus,response,rt\n"
    rows = [
        f"p{k},{k},{text},{value},{700 + k}\n" for k, (text, value) in enumerate([("书很好。", 7), ("好书很。", 2)] * 3)
    ]
    (study / "processed_data" / "exp1.csv").write_text(header + "".join(rows), encoding="utf-8")
    items = pairbank.load_corpus(study, language="zh")
    assert (items["target_good"][:], items["human_good"][:]) == (["书很好。", "好书很。"], [7.0, 2.0])
    assert items["subset"][0] == "exp1"
    (study / "processed_data" / "exp1.csv").write_text(header + "p1,0,书很好。,yes,700\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="response"):
        pairbank.load_corpus(study, language="zh")


def test_a_bank_without_ratings_or_without_texts_is_refused(tmp_path: Path) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=pairbank.score(rated_items(), "fake:a"))
    done = CliRunner().invoke(app, ["export", str(bank), "--to", "psychling", "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "no individual ratings" in done.output + str(done.exception)
