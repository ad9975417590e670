"""A file of scores to rows: in, a wide or long file and its profile; out, one row an item and model.

Wide: a line holds all numbers of one item by one model. Long (the profile maps `value`): a line holds one number,
and the lines of one model and item are put together; the item's own cells are those of its first line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairbank.scoring.importing.profile import ITEM_NAMES, ImportProfile, ScoreImportError, score_names

NULLS = ("", "NA", "NaN", "nan", "None", "null")
ROUNDING_NATS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRow:
    """One item as one model scored it: our name -> its cell."""

    where: str
    model: str
    cells: Mapping[str, str | None]

    def number(self, name: str) -> float | None:
        """Return a log-probability, None for an empty cell."""
        cell = self.cells.get(name)
        if cell is None:
            return None
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value > ROUNDING_NATS:
            raise ScoreImportError(
                f"{self.where}: {name} is {cell!r}, expected a log-probability in nats (finite, at most 0; "
                "a surprisal needs its sign changed)"
            )
        return value


def imported_rows(path: Path, lines: Sequence[tuple[int, Mapping[str, Any]]], how: ImportProfile) -> list[ImportedRow]:
    """Return one row an item and model, in the file's order.

    Args:
        path: the file, for messages.
        lines: its lines, as (number, column -> cell).
        how: what its columns are.

    Raises:
        ScoreImportError: a column that is missing, a line without a model, a number given twice or of no method.
    """
    return list(_long(path, lines, how) if "value" in how.columns else _wide(path, lines, how))


def _wide(path: Path, lines: Sequence[tuple[int, Mapping[str, Any]]], how: ImportProfile) -> Iterator[ImportedRow]:
    _check_columns(path, lines[0][1], how, how.columns)
    for number, line in lines:
        cells = {name: _first(line, found) for name, found in how.columns.items()}
        yield _row(f"{path}, row {number}", cells, how)


def _long(path: Path, lines: Sequence[tuple[int, Mapping[str, Any]]], how: ImportProfile) -> Iterator[ImportedRow]:
    """Yield wide rows from a file with one number a row: those of one model and item are put together."""
    kept = {name: found for name, found in how.columns.items() if name in (*ITEM_NAMES, "model", "score", "value")}
    _check_columns(path, lines[0][1], how, kept)
    if "score" not in kept or not {"item_id", "pair_id"} & kept.keys():
        raise ScoreImportError(f"{path}: a long file (with 'value') needs columns for score and for item_id or pair_id")
    names = {cell: name for name, found in how.columns.items() if name not in kept for cell in found}
    known = {name for method in how.methods.values() for name in score_names(method)}
    wide: dict[tuple[str | None, ...], dict[str, str | None]] = {}
    first: dict[tuple[str | None, ...], int] = {}
    for number, line in lines:
        cells = {name: _first(line, found) for name, found in kept.items() if name not in ("score", "value")}
        key = tuple(cells.get(name) for name in ("model", "subset", "item_id", "pair_id"))
        said = ":".join(str(line.get(column)) for column in kept["score"])
        name = names.get(said, said)
        if name not in known:
            raise ScoreImportError(
                f"{path}, row {number}: score is {said!r}, which is no number of a method; name it: "
                f"columns={{'direct_good': {said!r}}} or {{'prompt:presentation:option': {said!r}}}"
            )
        row = wide.setdefault(key, cells)
        if name in row:
            raise ScoreImportError(f"{path}, row {number}: {said} of this item stands in an earlier row too")
        row[name] = _first(line, kept["value"])
        first.setdefault(key, number)
    yield from (_row(f"{path}, row {first[key]}", cells, how) for key, cells in wide.items())


def _check_columns(
    path: Path, header: Iterable[str], how: ImportProfile, columns: Mapping[str, tuple[str, ...]]
) -> None:
    names = list(header)
    if missing := [
        f"{column!r} for {name}" for name, found in columns.items() for column in found if column not in names
    ]:
        raise ScoreImportError(f"{path}: no column {', '.join(missing)}; found {', '.join(names)}")
    if not how.model and "model" not in columns:
        raise ScoreImportError(f"{path}: which model? name its column (columns={{'model': ...}}) or the model (model=)")


def _first(line: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Return the first cell that is not empty."""
    texts = (str(line[column]) for column in columns if line.get(column) is not None)
    return next((text for text in texts if text not in NULLS), None)


def _row(where: str, cells: Mapping[str, str | None], how: ImportProfile) -> ImportedRow:
    model = cells.get("model") or how.model
    if not model:
        raise ScoreImportError(f"{where}: no model; fill the cell")
    return ImportedRow(where=where, model=model, cells=cells)
