"""Which columns of a user's table are the sides; a doubtful reading is refused with the line to type."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pairbank.builders.corpora.cells import SIDES, line_to_type
from pairbank.builders.corpora.column_use import (
    SENTENCE_END,
    Rows,
    decider_of,
    likely_sides,
    not_sentences,
    texts,
    verdict,
    words_of,
)
from pairbank.builders.corpora.marks import mark_before
from pairbank.builders.schema.columns import COLUMNS
from pairbank.errors import CorpusError, unknown_name

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "target_good": (
        "good",
        "sentence_good",
        "good_sentence",
        "acceptable",
        "grammatical",
        "sentence_grammatical",
        "better",
        "correct",
    ),
    "target_bad": (
        "bad",
        "sentence_bad",
        "bad_sentence",
        "unacceptable",
        "ungrammatical",
        "sentence_ungrammatical",
        "worse",
        "incorrect",
    ),
    "context_good": ("context", "prefix"),
    "pair_id": ("id", "pair_ID", "pairID"),
}
MAPPABLE = tuple(c.name for c in COLUMNS if c.name not in ("item_id", "corpus"))

_LABEL = re.compile(
    r"\b(?:labels?|judge?ments?|judge?d|ratings?|scores?|acceptability|grammaticality|plausibility|gold|class|category"
    r"|ids?|idx|index|nr|no|nums?|numbers?|source|notes?|comments?|lang|language)\b"
)
_CJK_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{6,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What the columns of a table are, by what the user states, their names or their places."""

    path: Path
    header: Sequence[str]
    rows: Rows
    stated: Mapping[str, str]
    """Schema column -> the table's column, as the user says."""
    columns: Mapping[str, str]
    by_place: bool

    @property
    def sides(self) -> tuple[str, str]:
        good, bad = (self.columns[name] for name in SIDES)
        return good, bad

    @property
    def said(self) -> str:
        """Which column was taken as the better, which as the worse side, and why."""
        how = "by its place" if self.by_place else "by its name"
        parts = (
            f"{side} = column {self.columns[name]!r} ({'as you say' if name in self.stated else how})"
            for name, side in zip(SIDES, ("better", "worse"), strict=True)
        )
        return ", ".join(parts)


def roles_of(path: Path, header: Sequence[str], first_rows: Rows, stated: Mapping[str, str]) -> Roles:
    """Return what the columns are, from the user's map, then exact names, then synonyms, then the place of two."""
    for name, column in stated.items():
        if name not in MAPPABLE:
            raise unknown_name("schema column", name, MAPPABLE)
        if column not in header:
            raise CorpusError(f"{path}: no column {column!r} for {name}; found {', '.join(header)}")
    if stated.keys() >= set(SIDES) and len({stated[name] for name in SIDES}) < len(SIDES):
        raise CorpusError(f"{path}: column {stated[SIDES[0]]!r} is mapped to both sides; expected a column for each")
    columns = {**stated, **_named(path, header, stated)}
    by_place = not columns and len(header) == len(SIDES)
    if by_place:
        columns |= dict(zip(SIDES, header, strict=True))
    roles = Roles(path=path, header=header, rows=first_rows, stated=stated, columns=columns, by_place=by_place)
    if not columns.keys() >= set(SIDES):
        raise CorpusError(f"{path}: {_untold(roles)}")
    if doubt := next(itertools.chain(_doubts(roles), _no_sentences(roles)), None):
        raise CorpusError(f"{path}: {doubt}")
    return roles


def _named(path: Path, header: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Return schema column -> the column of that name, or of the first synonym that the table has."""
    sides = [stated[name] for name in SIDES if name in stated]
    spelled: dict[str, list[str]] = {}
    for name in header:
        if name not in sides:
            spelled.setdefault(name.strip().casefold(), []).append(name)
    mapping: dict[str, str] = {}
    for name in MAPPABLE:
        names = (candidate.casefold() for candidate in (name, *SYNONYMS.get(name, ())))
        spellings = next((spelled[candidate] for candidate in names if candidate in spelled), [])
        if len(spellings) > 1 and name not in stated:
            raise CorpusError(
                f"{path}: {' and '.join(map(repr, spellings))} may both be {name}; type which: "
                f"--column {shlex.quote(f'{name}={spellings[0]}')}"
            )
        if spellings and name not in stated:
            mapping[name] = spellings[0]
    return mapping


def _untold(roles: Roles) -> str:
    """Return why it is not known which side is which, and what to type."""
    path, header, rows, mapping = roles.path, roles.header, roles.rows, roles.columns
    missing = " and which is ".join(name for name in SIDES if name not in mapping)
    names = ", ".join(header)
    if len(header) == 1:
        return (
            f"one column, {names!r}; expected two, the better and the worse sentence, parted by a comma, semicolon or "
            f"tab, with a header. For one sentence per row, write a map: pairbank new map {path}"
        )
    if any(_reads_like_a_sentence(name) for name in header):
        return f"cannot tell which column is {missing}; found {names}; {_no_header(header, rows)}"
    named = {column: name for name, column in mapping.items() if name not in SIDES}
    others = "".join(f"; {column!r} is {name}" for column, name in named.items())
    known = next((mapping[name] for name in SIDES if name in mapping), None)
    sides = likely_sides([name for name in header if name not in named], rows, given=known)
    cells = [] if sides is None else [texts(rows, name) for name in sides]
    if sides is None or any(not_sentences(*x, strictly=True) for x in (cells, cells[::-1])):
        return (
            f"cannot tell which column is {missing}; found {names}{others}, and no two columns hold texts that may be "
            f"a pair; a table of any other layout is read by a map: type {_new_map(path)}, which writes one to check"
        )
    good, bad = sides[::-1] if "target_bad" in mapping else sides
    if decider_of(header, rows, (good, bad)) is not None:
        return _undecided(roles, (good, bad)) or ""
    return (
        f"cannot tell which column is {missing}; found {names}{others}; name them 'good' and 'bad', or, if these are "
        f"the pair, the better sentence first, type: {line_to_type(good, bad)} "
        f"(columns={{'target_good': {good!r}, 'target_bad': {bad!r}}})"
    )


def _undecided(roles: Roles, sides: tuple[str, str]) -> str | None:
    """Return that a column says in each row which side is the better one, which names of columns cannot."""
    header, rows = [name for name in roles.header if name not in roles.columns.values()], roles.rows
    decider = decider_of(header, rows, sides)
    if decider is None:
        return None
    n_first, n_second = (
        sum(str(row.get(decider.column)).strip() == value for row in rows) for value in (decider.first, decider.second)
    )
    return (
        f"column {decider.column!r} seems to say which of {sides[0]!r} and {sides[1]!r} is the better one "
        f"({decider.first!r} in {n_first:,} of the first rows, {decider.second!r} in {n_second:,}), and no reading by "
        f"names heeds it: type {_new_map(roles.path)}, which writes a map with [label]; or, if it says something else, "
        f"type: {line_to_type(*sides)}"
    )


def _new_map(path: Path) -> str:
    return f"pairbank new map {shlex.quote(str(path))}"


def _no_header(header: Sequence[str], rows: Rows) -> str:
    """Return what to type for a file whose first line is a row like the others."""
    sides = tuple(header)
    if len(header) > len(SIDES):
        sides = likely_sides(header, [dict(zip(header, header, strict=True)), *rows]) or ()
    if sides and mark_before(sides[0]) and not mark_before(sides[1]):
        sides = sides[::-1]
    short = dict(zip(sides, ("good", "bad"), strict=False))
    names, turned = (
        ",".join(roles.get(name, f"column{place}") for place, name in enumerate(header, 1))
        for roles in (short, dict(zip(sides[::-1], ("good", "bad"), strict=False)))
    )
    return (
        f"the first line reads like sentences, not like a header: type --header {names} (where the better sentence "
        f"is under good; else {turned}), or put a line above it, such as {names}"
    )


def _doubts(roles: Roles) -> Iterator[str]:
    """Yield what speaks against a reading that the user did not state, with the line that says it for certain."""
    if roles.stated.keys() >= set(SIDES):
        return
    good, bad = roles.sides
    if undecided := _undecided(roles, (good, bad)):
        yield undecided
    if roles.by_place:
        yield from _doubts_of_names(roles)
    cells = {name: texts(roles.rows, name) for name in (good, bad)}
    for name, other in ((good, bad), (bad, good)):
        spaced, of_other = ([cell[:1].isspace() for cell in cells[column]] for column in (name, other))
        if spaced and all(spaced) and not any(of_other):
            yield (
                f"every cell of column {name!r} begins with a space, which would be scored; delete the space after "
                f"each delimiter; or, if the space is meant, type: {line_to_type(good, bad)}"
            )


def _no_sentences(roles: Roles) -> Iterator[str]:
    """Yield why a side holds no sentences, whoever named it; what continues a context may be anything."""
    if "context_good" in roles.columns:
        return
    good, bad = roles.sides
    cells = {name: texts(roles.rows, name) for name in (good, bad)}
    doubted = roles.by_place or bool(roles.stated.keys() & set(SIDES))
    for name, other in ((good, bad), (bad, good)):
        if why := not_sentences(cells[name], cells[other], strictly=doubted):
            sides = likely_sides([column for column in roles.header if column != name], roles.rows)
            instead = "" if sides is None else f"the pair may be {line_to_type(*sides)}; "
            yield (
                f"column {name!r} holds {why}, not sentences; expected the better and the worse sentence of a pair; "
                f"{instead}if the two sides continue a context, type: --column context_good=NAME too; a table of "
                f"labelled or rated sentences is read by a map: type {_new_map(roles.path)}"
            )


def _doubts_of_names(roles: Roles) -> Iterator[str]:
    """Yield what the names of two columns say against the first as the better one."""
    path, header, rows = roles.path, roles.header, roles.rows
    good, bad = header
    as_read, exchanged = line_to_type(good, bad), line_to_type(bad, good)
    for name in (good, bad):
        if _reads_like_a_sentence(name) or any(row.get(name) == name for row in rows):
            yield (
                f"found {name!r} as the name of a column; {_no_header(header, rows)}; or, if it is a name indeed, no "
                f"sentence to score, type: {as_read}"
            )
        if _LABEL.search(words_of(name)):
            yield (
                f"column {name!r} holds no sentences by its name; expected the better and the worse sentence of a "
                f"pair; a table of labelled or rated sentences is read by a map: type {_new_map(path)}; if this is "
                f"what to score, type: {as_read}"
            )
    if verdict(good) == "worse" or (verdict(bad) == "better" and verdict(good) != "better"):
        yield (
            f"of two columns the first is read as the better sentence, yet {good!r} comes before {bad!r}; type: "
            f"{exchanged}; or, if the first is the better one: {as_read}"
        )


def _reads_like_a_sentence(name: str) -> bool:
    """Return whether a column's name is rather a sentence: it ends like one, or has many words.

    >>> [_reads_like_a_sentence(name) for name in ("Dogs bark.", "the better one", "Satz A", "他昨天去了学校", "good?")]
    [True, False, False, True, False]
    """
    ends_like_one = SENTENCE_END.search(name) and (len(name.split()) > 1 or not name.isascii())
    return bool(ends_like_one or len(name.split()) > 3 or _CJK_WORDS.search(name))
