"""Results of a bank that earlier statistics made are computed anew, also where one table is added."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import pairbank
from bank_fixtures import bank_of
from pairbank.cards.bank.layout import MANIFEST, SUMMARY, read_manifest
from pairbank.cards.bank.tables import read_summary, summary_of, write_summary
from pairbank.cards.write import remove_model, strip_texts
from pairbank.errors import BankError
from pairbank.files import read_json, write_json
from pairbank.stats.version import STATISTICS_VERSION


def test_results_of_an_earlier_version_of_the_statistics_are_not_kept(tmp_path: Path) -> None:
    bank = bank_of(tmp_path / "bank", pairbank.load_corpus("starter", limit=2), "fake")
    manifest, computed = read_manifest(bank), read_summary(bank)
    assert computed is not None
    assert manifest["statistics"] == STATISTICS_VERSION
    write_summary(bank / SUMMARY, computed.assign(high=1.0))
    before_versions = {name: value for name, value in manifest.items() if name != "statistics"}
    for earlier in (before_versions, manifest | {"statistics": STATISTICS_VERSION - 1}):
        result = summary_of(bank, earlier, {}, results="kept")
        assert result is not None
        pd.testing.assert_frame_equal(result, computed, check_dtype=False)
    kept = summary_of(bank, manifest, {}, results="kept")
    assert kept is not None
    assert (kept["high"] == 1.0).all()


def test_a_bank_of_newer_statistics_is_read_and_not_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    items = pairbank.load_corpus("starter", limit=2)
    first, second = (pairbank.score(items, f"fake:{name}", methods=["direct"]) for name in "ab")
    bank = pairbank.write_bank(tmp_path / "bank", scored=[first])
    newer = {"statistics": STATISTICS_VERSION + 1, "pairbank": "7.2.0"}
    write_json(bank / MANIFEST, read_json(bank / MANIFEST) | newer)
    pairbank.check_bank(bank)
    assert f"this pairbank has {STATISTICS_VERSION}: they are not checked. It needs pairbank >= 7.2.0" in caplog.text
    other = pairbank.write_bank(tmp_path / "other", scored=[second])
    before = {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()}
    writes: list[Callable[[], object]] = [
        lambda: pairbank.write_bank(bank, scored=[second]),
        lambda: pairbank.merge_banks(bank, other, out=tmp_path / "both"),
        lambda: strip_texts(bank, tmp_path / "stripped"),
        lambda: remove_model(bank, "a"),
    ]
    for write in writes:
        with pytest.raises(BankError, match=r"It needs pairbank >= 7\.2\.0: pip install -U pairbank"):
            write()
    assert {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()} == before
