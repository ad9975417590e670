"""The Croissant file: mlcroissant accepts it and reads with it what the parquet files hold; a stale one is found."""

import json
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import rehashed
from hub_emulator import FakeHub
from pairbank.errors import BankError

pytestmark = [  # of libraries: rdflib and pandas as mlcroissant calls them
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),
]
CROISSANT = "croissant.json"
"""Columns that tell every two rows of a config apart."""


def opened(path: Path, caplog: pytest.LogCaptureFixture) -> Any:  # noqa: ANN401 - mlcroissant has no types
    """Return the file as mlcroissant has it: no error, and no other warning than that it has no date."""
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        result = mlcroissant.Dataset(str(path))
    issues = result.metadata.ctx.issues
    assert not issues.errors
    assert all("datePublished" in warning for warning in issues.warnings)
    assert all("datePublished" in record.getMessage() for record in caplog.records)
    return result


def plain(value: Any) -> Any:  # noqa: ANN401 - a cell
    """Return a cell as Python has it, NaN as None."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.item() if hasattr(value, "item") else value


@pytest.mark.ci
def test_mlcroissant_reads_every_config_offline_as_the_parquet_files_are(
    three_models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = opened(three_models / CROISSANT, caplog)
    files = {
        "rated": ["data/rated/items.parquet"],
        "rated_scored": sorted(f"scores/rated/{path.name}" for path in (three_models / "scores/rated").iterdir()),
        "starter": ["data/starter/items.parquet"],
        "starter_scored": sorted(f"scores/starter/{path.name}" for path in (three_models / "scores/starter").iterdir()),
        "summary": ["results/summary.parquet"],
    }
    files |= {
        name.replace("_scored", "_long"): [path.replace("scores/", "long/") for path in paths]
        for name, paths in files.items()
        if name.endswith("_scored")
    }
    assert {one.uuid for one in result.metadata.record_sets} == files.keys()
    assert len(files["rated_scored"]) == 3
    for config, paths in files.items():
        expected = []
        for path in paths:
            split = {"split": Path(path).stem} if len(paths) > 1 else {}
            expected += [split | row for row in pq.read_table(three_models / path).to_pylist()]
        records = [
            {name.removeprefix(f"{config}/"): plain(value) for name, value in row.items()}
            for row in result.records(config)
        ]
        requested = [{name: plain(value) for name, value in row.items()} for row in expected]
        order = sorted(
            requested[0].keys() & {"split", "item_id", "model", "corpus", "group", "method", "versus", "metric"}
        )
        records, requested = (
            sorted(rows, key=lambda row: [str(row[k]) for k in order]) for rows in (records, requested)
        )
        assert [list(row) for row in records] == [list(row) for row in requested]
        assert records == requested


def test_the_fields_for_responsible_use_say_who_judged_and_which_models_scored(three_models: Path) -> None:
    result = json.loads((three_models / CROISSANT).read_text(encoding="utf-8"))
    assert result["conformsTo"][0] == "http://mlcommons.org/croissant/1.1"
    assert result["rai:hasSyntheticData"] is True
    assert {one["name"] for one in result["prov:wasDerivedFrom"]} >= {"rated"}
    assert [one["prov:label"] for one in result["prov:wasGeneratedBy"]] == ["Collection", "Scoring"]
    assert result["conformsTo"][1] == "http://mlcommons.org/croissant/RAI/1.0"
    assert result["rai:annotationsPerItem"] == "rated: 12 items judged on likert7, 19 (18 to 20) people an item"
    assert len(result["rai:machineAnnotationTools"]) == 3
    assert "https://spdx.org/licenses/CC-BY-4.0.html" in result["license"]
    assert "en" in result["inLanguage"]
    texts = ("dataUseCases", "dataLimitations", "dataBiases", "personalSensitiveInformation", "dataSocialImpact")
    assert {f"rai:{name}" for name in texts} <= result.keys()


@pytest.mark.ci
def test_a_published_bank_names_the_addresses_on_the_hub_and_can_be_merged_again(
    hub: FakeHub, three_models: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    pairbank.publish(three_models, "acme/three")
    tree = hub.repo("acme/three").head.tree
    (tmp_path / CROISSANT).write_bytes(tree[CROISSANT].data)
    result = opened(tmp_path / CROISSANT, caplog)
    address = "https://huggingface.co/datasets/acme/three"
    assert result.metadata.url == address
    urls = {one.content_url for one in result.metadata.file_objects}
    assert f"{address}/resolve/main/data/rated/items.parquet" in urls
    assert address in urls
    assert not pairbank.publish(three_models, "acme/three").changes
    merged = pairbank.merge_banks("acme/three", three_models, out=tmp_path / "merged")
    assert (merged / "data/rated/items.parquet").is_file()


def changed(bank: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the Croissant file of a bank, and its hash in the manifest: what somebody does who edits it by hand."""
    stated = json.loads((bank / CROISSANT).read_text(encoding="utf-8"))
    change(stated)
    (bank / CROISSANT).write_text(json.dumps(stated), encoding="utf-8")
    return rehashed(bank)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: it["distribution"][0].update(sha256="0" * 64), "data/rated/items.parquet has another sha256"),
        (lambda it: it["distribution"].pop(0), "data/rated/items.parquet is not listed"),
        (lambda it: it["distribution"][0].update(name="x"), "lists 'x', which the bank has not"),
        (lambda it: it["recordSet"].pop(0), "config rated is not described"),
        (lambda it: it["recordSet"][0].update(name="x"), "describes 'x', which is no config"),
        (lambda it: it["recordSet"][1]["field"].pop(), "stale: config rated_scored has other columns"),
        (lambda it: it["distribution"][0].update(name=5), "lists '5', which the bank has not"),
        (lambda it: it["recordSet"][0].update(name=7), "describes '7', which is no config"),
        (lambda it: it.update(recordSet=7), "not a Croissant file of pairbank's"),
    ],
)
def test_a_croissant_file_that_is_not_of_these_tables_is_found(
    copied: Callable[[], Path], change: Callable[[dict[str, Any]], object], message: str
) -> None:
    with pytest.raises(BankError, match=message):
        pairbank.check_bank(changed(copied(), change), depth="quick")


def test_a_croissant_file_that_is_nested_too_deeply_is_named(copied: Callable[[], Path]) -> None:
    bank = copied()
    (bank / CROISSANT).write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(BankError, match=r"croissant.json: not a Croissant file of pairbank's \(RecursionError"):
        pairbank.check_bank(rehashed(bank), depth="quick")


def test_a_bank_of_an_earlier_version_has_none_and_one_that_lost_its_own_is_not_whole(
    copied: Callable[[], Path],
) -> None:
    bank = copied()
    (bank / CROISSANT).unlink()
    with pytest.raises(BankError, match=r"croissant.json: missing"):
        pairbank.check_bank(bank, depth="quick")
    assert pairbank.check_bank(rehashed(bank, lambda manifest: manifest.pop("history")), depth="quick")
    pairbank.write_bank(bank)
    assert (bank / CROISSANT).is_file()


def test_a_bank_that_states_when_it_was_published_leaves_mlcroissant_no_remark(
    copied: Callable[[], Path], caplog: pytest.LogCaptureFixture
) -> None:
    bank = copied()
    pairbank.write_bank(bank, published="2026-11-24", title="Verbs")
    result = opened(bank / CROISSANT, caplog)
    assert not result.metadata.ctx.issues.warnings
    assert result.metadata.date_published.isoformat()[:10] == "2026-11-24"
    assert "year = {2026}" in (bank / "README.md").read_text(encoding="utf-8")
    assert pairbank.check_bank(bank)["published"] == "2026-11-24"
    with pytest.raises(BankError, match="expected a date, as 2026-11-24"):
        pairbank.write_bank(bank, published="yesterday")
