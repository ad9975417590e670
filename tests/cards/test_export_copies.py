"""`pairbank export --to csv` and its kin: every table of a bank for programs that read no parquet, exact."""

import csv
import json
import re
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from in_r import in_r
from pairbank.cards.bank.layout import data_files, read_manifest
from pairbank.cards.export.folders import export_copies
from pairbank.cli import app
from pairbank.errors import BankError, OutputError, UnknownNameError

SCORES = "scores/rated/fake_1"


def test_every_table_of_a_bank_becomes_a_file_that_reads_back_exactly(three_models: Path, tmp_path: Path) -> None:
    completed(["export", str(three_models), "--to", "csv", "--out", str(tmp_path)])
    tables = [path for path in data_files(read_manifest(three_models)) if not path.startswith("long/")]
    result = list(tmp_path.rglob("*.csv"))
    assert sorted(result) == sorted((tmp_path / path).with_suffix(".csv") for path in tables)
    with (tmp_path / f"{SCORES}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = pq.read_table(three_models / f"{SCORES}.parquet").to_pylist()
    assert [float(row["direct_delta"]) for row in rows] == [row["direct_delta"] for row in table]
    assert [json.loads(row["meta_question_simple_logprobs"]) for row in rows] == [
        row["meta_question_simple_logprobs"] for row in table
    ]
    said = json.loads((tmp_path / f"{SCORES}.csv-metadata.json").read_text())
    columns = {one["name"]: one["datatype"] for one in said["tableSchema"]["columns"]}
    assert list(columns) == list(rows[0])
    assert (columns["direct_delta"], columns["direct_good_n"], columns["flags"]) == ("double", "integer", "json")
    assert (said["url"], said["dialect"]["delimiter"], said["tableSchema"]["primaryKey"]) == (
        "fake_1.csv",
        ",",
        "item_id",
    )
    summary = json.loads((tmp_path / "results/summary.csv-metadata.json").read_text())
    assert "primaryKey" not in summary["tableSchema"]
    assert json.loads((tmp_path / f"{SCORES}.csv.signature.json").read_text())["model"]["name"] == "fake-1"
    assert not (tmp_path / "results/summary.csv.signature.json").exists()


def test_files_are_exported_too_and_two_never_become_one(three_models: Path, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="contexts", limit=1)
    pairbank.score(items, "fake:a", methods=["direct"]).save(tmp_path / "a.parquet")
    [path] = export_copies([tmp_path / "a.parquet"], tmp_path / "out", kind="jsonl")
    assert path == tmp_path / "out/a.jsonl"
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(items)
    with pytest.raises(OutputError, match="would both be"):
        export_copies([tmp_path / "a.parquet", three_models / "../../a.parquet", tmp_path / "a.parquet"], tmp_path)
    with pytest.raises(UnknownNameError, match="cvs"):
        export_copies([three_models], tmp_path, kind="cvs")
    with pytest.raises(BankError, match="not a bank"):
        export_copies([tmp_path], tmp_path / "out")
    assert (export_copies([three_models], tmp_path / "sheets", kind="xlsx")[0]).suffix == ".xlsx"


def test_the_line_of_base_r_on_the_card_reads_what_is_exported(three_models: Path, tmp_path: Path) -> None:
    page = (three_models / "README.md").read_text(encoding="utf-8")
    [line] = re.findall(r"frame <- read\.csv\(.*\)", page)
    export_copies([three_models], tmp_path / "tables")
    lines = f"{line}\ncat(nrow(frame), sprintf('%.12f', sum(frame$direct_delta)), sum(is.na(frame$human_good)))"
    table = pq.read_table(three_models / f"{SCORES}.parquet")
    n, total, n_missing = in_r("-e", lines, cwd=tmp_path).split()
    assert int(n) == len(table)
    assert float(total) == pytest.approx(sum(table["direct_delta"].to_pylist()), abs=1e-9)
    assert int(n_missing) == table["human_good"].null_count


@pytest.mark.parametrize("kind", ["xlsx", "every-eval-ever"])
def test_a_second_export_has_the_same_bytes_and_states_a_time_only_if_asked(kind: str, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=3)
    pairbank.score(items, "fake:a", methods=["direct"]).save(tmp_path / "a.parquet")

    def exported(name: str, *more: str) -> dict[str, bytes]:
        out = tmp_path / name
        completed(["export", str(tmp_path / "a.parquet"), "--to", kind, "--out", str(out), *more])
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*.*"))}

    first = exported("first")
    time.sleep(1.1)
    assert exported("second") == first
    dated = exported("dated", "--at", "1700000000")
    assert any(b"1700000000" in data for data in dated.values()) == (kind != "xlsx")


def test_a_bank_that_is_to_get_a_doi_states_what_a_citation_needs(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=3)
    bank = pairbank.write_bank(tmp_path / "bank", corpora=[items])
    command = ["export", str(bank), "--to", "deposit", "--out", str(tmp_path / "deposit"), "--publisher", "OSF"]
    lacking = CliRunner().invoke(app, command)
    assert "does not state title, authors, published" in str(lacking.exception)
    pairbank.write_bank(bank, title="Verbs of Zürich German", authors=["Roe, A."], published="2026-11-24")
    completed(command)
    zenodo = json.loads((tmp_path / "deposit/.zenodo.json").read_text(encoding="utf-8"))
    assert (zenodo["title"], zenodo["creators"]) == ("Verbs of Zürich German", [{"name": "Roe, A."}])
    assert (zenodo["upload_type"], zenodo["publication_date"], zenodo["version"]) == ("dataset", "2026-11-24", "1")
    datacite = json.loads((tmp_path / "deposit/datacite.json").read_text(encoding="utf-8"))
    needed = {
        "creators",
        "titles",
        "publisher",
        "publicationYear",
        "types",
    }  # mandatory in DataCite 4.5, but for the DOI
    assert needed <= datacite.keys()
    assert (datacite["publicationYear"], datacite["publisher"]["name"]) == ("2026", "OSF")
    pairbank.check_bank(bank)
