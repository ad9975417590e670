"""`import_scores`: scores computed elsewhere to `Scored` tables, one a model, beside which our own can stand.

In: a CSV, TSV, JSON-lines or parquet file, wide (one row an item and model) or long (one number a row), and what kind
of scores it has. Out: the items in the shared schema with the methods' columns, and a signature that says the numbers
are imported: the file's hash, and no revision, precision or prompt format of the model, which nobody here has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.corpora.tabular import SUFFIXES, table_rows
from pairbank.builders.schema.columns import Task
from pairbank.errors import unknown_name
from pairbank.files import sha256_of_file
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.model import slug
from pairbank.scoring.api.names import TIE
from pairbank.scoring.importing.columns import Imported, part_table
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.items import OwnItems
from pairbank.scoring.importing.profile import (
    ImportProfile,
    completed,
    imported_methods,
    load_profile,
    with_columns_mapped,
    with_scores_declared,
)
from pairbank.scoring.importing.reading import Chunk, score_file
from pairbank.scoring.run.store import ARROW_TYPES
from pairbank.scoring.scored import Scored, with_columns
from pairbank.scoring.signature import corpus_signature

if TYPE_CHECKING:
    import datasets

    from pairbank.arrays import BoolArray, FloatArray

NOT_IMPORTED = "not_imported"
"""Counted in the signature: items of which the file has no number of the method."""


def import_scores(
    path: str | Path,
    *,
    profile: str | ImportProfile | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    scores: Mapping[str, str | Mapping[str, Any]] | None = None,
    items: datasets.Dataset | None = None,
    corpus: str | None = None,
    model: str | None = None,
    language: str | None = None,
    task: Task | None = None,
) -> list[Scored]:
    """Return scores that were computed elsewhere, one `Scored` a model, in the file's order.

    Args:
        path: CSV, TSV, JSON-lines or parquet.
        profile: a shipped profile's name, the path of one (TOML), or the profile.
        columns: our name -> the file's column(s), as in `pairbank.scoring.importing.profile`; columns that bear our
            names are found without it.
        scores: method -> what its numbers are, as in `pairbank.scoring.importing.declared`:
            `{"slor": {"kind": "score", "direction": "higher"}, "judge": "decision"}`. What is not declared is
            log-probabilities in nats.
        items: the corpus that was scored, from `load_corpus`; the file then needs a column of `item_id`s. Without
            it the items are made from the file, which needs their sentences.
        corpus: name of the corpus; default: the profile's, else the file's name.
        model: the model of all rows, where no column says it.
        language: language of rows without a cell for it.
        task: task of rows without a cell for it.

    Raises:
        UnknownNameError: no such profile.
        ScoreImportError: a column that is missing, a cell that is no such number, no numbers at all, an item twice.
        CorpusError: sentences that are missing or not in the schema.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise ScoreImportError(f"no file {path}; expected a {', '.join(SUFFIXES)} file of scores")
    how = load_profile(profile) if isinstance(profile, str) else profile or ImportProfile()
    how = with_scores_declared(how, scores or {}, where="scores")
    how = with_columns_mapped(how, columns or {}, where="columns")
    how = replace(how, model=model or how.model, language=language or how.language, task=task or how.task)
    first = next(iter(table_rows(path)), None)
    if first is None:
        raise ScoreImportError(f"{path}: no rows; expected a header and at least one score")
    header = list(first[1])
    how = replace(completed(how, header), corpus=corpus or how.corpus or slug(path.stem))
    file = score_file(path, how, header, known=(name for names in how.numbers.values() for name in names))
    methods = imported_methods(how, file.names, header, str(path))
    tables: dict[str, _ModelTable] = {}
    for name, chunk in file.chunks:
        if name not in tables:
            tables[name] = _ModelTable(name, methods, how, items)
        tables[name].add(chunk)
    if len({slug(name) for name in tables}) < len(tables):
        raise ScoreImportError(f"{path}: models {', '.join(tables)} have the same file name; rename one of them")
    _check_numbers(path, how, methods, [*tables.values()])
    origin = {
        "file": path.name,
        "sha256": sha256_of_file(path),
        "columns": {k: list(v) for k, v in how.columns.items()},
    }
    return [tables.pop(name).scored(origin) for name in [*tables]]


class _ModelTable:
    """Collects the rows of one model."""

    def __init__(
        self, model: str, methods: Sequence[Imported], how: ImportProfile, items: datasets.Dataset | None
    ) -> None:
        self.model = model
        self.methods = methods
        self.parts: dict[str, list[pa.Table]] = {method.name: [] for method in methods}
        self._how = how
        self._own = OwnItems(how) if items is None else None
        self._theirs = None if items is None else _TheirItems(items)

    def add(self, chunk: Chunk) -> None:
        """Add some rows."""
        two_sided: BoolArray = np.ones(len(chunk), dtype=np.bool_)
        if self._theirs is not None:
            two_sided = self._theirs.add(chunk, self.model)
        if self._own is not None:
            self._own.add(chunk)
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
        found = {row["values"]: row["counts"] for row in pc.value_counts(pc.list_flatten(flags)).to_pylist()}
        return found | ({NOT_IMPORTED: flags.null_count} if flags.null_count else {})

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
        return np.abs(np.concatenate([np.empty(0), *(delta.drop_null().to_numpy() for delta in deltas)]))

    def scored(self, origin: Mapping[str, Any]) -> Scored:
        """Return the table, and forget its parts."""
        how = self._how
        n_by_flag = {method.name: self.n_by_flag(method) for method in self.methods}
        parts = {name: pa.concat_tables(tables) for name, tables in self.parts.items()}
        self.parts.clear()
        if self._own is not None:
            table = self._own.dataset(f"{origin['sha256']} {self.model}")
            manifest = _manifest_of(table, how, version_=str(origin["sha256"])[:12])
        elif self._theirs is not None:
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
        return Scored(dataset=with_columns(table, self.methods, shards), signature=signature)


class _TheirItems:
    """Finds the rows of one model among the items of a corpus that pairbank has."""

    def __init__(self, items: datasets.Dataset) -> None:
        self._items = items
        table = items.with_format("arrow").select_columns(["item_id", "target_bad"])[:]
        self._known = {item_id: place for place, item_id in enumerate(table["item_id"].to_pylist())}
        self._is_two_sided = table["target_bad"].is_valid().to_numpy()
        self._places: list[int] = []
        self._seen: dict[int, str] = {}

    def add(self, chunk: Chunk, model: str) -> BoolArray:
        """Add some rows; return which of their items have a worse side."""
        places = []
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
            self._seen[place] = where
            places.append(place)
        self._places += places
        found: BoolArray = self._is_two_sided[places]
        return found

    def found(self) -> tuple[np.ndarray, datasets.Dataset, dict[str, Any]]:
        """Return the rows in the items' order, the items, and the facts of their corpus."""
        from pairbank.builders.dataset import manifest_of

        order = np.argsort(self._places, kind="stable")
        return order, self._items.select(sorted(self._places)), manifest_of(self._items) or {}


def _check_numbers(path: Path, how: ImportProfile, methods: Sequence[Imported], tables: Sequence[_ModelTable]) -> None:
    """Refuse a method or a model without numbers, and scores so small that statistics take them for ties."""
    for method in methods:
        looked = ", ".join(repr(column) for name in method.numbers for column in how.columns.get(name, (name,)))
        if not any(table.has_numbers(method) for table in tables):
            n_half = sum(sum(table.n_by_flag(method).values()) for table in tables)
            n_empty = sum(table.n_by_flag(method).get(NOT_IMPORTED, 0) for table in tables)
            raise ScoreImportError(
                f"{path}: no scores of {method.name} in any row ({n_empty} empty, {n_half - n_empty} half empty); "
                f"looked for them in {looked}: map the columns that hold them, or leave these out of the file"
            )
        differences = np.concatenate([table.differences(method) for table in tables])
        n_small, n_differing = int(((differences > 0) & (differences <= TIE)).sum()), int((differences > 0).sum())
        if 2 * n_small > n_differing:
            raise ScoreImportError(
                f"{path}: {n_small} of {n_differing} differences of {method.name} are no larger than {TIE:g}, which "
                "statistics take for a tie; are these probabilities? Give their logarithms"
            )
    for table in tables:
        if not any(table.has_numbers(method) for method in methods):
            names = ", ".join(method.name for method in methods)
            raise ScoreImportError(f"{path}: no scores of {table.model} in any row of {names}; leave its rows out")


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
            "revision": "",
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
