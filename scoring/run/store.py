"""The resumable store: the columns of one method for one shard of items, a parquet file under a content key.

The key is a hash of everything that decides the numbers: model, method, the versions of the rooms that make them,
and the shard's texts.
So a killed run continues where it stopped, an equal shard is never scored twice, and a changed signature can
never meet old numbers. Files appear whole or not at all; one that was damaged since is set aside and scored again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.errors import ScoringError
from pairbank.files import cache_dir, replaced_atomically, sha256_of_text
from pairbank.scoring.api.layout import ColumnKind
from pairbank.scoring.api.method import Method
from pairbank.scoring.prompts.prompt import CONCEPT_COLUMNS
from pairbank.scoring.versions import ENGINE_VERSION, METHODS_VERSION, MODELS_VERSION

logger = logging.getLogger(__name__)

SEAL = b"pairbank shard"
"""Key of what tells that a shard is whole, in the schema metadata of its file."""
ARROW_TYPES: dict[ColumnKind, pa.DataType] = {
    "float64": pa.float64(),
    "int32": pa.int32(),
    "list<float64>": pa.list_(pa.float64()),
    "list<int32>": pa.list_(pa.int32()),
    "list<string>": pa.list_(pa.string()),
}
VERSIONS = f"engine {ENGINE_VERSION}, models {MODELS_VERSION}, methods {METHODS_VERSION}"
"""In every key; source code is not: an edit that moves no number keeps the scores."""
TEXT_COLUMNS = (
    "language",
    "task",
    "context_good",
    "target_good",
    "context_bad",
    "target_bad",
    *CONCEPT_COLUMNS.values(),
    "target_number",
)
"""What of an item every method may look at; a column that a corpus does not have counts as null."""


def schema_of(method: Method) -> pa.Schema:
    """Return the Arrow schema of a method's columns."""
    return pa.schema([(name, ARROW_TYPES[kind]) for name, kind in method.columns.items()])


def shard_key(model_key: str, method: Method, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the key of one method's numbers for these items."""
    columns = [*TEXT_COLUMNS, *method.key_columns]
    cells = [["\1" if row.get(c) is None else str(row[c]) for c in columns] for row in rows]
    texts = ["\0".join(row) for row in cells]
    n_nul = sum(text.count("\0") for text in texts)
    if n_nul > len(rows) * (len(columns) - 1) or any(row.get(c) == "\1" for row in rows for c in columns):
        # where one is in a cell, the joins would not tell where it ends
        texts = [json.dumps([[row.get(c) for c in columns] for row in rows], default=str)]
    bound = [json.dumps(method.of_model, ensure_ascii=False, sort_keys=True)] if method.of_model else []
    return sha256_of_text(model_key, method.name, method.definition["sha256"], *bound, VERSIONS, *texts)


def read_shard(key: str, schema: pa.Schema, *, n_rows: int) -> pa.Table | None:
    """Return a stored shard, or None: also where the file is damaged, which is set aside and said.

    Args:
        key: what `shard_key` gave.
        schema: of the columns.
        n_rows: items of the shard.

    Raises:
        ScoringError: the file is there and this user may not read it.
    """
    path = _path(key)
    if not path.is_file():
        return None
    try:
        table = pq.read_table(path, page_checksum_verification=True, partitioning=None)
    except PermissionError as error:
        raise ScoringError(
            f"stored scores {path} cannot be read ({error.strerror}); check who may read them"
        ) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        _set_aside(path, " ".join(str(error).split())[:200])
        return None
    if problem := _problem(table, key, schema, n_rows):
        _set_aside(path, problem)
        return None
    return table.replace_schema_metadata(None)


def write_shard(key: str, table: pa.Table) -> None:
    """Store a shard atomically, with what tells later that it is whole; it is on the disk before it has its name."""
    described = table.replace_schema_metadata({SEAL: _seal(key, table).encode()})
    with replaced_atomically(_path(key)) as temporary:
        pq.write_table(described, temporary, write_page_checksum=True)
        with temporary.open("rb+") as handle:
            os.fsync(handle.fileno())


def _problem(table: pa.Table, key: str, schema: pa.Schema, n_rows: int) -> str | None:
    """Return how a stored table is not what was written under its key, or None."""
    seal = (table.schema.metadata or {}).get(SEAL)
    if table.num_rows != n_rows:
        return f"it has {table.num_rows} rows, expected {n_rows}"
    if not table.schema.equals(schema):
        return f"it has the columns {', '.join(table.column_names)[:200]}; expected {', '.join(schema.names)[:200]}"
    return None if seal == _seal(key, table).encode() else "its values are not those that were written"


def _seal(key: str, table: pa.Table) -> str:
    """Return a hash of a shard's key and values: a page's checksum sees flipped bits, this also a file put there."""
    return sha256_of_text(key, repr(table.to_pydict()))


def _set_aside(path: Path, problem: str) -> None:
    """Rename a damaged file, so that it can be looked at and its items are scored again."""
    aside = path.with_suffix(".corrupt")
    with contextlib.suppress(FileNotFoundError):  # another run was faster
        path.replace(aside)
    logger.warning("stored scores %s are damaged (%s): set aside as %s, and scored again", path, problem, aside.name)


def _path(key: str) -> Path:
    return cache_dir() / "scores" / key[:2] / f"{key}.parquet"
