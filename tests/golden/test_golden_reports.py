"""What reports say changes only where somebody read the change: golden reports of all studies and analyses."""

from __future__ import annotations

import difflib

import pandas as pd
import pytest

import golden_reports as golden
from pairbank.stats.analyses.registry import ANALYSES
from pairbank.study.declaration import load_study, study_names

SHOWN_LINES = 60


@pytest.mark.parametrize("name", golden.GOLDEN)
def test_a_report_says_what_it_said(name: str) -> None:
    now, stored = golden.texts_of(golden.golden_report(name)), golden.stored(name)
    assert sorted(now) == sorted(stored), f"other files than stored: run `{golden.WRITE} {name}`"
    moved = [line for file in now for line in _difference(stored[file], now[file], file)]
    assert not moved, (
        f"the report {name} changed; where that is wanted, run `{golden.WRITE} {name}` and read the diff:\n"
        + "\n".join(moved[:SHOWN_LINES])
    )


def _difference(stored: str, now: str, file: str) -> list[str]:
    if stored == now:
        return []
    return [
        *difflib.unified_diff(stored.splitlines(), now.splitlines(), f"stored {file}", f"now {file}", "", "", 0, "")
    ]


def test_every_study_and_analysis_has_a_golden_report() -> None:
    assert set(study_names()) <= set(golden.GOLDEN)
    used = {name for one in golden.GOLDEN.values() for name in one.analyses}
    used |= {name for study in study_names() for name in load_study(study).analyses}
    assert used == set(ANALYSES)
    assert not [path.name for path in golden.ROOT.iterdir() if path.is_dir() and path.name not in {*golden.GOLDEN}]


def test_a_hash_follows_the_numbers_and_not_their_last_digits() -> None:
    column = pd.Series([0.1234567, None, 1e-15])
    assert golden.hash_of(column) == golden.hash_of(column * (1 + 1e-12))
    assert golden.hash_of(column) != golden.hash_of(column * (1 + 1e-4))
    assert golden.hash_of(column) != golden.hash_of(column.fillna(0))
