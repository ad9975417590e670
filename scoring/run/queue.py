"""What is left to do where several workers score. In: jobs, and what workers gave or did not. Out: tasks. Pure.

A task is a job as a whole while there are many, a share of its forward passes when few are left. Shares get smaller as
what is left does ("guided self-scheduling", Polychronopoulos and Kuck 1987): a task is at most half of a worker's part
of what is left. Once all shares of a job are there, one more task makes its tables of them.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.scoring.api.requests import N_PLACES, WHOLE, Share

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.scoring.run.work import Job

LEAST_PLACES = 4
"""Of a share: smaller ones of a small unit would have no pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    job: Job
    share: Share = WHOLE
    values_nats: FloatArray | None = None
    """What all shares gave: the tables are to be made of it."""


class WorkQueue:
    def __init__(self, jobs: Sequence[Job], *, n_workers: int) -> None:
        """Begin with jobs that nobody has begun; with one worker none is divided."""
        self._waiting = deque(jobs)
        self._first_place = 0
        """Of the first job that waits: the places before are given out."""
        self._next: deque[Task] = deque()
        """Tables of what was divided, and what came back."""
        self._values_nats: dict[int, FloatArray] = {}
        self._n_workers = n_workers
        self._jobs = {job.unit: job for job in jobs}
        self._n_places_done: Counter[int] = Counter()
        self.n_deaths: Counter[int] = Counter()
        """Of workers, by unit."""

    @property
    def n_units_waiting(self) -> int:
        return len({task.job.unit for task in self._next} | {job.unit for job in self._waiting})

    @property
    def share_done(self) -> float:
        done = sum(self._jobs[unit].work * n / N_PLACES for unit, n in self._n_places_done.items())
        return done / sum(job.work for job in self._jobs.values())

    def task(self) -> Task | None:
        """Return what a worker that is free does; None where there is nothing, as yet or any more."""
        if self._next:
            return self._next.popleft()
        if not self._waiting:
            return None
        job, first, n_places = self._waiting[0], self._first_place, N_PLACES
        if self._n_workers > 1 and job.is_divisible:
            work = sum(waiting.work for waiting in self._waiting) - job.work * first / N_PLACES
            n_places = max(LEAST_PLACES, math.ceil(N_PLACES * work / (2 * self._n_workers) / job.work))
        stop = min(N_PLACES, first + n_places)
        if stop > N_PLACES - LEAST_PLACES:
            stop = N_PLACES
            self._waiting.popleft()
        self._first_place = stop % N_PLACES
        return Task(job=job, share=Share(first=first, stop=stop))

    def came_back(self, task: Task) -> None:
        self.n_deaths[task.job.unit] += 1
        self._next.appendleft(task)

    def gave(self, task: Task, values_nats: FloatArray | None) -> None:
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
