"""What a bank's files hold, for its card: in, its parquet files; out, columns, an example, lengths, who judged.

Texts of corpora that may not be published give numbers only, never an example.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.builders.schema.language_tags import joined
from pairbank.cards.bank.layout import items_path, scores_path
from pairbank.cards.bank.redistribution import TEXTS, is_left_out, may_publish, score_columns
from pairbank.stats.wording import magnitude, number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TYPES = {"double": "float64", "float": "float32"}
"""Arrow's names of types that have another one everywhere else."""
EXAMPLE_CHARACTERS = 300
"""A text of an example is cut here."""
EXAMPLE_ROWS = 256
"""The example is looked for among so many rows."""
_JUDGED = ("human_good", "human_bad", "human_scale", "human_n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Where most of some numbers lie."""

    median: float
    low: float
    """5th percentile."""
    high: float
    """95th percentile."""

    def __str__(self) -> str:
        return f"{number(self.median, digits=0)} ({number(self.low, digits=0)} to {number(self.high, digits=0)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Human judgments on one scale."""

    scale: str
    n_items: int
    raters: Spread | None
    """People an item; None where the source does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the tables of one corpus hold."""

    items: Mapping[str, str]
    """Column -> type, of the items."""
    scored: Mapping[str, str]
    """Column -> type, of a model's table; all have the same columns. Empty where no model was scored."""
    example: Mapping[str, Any] | None
    """One row of the items, with a model's scores where there are some; None where its texts stay here."""
    characters: Spread | None
    """Of a side, context and target together; None where the bank has no texts."""
    edits: Spread | None
    """Characters to insert, delete or replace to make one side of the other; None where items have one side."""
    judged: tuple[Judged, ...] = ()
    languages: tuple[str, ...] = ()
    """Of the items that are here, which may be fewer than the corpus has."""


def contents_of(root: Path, manifest: Mapping[str, Any]) -> dict[str, Contents]:
    """Return what each corpus of a bank holds."""
    return {corpus: _contents(root, corpus, manifest) for corpus in manifest["corpora"]}


def columns_in(path: Path) -> dict[str, str]:
    """Return the columns of a parquet file and their types."""
    return {field.name: type_name(field.type) for field in pq.read_schema(path)}


def type_name(kind: pa.DataType) -> str:
    """Return what a type is called on the card.

    >>> type_name(pa.float64()), type_name(pa.list_(pa.string()))
    ('float64', 'list<string>')
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    return TYPES.get(str(kind), str(kind))


def _contents(root: Path, corpus: str, manifest: Mapping[str, Any]) -> Contents:
    facts, scores = manifest["corpora"][corpus], manifest["scores"].get(corpus, {})
    path = root / items_path(corpus)
    columns = columns_in(path)
    wanted = [name for name in (*TEXTS, "language", *_JUDGED) if name in columns]
    table = pq.read_table(path, columns=wanted, partitioning=None)
    model = min(scores, default="")
    is_shown = may_publish(corpus, facts) and not is_left_out(facts)
    sides = _sides(table)
    return Contents(
        items=columns,
        scored=columns_in(root / scores_path(corpus, model)) if model else {},
        example=_example(root, corpus, manifest) if is_shown else None,
        characters=_spread([len(text) for texts in sides or () for text in texts if text is not None]),
        edits=_edits(*sides) if sides else None,
        judged=_judged(table),
        languages=tuple(sorted(set(table["language"].to_pylist()))) if "language" in columns else (),
    )


def _sides(table: pa.Table) -> tuple[list[str | None], list[str | None]] | None:
    """Return the whole strings of both sides, None where there is none; nothing where the texts are left out."""
    if not {*TEXTS, "language"} <= set(table.column_names):
        return None
    languages = table["language"].to_pylist()
    good, bad = (
        [
            None if target is None else joined(context or "", target, language)
            for context, target, language in zip(
                table[f"context_{side}"].to_pylist(), table[f"target_{side}"].to_pylist(), languages, strict=True
            )
        ]
        for side in ("good", "bad")
    )
    return good, bad


def _edits(good: list[str | None], bad: list[str | None]) -> Spread | None:
    from rapidfuzz.distance import Levenshtein

    pairs = zip(good, bad, strict=True)
    return _spread([Levenshtein.distance(a, b) for a, b in pairs if a is not None and b is not None])


def _spread(numbers: ArrayLike) -> Spread | None:
    result = np.asarray(numbers, dtype=np.float64)
    if not result.size:
        return None
    low, median, high = (float(x) for x in np.quantile(result, (0.05, 0.5, 0.95)))
    return Spread(median=median, low=low, high=high)


def _judged(table: pa.Table) -> tuple[Judged, ...]:
    if not set(_JUDGED) <= set(table.column_names):
        return ()
    frame = table.select(_JUDGED).to_pandas()
    rated = frame[frame["human_good"].notna() | frame["human_bad"].notna()]
    return tuple(
        Judged(scale=str(scale), n_items=len(rows), raters=_spread(rows["human_n"].dropna().to_numpy()))
        for scale, rows in rated.assign(human_scale=rated["human_scale"].fillna("")).groupby("human_scale")
    )


def _example(root: Path, corpus: str, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the first row that needs no care, with the scores that the first model has of it."""
    row = next(
        (row for row in _first_rows(root / items_path(corpus)) if not row.get("flags")),
        None,
    )
    if row is None:
        return None
    results = {name: _shown(value) for name, value in row.items() if value not in (None, [])}
    scores = manifest["scores"].get(corpus, {})
    if slug := min(scores, default=""):
        columns = score_columns(scores[slug]["methods"])
        same = next(
            (
                first_row
                for first_row in _first_rows(root / scores_path(corpus, slug))
                if first_row["item_id"] == row["item_id"]
            ),
            {},
        )
        results |= {name: _shown(value) for name, value in same.items() if name in columns and value not in (None, [])}
    return results


def _first_rows(path: Path) -> list[dict[str, Any]]:
    batch = next(pq.ParquetFile(path).iter_batches(batch_size=EXAMPLE_ROWS), None)
    return [] if batch is None else batch.to_pylist()


def _shown(value: Any) -> Any:  # noqa: ANN401 - a cell of any type
    """Return a cell as JSON that a reader takes in: numbers of five digits, long texts cut.

    >>> _shown([-1.23456789, float("nan")]), _shown("x" * 400)[-2:]
    ([-1.2346, None], 'x…')
    """
    if isinstance(value, float):
        return float(magnitude(value, digits=5)) if math.isfinite(value) else None
    if isinstance(value, str) and len(value) > EXAMPLE_CHARACTERS:
        return f"{value[:EXAMPLE_CHARACTERS]}…"
    if isinstance(value, list):
        return [_shown(entry) for entry in value]
    return value
