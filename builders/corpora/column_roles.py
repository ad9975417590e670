"""Which columns of a user's table are the better and the worse side, and what else its columns are.

In: a table's columns, its first rows, and the user's own map. Out: schema column -> the table's column, and how the two
sides were told. A reading that is doubtful is refused with the line to type: a first column whose name says "worse", a
column of labels or ids, a header that is itself a pair of sentences, cells that begin with a linguist's star.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
SIDES = ("target_good", "target_bad")

_WORSE = re.compile(
    r"un ?gramm|agramm|ongramm|ogramm|un ?accept|inaccept|inacept|inaccett|in ?corr|inkorr|implaus|un ?plaus|anomal"
    r"|ill ?form|dispref|reject|violat|virheell|niepopraw|błędn|неграм|неправ|неверн|плох|ошиб|hatalı|yanlış"
    r"|错|錯|誤|误|非文|不可|不合|不好|不正|비문|خطأ|^\*"
    r"|\b(?:not|non|no|nicht|pas|niet|nie|inte|ikke|bad|worse|worst|wrong|false|negative|neg|starred|falsch|schlecht"
    r"|schlechter|fehler|faux|fausse|mauvaise?|pire|mal[oa]?|peor|errat[oa]|sbagliat[oa]|peggiore|fout|slecht"
    r"|slechter|onjuist|fel|dålig|väärä|zły|gorszy)\b"
)
_BETTER = re.compile(
    r"gramm|accept|acept|accett|corr|korr|plaus|well ?form|chosen|prefer|правил|верн|грамм|хорош|doğru"
    r"|正|对|對|好|合法|정문|صحيح"
    r"|\b(?:good|better|best|true|positive|pos|richtig|gut|besser|bon|bonne|meilleure?|bueno|buena|mejor|buon[oa]"
    r"|migliore|goed|beter|rätt|bra|oikea|dobry|lepszy)\b"
)
_LABEL = re.compile(
    r"\b(?:labels?|judge?ments?|judge?d|ratings?|scores?|acceptability|grammaticality|plausibility|gold|class|category"
    r"|ids?|idx|index|nr|no|nums?|numbers?|source|notes?|comments?|lang|language|urteil|bewertung|kategorie|nummer"
    r"|quelle|jugement|juicio|giudizio|étiquette|etiqueta)\b|标签|標籤|ラベル|编号|番号|оценк|метк"
)
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’»」)]*\s*$")
_CJK_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{6,}")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_CODE = re.compile(r"\S*\d\S*")
_MOST_LABELS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What the columns of a table are."""

    columns: Mapping[str, str]
    """Schema column -> the table's column."""
    said: str
    """Which column was taken as the better, which as the worse side, and why."""


def roles_of(
    path: Path, header: Sequence[str], first_rows: Sequence[Mapping[str, Any]], stated: Mapping[str, str]
) -> Roles:
    """Return what the columns are, from the user's map, then exact names, then synonyms, then the place of two.

    Args:
        path: the file, for messages.
        header: its columns.
        first_rows: some of its rows, by which a column of labels shows.
        stated: the user's map; what it says is not doubted.

    Raises:
        UnknownNameError: the map names no schema column.
        CorpusError: a mapped column is not there; the two sides cannot be told, or not without doubt.
    """
    _check_stated(path, header, stated)
    mapping = {**stated, **_named(path, header, stated)}
    by_place = not mapping and len(header) == len(SIDES)
    if by_place:
        mapping |= dict(zip(SIDES, header, strict=True))
    if not mapping.keys() >= set(SIDES):
        raise CorpusError(f"{path}: {_untold(header, mapping)}")
    if doubt := next(_doubts(mapping, first_rows, stated, by_place=by_place), None):
        raise CorpusError(f"{path}: {doubt}")
    how = "by its place" if by_place else "by its name"
    said = (
        f"{side} = column {mapping[name]!r} ({'as you say' if name in stated else how})"
        for name, side in zip(SIDES, ("better", "worse"), strict=True)
    )
    return Roles(columns=mapping, said=", ".join(said))


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
        found = next((spelled[candidate] for candidate in names if candidate in spelled), [])
        if len(found) > 1 and name not in stated:
            raise CorpusError(
                f"{path}: {' and '.join(map(repr, found))} may both be {name}; type which: "
                f"--column {shlex.quote(f'{name}={found[0]}')}"
            )
        if found and name not in stated:
            mapping[name] = found[0]
    return mapping


def line_to_type(good: str, bad: str) -> str:
    """Return the options that say which column is which.

    >>> line_to_type("Satz A", "B")
    "--column 'target_good=Satz A' --column target_bad=B"
    """
    return " ".join(
        f"--column {shlex.quote(f'{name}={column}')}" for name, column in zip(SIDES, (good, bad), strict=True)
    )


def _check_stated(path: Path, header: Sequence[str], stated: Mapping[str, str]) -> None:
    for name, column in stated.items():
        if name not in MAPPABLE:
            raise unknown_name("schema column", name, MAPPABLE)
        if column not in header:
            raise CorpusError(f"{path}: no column {column!r} for {name}; found {', '.join(header)}")
    if len({stated[name] for name in SIDES if name in stated}) < len([name for name in SIDES if name in stated]):
        raise CorpusError(f"{path}: column {stated[SIDES[0]]!r} is mapped to both sides; expected a column for each")


def _untold(header: Sequence[str], mapping: Mapping[str, str]) -> str:
    """Return why the sides cannot be told, and what to type."""
    missing = " and which is ".join(name for name in SIDES if name not in mapping)
    free = [name for name in header if name not in mapping.values()]
    good, bad = (mapping.get(name) or (free.pop(0) if free else "NAME") for name in SIDES)
    found = ", ".join(header)
    if len(header) == 1:
        return (
            f"one column, {found!r}; expected two, the better and the worse sentence, parted by a comma, semicolon or "
            "tab, with a header"
        )
    named = {column: name for name, column in mapping.items() if name not in SIDES}
    others = "".join(f"; {column!r} is {name}" for column, name in named.items())
    hint = f"; {_NO_HEADER}" if any(_reads_like_a_sentence(name) for name in header) else ""
    return (
        f"cannot tell which column is {missing}; found {found}{others}{hint}; name them 'good' and 'bad', or type, "
        f"with your columns in place: {line_to_type(good, bad)} "
        f"(columns={{'target_good': {good!r}, 'target_bad': {bad!r}}})"
    )


_NO_HEADER = "the first line reads like sentences, not like a header: put a line above it, such as good,bad"


def _doubts(
    mapping: Mapping[str, str], rows: Sequence[Mapping[str, Any]], stated: Mapping[str, str], *, by_place: bool
) -> Iterator[str]:
    """Yield what speaks against a reading that the user did not state, with the line that says it for certain."""
    if stated.keys() >= set(SIDES):
        return
    good, bad = (mapping[name] for name in SIDES)
    as_read = line_to_type(good, bad)
    if by_place:
        yield from _doubts_of_names(good, bad, rows)
    cells = {name: _texts(rows, name) for name in (good, bad)}
    for name, other in ((good, bad), (bad, good)):
        why = "" if "context_good" in mapping else _not_sentences(cells[name], cells[other])
        if why := why or (_labels(cells[name], cells[other]) if by_place else ""):
            yield (
                f"column {name!r} holds {why}, not sentences; expected the better and the worse sentence of a pair; "
                f"if this is what to score, type: {as_read}"
            )
        if _all_spaced(cells[name]) and not any(cell[:1].isspace() for cell in cells[other]):
            yield (
                f"every cell of column {name!r} begins with a space, which would be scored; delete the space after "
                f"each delimiter; or, if the space is meant, type: {as_read}"
            )


def _doubts_of_names(good: str, bad: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the names of two columns say against the first as the better one."""
    as_read, exchanged = line_to_type(good, bad), line_to_type(bad, good)
    for name in (good, bad):
        if _reads_like_a_sentence(name) or any(row.get(name) == name for row in rows):
            yield f"found {name!r} as the name of a column; {_NO_HEADER}; or, if it is a name, type: {as_read}"
        if _LABEL.search(_words(name)):
            yield (
                f"column {name!r} holds no sentences by its name; expected the better and the worse sentence of a "
                f"pair; if this is what to score, type: {as_read}"
            )
    if _verdict(good) == "worse" or (_verdict(bad) == "better" and _verdict(good) != "better"):
        yield (
            f"of two columns the first is read as the better sentence, yet {good!r} stands before {bad!r}; type: "
            f"{exchanged}; or, if the first is the better one: {as_read}"
        )


def _verdict(name: str) -> str:
    """Return what a column's name says of its side, in the larger European languages, Chinese, Japanese or Korean.

    >>> [_verdict(name) for name in ("Ungrammatisch", "is_correct", "left", "不正确", "not grammatical")]
    ['worse', 'better', '', 'worse', 'worse']
    """
    words = _words(name)
    return "worse" if _WORSE.search(words) else "better" if _BETTER.search(words) else ""


def _words(name: str) -> str:
    return re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().casefold()


def _reads_like_a_sentence(name: str) -> bool:
    """Return whether a column's name is rather a sentence: it ends like one, or has many words.

    >>> [_reads_like_a_sentence(name) for name in ("Dogs bark.", "the better one", "Satz A", "他昨天去了学校", "good?")]
    [True, False, False, True, False]
    """
    ends_like_one = _SENTENCE_END.search(name) and (len(name.split()) > 1 or not name.isascii())
    return bool(ends_like_one or len(name.split()) > 3 or _CJK_WORDS.search(name))


def _texts(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    return [cell for row in rows if isinstance(cell := row.get(name), str) and cell.strip()]


def _not_sentences(cells: Sequence[str], others: Sequence[str]) -> str:
    """Return what cells hold that are numbers or ids; "" where they may be sentences."""
    if cells and all(_NUMBER.fullmatch(cell.strip()) for cell in cells):
        return f"numbers ({_some(cells)})"
    is_code = [bool(_CODE.fullmatch(cell.strip())) for cell in cells]
    if cells and all(is_code) and any(" " in cell.strip() for cell in others):
        return f"ids ({_some(cells)})"
    return ""


def _labels(cells: Sequence[str], others: Sequence[str]) -> str:
    """Return the few short values that cells repeat beside sentences that differ; "" where they do not."""
    values = set(cells)
    few = len(values) * 4 <= len(cells) and len(values) < min(_MOST_LABELS, len(set(others)))
    return f"{len(values)} values over and over ({_some(cells)})" if few and max(map(_n_words, values)) < 3 else ""


def _n_words(text: str) -> int:
    return len(text.split())


def _some(cells: Sequence[str]) -> str:
    return ", ".join(repr(cell) for cell in list(dict.fromkeys(cells))[:3])


def _all_spaced(cells: Sequence[str]) -> bool:
    return bool(cells) and all(cell[:1].isspace() for cell in cells)
