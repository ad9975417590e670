"""Texts cut into words: in, a line, or words and their regions; out, a `Text`. No model is needed for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from pairbank.builders.schema.language_tags import separator
from pairbank.errors import ScoringError

_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text and its words."""

    id: str
    text: str
    spans: tuple[tuple[int, int], ...]
    """First character of each word, and one past its last."""
    regions: tuple[str, ...]
    """Of each word the region of interest that it is in; "" = none."""
    numbers: tuple[int, ...] = ()
    """Of each word, as its file numbers them; empty = from 1."""
    is_respaced: bool = False
    """As it was written it had more white space, or another, than the one space between its words."""


def text_in_words(id: str, text: str, *, language: str = "en") -> Text:  # noqa: A002 - as in the table
    """Return a text cut at white space, regions in braces marked: `The {old dog} barked`.

    One space stands between its words, whatever white space did. In a language without spaces, white space only says
    where words end and is left out; without any, each character is a word.

    >>> text_in_words("1", "The {old dog} barked.").regions
    ('', 'old dog', 'old dog', '')
    >>> text = text_in_words("1", "\u6211 \u559c\u6b22 \u732b", language="zh")
    >>> text.text, text.spans
    ('\u6211\u559c\u6b22\u732b', ((0, 1), (1, 3), (3, 4)))
    """
    plain = _BRACES.sub(r"\1", text)
    if "{" in plain or "}" in plain:
        raise ScoringError(f"text {id}: braces that do not match in {text!r}; expected {{region}}, none within another")
    inside = [""] * len(plain)
    for n_before, region in enumerate(_BRACES.finditer(text)):
        first = region.start() - 2 * n_before
        inside[first : first + len(region[1])] = [region[1]] * len(region[1])
    spans = [word.span() for word in re.finditer(r"\S+", plain)]
    if separator(language) == "" and len(spans) == 1:
        spans = [(place, place + 1) for place in range(*spans[0])]
    regions = [next((region for region in inside[first:last] if region), "") for first, last in spans]
    result = text_of_words(id, [plain[first:last] for first, last in spans], regions, language=language)
    return replace(result, is_respaced=separator(language) == " " and result.text != plain)


def text_of_words(id: str, words: Sequence[str], regions: Sequence[str] = (), *, language: str = "en") -> Text:  # noqa: A002
    """Return the text that words make, with a space between them where the language has one."""
    if not words or not all(word.strip() for word in words):
        raise ScoringError(f"text {id}: {'an empty word' if words else 'no word'}; expected words with characters")
    between = separator(language)
    starts = list(accumulate((len(word) + len(between) for word in words[:-1]), initial=0))
    return Text(
        id=id,
        text=between.join(words),
        spans=tuple((start, start + len(word)) for start, word in zip(starts, words, strict=True)),
        regions=tuple(regions) or ("",) * len(words),
    )


def plain_word(word: str) -> str:
    """Return a word in lower case without marks of punctuation.

    >>> plain_word("“Don’t”,"), plain_word("--")
    ('dont', '--')
    """
    return re.sub(r"[\W_]+", "", word.casefold()) or word
