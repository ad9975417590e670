"""Whom to cite: in, a bank's title, authors, corpora and methods; out, BibTeX entries, each once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.sources.source import entries as entries_in
from pairbank.builders.sources.source import references
from pairbank.files import sha256_of_text
from pairbank.scoring.methods.registry import cites_of

PLL_CITES = {"original": "salazar2020masked", "within_word_l2r": "kauf2023better"}
"""Work to cite for each way of scoring with a masked model."""


def bibtex_of(manifest: Mapping[str, Any], *, on_hub: str = "") -> list[str]:
    """Return the BibTeX entries of a bank that says whose it is, of pairbank, every corpus and method, each key once.

    Args:
        manifest: a bank's.
        on_hub: ORG/NAME where it is published.
    """
    cited = [(facts.get("source") or {}).get("citation", "") for facts in manifest["corpora"].values()]
    signatures = [signature for models in manifest["scores"].values() for signature in models.values()]
    known = references()
    wanted = {key for signature in signatures for key in _keys(signature)}
    papers = [entry for key, entry in known.items() if key in wanted]  # a manifest's own order is not kept on disk
    by_key: dict[str, str] = {}
    stated = manifest.get("pairbank")
    of_pairbank = (
        known["pairbank"].removesuffix("}").rstrip() + f",\n  version = {{{stated}}}\n}}"
        if stated
        else known["pairbank"]
    )
    for text in [_own_entry(manifest, on_hub), of_pairbank, *cited, *papers]:
        for key, entry in entries(text).items():
            by_key.setdefault(key, entry)
    return list(by_key.values())


def _own_entry(manifest: Mapping[str, Any], on_hub: str) -> str:
    """Return the entry of the bank itself, or "" where it has neither title nor authors.

    >>> print(_own_entry({"title": "Verbs of {Zürich}", "authors": ["A. Roe", "Lab of Sound and Form"]}, "lab/verbs"))
    @dataset{this_bank,
      title = {Verbs of Zürich},
      author = {A. Roe and {Lab of Sound and Form}},
      url = {https://huggingface.co/datasets/lab/verbs},
      note = {A bank of pairbank}
    }
    """
    title, authors = (str(manifest.get("title", "")), [str(x) for x in manifest.get("authors", [])])
    if not title and not authors:
        return ""
    names = [_plain(name) for name in authors]
    fields = {
        "title": _plain(title),
        "author": " and ".join(f"{{{name}}}" if " and " in name else name for name in names),
        "year": str(manifest.get("published", ""))[:4],
        "url": f"https://huggingface.co/datasets/{on_hub}" if on_hub else "",
        "note": "A bank of pairbank",
    }
    lines = ",\n".join(f"  {key} = {{{text}}}" for key, text in fields.items() if text)
    return f"@dataset{{this_bank,\n{lines}\n}}"


def _plain(text: str) -> str:
    """Return a text on one line without what ends a field of BibTeX."""
    return " ".join(re.sub(r"[{}\\]", "", text).split())


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
