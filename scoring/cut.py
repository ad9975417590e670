"""Scored tables cut to what all have, or filled to what any has, for one bank: the same numbers, signed anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.corpora.tabular_items import SENTENCES as TEXTS
from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import MODEL, Scored, n_by_flag
from pairbank.scoring.signature import corpus_signature, method_hashes

if TYPE_CHECKING:
    import datasets

NAMED_BY = ("item_id", "pair_id", "target_good", "target_bad")
"""What an item that is left out may be named by."""


def cut_alike(tables: Sequence[Scored]) -> list[Scored]:
    """Return tables with the items and methods that all tables of their corpus have, in the order of the first.

    Raises:
        BankError: tables of one corpus share no item or no method, or an item has other texts in one of them.

    >>> import pairbank
    >>> pairs = [("The dogs bark.", "The dogs barks."), ("A cat sleeps.", "A cat sleep.")]
    >>> tables = [pairbank.score(pairs, "fake:a"), pairbank.score(pairs[:1], "fake:b")]
    >>> [len(table) for table in cut_alike(tables)]
    [1, 1]
    """
    shared = {corpus: _Shared(group) for corpus, group in _by_corpus(tables).items()}
    return [shared[table.corpus].part_of(table) for table in tables]


def without_items(tables: Sequence[Scored], named: Sequence[str]) -> list[Scored]:
    wrong, unknown, kept = list(dict.fromkeys(named)), set(named), []
    for table in tables if wrong else ():
        rows, is_named = table.table, np.zeros(len(table), dtype=bool)
        for column in (rows[name] for name in NAMED_BY if name in rows.column_names):
            is_named |= pc.is_in(column, value_set=pc.cast(wrong, column.type)).to_numpy()
            unknown -= set(pc.unique(column).to_pylist())
        kept.append(Scored(table=rows.filter(~is_named), signature=table.signature))
    if unknown:
        raise BankError(
            f"{len(unknown)} of {len(wrong)} items to leave out are in no table, the first: {min(unknown)!r}; expected "
            f"one per line, by {', '.join(NAMED_BY)}"
        )
    return kept or list(tables)


def filled_alike(tables: Sequence[Scored]) -> list[Scored]:
    """Return tables with the items and methods that any table of their corpus has, empty where a table has no number.

    The items are those of the table that has most, in its order.
    """
    whole = {corpus: _Whole(group) for corpus, group in _by_corpus(tables).items()}
    return [whole[table.corpus].filled(table) for table in tables]


def _by_corpus(tables: Sequence[Scored]) -> dict[str, list[Scored]]:
    by_corpus: dict[str, list[Scored]] = {}
    for table in tables:
        by_corpus.setdefault(table.corpus, []).append(table)
    return by_corpus


class _Whole:
    """What any table of one corpus has."""

    def __init__(self, tables: Sequence[Scored]) -> None:
        self._longest = max(tables, key=len)
        self._where = f"corpus {self._longest.corpus!r}"
        self.methods: dict[str, Mapping[str, Any]] = {}
        self._features: dict[str, Any] = {}
        hashes: dict[str, str] = {}
        for table in tables:
            for name, digest in method_hashes(table.signature).items():
                if hashes.setdefault(name, digest) != digest:
                    raise BankError(
                        f"{self._where}: {name} is not the same method in all tables ({table.model} has another "
                        "wording of it); import them under different names"
                    )
                self.methods.setdefault(name, table.signature["methods"][name])
                for column in _restricted(table, name):
                    self._features.setdefault(column, table.features[column])
        columns = {MODEL, *self._features}
        self._items = self._longest.dataset.remove_columns([n for n in self._longest.column_names if n in columns])
        self._ids = self._items["item_id"][:]
        texts = zip(*(self._items[name][:] for name in TEXTS), strict=True)
        self._texts = dict(zip(self._ids, texts, strict=True))

    def filled(self, table: Scored) -> Scored:
        import datasets

        if list(self.methods) == list(table.methods) and _ids(table) == self._ids:
            return table
        cells = table.table
        ids = cells["item_id"].to_pylist()
        for item_id, *texts in zip(ids, *(cells[name].to_pylist() for name in TEXTS), strict=True):
            if self._texts.get(item_id) != tuple(texts):
                raise BankError(
                    f"{self._where}: item {item_id} of {table.model} is not in the table of {self._longest.model}, or "
                    "has other texts there; import both with the corpus that was scored (--items)"
                )
        places = {item_id: place for place, item_id in enumerate(ids)}
        order = pa.array([places.get(item_id) for item_id in self._ids], pa.int64())
        features = datasets.Features({**self._items.features, MODEL: datasets.Value("string"), **self._features})
        schema, result = features.arrow_schema, self._items.with_format("arrow")[:]
        result = result.append_column(MODEL, pa.array([table.model] * len(result), pa.string()))
        for name in self._features:
            column = cells[name].combine_chunks().take(order) if name in cells.column_names else None
            kind = schema.field(name).type
            result = result.append_column(name, pa.nulls(len(result), kind) if column is None else column)
        before = {"filled_from": {"n_items": len(table), "methods": list(table.methods)}}
        return _signed(
            result.cast(schema), table.signature, self._longest.signature["corpus"], dict(self.methods), before
        )


class _Shared:
    """What all tables of one corpus have."""

    def __init__(self, tables: Sequence[Scored]) -> None:
        first = tables[0]
        self._where = f"corpus {first.corpus!r}: {', '.join(dict.fromkeys(table.model for table in tables))}"
        ids = [set(_ids(table)) for table in tables]
        everywhere = set.intersection(*ids)
        self.ids = [item_id for item_id in _ids(first) if item_id in everywhere]
        if not self.ids:
            raise BankError(
                f"{self._where} share no item; import others' results with --items, by the corpus that was scored, so "
                "that their items are its items"
            )
        hashes = [method_hashes(table.signature) for table in tables]
        self.methods = [
            name for name, digest in hashes[0].items() if all(of_table.get(name) == digest for of_table in hashes)
        ]
        if not self.methods:
            names = "; ".join(f"{table.model}: {', '.join(table.methods)}" for table in tables)
            raise BankError(f"{self._where} share no method in the same wording ({names})")
        frame = {
            column
            for table in tables
            for name in table.methods
            if name not in self.methods
            for column in _restricted(table, name)
        }
        columns = set.intersection(*(set(table.column_names) for table in tables)) - frame
        self.columns = [name for name in first.column_names if name in columns]
        self._texts = corpus_signature(self._items(first), {})["items_sha256"]

    def part_of(self, table: Scored) -> Scored:
        dataset = self._items(table).select_columns(self.columns)
        facts = table.signature["corpus"]
        corpus = {**facts, **corpus_signature(dataset, facts.get("manifest") or {})}
        if corpus["items_sha256"] != self._texts:
            raise BankError(
                f"{self._where}: the shared items have other texts in the table of {table.model}; they are of another "
                "version of the corpus: score or import them anew"
            )
        methods = {name: dict(table.signature["methods"][name]) for name in self.methods}
        for name, method in methods.items():
            method["columns"] = [column for column in _restricted(table, name) if column in self.columns]
        before = {"n_items": facts["n_items"], "methods": list(table.methods)}
        is_cut = before != {"n_items": len(dataset), "methods": self.methods}
        return _signed(
            dataset.with_format("arrow")[:], table.signature, corpus, methods, {"cut_from": before} if is_cut else {}
        )

    def _items(self, table: Scored) -> datasets.Dataset:
        places = {item_id: place for place, item_id in enumerate(_ids(table))}
        return table.dataset.select([places[item_id] for item_id in self.ids])


def _ids(table: Scored) -> list[str]:
    ids: list[str] = table.arrow(["item_id"])["item_id"].to_pylist()
    return ids


def _signed(
    table: pa.Table,
    signature: Mapping[str, Any],
    corpus: Mapping[str, Any],
    methods: Mapping[str, Any],
    before: Mapping[str, Any],
) -> Scored:
    """Return a table with the signature of another, for what it holds now."""
    flags = {name: ScoreColumns(name).flags for name in methods}
    n_by_flags = {m: n_by_flag(table[name]) if name in table.column_names else {} for m, name in flags.items()}
    parts = {"corpus": corpus, "methods": methods, "n_by_flag": n_by_flags, **before}
    return Scored(table=table, signature={**signature, **parts})


def _restricted(table: Scored, method: str) -> list[str]:
    stated = table.signature["methods"][method].get("columns", ScoreColumns(method).all)
    return [name for name in stated if name in table.column_names and name != MODEL]
