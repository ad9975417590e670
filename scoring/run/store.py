"""The resumable store: the columns of one method for one shard of items, a parquet file under a content key.

The key is a hash of everything that decides the numbers: model, method, the versions of the rooms that make them, and
the shard's texts. So a killed run continues where it stopped, and a changed signature can never meet old numbers. A
damaged file is set aside and scored again. A run that ends puts its shards into one file per method, a pack.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.errors import OutputError, ScoringError
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
LEAST_PACKED = 4
"""Shards from which they are put into a pack."""
KEYS = b"pairbank keys"
"""Key, in the schema metadata of a pack, of its shards: their keys, numbers of rows and seals."""


def schema_of(method: Method) -> pa.Schema:
    return pa.schema([(name, ARROW_TYPES[kind]) for name, kind in method.columns.items()])


def shard_key(model_key: str, method: Method, rows: Sequence[Mapping[str, Any]]) -> str:
    columns = [*TEXT_COLUMNS, *method.key_columns]
    cells = [["\1" if row.get(c) is None else str(row[c]) for c in columns] for row in rows]
    texts = ["\0".join(row) for row in cells]
    n_nul = sum(text.count("\0") for text in texts)
    if n_nul > len(rows) * (len(columns) - 1) or any(row.get(c) == "\1" for row in rows for c in columns):
        # where one is in a cell, the joins would not tell where it ends
        texts = [json.dumps([[row.get(c) for c in columns] for row in rows], default=str)]
    bound = [json.dumps(method.of_model, ensure_ascii=False, sort_keys=True)] if method.of_model else []
    return sha256_of_text(model_key, method.name, method.definition["sha256"], *bound, VERSIONS, *texts)


@dataclass(slots=True)
class Packs:
    """The packs of one method by one model, each read when a shard is looked for that was not in those before."""

    group: str
    """Name of their folder."""
    tables: dict[str, tuple[pa.Table, str]] = field(default_factory=dict)
    """Key -> a shard, and its seal."""
    known: set[str] = field(default_factory=set)

    def find(self, key: str, schema: pa.Schema, *, n_rows: int) -> pa.Table | None:
        """Return a shard that is in one of the packs, or None; a damaged pack is set aside."""
        if key not in self.tables:
            self._read_new()
        if key not in self.tables:
            return None
        table, seal = self.tables[key]
        if problem := _problem(table, key, schema, n_rows, seal.encode()):
            logger.warning("stored scores in %s are damaged (%s): scored again", _packs(self.group), problem)
            del self.tables[key]
            return None
        return table

    def _read_new(self) -> None:
        folder = _packs(self.group)
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - names are enough
        except FileNotFoundError:
            return
        for name in (name for name in names if name.endswith(".parquet") and name not in self.known):
            self.known.add(name)
            if (table := _whole_table(folder / name)) is None:
                continue
            try:
                listed = json.loads((table.schema.metadata or {})[KEYS])
                places = [(str(key), int(n_rows), str(seal)) for key, n_rows, seal in listed]
            except (KeyError, ValueError, TypeError) as error:
                _set_aside(folder / name, f"it does not say which shards it holds ({error})")
                continue
            table, start = table.replace_schema_metadata(None), 0
            for key, n_rows, seal in places:
                self.tables[key] = (table.slice(start, n_rows), seal)
                start += n_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Some items by some methods, and the columns that are known of them."""

    rows: Sequence[Mapping[str, Any]]
    methods: Sequence[Method]
    keys: Mapping[str, str]
    tables: dict[str, pa.Table]

    @property
    def missing(self) -> list[Method]:
        return [method for method in self.methods if method.name not in self.tables]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredShards:
    model_key: str
    """Hash of the model's signature."""
    packs: dict[str, Packs] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    """Keys of the shards read and written here that are files of their own."""

    def find(self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method]) -> Shard:
        keys = {method.name: shard_key(self.model_key, method, rows) for method in methods}
        stored = {method.name: self._stored(method, keys[method.name], n_rows=len(rows)) for method in methods}
        tables = {name: table for name, table in stored.items() if table is not None}
        return Shard(rows=rows, methods=methods, keys=keys, tables=tables)

    def _stored(self, method: Method, key: str, *, n_rows: int) -> pa.Table | None:
        schema = schema_of(method)
        if method.name not in self.packs:
            group = sha256_of_text(self.model_key, method.name, method.definition["sha256"], VERSIONS)[:32]
            self.packs[method.name] = Packs(group)
        packs = self.packs[method.name]
        if key in packs.tables and (table := packs.find(key, schema, n_rows=n_rows)) is not None:
            return table
        if (table := read_shard(key, schema, n_rows=n_rows)) is not None:
            self.loose.add(key)
            return table
        return packs.find(key, schema, n_rows=n_rows)

    def keep(self, shard: Shard, tables: Mapping[str, pa.Table]) -> None:
        for name, table in tables.items():
            write_shard(shard.keys[name], table)
            self.loose.add(shard.keys[name])
            shard.tables[name] = table

    def pack(self, shards: Sequence[Shard]) -> None:
        """Put the shards of a run that has ended into one file per method; if that fails, they stay as they are."""
        for name in dict.fromkeys(name for shard in shards for name in shard.keys):
            keyed = {shard.keys[name]: shard.tables[name] for shard in shards if name in shard.keys}
            if len(keyed) >= LEAST_PACKED and not self.loose.isdisjoint(keyed):
                try:
                    write_pack(self.packs[name].group, keyed)
                except (OutputError, OSError) as error:
                    logger.info("stored scores of %s are not packed (%s)", name, error)


def write_pack(group: str, shards: Mapping[str, pa.Table]) -> None:
    """Put shards into one file, and remove their own."""
    listed = [(key, table.num_rows, _seal(key, table)) for key, table in shards.items()]
    table = pa.concat_tables(shards.values()).combine_chunks()
    described = table.replace_schema_metadata({KEYS: json.dumps(listed).encode()})
    path = _packs(group) / f"{sha256_of_text(*shards)[:32]}.parquet"
    _write(path, described)
    for key in reversed([*shards]):  # after a kill here, the first one is still found beside the pack, and they go then
        _path(key).unlink(missing_ok=True)


def read_shard(key: str, schema: pa.Schema, *, n_rows: int) -> pa.Table | None:
    """Return a stored shard, or None: also where the file is damaged, which is set aside and said."""
    path = _path(key)
    if not path.is_file() or (table := _whole_table(path)) is None:
        return None
    seal = (table.schema.metadata or {}).get(SEAL)
    if problem := _problem(table, key, schema, n_rows, seal):
        _set_aside(path, problem)
        return None
    return table.replace_schema_metadata(None)


def _whole_table(path: Path) -> pa.Table | None:
    """Return what a file holds; None where it is gone, or damaged and set aside."""
    try:
        return pq.read_table(path, page_checksum_verification=True, partitioning=None)
    except PermissionError as error:
        raise ScoringError(
            f"stored scores {path} cannot be read ({error.strerror}); check who may read them"
        ) from error
    except FileNotFoundError:  # another run packed it just now
        return None
    except (pa.ArrowException, OSError, ValueError) as error:
        _set_aside(path, " ".join(str(error).split())[:200])
        return None


def write_shard(key: str, table: pa.Table) -> None:
    """Store a shard atomically, with what tells later that it is whole; it is on the disk before it has its name."""
    described = table.replace_schema_metadata({SEAL: _seal(key, table).encode()})
    _write(_path(key), described)


def stored_or_made(key: str, schema: pa.Schema, rows: Iterable[Mapping[str, Any]], *, n_rows: int) -> pa.Table:
    """Return a stored shard; where there is none, its rows are computed, which a generator does only now."""
    if (table := read_shard(key, schema, n_rows=n_rows)) is None:
        write_shard(key, table := pa.Table.from_pylist([*rows], schema=schema))
    return table


def _write(path: Path, table: pa.Table) -> None:
    with replaced_atomically(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True)
        with temporary.open("rb+") as handle:
            os.fsync(handle.fileno())


def _problem(table: pa.Table, key: str, schema: pa.Schema, n_rows: int, seal: bytes | None) -> str | None:
    if table.num_rows != n_rows:
        return f"it has {table.num_rows} rows, expected {n_rows}"
    if not table.schema.equals(schema):
        return f"it has the columns {', '.join(table.column_names)[:200]}; expected {', '.join(schema.names)[:200]}"
    return None if seal == _seal(key, table).encode() else "its values are not those that were written"


def _seal(key: str, table: pa.Table) -> str:
    """Return a hash of a shard's key and values: a page's checksum sees flipped bits, this also a file put there."""
    return sha256_of_text(key, repr(table.to_pydict()))


def _set_aside(path: Path, problem: str) -> None:
    aside = path.with_suffix(".corrupt")
    with contextlib.suppress(FileNotFoundError):  # another run was faster
        path.replace(aside)
    logger.warning("stored scores %s are damaged (%s): set aside as %s, and scored again", path, problem, aside.name)


def _packs(group: str) -> Path:
    return cache_dir() / "scores" / "packs" / group


def _path(key: str) -> Path:
    return cache_dir() / "scores" / key[:2] / f"{key}.parquet"
