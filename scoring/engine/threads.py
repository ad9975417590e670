"""Forward passes side by side on a CPU, each in a thread of its own; on a GPU one pass, in the calling thread.

Matrix products as small as those of a language model's layers leave threads waiting for each other; passes that have
one thread each do not wait, and give the same bytes however many there are.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

import torch

from pairbank.scoring.engine.forward import input_device, is_split

if TYPE_CHECKING:
    from transformers import PreTrainedModel

J = TypeVar("J")
R = TypeVar("R")
PASSES_AHEAD = 2
"""Passes that a device has to do, beside the one whose numbers the host waits for."""
MOST_PARALLEL = 16
"""Beyond these Python, which only one pass at a time can run, would be the limit; workers go further (`run`)."""
PARALLEL_BYTES = 2**32
"""Of the logits of all parallel passes together, where whole passes give theirs."""
CHANGING_ROPES = ("dynamic", "longrope")
"""Rotary embeddings that follow the longest text of a batch: a forward pass changes them in the model."""
STEADY_ENCODERS = frozenset(
    {
        *("albert", "bert", "camembert", "deberta-v2", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"),
        *("bart", "marian", "mbart", "mt5", "pegasus", "t5", "umt5"),
    }
)
"""Types of masked models and encoder-decoders whose forward pass keeps nothing, and masks nothing by `torch.vmap`."""


def n_parallel_passes(model: PreTrainedModel) -> int:
    """Return how many forward passes of a model may run at once; 1 where one might change what another reads.

    That is so for code from outside transformers, weights that move between devices or are quantised, and rotary
    embeddings that adapt to the length of what they see. With one pass a pass has all threads, and how many there are
    moves its numbers in the last digits.
    """
    if input_device(model).type != "cpu" or not type(model).__module__.startswith("transformers.") or is_split(model):
        return 1
    if any(hasattr(part, "_hf_hook") for part in model.modules()) or getattr(model, "hf_quantizer", None) is not None:
        return 1
    if any(kind in CHANGING_ROPES for part in model.modules() for kind in _rope_kinds(part)):
        return 1
    return min(MOST_PARALLEL, torch.get_num_threads())


def n_parallel_encoder_passes(model: PreTrainedModel, pass_tokens: int) -> int:
    """Return how many passes of a masked model or an encoder-decoder may run at once, of known types."""
    if model.config.model_type not in STEADY_ENCODERS:
        return 1
    n_outputs = getattr(model.config, "vocab_size", 0)
    return min(n_parallel_passes(model), max(2, PARALLEL_BYTES // max(1, 4 * pass_tokens * n_outputs)))


def _rope_kinds(part: torch.nn.Module) -> Iterable[object]:
    kinds = getattr(part, "rope_type", None)  # of some models one for each kind of layer
    return kinds.values() if isinstance(kinds, dict) else (kinds,)


class Once(Generic[R]):
    """A value that several jobs need: the first to ask computes it, in its own thread, and the others wait for it."""

    def __init__(self, compute: Callable[[], R]) -> None:
        self._compute, self._lock = compute, threading.Lock()
        self._result: list[R] = []

    def __call__(self) -> R:
        with self._lock:
            if not self._result:
                self._result.append(self._compute())
        return self._result[0]


class UnderWay(Generic[J, R]):
    def __init__(self, run: Callable[[J], R], jobs: Iterator[J], *, n: int, ahead: int = 0) -> None:
        self._run, self._jobs, self._n = run, jobs, n
        # one job waits for each that runs, so that no pass ever does
        self._most = 2 * n if n > 1 else 1 + ahead
        self._begun: deque[Future[R]] = deque()
        self.all_begun = False
        """Whether no job is left that is not under way."""

    def fill(self) -> None:
        """Begin jobs until as many are under way as may be."""
        while not self.all_begun and len(self._begun) < self._most:
            for job in self._jobs:
                self._begun.append(self._future(job))
                break
            else:
                self.all_begun = True

    def _future(self, job: J) -> Future[R]:
        if self._n > 1:
            return _pool(self._n, os.getpid()).submit(_without_gradients, self._run, job)
        future: Future[R] = Future()
        try:
            future.set_result(self._run(job))
        except RuntimeError as error:  # what was begun before has its turn first; nothing is begun after it
            future.set_exception(error)
            self.all_begun = True
        return future

    @property
    def n_under_way(self) -> int:
        """How many results are still to come of what has begun."""
        return len(self._begun)

    def __iter__(self) -> UnderWay[J, R]:
        return self

    def __next__(self) -> R:
        self.fill()
        if not self._begun:
            raise StopIteration
        return self._begun.popleft().result()

    def stop(self) -> None:
        """Begin nothing more, and wait until nothing runs."""
        self.all_begun = True
        running = [future for future in self._begun if not future.cancel()]
        for future in running:
            future.exception()
        self._begun.clear()


def side_by_side(run: Callable[[J], R], jobs: Iterator[J], *, n: int, ahead: int = 0) -> Iterator[R]:
    """Yield the result of each job, in order; the arguments are those of `UnderWay`."""
    under_way = UnderWay(run, jobs, n=n, ahead=ahead)
    try:
        yield from under_way
    finally:
        under_way.stop()


def _without_gradients(run: Callable[[J], R], job: J) -> R:
    with torch.inference_mode():  # holds for one thread only
        return run(job)


@functools.cache
def _pool(n: int, _process: int) -> ThreadPoolExecutor:
    """Return the parallel passes of this process; they stay, for a thread that ends leaves its buffers behind."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(n, "pairbank-pass", initializer=_begin)
    all_begun = threading.Barrier(n)
    for begun in [pool.submit(all_begun.wait) for _ in range(n)]:
        begun.result()
    torch.set_num_threads(threads)  # a pass's setting is also what threads begun later would get
    return pool


def _begin() -> None:
    torch.get_num_threads()  # a thread's first question after this number sets it to what the process has
    torch.set_num_threads(1)
