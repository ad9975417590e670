"""Do models prefer the longer sentence? How often each method does, right or wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis, cells
from pairbank.stats.estimates.bootstrap import bootstrap_mean
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table


@analysis(title="Length of sentences", needs="{corpora} have no scored pairs; score a corpus of pairs")
def length(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return how often each method of each table prefers the longer side."""
    rows = [row for table in tables for row in _rows(read_table(table).choices, context)]
    return Result(tables={"preferences": pd.DataFrame(rows)}, values={"n_resamples": context.n_resamples})


def _rows(table: ScoredTable, context: Context) -> Iterator[dict[str, Any]]:
    characters = table.frame["target_good"].str.len() - table.frame["target_bad"].str.len()
    longer = characters.to_numpy(dtype=np.float64, na_value=np.nan)
    for layout in table.layouts:
        prefers = (np.sign(table.delta(layout.method) * longer) + 1) / 2
        used = prefers[(longer != 0) & ~np.isnan(prefers)]
        share = bootstrap_mean(used, rng=context.rng, n_resamples=context.n_resamples)
        names = {"model": table.model, "corpus": table.corpus, "method": layout.method}
        yield names | cells(share) | {"n": share.n, "reason": share.reason or ""}
