"""The prompt registry: prompts that ship with pairbank (`*.toml`), of installed packages, and a user's own.

Method names are ids of prompts, with what is asked differently behind an "@": `meta_question_simple@4shot` puts four
answered examples before the question, `hl23_sent_comp_meta_instruct@chat` sends a prompt that its paper sent as plain
text through the model's chat template, `rating_7_free@10samples@t0.7` draws ten answers at a temperature of 0.7.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pairbank.errors import unknown_name
from pairbank.plugins import Plugin, plugins
from pairbank.scoring.api.names import DIRECT, MethodName, is_string_logprob
from pairbank.scoring.prompts.prompt import Prompt, PromptError
from pairbank.scoring.prompts.toml import parse_prompts


@functools.cache
def prompts() -> Mapping[str, Prompt]:
    results: dict[str, Prompt] = {}
    for file in prompt_files():
        shipped = parse_prompts(file.read_text(encoding="utf-8"), Path(file.name), is_shipped=True)
        _add(results, shipped, file.name)
    return results


def prompt_files() -> list[Traversable]:
    """Return the files of prompts that ship with pairbank, a paper each, in the order of their names."""
    folder = resources.files("pairbank.scoring.prompts")
    files = [file for file in folder.iterdir() if file.name.endswith(".toml") and file.name != "designs.toml"]
    return sorted(files, key=lambda file: file.name)


def prompts_of(files: Sequence[str | Path], *, asked: Collection[str] | None = None) -> Mapping[str, Prompt]:
    """Return the shipped prompts, behind them those of installed packages, and those of a user's own files."""
    results = dict(prompts())
    by_file = {file: _read(file, str(file)) for file in map(Path, files)}
    at_hand = {*results, *(prompt.id for of_file in by_file.values() for prompt in of_file)}
    if asked is None or not at_hand.issuperset(asked):
        for plugin, theirs in packaged_prompts():
            _add(results, theirs, f"{plugin.package}, pairbank.prompts {plugin.name!r}")
    for file, of_file in by_file.items():
        _add(results, of_file, str(file))
    return results


def files_not_known(files: Sequence[str | Path], given: Sequence[str | Path] = ()) -> tuple[Path, ...]:
    """Return those of some files of prompts that neither pairbank nor other files have."""
    known = {prompt.id: prompt for file in map(Path, given) for prompt in _read(file, str(file))}
    results = []
    for file in map(Path, files):
        for prompt in _read(file, str(file)):
            ours = prompts().get(prompt.id)
            if ours is not None and ours.sha256 != prompt.sha256:
                raise PromptError(f"{file}: prompt {prompt.id!r} differs from this version of pairbank's")
            if ours is None and prompt.id not in known:
                results.append(file)
    return tuple(dict.fromkeys(results))


def packaged_prompts() -> Iterator[tuple[Plugin, list[Prompt]]]:
    """Yield what installed packages offer as `pairbank.prompts`: each a TOML file, or a function that returns one."""
    for plugin in plugins("prompts").values():
        offered = plugin.load()
        file = offered() if callable(offered) else Path(offered) if isinstance(offered, str) else offered
        if not isinstance(file, Traversable):
            raise plugin.problem(
                f"which is {offered!r:.80}; expected the path of a TOML file, or a function that gives it"
            )
        yield plugin, _read(file, f"{plugin.package}, {file.name}")


def _read(file: Traversable, where: str) -> list[Prompt]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{where}: cannot be read ({error}); expected a TOML file of [[prompts]]") from error
    return parse_prompts(text, Path(where))


def _add(known: dict[str, Prompt], more: Sequence[Prompt], where: str) -> None:
    for prompt in more:
        if prompt.id in known or is_string_logprob(prompt.id):
            raise PromptError(f"{where}: prompt id {prompt.id!r} is taken; choose another")
        known[prompt.id] = prompt


def prompt_named(name: str, known: Mapping[str, Prompt] | None = None) -> Prompt:
    """Return the prompt of a method's name, what stands behind an "@" left aside."""
    known = prompts() if known is None else known
    prompt = known.get(MethodName.parsed(name).id)
    if prompt is None:
        raise unknown_name("method", name, [DIRECT, *known])
    return prompt
