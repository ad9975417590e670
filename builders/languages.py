"""What is known of languages: what stands between a context and its target, and how 18 languages are built.

In: a language tag; `data/typology.tsv`, the labels of He et al. 2025 (Table 2 and the groups of Figure 1; the paper
calls Japanese an isolate, and English stands in Figure 1 only). Out: a separator; type and family of a language.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pairbank.builders.sources.readers import read_delimited


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageType:
    """What the paper says of one language."""

    language: str
    """BCP-47 tag."""
    name: str
    typology: str | None
    """inflectional, agglutinative or analytic (Table 2); None for English, which is not in that table."""
    family: str | None
    group: str
    """weakly inflected, strongly inflected, agglutinative or analytic (Figure 1)."""


@functools.cache
def typology() -> Mapping[str, LanguageType]:
    """Return the table by language.

    >>> typology()["hu"].typology, typology()["de"].group
    ('agglutinative', 'strongly inflected')
    """
    path = Path(str(resources.files("pairbank.builders") / "data" / "typology.tsv"))
    table = read_delimited(path, ("language", "name", "typology", "family", "group"), delimiter="\t")
    return {
        row["language"]: LanguageType(
            language=row["language"],
            name=row["name"],
            typology=row["typology"] or None,
            family=row["family"] or None,
            group=row["group"],
        )
        for _, row in table
    }


UNSPACED_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my", "yue")


def separator(language: str) -> str:
    """Return what stands between a context and its target: nothing in languages written without spaces.

    >>> separator("en"), separator("zh-Hans")
    (' ', '')
    """
    return "" if language.split("-", maxsplit=1)[0].lower() in UNSPACED_LANGUAGES else " "


def joined(context: str, target: str, language: str) -> str:
    """Return the whole string of one side."""
    return context + separator(language) + target if context else target
