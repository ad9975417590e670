"""Whether rows keep to the shared schema: in, items; out, everything that is wrong with them, each with its remedy.

Items of public corpora that are known to be faulty (`data/errata.toml`) get a flag, in any corpus that the list names.
Nothing is left out; reports give accuracies with and without them.
"""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

from pairbank.builders.schema.columns import (
    COLUMNS,
    DUPLICATE_PAIR,
    IDENTICAL_SIDES,
    KNOWN_ERROR,
    NOT_NFC,
    ONE_SIDED_TASKS,
    TASKS,
    Column,
    ColumnType,
    Item,
    Scalar,
)
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.schema.unseen import REVERSED_PAIR, flags_of
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError, UnknownNameError
from pairbank.files import sha256_of_text

WHOLE_SENTENCES = ("sentence", "sentence_pair")
_NUMBER = re.compile(r"[\s.,:;+%−/-]*\d[\s\d.,:;+%−/-]*")

_Found = tuple[str, object, str]

_FILE = "errata.toml"
_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    item_id: str
    field: str
    got: str
    expected: str

    def __str__(self) -> str:
        return f"{self.item_id}: {self.field} is {self.got}, expected {self.expected}"


def problems_of(item: Item, extra: Sequence[Column] = ()) -> Iterator[Problem]:
    """Yield everything wrong with one item by itself (uniqueness is `Validator`'s business)."""
    shared = {column.name: getattr(item, column.name) for column in COLUMNS}
    of_extra = _type_problems(extra, item.extra)
    for name, got, expected in (*_type_problems(COLUMNS, shared), *_content_problems(item), *of_extra):
        yield Problem(item_id=str(item.item_id or "(no id)"), field=name, got=repr(got), expected=expected)


def _type_problems(columns: Sequence[Column], values: Mapping[str, Scalar]) -> Iterator[_Found]:
    for name in sorted(values.keys() ^ {column.name for column in columns}):
        yield name, "present" if name in values else "absent", "exactly the declared extra columns"
    for column in columns:
        value = values.get(column.name)
        if value is None and column.name in values and not column.nullable:
            yield column.name, None, "a value"
        elif value is not None and not _fits(value, column.type):
            yield column.name, value, f"a {column.type}"


def _content_problems(item: Item) -> Iterator[_Found]:
    one_sided = item.task in ONE_SIDED_TASKS
    if item.task not in TASKS:
        yield "task", item.task, f"one of {', '.join(TASKS)}"
    for name in ("item_id", "corpus", "subset", "language"):
        if getattr(item, name) == "":
            yield name, "", "a non-empty string"
    if expected := _other_tag(item.language):
        yield "language", item.language, expected
    for name in ("target_good",) if one_sided else ("target_good", "target_bad"):
        text = getattr(item, name)
        if (text is None and name == "target_bad") or (isinstance(text, str) and _is_blank(text)):
            yield name, text, "a non-empty text"
        elif (
            item.task in WHOLE_SENTENCES and not item.context_good and isinstance(text, str) and _NUMBER.fullmatch(text)
        ):
            yield name, text, "a sentence; this is a number (or a date): is it the right column?"
    if not one_sided and item.context_bad is None:
        yield "context_bad", None, "a context, '' where there is none"
    if (item.human_good is not None or item.human_bad is not None) and not item.human_scale:
        yield "human_scale", item.human_scale, "the scale of the human judgments"


def _other_tag(language: object) -> str:
    """Return what is expected in place of a language tag; "" where nothing is, or another check speaks."""
    if not isinstance(language, str) or language == "":
        return ""
    try:
        standard = language_tag(language)
    except UnknownNameError as error:
        return f"a BCP-47 tag ({error})"
    return "" if standard == language else standard


def _fits(value: object, kind: ColumnType) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int32":
        return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def same_text(good: Sequence[str | None], bad: Sequence[str | None]) -> bool:
    """Return whether context and target of both sides are the same, however their accents are encoded.

    >>> same_text(["", "Caf\u00e9"], ["", "Cafe\u0301"]), same_text(["", "a"], ["", None])
    (True, False)
    """
    if bad[1] is None or good == bad or all((text or "").isascii() for text in (*good, *bad)):
        return good == bad
    first, second = ([unicodedata.normalize("NFC", text or "") for text in side] for side in (good, bad))
    return first == second


def _is_blank(text: str) -> bool:
    """Return whether nothing of a text is seen: white space, zero-width characters and the like."""
    return not text.strip() or not (text.isascii() or any(unicodedata.category(c)[0] not in "CZ" for c in text))


class Validator:
    """Watches the items of a corpus go by and, at the end, reports *all* problems at once; memory: one hash per row.

    Of a user's `own` items it also flags what a reader does not see (of published corpora the section `audit` says it:
    their rows stay those of their version).
    """

    def __init__(self, corpus: str, extra: Sequence[Column] = (), *, own: bool = False, shown: int = 20) -> None:
        self._corpus = corpus
        self._extra = tuple(extra)
        self._own = own
        self._shown = shown
        self._ids: set[str] = set()
        self._pairs: set[int] = set()
        self._faulty = faulty_pairs(corpus)
        self._problems: list[Problem] = []
        self._n_problems = 0

    def checked(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items with shared flags added; raise at the end if any had a problem."""
        n_items = 0
        for item in items:
            n_items += 1
            for problem in problems_of(item, self._extra):
                self._note(problem)
            if item.item_id in self._ids:
                self._note(Problem(item_id=item.item_id, field="item_id", got="a repeated id", expected="unique ids"))
            self._ids.add(item.item_id)
            yield self._flagged(item)
        if not n_items:
            raise CorpusError(f"corpus {self._corpus!r}: no rows; expected at least one, check the file")
        if self._n_problems:
            lines = "\n".join(f"  {problem}" for problem in self._problems)
            more = self._n_problems - len(self._problems)
            tail = f"\n  ... and {more} more" if more else ""
            raise CorpusError(
                f"corpus {self._corpus!r}: {self._n_problems} problem(s) in {n_items} rows; "
                f"correct them in the source file and build again:\n{lines}{tail}"
            )

    def _note(self, problem: Problem) -> None:
        self._n_problems += 1
        if len(self._problems) < self._shown:
            self._problems.append(problem)

    def _flagged(self, item: Item) -> Item:
        texts = (item.context_good, item.target_good, item.context_bad, item.target_bad)
        if not all(text is None or isinstance(text, str) for text in texts):
            return item
        results = list(item.flags)
        if same_text(texts[:2], texts[2:]):
            results.append(IDENTICAL_SIDES)
        key = hash(texts)
        if key in self._pairs:
            results.append(DUPLICATE_PAIR)
        self._pairs.add(key)
        if self._own:
            good = item.context_good + item.target_good
            bad = good if item.target_bad is None else (item.context_bad or "") + item.target_bad
            results += flags_of(good, bad, whole=item.task == "sentence_pair")
            if item.target_bad is not None and good != bad and hash((*texts[2:], *texts[:2])) in self._pairs:
                results.append(REVERSED_PAIR)
        if self._faulty and digest_of(item.target_good, item.target_bad or "") in self._faulty:
            results.append(KNOWN_ERROR)
        if any(text is not None and not unicodedata.is_normalized("NFC", text) for text in texts):
            results.append(NOT_NFC)
        return item if len(results) == len(item.flags) else replace(item, flags=tuple(dict.fromkeys(results)))


class Erratum(Declaration):
    id: str
    corpora: tuple[str, ...]
    """Where the items occur; their ids are those of the first one."""
    kind: Literal["ungrammatical_good", "identical_sides"]
    fault: str
    source: str
    rule: str
    """How the items were found in the corpus's files."""
    items: Mapping[str, str]
    """Id -> the first digits of the sha256 of both sides, a line each."""


@cache
def errata() -> tuple[Erratum, ...]:
    text = (resources.files("pairbank.builders") / "data" / _FILE).read_text(encoding="utf-8")
    return tuple(Erratum.of(x, where=_FILE, error=CorpusError) for x in tomllib.loads(text)["errata"])


@cache
def faulty_pairs(corpus: str) -> frozenset[str]:
    return frozenset(digest for erratum in errata() if corpus in erratum.corpora for digest in erratum.items.values())


def digest_of(good: str, bad: str) -> str:
    return sha256_of_text(f"{good}\n{bad}")[:_DIGITS]
