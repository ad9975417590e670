"""Units of work: shards of items by the methods that are scored together, in a fixed order; and who gets which next.

In: how many items, which methods. Out: units and parts of them, the same for every process that asks. What a unit's
numbers are depends on nothing but the unit, so that it does not matter who scores it, and when.

Where several workers score, `WorkQueue` has what is left to do. In: jobs, and what workers gave or did not. Out: tasks:
a job as a whole while there are many, a share of its forward passes when few are left, so that no worker waits long for
the last. Pure: it knows no worker.

Shares get smaller as what is left does ("guided self-scheduling", Polychronopoulos and Kuck 1987): a task is at most
half of a worker's part of what is left. Once all shares of a job are there, one more task makes its tables of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.method import Method, WritingMethod
from pairbank.scoring.api.requests import N_PLACES, WHOLE, Share
from pairbank.scoring.run.shard import Job

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.api.requests import EncodedRequest, Request


MOST_LOOKED_AT = 96
"""Items of a corpus, evenly spread, that are looked at for the methods scored together."""
TOKENS_OF_WRITING = 400
"""For an item whose answer is written."""
_LEAST = 1.0


def efforts(
    units: Sequence[Unit], item: Callable[[int], Mapping[str, Any]], n_items: int, reader: Scorer
) -> list[float]:
    """Return the work of each unit, in no particular measure."""
    places = range(0, n_items, max(1, -(-n_items // MOST_LOOKED_AT)))
    by_methods: dict[tuple[str, ...], dict[int, float]] = {}
    results = []
    for unit in units:
        key = tuple(method.name for method in unit.methods)
        if key not in by_methods:
            by_methods[key] = {place: _of_item(item(place), unit.methods, reader) for place in places}
        costs = by_methods[key]
        own_values = [cost for place, cost in costs.items() if unit.start <= place < unit.stop] or list(costs.values())
        results.append(max(_LEAST, unit.n_items * sum(own_values) / len(own_values)))
    return results


def _of_item(row: Mapping[str, Any], methods: Sequence[Method], reader: Scorer) -> float:
    """Return the tokens that an item takes: those that requests share count once, where the model reads on."""
    requests: list[Request] = []
    n_written = 0
    for method in methods:
        if not method.applies_to(row):
            continue
        if isinstance(method, WritingMethod):
            n_written += TOKENS_OF_WRITING
        else:
            requests += method.requests(row, reader)
    encoded = reader.encode(requests) if requests else []
    return n_written + (sum(map(_of_masked, encoded)) if reader.info.pll else _of_causal(encoded))


def _of_causal(encoded: Sequence[EncodedRequest]) -> int:
    return n_beginnings([entry.ids for entry in encoded])


def n_beginnings(sequences: Sequence[tuple[int, ...]]) -> int:
    """Return how many different beginnings some sequences have: a pass that shares them reads one token for each.

    >>> n_beginnings([(1, 2, 3), (1, 2, 4), (1, 2)])
    4
    """
    ordered = sorted(set(sequences))
    return sum(map(len, ordered)) - sum(_n_shared(a, b) for a, b in pairwise(ordered))


def _n_shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    differing = (k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differing, min(len(a), len(b)))


def _of_masked(entry: EncodedRequest) -> int:
    """Each token that is scored is a sequence of its own."""
    return len(entry.ids) * entry.n_scored


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Some items, by the methods of one shard size."""

    number: int
    start: int
    stop: int
    """One past the last item."""
    methods: tuple[Method, ...]

    @property
    def n_items(self) -> int:
        """How many items."""
        return self.stop - self.start


def units_of(n_items: int, methods: Sequence[Method]) -> list[Unit]:
    """Return the units of a run: prompts share instructions, so methods of one shard size go together."""
    results: list[Unit] = []
    for size in sorted({method.shard_items for method in methods}, reverse=True):
        together = tuple(method for method in methods if method.shard_items == size)
        for start in range(0, n_items, size):
            results.append(
                Unit(number=len(results), start=start, stop=min(start + size, n_items), methods=together),
            )
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of several parts of a run, which are scored apart and meet in the store."""

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
    """Return a part by its name.

    >>> part_named("2/8")
    Part(number=2, of=8)
    """
    result = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    if result is None or not 1 <= int(result[1]) <= int(result[2]):
        raise ScoringError(f"part {text!r}; expected I/N with I from 1 to N, as in 2/8")
    return Part(number=int(result[1]), of=int(result[2]))


LEAST_PLACES = 4
"""Of a share: smaller ones of a small unit would have no pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one worker does next."""

    job: Job
    share: Share = WHOLE
    values_nats: FloatArray | None = None
    """What all shares gave: the tables are to be made of it."""

    @property
    def gives_tables(self) -> bool:
        """The job is done with it; else it gives values."""
        return self.share.is_whole


class WorkQueue:
    """What is left to do."""

    def __init__(self, jobs: Sequence[Job], *, n_workers: int) -> None:
        """Begin with jobs that nobody has begun; with one worker none is divided."""
        self._waiting = deque(jobs)
        self._first_place = 0
        """Of the first job that waits: the places before are given out."""
        self._next: deque[Task] = deque()
        """Tables of what was divided, and what came back."""
        self._values_nats: dict[int, FloatArray] = {}
        """What shares gave, by unit."""
        self._n_workers = n_workers
        self._jobs = {job.unit: job for job in jobs}
        self._n_places_done: Counter[int] = Counter()
        self.n_deaths: Counter[int] = Counter()
        """Of workers, by unit."""

    @property
    def n_units_waiting(self) -> int:
        """Units of which something is not given out."""
        return len({task.job.unit for task in self._next} | {job.unit for job in self._waiting})

    @property
    def share_done(self) -> float:
        """Of the work, from 0 to 1."""
        done = sum(self._jobs[unit].work * n / N_PLACES for unit, n in self._n_places_done.items())
        return done / sum(job.work for job in self._jobs.values())

    def task(self) -> Task | None:
        """Return what a worker that is free does; None where there is nothing, as yet or any more."""
        if self._next:
            return self._next.popleft()
        if not self._waiting:
            return None
        job, first = self._waiting[0], self._first_place
        stop = min(N_PLACES, first + self._n_places_of(job))
        if stop > N_PLACES - LEAST_PLACES:
            stop = N_PLACES
            self._waiting.popleft()
        self._first_place = stop % N_PLACES
        return Task(job=job, share=Share(first=first, stop=stop))

    def _n_places_of(self, job: Job) -> int:
        """Return how much of the first job a worker gets."""
        if self._n_workers == 1 or not job.is_divisible:
            return N_PLACES
        work = sum(entry.work for entry in self._waiting) - job.work * self._first_place / N_PLACES
        fair = work / (2 * self._n_workers)
        return max(LEAST_PLACES, math.ceil(N_PLACES * fair / job.work))

    def came_back(self, task: Task) -> None:
        """Take a task back whose worker died."""
        self.n_deaths[task.job.unit] += 1
        self._next.appendleft(task)

    def gave(self, task: Task, values_nats: FloatArray | None) -> None:
        """Take note of what a worker did; what no share gave, one worker computes as a whole."""
        unit = task.job.unit
        if values_nats is None:
            self._n_places_done[unit] = N_PLACES
            return
        self._n_places_done[unit] += task.share.n_places
        before = self._values_nats.get(unit, values_nats)
        self._values_nats[unit] = np.where(np.isnan(values_nats), before, values_nats)
        if self._n_places_done[unit] == N_PLACES:
            all_nats = self._values_nats.pop(unit)
            self._next.append(Task(job=task.job, values_nats=None if np.isnan(all_nats).any() else all_nats))
