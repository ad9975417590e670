"""The prompt registry: the prompts that ship with pairbank (`scoring/prompts/*.toml`), and a user's own.

Method names are ids of prompts, with what is asked differently behind an "@": `meta_question_simple@4shot` puts four
answered examples before the question, `hl23_sent_comp_meta_instruct@chat` sends a prompt that its paper sent as
plain text through the model's chat template.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pairbank.errors import unknown_name
from pairbank.scoring.api.names import DIRECT, MethodName
from pairbank.scoring.prompts.prompt import Prompt, PromptError
from pairbank.scoring.prompts.toml import parse_prompts


@functools.cache
def prompts() -> Mapping[str, Prompt]:
    """Return the prompts that ship with pairbank, by id."""
    found: dict[str, Prompt] = {}
    for file in prompt_files():
        _add(found, parse_prompts(file.read_text(encoding="utf-8"), Path(file.name)), file.name)
    return found


def prompt_files() -> list[Traversable]:
    """Return the files of prompts that ship with pairbank, a paper each, in the order of their names."""
    folder = resources.files("pairbank.scoring.prompts")
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
