"""`import_scores`: scores computed elsewhere to `Scored` tables, one a model, beside which our own can stand.

In: a CSV, TSV, JSON-lines or parquet file, wide (one row an item and model) or long (one number a row), in nats.
Out: the items in the shared schema with the methods' columns, and a signature that says the numbers are imported:
the file's hash, and no revision, precision or prompt format of the model, which nobody here has seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pairbank.builders.corpora.tabular import SUFFIXES, TabularOptions, table_rows, tabular_item
from pairbank.builders.schema.columns import Item, Task, features
from pairbank.builders.schema.validation import Validator
from pairbank.errors import unknown_name
from pairbank.files import sha256_of_file
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method
from pairbank.scoring.api.model import slug
from pairbank.scoring.importing.profile import (
    ITEM_NAMES,
    ImportProfile,
    ScoreImportError,
    completed,
    load_profile,
    score_names,
    with_columns_mapped,
)
from pairbank.scoring.importing.rows import ImportedRow, imported_rows
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.run.store import schema_of
from pairbank.scoring.scored import Scored, with_columns
from pairbank.scoring.signature import corpus_signature

if TYPE_CHECKING:
    import datasets

NOT_IMPORTED = "not_imported"
"""Counted in the signature: items of which the file has no number of the method."""


def import_scores(
    path: str | Path,
    *,
    profile: str | ImportProfile | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
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
        items: the corpus that was scored, from `load_corpus`; the file then needs a column of `item_id`s. Without
            it the items are made from the file, which needs their sentences.
        corpus: name of the corpus; default: the profile's, else the file's name.
        model: the model of all rows, where no column says it.
        language: language of rows without a cell for it.
        task: task of rows without a cell for it.

    Raises:
        UnknownNameError: no such profile.
        ScoreImportError: a column that is missing, a cell that is no log-probability, half an answer, an item twice.
        CorpusError: sentences that are missing or not in the schema.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise ScoreImportError(f"no file {path}; expected a {', '.join(SUFFIXES)} file of scores")
    how = load_profile(profile) if isinstance(profile, str) else profile or ImportProfile()
    how = with_columns_mapped(how, columns or {}, where="columns")
    how = replace(
        how,
        model=model or how.model,
        language=language or how.language,
        task=task or how.task,
    )
    lines = list(table_rows(path))
    if not lines:
        raise ScoreImportError(f"{path}: no rows; expected a header and at least one score")
    how = replace(completed(how, lines[0][1]), corpus=corpus or how.corpus or slug(path.stem))
    rows = imported_rows(path, lines, how)
    methods = _methods(path, how, {name for row in rows for name in row.cells})
    models = list(dict.fromkeys(row.model for row in rows))
    if len({slug(name) for name in models}) < len(models):
        raise ScoreImportError(f"{path}: models {', '.join(models)} have the same file name; rename one of them")
    origin = {
        "file": path.name,
        "sha256": sha256_of_file(path),
        "columns": {k: list(v) for k, v in how.columns.items()},
    }
    return [
        _scored(name, [row for row in rows if row.model == name], methods, how, items=items, origin=origin)
        for name in models
    ]


def _methods(path: Path, how: ImportProfile, names: set[str]) -> list[Method]:
    """Return the methods that the file has numbers of, each with all its numbers."""
    chosen = []
    for method_name, method in how.methods.items():
        wanted = score_names(method)
        if names.isdisjoint(wanted):
            continue
        if missing := [name for name in wanted if name not in names]:
            raise ScoreImportError(f"{path}: {method_name} lacks {', '.join(missing)}; map them to columns")
        chosen.append(method)
    if not chosen:
        raise ScoreImportError(
            f"{path}: no scores; map columns to direct_good and direct_bad, or to prompt:presentation:option"
        )
    return chosen


def _scored(
    model: str,
    rows: Sequence[ImportedRow],
    methods: Sequence[Method],
    how: ImportProfile,
    *,
    items: datasets.Dataset | None,
    origin: Mapping[str, Any],
) -> Scored:
    """Return one model's table."""
    from pairbank.builders.dataset import manifest_of

    if items is None:
        table, manifest = _own_items(rows, how, version_=str(origin["sha256"])[:12])
    else:
        order = _places(rows, items)
        rows = [row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])]
        table, manifest = items.select(sorted(order)), manifest_of(items) or {}
    parts = {
        method.name: [pa.Table.from_pylist([_values(method, row) for row in rows], schema=schema_of(method))]
        for method in methods
    }
    signature = {
        "pairbank": version("pairbank"),
        "model": _unseen_model(model),
        "methods": {
            m.name: {
                **m.definition,
                "paper": f"imported: {how.paper or m.definition['paper']}",
                "cites": list(dict.fromkeys([*m.definition["cites"], *how.cites])),
                "columns": [*m.columns],
            }
            for m in methods
        },
        "over_length": "unknown",
        "seed": "unknown",
        "corpus": corpus_signature(table, manifest),
        "imported": dict(origin),
        "n_by_flag": {m.name: _n_missing(parts[m.name][0], m) for m in methods},
    }
    return Scored(dataset=with_columns(table, methods, parts), signature=signature)


def _n_missing(part: pa.Table, method: Method) -> dict[str, int]:
    n_missing = part[ScoreColumns(method.name).good].null_count
    return {NOT_IMPORTED: n_missing} if n_missing else {}


def _unseen_model(name: str) -> dict[str, Any]:
    """Return a signature's facts about a model that we did not run: its name, and that the rest is not known."""
    known = {"name": name, "model_id": name, "slug": slug(name), "backend": "imported"}
    unknown = ("revision", "architecture", "dtype", "quantisation", "device", "prompt_format", "bos_policy")
    return {**dict.fromkeys(unknown, "unknown"), "bos_id": None, "max_length": None, **known}


def _values(method: Method, row: ImportedRow) -> dict[str, Any]:
    """Return the columns of one method for one item; nulls where the file has no number of it."""
    names = score_names(method)
    numbers = [row.number(name) for name in names]
    if all(number is None for number in numbers):
        return dict.fromkeys(method.columns)
    if isinstance(method, Prompted):
        return _prompted_values(method, row, names, numbers)
    good, bad = numbers
    if good is None:
        raise ScoreImportError(f"{row.where}: {names[0]} is empty, {names[1]} is not; fill or empty both")
    delta = None if bad is None else good - bad
    c = ScoreColumns(method.name)
    return dict.fromkeys(method.columns) | {c.good: good, c.bad: bad, c.delta: delta, c.flags: []}


def _prompted_values(
    method: Prompted, row: ImportedRow, names: Sequence[str], numbers: Sequence[float | None]
) -> dict[str, Any]:
    """Return the columns of a prompted method; one that asks each item in one order needs the numbers of that one."""
    n_options = len(method.prompt.options)
    given = [any(x is not None for x in numbers[i : i + n_options]) for i in range(0, len(numbers), n_options)]
    asked = given if method.prompt.is_fixed_order else [True] * len(given)
    needed = [is_asked for is_asked in asked for _ in range(n_options)]
    if missing := [name for name, x, need in zip(names, numbers, needed, strict=True) if need and x is None]:
        raise ScoreImportError(f"{row.where}: {', '.join(missing)} empty, the others not; fill or empty them all")
    return method.readout([float("nan") if x is None else x for x in numbers], [], asked=asked)


def _places(rows: Sequence[ImportedRow], items: datasets.Dataset) -> list[int]:
    """Return each row's place among the items."""
    known = {item_id: place for place, item_id in enumerate(items["item_id"][:])}
    seen: dict[str, str] = {}
    for row in rows:
        item_id = row.cells.get("item_id")
        if item_id is None:
            raise ScoreImportError(f"{row.where}: no item_id; name its column (columns={{'item_id': ...}}) and fill it")
        if item_id not in known:
            error = unknown_name("item", item_id, list(known)[:1])
            raise ScoreImportError(f"{row.where}: {error}, … ({len(known)} items of {items['corpus'][0]})")
        if item_id in seen:
            raise ScoreImportError(f"{row.where}: {item_id} of {row.model} stands in {seen[item_id]} too")
        seen[item_id] = row.where
    return [known[row.cells["item_id"] or ""] for row in rows]


def _own_items(
    rows: Sequence[ImportedRow], how: ImportProfile, *, version_: str
) -> tuple[datasets.Dataset, dict[str, Any]]:
    """Return the items that the file itself describes, and the facts of the corpus that they make."""
    import datasets

    made = Validator(how.corpus).checked(_own_item(row, number, how) for number, row in enumerate(rows, 1))
    table = datasets.Dataset.from_list([item.row() for item in made], features=features())
    flags = Counter(flag for flags in table["flags"][:] for flag in flags)
    manifest = {
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
        "human": "as imported" if any(value is not None for value in table["human_good"][:]) else "",
        "n_rows": len(table),
        "n_by_subset": dict(Counter(table["subset"][:])),
        "languages": sorted(set(table["language"][:])),
        "tasks": sorted(set(table["task"][:])),
        "n_by_flag": dict(flags),
        "facts": {},
    }
    return table, manifest


def _own_item(row: ImportedRow, number: int, how: ImportProfile) -> Item:
    cells = {name: cell for name, cell in row.cells.items() if name in ITEM_NAMES}
    if not {"target_good", "target_bad"} <= cells.keys():
        raise ScoreImportError(
            f"{row.where}: no sentences; map columns to target_good and target_bad, or give the corpus (items=, "
            "--items) and a column of item_id"
        )
    options = TabularOptions(language=how.language, task=how.task)
    mapping = {name: name for name in cells if name != "item_id"}
    item = tabular_item(cells, number, row.where, slug=how.corpus, mapping=mapping, kept=(), options=options)
    return replace(item, item_id=cells.get("item_id") or f"{how.corpus}/{item.subset}/{item.pair_id or number}")
