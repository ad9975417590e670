"""What the back ends share: batches, rows of logits to nats, a model left as it was.

In: logits of the rows that are read. Out: log-probabilities in nats, normalised in float32 over the model's whole
output layer whatever its dtype (DESIGN.md, correctness rule 4), as float64.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Progress

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

BUDGET_TOKENS_CPU, BUDGET_TOKENS_ACCELERATOR = 1024, 16384


def default_budget(device: torch.device) -> int:
    """Return how many tokens, pads included, one forward pass takes."""
    return BUDGET_TOKENS_CPU if device.type == "cpu" else BUDGET_TOKENS_ACCELERATOR


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether an error of torch's says that memory ran out, on a GPU or in the CPU's allocator."""
    return isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)


def in_batches(
    items: list[T], *, width: Callable[[T], int], budget_tokens: int, compute: Callable[[list[T]], R]
) -> Iterator[R]:
    """Compute items, shortest first in the list, in batches of at most `budget_tokens`, from the longest down.

    Out of memory halves the batch, and the run goes on; an item alone that does not fit is an error.
    """
    rest = list(items)
    while rest:
        longest = max(1, width(rest[-1]))
        batch = rest[-max(1, budget_tokens // longest) :]
        try:
            result = compute(batch)
        except RuntimeError as error:
            if len(batch) == 1 or not is_out_of_memory(error):
                raise
            budget_tokens = len(batch) // 2 * longest
            logger.warning("out of memory: going on with %d tokens a forward pass", budget_tokens)
            continue
        del rest[-len(batch) :]
        yield result


def padded(
    sequences: Sequence[Sequence[int] | IntArray], *, pad_id: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sequences padded on the right, and their attention mask; both (n, longest), integers."""
    lengths = np.array([len(sequence) for sequence in sequences])
    ids = np.full((len(sequences), int(lengths.max())), pad_id, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


class Answers:
    """Collects the log-probabilities of many requests, whatever order they come in, and tells of progress."""

    def __init__(self, n_scored: Sequence[int], progress: Progress) -> None:
        self._ends = np.cumsum(n_scored)
        self._starts = self._ends - np.asarray(n_scored)
        self._values = np.full(int(self._ends[-1]) if len(n_scored) else 0, np.nan)
        self._n_missing = np.asarray(n_scored).copy()
        self._progress = progress

    def slot(self, request: int, nth: int) -> int:
        """Return where the n-th scored token of a request goes."""
        return int(self._starts[request]) + nth

    def put(self, slots: IntArray, values: FloatArray) -> None:
        """Store values and report the requests that are now complete."""
        self._values[slots] = values
        owners, n_new = np.unique(np.searchsorted(self._ends, slots, side="right"), return_counts=True)
        self._n_missing[owners] -= n_new
        self._progress(int((self._n_missing[owners] == 0).sum()))

    def by_request(self) -> list[FloatArray]:
        """Return the log-probabilities of each request's scored tokens, in order."""
        return np.split(self._values, self._ends[:-1]) if len(self._ends) else []
