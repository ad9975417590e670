"""Names that can stand side by side in a bank: in, the name of a model; out, in words, why it cannot stand there.

A bank is cloned on machines whose file names know no case, and read by people who cannot tell a Cyrillic о from an o.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.schema.unseen import LOOKALIKES
from pairbank.cards.bank.layout import is_slug
from pairbank.scoring.api.model import slug

MOST_CHARACTERS = 100
"""Of a model's name."""
_ALIKE = str.maketrans({**LOOKALIKES, **dict(zip("ӏвγωη01|", "lbywnoll", strict=True))})
"""Letters that look like Latin ones; in names also those that do so from afar, and digits."""


@functools.lru_cache(maxsize=10_000)
def looks_of(name: str) -> str:
    """Return the same text for names that a reader, or a file system without case, takes for one.

    >>> looks_of("Gpt-2") == looks_of("gPТ_2"), looks_of("gpt-2") == looks_of("gpt-3")
    (True, False)
    """
    plain = unicodedata.normalize("NFKD", name).translate(_ALIKE).casefold()
    letters = (c for c in plain if not unicodedata.combining(c))
    return "".join("l" if c == "i" else c if c.isalnum() else "_" for c in letters)


def name_problems(model: Mapping[str, Any]) -> Iterator[str]:
    name, split = model["name"], model["slug"]
    if not name.strip() or not name.isprintable() or len(name) > MOST_CHARACTERS:
        yield f"the model's name is {name!r:.120}; expected 1 to {MOST_CHARACTERS} printable characters"
    elif split != slug(name) or not is_slug(split):
        yield f"the split of {name!r} is {split!r:.80}; expected {slug(name)!r}"


def twin_of(model: Mapping[str, Any], others: Mapping[str, str]) -> str:
    """Return which of other models (split -> name) has another split and a name that looks the same; "" = none."""
    alike = {looks_of(model["name"]), looks_of(model["slug"])}
    others = {split: name for split, name in others.items() if split != model["slug"]}
    return next((name for split, name in others.items() if alike & {looks_of(name), looks_of(split)}), "")
