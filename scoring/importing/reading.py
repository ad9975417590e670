"""A file of scores to columns: in, a wide or long file and its profile; out, some rows of one model at a time.

Long (the profile maps `value`): a line holds one number, and the lines of one model and item are put together; the
item's own cells are those of its first line. A wide file is never held in memory whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pairbank.builders.sources.tables import ROWS_A_BATCH, Table
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.method import Chunk
from pairbank.scoring.importing.profile import ITEM_NAMES, ImportProfile

NULLS = frozenset(["", "NA", "NaN", "nan", "None", "null"])
Line = tuple[int, Mapping[str, Any]]


def score_file(
    table: Table, how: ImportProfile, known: Iterable[str]
) -> tuple[frozenset[str], Iterator[tuple[str, Chunk]]]:
    if "value" not in how.columns:
        _check_columns(table, how, how.columns)
        rows = table.rows()
        batches = iter(lambda: list(itertools.islice(rows, ROWS_A_BATCH)), [])
        return frozenset(how.columns), _by_model((_chunk(table.path, batch, how.columns) for batch in batches), how)
    chunk = _long(table, how, frozenset(known))
    starts = range(0, len(chunk), ROWS_A_BATCH)
    parts = (chunk.some(range(start, min(start + ROWS_A_BATCH, len(chunk)))) for start in starts)
    return frozenset(chunk.cells), _by_model(parts, how)


def _chunk(path: Path, lines: Sequence[Line], columns: Mapping[str, tuple[str, ...]]) -> Chunk:
    rows = [row for _, row in lines]
    cells = {
        name: [_text(row.get(result[0])) for row in rows] if len(result) == 1 else [_first(row, result) for row in rows]
        for name, result in columns.items()
    }
    return Chunk(path=path, lines=[number for number, _ in lines], cells=cells)


def _by_model(chunks: Iterable[Chunk], how: ImportProfile) -> Iterator[tuple[str, Chunk]]:
    for chunk in chunks:
        models = [how.models.get(cell, cell) if cell else how.model for cell in chunk.column("model")]
        if "" in models:
            raise ScoreImportError(f"{chunk.where(models.index(''))}: no model; fill the cell")
        names = dict.fromkeys(models)
        for name in names:
            rows = [row for row, model in enumerate(models) if model == name]
            yield name, chunk if len(names) == 1 else chunk.some(rows)


def _long(table: Table, how: ImportProfile, known: frozenset[str]) -> Chunk:
    """Return wide rows from a file with one number a row: those of one model and item are put together."""
    path = table.path
    kept = {name: result for name, result in how.columns.items() if name in (*ITEM_NAMES, "model", "score", "value")}
    _check_columns(table, how, kept)
    if "score" not in kept or not {"item_id", "pair_id"} & kept.keys():
        raise ScoreImportError(f"{path}: a long file (with 'value') needs columns for score and for item_id or pair_id")
    names = {cell: name for name, results in how.columns.items() if name not in kept for cell in results}
    items = {name: columns for name, columns in kept.items() if name not in ("score", "value")}
    rows: dict[tuple[str | None, ...], dict[str, str | None]] = {}
    lines = []
    for number, line in table.rows():
        text = ":".join(str(line.get(column)) for column in kept["score"])
        name = names.get(text, text)
        if name not in known:
            raise ScoreImportError(
                f"{path}, row {number}: score is {text!r}, which is no number of a method; name it: "
                f"columns={{'direct_good': {text!r}}} or {{'prompt:presentation:option': {text!r}}}"
            )
        key = tuple(_first(line, kept.get(column, ())) for column in ("model", "subset", "item_id", "pair_id"))
        if key not in rows:
            lines.append(number)
            rows[key] = {column: _first(line, columns) for column, columns in items.items()}
        if name in rows[key]:
            raise ScoreImportError(f"{path}, row {number}: {text} of this item is in an earlier row too")
        rows[key][name] = _first(line, kept["value"])
    filled = [*items, *dict.fromkeys(name for row in rows.values() for name in row)]
    return Chunk(path=path, lines=lines, cells={name: [row.get(name) for row in rows.values()] for name in filled})


def _check_columns(table: Table, how: ImportProfile, columns: Mapping[str, tuple[str, ...]]) -> None:
    path, header = table.path, table.columns
    if missing := [
        f"{column!r} for {name}" for name, result in columns.items() for column in result if column not in header
    ]:
        raise ScoreImportError(f"{path}: no column {', '.join(missing)}; found {', '.join(header)}")
    if not how.model and "model" not in columns:
        raise ScoreImportError(f"{path}: which model? name its column (columns={{'model': ...}}) or the model (model=)")


def _text(cell: object) -> str | None:
    text = cell if isinstance(cell, str) else str(cell)
    return None if text in NULLS else text


def _first(line: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    return next((text for column in columns if (text := _text(line.get(column))) is not None), None)
