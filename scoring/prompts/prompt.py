"""A prompt: what is asked of a model, of which items, and how the log-probabilities of its answers are read.

It is sent once a presentation (an order, a side, an assignment of the answers), and every option is scored after each.
Templates, stems and options may have slots, filled from the item (`slot_values`).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from pairbank.builders.schema.columns import Task
from pairbank.builders.schema.language_tags import joined
from pairbank.errors import PairbankError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.names import SENTENCE

SLOTS = (
    *("good", "bad", "context_good", "context_bad", "context", "target_good", "target_bad", "target"),
    *("property", "word_good", "word_bad"),
)
CONCEPT_COLUMNS = {"property": "property", "word_good": "concept_good", "word_bad": "concept_bad"}
"""Slot -> the column that concept corpora have it in."""
_SLOT = re.compile(r"\{(\w*)\}")
Kind = Literal["forced_choice", "judgment", "rating", "prediction"]
ByLanguage: TypeAlias = Mapping[str, str]
"""A text for each language, by BCP-47 primary tag; `ANY` stands for all."""
ANY = "*"


def slots_of(text: str) -> tuple[str, ...]:
    return tuple(_SLOT.findall(text))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill slots in one pass, so that braces in what is filled in stay as they are; other slots are left."""
    return _SLOT.sub(lambda result: values.get(result[1], result[0]), template)


def slot_values(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that an item has for slots; a slot that it cannot fill is absent."""
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


class PromptError(PairbankError, ValueError):
    """A prompt file that breaks the registry's rules, with file, prompt, key and remedy."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Presentation:
    """One string sent to the model, and how the log-probabilities of its options are read."""

    name: str
    template: ByLanguage
    """The question, slots of the presentation filled in; the item's own are left."""
    stem: ByLanguage
    """The start of the answer; it opens the assistant's turn, or follows the question for plain text."""
    correct: str = ""
    """The option that picks the better side (forced choice, judgment)."""
    good: tuple[int | float, ...] = ()
    """Weight of each option's log-probability in the score of the better side."""
    bad: tuple[int | float, ...] = ()
    """The same for the worse side."""
    side: Literal["", "good", "bad"] = ""
    """The side shown (rating, prediction)."""
    first: str = ""
    """The option that the template shows first."""
    when: Mapping[str, str] = field(default_factory=dict)
    """Columns and the values they must have for this presentation to be asked; empty = always asked."""
    source: tuple[str, ...] = ()
    """Ids of the published prompts that this string is, word for word."""

    @functools.cached_property
    def shows_worse(self) -> bool:
        """Whether it shows the worse side, which a single sentence does not have."""
        return any("bad" in slot for text in (*self.template.values(), *self.stem.values()) for slot in slots_of(text))

    def is_asked(self, row: Mapping[str, Any]) -> bool:
        """Return whether this presentation is asked of an item: of a single sentence, if it shows one side alone."""
        if row.get("task") == SENTENCE and self.shows_worse:
            return False
        return all(str(row.get(column)) == value for column, value in self.when.items())


@dataclass(frozen=True, kw_only=True, eq=False)
class Prompt:
    """One prompted method."""

    id: str
    kind: Kind
    tasks: tuple[Task, ...]
    languages: tuple[str, ...]
    options: tuple[str, ...]
    """The answers scored after every presentation; they may have slots, as in a comparison of words."""
    options_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The options as languages write them, where they differ: `{"de": ("Ja", "Nein")}`."""
    presentations: tuple[Presentation, ...]
    system: str = ""
    join: str = "\n"
    """In plain text, what stands between question and stem."""
    separator: str = " "
    """Between what stands before the answer and the option."""
    chat_separator: str | None = None
    """The same under a chat template; None = nothing where the option opens the turn, else `separator`."""
    chat: bool = True
    """Whether instruct models read it through their chat template; False: all models read plain text."""
    readout: Literal["options", "generation"] = "options"
    """`options`: their log-probabilities; `generation`: the model writes, `pattern` finds the answer."""
    pattern: str = ""
    max_new_tokens: int = 0
    normalise: Literal["none", "tokens"] = "none"
    """`tokens`: an option's log-probability is divided by the number of its tokens."""
    accuracy: Literal["averaged", "pooled"] = "averaged"
    """The paper's own definition: of the delta averaged over presentations, or of presentations pooled."""
    counterbalanced: bool = True
    """Whether swapping good and bad in the item flips the sign of delta and changes nothing else."""
    status: Literal["published", "dropped", "ours"] = "published"
    """`dropped`: its authors left it out of their analysis; `ours`: no paper has it."""
    note: str = ""
    paper: str = "own wording"
    """Where its wording is from."""
    label: str = ""
    """What its paper calls it, as reports and figures do: `MetaQuestionSimple (Exp. 3a)`; empty = the id."""
    cites: tuple[str, ...] = ()
    """Keys of the works to cite, in `builders/data/references.bib`."""

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of all that decides what is asked, of which items, and how the answer is read."""
        decides = asdict(self)
        for key in ("paper", "note", "label", "status", "accuracy", "cites", *(["options_in"] * (not self.options_in))):
            del decides[key]
        decides["tasks"] = [task for task in self.tasks if task != SENTENCE]  # asked as a side of a pair is
        for presentation in decides["presentations"]:
            del presentation["source"]
        return sha256_of_text(json.dumps(decides, sort_keys=True, ensure_ascii=False))

    @property
    def is_fixed_order(self) -> bool:
        """Whether an item is asked in some presentations only, as its columns say."""
        return any(p.when for p in self.presentations)

    def written_options(self, language: str) -> tuple[str, ...]:
        return self.options_in.get(primary(language), self.options)

    @property
    def option_labels(self) -> tuple[str, ...]:
        """The options' names: themselves, or without the braces of their slots."""
        return tuple(option.replace("{", "").replace("}", "") for option in self.options)

    def applies_to(self, *, task: str, language: str) -> bool:
        return task in self.tasks and primary(language) in self.languages


@functools.cache
def needed_slots(prompt: Prompt, language: str, *, of_pair: bool = True) -> frozenset[str]:
    """Return the slots that an item in a language has to fill: a pair, or a single sentence."""
    shown = [p for p in prompt.presentations if of_pair or not p.shows_worse]
    texts = [in_language(text, language) for p in shown for text in (p.template, p.stem)]
    return frozenset(slot for text in (*texts, *prompt.written_options(language)) for slot in slots_of(text))


def primary(language: str) -> str:
    return language.split("-", maxsplit=1)[0].lower()


def in_language(texts: ByLanguage, language: str) -> str:
    return texts[ANY] if ANY in texts else texts[primary(language)]
