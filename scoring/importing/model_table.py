"""One model's rows of a file to its scored table, signed as imported, with a corpus's items or the file's own.

Own items are made by column, some rows at a time, for files of millions of rows: the same items, flags and messages as
row by row through `mapped_item` and `Validator`, which sees only a table that breaks the schema.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.arrays import BoolArray, FloatArray
from pairbank.builders.corpora.cells import check_on_scale, count_in, number_in
from pairbank.builders.corpora.column_map import ShapedRow
from pairbank.builders.corpora.corpus_map import LABELS
from pairbank.builders.corpora.tabular_items import SENTENCES, TabularOptions, TextIds, mapped_item
from pairbank.builders.dataset import features, manifest_of
from pairbank.builders.schema.columns import (
    COLUMNS,
    DUPLICATE_PAIR,
    IDENTICAL_SIDES,
    NOT_NFC,
    ONE_SIDED_TASKS,
    TASKS,
    Item,
)
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.schema.validation import Validator, same_text
from pairbank.builders.sources.tables import ROWS_A_BATCH
from pairbank.errors import CorpusError, UnknownNameError, unknown_name
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.model import slug
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.join import same_texts
from pairbank.scoring.importing.method import Cells, Chunk, ImportedMethod, flag_column, part_table
from pairbank.scoring.importing.profile import ITEM_NAMES, ImportProfile
from pairbank.scoring.run.store import ARROW_TYPES
from pairbank.scoring.scored import Scored, counts, n_by_flag, with_columns
from pairbank.scoring.signature import corpus_signature

_NUMBERS_IN: Mapping[str, Callable[[str | None, str, str], float | None]] = {
    "human_good": number_in,
    "human_bad": number_in,
    "human_n": count_in,
}
_NUMBERS = {"human_good": pa.float64(), "human_bad": pa.float64(), "human_n": pa.int64()}
_UNSEEN = ("revision", "architecture", "dtype", "quantisation", "device", "prompt_format", "bos_policy")
"""Facts of a signature's model that nobody knows who did not run it."""


class ModelTable:
    def __init__(
        self, model: str, methods: Sequence[ImportedMethod], how: ImportProfile, items: datasets.Dataset | None
    ) -> None:
        self.model = model
        self.methods = methods
        self.parts: dict[str, list[pa.Table]] = {method.name: [] for method in methods}
        self._how = how
        self._own = OwnItems(how)
        self._theirs = None if items is None else _TheirItems(items)

    def add(self, chunk: Chunk) -> None:
        two_sided = self._own.add(chunk) if self._theirs is None else self._theirs.add(chunk, self.model)
        for method in self.methods:
            schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in method.columns.items()])
            self.parts[method.name].append(part_table(method.part(chunk, two_sided), schema))

    def n_by_flag(self, method: ImportedMethod) -> dict[str, int]:
        return n_by_flag(self._table(method)[ScoreColumns(method.name).flags])

    def has_numbers(self, method: ImportedMethod) -> bool:
        columns, table = ScoreColumns(method.name), self._table(method)
        names = {columns.good, columns.unparsed} & method.columns.keys()
        return any(table[name].null_count < len(table) for name in names)

    def differences(self, method: ImportedMethod) -> FloatArray:
        table, name = self._table(method), ScoreColumns(method.name).delta
        sizes: FloatArray = np.abs(table[name].drop_null().to_numpy()) if name in table.column_names else np.empty(0)
        return sizes

    def _table(self, method: ImportedMethod) -> pa.Table:
        return pa.concat_tables(self.parts[method.name])

    def scored(self, origin: Mapping[str, Any]) -> Scored:
        how = self._how
        flags = {method.name: self.n_by_flag(method) for method in self.methods}
        parts = {name: pa.concat_tables(tables) for name, tables in self.parts.items()}
        self.parts.clear()
        if self._theirs is None:
            table = self._own.dataset(f"{origin['sha256']} {self.model}")
            corpus = corpus_signature(table, {})
            manifest = _manifest_of(table, how, version_=corpus["items_sha256"][:12])
            corpus |= {"version": manifest["version"], "manifest": manifest}
        else:
            order, table, manifest = self._theirs.in_order()
            parts = {name: part.take(pa.array(order)) for name, part in parts.items()}
            corpus = corpus_signature(table, manifest)
        signature = {
            "pairbank": version("pairbank"),
            "model": {
                **dict.fromkeys(_UNSEEN, "unknown"),
                "bos_id": None,
                "max_length": None,
                "name": self.model,
                "model_id": self.model,
                "slug": slug(self.model),
                "backend": "imported",
            },
            "methods": {
                method.name: {
                    **method.definition,
                    "paper": f"imported: {how.paper or method.definition['paper']}"
                    + (f"; {method.definition['paper']}" if how.paper and "imported" in method.definition else ""),
                    "cites": list(dict.fromkeys([*method.definition.get("cites", ()), *how.cites])),
                    "columns": [*method.columns],
                }
                for method in self.methods
            },
            "over_length": "unknown",
            "seed": "unknown",
            "corpus": corpus,
            "imported": dict(origin),
            "n_by_flag": flags,
        }
        shards = {name: [part] for name, part in parts.items()}
        return Scored(table=with_columns(table, self.methods, shards, model=self.model), signature=signature)


class _TheirItems:
    def __init__(self, items: datasets.Dataset) -> None:
        self._items = items
        table = items.with_format("arrow").select_columns(["item_id", *SENTENCES])[:]
        self._texts = {name: table[name].combine_chunks() for name in SENTENCES}
        self._known = {item_id: place for place, item_id in enumerate(table["item_id"].to_pylist())}
        self._is_two_sided = table["target_bad"].is_valid().to_numpy()
        self._seen: dict[int, str] = {}
        """Place of an item -> where its row is, in the order of rows."""

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
                raise ScoreImportError(f"{where}: {item_id} of {model} is in {self._seen[place]} too")
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
        result: BoolArray = self._is_two_sided[places]
        return result

    def in_order(self) -> tuple[np.ndarray, datasets.Dataset, dict[str, Any]]:
        order = np.argsort([*self._seen], kind="stable")
        return order, self._items.select(sorted(self._seen)), manifest_of(self._items) or {}


def _manifest_of(items: datasets.Dataset, how: ImportProfile, *, version_: str) -> dict[str, Any]:
    table: pa.Table = items.with_format("arrow")[:]
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


class OwnItems:
    def __init__(self, how: ImportProfile) -> None:
        self._how = how
        self._ids_by_text = TextIds(corpus=how.corpus)
        self._parts: list[pa.Table] = []
        self._facts: list[dict[str, np.ndarray]] = []
        """Of the rows of each part: hashes of item id and texts, and flags."""
        self._labels: list[int | None] = []
        """Whether each item is acceptable, 1 or 0, where a reader says so."""

    def add(self, chunk: Chunk) -> BoolArray:
        """Add the items of some rows; return which of them have a worse side."""
        needed = ("target_good",) if self._how.task in ONE_SIDED_TASKS else ("target_good", "target_bad")
        if not chunk.cells.keys() >= {*needed}:
            raise ScoreImportError(
                f"{chunk.where(0)}: no sentences; map columns to {' and '.join(needed)}, or give the corpus "
                "(items=, --items) and a column of item_id"
            )
        columns = self._columns(chunk)
        pairs = list(zip(*(columns[name] for name in SENTENCES), strict=True))
        not_nfc = [not all(unicodedata.is_normalized("NFC", text or "") for text in texts) for texts in pairs]
        self._facts.append(
            {
                "texts": np.array([hash(texts) for texts in pairs], dtype=np.int64),
                "item_id": np.array([hash(item_id) for item_id in columns["item_id"]], dtype=np.int64),
                IDENTICAL_SIDES: np.array([same_text(texts[:2], texts[2:]) for texts in pairs], dtype=np.bool_),
                NOT_NFC: np.array(not_nfc, dtype=np.bool_),
            }
        )
        kinds = {column.name: _NUMBERS.get(column.name, pa.string()) for column in COLUMNS}
        table = pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
        self._parts.append(table)
        self._labels += [None if label is None else int(label) for label in chunk.column(LABELS.name)]
        two_sided: BoolArray = table["target_bad"].is_valid().to_numpy()
        return two_sided

    def _columns(self, chunk: Chunk) -> dict[str, Cells]:
        how, n = self._how, len(chunk)
        results: dict[str, Any] = {name: chunk.column(name) for name in ITEM_NAMES}
        results["task"] = [task or how.task for task in results["task"]]
        if unknown := {*results["task"]} - {*TASKS}:
            self._item(chunk, next(row for row, task in enumerate(results["task"]) if task in unknown))  # raises
        sides = zip(results["target_good"], results["target_bad"], results["task"], strict=True)
        for row, (good, bad, task) in enumerate(sides):
            one_sided = bad is None and task in ONE_SIDED_TASKS
            if not (good or "").strip() or not (one_sided or (bad or "").strip()):
                self._item(chunk, row)  # raises, and says what is missing
        results["subset"] = [subset or "all" for subset in results["subset"]]
        results["language"] = self._languages(chunk)
        context = results["context_good"] = [text or "" for text in results["context_good"]]
        results["context_bad"] = [
            before if text is None and bad is not None else text
            for text, before, bad in zip(results["context_bad"], context, results["target_bad"], strict=True)
        ]
        for name, read in _NUMBERS_IN.items():
            cells = results[name]
            if any(cell is not None for cell in cells):
                results[name] = [read(cell, chunk.where(row), name) for row, cell in enumerate(cells)]
        for name in ("human_good", "human_bad"):
            for row, (value, scale) in enumerate(zip(results[name], results["human_scale"], strict=True)):
                check_on_scale(value, scale, chunk.where(row), name)
        rated = zip(results["human_scale"], results["human_good"], results["human_bad"], strict=True)
        results["human_scale"] = [
            "unstated" if scale is None and (good, bad) != (None, None) else scale for scale, good, bad in rated
        ]
        results["item_id"] = self._ids_of(results)
        return results | {"corpus": [how.corpus] * n}

    def _ids_of(self, columns: Mapping[str, Any]) -> Cells:
        named = zip(*(columns[name] for name in ("item_id", "subset", "paradigm", "pair_id")), strict=True)
        texts = zip(*(columns[name] for name in SENTENCES), strict=True)
        return [
            item_id
            or (
                "/".join(dict.fromkeys(part for part in (self._how.corpus, subset, paradigm) if part)) + f"/{pair_id}"
                if pair_id
                else self._ids_by_text.of(subset, row)
            )
            for (item_id, subset, paradigm, pair_id), row in zip(named, texts, strict=True)
        ]

    def _languages(self, chunk: Chunk) -> Cells:
        stated = [language or self._how.language for language in chunk.column("language")]
        tags: dict[str, str] = {}
        for language in dict.fromkeys(stated):
            try:
                tags[language] = language_tag(language)
            except UnknownNameError as error:
                raise CorpusError(f"{chunk.where(stated.index(language))}: {error}") from error
        return [tags[language] for language in stated]

    def _item(self, chunk: Chunk, row: int) -> Item:
        cells = {name: column[row] for name, column in chunk.cells.items() if name in ITEM_NAMES}
        options = TabularOptions(language=self._how.language, task=self._how.task)
        cells.pop("item_id", None)
        corpus = self._how.corpus
        shaped = ShapedRow(number=row, cells=cells, good=cells)
        return mapped_item(shaped, TextIds(corpus=corpus).of, chunk.where(row), corpus=corpus, options=options)

    def dataset(self, fingerprint: str) -> datasets.Dataset:
        table = pa.concat_tables(self._parts)
        self._parts.clear()
        facts = {name: np.concatenate([part[name] for part in self._facts]) for name in self._facts[0]}
        is_repeated = np.ones(len(table), dtype=np.bool_)
        is_repeated[np.unique(facts["texts"], return_index=True)[1]] = False
        flags = {
            IDENTICAL_SIDES: facts[IDENTICAL_SIDES],
            DUPLICATE_PAIR: is_repeated,
            NOT_NFC: facts[NOT_NFC],
        }
        if np.unique(facts["item_id"]).size < len(table):  # perhaps an id repeats, which the validator will tell
            batches = table.to_batches(max_chunksize=ROWS_A_BATCH)
            for _ in Validator(self._how.corpus).checked(Item(**row) for batch in batches for row in batch.to_pylist()):
                pass
        table = table.append_column("flags", flag_column(flags, len(table)))
        is_labelled = any(label is not None for label in self._labels)
        if is_labelled:
            table = table.append_column(LABELS.name, pa.array(self._labels, pa.int32()))
        kinds = features([LABELS] if is_labelled else ())
        digest = hashlib.sha256(f"{fingerprint} {self._how}".encode()).hexdigest()
        info = datasets.DatasetInfo(features=kinds)
        return datasets.Dataset(table.cast(kinds.arrow_schema), info=info, fingerprint=digest)
