"""The parquet files of a bank: tables of items and scores with explicit Features, and the results made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.cards.bank.layout import SUMMARY, scores_path, tables
from pairbank.errors import BankError
from pairbank.files import ROWS_A_GROUP, replaced_atomically
from pairbank.scoring.scored import Scored, read_scored

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.stats.report.report import Report


def read_table(path: Path) -> datasets.Dataset:
    """Return a parquet file as a Dataset with the Features it was written with."""
    import datasets

    return datasets.Dataset(pq.read_table(path))


def write_table(path: Path, items: datasets.Dataset) -> None:
    """Write a Dataset to one parquet file that carries its Features."""
    table: pa.Table = items.with_format("arrow")[:]
    with replaced_atomically(path) as temporary:
        pq.write_table(table.cast(items.features.arrow_schema), temporary, row_group_size=ROWS_A_GROUP)


def write_summary(path: Path, summary: pd.DataFrame) -> None:
    """Write the table of all estimates with explicit Features."""
    import datasets

    text = datasets.Value("string")
    kinds = {"value": "float64", "low": "float64", "high": "float64", "n": "int64", "n_excluded": "int64"}
    features = datasets.Features(
        {name: datasets.Value(kinds[name]) if name in kinds else text for name in summary.columns}
    )
    table = pa.Table.from_pandas(summary, preserve_index=False).cast(features.arrow_schema)
    with replaced_atomically(path) as temporary:
        pq.write_table(table, temporary)


def read_summary(root: Path) -> pd.DataFrame | None:
    """Return a bank's table of all estimates; None where it has no scores."""
    path = root / SUMMARY
    return pq.read_table(path).to_pandas() if path.is_file() else None


def summary_of(
    root: Path, manifest: Mapping[str, Any], new: Mapping[tuple[str, str], Scored], reports: Sequence[Report] = ()
) -> pd.DataFrame | None:
    """Return every estimate of a bank: computed from its tables, new ones in place of those on disk.

    Rows of a table without texts are the ones computed when it had them: people's judgments went with the texts.
    Rows that a report has of the very same table are taken from it.
    """
    import pandas as pd

    from pairbank.stats.report.report import table_summary

    old = read_summary(root)
    parts = []
    for corpus, slug in tables(manifest):
        table = new.get((corpus, slug)) or read_scored(root / scores_path(corpus, slug))
        if "human_good" in table.dataset.column_names:
            known = [found for one in reports if (found := one.summary_of(table)) is not None]
            parts.append(known[0] if known else table_summary(table))
            continue
        kept = None if old is None else old[(old["corpus"] == corpus) & (old["model"] == table.model)]
        if kept is None or not len(kept):
            raise BankError(f"{SUMMARY} has no results of {table.model} on {corpus!r}, whose texts are left out")
        parts.append(kept)
    return pd.concat(parts, ignore_index=True) if parts else None
