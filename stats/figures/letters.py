"""Fonts for the letters of a figure: in, a figure; out, the same with fonts that have its letters."""

from __future__ import annotations

import functools
import logging
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from matplotlib.font_manager import FontEntry

logger = logging.getLogger(__name__)

OF_CJK = {"BOPOMOFO", "CJK", "FULLWIDTH", "HALFWIDTH", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA"}
"""First words of the Unicode names of letters that are in the fonts for Chinese, Japanese and Korean."""


def fit_letters(made: Drawing) -> str:
    """Give a figure further fonts where its own lack letters; return the letters that no installed font has."""
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.text import Text

    # Asked of the fonts: matplotlib warns of a missing letter only the first time that it meets a text.
    texts = made.findobj(Text)
    letters = {letter for text in texts for letter in text.get_text() if letter.isprintable()}
    if all(letter.isascii() for letter in letters):
        return ""
    missing = frozenset(letters) - letters_of(findfont(FontProperties()), frozenset(letters))
    if not missing:
        return ""
    families = fonts_with(missing)
    for text in texts:
        text.set_fontfamily([*text.get_fontfamily(), *families])
    fonts = [findfont(FontProperties(family=[family])) for family in families]
    return "".join(sorted(missing.difference(*(letters_of(font, missing) for font in fonts))))


def letters_of(path: str, letters: frozenset[str]) -> frozenset[str]:
    """Return which of some letters a font has; none of a font that cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        charmap = get_font(path).get_charmap()
    except (RuntimeError, OSError):
        return frozenset()
    return frozenset(letter for letter in letters if ord(letter) in charmap)


@functools.cache
def fonts_with(letters: frozenset[str]) -> tuple[str, ...]:
    """Return the fewest installed fonts that have the most of some letters, Noto's sans-serif ones first."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {font.fname for font in fontManager.ttflist}
    for path in sorted({*findSystemFonts()} - known):  # matplotlib's list may be older than the fonts
        try:
            fontManager.addfont(path)
        except (RuntimeError, OSError, KeyError):  # of bitmaps (colour emoji), which matplotlib cannot draw
            continue
    # The font of last resort has a box for every letter there is.
    plain = [font for font in fontManager.ttflist if font.style == "normal" and "Last Resort" not in font.name]
    covered = {font.name: letters_of(font.fname, letters) for font in sorted(plain, key=_preference)}
    names, left = list[str](), letters
    while left and covered and covered[best := max(covered, key=lambda name: len(covered[name] & left))] & left:
        names.append(best)
        left -= covered[best]
    return tuple(names)


def _preference(font: FontEntry) -> tuple[bool, bool, bool, str]:
    regular, noto = str(font.weight) in {"400", "normal"}, font.name.startswith("Noto Sans")
    return not regular, not noto, "Sans" not in font.name, font.name


def warn_of_letters(letters: Iterable[str]) -> None:
    """Say which scripts no installed font has, and the Debian package that does; nothing of no letter."""
    scripts: dict[str, str] = {}
    for letter in sorted(letters):
        scripts.setdefault(unicodedata.name(letter, "UNKNOWN").split()[0], letter)
    if not scripts:
        return
    packages = sorted({"fonts-noto-cjk" if script in OF_CJK else "fonts-noto-core" for script in scripts})
    logger.warning(
        "figures: no installed font has letters of %s: PNG and PDF files show boxes. "
        "Install one (Debian and Ubuntu: apt-get install %s), then make the report again",
        ", ".join(f"{script.capitalize()} ({letter})" for script, letter in scripts.items()),
        " ".join(packages),
    )
