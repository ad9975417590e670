"""Language tags as the schema has them, BCP-47 in CLDR's form (`zh` of `cmn`), and what is put between words."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping

from pairbank.errors import UnknownNameError

UNSPACED_SCRIPTS = frozenset(
    ("Hans", "Hant", "Hani", "Jpan", "Hira", "Kana", "Hrkt", "Thai", "Laoo", "Khmr", "Mymr", "Lana", "Talu")
)
"""Scripts (ISO 15924) that are written without spaces between words."""
_MOST_NEAR_TAGS = 3


@functools.cache
def language_tag(text: str) -> str:
    """Return a language tag in its standard form: the shortest code, `-` between subtags, CLDR's macrolanguages.

    >>> [language_tag(tag) for tag in ("zh_CN", "cmn", "jpn", "en_US", "eng", "zh_hans")]
    ['zh-CN', 'zh', 'ja', 'en-US', 'en', 'zh-Hans']
    >>> language_tag("german")
    Traceback (most recent call last):
    pairbank.errors.UnknownNameError: no language tag 'german'; did you mean 'de' (German)? Expected BCP-47, as en
    """
    import langcodes
    from langcodes.tag_parser import LanguageTagError

    try:
        tag = langcodes.standardize_tag(text.strip(), macro=True)
    except LanguageTagError as error:
        raise _unknown(text) from error
    if not text.strip() or not langcodes.tag_is_valid(tag):
        raise _unknown(text)
    return tag


@functools.cache
def is_unspaced(language: str) -> bool:
    """Return whether a language is written without spaces between words, by its likely script.

    >>> [is_unspaced(tag) for tag in ("en", "zh", "yue", "ja", "ja-Latn")]
    [False, True, True, True, False]
    """
    import langcodes

    return langcodes.Language.get(language_tag(language)).maximize().script in UNSPACED_SCRIPTS


def separator(language: str) -> str:
    """Return what stands between a context and its target: nothing in languages written without spaces."""
    return "" if is_unspaced(language) else " "


def joined(context: str, target: str, language: str) -> str:
    return context + separator(language) + target if context else target


def language_name(tag: str) -> str:
    """Return the English name of a tag's language, as the IANA registry has it.

    >>> language_name("de-AT"), language_name("el")
    ('German', 'Modern Greek (1453-)')
    """
    return _names().get(tag.split("-", maxsplit=1)[0], (tag,))[0]


@functools.cache
def _names() -> Mapping[str, tuple[str, ...]]:
    from langcodes.registry_parser import parse_registry

    languages = (language for language in parse_registry() if language["Type"] == "language")  # type: ignore[no-untyped-call]
    return {str(language["Subtag"]): tuple(language["Description"]) for language in languages}


@functools.cache
def _unknown(text: str) -> UnknownNameError:
    near = " or ".join(f"{tag!r} ({language_name(tag)})" for tag in _near(text.strip()))
    hint = f"; did you mean {near}?" if near else "."
    return UnknownNameError(f"no language tag {text[:40]!r}{hint} Expected BCP-47, as en")


def _near(text: str) -> list[str]:
    """Return tags that may be meant: of a name, of the country that a code is for, of what begins the text."""
    import langcodes

    named = {name.casefold(): tag for tag, names in reversed(list(_names().items())) for name in names}
    provided, head = text.casefold(), re.split(r"[-_.@]", text, maxsplit=1)[0].lower()
    country = f"und-{head}"
    if provided in named:
        results = [named[provided]]
    elif head in _names():
        results = [head]
    elif head in named:
        results = [named[head]]
    elif len(head) == 2 and head.isascii() and head.isalpha() and langcodes.tag_is_valid(country):
        results = [langcodes.Language.get(country).maximize().language or ""]
    else:
        holding = (
            [name for name in named if re.search(rf"\b{re.escape(provided)}\b", name)] if len(provided) > 3 else []
        )
        near = difflib.get_close_matches(provided, named, n=_MOST_NEAR_TAGS, cutoff=0.85)
        results = [named[name] for name in sorted(holding, key=lambda name: (len(named[name]), len(name))) or near]
    return list(dict.fromkeys(language_tag(tag) for tag in results if tag in _names()))[:_MOST_NEAR_TAGS]
