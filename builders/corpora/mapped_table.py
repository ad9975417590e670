"""A user's table read by a column map: in, a `Table` and a `ColumnMap`; out, rows by schema column, and what is kept.

Rows come out with the names that the schema has, so that `tabular` takes them as it takes a table that needs no map.
Columns that the map does not name are kept; in the layout `long`, one that differs between the sides of a pair is kept
once a side, as `<column>_good` and `<column>_bad`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairbank.builders.corpora.column_map import OF_A_SIDE, BadRow, ColumnMap, ShapedRow
from pairbank.builders.schema.columns import COLUMNS
from pairbank.builders.sources.table_format import MENDED
from pairbank.builders.sources.tables import BlankRow, Table
from pairbank.errors import unknown_name

LABEL = "label"
"""The corpus's column of labels, 1 = acceptable."""


@dataclass(frozen=True, kw_only=True)
class MappedTable:
    """A table and the map of its columns."""

    table: Table
    map: ColumnMap
    kept: Mapping[str, str]
    """The table's column -> its name in the corpus."""
    by_side: frozenset[str]
    """Of these, columns that are kept once a side."""

    @classmethod
    def of(cls, table: Table, column_map: ColumnMap) -> MappedTable:
        """Return a table with its map, the map's columns checked.

        Raises:
            UnknownNameError: the map names a column that the table does not have.
        """
        names = column_map.named()
        if table.path.suffix.lower() not in (".json", ".jsonl"):
            for name in sorted(names):
                if name not in table.columns and name.split(".", 1)[0] not in table.columns:
                    raise unknown_name(f"column of {table.path} (named in its map)", name, table.columns)
        also = (LABEL,) if column_map.layout == "sentences" and column_map.label is not None else ()
        kept = kept_names([name for name in table.columns if name not in names], also)
        empty = cls(table=table, map=column_map, kept=kept, by_side=frozenset())
        if column_map.layout != "long":
            return empty
        return cls(table=table, map=column_map, kept=kept, by_side=empty._differing())

    def _differing(self) -> frozenset[str]:
        """Return the kept columns whose cells differ between the sides of some pair."""
        found: set[str] = set()
        for shaped in self._shaped(lambda _error: None, lambda _number: None):
            bad = shaped.bad or {}
            found |= {name for name in self.kept if shaped.good.get(name) != bad.get(name)}
        return frozenset(found)

    @property
    def columns(self) -> tuple[str, ...]:
        """The schema's columns that every row has."""
        names = dict.fromkeys((*self.map.fixed, *self.map.columns))
        if self.map.layout != "pairs":
            sides = ("good",) if self.map.layout == "sentences" else ("good", "bad")
            stems = [OF_A_SIDE[name] for name in names if name in OF_A_SIDE]
            plain = [name for name in names if name not in OF_A_SIDE]
            return (*plain, *(f"{stem}_{side}" for stem in stems for side in sides))
        picked = ("target_good", "target_bad") if self.map.label is not None else ()
        return tuple(dict.fromkeys((*names, *picked)))

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The corpus's own columns of text."""
        return tuple(
            column
            for name, kept in self.kept.items()
            for column in ((f"{kept}_good", f"{kept}_bad") if name in self.by_side else (kept,))
        )

    @property
    def is_labelled(self) -> bool:
        """Whether each row has a label of its own."""
        return self.map.layout == "sentences" and self.map.label is not None

    def rows(self, bad_row: BadRow, blank_row: BlankRow) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (line of the better side, row), as `Table.rows` does."""
        for shaped in self._shaped(bad_row, blank_row):
            row = dict(shaped.cells)
            for name, kept in self.kept.items():
                if name in self.by_side:
                    row |= {f"{kept}_good": shaped.good.get(name), f"{kept}_bad": (shaped.bad or {}).get(name)}
                else:
                    row[kept] = shaped.good.get(name)
            if self.is_labelled:
                row[LABEL] = shaped.label
            yield shaped.number, row | ({MENDED: shaped.flags} if shaped.flags else {})

    def _shaped(self, bad_row: BadRow, blank_row: BlankRow) -> Iterator[ShapedRow]:
        yield from self.map.shaped(self.table.rows(bad_row, blank_row), str(self.table.path), bad_row)


def kept_names(columns: Sequence[str], also_taken: Sequence[str] = ()) -> dict[str, str]:
    """Return the names in the corpus of columns that the schema does not have; none is the schema's or the model's."""
    taken = {column.name for column in COLUMNS} | {"flags", "model", *also_taken}
    names: dict[str, str] = {}
    for column in sorted(columns, key=lambda name: name in taken):
        name = column
        while name in taken:
            name += "_source"
        taken.add(name)
        names[column] = name
    return {column: names[column] for column in columns}
