"""Slots: the places of a template that an item's texts fill.

`{good}` and `{bad}` are whole strings (context, separator, target); `{context_good}`, `{target_good}` … their
parts; `{context}` and `{target}` the part that both sides share. A concept pair has `{property}`, `{word_good}`
and `{word_bad}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pairbank.builders.languages import joined

SLOTS = (
    "good",
    "bad",
    "context_good",
    "context_bad",
    "context",
    "target_good",
    "target_bad",
    "target",
    "property",
    "word_good",
    "word_bad",
)
CONCEPT_COLUMNS = {"property": "property", "word_good": "concept_good", "word_bad": "concept_bad"}
"""Slot -> the column that concept corpora have it in."""
_SLOT = re.compile(r"\{(\w*)\}")


def slots_of(text: str) -> tuple[str, ...]:
    """Return the names of the slots in a text, in order.

    >>> slots_of("1: '{good}', 2: '{bad}'")
    ('good', 'bad')
    """
    return tuple(_SLOT.findall(text))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill slots in one pass, so that braces in what is filled in stay as they are; other slots are left.

    >>> fill("1: '{good}', 2: '{bad}'", {"good": "a {bad} b", "bad": "c"})
    "1: 'a {bad} b', 2: 'c'"
    >>> fill("{first} {good}", {"first": "{bad}"})
    '{bad} {good}'
    """
    return _SLOT.sub(lambda found: values.get(found[1], found[0]), template)


def slot_values(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that an item has for slots; a slot that it cannot fill is absent.

    >>> row = {"language": "en", "context_good": "An eagle", "target_good": "can fly.", "context_bad": "A cow",
    ...        "target_bad": "can fly."}
    >>> sorted(slot_values(row))
    ['bad', 'context_bad', 'context_good', 'good', 'target', 'target_bad', 'target_good']
    """
    values: dict[str, str] = {}
    for side in ("good", "bad"):
        context, target = row[f"context_{side}"] or "", row[f"target_{side}"]
        if target is None:
            continue
        values[side] = joined(context, target, row["language"])
        values[f"target_{side}"] = target
        if context:
            values[f"context_{side}"] = context
    one_sided = "bad" not in values
    for part in ("context", "target"):
        text = values.get(f"{part}_good")
        if text is not None and (one_sided or text == values.get(f"{part}_bad")):
            values[part] = text
    values |= {slot: row[column] for slot, column in CONCEPT_COLUMNS.items() if row.get(column)}
    return values
