"""Prompt files: TOML in, checked `Prompt` records out; every mistake is explained with file, prompt and key.

A prompt gives its presentations itself, or names a design that has them (`prompts/designs.toml`). What a
presentation puts into the slots of its own (`{first}`, `{sentence}` …) is filled in here; the item's slots stay.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import resources
from pathlib import Path
from typing import Any

from pairbank.scoring.api.names import SENTENCE
from pairbank.scoring.prompts.checks import check_prompt, check_types
from pairbank.scoring.prompts.prompt import ANY, Presentation, Prompt, PromptError
from pairbank.scoring.prompts.slots import fill

COMPARED = {
    "sentences": ("{good}", "{bad}"),
    "targets": ("{target_good}", "{target_bad}"),
    "contexts": ("{context_good}", "{context_bad}"),
    "words": ("{word_good}", "{word_bad}"),
}
"""`compare` -> what {better} and {worse} stand for in a design."""
OWN_KEYS = ("design", "compare", "answers", "template", "stem", "source")
"""Keys of a prompt that its presentations take in."""
PRESENTATION_KEYS = ("slots",)


@functools.cache
def designs() -> Mapping[str, Mapping[str, Any]]:
    """Return the designs by name."""
    text = (resources.files("pairbank.scoring.prompts") / "designs.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def parse_prompts(text: str, path: Path) -> list[Prompt]:
    """Return the prompts of one TOML file; its `cites` are those of all its prompts that have none of their own.

    Raises:
        PromptError: broken TOML, unknown or missing keys, or values that do not fit each other.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PromptError(f"{path}: not TOML ({error})") from error
    if not {"prompts"} <= table.keys() <= {"prompts", "cites"} or not isinstance(table["prompts"], list):
        raise PromptError(f"{path}: top-level keys are {sorted(table)}, expected [[prompts]], and perhaps cites")
    shared = {key: value for key, value in table.items() if key == "cites"}
    check_types(shared, str(path))
    found = [_prompt(shared | entry, path) for entry in table["prompts"]]
    ids = [prompt.id for prompt in found]
    if twice := [name for name in ids if ids.count(name) > 1]:
        raise PromptError(f"{path}: prompt id {twice[0]!r} stands twice; choose another")
    return found


def prompt_entry(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt as plain JSON values; what is as usual is left out. `prompt_from_entry` reads it."""
    found: dict[str, Any] = {}
    for one in fields(Prompt):
        value = getattr(prompt, one.name)
        usual = one.default_factory() if one.default_factory is not MISSING else one.default
        if one.name != "presentations" and value != usual:
            found[one.name] = _plain(value)
    found["presentations"] = [
        {
            one.name: _plain(value)
            for one in fields(Presentation)
            if (value := getattr(shown, one.name)) or one.name == "stem"
        }
        for shown in prompt.presentations
    ]
    return found


def prompt_from_entry(entry: Mapping[str, Any], where: str) -> Prompt:
    """Return the prompt that an entry states.

    Raises:
        PromptError: it breaks the registry's rules.
    """
    return _prompt(entry, Path(where))


def prompt_toml(prompt: Prompt) -> str:
    """Return a prompt as the text of a file that `parse_prompts` reads back to the same hash."""
    entry = prompt_entry(prompt)
    lines = ["[[prompts]]", *(f"{key} = {_toml(x)}" for key, x in entry.items() if key != "presentations")]
    for shown in entry["presentations"]:
        lines += ["", "[[prompts.presentations]]", *(f"{key} = {_toml(x)}" for key, x in shown.items())]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:  # noqa: ANN401 - a value of TOML
    """Return tuples as lists, also those of a table."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _toml(value: Any) -> str:  # noqa: ANN401 - a value of TOML
    """Return a value as TOML writes it."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_toml(key)} = {_toml(one)}' for key, one in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):  # JSON's escapes are TOML's, which also escapes DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _prompt(entry: Mapping[str, Any], path: Path) -> Prompt:
    where = f"{path}, prompt {entry.get('id', '(no id)')!r}"
    allowed = {*_keys(Prompt), *OWN_KEYS}
    if extra := sorted(entry.keys() - allowed):
        raise PromptError(f"{where}: unknown key(s) {extra}; known: {', '.join(sorted(allowed))}")
    check_types(entry, where)
    full = _designed(entry, where)
    needed = [f.name for f in fields(Prompt) if f.default is MISSING and f.default_factory is MISSING]
    if missing := [key for key in needed if key not in full]:
        raise PromptError(f"{where}: no {missing[0]}; a prompt needs {', '.join(needed)} (or a design)")
    values: dict[str, Any] = {key: _frozen(value) for key, value in full.items() if key in _keys(Prompt)}
    shown = [_presentation(one, full, where) for one in full["presentations"]]
    if "design" in entry and values["tasks"] == (SENTENCE,):
        shown = [p for p in shown if not p.shows_worse] or shown
    prompt = Prompt(**values | {"presentations": tuple(shown)})
    check_prompt(prompt, where)
    return prompt


def _frozen(value: object) -> object:
    """Return lists as tuples, also those of a table by language."""
    if isinstance(value, dict):
        return {key: _frozen(member) for key, member in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _keys(record: type[Prompt | Presentation]) -> list[str]:
    return [f.name for f in fields(record)]


def _designed(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the prompt with the presentations of its design, if it names one."""
    full = dict(entry)
    if "design" not in full:
        return full
    design = designs().get(full["design"])
    if design is None:
        raise PromptError(f"{where}: design is {full['design']!r}, expected one of {', '.join(designs())}")
    if "presentations" in full:
        raise PromptError(f"{where}: has a design and presentations; give one of them")
    if full.setdefault("kind", design["kind"]) != design["kind"]:
        raise PromptError(f"{where}: kind is {full['kind']!r}, but design {full['design']!r} is a {design['kind']}")
    compare = full.get("compare", "sentences")
    if compare not in COMPARED:
        raise PromptError(f"{where}: compare is {compare!r}, expected one of {', '.join(COMPARED)}")
    named = dict(zip(("better", "worse"), COMPARED[compare], strict=True))
    answers = full.get("answers", [])
    for found in answers.values() if isinstance(answers, dict) else [answers]:
        if len(found) not in (0, 2):
            raise PromptError(f"{where}: answers are {found}, expected the meanings of the two options")
    if not isinstance(answers, dict):  # those of a language are filled in with its template
        named |= {f"answer_{i}": answer for i, answer in enumerate(answers, 1)}
    full["presentations"] = [_named(one, named, full.get("options", ()), where) for one in design["presentations"]]
    return full


def _named(one: Mapping[str, Any], named: Mapping[str, str], options: Sequence[str], where: str) -> dict[str, Any]:
    """Return a design's presentation for this prompt: options in place of numbers, texts in place of {better}."""
    full = dict(one)
    for key in ("correct", "first"):
        if key in full:
            if full[key] >= len(options):
                raise PromptError(f"{where}: options are {list(options)}, expected two for this design")
            full[key] = options[full[key]]
    full["slots"] = {slot: fill(text, named) for slot, text in full.get("slots", {}).items()}
    return full


def _presentation(one: Mapping[str, Any], prompt: Mapping[str, Any], where: str) -> Presentation:
    where = f"{where}, presentation {one.get('name')!r}"
    allowed = {*_keys(Presentation), *PRESENTATION_KEYS}
    if extra := sorted(one.keys() - allowed):
        raise PromptError(f"{where}: unknown key(s) {extra}; known: {', '.join(sorted(allowed))}")
    check_types(one, where)
    if "name" not in one:
        raise PromptError(f'{where}: no name; give each presentation one, as in name = "good_first"')
    values: dict[str, Any] = {key: _frozen(value) for key, value in one.items() if key != "slots"}
    slots = one.get("slots", {})
    for key in ("template", "stem"):
        text = one.get(key, prompt.get(key, ""))
        texts = text if isinstance(text, dict) else {ANY: text}
        answers = _answers(prompt, texts, where)
        values[key] = {lang: fill(fill(text, slots), answers.get(lang, {})) for lang, text in texts.items()}
    values["source"] = (*prompt.get("source", ()), *one.get("source", ()))
    if prompt.get("options"):
        values.setdefault("first", prompt["options"][0])
    return Presentation(**values)


def _answers(prompt: Mapping[str, Any], texts: Mapping[str, str], where: str) -> dict[str, dict[str, str]]:
    """Return what {answer_1} and {answer_2} mean in each language, where they have a meaning a language."""
    answers = prompt.get("answers", [])
    if not isinstance(answers, dict):
        return {}
    if ANY not in texts and (odd := answers.keys() ^ texts.keys()):
        raise PromptError(f"{where}: answers and templates differ in {sorted(odd)}; give both for each language")
    return {lang: {f"answer_{i}": one for i, one in enumerate(found, 1)} for lang, found in answers.items()}
