"""What a signature says of its corpus, and that tables of earlier versions are read as they were."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pairbank
from pairbank.builders.dataset import MANIFEST
from pairbank.scoring.signature import METADATA_KEY, corpus_signature, signature_problems, unpinned_note


def starter() -> Any:  # noqa: ANN401 - a Dataset
    return pairbank.load_corpus("starter", subset="minimal-pairs").select(range(4))


def altered() -> Any:  # noqa: ANN401 - a Dataset
    items = starter()
    manifest = items.info.download_checksums[MANIFEST]
    files = {"b<i>.tsv": {"sha256": "0", "verified": False}, "a.tsv": {"sha256": "1", "verified": True}}
    items.info.download_checksums = {MANIFEST: {**manifest, "files": files}}
    return items


def test_a_corpus_from_files_that_are_not_the_pinned_ones_says_so_in_signature_and_report() -> None:
    scored = pairbank.score(altered(), pairbank.load_model("fake:x"))
    assert scored.signature["corpus"]["unpinned_files"] == ["b<i>.tsv"]
    page = pairbank.report([scored], n_resamples=10).markdown()
    assert "Corpus starter was built from files that are not the pinned ones: b&lt;i&gt;.tsv." in page
    plain = pairbank.score(starter(), pairbank.load_model("fake:x"))
    assert "unpinned_files" not in plain.signature["corpus"]
    assert "not the pinned ones" not in pairbank.report([plain], n_resamples=10).markdown()


def test_many_files_are_cut() -> None:
    manifest = {"files": {f"{i}.tsv": {"verified": False} for i in range(9)}}
    note = unpinned_note({"corpus": corpus_signature(starter(), manifest)})
    assert note is not None
    assert "0.tsv, 1.tsv, 2.tsv …" in note


@pytest.mark.parametrize("files", ["a.tsv", [1], {"a": "b"}])
def test_a_mistyped_list_of_files_is_a_problem_of_the_signature(files: object) -> None:
    signature = {"corpus": {"unpinned_files": files}}
    assert any("corpus.unpinned_files" in problem for problem in signature_problems(signature))


def test_tables_without_versions_of_libraries_load_report_and_share_a_bank(tmp_path: Path) -> None:
    new = pairbank.score(starter(), pairbank.load_model("fake:new")).save(tmp_path / "new.parquet")
    old = pairbank.score(starter(), pairbank.load_model("fake:old")).save(tmp_path / "old.parquet")
    for path, versions in ((new, {"torch": "2.13.0", "transformers": "5.23.0", "device_name": "A"}), (old, {})):
        table = pq.read_table(path)
        signature = json.loads(table.schema.metadata[METADATA_KEY])
        signature["model"] |= versions
        assert versions or not signature["model"].keys() & {"torch", "transformers", "device_name"}
        metadata = {**table.schema.metadata, METADATA_KEY: json.dumps(signature).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path)
    tables = [pairbank.read_scored(path) for path in (old, new)]
    assert set(pairbank.report(tables, n_resamples=10).accuracy["model"]) == {"old", "new"}
    pairbank.write_bank(tmp_path / "bank", scored=tables)
    pairbank.check_bank(tmp_path / "bank")
