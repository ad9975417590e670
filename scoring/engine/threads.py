"""Forward passes side by side on a CPU, each on its own share of the threads.

In: jobs and how many may run at once. Out: their results, in order. Matrix products as small as those of a language
model's layers leave threads waiting for each other; passes that have one thread each do not wait. On a GPU there is
one lane: the calling thread.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import torch

from pairbank.scoring.engine.forward import input_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

J = TypeVar("J")
R = TypeVar("R")

MOST_LANES = 16
"""Beyond these a lane gets more threads instead: Python, which only one lane at a time can run, would be the limit."""
CHANGING_ROPES = ("dynamic", "longrope")
"""Rotary embeddings that a forward pass changes in the model."""


def n_lanes(model: PreTrainedModel) -> int:
    """Return how many forward passes of a model may run at once; 1 where one might change what another reads.

    That is so for code from outside transformers, weights that move between devices or are quantised, and rotary
    embeddings that adapt to the length of what they see.
    """
    if input_device(model).type != "cpu" or not type(model).__module__.startswith("transformers."):
        return 1
    if any(hasattr(part, "_hf_hook") for part in model.modules()) or getattr(model, "hf_quantizer", None) is not None:
        return 1
    if any(kind in CHANGING_ROPES for part in model.modules() for kind in _rope_kinds(part)):
        return 1
    return min(MOST_LANES, torch.get_num_threads())


def _rope_kinds(part: torch.nn.Module) -> Iterable[object]:
    kinds = getattr(part, "rope_type", None)  # of some models one for each kind of layer
    return kinds.values() if isinstance(kinds, dict) else (kinds,)


def side_by_side(run: Callable[[J], R], jobs: Iterator[J], *, n: int) -> Iterator[R]:
    """Yield the result of each job, in order, `n` of them running at once; jobs are taken as they are needed.

    Args:
        run: what to do; it runs without gradients.
        jobs: its arguments.
        n: jobs at once; 1 = in the calling thread.

    Raises:
        Exception: what a job raised, when its turn has come; no further job has been begun then, and none still runs.
    """
    if n == 1:
        yield from map(run, jobs)
        return
    threads = torch.get_num_threads()
    pool = _pool(n, max(1, threads // n), os.getpid())
    ahead: deque[Future[R]] = deque()
    try:
        # one job waits for each that runs, so that no lane ever does
        for job in islice(jobs, 2 * n):
            ahead.append(pool.submit(_without_gradients, run, job))
        while ahead:
            yield ahead.popleft().result()
            for job in islice(jobs, 1):
                ahead.append(pool.submit(_without_gradients, run, job))
    finally:
        running = [future for future in ahead if not future.cancel()]
        for future in running:
            future.exception()


def _without_gradients(run: Callable[[J], R], job: J) -> R:
    with torch.inference_mode():  # holds for one thread only
        return run(job)


@functools.cache
def _pool(n: int, threads_each: int, _process: int) -> ThreadPoolExecutor:
    """Return the lanes of this process; they stay, for a thread that ends leaves its buffers behind."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(n, "pairbank-lane", initializer=_begin, initargs=(threads_each,))
    all_begun = threading.Barrier(n)
    for begun in [pool.submit(all_begun.wait) for _ in range(n)]:
        begun.result()
    torch.set_num_threads(threads)  # a lane's setting is also what threads begun later would get
    return pool


def _begin(n_threads: int) -> None:
    torch.get_num_threads()  # a thread's first question after this number sets it to what the process has
    torch.set_num_threads(n_threads)
