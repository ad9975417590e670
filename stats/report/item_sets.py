"""Items of several models: ids that pair them by their texts, and what a reader must know where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.stats.scored_table.method_scores import ScoredFrame

if TYPE_CHECKING:
    from pairbank.arrays import IntArray
    from pairbank.scoring.scored import Scored

TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
MOST_NAMED = 6
"""Models with the same items that are named; the others are counted."""
HOW_COMPARED = (
    "The tables of accuracy and agreement, and means over models, are on each model's own items (column n). "
    "Comparisons of models are on common items: those of both in `comparisons`, those of all in `introspection` and in "
    "partial correlations."
)


def ids_by_text(tables: Sequence[Scored]) -> tuple[dict[int, list[str]], tuple[str, ...]]:
    """Return ids that pair items by their texts, of the tables whose own ids do not, and notes for a report's head."""
    results: dict[int, list[str]] = {}
    notes = []
    for corpus in dict.fromkeys(table.corpus for table in tables):
        places = [place for place, table in enumerate(tables) if table.corpus == corpus]
        if len({tables[place].signature["corpus"]["items_sha256"] for place in places}) < 2:
            continue
        without = [tables[place].model for place in places if not {*TEXTS} <= {*tables[place].column_names}]
        if without:
            notes.append(
                f"**Items of {html_as_text(corpus)} are paired by their ids**: the tables are of different items, and "
                f"{_named(without)} without texts to compare."
            )
            continue
        own = [_Own.of(tables[place]) for place in places]
        if _ids_agree(own):
            continue
        ids = _paired(own, corpus)
        results |= dict(zip(places, ids, strict=True))
        notes.append(
            f"**Items of {html_as_text(corpus)} are paired by their texts**: "
            f"{_named([table.model for table in own])} do not have the same texts under the same item ids."
        )
    return results, tuple(notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """Ids and hashes of the texts of one table, in its rows' order."""

    model: str
    ids: list[str]
    texts: list[int]

    @classmethod
    def of(cls, table: Scored) -> _Own:
        columns = table.arrow(["item_id", *TEXTS])
        rows = zip(*(columns[name].to_pylist() for name in TEXTS), strict=True)
        return cls(model=table.model, ids=columns["item_id"].to_pylist(), texts=[hash(row) for row in rows])


def _ids_agree(tables: Sequence[_Own]) -> bool:
    """Return whether equal ids have equal texts, and equal texts are not all under other ids."""
    known: dict[str, int] = {}
    for table in tables:
        if any(known.setdefault(item_id, text) != text for item_id, text in zip(table.ids, table.texts, strict=True)):
            return False
    first = tables[0]
    return all({*first.ids} & {*table.ids} or not {*first.texts} & {*table.texts} for table in tables[1:])


def _paired(tables: Sequence[_Own], corpus: str) -> list[list[str]]:
    """Return ids of each table's rows: those of the first table that has the text, the nth of a text with the nth."""
    first = tables[0]
    ids: dict[tuple[int, int], str] = {}
    used: set[str] = set()
    results = []
    for table in tables:
        if not {*table.texts} & {*first.texts}:
            raise BankError(
                f"corpus {corpus!r}: the tables of {first.model} and {table.model} have no text in common, yet the "
                "same item ids; they are of different items: give the corpus of one another name (--corpus of "
                "`import`, or the file's name), or report on them separately"
            )
        n_of_text: Counter[int] = Counter()
        row_ids = []
        for item_id, text in zip(table.ids, table.texts, strict=True):
            key = (text, n_of_text[text])
            n_of_text[text] += 1
            if key not in ids:
                ids[key] = item_id if item_id not in used else f"{item_id} ({table.model})"
                used.add(ids[key])
            row_ids.append(ids[key])
        results.append(row_ids)
    return results


def item_set_notes(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return what a reader must know of models that have different items; nothing where all have the same."""
    notes = [text for corpus in dict.fromkeys(table.corpus for table in tables) for text in _of_corpus(corpus, tables)]
    return (*notes, HOW_COMPARED) if notes else ()


def _of_corpus(corpus: str, tables: Sequence[ScoredFrame]) -> Iterator[str]:
    of_corpus = [table for table in tables if table.corpus == corpus]
    if len(of_corpus) < 2:
        return
    known = pa.array([], pa.large_string())
    scored: dict[str, dict[bytes, tuple[IntArray, list[str]]]] = {}
    for table in of_corpus:
        column = pa.array(table.part(["item_id"])["item_id"], pa.large_string(), from_pandas=True)
        ids = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if ids.equals(known) or not len(known):  # the rule: a million Python strings less
            known, codes = ids, np.arange(len(ids))
        else:
            known = pa.concat_arrays([known, ids.filter(pc.invert(pc.is_in(ids, known)))])
            codes = pc.index_in(ids, known).to_numpy(zero_copy_only=False).astype(np.int64)
        for method in dict.fromkeys(layout.method for layout in table.layouts):
            columns = ScoreColumns(method)  # items with a difference, or a score of their one side
            items = np.sort(codes[table.part([columns.delta, columns.good]).notna().any(axis=1).to_numpy()])
            if items.size:
                sets = scored.setdefault(method, {})
                sets.setdefault(sha256(items.tobytes()).digest(), (items, []))[1].append(table.model)
    texts: dict[str, list[str]] = {}
    for method, sets in scored.items():
        if len(sets) > 1:
            common = reduce(np.intersect1d, [items for items, _ in sets.values()])
            counts = "; ".join(f"{_named(models)} {items.size:,}" for items, models in sets.values())
            texts.setdefault(f"{counts}; {common.size:,} in common", []).append(f"`{html_as_text(method)}`")
    for text, methods in texts.items():
        yield f"**The models have different items of {html_as_text(corpus)}** ({', '.join(methods)}): {text}."


def _named(models: Sequence[str]) -> str:
    names = [f"`{html_as_text(model)}`" for model in models]
    more = len(names) - MOST_NAMED
    return ", ".join(names if more <= 1 else [*names[:MOST_NAMED], f"{more} more"])
