"""A number that moves needs a new version of the statistics: banks compare it before they reuse results."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pandas as pd

from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.comparisons import comparisons
from pairbank.stats.analyses.people import people
from pairbank.stats.report.summary import summarise
from pairbank.stats.version import STATISTICS_VERSION
from rated_tables import rated_table

RECORDED = {3: "b1fff52a372ef8dc"}
"""Version -> hash of the statistics of made-up tables. A new hash belongs to a new version (docs/releasing.md)."""


def test_statistics_that_move_have_a_new_version() -> None:
    tables = []
    for seed in range(4):
        table = rated_table(120, seed=seed, model=f"m{seed}")
        sizes = np.repeat(np.arange(12), [40, 20, 10, 10, 8, 8, 6, 6, 4, 4, 2, 2])
        table.frame["paradigm"] = [f"p{size:02d}" for size in sizes]
        tables.append(table)
    frames = [summarise(table.frame, layouts=table.layouts, model=table.model) for table in tables]
    for analysis in (comparisons, people):
        frames += analysis(tables, Context()).tables.values()
    assert RECORDED[STATISTICS_VERSION] == digest(frames), "numbers moved: raise STATISTICS_VERSION, record the hash"


def digest(frames: list[pd.DataFrame]) -> str:
    """Hash of the numbers, of five digits."""
    numbers = [frame.select_dtypes("number").to_numpy(dtype=np.float64).ravel() for frame in frames]
    shown = [f"{value:.4e}" if abs(value) > 1e-9 else "0" for value in np.concatenate(numbers)]
    return sha256(" ".join(shown).encode()).hexdigest()[:16]
