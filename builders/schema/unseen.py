"""What a reader of two sides does not see and a tokenizer does: texts in, flags out. log P then measures the encoding.

Nothing is changed unless a user asks for it (`tidied`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from pairbank.builders.schema.columns import DUPLICATE_PAIR, NOT_NFC

WHITE_SPACE = re.compile(r"^\s+|\s+$|[^\S ]+|\s{2,}")
"""At an end, of another kind than the space, or more than one."""
MARKUP = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,6});|</?[a-zA-Z]\w*(?:\s[^<>]*)?/?>|%[0-9A-F]{2}")
"""Entities, tags and percent escapes; `100%`, `a < b` and `R&D` are none."""
FINAL_STOP = re.compile(r"[.!?…。．！？؟۔।॥։።]['\"’”»）)\]]*\s*$")
SINGLE_QUOTES = ("'", "‘’ʼ‛", "`´")
DOUBLE_QUOTES = ('"', "“”„‟", "«»")
"""Kinds of one mark: typewriter, typographic, others."""
JOINERS = "\u200c\u200d"
"""Part of the spelling in Persian, Hindi and other languages."""
FILLERS = "\u034f\u115f\u1160\u3164\uffa0"
"""Letters without a shape."""
LOOKALIKES: Mapping[str, str] = dict(
    zip(
        "АВЕЅІЈКМНОРСТХУаеѕіјорсухһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναικρτυχ",
        "ABESIJKMHOPCTXYaesijopcyxhdqwABEZHIKMNOPTYXovaikptux",
        strict=True,
    )
)
"""Letters of Cyrillic and Greek -> the Latin ones that are drawn like them."""
LOOK_THE_SAME, REVERSED_PAIR = "look_the_same", "reversed_pair"


class Unseen(NamedTuple):
    flag: str
    meaning: str
    differ: Callable[[str, str], bool]
    """Of the better and the worse side; of a single sentence, both are the same text."""
    of_sentences: bool = False
    """Whether it says something only of whole sentences."""


def flags_of(good: str, bad: str, *, whole: bool) -> Iterator[str]:
    """Yield the flags of two sides; `whole`: they are sentences."""
    yield from (kind.flag for kind in UNSEEN if (whole or not kind.of_sentences) and kind.differ(good, bad))
    if look_the_same(good, bad):
        yield LOOK_THE_SAME


def tidied(text: str) -> str:
    r"""Return a text with composed accents, plain quotes and single spaces, without entities and invisible characters.

    Letters of another script and full stops stay: which side is meant, only its author knows.

    >>> print(tidied("  Cafe\u0301s\u00a0 aren\u2019t R&amp;D\u200b."))
    Cafés aren't R&D.
    """
    from ftfy import TextFixerConfig, fix_text

    config = TextFixerConfig(unescape_html=True, fix_latin_ligatures=False, fix_character_width=False)
    letters = (letter for letter in fix_text(text, config) if letter in JOINERS or not _is_invisible(letter))
    return " ".join("".join(letters).split())


def summary_of(n_by_flag: Mapping[str, int]) -> str:
    """Return the flags of some items in one line, "" if there are none.

    >>> summary_of({"white_space_differs": 2, "not_nfc": 1, "identical_sides": 3})
    'what a reader may not see: white_space_differs 2, not_nfc 1'
    """
    shown = [
        f"{flag} {n:,}" for flag, n in n_by_flag.items() if flag in UNSEEN_FLAGS or flag in {NOT_NFC, DUPLICATE_PAIR}
    ]
    return f"what a reader may not see: {', '.join(shown)}" if shown else ""


def look_the_same(good: str, bad: str) -> bool:
    """Return whether two different texts look the same.

    >>> look_the_same("The \u0430pple", "The apple\u200b"), look_the_same("an apple", "a napple")
    (True, False)
    """
    return good != bad and _seen(good) == _seen(bad)


def _seen(text: str) -> str:
    if text.isascii():
        return " ".join(text.split())
    letters = (LOOKALIKES.get(letter, letter) for letter in unicodedata.normalize("NFKC", text))
    return " ".join("".join(letter for letter in letters if not _is_invisible(letter)).split())


@cache
def _is_invisible(letter: str) -> bool:
    is_variant = 0xFE00 <= ord(letter) <= 0xFE0F
    return is_variant or letter in FILLERS or unicodedata.category(letter) == "Cf"


def _normalisation_differs(good: str, bad: str) -> bool:
    if good.isascii() or bad.isascii():
        return False
    return any(
        not unicodedata.is_normalized("NFC", one) and not unicodedata.is_normalized("NFD", other)
        for one, other in ((good, bad), (bad, good))
    )


def _invisible_differ(good: str, bad: str) -> bool:
    if good.isascii() and bad.isascii():
        return False
    first, second = (Counter(letter for letter in side if _is_invisible(letter)) for side in (good, bad))
    different = {letter for letter in first | second if first[letter] != second[letter]}
    # A joiner may be what the pair is about, unless nothing else is.
    return bool(different - set(JOINERS)) or (bool(different) and look_the_same(good, bad))


def _lookalikes_differ(good: str, bad: str) -> bool:
    """Return whether one side has a script that the other lacks, and only in letters that look Latin (or are)."""
    if good.isascii() and bad.isascii():
        return False
    scripts = [{_script(letter) for letter in side} - {""} for side in (good, bad)]
    if "LATIN" not in scripts[0] | scripts[1] or len(scripts[0] | scripts[1]) == 1:
        return False
    for side, alone in ((good, scripts[0] - scripts[1]), (bad, scripts[1] - scripts[0])):
        foreign = {letter for letter in side if _script(letter) in alone}
        if foreign and all(letter in LOOKALIKES or letter.isascii() for letter in foreign):
            return True
    return False


@cache
def _script(letter: str) -> str:
    script = unicodedata.name(letter, "").split(" ")[0] if letter.isalpha() else ""
    return script if script in {"LATIN", "CYRILLIC", "GREEK"} else ""


def _quotes_differ(good: str, bad: str) -> bool:
    for marks in (SINGLE_QUOTES, DOUBLE_QUOTES):
        first, second = ({kind for kind in marks if set(kind) & set(side)} for side in (good, bad))
        if first and second and first != second:
            return True
    return False


def _is_mojibake(good: str, bad: str) -> bool:
    texts = [text for text in (good, bad) if not text.isascii()]
    if not texts:
        return False
    from ftfy import fix_encoding

    return any(fix_encoding(text) != text for text in texts)


UNSEEN: Sequence[Unseen] = (
    Unseen(
        "normalisation_differs",
        "accents are composed (NFC) on one side and decomposed on the other",
        _normalisation_differs,
    ),
    Unseen(
        "white_space_differs",
        "white space at an end, doubled, or of a rare kind is on one side only",
        lambda good, bad: Counter(WHITE_SPACE.findall(good)) != Counter(WHITE_SPACE.findall(bad)),
    ),
    Unseen("invisible_differ", "zero-width, soft or direction characters are on one side only", _invisible_differ),
    Unseen("lookalikes_differ", "one side has letters of another script that look like Latin ones", _lookalikes_differ),
    Unseen("quotes_differ", "the sides have quotes or apostrophes of two kinds", _quotes_differ),
    Unseen(
        "final_stop_differs",
        "one side ends in a full stop (or ! or ?) and the other does not",
        lambda good, bad: bool(FINAL_STOP.search(good)) != bool(FINAL_STOP.search(bad)),
        of_sentences=True,
    ),
    Unseen(
        "markup",
        "a text has an entity, a tag or a percent escape (&amp;, <i>, %2C)",
        lambda good, bad: bool(MARKUP.search(good) or MARKUP.search(bad)),
    ),
    Unseen("mojibake", "a text was decoded with another encoding than it was written in (Ã¼ for ü)", _is_mojibake),
)
UNSEEN_FLAGS: Mapping[str, str] = {kind.flag: kind.meaning for kind in UNSEEN} | {
    LOOK_THE_SAME: "the sides differ only in what a reader does not see",
    REVERSED_PAIR: "the same two texts are in an earlier row with the other side as the better one",
}
