"""Answered examples before a question: which items, in which presentation, and how they are written.

Examples come from the items that are scored together, of the same task and language, never the item itself nor one
that shares a string with it. They depend on the seed, the item's id and the pool alone: not on the order of the
items, nor on how they are sharded. The right answers are balanced over the options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.method import Row
from pairbank.scoring.prompts.prompt import CONCEPT_COLUMNS, Presentation, Prompt, fill, in_language, needs, slot_values

POOL_COLUMNS = ("item_id", "language", "task", "context_good", "target_good", "context_bad", "target_bad")
TRIES_A_SHOT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One answered question."""

    user: str
    stem: str
    answer: str
    """The option that is right."""


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
        """Return the items of the same task and language."""
        return self._by_kind.get((row["task"], row["language"]), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shots:
    """How many examples, and what they are drawn with; without a pool only the method's form is known."""

    n_shots: int
    seed: int = 0
    pool: Pool | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """What the signature records."""
        return {"n_shots": self.n_shots, "seed": self.seed, "pool_sha256": self.pool.sha256 if self.pool else ""}

    def examples(self, prompt: Prompt, row: Row) -> list[Example]:
        """Return the examples for one item.

        Raises:
            ScoringError: the pool does not have enough other items that the prompt can be asked of.
        """
        if self.pool is None:
            raise ScoringError(f"{prompt.id}@{self.n_shots}shot: no pool of items to draw examples from")
        digest = hashlib.sha256(f"{self.seed} {row['item_id']}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
        chosen = self._drawn(prompt, row, self.pool.alike(row), rng)
        shown = _balanced(prompt, self.n_shots, rng)
        return [_example(prompt, p, other) for p, other in zip(shown, chosen, strict=True)]

    def _drawn(self, prompt: Prompt, row: Row, pool: Sequence[Row], rng: np.random.Generator) -> list[Row]:
        taken, used, chosen = _strings(row), {row["item_id"]}, list[Row]()
        needed = needs(prompt, row["language"]).slots
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


def _example(prompt: Prompt, p: Presentation, row: Row) -> Example:
    values, language = slot_values(row), row["language"]
    return Example(
        user=fill(in_language(p.template, language), values),
        stem=fill(in_language(p.stem, language), values),
        answer=fill(dict(zip(prompt.options, prompt.written_options(language), strict=True))[p.correct], values),
    )


def _strings(row: Row) -> set[str]:
    """Return the whole strings of an item; two items that share one are not drawn for each other."""
    values = slot_values(row)
    return {values[side] for side in ("good", "bad") if side in values}
