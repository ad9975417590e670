"""Prompt files such as a user writes, for the tests to change."""

import json
from collections.abc import Sequence


def prompt_text(
    name: str = "mine",
    design: str = "both_orders",
    options: Sequence[str] = ("A", "B"),
    template: str = "A: {first} B: {second}",
    **more: object,
) -> str:
    """Return a prompt in TOML, of whose strings those of JSON are a part."""
    fields: dict[str, object] = {
        "id": name,
        "design": design,
        "paper": "none",
        "tasks": ["sentence_pair"],
        "languages": ["en"],
    }
    fields |= {"options": [*options], "template": template, **more}
    return "\n[[prompts]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


BOTH_ORDERS = prompt_text()
FREE = prompt_text("free", readout="generation", pattern=r"\b[AB]\b", max_new_tokens=4)
