"""Prompt files: TOML in, checked `Prompt` records out; every mistake is explained with file, prompt and key.

A prompt gives its presentations itself, or names a design that has them (`prompts/designs.toml`). What a
presentation puts into the slots of its own (`{first}`, `{sentence}` …) is filled in here; the item's slots stay.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter, create_model

from pairbank.builders.schema.columns import ONE_SIDED_TASKS
from pairbank.builders.sources.source import references
from pairbank.declarations import Declaration, record_of, table_of
from pairbank.errors import unknown_name
from pairbank.scoring.api.names import SENTENCE
from pairbank.scoring.prompts.prompt import ANY, SLOTS, Kind, Presentation, Prompt, PromptError, fill, slots_of

SWAPPED = {slot: slot.replace("good", "bad") if "good" in slot else slot.replace("bad", "good") for slot in SLOTS}
Text: TypeAlias = str | dict[str, str]
COMPARED = {
    "sentences": ("{good}", "{bad}"),
    "targets": ("{target_good}", "{target_bad}"),
    "contexts": ("{context_good}", "{context_bad}"),
    "words": ("{word_good}", "{word_bad}"),
}
"""`compare` -> what {better} and {worse} stand for in a design."""


class PresentationTable(Declaration):
    """A table of `presentations`: what one string is, and how its options are read."""

    name: str
    template: Text = ""
    stem: Text = ""
    correct: str = ""
    good: tuple[int | float, ...] = ()
    bad: tuple[int | float, ...] = ()
    side: Literal["", "good", "bad"] = ""
    first: str = ""
    when: dict[str, str] = Field(default_factory=dict)
    source: tuple[str, ...] = ()
    slots: dict[str, str] = Field(default_factory=dict)
    """Texts for slots of the template and the stem."""


class _OwnKeys(Declaration):
    """Keys of a prompt's table that `Prompt` has not: its presentations take them in."""

    design: str = ""
    """Gives the kind and the presentations (`prompts/designs.toml`)."""
    compare: Literal["sentences", "targets", "contexts", "words"] = "sentences"
    """What the presentations of a design compare."""
    answers: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    """What the two options mean, perhaps in each language."""
    template: Text = ""
    stem: Text = ""
    source: tuple[str, ...] = ()
    kind: Kind | None = None
    presentations: tuple[PresentationTable, ...] = ()


PromptTable = table_of(Prompt, _OwnKeys)
_prompts = functools.cache(lambda: TypeAdapter(Prompt))


class _File(Declaration):
    prompts: tuple[dict[str, Any], ...]
    cites: tuple[str, ...] = ()


def prompts_schema() -> dict[str, Any]:
    table: Any = PromptTable
    return create_model("PromptFile", __base__=_File, prompts=(tuple[table, ...], ...)).model_json_schema()


def check_prompt(prompt: Prompt, where: str) -> None:
    """Raise unless the parts of a prompt fit each other."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", prompt.id):
        raise PromptError(f"{where}: id must be lower case with underscores, for it names columns")
    if unknown := [key for key in prompt.cites if key not in references()]:
        raise PromptError(f"{where}: cites has {unknown_name('reference', unknown[0], references())}")
    _check_options(prompt, where)
    names = [p.name for p in prompt.presentations]
    if not names or len(set(names)) < len(names):
        raise PromptError(f"{where}: presentations are {names}, expected at least one, of different names")
    for p in prompt.presentations:
        _check_presentation(p, prompt, f"{where}, presentation {p.name!r}")
    _check_sides(prompt, where)
    _check_readout(prompt, where)
    if prompt.counterbalanced != is_symmetric(prompt):
        raise PromptError(
            f"{where}: counterbalanced is {str(prompt.counterbalanced).lower()}, but exchanging good and bad "
            f"{'changes' if prompt.counterbalanced else 'does not change'} what is asked; "
            f"{'ask in both orders, or ' if prompt.counterbalanced else ''}write counterbalanced = "
            f"{str(not prompt.counterbalanced).lower()}"
        )


def _check_sides(prompt: Prompt, where: str) -> None:
    """Raise unless a single sentence can be asked about, and both sides of a pair can be rated."""
    alone = [p for p in prompt.presentations if not p.shows_worse]
    if SENTENCE in prompt.tasks and (not alone or prompt.kind == "forced_choice"):
        raise PromptError(
            f"{where}: tasks has {SENTENCE!r}, a single sentence, but {prompt.kind} presentations show both sides; ask "
            'about one side, as design = "yes_no", "yes_no_log_odds", "yes_no_both_assignments" or "rating" does'
        )
    of_pairs = any(task not in ONE_SIDED_TASKS for task in prompt.tasks)
    sides = {"good", "bad"} if of_pairs else {"good"}
    if prompt.kind == "rating" and {p.side for p in prompt.presentations} != sides:
        expected = 'of side = "good" and of side = "bad"' if of_pairs else 'of side = "good" alone'
        raise PromptError(f"{where}: a rating of {', '.join(prompt.tasks)} needs presentations {expected}")


def _check_options(prompt: Prompt, where: str) -> None:
    least = 1 if prompt.kind == "prediction" else 2
    if len(prompt.options) < least or len(set(prompt.options)) < len(prompt.options):
        description = "one option" if least == 1 else "two different options"
        raise PromptError(f"{where}: options are {list(prompt.options)}, expected at least {description}")
    if bad := [slot for option in prompt.options for slot in slots_of(option) if slot not in SLOTS]:
        raise PromptError(f"{where}: an option has the slot {bad[0]!r}, expected one of {', '.join(SLOTS)}")
    for language, options in prompt.options_in.items():
        if language not in prompt.languages or len(set(options)) != len(prompt.options):
            raise PromptError(
                f"{where}: options_in has {language} = {list(options)}, expected {len(prompt.options)} different "
                f"options for one of {', '.join(prompt.languages)}"
            )
    for language in prompt.languages if prompt.readout == "options" else ():
        for short, long in itertools.permutations(prompt.written_options(language), 2):
            if long.startswith(short) and not slots_of(short):
                raise PromptError(
                    f"{where}: option {short!r} begins option {long!r}, so that its probability includes the other's; "
                    f'give each an end (options_in = {{ {language} = ["{short}/…", …] }}), or let the model write '
                    '(readout = "generation")'
                )
    if prompt.kind == "rating" and not all(re.fullmatch(r"-?\d+(\.\d+)?", option) for option in prompt.options):
        raise PromptError(f"{where}: options are {list(prompt.options)}, expected numbers, which a rating averages")


def _check_presentation(p: Presentation, prompt: Prompt, where: str) -> None:
    for key, texts in (("template", p.template), ("stem", p.stem)):
        if ANY not in texts and (odd := texts.keys() ^ set(prompt.languages)):
            raise PromptError(f"{where}: {key} and languages differ in {sorted(odd)}; give one text a language")
    for language, template in p.template.items():
        stem = p.stem[language] if language in p.stem else next(iter(p.stem.values()))
        slots = {*slots_of(template), *slots_of(stem)}
        if not slots or not slots <= set(SLOTS):
            raise PromptError(f"{where}: template slots are {sorted(slots)}, expected some of {', '.join(SLOTS)}")
    if p.first and p.first not in prompt.options:
        raise PromptError(f"{where}: first is {p.first!r}, expected one of {prompt.options}")
    if prompt.kind in ("rating", "prediction"):
        if p.correct or p.good or p.bad or p.side not in ("good", "bad"):
            raise PromptError(f'{where}: a {prompt.kind} has side = "good" or "bad", no correct and no weights')
    else:
        _check_weights(p, prompt, where)


def _check_weights(p: Presentation, prompt: Prompt, where: str) -> None:
    if p.side:
        raise PromptError(f"{where}: side is for ratings and predictions; a {prompt.kind} has correct, good and bad")
    if p.correct not in prompt.options:
        raise PromptError(f"{where}: correct is {p.correct!r}, expected one of {prompt.options}")
    if len(p.good) != len(prompt.options) or len(p.bad) != len(prompt.options):
        raise PromptError(f"{where}: good and bad need one weight for each of {prompt.options}")


def _check_readout(prompt: Prompt, where: str) -> None:
    if prompt.readout == "options":
        if prompt.pattern or prompt.max_new_tokens:
            raise PromptError(f'{where}: pattern and max_new_tokens are for readout = "generation"')
        return
    if prompt.kind == "prediction":
        raise PromptError(f"{where}: kind is {prompt.kind!r}; a prediction cannot be generated")
    if prompt.max_new_tokens < 1 or not prompt.pattern:
        raise PromptError(f'{where}: readout = "generation" needs a pattern and max_new_tokens of 1 or more')
    try:
        pattern = re.compile(prompt.pattern)
    except re.error as error:
        raise PromptError(f"{where}: pattern {prompt.pattern!r} is no regular expression ({error})") from error
    written = [option for language in prompt.languages for option in prompt.written_options(language)]
    if unmatched := [option for option in written if not pattern.fullmatch(option)]:
        raise PromptError(f"{where}: pattern {prompt.pattern!r} does not find the option {unmatched[0]!r}")


def is_symmetric(prompt: Prompt) -> bool:
    """Return whether a prompt asks the same when good and bad change places, and reads the answers vice versa."""
    if all(task in ONE_SIDED_TASKS for task in prompt.tasks):
        return True
    if prompt.is_fixed_order:
        return False
    questions = Counter(_question(p, prompt, swapped=False) for p in prompt.presentations)
    return questions == Counter(_question(p, prompt, swapped=True) for p in prompt.presentations)


def _question(p: Presentation, prompt: Prompt, *, swapped: bool) -> str:
    other = {slot: f"{{{name}}}" for slot, name in SWAPPED.items()} if swapped else {}
    shown = {"template": p.template, "stem": p.stem}
    texts = {key: [(lang, fill(text, other)) for lang, text in sorted(of.items())] for key, of in shown.items()}
    good, bad = (p.bad, p.good) if swapped else (p.good, p.bad)
    weights = zip(prompt.options, good, bad, strict=True) if good else ()
    side = SWAPPED.get(p.side, "") if swapped else p.side
    return repr((texts, sorted((fill(option, other), g, b) for option, g, b in weights), side))


@functools.cache
def designs() -> Mapping[str, Mapping[str, Any]]:
    text = (resources.files("pairbank.scoring.prompts") / "designs.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def parse_prompts(text: str, path: Path, *, is_shipped: bool = False) -> list[Prompt]:
    """Return the prompts of one TOML file; its `cites` are those of all its prompts that have none of their own.

    Those that ship are checked by a test, and not in every process that scores.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PromptError(f"{path}: not TOML ({error})") from error
    file = record_of(_File, table, where=str(path), error=PromptError)
    cites = {"cites": file.cites} if file.cites else {}
    results = [prompt_from_entry(cites | stated, str(path), is_shipped=is_shipped) for stated in file.prompts]
    ids = [prompt.id for prompt in results]
    if twice := [name for name in ids if ids.count(name) > 1]:
        raise PromptError(f"{path}: prompt id {twice[0]!r} occurs twice; choose another")
    return results


def prompt_entry(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt as plain JSON values; what is as usual is left out. `prompt_from_entry` reads it."""
    # a design's weights are lists
    entry: dict[str, Any] = _prompts().dump_python(prompt, mode="json", exclude_defaults=True, warnings=False)
    entry["presentations"] = entry.pop("presentations")  # the last, as in a file
    return entry


def prompt_toml(prompt: Prompt) -> str:
    """Return a prompt as the text of a file that `parse_prompts` reads back to the same hash."""
    table = prompt_entry(prompt)
    lines = ["[[prompts]]", *(f"{key} = {_toml(x)}" for key, x in table.items() if key != "presentations")]
    for shown in table["presentations"]:
        lines += ["", "[[prompts.presentations]]", *(f"{key} = {_toml(x)}" for key, x in shown.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:  # noqa: ANN401 - a value of TOML
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_toml(key)} = {_toml(inner)}' for key, inner in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):  # JSON's escapes are TOML's, which also escapes DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def prompt_from_entry(table: Mapping[str, Any], where: str, *, is_shipped: bool = False) -> Prompt:
    """Return a checked prompt; its mistakes are explained with `where`, the file or signature it stands in."""
    where = f"{where}, prompt {table.get('id', '(no id)')!r}"
    stated = record_of(PromptTable, table, where=where, error=PromptError).model_dump(exclude_unset=True)
    full = _designed(stated, where)
    if "kind" not in full or "presentations" not in full:
        raise PromptError(f"{where}: kind or presentations are missing; give both, or a design, which has them")
    shown = [_presentation(p, full, where) for p in full["presentations"]]
    if "design" in full and full["tasks"] == (SENTENCE,):
        shown = [p for p in shown if not p.shows_worse] or shown
    values = {field.name: full[field.name] for field in fields(Prompt) if field.name in full}
    prompt = Prompt(**values | {"presentations": tuple(shown)})
    if not is_shipped:
        check_prompt(prompt, where)
    return prompt


def _designed(stated: Mapping[str, Any], where: str) -> dict[str, Any]:
    full = dict(stated)
    if "design" not in full:
        return full
    design = designs().get(full["design"])
    if design is None:
        raise PromptError(f"{where}: design is {full['design']!r}, expected one of {', '.join(designs())}")
    if "presentations" in full:
        raise PromptError(f"{where}: has a design and presentations; give one of them")
    if full.setdefault("kind", design["kind"]) != design["kind"]:
        raise PromptError(f"{where}: kind is {full['kind']!r}, but design {full['design']!r} is a {design['kind']}")
    named = dict(zip(("better", "worse"), COMPARED[full.get("compare", "sentences")], strict=True))
    answers = full.get("answers", ())
    for result in answers.values() if isinstance(answers, dict) else [answers]:
        if len(result) not in (0, 2):
            raise PromptError(f"{where}: answers are {list(result)}, expected the meanings of the two options")
    if not isinstance(answers, dict):  # those of a language are filled in with its template
        named |= {f"answer_{i}": answer for i, answer in enumerate(answers, 1)}
    full["presentations"] = [_named(shown, named, full.get("options", ()), where) for shown in design["presentations"]]
    return full


def _named(shown: Mapping[str, Any], named: Mapping[str, str], options: Sequence[str], where: str) -> dict[str, Any]:
    """Return a design's presentation for this prompt: options in place of numbers, texts in place of {better}."""
    full = dict(shown)
    for key in ("correct", "first"):
        if key in full:
            if full[key] >= len(options):
                raise PromptError(f"{where}: options are {list(options)}, expected two for this design")
            full[key] = options[full[key]]
    full["slots"] = {slot: fill(text, named) for slot, text in full.get("slots", {}).items()}
    return full


def _presentation(shown: Mapping[str, Any], prompt: Mapping[str, Any], where: str) -> Presentation:
    where = f"{where}, presentation {shown['name']!r}"
    values = {key: value for key, value in shown.items() if key != "slots"}
    slots = shown.get("slots", {})
    for key in ("template", "stem"):
        text = shown.get(key, prompt.get(key, ""))
        texts = text if isinstance(text, dict) else {ANY: text}
        answers = _answers(prompt, texts, where)
        values[key] = {lang: fill(fill(text, slots), answers.get(lang, {})) for lang, text in texts.items()}
    values["source"] = (*prompt.get("source", ()), *shown.get("source", ()))
    if prompt.get("options"):
        values.setdefault("first", prompt["options"][0])
    return Presentation(**values)


def _answers(prompt: Mapping[str, Any], texts: Mapping[str, str], where: str) -> dict[str, dict[str, str]]:
    """Return what {answer_1} and {answer_2} mean in each language, where they have a meaning a language."""
    answers = prompt.get("answers", ())
    if not isinstance(answers, dict):
        return {}
    if ANY not in texts and (odd := answers.keys() ^ texts.keys()):
        raise PromptError(f"{where}: answers and templates differ in {sorted(odd)}; give both for each language")
    return {lang: {f"answer_{i}": answer for i, answer in enumerate(of_lang, 1)} for lang, of_lang in answers.items()}
