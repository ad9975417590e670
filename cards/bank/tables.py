"""The parquet files of a bank: tables of items and scores with explicit Features, and the results made from them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.cards.bank.layout import LONG, SUMMARY, items_path, long_path, scores_path, tables
from pairbank.errors import BankError
from pairbank.files import read_parquet, write_parquet
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import MODEL, SMALL_BYTES, Scored, dataset_of, open_scored
from pairbank.stats.scored_table.scored_table import DTYPES, PARADIGM_DTYPES
from pairbank.stats.version import STATISTICS_VERSION

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.stats.report.report import Report

_LOG = logging.getLogger(__name__)

_KEPT_BYTES = 2**24

LONG_COLUMNS: Mapping[str, str] = {
    "item_id": "the item, in the config of its corpus",
    "model": "name of the model whose scores these are",
    "method": "how the item was scored",
    "good": "score of the better side, in the method's unit",
    "bad": "score of the worse side; null where there is none",
    "delta": "good - bad, or a method's own preference; null of one side",
}
"""Columns of the long view -> meaning."""
_MADE_FROM = b"pairbank_scores_sha256"
"""Key in the file's metadata: the hash of the scored table that a long view was made from."""

IDENTITY = ("model", "corpus", "group_by", "group", "method", "versus", "metric")
"""Columns of the results that say which number a row is."""
Results = Literal["computed", "kept"]
"""Of tables that stay as they are: computed again, or as the bank has them."""

_LOST = ("human_good", "human_bad")


def read_table(path: Path) -> datasets.Dataset:
    """Return a parquet file as a Dataset with the Features it was written with."""
    return dataset_of(read_parquet(path), path)


def read_items(root: Path, corpus: str) -> datasets.Dataset:
    """Return a corpus's items; small ones read last are kept, for many tables of a corpus are held to them."""
    path = root / items_path(corpus)
    is_kept = path.is_file() and path.stat().st_size <= _KEPT_BYTES
    return _kept_items(path, path.stat().st_mtime_ns) if is_kept else read_table(path)


@functools.lru_cache(maxsize=4)
def _kept_items(path: Path, _written_ns: int) -> datasets.Dataset:
    return read_table(path)


def write_table(path: Path, items: datasets.Dataset) -> None:
    write_parquet(path, items.with_format("arrow")[:].cast(items.features.arrow_schema))


def long_table(path: Path, signature: Mapping[str, Any]) -> pa.Table:
    """Return the long view of a scored table: one row per item and method that gave it a number."""
    import pyarrow.parquet as pq

    present = set(pq.read_schema(path).names)
    text, number = pa.string(), pa.float64()
    schema = pa.schema([(name, text if at < 3 else number) for at, name in enumerate(LONG_COLUMNS)])
    columns = {m: [ScoreColumns(m).good, ScoreColumns(m).bad, ScoreColumns(m).delta] for m in signature["methods"]}
    scores = [name for names in columns.values() for name in names]
    columns_read = ["item_id", *(name for name in (MODEL, *scores) if name in present)]
    whole = read_parquet(path, columns_read) if path.stat().st_size <= SMALL_BYTES else None
    parts = []
    for method, names in sorted(columns.items()):
        held = ["item_id", *(name for name in (MODEL, *names) if name in present)]
        table = read_parquet(path, held) if whole is None else whole.select(held)
        model = table.column(MODEL) if MODEL in present else pa.repeat(signature["model"]["name"], len(table))
        nothing = pa.nulls(len(table), number)
        numbers = [table.column(name) if name in present else nothing for name in names]
        cells = [table.column("item_id"), model, pa.repeat(method, len(table)), *numbers]
        has_number = functools.reduce(pc.or_, (pc.is_valid(column) for column in numbers))
        part = pa.table(cells, names=schema.names).filter(has_number)
        parts.append(part.select(schema.names).cast(schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def write_long(root: Path, manifest: dict[str, Any], hashes: Mapping[str, str]) -> None:
    """Write the long view of each scored table that is new or has changed; remove those of tables that are gone."""
    import pyarrow.parquet as pq

    unread = {root / long_path(corpus, slug): (corpus, slug) for corpus, slug in tables(manifest)}
    for path in (root / LONG).rglob("*.parquet"):
        if path not in unread:
            path.unlink()
    for path, (corpus, slug) in unread.items():
        source = scores_path(corpus, slug)
        digest = hashes[source].encode()
        if not path.is_file() or (pq.read_schema(path).metadata or {}).get(_MADE_FROM) != digest:
            long = long_table(root / source, manifest["scores"][corpus][slug])
            write_parquet(path, long.replace_schema_metadata({_MADE_FROM: digest}))
    manifest.pop(LONG, None)
    if unread:
        manifest[LONG] = True


def long_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for corpus, slug in tables(manifest) if manifest.get(LONG) else ():
        long = long_table(root / scores_path(corpus, slug), manifest["scores"][corpus][slug])
        held = read_parquet(root / long_path(corpus, slug))
        is_alike = held.schema.names == long.schema.names
        if not is_alike or not all(same_cells(held[name].cast(long[name].type), long[name]) for name in LONG_COLUMNS):
            yield f"{long_path(corpus, slug)}: not what {scores_path(corpus, slug)} holds"


def same_cells(a: pa.ChunkedArray, b: pa.ChunkedArray) -> bool:
    """Return whether two columns hold the same cells, lists among them; NaN equals NaN, and null does not."""
    x, y = a.combine_chunks(), b.combine_chunks()
    if x.type != y.type or len(x) != len(y) or not x.is_null().equals(y.is_null()):
        return False
    if pa.types.is_list(x.type):
        if not x.value_lengths().equals(y.value_lengths()):
            return False
        x, y = x.flatten(), y.flatten()
    if not pa.types.is_floating(x.type):
        return bool(x.equals(y))
    return np.array_equal(x.to_numpy(zero_copy_only=False), y.to_numpy(zero_copy_only=False), equal_nan=True)


def differing_keys(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))


def write_summary(path: Path, summary: pd.DataFrame) -> None:
    import datasets

    features = datasets.Features({name: datasets.Value(DTYPES.get(name, "string")) for name in summary.columns})
    table = pa.Table.from_pandas(summary, preserve_index=False).cast(features.arrow_schema)
    write_parquet(path, table)


def with_paradigms(summary: pd.DataFrame) -> pd.DataFrame:
    """Return a summary with its columns of intervals over paradigms, which banks of before lack."""
    if {*PARADIGM_DTYPES} & {*summary.columns}:
        return summary
    return summary.assign(low_paradigms=np.nan, high_paradigms=np.nan, n_paradigms=0)


def read_summary(root: Path) -> pd.DataFrame | None:
    """Return a bank's table of all estimates; None where it has no scores."""
    path = root / SUMMARY
    if not path.is_file():
        return None
    from pandas.api import types

    frame = with_paradigms(read_parquet(path).to_pandas())
    are_numbers = {name: types.is_numeric_dtype(frame[name]) for name in frame.columns}
    if wrong := [name for name, kind in DTYPES.items() if are_numbers.get(name) != kind.endswith("64")]:
        raise BankError(f"{path}: column(s) {', '.join(wrong)} are missing or of another type; write the bank again")
    return frame


def has_current_results(manifest: Mapping[str, Any]) -> bool:
    """Return whether these statistics made a bank's results; a bank of before versions states none."""
    return bool(manifest.get("statistics", 1) == STATISTICS_VERSION)


def summary_of(
    root: Path,
    manifest: Mapping[str, Any],
    new: Mapping[tuple[str, str], Scored],
    reports: Sequence[Report] = (),
    *,
    results: Results = "computed",
) -> pd.DataFrame | None:
    """Return every estimate of a bank: computed from its tables, new ones in place of those on disk.

    Rows of a table without texts are the ones computed when it had them: people's judgments went with the texts.
    Rows that a report has of the very same table are taken from it.
    """
    import pandas as pd

    from pairbank.stats.report.report import table_summary

    old = read_summary(root)
    is_current = has_current_results(manifest)
    if not is_current and old is not None and manifest.get("files"):
        _LOG.warning("all results of the bank are computed again, by version %d of the statistics", STATISTICS_VERSION)
    results = results if is_current else "computed"
    held = {} if old is None else old.groupby(["corpus", "model"], sort=False).indices
    parts = []
    for corpus, slug in tables(manifest):
        rows = held.get((corpus, manifest["scores"][corpus][slug]["model"]["name"]), [])
        if old is not None and len(rows) and results == "kept" and (corpus, slug) not in new:
            parts.append(old.iloc[rows])
            continue
        table = new.get((corpus, slug)) or open_scored(root / scores_path(corpus, slug))
        if "human_good" in table.column_names:
            known = [result for report in reports if (result := report.summary_of(table)) is not None]
            parts.append(known[0] if known else table_summary(table))
            continue
        kept = None if old is None else old.iloc[rows]
        if (kept is None or not len(kept)) and _is_of_choices(table):  # handed in without texts
            kept = table_summary(without_people(table))
        elif kept is not None and not is_current and _is_of_choices(table):  # but for people, whose judgments are gone
            again = table_summary(without_people(table))
            recomputed = pd.MultiIndex.from_frame(again[list(IDENTITY)].fillna(""))
            of_people = kept[~pd.MultiIndex.from_frame(kept[list(IDENTITY)].fillna("")).isin(recomputed)]
            kept = pd.concat([again, of_people], ignore_index=True)
        if kept is not None:
            parts.append(kept)
    return pd.concat(parts, ignore_index=True) if parts else None


def without_people(table: Scored) -> Scored:
    """Return a table whose texts and human judgments were left out, with empty judgments, as statistics expect them."""
    dataset = table.dataset
    for name in _LOST:
        if name not in dataset.column_names:
            dataset = dataset.add_column(name, np.full(len(table), np.nan))
    return Scored.of(dataset, table.signature)


def _is_of_choices(table: Scored) -> bool:
    columns = [f"{method}_delta" for method in table.methods if f"{method}_delta" in table.column_names]
    return any(table.arrow([name])[name].null_count < len(table) for name in columns)
