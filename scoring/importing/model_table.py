"""One model's rows of a file to its scored table: in, some rows at a time; out, `Scored`, signed as imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.corpora.tabular_items import SENTENCES
from pairbank.errors import unknown_name
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.model import slug
from pairbank.scoring.importing.columns import Imported, part_table
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.items import OwnItems
from pairbank.scoring.importing.join import same_texts
from pairbank.scoring.importing.profile import ImportProfile
from pairbank.scoring.importing.reading import Chunk
from pairbank.scoring.run.store import ARROW_TYPES
from pairbank.scoring.scored import Scored, with_columns
from pairbank.scoring.signature import corpus_signature

if TYPE_CHECKING:
    import datasets

    from pairbank.arrays import BoolArray, FloatArray

NOT_IMPORTED = "not_imported"
"""Counted in the signature: items of which the file has no number of the method."""


class ModelTable:
    """Collects the rows of one model."""

    def __init__(
        self, model: str, methods: Sequence[Imported], how: ImportProfile, items: datasets.Dataset | None
    ) -> None:
        self.model = model
        self.methods = methods
        self.parts: dict[str, list[pa.Table]] = {method.name: [] for method in methods}
        self._how = how
        self._own = OwnItems(how)
        self._theirs = None if items is None else _TheirItems(items)

    def add(self, chunk: Chunk) -> None:
        """Add some rows."""
        two_sided = self._own.add(chunk) if self._theirs is None else self._theirs.add(chunk, self.model)
        for method in self.methods:
            schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in method.columns.items()])
            self.parts[method.name].append(part_table(method.part(chunk, two_sided), schema))

    def flags(self, method: Imported) -> pa.ChunkedArray:
        """Return a method's flags, null where the file has nothing of it."""
        name = ScoreColumns(method.name).flags
        return pa.chunked_array([part[name].combine_chunks() for part in self.parts[method.name]])

    def n_by_flag(self, method: Imported) -> dict[str, int]:
        """Return how many items have each flag, and of how many the file has nothing."""
        flags = self.flags(method)
        results = {row["values"]: row["counts"] for row in pc.value_counts(pc.list_flatten(flags)).to_pylist()}
        return results | ({NOT_IMPORTED: flags.null_count} if flags.null_count else {})

    def has_numbers(self, method: Imported) -> bool:
        """Return whether the file has a number or an answer of the method."""
        columns = ScoreColumns(method.name)
        names = {columns.good, columns.unparsed} & method.columns.keys()
        known = (part[name] for part in self.parts[method.name] for name in names)
        return any(column.null_count < len(column) for column in known)

    def differences(self, method: Imported) -> FloatArray:
        """Return the sizes of a method's differences, of the items that have one."""
        name = ScoreColumns(method.name).delta
        deltas = (part[name].combine_chunks() for part in self.parts[method.name] if name in part.column_names)
        sizes: FloatArray = np.abs(np.concatenate([np.empty(0), *(delta.drop_null().to_numpy() for delta in deltas)]))
        return sizes

    def scored(self, origin: Mapping[str, Any]) -> Scored:
        """Return the table, and forget its parts."""
        how = self._how
        n_by_flag = {method.name: self.n_by_flag(method) for method in self.methods}
        parts = {name: pa.concat_tables(tables) for name, tables in self.parts.items()}
        self.parts.clear()
        if self._theirs is None:
            table = self._own.dataset(f"{origin['sha256']} {self.model}")
            manifest = _manifest_of(table, how, version_=corpus_signature(table, {})["items_sha256"][:12])
        else:
            order, table, manifest = self._theirs.found()
            parts = {name: part.take(pa.array(order)) for name, part in parts.items()}
        signature = {
            "pairbank": version("pairbank"),
            "model": _unseen_model(self.model),
            "methods": {
                m.name: {
                    **m.definition,
                    "paper": _source_of(m, how),
                    "cites": list(dict.fromkeys([*m.definition.get("cites", ()), *how.cites])),
                    "columns": [*m.columns],
                }
                for m in self.methods
            },
            "over_length": "unknown",
            "seed": "unknown",
            "corpus": corpus_signature(table, manifest),
            "imported": dict(origin),
            "n_by_flag": n_by_flag,
        }
        shards = {name: [part] for name, part in parts.items()}
        return Scored(dataset=with_columns(table, self.methods, shards, model=self.model), signature=signature)


class _TheirItems:
    """Finds the rows of one model among the items of a corpus that pairbank has."""

    def __init__(self, items: datasets.Dataset) -> None:
        self._items = items
        table = items.with_format("arrow").select_columns(["item_id", *SENTENCES])[:]
        self._texts = {name: table[name].combine_chunks() for name in SENTENCES}
        self._known = {item_id: place for place, item_id in enumerate(table["item_id"].to_pylist())}
        self._is_two_sided = table["target_bad"].is_valid().to_numpy()
        self._places: list[int] = []
        self._seen: dict[int, str] = {}

    def add(self, chunk: Chunk, model: str) -> BoolArray:
        """Add some rows; return which of their items have a worse side."""
        places = []
        provided = {name: chunk.cells[name] for name in SENTENCES if name in chunk.cells}
        for row, item_id in enumerate(chunk.column("item_id")):
            where = chunk.where(row)
            if item_id is None:
                raise ScoreImportError(f"{where}: no item_id; name its column (columns={{'item_id': ...}}) and fill it")
            place = self._known.get(item_id)
            if place is None:
                error = unknown_name("item", item_id, list(self._known)[:1])
                raise ScoreImportError(f"{where}: {error}, … ({len(self._known)} items of {self._items['corpus'][0]})")
            if place in self._seen:
                raise ScoreImportError(f"{where}: {item_id} of {model} stands in {self._seen[place]} too")
            cells = {name: column[row] for name, column in provided.items()}
            item = {name: column[place].as_py() for name, column in self._texts.items()} if provided else {}
            if provided and not same_texts(cells, item):
                raise ScoreImportError(
                    f"{where}: {item_id} of {self._items['corpus'][0]} is {item['target_good']!r}, and the row has "
                    f"{cells.get('target_good')!r}, {cells.get('target_bad')!r}; correct the ids, or leave the texts "
                    "out of the file if they are not what was scored"
                )
            self._seen[place] = where
            places.append(place)
        self._places += places
        result: BoolArray = self._is_two_sided[places]
        return result

    def found(self) -> tuple[np.ndarray, datasets.Dataset, dict[str, Any]]:
        """Return the rows in the items' order, the items, and the facts of their corpus."""
        from pairbank.builders.dataset import manifest_of

        order = np.argsort(self._places, kind="stable")
        return order, self._items.select(sorted(self._places)), manifest_of(self._items) or {}


def _source_of(method: Imported, how: ImportProfile) -> str:
    """Return where the numbers come from, and of a declared score what they are."""
    declared = "imported" in method.definition
    meaning = method.definition["paper"]
    if not how.paper:
        return f"imported: {meaning}"
    return f"imported: {how.paper}; {meaning}" if declared else f"imported: {how.paper}"


def _unseen_model(name: str) -> dict[str, Any]:
    """Return a signature's facts about a model that we did not run: its name, and that the rest is not known."""
    known = {"name": name, "model_id": name, "slug": slug(name), "backend": "imported"}
    unknown = ("revision", "architecture", "dtype", "quantisation", "device", "prompt_format", "bos_policy")
    return {**dict.fromkeys(unknown, "unknown"), "bos_id": None, "max_length": None, **known}


def _manifest_of(items: datasets.Dataset, how: ImportProfile, *, version_: str) -> dict[str, Any]:
    """Return the facts of the corpus that the file's own items make."""
    table: pa.Table = items.with_format("arrow")[:]

    def counts(column: pa.ChunkedArray) -> dict[str, int]:
        return {row["values"]: row["counts"] for row in pc.value_counts(column).to_pylist()}

    return {
        "corpus": how.corpus,
        "title": how.title or how.corpus,
        "description": how.description or "Items that came with imported scores.",
        "version": version_,
        "source": {
            "homepage": how.homepage,
            "revision": how.revision,
            "licence": how.licence,
            "licence_note": how.licence_note,
            "redistributable": False,
            "citation": how.citation,
        },
        "human": "as imported" if table["human_good"].null_count < len(table) else "",
        "n_rows": len(table),
        "n_by_subset": counts(table["subset"]),
        "languages": sorted(counts(table["language"])),
        "tasks": sorted(counts(table["task"])),
        "n_by_flag": counts(pc.list_flatten(table["flags"])),
        "facts": {},
    }
