"""The items that a file of scores describes itself: in, columns of texts; out, a table in the shared schema.

The same items, flags and messages as row by row through `tabular_item` and `Validator`, but made by column, some rows
at a time: only a table that breaks the schema goes through the validator, whose message names its rows.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pairbank.builders.corpora.cells import check_on_scale, count_in, number_in
from pairbank.builders.corpora.corpus_map import LABELS
from pairbank.builders.corpora.tabular_items import SENTENCES, TabularOptions, TextIds, tabular_item
from pairbank.builders.schema.columns import (
    COLUMNS,
    DUPLICATE_PAIR,
    IDENTICAL_SIDES,
    NOT_NFC,
    ONE_SIDED_TASKS,
    TASKS,
    Item,
)
from pairbank.builders.schema.features import features
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.schema.validation import Validator, same_text
from pairbank.builders.sources.tables import ROWS_A_BATCH
from pairbank.errors import CorpusError, UnknownNameError
from pairbank.scoring.importing.columns import flag_column
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.profile import ITEM_NAMES

if TYPE_CHECKING:
    import datasets

    from pairbank.arrays import BoolArray, IntArray
    from pairbank.scoring.importing.profile import ImportProfile
    from pairbank.scoring.importing.reading import Cells, Chunk

_NUMBERS_IN: Mapping[str, Callable[[str | None, str, str], float | None]] = {
    "human_good": number_in,
    "human_bad": number_in,
    "human_n": count_in,
}
_NUMBERS = {"human_good": pa.float64(), "human_bad": pa.float64(), "human_n": pa.int64()}


class OwnItems:
    """Collects the items of one model's rows."""

    def __init__(self, how: ImportProfile) -> None:
        self._how = how
        self._ids_by_text = TextIds(corpus=how.corpus)
        self._parts: list[pa.Table] = []
        self._ids: list[IntArray] = []
        self._pairs: list[IntArray] = []
        self._identical: list[BoolArray] = []
        self._not_nfc: list[BoolArray] = []
        self._labels: list[int | None] = []
        """Whether each item is acceptable, 1 or 0, where a reader says so."""

    def add(self, chunk: Chunk) -> BoolArray:
        """Add the items of some rows; return which of them have a worse side.

        Raises:
            ScoreImportError: the file has no sentences.
            CorpusError: a sentence that is missing, or a rating that is no number.
        """
        needed = ("target_good",) if self._how.task in ONE_SIDED_TASKS else ("target_good", "target_bad")
        if not chunk.cells.keys() >= {*needed}:
            raise ScoreImportError(
                f"{chunk.where(0)}: no sentences; map columns to {' and '.join(needed)}, or give the corpus "
                "(items=, --items) and a column of item_id"
            )
        columns = self._columns(chunk)
        pairs = list(zip(*(columns[name] for name in SENTENCES), strict=True))
        self._pairs.append(np.array([hash(texts) for texts in pairs], dtype=np.int64))
        self._ids.append(np.array([hash(item_id) for item_id in columns["item_id"]], dtype=np.int64))
        self._identical.append(np.array([same_text(texts[:2], texts[2:]) for texts in pairs], dtype=np.bool_))
        self._not_nfc.append(
            np.array([not all(_is_nfc(text or "") for text in texts) for texts in pairs], dtype=np.bool_)
        )
        kinds = {column.name: _NUMBERS.get(column.name, pa.string()) for column in COLUMNS}
        table = pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
        self._parts.append(table)
        self._labels += [None if label is None else int(label) for label in chunk.column(LABELS.name)]
        two_sided: BoolArray = table["target_bad"].is_valid().to_numpy()
        return two_sided

    def _columns(self, chunk: Chunk) -> dict[str, Cells]:
        """Return the schema's columns for some rows."""
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
        """Return ids: the file's, else by subset, paradigm and pair id, else by the texts."""
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
        """Return the language of each row as a standard tag."""
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
        return tabular_item(cells, TextIds(corpus=corpus).of, chunk.where(row), corpus=corpus, options=options)

    def dataset(self, fingerprint: str) -> datasets.Dataset:
        """Return the items, and forget them.

        Args:
            fingerprint: of the file and what was read of it.

        Raises:
            CorpusError: an id that repeats, or a cell that breaks the schema; lists every problem.
        """
        import datasets

        table = pa.concat_tables(self._parts)
        self._parts.clear()
        pairs, ids = np.concatenate(self._pairs), np.concatenate(self._ids)
        first = np.zeros(pairs.size, dtype=np.bool_)
        first[np.unique(pairs, return_index=True)[1]] = True
        flags = {
            IDENTICAL_SIDES: np.concatenate(self._identical),
            DUPLICATE_PAIR: ~first,
            NOT_NFC: np.concatenate(self._not_nfc),
        }
        if np.unique(ids).size < ids.size:  # perhaps an id repeats, which the validator will tell
            for _ in Validator(self._how.corpus).checked(_items(table)):
                pass
        table = table.append_column("flags", flag_column(flags, pairs.size))
        is_labelled = any(label is not None for label in self._labels)
        if is_labelled:
            table = table.append_column(LABELS.name, pa.array(self._labels, pa.int32()))
        kinds = features([LABELS] if is_labelled else ())
        digest = hashlib.sha256(f"{fingerprint} {self._how}".encode()).hexdigest()
        info = datasets.DatasetInfo(features=kinds)
        return datasets.Dataset(table.cast(kinds.arrow_schema), info=info, fingerprint=digest)


def _is_nfc(text: str) -> bool:
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def _items(table: pa.Table) -> Iterator[Item]:
    for batch in table.to_batches(max_chunksize=ROWS_A_BATCH):
        for row in batch.to_pylist():
            yield Item(**row)
