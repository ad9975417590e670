"""Phenomena of different corpora under one name (`data/phenomena.toml`): in, a corpus's name; out, the shared one."""

from __future__ import annotations

import functools
import re
import tomllib
from importlib import resources

OTHER = "other"
"""What no corpus shares, or has no name."""


@functools.cache
def aligned(phenomenon: str | None) -> str:
    """Return the shared name of a phenomenon.

    >>> [aligned(name) for name in ("NPI licensing", "npi_licensing", "SV-#", "filler-gap_dependencies", "BA", None)]
    ['negation, NPIs', 'negation, NPIs', 'verb agreement', 'fillers, islands', 'other', 'other']
    """
    if phenomenon is None:
        return OTHER
    said = " ".join(re.findall(r"\w+", phenomenon.lower().replace("_", " ")))
    for shared, names in shared_names().items():
        if said in names or any(name.endswith("*") and said.startswith(name[:-1]) for name in names):
            return shared
    return OTHER


@functools.cache
def shared_names() -> dict[str, tuple[str, ...]]:
    """Return the shared names, in the order in which they are shown, and what corpora call them."""
    path = resources.files("pairbank.stats.analyses.language_view") / "data" / "phenomena.toml"
    return {shared: tuple(names) for shared, names in tomllib.loads(path.read_text(encoding="utf-8")).items()}
