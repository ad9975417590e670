"""`import_scores`: scores computed elsewhere to `Scored` tables, one a model, beside which our own can stand.

In: a CSV, TSV, JSON-lines or parquet file, wide (one row an item and model) or long (one number a row), and what kind
of scores it has. Out: the items in the shared schema with the methods' columns, and a signature that says the numbers
are imported: the file's hash, and no revision, precision or prompt format of the model, which nobody here has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.builders.schema.columns import Task
from pairbank.builders.sources.tables import SUFFIXES, open_table
from pairbank.files import sha256_of_file
from pairbank.scoring.api.model import slug
from pairbank.scoring.api.names import TIE
from pairbank.scoring.importing.columns import Imported
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.model_table import NOT_IMPORTED, ModelTable
from pairbank.scoring.importing.profile import (
    ImportProfile,
    completed,
    imported_methods,
    load_profile,
    with_columns_mapped,
    with_scores_declared,
)
from pairbank.scoring.importing.reading import score_file
from pairbank.scoring.scored import Scored

if TYPE_CHECKING:
    import datasets


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
    table = open_table(path)
    if next(table.rows(), None) is None:
        raise ScoreImportError(f"{path}: no rows; expected a header and at least one score")
    header = list(table.columns)
    how = replace(completed(how, header), corpus=corpus or how.corpus or slug(path.stem))
    file = score_file(table, how, known=(name for names in how.numbers.values() for name in names))
    methods = imported_methods(how, file.names, header, str(path))
    tables: dict[str, ModelTable] = {}
    for name, chunk in file.chunks:
        if name not in tables:
            tables[name] = ModelTable(name, methods, how, items)
        tables[name].add(chunk)
    if len({slug(name) for name in tables}) < len(tables):
        raise ScoreImportError(f"{path}: models {', '.join(tables)} have the same file name; rename one of them")
    check_numbers(path, how, methods, [*tables.values()])
    origin = {
        "file": path.name,
        "sha256": sha256_of_file(path),
        "columns": {k: list(v) for k, v in how.columns.items()},
    }
    return [tables.pop(name).scored(origin) for name in [*tables]]


def check_numbers(path: Path, how: ImportProfile, methods: Sequence[Imported], tables: Sequence[ModelTable]) -> None:
    """Refuse a method or a model without numbers, and scores so small that statistics take them for ties."""
    for method in methods:
        checked = ", ".join(repr(column) for name in method.numbers for column in how.columns.get(name, (name,)))
        if not any(table.has_numbers(method) for table in tables):
            n_half = sum(sum(table.n_by_flag(method).values()) for table in tables)
            n_empty = sum(table.n_by_flag(method).get(NOT_IMPORTED, 0) for table in tables)
            raise ScoreImportError(
                f"{path}: no scores of {method.name} in any row ({n_empty} empty, {n_half - n_empty} half empty); "
                f"looked for them in {checked}: map the columns that hold them, or leave these out of the file"
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
