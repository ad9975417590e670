"""Batches: what goes through a model at once, less when memory runs out, and what comes back put in order.

Of a model or its configuration, without a forward pass: why it cannot follow a tree attention mask, or the longest
sequence that may be packed under one. What only a trial can tell stands in `models/self_check`.
"""

from __future__ import annotations

import bisect
import inspect
import itertools
import logging
import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.requests import WHOLE, Share
from pairbank.scoring.engine.forward import input_device, is_split, on_device
from pairbank.scoring.engine.threads import side_by_side

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from pairbank.scoring.api.model import Progress

logger = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
BUDGET_TOKENS_CPU, BUDGET_TOKENS_ACCELERATOR = 1024, 16384
"""Tokens of a pass of a masked model or an encoder-decoder, or of one that reads hidden states."""
CPU_BATCH_TOKENS = 512
"""Nodes of a forward pass on a CPU: enough for matrix products at full speed, few enough for its caches.

Not probed at load, for nothing is to be gained: SmolLM2-135M's products take 99 us a token and layer in passes of 64,
88 of 128, 84 of 256, 81 of 512, 80 of 768 and 80 of 1,024 (one AVX-512 core)."""
CUDA_BATCH_TOKENS = (4_096, 65_536)
"""Least and most nodes of a forward pass on a GPU; in between, what fits into its free memory."""
CUDA_MEMORY_SHARE = 0.4
MASKED_LAYERS = ("full_attention", "sliding_attention", "chunked_attention")
"""Kinds of layers that attend where the mask lets them; any other kind mixes tokens in its own way."""
OWN_WINDOWS = ("attention_window", "attention_window_size", "keep_window_size", "index_topk")
"""Settings of attention that picks its keys by their place in the pack, whatever the mask says."""


def default_budget(device: torch.device) -> int:
    return BUDGET_TOKENS_CPU if device.type == "cpu" else BUDGET_TOKENS_ACCELERATOR


def default_batch_tokens(model: PreTrainedModel) -> int:
    """Return how many tokens a forward pass takes: on a CPU a fixed number; on a GPU, what its free memory holds."""
    device = input_device(model)
    if device.type != "cuda":
        return CPU_BATCH_TOKENS
    config = model.config.get_text_config()
    free_bytes, _ = torch.cuda.mem_get_info(device)
    if is_split(model):
        least_free = torch.tensor(free_bytes, device=device)
        torch.distributed.all_reduce(least_free, op=torch.distributed.ReduceOp.MIN)
        free_bytes = int(least_free)
    # A token costs its logits (in the model's dtype and once more in float32), and activations of one layer
    # at a time: a few hidden-sized and feed-forward-sized rows.
    width = 12 * int(config.hidden_size) + 4 * int(getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    bytes_a_token = int(config.vocab_size) * (model.dtype.itemsize + 4) + width * model.dtype.itemsize
    least, most = CUDA_BATCH_TOKENS
    return max(least, min(most, int(CUDA_MEMORY_SHARE * free_bytes / bytes_a_token)))


class MemoryRanOutError(ScoringError, RuntimeError):
    """One input alone does not fit; around a batch of others it is as good a reason to halve that."""


def halved(error: RuntimeError, size: int, *, model_name: str, can_halve: bool = True) -> int:
    """Return half of what went through a model at once, for memory ran out, on a GPU or in the CPU's allocator."""
    if not isinstance(error, torch.OutOfMemoryError | MemoryRanOutError) and "not enough memory" not in str(error):
        raise error
    if not can_halve:
        raise MemoryRanOutError(
            f"{model_name}: out of memory, and several processes make each pass together; begin with fewer tokens "
            f"per pass (--batch-tokens {max(1, size // 2)})"
        ) from error
    if size < 2:
        raise MemoryRanOutError(
            f"{model_name}: out of memory with one sequence a pass; use a smaller dtype, quantisation, or a larger "
            "device"
        ) from error
    logger.warning("out of memory: going on with half of what went through at once, %d", size // 2)
    traceback.clear_frames(error.__traceback__)  # they hold the tensors of the pass that failed
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return size // 2


def in_batches(
    items: list[T],
    *,
    width: Callable[[T], int],
    budget_tokens: int,
    compute: Callable[[list[T]], R],
    model_name: str,
    window: float = math.inf,
    at_once: int = 1,
    ahead: int = 0,
    share: Share = WHOLE,
    numbers: Iterator[int] | None = None,
) -> Iterator[R]:
    """Compute items, shortest first in the list, in `padded_batches`, from the longest down.

    `at_once` of them are computed at once (`threads`). Out of memory halves the batch, and the run goes on; an item
    alone that does not fit is an error.
    """
    numbers = numbers or itertools.count()
    planned = padded_batches(items, width=width, budget_tokens=budget_tokens, window=window)
    batches = [batch for batch in planned if share.has(next(numbers))]
    while batches:
        results, rest = side_by_side(compute, iter(batches), n=at_once, ahead=ahead), list[T]()
        for n_done, batch in enumerate(batches):
            try:
                result = next(results)
            except RuntimeError as error:
                longest = max(1, width(batch[-1]))
                budget_tokens = halved(error, len(batch), model_name=model_name) * longest
                rest = [item for left in reversed(batches[n_done:]) for item in left]
                break
            yield result
        batches = padded_batches(rest, width=width, budget_tokens=budget_tokens, window=window)


def padded_batches(
    items: Sequence[T], *, width: Callable[[T], int], budget_tokens: int, window: float = math.inf
) -> list[list[T]]:
    """Return the batches of at most `budget_tokens`, pads included, the longest items first; `items` has them last.

    Items within the window (`packing_window`) are never in a batch with longer ones: those would switch the rotary
    embeddings of all of it. Batches depend on the items, the budget and the window alone.
    """
    result, end = [], len(items)
    n_within = bisect.bisect_right(items, window, key=width)
    while end:
        n_items = max(1, budget_tokens // max(1, width(items[end - 1])))
        start = max(n_within if end > n_within else 0, end - n_items)
        result.append(list(items[start:end]))
        end = start
    return result


def padded(
    sequences: Sequence[Sequence[int] | IntArray], *, pad_id: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sequences padded on the right, and their attention mask; both (n, longest), integers."""
    lengths = np.array([len(sequence) for sequence in sequences])
    ids = np.full((len(sequences), int(lengths.max())), pad_id, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
    return on_device(ids, device), on_device(mask, device)


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
        return np.split(self._values, self._ends[:-1]) if len(self._ends) else []


def structural_problem(model: PreTrainedModel) -> str | None:
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return "its forward pass takes no position ids"
    config = model.config.get_text_config()
    if getattr(config, "alibi", False) or getattr(config, "position_embedding_type", "") == "alibi":
        return "its ALiBi biases follow the place in the pack, not in the sequence"
    others = sorted(set(getattr(config, "layer_types", None) or ()).difference(MASKED_LAYERS))
    if others:
        return f"it has {', '.join(others)} layers, which do not read an attention mask"
    if "local" in (getattr(config, "attention_layers", None) or ()):
        return "its local attention follows the place in the pack, not in the sequence"
    windows = [name for name in OWN_WINDOWS if getattr(config, name, None)]
    return f"its attention is sparse ({windows[0]})" if windows else None


def sparse_window(config: PretrainedConfig) -> int | None:
    """Return from how many tokens on attention leaves out keys in its own way, or None if it never does."""
    text = config.get_text_config()
    sizes = [size for name in OWN_WINDOWS if isinstance(size := getattr(text, name, None), int) and size > 0]
    return min(sizes, default=None)


def packing_window(config: PretrainedConfig) -> float:
    """Return the longest sequence, in tokens, that scores the same under a tree mask; infinity if any does.

    A mask that is handed over takes the place of a layer's own, so a sequence that a sliding window or a chunk
    would cut has to go without one; so has one that switches rotary embeddings to their long form (LongRoPE),
    for that would move all others of its batch.
    """
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None)
    limits = [math.inf]
    for setting, kind in (("sliding_window", "sliding_attention"), ("attention_chunk_size", "chunked_attention")):
        size = getattr(text, setting, None)
        if size and (kinds is None or kind in kinds):
            limits.append(float(size))
    for rope in settings_tables(getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)):
        if rope.get("rope_type", rope.get("type")) == "longrope":
            original = rope.get("original_max_position_embeddings") or text.original_max_position_embeddings
            limits.append(float(original))
    return min(limits)


def settings_tables(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield a settings table and those inside it (one a kind of layer, in some configurations)."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from settings_tables(inner)
