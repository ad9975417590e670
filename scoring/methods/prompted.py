"""Prompted methods: every option after every presentation of a prompt, read as the prompt's kind says.

A forced choice or judgment weighs the log-probabilities into m_good and m_bad, in nats. A rating's are expected
ratings, in points of the scale, under the probabilities renormalised over the options; m_argmax_good and m_argmax_bad
are the most probable ratings, what greedy decoding constrained to the options writes. A prediction has m_good alone,
the log-probability of the word; so has a single sentence, whose presentations of a worse side are not asked. A
presentation that is not asked of an item has NaN in m_logprobs.

Answered examples (`Shots`) come from the items that are scored together, of the same task and language, never the item
itself nor one that shares a string with it. They depend on the seed, the item's id and the pool alone, not on the order
of the items. The right answers are balanced over the options.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import JUDGED, SIDES, ColumnKind, ScoreColumns
from pairbank.scoring.api.method import SHARD_ITEMS_PROMPTED, Answered, Row, flags_of
from pairbank.scoring.api.model import ExampleTurn, Scorer, Spelling
from pairbank.scoring.api.names import IDENTICAL_TOKENS, SENTENCE, TIE, MethodName
from pairbank.scoring.api.requests import Request
from pairbank.scoring.prompts.prompt import (
    CONCEPT_COLUMNS,
    Presentation,
    Prompt,
    fill,
    in_language,
    needed_slots,
    slot_values,
    slots_of,
)
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.prompts.toml import prompt_entry, prompt_from_entry

AFTER_EXAMPLE = "\n\n"
"""In plain text, what stands behind an answered example."""
MISSING = "missing"
"""Flag `missing:SLOT`: the item has no text for this slot of the prompt, so that it is not asked."""
POOL_COLUMNS = ("item_id", "language", "task", "context_good", "target_good", "context_bad", "target_bad")
TRIES_A_SHOT = 200


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt, and whether it is asked in a chat or after examples."""

    shard_items: ClassVar[int] = SHARD_ITEMS_PROMPTED
    of_model: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    prompt: Prompt
    in_chat: bool = False
    shots: Shots | None = None
    """Answered examples before the question."""

    @property
    def name(self) -> str:
        n_shots = self.shots.n_shots if self.shots else 0
        return str(MethodName(id=self.prompt.id, in_chat=self.in_chat, n_shots=n_shots))

    @property
    def definition(self) -> dict[str, Any]:
        prompt = self.prompt
        shots = self.shots.definition if self.shots else {}
        plain, ours = not self.in_chat and not shots, prompts().get(prompt.id)
        return {
            "paper": prompt.paper,
            "cites": list(prompt.cites),
            "sha256": prompt.sha256 if plain else sha256_of_text(prompt.sha256, str(self.in_chat), repr(shots)),
            **shots,
            "layout": self._layout(),
            **({} if ours is not None and ours.sha256 == prompt.sha256 else {"prompt": prompt_entry(prompt)}),
        }

    def _layout(self) -> dict[str, Any]:
        prompt = self.prompt
        first = [prompt.options.index(p.first) for p in prompt.presentations]
        judged = prompt.kind in JUDGED
        # of ratings, and of judgments of sentences alone
        has_sides = prompt.kind == "rating" or (prompt.kind == "judgment" and prompt.tasks == (SENTENCE,))
        return {
            "method": self.name,
            "kind": prompt.kind,
            "presentations": [p.name for p in prompt.presentations],
            "options": list(prompt.option_labels),
            "correct": [prompt.options.index(p.correct) for p in prompt.presentations] if judged else [],
            **({"first": first} if any(first) else {}),
            **({"sides": [p.side or "good" for p in prompt.presentations]} if has_sides else {}),
            **({"accuracy": prompt.accuracy} if prompt.accuracy != "averaged" else {}),
            **({"counterbalanced": False} if not prompt.counterbalanced else {}),
            **({"asked": "one"} if prompt.is_fixed_order else {}),
            **({"label": self._label()} if prompt.label else {}),
        }

    def _label(self) -> str:
        n_shots = self.shots.n_shots if self.shots else 0
        more = [*(["in chat"] if self.in_chat else []), *([f"{n_shots}-shot"] if n_shots else [])]
        return ", ".join([self.prompt.label, *more])

    @property
    def columns(self) -> dict[str, ColumnKind]:
        c = ScoreColumns(self.name)
        more = [c.first_choice] if self.prompt.kind in JUDGED else []
        more += [c.argmax(side) for side in SIDES] if self.prompt.kind == "rating" else []
        return c.kinds(c.good, c.bad, c.delta, c.logprobs, *more, c.flags)

    def applies_to(self, row: Row) -> bool:
        """The prompt's tasks and languages decide; both sides must be there unless one alone is asked about."""
        one_sided = row["task"] == SENTENCE and self.shots is None
        return (row["target_bad"] is not None or one_sided or self.prompt.kind == "prediction") and (
            self.prompt.applies_to(task=row["task"], language=row["language"])
        )

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that choose a presentation; with examples, which item it is."""
        chosen_by = {column for p in self.prompt.presentations for column in p.when}
        return tuple(sorted(chosen_by | ({"item_id"} if self.shots else set())))

    def reader(self, scorer: Scorer) -> Scorer:
        return scorer

    def unasked(self, row: Row) -> dict[str, Any]:
        results: dict[str, Any] = dict.fromkeys(self.columns)
        return results | ({ScoreColumns(self.name).flags: self.missing(row)} if self.applies_to(row) else {})

    def missing(self, row: Row) -> list[str]:
        """Return the flags that say why an item of the right kind is not asked; none where it is."""
        of_pair = row["task"] != SENTENCE
        lacking = needed_slots(self.prompt, row["language"], of_pair=of_pair) - slot_values(row).keys()
        if not any(self.asked_of(row)):  # for want of a column that decides which presentation is asked
            lacking |= {column for p in self.prompt.presentations if of_pair or not p.shows_worse for column in p.when}
        return [f"{MISSING}:{name}" for name in sorted(lacking)]

    def asked_of(self, row: Row) -> list[bool]:
        return [p.is_asked(row) for p in self.prompt.presentations]

    def shown(self, row: Row) -> list[Presentation]:
        return [p for p in self.prompt.presentations if p.is_asked(row)]

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        if self.missing(row):
            return []
        values = slot_values(row)
        prompt, chat = self.prompt, self.uses_chat(scorer)
        joint = separator_of(prompt, row["language"], chat=chat)
        answers = [fill(option, values) for option in prompt.written_options(row["language"])]
        of = f"{row['item_id']} ({self.name},"
        return [
            Request(context=context, target=joint + answer, chat=chat, where=f"{of} {p.name}, option {answer!r})")
            for p, context in zip(self.shown(row), self.contexts(row, scorer), strict=True)
            for answer in answers
        ]

    def uses_chat(self, scorer: Scorer) -> bool:
        return scorer.info.prompt_format == "chat" and (self.prompt.chat or self.in_chat)

    def contexts(self, row: Row, scorer: Scorer) -> list[str]:
        """Return, for each asked presentation, all that stands before the answer, as the model reads it."""
        values, examples = slot_values(row), self.shots.examples(self.prompt, row) if self.shots else []
        return [self._context(p, row["language"], values, scorer, examples) for p in self.shown(row)]

    def rendered(self, language: str, scorer: Scorer) -> list[dict[str, str]]:
        """Return each presentation as the model reads it, special tokens included; the item's slots stay open."""
        examples = self.shots.open_examples(self.prompt, language) if self.shots else []
        results = []
        for p in self.prompt.presentations:
            text = self._context(p, language, {}, scorer, examples)
            if isinstance(scorer, Spelling):
                text = scorer.as_read(text, chat=self.uses_chat(scorer))
            results.append({"method": self.name, "language": language, "presentation": p.name, "text": text})
        return results

    def _context(
        self, p: Presentation, language: str, values: Mapping[str, str], scorer: Scorer, examples: Sequence[Example]
    ) -> str:
        prompt = self.prompt
        user = fill(in_language(p.template, language), values)
        stem = fill(in_language(p.stem, language), values)
        chat = self.uses_chat(scorer)
        joint = separator_of(prompt, language, chat=chat)
        if chat:
            turns = [ExampleTurn(user=e.user, assistant=e.stem + joint + e.answer) for e in examples]
            return scorer.render_prompt(system=prompt.system, user=user, stem=stem, examples=turns)
        before = [plain_prompt(prompt, user=e.user, stem=e.stem) + joint + e.answer + AFTER_EXAMPLE for e in examples]
        return "".join(before) + plain_prompt(prompt, user=user, stem=stem)

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        prompt, flags = self.prompt, flags_of(answers)
        n_options = len(prompt.options)
        are_of_item = any(slots_of(option) for option in prompt.options)
        for first in range(0, len(answers), n_options):
            if len({a.request.ids for a in answers[first : first + n_options]}) < n_options:
                if are_of_item:
                    flags = list(dict.fromkeys([*flags, IDENTICAL_TOKENS]))
                    continue
                options = prompt.written_options(row["language"])
                raise ScoringError(
                    f"{row['item_id']}: options {options} of {self.name} have the same tokens with this tokenizer; use "
                    "a prompt whose options it tells apart"
                )
        asked = self.asked_of(row)
        logprobs = np.full((len(asked), n_options), np.nan)
        per = (a.request.n_scored if prompt.normalise == "tokens" else 1 for a in answers)
        nats = [a.total_nats / n for a, n in zip(answers, per, strict=True)]
        logprobs[asked] = np.array(nats).reshape(-1, n_options)
        return self.readout(logprobs.ravel().tolist(), flags, asked=asked)

    def readout(
        self, logprobs_nats: Sequence[float], flags: Sequence[str], *, asked: Sequence[bool] | None = None
    ) -> dict[str, Any]:
        prompt, c = self.prompt, ScoreColumns(self.name)
        logprobs = np.array(logprobs_nats, dtype=np.float64).reshape(1, -1, len(prompt.options))
        keep = np.ones(logprobs.shape[1], dtype=bool) if asked is None else np.array(asked)
        made = read_out(prompt, c, list(itertools.compress(prompt.presentations, keep)), logprobs[:, keep])
        results: dict[str, Any] = dict.fromkeys(self.columns)
        results |= {c.logprobs: logprobs.ravel().tolist(), c.flags: list(flags)}
        results |= {name: float(values[0]) for name, values in made.items()}
        return results if c.bad not in made else results | {c.delta: results[c.good] - results[c.bad]}


@np.errstate(invalid="ignore")  # NaN where a log-probability is, or an infinite one of a forged table
def read_out(
    prompt: Prompt, c: ScoreColumns, shown: Sequence[Presentation], logprobs: FloatArray
) -> dict[str, FloatArray]:
    """Return the columns that log-probabilities (items, presentations that are shown, options) give, but the delta."""
    if prompt.kind == "prediction":
        return {c.good: logprobs[:, 0, 0]}
    is_pair = prompt.kind == "forced_choice" or any(p.shows_worse for p in shown)  # not a sentence alone
    n_items, sides, made = len(logprobs), SIDES if is_pair else SIDES[:1], dict[str, FloatArray]()
    if prompt.kind == "rating":
        scale = np.array([float(option) for option in prompt.options])
        of_sides = {side: [p.side == side for p in shown] for side in sides}
        for read, column in ((expected_ratings, c.of), (most_probable_ratings, c.argmax)):
            points = read(logprobs.reshape(-1, len(scale)), scale).reshape(n_items, -1)
            made |= {column(side): points[:, rows].mean(axis=1) for side, rows in of_sides.items() if any(rows)}
        return made
    for side in sides:
        made[c.of(side)] = (logprobs * [getattr(p, side) for p in shown]).reshape(n_items, -1).sum(axis=1)
    best = logprobs >= logprobs.max(axis=2, keepdims=True) - TIE
    # 1 if the option shown first is the most probable, 0 if not, 1/k in a k-way tie with it
    first = best[:, range(len(shown)), [prompt.options.index(p.first) for p in shown]]
    return made | {c.first_choice: (first / best.sum(axis=2)).mean(axis=1)}


def plain_prompt(prompt: Prompt, *, user: str, stem: str) -> str:
    """Return question and stem as a model reads them as plain text; a join is kept also before a bare answer."""
    return user + prompt.join + stem if stem or prompt.join != "\n" else user


def separator_of(prompt: Prompt, language: str, *, chat: bool) -> str:
    """Return what stands before the answer: under a chat template nothing, where no stem opens the turn."""
    if not chat:
        return prompt.separator
    if prompt.chat_separator is not None:
        return prompt.chat_separator
    return prompt.separator if in_language(prompt.presentations[0].stem, language) else ""


def expected_ratings(logprobs: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the mean rating of each row under its probabilities, renormalised over the options.

    >>> expected_ratings(np.log([[0.1, 0.3], [0.2, 0.2]]), np.array([1.0, 5.0])).round(12).tolist()
    [4.0, 3.0]
    """
    weights = np.exp(logprobs - logprobs.max(axis=1, keepdims=True))
    result: FloatArray = weights @ scale / weights.sum(axis=1)
    return result


def most_probable_ratings(logprobs: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the most probable rating of each row; the mean of those that tie (within `TIE`), NaN where one is NaN."""
    top = logprobs >= logprobs.max(axis=1, keepdims=True) - TIE
    result: FloatArray = np.where(
        np.isnan(logprobs).any(axis=1), np.nan, (top @ scale) / np.maximum(top.sum(axis=1), 1)
    )
    return result


def prompt_of_definition(name: str, definition: Mapping[str, Any]) -> Prompt | None:
    """Return what a method asked, from its definition in a signature; None if it asks nothing or is unknown."""
    parts = MethodName.parsed(name)
    if "prompt" in definition:
        return prompt_from_entry(definition["prompt"], f"the signature of {name}")
    ours = prompts().get(parts.id)
    if ours is None:
        return None
    plain = sha256_of_text(ours.sha256, str(parts.in_chat), repr({})) if parts.in_chat else ours.sha256
    return ours if parts.n_shots or parts.n_samples or definition["sha256"] == plain else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One answered question."""

    user: str
    stem: str
    answer: str


class Pool:
    """The items that examples are drawn from, by task and language, in the order of their ids."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        kept = (*POOL_COLUMNS, *CONCEPT_COLUMNS.values())
        ordered = sorted(({name: row.get(name) for name in kept} for row in rows), key=lambda row: str(row["item_id"]))
        self._by_kind: dict[tuple[str, str], list[Row]] = {}
        for row in ordered:
            if row["target_bad"] is not None and len(_strings(row)) > 1:
                self._by_kind.setdefault((str(row["task"]), str(row["language"])), []).append(row)
        self.sha256 = sha256_of_text(*(repr(sorted(row.items())) for row in ordered))

    def alike(self, row: Row) -> Sequence[Row]:
        return self._by_kind.get((row["task"], row["language"]), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shots:
    """How many examples, and what they are drawn with; without a pool only the method's form is known."""

    n_shots: int
    seed: int = 0
    pool: Pool | None = None

    @property
    def definition(self) -> dict[str, Any]:
        return {"n_shots": self.n_shots, "seed": self.seed, "pool_sha256": self.pool.sha256 if self.pool else ""}

    def examples(self, prompt: Prompt, row: Row) -> list[Example]:
        if self.pool is None:
            raise ScoringError(f"{prompt.id}@{self.n_shots}shot: no pool of items to draw examples from")
        digest = hashlib.sha256(f"{self.seed} {row['item_id']}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
        chosen = self._drawn(prompt, row, self.pool.alike(row), rng)
        shown = _balanced(prompt, self.n_shots, rng)
        return [_example(prompt, p, slot_values(x), row["language"]) for p, x in zip(shown, chosen, strict=True)]

    def open_examples(self, prompt: Prompt, language: str) -> list[Example]:
        """Return examples whose texts are slots, as `{good of example 1}`."""
        shown = _balanced(prompt, self.n_shots, np.random.default_rng(self.seed))
        slots = needed_slots(prompt, language) | {"good", "bad"}
        return [
            _example(prompt, p, {slot: f"{{{slot} of example {i}}}" for slot in slots}, language)
            for i, p in enumerate(shown, 1)
        ]

    def _drawn(self, prompt: Prompt, row: Row, pool: Sequence[Row], rng: np.random.Generator) -> list[Row]:
        taken, used, chosen = _strings(row), {row["item_id"]}, list[Row]()
        needed = needed_slots(prompt, row["language"])
        for _ in range(TRIES_A_SHOT * self.n_shots if pool else 0):
            other = pool[int(rng.integers(len(pool)))]
            if other["item_id"] in used or _strings(other) & taken or not needed <= slot_values(other).keys():
                continue
            chosen.append(other)
            used.add(other["item_id"])
            taken |= _strings(other)
            if len(chosen) == self.n_shots:
                return chosen
        raise ScoringError(
            f"{row['item_id']}: found {len(chosen)} of {self.n_shots} examples for {prompt.id} among {len(pool)} items "
            f"of task {row['task']!r} in {row['language']!r}; score more items together, or ask with fewer shots"
        )


def _balanced(prompt: Prompt, n_shots: int, rng: np.random.Generator) -> list[Presentation]:
    """Return presentations in random order; in half of them the option shown first is right, or one more."""
    by_place = [[p for p in prompt.presentations if (p.correct == p.first) == is_first] for is_first in (True, False)]
    places = [shown for shown in by_place if shown]
    rounds = [places[i] for _ in range(-(-n_shots // len(places))) for i in rng.permutation(len(places))][:n_shots]
    shuffled = [rounds[i] for i in rng.permutation(n_shots)]
    return [shown[int(rng.integers(len(shown)))] for shown in shuffled]


def _example(prompt: Prompt, p: Presentation, values: Mapping[str, str], language: str) -> Example:
    return Example(
        user=fill(in_language(p.template, language), values),
        stem=fill(in_language(p.stem, language), values),
        answer=fill(dict(zip(prompt.options, prompt.written_options(language), strict=True))[p.correct], values),
    )


def _strings(row: Row) -> set[str]:
    """Return the whole strings of an item; two items that share one are not drawn for each other."""
    values = slot_values(row)
    return {values[side] for side in ("good", "bad") if side in values}
