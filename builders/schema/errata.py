"""Which items of public corpora are known to be faulty: `data/errata.toml` in, a flag on the items out.

An erratum is about a text: a pair is marked where its two sides are those that were reported, in any corpus that the
list names. Nothing is left out and no default number changes; reports give accuracies with and without these items.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

from pairbank.declarations import Declaration
from pairbank.errors import CorpusError
from pairbank.files import sha256_of_text

_FILE = "errata.toml"
_DIGITS = 16


class Erratum(Declaration):
    """Faulty items with one cause."""

    id: str
    corpora: tuple[str, ...]
    """Where the items occur; their ids are those of the first one."""
    kind: Literal["ungrammatical_good", "identical_sides"]
    fault: str
    """What is wrong, in a sentence."""
    source: str
    """Where it was reported."""
    rule: str
    """How the items were found in the corpus's files."""
    items: Mapping[str, str]
    """Id -> the first digits of the sha256 of both sides, a line each."""


class _File(Declaration):
    errata: tuple[Erratum, ...]


@cache
def errata() -> tuple[Erratum, ...]:
    """Return all lists of known faulty items.

    >>> [(one.id, len(one.items)) for one in errata()]
    [('blimp-open-phrase', 106), ('blimp-identical-sides', 7)]
    """
    with resources.as_file(resources.files("pairbank.builders") / "data" / _FILE) as path:
        return _File.load(Path(path), error=CorpusError).errata


@cache
def faulty_pairs(corpus: str) -> frozenset[str]:
    """Return the digests of a corpus's known faulty pairs."""
    return frozenset(digest for entry in errata() if corpus in entry.corpora for digest in entry.items.values())


def digest_of(good: str, bad: str) -> str:
    """Return what identifies a pair in a list.

    >>> digest_of("The owls hoot.", "The owls hoots.")
    '1190e3a9c800b493'
    """
    return sha256_of_text(f"{good}\n{bad}")[:_DIGITS]
