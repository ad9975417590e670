"""What is asked of a model that writes, and what it wrote; `generation` does it with models that run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pairbank.scoring.backend import Progress

OVER_LENGTH = "over_length"
"""Flag: prompt and answer would be longer than the model's context; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A prompt as the model reads it; `where` names the item in errors."""

    text: str
    chat: bool = False
    """Rendered with a chat template, which brings its own BOS."""
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """What a model wrote."""

    text: str | None
    """The new text alone, special tokens left out; None where the prompt was too long."""
    n_tokens: int
    """Tokens written, the end-of-sequence token not among them."""
    flags: tuple[str, ...] = ()


@runtime_checkable
class Writer(Protocol):
    """A scorer that writes by its own means (the fake one, a server)."""

    def write(self, prompts: Sequence[Ask], *, max_new_tokens: int, progress: Progress) -> list[Continuation]:
        """Return what follows each prompt."""
