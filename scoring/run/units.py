"""Units of work, the same for every process: what a unit's numbers are depends on nothing but the unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pairbank.errors import ScoringError
from pairbank.scoring.api.method import Method

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    number: int
    start: int
    stop: int
    """One past the last item."""
    methods: tuple[Method, ...]

    @property
    def n_items(self) -> int:
        return self.stop - self.start


def units_of(n_items: int, methods: Sequence[Method]) -> list[Unit]:
    """Return the units of a run: prompts share instructions, so methods of one shard size go together."""
    results: list[Unit] = []
    for size in sorted({method.shard_items for method in methods}, reverse=True):
        together = tuple(method for method in methods if method.shard_items == size)
        for start in range(0, n_items, size):
            results.append(Unit(number=len(results), start=start, stop=min(start + size, n_items), methods=together))
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    number: int
    """From 1."""
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def chosen(self, units: Iterable[T], *, n_before: int = 0) -> list[T]:
        """Return this part's units: every n-th one, so that parts are alike in work.

        >>> Part(number=2, of=3).chosen("abcdefg"), Part(number=2, of=3).chosen("abcdefg", n_before=1)
        (['b', 'e'], ['a', 'd', 'g'])
        """
        return [unit for place, unit in enumerate(units, n_before) if place % self.of == self.number - 1]


def part_named(text: str) -> Part:
    result = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    if result is None or not 1 <= int(result[1]) <= int(result[2]):
        raise ScoringError(f"part {text!r}; expected I/N with I from 1 to N, as in 2/8")
    return Part(number=int(result[1]), of=int(result[2]))
