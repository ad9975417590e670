"""Where a language stands in the view: in, language tags; out, families, resource classes, names and an order."""

from __future__ import annotations

from collections.abc import Sequence

from pairbank.builders.languages import language_facts

UNKNOWN = "unknown"


def languages_in_order(tags: Sequence[str]) -> list[str]:
    """Return languages by family, within one from the best resourced to the least; unknown ones last.

    >>> languages_in_order(["tr", "nl", "en", "eu", "xx"])
    ['eu', 'en', 'nl', 'tr', 'xx']
    """
    return sorted(tags, key=lambda tag: (family(tag) == UNKNOWN, family(tag), -resource(tag), tag))


def family(tag: str) -> str:
    """Return the family of a language, `unknown` where the list does not have it.

    >>> family("fr-CA"), family("xx")
    ('Indo-European, Romance', 'unknown')
    """
    facts = language_facts().get(tag.partition("-")[0])
    return facts.family if facts else UNKNOWN


def resource(tag: str) -> int:
    """Return the class of a language; -1 where it has none."""
    facts = language_facts().get(tag.partition("-")[0])
    return facts.resource if facts is not None and facts.resource is not None else -1


def resource_class(tag: str) -> str:
    """Return the class of a language in words.

    >>> resource_class("de"), resource_class("wbp")
    ('5', 'unknown')
    """
    return str(resource(tag)) if resource(tag) >= 0 else UNKNOWN


def name_with_tag(tag: str) -> str:
    """Return a language's name with its tag.

    >>> name_with_tag("fr-CA"), name_with_tag("xx")
    ('French (fr-CA)', 'xx')
    """
    facts = language_facts().get(tag.partition("-")[0])
    return f"{facts.name} ({tag})" if facts else tag
