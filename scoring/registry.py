"""The prompt registry: the prompts that ship with pairbank (`scoring/prompts/*.toml`), and a user's own.

Method names are ids of prompts, with what is asked differently behind an "@": `meta_question_simple@4shot` puts four
answered examples before the question, `hl23_sent_comp_meta_instruct@chat` sends a prompt that its paper sent as
plain text through the model's chat template.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pairbank.errors import unknown_name
from pairbank.scoring.prompt import Presentation, Prompt, PromptError
from pairbank.scoring.prompt_file import parse_prompts

__all__ = [
    "DIRECT",
    "MethodName",
    "Presentation",
    "Prompt",
    "PromptError",
    "parse_prompts",
    "prompt_files",
    "prompt_named",
    "prompts",
    "prompts_of",
]

DIRECT = "direct"
MOST_SHOTS = 8
_NAME = re.compile(rf"(?P<id>[^@]+)(?P<chat>@chat)?(@(?P<shots>[1-{MOST_SHOTS}])shot)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodName:
    """A method's name in parts: the prompt, and how it is asked."""

    id: str
    in_chat: bool = False
    """Sent through the model's chat template although the prompt is plain text."""
    n_shots: int = 0
    """Answered examples before the question."""

    @classmethod
    def parsed(cls, name: str) -> MethodName:
        """Return the parts of a name.

        >>> MethodName.parsed("meta_question_simple@4shot").n_shots
        4
        """
        found = _NAME.fullmatch(name)
        if found is None:
            return cls(id=name)
        return cls(id=found["id"], in_chat=bool(found["chat"]), n_shots=int(found["shots"] or 0))

    def __str__(self) -> str:
        shots = f"@{self.n_shots}shot" if self.n_shots else ""
        return f"{self.id}{'@chat' if self.in_chat else ''}{shots}"


@functools.cache
def prompts() -> Mapping[str, Prompt]:
    """Return the prompts that ship with pairbank, by id."""
    found: dict[str, Prompt] = {}
    for file in prompt_files():
        _add(found, parse_prompts(file.read_text(encoding="utf-8"), Path(file.name)), file.name)
    return found


def prompt_files() -> list[Traversable]:
    """Return the files of prompts that ship with pairbank, a paper each, in the order of their names."""
    folder = resources.files("pairbank.scoring") / "prompts"
    files = [file for file in folder.iterdir() if file.name.endswith(".toml") and file.name != "designs.toml"]
    return sorted(files, key=lambda file: file.name)


def prompts_of(files: Sequence[str | Path]) -> Mapping[str, Prompt]:
    """Return the shipped prompts, and behind them those of a user's own files.

    Raises:
        PromptError: a file that is not there, breaks the rules, or uses an id that is taken.
    """
    found = dict(prompts())
    for file in map(Path, files):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"{file}: cannot be read ({error}); expected a TOML file of [[prompts]]") from error
        _add(found, parse_prompts(text, file), str(file))
    return found


def _add(known: dict[str, Prompt], more: Sequence[Prompt], where: str) -> None:
    for prompt in more:
        if prompt.id in known or prompt.id == DIRECT:
            raise PromptError(f"{where}: prompt id {prompt.id!r} is taken; choose another")
        known[prompt.id] = prompt


def prompt_named(name: str, known: Mapping[str, Prompt] | None = None) -> Prompt:
    """Return the prompt of a method's name, what stands behind an "@" left aside.

    Raises:
        UnknownNameError: there is none of this id; the message has the nearest ones.
    """
    known = prompts() if known is None else known
    prompt = known.get(MethodName.parsed(name).id)
    if prompt is None:
        raise unknown_name("method", name, [DIRECT, *known])
    return prompt
