"""What the cells of a user's columns look like, and which two may be a pair; nothing here decides a reading."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairbank.builders.sources.formats import NOTHING_SAID

_PERSONAL = re.compile(
    r"prolific|workerid|assignmentid|ipaddress|recipient(last|first)?name|e?mail(address)?$|recipientemail|"
    r"externalreference|location(latitude|longitude)|responseid|participantp(ublic|rivate)id|sessionid$|md5hash"
)
"""Names of columns, letters and digits alone, that identify people in files of survey software and platforms."""
Rows = Sequence[Mapping[str, Any]]
_WORSE = re.compile(
    r"un ?gramm|agramm|ongramm|ogramm|un ?accept|inaccept|inacept|inaccett|in ?corr|inkorr|implaus|un ?plaus|anomal"
    r"|ill ?form|dispref|reject|violat|virheell|niepopraw|błędn|неграм|неправ|неверн|плох|ошиб|hatalı|yanlış"
    r"|错|錯|誤|误|非文|不可|不合|不好|不正|비문|خطأ|^\*"
    r"|\b(?:not|non|no|nicht|pas|niet|nie|inte|ikke|bad|worse|worst|wrong|false|negative|neg|starred|falsch|schlecht"
    r"|schlechter|schlechtes?|schlechten|fehler|faux|fausse|mauvaise?|pire|mal[oa]?|peor|errat[oa]|sbagliat[oa]|peggiore|fout|slecht"
    r"|slechter|onjuist|fel|dålig|väärä|zły|gorszy)\b"
)
"""Of names in any language: taking such a column for the better side because it is the first would turn all pairs."""
_BETTER = re.compile(
    r"gramm|accept|acept|accett|corr|korr|plaus|well ?form|chosen|prefer|правил|верн|грамм|хорош|doğru"
    r"|正|对|對|好|合法|정문|صحيح"
    r"|\b(?:good|better|best|true|positive|pos|richtig|gut|gute[rsn]?|besser|bon|bonne|meilleure?|bueno|buena|mejor|buon[oa]"
    r"|migliore|goed|beter|rätt|bra|oikea|dobry|lepszy)\b"
)
_LETTERS = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_CODE = re.compile(r"\S*\d\S*")
SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’»」)]*\s*$")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_MOST_LABELS = 10
LEAST_ALIKE = 0.3
"""Two columns whose rows share fewer of their words are hardly the sides of minimal pairs."""
_ROWS_COMPARED = 50
_MOST_NAMED = 8

_DECIDES = re.compile(r"\b(?:labels?|gold|correct|answers?|better|best|choice|chosen|winner|preferred|which|target)\b")
_ORDERED = (("a", "b"), ("1", "2"), ("0", "1"), ("first", "second"), ("left", "right"))
"""Values of a column that say which of two sides is the better one, the first side's first."""


def verdict(name: str) -> str:
    """Return "worse" or "better" if a name says it, else "".

    >>> [verdict(name) for name in ("Ungrammatisch", "is_correct", "left", "不正确", "not grammatical")]
    ['worse', 'better', '', 'worse', 'worse']
    """
    words = words_of(name)
    return "worse" if _WORSE.search(words) else "better" if _BETTER.search(words) else ""


@functools.lru_cache(maxsize=4096)
def words_of(name: str) -> str:
    """Return a name as lower-case words.

    >>> words_of("isCorrect_now")
    'is correct now'
    """
    return re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().casefold()


def texts(rows: Rows, name: str) -> list[str]:
    missing = ("", *NOTHING_SAID.missing)
    return [cell for row in rows if isinstance(cell := row.get(name), str) and cell.strip() not in missing]


def not_sentences(cells: Sequence[str], others: Sequence[str], *, strictly: bool = False) -> str:
    """Return what cells hold beside others that is no sentence: numbers or ids, and, strictly, labels or single words.

    >>> not_sentences(["1", "2,5"], []), not_sentences(["s1", "s2"], ["A b.", "C d."]), not_sentences(["A."], [])
    ("numbers ('1', '2,5')", "ids ('s1', 's2')", '')
    >>> not_sentences(["Case", "Number"], ["I help the child.", "The child sleeps."], strictly=True)
    "single words ('Case', 'Number')"
    """
    if not cells:
        return ""
    some = ", ".join(repr(cell) for cell in list(dict.fromkeys(cells))[:3])
    if all(_NUMBER.fullmatch(cell.strip()) for cell in cells):
        return f"numbers ({some})"
    if all(_CODE.fullmatch(cell.strip()) for cell in cells) and any(" " in cell.strip() for cell in others):
        return f"ids ({some})"
    values = set(cells)
    few = len(values) * 4 <= len(cells) and len(values) < min(_MOST_LABELS, len(set(others)))
    if strictly and few and max(len(value.split()) for value in values) < 3:
        return f"{len(values)} values over and over ({some})"
    is_word = [len(cell.split()) == 1 and not _is_sentence(cell) for cell in cells]
    if strictly and others and all(is_word) and all(len(cell.split()) > 2 for cell in others):
        return f"single words ({some})"
    return ""


def likely_sides(header: Sequence[str], rows: Rows, *, given: str | None = None) -> tuple[str, str] | None:
    """Return the two columns that hold sentences and share most words, by their names or order the better one first."""
    others = [name for name in header if name != given]
    for likely in (are_sentences, are_texts):
        columns = [name for name in others if likely(texts(rows, name))]
        pairs = itertools.combinations(columns, 2) if given is None else ((given, name) for name in columns)
        ranked = sorted(((alike(rows, *pair), pair) for pair in pairs), key=lambda scored: -scored[0])
        if ranked and (ranked[0][0] >= LEAST_ALIKE or likely is are_texts):
            first, second = ranked[0][1]
            is_turned = verdict(first) == "worse" or (verdict(second) == "better" and verdict(first) != "better")
            return (second, first) if is_turned and given is None else (first, second)
    return None


def is_personal(name: str) -> bool:
    """Return whether a column identifies people.

    >>> [is_personal(name) for name in ("PROLIFIC_PID", "IP Address", "Worker ID", "worker", "email", "mailbox")]
    [True, True, True, False, True, False]
    """
    return bool(_PERSONAL.search(re.sub(r"[^a-z0-9]", "", name.lower())))


def not_used(header: Sequence[str], used: Mapping[str, str]) -> str:
    """Return what is to be said of columns that the schema does not get, "" if there are none."""
    unused = [name for name in header if name not in used.values() and not is_personal(name)]
    more = f" and {len(unused) - _MOST_NAMED} more" if len(unused) > _MOST_NAMED else ""
    return f"not used, only kept: {', '.join(map(repr, unused[:_MOST_NAMED]))}{more}" if unused else ""


def are_numbers(rows: Rows, name: str) -> bool:
    cells = [cell for row in rows if (cell := row.get(name)) is not None and str(cell).strip()]
    return bool(cells) and all(
        isinstance(cell, int | float) or _NUMBER.fullmatch(str(cell).strip()) is not None for cell in cells
    )


def are_texts(cells: Sequence[str]) -> bool:
    """Return whether cells have letters, and are neither numbers nor ids."""
    is_text = [bool(_LETTERS.search(cell)) and not _CODE.fullmatch(cell.strip()) for cell in cells]
    return bool(cells) and sum(is_text) * 5 >= len(cells) * 4


def are_sentences(cells: Sequence[str]) -> bool:
    """Return whether most cells have several words, or end as sentences do, and most differ from each other."""
    like = [len(cell.split()) > 1 or _is_sentence(cell) for cell in cells]
    return are_texts(cells) and sum(like) * 5 >= len(cells) * 4 and len(set(cells)) * 2 > len(cells)


def _is_sentence(cell: str) -> bool:
    return bool(SENTENCE_END.search(cell) or _UNSPACED.search(cell))


def alike(rows: Rows, first: str, second: str) -> float:
    """Return which share of their words the two cells of a row have in common; 0 where most are the same."""
    pairs = [(str(row.get(first) or ""), str(row.get(second) or "")) for row in rows[:_ROWS_COMPARED]]
    if not pairs or sum(good != bad for good, bad in pairs) * 2 < len(pairs):
        return 0.0
    total = 0.0
    for pair in pairs:
        ours, theirs = (Counter(text if _UNSPACED.search(text) else text.casefold().split()) for text in pair)
        total += 2 * (ours & theirs).total() / ((ours.total() + theirs.total()) or 1)
    return total / len(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    column: str
    first: str
    """Its value where the first side is the better one."""
    second: str
    is_certain: bool
    """Whether its values name the sides; else it is their usual order (0 and 1 may mean either)."""


def decider_of(header: Sequence[str], rows: Rows, sides: tuple[str, str]) -> Decider | None:
    """Return the column that says, by its name and its two values, which of two sides is the better one.

    >>> rows = [{"s_A": "x", "s_B": "y", "gold": "A"}, {"s_A": "x", "s_B": "y", "gold": "B"}]
    >>> decider_of(["s_A", "s_B", "gold"], rows, ("s_A", "s_B"))
    Decider(column='gold', first='A', second='B', is_certain=True)
    """
    own = tuple({side.casefold(), words_of(side), words_of(side).rpartition(" ")[2]} for side in sides)
    for column in header:
        if column in sides or not _DECIDES.search(words_of(column)):
            continue
        cells = (row.get(column) for row in rows)
        values = sorted({str(cell).strip() for cell in cells if cell is not None and str(cell).strip()})
        if len(values) != 2:
            continue
        for first, second in (values, values[::-1]):
            plain = (words_of(first), words_of(second))
            if plain[0] in own[0] and plain[1] in own[1]:
                return Decider(column=column, first=first, second=second, is_certain=True)
            if plain in _ORDERED:
                return Decider(column=column, first=first, second=second, is_certain=plain[0] not in ("0", "1"))
    return None
