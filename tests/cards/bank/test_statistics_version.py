"""Results of a bank that earlier statistics made are computed anew, also where one table is added."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import pairbank
from pairbank.cards.bank.layout import SUMMARY, read_manifest
from pairbank.cards.bank.tables import read_summary, summary_of, write_summary
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.version import STATISTICS_VERSION


def test_results_of_an_earlier_version_of_the_statistics_are_not_kept(tmp_path: Path) -> None:
    scored = pairbank.score(pairbank.load_corpus("starter", limit=2), FakeScorer(), methods=["direct"])
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
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
