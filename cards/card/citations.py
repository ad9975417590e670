"""Whom to cite: in, a bank's corpora and methods; out, BibTeX entries, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pairbank.builders.sources import references
from pairbank.builders.sources.references import bibtex
from pairbank.files import sha256_of_text

PAPERS: Mapping[str, str] = {
    r"Hu (&|and) Levy 2023": bibtex("hu2023prompting"),
    r"Song(, Hu (&|and) Mahowald| et al\.?),? 2025": bibtex("song2025introspect"),
    r"He et al\.? 2025": bibtex("he2025xcomps"),
    r"EWoK-core 1\.0|Ivanova et al\.? 2024b": bibtex("ivanova2024elements"),
    r"Ivanova et al\.? 2024(?!b)": bibtex("ivanova2024logprob"),
    r"Hu (&|and) Frank 2024": bibtex("hu2024auxiliary"),
    r"Salazar et al\.? 2020": bibtex("salazar2020masked"),
    r"Kauf (&|and) Ivanova 2023": bibtex("kauf2023better"),
}
"""Papers of methods, by how a method's definition names them."""
PLL_PAPERS = {"original": "Salazar et al. 2020", "within_word_l2r": "Kauf & Ivanova 2023"}


def bibtex_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the BibTeX entries of pairbank, of every corpus, and of every method's paper, each key once.

    Args:
        manifest: a bank's.
    """
    signatures = [s for models in manifest["scores"].values() for s in models.values()]
    named = [definition.get("paper", "") for s in signatures for definition in s["methods"].values()]
    named += [PLL_PAPERS.get(s["model"].get("pll", ""), "") for s in signatures]
    cited = [(facts.get("source") or {}).get("citation", "") for facts in manifest["corpora"].values()]
    papers = [paper for pattern, paper in PAPERS.items() if any(re.search(pattern, text) for text in named)]
    found: dict[str, str] = {}
    for key, entry in _keyed([bibtex("pairbank"), *cited, *papers]):
        found.setdefault(key, entry)
    return list(found.values())


def _keyed(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        yield from entries(text).items()


def entries(text: str) -> dict[str, str]:
    """Return the entries of a BibTeX text by key; a text that is no BibTeX is one entry under its hash.

    >>> list(entries("@book{a, title = {A {B}}} @booklet{c, year = {2020}}"))
    ['a', 'c']
    """
    by_key = dict(references.entries(text))
    return by_key or ({sha256_of_text(text)[:8]: text.strip()} if text.strip() else {})
