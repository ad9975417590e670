"""The wording of a bank's methods: in, its manifest; out, one file of `pairbank score --prompts` per prompt.

`prompts/ID.toml` holds what was asked word for word. A prompt that does not ship with pairbank stands in the
signatures of its scores, one that does is known by its hash.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pairbank.cards.bank.layout import PROMPTS
from pairbank.files import write_text
from pairbank.scoring.api.names import MethodName
from pairbank.scoring.methods.prompted import prompt_of_definition
from pairbank.scoring.prompts.prompt import ANY, Prompt, primary
from pairbank.scoring.prompts.toml import prompt_toml


def prompts_in(manifest: Mapping[str, Any]) -> dict[str, Prompt]:
    """Return the prompts of a bank's methods by the paths of their files, as far as they are known here."""
    results: dict[str, Prompt] = {}
    for prompt in _prompts(manifest):
        path = f"{PROMPTS}/{prompt.id}.toml"
        if path in results and results[path].sha256 != prompt.sha256:
            path = f"{PROMPTS}/{prompt.id}-{prompt.sha256[:8]}.toml"
        results[path] = prompt
    return results


def question(prompt: Prompt, languages: Collection[str]) -> str:
    """Return the first presentation's question and the start of its answer, in one of some languages."""
    shown = prompt.presentations[0]
    tags = [ANY, *map(primary, languages), *prompt.languages]
    parts = [next((texts[tag] for tag in tags if tag in texts), "") for texts in (shown.template, shown.stem)]
    return prompt.join.join(part for part in parts if part)


def write_prompts(root: Path, manifest: Mapping[str, Any]) -> None:
    """Write the prompts of a bank's methods; a file of one that is not known here any more stays as it is."""
    for path, prompt in prompts_in(manifest).items():
        write_text(root / path, prompt_toml(prompt))
    names = {name for models in manifest["scores"].values() for model in models.values() for name in model["methods"]}
    ids = {MethodName.parsed(name).id for name in names}
    for file in (root / PROMPTS).glob("*.toml"):
        if not {file.stem, file.stem.rpartition("-")[0]} & ids:
            file.unlink()


def _prompts(manifest: Mapping[str, Any]) -> Iterator[Prompt]:
    for models in manifest["scores"].values():
        for signature in models.values():
            for name, definition in signature["methods"].items():
                if (prompt := prompt_of_definition(name, definition)) is not None:
                    yield prompt
