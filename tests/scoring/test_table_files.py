"""Scored tables as files of every kind: other programs read the same numbers and texts."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import pairbank
from pairbank.builders.sources.sheets import read_sheet
from pairbank.errors import BankError, OutputError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored, ScoredFile, open_scored
from pairbank.scoring.signature import BOM, refuse_other_suffixes, signature_beside


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    path = tmp_path_factory.mktemp("own") / "mine.csv"
    path.write_text(
        'good,bad,human_good\n"Über den ""Zaun"", ja.",Über dem Zaun.,6.4\n'
        "=1+1 is two.,=1+1 are two.,\n我去学校。,我去了了学校。,5\n",
        encoding="utf-8",
    )
    return pairbank.score(pairbank.load_corpus(path), FakeScorer(), methods=["direct", "meta_question_simple"])


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_delimited_copy_has_every_number_to_the_last_bit(scored: Scored, tmp_path: Path, suffix: str) -> None:
    path = scored.save(tmp_path / f"s{suffix}")
    read = pd.read_csv(path, sep="," if suffix == ".csv" else "\t")
    assert list(read.columns) == scored.dataset.column_names
    assert read["direct_delta"].tolist() == scored["direct_delta"][:]
    assert read["target_good"].tolist() == ['Über den "Zaun", ja.', "'=1+1 is two.", "我去学校。"]
    assert read["human_good"][0] == 6.4  # a number of single precision is not written as 6.400000095367432
    assert np.isnan(read["human_good"][1])
    assert json.loads(read["meta_question_simple_logprobs"][0]) == scored["meta_question_simple_logprobs"][0]
    assert path.read_bytes()[:3] != BOM


def test_a_byte_order_mark_is_written_on_request(scored: Scored, tmp_path: Path) -> None:
    path = scored.save(tmp_path / "s.csv", bom=True)
    assert path.read_bytes().startswith(BOM)
    assert pd.read_csv(path)["model"].unique().tolist() == [scored.model]


def test_json_lines_have_lists_and_nulls(scored: Scored, tmp_path: Path) -> None:
    path = scored.save(tmp_path / "s.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row | {"human_good": None} for row in rows] == [
        row | {"human_good": None} for row in scored.dataset.to_list()
    ]
    assert [row["human_good"] for row in rows] == [6.4, None, 5.0]


def test_a_workbook_has_text_as_text_and_numbers_as_numbers(scored: Scored, tmp_path: Path) -> None:
    path = scored.save(tmp_path / "s.xlsx")
    rows = [cells for _, cells in read_sheet(path).rows]
    assert rows[0] == scored.dataset.column_names
    column = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
    assert column["target_good"] == scored["target_good"][:]
    assert [float(cell) for cell in column["direct_delta"]] == pytest.approx(scored["direct_delta"][:], rel=1e-14)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".xlsx"])
def test_a_copy_has_its_signature_beside_it_and_is_not_read_back(scored: Scored, tmp_path: Path, suffix: str) -> None:
    path = scored.save(tmp_path / f"s{suffix}")
    assert json.loads(signature_beside(path).read_text(encoding="utf-8")) == json.loads(json.dumps(scored.signature))
    with pytest.raises(BankError, match=r"not a scored table\. Score it first"):
        pairbank.read_scored(path)


def test_another_suffix_is_refused_before_anything_is_done(scored: Scored, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot tell from '\.sav' what kind of file"):
        scored.save(tmp_path / "s.sav")
    refuse_other_suffixes(tmp_path / "S.CSV")
    assert not list(tmp_path.iterdir())


def test_what_a_workbook_cannot_hold_is_an_error_that_names_the_cell(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"good,bad,comment\nThe b.,A b.,{'a ' * 20_000}b\n")
    table = pairbank.score(pairbank.load_corpus(tmp_path / "long.csv"), FakeScorer(), methods=["direct"])
    with pytest.raises(OutputError, match=r"long/all/[0-9a-f]{12}: comment has 40,001 characters"):
        table.save(tmp_path / "s.xlsx")
    assert not (tmp_path / "s.xlsx").exists()


def test_a_table_that_stays_in_its_file_says_and_reports_what_the_read_one_does(scored: Scored, tmp_path: Path) -> None:
    path = scored.save(tmp_path / "s.parquet")
    read, left = pairbank.read_scored(path), open_scored(path)
    assert isinstance(left, ScoredFile)
    assert (left.column_names, len(left), left.signature) == (read.column_names, len(read), read.signature)
    assert left.arrow(["direct_bad", "item_id"]).equals(read.arrow(["direct_bad", "item_id"]))
    assert left.dataset.to_list() == read.dataset.to_list()
    one, other = (pairbank.report([table], analyses=["comparisons"], n_resamples=10) for table in (read, left))
    pd.testing.assert_frame_equal(one.summary, other.summary)
    assert one.overview.answer == other.overview.answer
    scored.save(tmp_path / "s.parquet")
    with pytest.raises(BankError, match="written anew while it was read"):
        left.arrow(["item_id"])
    (tmp_path / "t.csv").write_text("good,bad\nA.,B.\n", encoding="utf-8")
    with pytest.raises(BankError, match="not a scored table"):
        open_scored(tmp_path / "t.csv")


def test_a_table_of_before_the_models_column_is_read_whole(scored: Scored, tmp_path: Path) -> None:
    path = scored.save(tmp_path / "s.parquet")
    table = pq.read_table(path)
    features = json.loads(table.schema.metadata[b"huggingface"])
    del features["info"]["features"]["model"]
    metadata = {**table.schema.metadata, b"huggingface": json.dumps(features).encode()}
    pq.write_table(table.drop_columns(["model"]).replace_schema_metadata(metadata), path)
    assert open_scored(path).dataset.to_list() == scored.dataset.to_list()
