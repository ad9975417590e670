"""Banks that earlier versions wrote are whole: they are read, checked, extended, merged, stripped and published."""

import json
import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import rehashed
from hub_emulator import FakeHub
from pairbank.cards.bank.check_tables import differing
from pairbank.cards.bank.layout import read_manifest
from pairbank.cards.bank.tables import has_current_results, read_summary, write_summary
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored
from release_bank import OLD_BANKS, WRITE, release_bank

OLD = sorted(OLD_BANKS.glob("*.zip"))
"""Of these commits and releases: corpora of our own sentences, three made-up models, `direct` and prompts."""


@pytest.fixture(params=OLD, ids=[path.stem for path in OLD])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as file:
        file.extractall(tmp_path / "old")
    return tmp_path / "old"


def another(bank: Path, name: str) -> Scored:
    """Return a table like those of the bank, of another model."""
    table = pairbank.fetch(bank, model="fake-1", corpus="starter")
    model = {**table.signature["model"], "name": name, "slug": name, "model_id": f"pairbank/{name}"}
    dataset = table.dataset.remove_columns("model").add_column("model", [name] * len(table))
    dataset = dataset.select_columns(table.column_names)
    return Scored.of(dataset, {**table.signature, "pairbank": "0.0.9", "model": model})


def test_the_earlier_commits_and_this_release_have_banks() -> None:
    known = {path.stem for path in OLD}
    assert known >= {"6cacf79", "ea68414c"}
    assert pairbank.__version__ in known, f"no bank of this version is kept: run `{WRITE}`"


@pytest.mark.ci
def test_this_release_writes_the_bank_that_is_kept_of_it_unless_a_version_was_raised(tmp_path: Path) -> None:
    """Where the format or a result moved after a release, its version is another one, and so is that of the package."""
    with zipfile.ZipFile(OLD_BANKS / f"{pairbank.__version__}.zip") as file:
        file.extractall(tmp_path / "kept")
    (tmp_path / "new").mkdir()
    kept, new = tmp_path / "kept", release_bank(tmp_path / "new/bank")
    versions = [{name: read_manifest(bank)[name] for name in ("statistics", "format")} for bank in (kept, new)]
    remedy = f"raise its version and add a row to docs/releasing.md; before the release is tagged, run `{WRITE}`"
    assert versions[0] == versions[1], f"a version was raised: {remedy}"
    assert form_of(new) == form_of(kept), f"the format moved: {remedy}"
    results = [read_summary(bank) for bank in (kept, new)]
    assert results[0] is not None
    assert results[1] is not None
    assert not (moved := differing(results[0], results[1])), f"results moved: {remedy}. First: {moved[0]}"


def form_of(bank: Path) -> dict[str, object]:
    """Return the files of a bank, the columns of its tables and the keys of its manifest."""
    files = [path for path in bank.rglob("*") if path.is_file()]
    names = {path.relative_to(bank).as_posix(): str(pq.read_schema(path).remove_metadata()) for path in files
             if path.suffix == ".parquet"}  # fmt: skip
    others = dict.fromkeys(path.relative_to(bank).as_posix() for path in files)
    return others | names | dict.fromkeys(keys_of(json.loads((bank / "manifest.json").read_bytes())))


def keys_of(value: object, where: str = "manifest") -> Iterator[str]:
    """Yield the places of a JSON value, without those in free facts and versions of other packages."""
    yield where
    if isinstance(value, dict) and not where.endswith((".written_with", ".manifest", ".environment")):
        for key, part in value.items():
            yield from keys_of(part, f"{where}.{key}")


def test_an_old_bank_is_whole_and_what_a_newer_version_computes_otherwise_is_said(
    old: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        manifest = pairbank.check_bank(old)
    is_current = has_current_results(manifest)
    assert {"own", "starter"} <= set(manifest["scores"])
    assert ("version 1 of the statistics" in caplog.text) <= (not is_current)
    assert len(pairbank.report([pairbank.fetch(old, model="fake-1", corpus="starter")]).summary) > 0


def test_an_old_bank_is_extended_and_its_results_computed_once_by_todays_statistics(old: Path) -> None:
    tables = {path: path.read_bytes() for path in (old / "scores").rglob("*.parquet")}
    pairbank.write_bank(old, scored=[another(old, "new")])
    manifest = pairbank.check_bank(old)
    assert has_current_results(manifest)
    assert set(manifest["scores"]["starter"]) == {"fake_1", "fake_2", "fake_3", "new"}
    assert {path: path.read_bytes() for path in tables} == tables
    pairbank.remove_model(old, "fake-2")
    assert set(pairbank.check_bank(old)["scores"]["starter"]) == {"fake_1", "fake_3", "new"}


def test_an_old_bank_is_merged_stripped_shown_and_published(old: Path, hub: FakeHub, tmp_path: Path) -> None:
    mine = pairbank.write_bank(tmp_path / "mine", scored=[another(old, "new")])
    merged = pairbank.merge_banks(old, mine, out=tmp_path / "merged")
    assert set(pairbank.check_bank(merged)["scores"]["starter"]) == {"fake_1", "fake_2", "fake_3", "new"}
    stripped = pairbank.strip_texts(old, tmp_path / "stripped")
    manifest = pairbank.check_bank(stripped)
    assert has_current_results(manifest)
    assert manifest["corpora"]["own"]["texts"] == "left out"
    summary = read_summary(stripped)
    assert summary is not None
    assert not summary[summary["corpus"] == "own"].query("metric == 'pearson_human'").empty
    assert (pairbank.write_site(old, tmp_path / "site") / "index.html").is_file()
    pairbank.publish(stripped, "acme/old")
    assert "manifest.json" in hub.repo("acme/old").head.tree


def test_a_number_that_no_version_changes_is_still_held_to_the_tables(old: Path) -> None:
    summary = read_summary(old)
    assert summary is not None
    rows = summary.index[summary["metric"] == "accuracy"]
    summary.loc[rows[0], "value"] += 0.25
    write_summary(old / "results/summary.parquet", summary)
    with pytest.raises(BankError, match=r"value is|accuracy"):
        pairbank.check_bank(rehashed(old))
