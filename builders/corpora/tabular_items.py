"""One row of a user's table to an item: in, cells and what the columns are; out, an `Item`, or why there is none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from pairbank.builders.corpora.cells import SIDES, check_on_scale, count_in, label_in, number_in, sentence_in
from pairbank.builders.corpora.column_map import ColumnMap, ShapedRow
from pairbank.builders.corpora.marks import MarkedRowError, Marks, is_turned, mark_before
from pairbank.builders.schema.columns import COLUMNS, TASKS, Item, Scalar, Task
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.schema.unseen import tidied
from pairbank.builders.sources.tables import Table
from pairbank.errors import CorpusError, UnknownNameError, unknown_name
from pairbank.files import sha256_of_text

if TYPE_CHECKING:
    from pairbank.builders.corpora.maps import OwnMap

DEFAULT_LANGUAGE = "en"
STRIPPED = "repaired:mark"
"""Flag: a linguist's mark before a sentence (*, ??) was taken off, as the user asked."""
N_HEX = 12
"""Hexadecimal digits of an id: the chance that two of a million texts share them is 0.2%."""
SENTENCES = ("context_good", "target_good", "context_bad", "target_bad")
RATINGS = ("human_good", "human_bad")
LABEL = "label"
"""The corpus's column of labels, 1 = acceptable."""
IdOf = Callable[[str, tuple[str | None, ...]], str]
"""Subset and texts of an item -> its id."""

_NOTHING: Mapping[str, Any] = {}

TIDIED = "repaired:tidy"
"""Flag: a text was made uniform because the user asked for it."""


class OwnOptions(TypedDict, total=False):
    """Keyword options of `load_corpus` for items of your own."""

    corpus: str
    """Name of the corpus that items in memory make; default: `items`."""
    columns: Mapping[str, str] | None
    """Schema column -> your column, where the names do not say it: `{"target_good": "Satz A"}`."""
    task: Task | None
    """Of rows without a `task` cell; default: continuation_pair with a context, else sentence_pair."""
    encoding: str | None
    """Of a text file that is neither UTF-8 nor has a byte-order mark."""
    marks: Marks
    """What to do with a linguist's mark (*, ??) before a sentence: `refuse` the row, `strip` it and flag the row (a row
    whose better side alone has one is refused), `keep` and score it, or let it `decide`: in each row the side with the
    mark is the worse one."""
    tidy: bool
    """Whether all texts get composed accents, plain quotes and single spaces, and lose entities, invisible characters
    and mojibake; changed rows are flagged `repaired:tidy`."""
    map_file: str | Path | None
    """A TOML file that says how the columns make items (docs/column-maps.md); default: `<name>.map.toml` or `map.toml`
    beside the file, where there is one."""
    header: Sequence[str]
    """Names of the columns of a file that has no header line: `("good", "bad")`."""
    fixed: Mapping[str, str] | None
    """Schema column -> what all rows have in it: `{"human_scale": "likert7"}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabularOptions:
    """How a user's file is read: `OwnOptions`, each with a value, and what follows from the file and its map."""

    columns: Mapping[str, str] = field(default_factory=dict)
    language: str | None = None
    """Of rows without a `language` cell; None = English, which is then said."""
    task: Task | None = None
    encoding: str | None = None
    marks: Marks = "keep"
    map: OwnMap | None = None
    header: Sequence[str] = ()
    tidy: bool = False
    fixed: Mapping[str, str] = field(default_factory=dict)
    table: Table | None = None
    """The file's table, where it is results of a program (`results`)."""


_NO_OPTIONS = TabularOptions()
_NO_MAP = ColumnMap()


def tidy_item(item: Item) -> Item:
    texts = {name: getattr(item, name) for name in SENTENCES}
    tidy: dict[str, Any] = {name: text if text is None else tidied(text) for name, text in texts.items()}
    return item if tidy == texts else replace(item, **tidy, flags=(*item.flags, TIDIED))


class BadRows:
    """Collects the rows of a file that cannot be accepted: the first in full, then their number."""

    def __init__(self, path: Path, *, shown: int = 20) -> None:
        self._path, self._shown = path, shown
        self._first: list[str] = []
        self._n_noted = self._n_bad = 0

    def note(self, error: CorpusError, *, n_rows: int = 1) -> None:
        self._n_noted += 1
        self._n_bad += n_rows
        if len(self._first) < self._shown:
            self._first.append(str(error))

    def raise_if_any(self, faults: Iterable[CorpusError] = ()) -> None:
        """Raise all faults as one, those of the file as a whole after those of its rows."""
        for fault in faults:
            self.note(fault)
        if self._n_noted == 1:
            raise CorpusError(self._first[0])
        if self._n_noted:
            lines = "".join(f"\n  {text.removeprefix(f'{self._path}, ')}" for text in self._first)
            n_more = self._n_noted - len(self._first)
            more = f"\n  ... and {n_more} more" if n_more else ""
            raise CorpusError(
                f"{self._path}: {self._n_bad} rows cannot be accepted; correct them and build again:{lines}{more}"
            )


def check_options(options: TabularOptions) -> None:
    """Refuse a task or treatment of marks that there is not, and a side that all rows would share."""
    if options.task is not None and options.task not in TASKS:
        raise unknown_name("task", options.task, TASKS)
    if options.marks not in get_args(Marks):
        raise unknown_name("treatment of marks", options.marks, get_args(Marks))
    fixable = [column.name for column in COLUMNS if column.name not in ("item_id", "corpus", *SIDES)]
    for name in options.fixed:
        if name not in fixable:
            raise unknown_name("schema column that can be fixed", name, fixable)


@dataclass(slots=True, kw_only=True)
class TextIds:
    """Makes item ids from the items' texts, so that the same item has the same id whatever row it is in.

    >>> ids = TextIds(corpus="mine")
    >>> [ids.of("all", texts) for texts in (("", "a", "", "b"), ("", "c", None, None), ("", "a", "", "b"))]
    ['mine/all/4e67b6267053', 'mine/all/b72b2dd6d118', 'mine/all/4e67b6267053-2']
    """

    corpus: str
    _n: Counter[str] = field(default_factory=Counter)

    def of(self, subset: str, texts: tuple[str | None, ...]) -> str:
        """Return the id of the next item; items of the same texts are numbered in the order of their rows."""
        digest = sha256_of_text(json.dumps(texts, ensure_ascii=False))[:N_HEX]
        item_id = f"{self.corpus}/{subset}/{digest}"
        self._n[item_id] += 1
        return item_id if self._n[item_id] == 1 else f"{item_id}-{self._n[item_id]}"


def mapped_item(
    shaped: ShapedRow,
    ids: IdOf,
    where: str,
    *,
    corpus: str,
    column_map: ColumnMap = _NO_MAP,
    extra: Mapping[str, Scalar] = _NOTHING,
    options: TabularOptions = _NO_OPTIONS,
) -> Item:
    cells = shaped.cells
    names = column_map.columns if column_map.inferred else {}
    named = {name: name for name in cells} | dict(names)
    texts = {
        name: (sentence_in if name in SENTENCES else label_in)(cell, where, named[name]) for name, cell in cells.items()
    }
    texts |= options.fixed
    for name in SIDES:
        if name in cells and not (texts[name] or "").strip():
            raise CorpusError(f"{where}: column {named[name]!r} is empty; expected a sentence: fill or delete the row")
    one_sided = "target_bad" not in cells
    flags = _without_marks(texts, where, options.marks, one_sided=one_sided)
    context = texts.get("context_good") or ""
    subset = texts.get("subset") or "all"
    ratings = {
        name: number_in(texts.get(name), where, named.get(name, name), with_commas=column_map.with_commas)
        for name in RATINGS
    }
    for name, value in ratings.items():
        check_on_scale(value, texts.get("human_scale"), where, named.get(name, name))
    is_rated = any(value is not None for value in ratings.values())
    usual_task = "sentence" if one_sided else "continuation_pair" if context else "sentence_pair"
    context_bad = texts["context_bad"] if texts.get("context_bad") is not None else None if one_sided else context
    task = texts.get("task") or options.task or usual_task
    if task not in TASKS:
        raise CorpusError(f"{where}: {unknown_name('task', task, TASKS)}")
    try:
        language = language_tag(texts.get("language") or options.language or DEFAULT_LANGUAGE)
    except UnknownNameError as error:
        raise CorpusError(f"{where}: {error}") from error
    return Item(
        item_id=ids(subset, (context, texts["target_good"] or "", context_bad, texts.get("target_bad"))),
        corpus=corpus,
        subset=subset,
        language=language,
        task=task,
        context_good=context,
        target_good=texts["target_good"] or "",
        context_bad=context_bad,
        target_bad=texts.get("target_bad"),
        phenomenon=texts.get("phenomenon"),
        paradigm=texts.get("paradigm"),
        human_good=ratings["human_good"],
        human_bad=ratings["human_bad"],
        human_scale=texts.get("human_scale") or ("unstated" if is_rated else None),
        human_n=count_in(texts.get("human_n"), where, named.get("human_n", "human_n")),
        pair_id=texts.get("pair_id"),
        flags=(*flags, *shaped.flags),
        extra=extra if shaped.label is None else {LABEL: shaped.label, **extra},
    )


def _without_marks(cells: dict[str, str | None], where: str, marks: Marks, *, one_sided: bool) -> tuple[str, ...]:
    """Take marks off both sides in place, or exchange the sides where marks decide; return the flag that says so."""
    results = {name: mark for name in SIDES if (mark := mark_before(cells.get(name) or ""))}
    if marks == "keep" or not (results or marks == "decide"):
        return ()
    refused = marks == "refuse" or (marks == "strip" and not one_sided and is_turned(results))
    if refused or (marks == "decide" and len(results) != 1):
        raise MarkedRowError(where, results)
    for name, mark in results.items():
        cells[name] = (cells[name] or "")[len(mark) :]
    if marks == "decide" and "target_good" in results:
        stems = ["target", *(["context"] if "context_bad" in cells else []), "human"]
        for good, bad in ((f"{stem}_good", f"{stem}_bad") for stem in stems):
            if good in cells or bad in cells:
                cells[good], cells[bad] = cells.get(bad), cells.get(good)
    return (STRIPPED,)
