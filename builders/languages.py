"""What is known of languages: type, family and resource class.

`data/typology.tsv`: the labels of He et al. 2025 (Table 2 and the groups of Figure 1; the paper calls Japanese
an isolate, and English is in Figure 1 only).
`data/languages.tsv`: families as in Glottolog, resource classes of Joshi et al. 2020.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pairbank.builders.sources.readers import data_file, read_delimited

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageFacts:
    """Where a language belongs, and how much there is of it for language technology."""

    language: str
    """BCP-47 tag, without script and region."""
    name: str
    family: str
    """Family of Glottolog, and of Indo-European and Afro-Asiatic the branch: `Indo-European, Slavic`."""
    resource: int | None
    """Class of Joshi et al. 2020 (The State and Fate of Linguistic Diversity, Table 1): 0 left behind to 5 winners,
    the higher one where their list has a language under two names; None where it does not have it."""


@functools.cache
def typology() -> Mapping[str, LanguageType]:
    return _by_language("typology.tsv", LanguageType)


@functools.cache
def language_facts() -> Mapping[str, LanguageFacts]:
    return _by_language("languages.tsv", LanguageFacts)


def _by_language(file: str, record: Callable[..., T]) -> dict[str, T]:
    """Return the rows of a table, whose columns are the record's fields; an empty cell is None, digits are a number."""
    names = [*inspect.signature(record).parameters]
    rows = (row for _, row in read_delimited(data_file(file), names, delimiter="\t"))
    return {
        row["language"]: record(**{x: int(row[x]) if row[x].isdigit() else row[x] or None for x in names})
        for row in rows
    }
