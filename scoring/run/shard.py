"""The shards of a model in the store: in, items and methods; out, what of their columns is stored, and what is not."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pairbank.errors import OutputError
from pairbank.scoring.api.method import Method
from pairbank.scoring.run.store import (
    LEAST_PACKED,
    Packs,
    pack_group,
    read_shard,
    schema_of,
    shard_key,
    write_pack,
    write_shard,
)

logger = logging.getLogger(__name__)


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
        packs = self.packs.setdefault(method.name, Packs(pack_group(self.model_key, method)))
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
