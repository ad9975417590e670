"""Scored tables cut to what all of them have: the same items, the same methods, so that they can stand in one bank.

In: scored tables, perhaps others' logs that were imported with other items or methods. Out: the same numbers, fewer of
them, in the first table's order of rows, each table signed for what it holds now. Nothing is computed or filled in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import MODEL, Scored
from pairbank.scoring.signature import corpus_signature, method_hashes

if TYPE_CHECKING:
    import datasets


def cut_alike(tables: Sequence[Scored]) -> list[Scored]:
    """Return tables with the items and methods that all tables of their corpus have, in the order of the first.

    Raises:
        BankError: tables of one corpus share no item or no method, or an item has other texts in one of them.
    """
    by_corpus: dict[str, list[Scored]] = {}
    for table in tables:
        by_corpus.setdefault(table.corpus, []).append(table)
    shared = {corpus: _Shared(group) for corpus, group in by_corpus.items()}
    return [shared[table.corpus].part_of(table) for table in tables]


class _Shared:
    """What all tables of one corpus have."""

    def __init__(self, tables: Sequence[Scored]) -> None:
        first = tables[0]
        self._where = f"corpus {first.corpus!r}: {', '.join(dict.fromkeys(table.model for table in tables))}"
        ids = [set(table.dataset["item_id"][:]) for table in tables]
        everywhere = set.intersection(*ids)
        self.ids = [one for one in first.dataset["item_id"][:] if one in everywhere]
        if not self.ids:
            raise BankError(
                f"{self._where} share no item; import others' results with --items, by the corpus that was scored, so "
                "that their items are its items"
            )
        hashes = [method_hashes(table.signature) for table in tables]
        self.methods = [name for name, found in hashes[0].items() if all(one.get(name) == found for one in hashes)]
        if not self.methods:
            names = "; ".join(f"{table.model}: {', '.join(table.methods)}" for table in tables)
            raise BankError(f"{self._where} share no method in the same wording ({names})")
        made = {
            column
            for table in tables
            for name in table.methods
            if name not in self.methods
            for column in _made(table, name)
        }
        columns = set.intersection(*(set(table.dataset.column_names) for table in tables)) - made
        self.columns = [name for name in first.dataset.column_names if name in columns]
        self._texts = corpus_signature(self._items(first), {})["items_sha256"]

    def part_of(self, table: Scored) -> Scored:
        """Return the shared part of a table."""
        dataset = self._items(table).select_columns(self.columns)
        facts = table.signature["corpus"]
        corpus = {**facts, **corpus_signature(dataset, facts.get("manifest") or {})}
        if corpus["items_sha256"] != self._texts:
            raise BankError(
                f"{self._where}: the shared items have other texts in the table of {table.model}; they are of another "
                "version of the corpus: score or import them anew"
            )
        methods = {
            name: {**table.signature["methods"][name], "columns": [n for n in _made(table, name) if n in self.columns]}
            for name in self.methods
        }
        signature: dict[str, Any] = {**table.signature, "corpus": corpus, "methods": methods}
        signature["n_by_flag"] = {name: _n_by_flag(dataset, name) for name in self.methods}
        before = {"n_items": facts["n_items"], "methods": list(table.methods)}
        if before != {"n_items": len(dataset), "methods": self.methods}:
            signature["cut_from"] = before
        return Scored(dataset=dataset, signature=signature)

    def _items(self, table: Scored) -> datasets.Dataset:
        places = {item_id: place for place, item_id in enumerate(table.dataset["item_id"][:])}
        return table.dataset.select([places[item_id] for item_id in self.ids])


def _made(table: Scored, method: str) -> list[str]:
    """Return the columns that a method made in a table."""
    stated = table.signature["methods"][method].get("columns", ScoreColumns(method).all)
    return [name for name in stated if name in table.dataset.column_names and name != MODEL]


def _n_by_flag(dataset: datasets.Dataset, method: str) -> dict[str, int]:
    """Return how many items have each flag of a method, and of how many there is no score (`not_imported`)."""
    name = ScoreColumns(method).flags
    cells = dataset[name][:] if name in dataset.column_names else []
    found = dict(Counter(flag for flags in cells if flags is not None for flag in flags))
    n_none = sum(flags is None for flags in cells)
    return found | ({"not_imported": n_none} if n_none else {})
