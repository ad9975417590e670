"""Whom to cite: in, keys of `data/references.bib`; out, BibTeX. Every work that pairbank cites stands there, once."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from pairbank.errors import PairbankError, unknown_name


def bibtex(*keys: str, between: str = "\n\n") -> str:
    """Return the entries of these keys, in their order.

    Args:
        keys: as in `data/references.bib`.
        between: what stands between two entries. Corpora of several papers say a single newline: it is in the
            manifests of the banks that there are, and banks that differ in their manifests do not merge.

    Raises:
        UnknownNameError: no such key; the message has the nearest ones.

    >>> print(bibtex("pairbank").splitlines()[0])
    @software{pairbank,
    """
    known = references()
    for key in keys:
        if key not in known:
            raise unknown_name("reference", key, known)
    return between.join(known[key] for key in keys)


@functools.cache
def references() -> Mapping[str, str]:
    """Return every entry by its key, in the order of the file.

    Raises:
        PairbankError: the file has a key twice, or an entry without an end.
    """
    text = (resources.files("pairbank.builders") / "data" / "references.bib").read_text(encoding="utf-8")
    pairs = entries(text)
    keys = [key for key, _ in pairs]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise PairbankError(f"references.bib: {', '.join(twice)} more than once; leave one entry of each key")
    if len(pairs) != text.count("\n@"):
        raise PairbankError(
            f"references.bib: {len(pairs)} whole entries, but {text.count(chr(10) + '@')} lines start one; give each a "
            "key and as many closing as opening braces"
        )
    return MappingProxyType(dict(pairs))


def entries(text: str) -> list[tuple[str, str]]:
    """Return key and text of every whole BibTeX entry, in their order; what stands between entries is left out.

    >>> [key for key, _ in entries("@book{a, title = {A {B}}} @booklet{c, year = {2020}}")]
    ['a', 'c']
    """
    whole: list[tuple[str, str]] = []
    end = 0
    for start in re.finditer(r"@\w+\s*\{\s*([^,\s{}]+)\s*,", text):
        if start.start() < end:
            continue
        depth = 0
        for brace in re.finditer(r"[{}]", text[start.start() :]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = start.start() + brace.end()
                whole.append((start[1], text[start.start() : end]))
                break
    return whole
