"""Do models prefer the longer sentence? Scored tables in; how often each method does, right or wrong, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.estimates.bootstrap import bootstrap_mean
from pairbank.stats.estimates.estimate import format_estimate
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table

DEFINITIONS = """\
- **prefers longer**: share of the items whose sides differ in their number of characters in which delta is on the side
  of the longer one; a delta of 0 counts one half. Pairs whose sides are the same are left out. Percentile bootstrap."""


def section(tables: Sequence[ScoredFrame], context: Context) -> Section:
    """Return how often each method of each table prefers the longer side.

    Args:
        tables: Scored tables.
        context: Seed and number of resamples of the bootstrap.
    """
    rows = [row for table in tables for row in _rows(read_table(table).choices, context)]
    return Section(
        id="length",
        title="Length of sentences",
        text="\n".join(f"- {row['model']}, `{row['method']}`: {row['shown']}" for row in rows),
        definitions=DEFINITIONS,
        draws=f"{context.n_resamples:,} resamples of items",
        tables={"preferences": pd.DataFrame(rows).drop(columns="shown")},
    )


def _rows(table: ScoredTable, context: Context) -> Iterator[dict[str, object]]:
    rng = context.rng
    characters = table.frame["target_good"].str.len() - table.frame["target_bad"].str.len()
    longer = characters.to_numpy(dtype=np.float64, na_value=np.nan)
    for layout in table.layouts:
        prefers = (np.sign(table.delta(layout.method) * longer) + 1) / 2
        used = prefers[(longer != 0) & ~np.isnan(prefers)]
        share = bootstrap_mean(used, rng=rng, n_resamples=context.n_resamples)
        yield {
            "model": table.model,
            "corpus": table.corpus,
            "method": layout.method,
            "prefers_longer": share.value,
            "low": share.low,
            "high": share.high,
            "n": share.n,
            "notes": share.reason or "",
            "shown": format_estimate(share),
        }
