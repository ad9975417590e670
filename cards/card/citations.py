"""Whom to cite: in, a bank's corpora and methods; out, BibTeX entries, each once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.sources.references import entries as entries_in
from pairbank.builders.sources.references import references
from pairbank.files import sha256_of_text
from pairbank.scoring.methods.registry import cites_of

PLL_CITES = {"original": "salazar2020masked", "within_word_l2r": "kauf2023better"}
"""Work to cite for each way of scoring with a masked model."""


def bibtex_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the BibTeX entries of pairbank, of every corpus, and of every method's paper, each key once.

    Args:
        manifest: a bank's.
    """
    cited = [(facts.get("source") or {}).get("citation", "") for facts in manifest["corpora"].values()]
    signatures = [signature for models in manifest["scores"].values() for signature in models.values()]
    known = references()
    wanted = {key for signature in signatures for key in _keys(signature)}
    papers = [entry for key, entry in known.items() if key in wanted]  # a manifest's own order is not kept on disk
    by_key: dict[str, str] = {}
    stated = manifest.get("pairbank")
    own = (
        known["pairbank"].removesuffix("}").rstrip() + f",\n  version = {{{stated}}}\n}}"
        if stated
        else known["pairbank"]
    )
    for text in [own, *cited, *papers]:
        for key, entry in entries(text).items():
            by_key.setdefault(key, entry)
    return list(by_key.values())


def _keys(signature: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of what is to be cited for a table's methods.

    A table of a version that did not say so is cited by its methods' names. A newer version may know works that this
    one does not: they are left out.
    """
    for name, definition in signature["methods"].items():
        yield from definition["cites"] if "cites" in definition else cites_of(name)
    pll = signature["model"].get("pll", "")
    if pll in PLL_CITES:
        yield PLL_CITES[pll]


def entries(text: str) -> dict[str, str]:
    """Return the entries of a BibTeX text by key; a text that is no BibTeX is one entry under its hash.

    >>> list(entries("@book{a, title = {A {B}}} @booklet{c, year = {2020}}"))
    ['a', 'c']
    """
    by_key = dict(entries_in(text))
    return by_key or ({sha256_of_text(text)[:8]: text.strip()} if text.strip() else {})
