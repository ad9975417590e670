"""Forward passes side by side on a CPU, each in a thread of its own.

In: jobs and how many may run at once. Out: their results, in order. Matrix products as small as those of a language
model's layers leave threads waiting for each other; passes that have one thread each do not wait, and give the same
bytes however many there are. On a GPU there is one lane: the calling thread.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

import torch

from pairbank.scoring.engine.forward import input_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

J = TypeVar("J")
R = TypeVar("R")

MOST_LANES = 16
"""Beyond these Python, which only one lane at a time can run, would be the limit; workers go further (`run`)."""
LANES_BYTES = 2**32
"""Of the logits of all lanes together, where whole passes give theirs."""
CHANGING_ROPES = ("dynamic", "longrope")
"""Rotary embeddings that a forward pass changes in the model."""
STEADY_ENCODERS = frozenset({
    *("albert", "bert", "camembert", "deberta-v2", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"),
    *("bart", "marian", "mbart", "mt5", "pegasus", "t5", "umt5"),
})  # fmt: skip
"""Types of masked models and encoder-decoders whose forward pass keeps nothing, and masks nothing by `torch.vmap`."""


def n_lanes(model: PreTrainedModel) -> int:
    """Return how many forward passes of a model may run at once; 1 where one might change what another reads.

    That is so for code from outside transformers, weights that move between devices or are quantised, and rotary
    embeddings that adapt to the length of what they see. With one lane a pass has all threads, and how many there are
    moves its numbers in the last digits.
    """
    if input_device(model).type != "cpu" or not type(model).__module__.startswith("transformers."):
        return 1
    if any(hasattr(part, "_hf_hook") for part in model.modules()) or getattr(model, "hf_quantizer", None) is not None:
        return 1
    if any(kind in CHANGING_ROPES for part in model.modules() for kind in _rope_kinds(part)):
        return 1
    return min(MOST_LANES, torch.get_num_threads())


def encoder_lanes(model: PreTrainedModel, *, pass_tokens: int) -> int:
    """Return how many passes of a masked model or an encoder-decoder may run at once: with `n_lanes`, of known types.

    Args:
        model: the model.
        pass_tokens: of a pass that gives the logits of all its tokens; 0 = it gives few.
    """
    if model.config.model_type not in STEADY_ENCODERS:
        return 1
    n_outputs = getattr(model.config, "vocab_size", 0)
    return min(n_lanes(model), max(2, LANES_BYTES // max(1, 4 * pass_tokens * n_outputs)))


def _rope_kinds(part: torch.nn.Module) -> Iterable[object]:
    kinds = getattr(part, "rope_type", None)  # of some models one for each kind of layer
    return kinds.values() if isinstance(kinds, dict) else (kinds,)


class Once(Generic[R]):
    """A value that several jobs need: the first to ask computes it, in its own thread, and the others wait for it."""

    def __init__(self, compute: Callable[[], R]) -> None:
        self._compute, self._lock = compute, threading.Lock()
        self._found: list[R] = []

    def __call__(self) -> R:
        """Return the value."""
        with self._lock:
            if not self._found:
                self._found.append(self._compute())
        return self._found[0]


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
    pool = _pool(n, os.getpid())
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
def _pool(n: int, _process: int) -> ThreadPoolExecutor:
    """Return the lanes of this process; they stay, for a thread that ends leaves its buffers behind."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(n, "pairbank-lane", initializer=_begin)
    all_begun = threading.Barrier(n)
    for begun in [pool.submit(all_begun.wait) for _ in range(n)]:
        begun.result()
    torch.set_num_threads(threads)  # a lane's setting is also what threads begun later would get
    return pool


def _begin() -> None:
    torch.get_num_threads()  # a thread's first question after this number sets it to what the process has
    torch.set_num_threads(1)
