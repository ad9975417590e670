"""What a prompt must be: checks that explain a mistake with file, prompt, key, value and what was expected."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from pairbank.builders.schema.columns import ONE_SIDED_TASKS, TASKS
from pairbank.builders.sources.references import references
from pairbank.errors import unknown_name
from pairbank.scoring.api.names import SENTENCE
from pairbank.scoring.prompts.prompt import (
    ANY,
    Accuracy,
    Kind,
    Normalise,
    Presentation,
    Prompt,
    PromptError,
    Readout,
    Status,
)
from pairbank.scoring.prompts.slots import SLOTS, fill, slots_of

LISTS = ("tasks", "languages", "options", "answers", "source", "cites")
NUMBERS = ("good", "bad")
FLAGS = ("chat", "counterbalanced")
TABLES = ("slots", "when")
LISTS_BY_LANGUAGE = ("options_in",)
TEXT_OR_TABLE = ("template", "stem")
SWAPPED = {slot: slot.replace("good", "bad") if "good" in slot else slot.replace("bad", "good") for slot in SLOTS}


def check_types(entry: Mapping[str, Any], where: str) -> None:
    """Raise unless every value of a TOML table has the type of its key."""
    for key, value in entry.items():
        ok, expected = _checked_type(key, value)
        if not ok:
            raise PromptError(f"{where}: {key} is {value!r}, expected {expected}")


def _checked_type(key: str, value: object) -> tuple[bool, str]:
    """Return whether a value has the type of its key, and which type that is."""
    if key in LISTS_BY_LANGUAGE:
        is_table = isinstance(value, dict) and all(_is_list(one, str) for one in value.values())
        return is_table, "a table: language = list of texts"
    if key in TABLES:
        return _is_texts(value), "a table of texts"
    if key in TEXT_OR_TABLE:
        return isinstance(value, str) or _is_texts(value), "a text, or a table: language = text"
    if key in LISTS:
        return _is_list(value, str) or _is_answers(key, value), "a list of texts"
    if key in NUMBERS:
        return _is_list(value, (int, float)), "a list of numbers, one for each option"
    simple = {
        "presentations": (_is_list(value, dict), "a list of tables"),
        "max_new_tokens": (isinstance(value, int) and not isinstance(value, bool), "a whole number"),
        **dict.fromkeys(FLAGS, (isinstance(value, bool), "true or false")),
    }
    return simple.get(key, (isinstance(value, str), "a text"))


def _is_answers(key: str, value: object) -> bool:
    """Return whether it is the answers' meanings in several languages: language = list of texts."""
    return key == "answers" and isinstance(value, dict) and all(_is_list(one, str) for one in value.values())


def _is_list(value: object, member: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(x, member) and not isinstance(x, bool) for x in value)


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(x, str) for x in value.values())


def check_prompt(prompt: Prompt, where: str) -> None:
    """Raise unless the parts of a prompt fit each other.

    Raises:
        PromptError: with the key at fault and what was expected.
    """
    for key, known in (
        ("kind", Kind),
        ("readout", Readout),
        ("normalise", Normalise),
        ("accuracy", Accuracy),
        ("status", Status),
    ):
        value = getattr(prompt, key)
        if value not in get_args(known):
            raise PromptError(f"{where}: {key} is {value!r}, expected one of {', '.join(get_args(known))}")
    if bad := [task for task in prompt.tasks if task not in TASKS]:
        raise PromptError(f"{where}: unknown task(s) {bad}; known: {', '.join(TASKS)}")
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
    if prompt.kind == "rating" and {p.side for p in prompt.presentations} != (
        {"good", "bad"} if of_pairs else {"good"}
    ):
        expected = 'of side = "good" and of side = "bad"' if of_pairs else 'of side = "good" alone'
        raise PromptError(f"{where}: a rating of {', '.join(prompt.tasks)} needs presentations {expected}")


def _check_options(prompt: Prompt, where: str) -> None:
    least = 1 if prompt.kind == "prediction" else 2
    if len(prompt.options) < least or len(set(prompt.options)) < len(prompt.options):
        what = "one option" if least == 1 else "two different options"
        raise PromptError(f"{where}: options are {list(prompt.options)}, expected at least {what}")
    if bad := [slot for option in prompt.options for slot in slots_of(option) if slot not in SLOTS]:
        raise PromptError(f"{where}: an option has the slot {bad[0]!r}, expected one of {', '.join(SLOTS)}")
    for language, options in prompt.options_in.items():
        if language not in prompt.languages or len(set(options)) != len(prompt.options):
            raise PromptError(
                f"{where}: options_in has {language} = {list(options)}, expected {len(prompt.options)} different "
                f"options for one of {', '.join(prompt.languages)}"
            )
    if prompt.readout == "options":
        _check_beginnings(prompt, where)
    if prompt.kind == "rating" and not all(re.fullmatch(r"-?\d+(\.\d+)?", option) for option in prompt.options):
        raise PromptError(f"{where}: options are {list(prompt.options)}, expected numbers, which a rating averages")


def _check_beginnings(prompt: Prompt, where: str) -> None:
    """Raise if an option begins another one: its log-probability would include the other's."""
    for language in prompt.languages:
        written = prompt.written_options(language)
        for short, long in itertools.permutations(written, 2):
            if long.startswith(short) and not slots_of(short):
                raise PromptError(
                    f"{where}: option {short!r} begins option {long!r}, so that its probability includes the other's; "
                    f'give each an end (options_in = {{ {language} = ["{short}/…", …] }}), or let the model write '
                    '(readout = "generation")'
                )


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
    asked = Counter(_asked(p, prompt, swapped=False) for p in prompt.presentations)
    return asked == Counter(_asked(p, prompt, swapped=True) for p in prompt.presentations)


def _asked(p: Presentation, prompt: Prompt, *, swapped: bool) -> str:
    """Return what a presentation sends and how it is read, as one text."""
    other = {slot: f"{{{name}}}" for slot, name in SWAPPED.items()} if swapped else {}
    texts = {
        key: [(lang, fill(text, other)) for lang, text in sorted(getattr(p, key).items())] for key in TEXT_OR_TABLE
    }
    good, bad = (p.bad, p.good) if swapped else (p.good, p.bad)
    weights = zip(prompt.options, good, bad, strict=True) if good else ()
    side = SWAPPED.get(p.side, "") if swapped else p.side
    return repr((texts, sorted((fill(option, other), g, b) for option, g, b in weights), side))
