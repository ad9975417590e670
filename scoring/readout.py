"""What the back ends share: batches, rows of logits to nats, a model left as it was.

In: logits of the rows that are read. Out: log-probabilities in nats, normalised in float32 over the model's whole
output layer whatever its dtype (DESIGN.md, correctness rule 4), as float64.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from pairbank.errors import ScoringError
from pairbank.scoring.requests import EncodedRequest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from pairbank.scoring.backend import Progress

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - not a password
"""Flag: the tokenizer has no token for some of the target; its unknown token is scored in that place."""
SPECIAL_TOKEN = "special_token"  # noqa: S105 - not a password
"""Flag: the text holds characters (`<s>`, say) that the tokenizer reads as one of its special tokens."""
BUDGET_TOKENS_CPU, BUDGET_TOKENS_ACCELERATOR = 1024, 16384
ROWS_A_CHUNK = 512


def default_budget(device: torch.device) -> int:
    """Return how many tokens, pads included, one forward pass takes."""
    return BUDGET_TOKENS_CPU if device.type == "cpu" else BUDGET_TOKENS_ACCELERATOR


def with_unknown_flag(request: EncodedRequest, unknown_id: int | None) -> EncodedRequest:
    """Return the request, flagged where the unknown token is among those scored."""
    if unknown_id is None or unknown_id not in request.ids[request.start :]:
        return request
    return replace(request, flags=(*request.flags, UNKNOWN_TOKEN))


def text_specials(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Return the special tokens that no text should hold: all but an unknown token that is nothing else."""
    ends = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id}
    return frozenset(tokenizer.all_special_ids) - ({tokenizer.unk_token_id} - ends)


def base_prompt(*, user: str, stem: str) -> str:
    """Return a prompt as a model without chat template reads it: one line after the other."""
    return f"{user}\n{stem}" if stem else user


@contextmanager
def scoring_mode(model: PreTrainedModel) -> Iterator[None]:
    """Run in eval mode and without gradients; afterwards every module is in the mode it was in."""
    in_training = [module for module in model.modules() if module.training]
    model.train(mode=False)
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in in_training:
            module.training = True


@contextmanager
def left_as_it_was(tokenizer: PreTrainedTokenizerBase) -> Iterator[None]:
    """Undo what a tokenizer's call sets on its Rust side: truncation, padding, how special tokens are read."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        yield
        return
    truncation, padding, reads_as_text = backend.truncation, backend.padding, backend.encode_special_tokens
    try:
        yield
    finally:
        backend.encode_special_tokens = reads_as_text
        backend.no_truncation() if truncation is None else backend.enable_truncation(**truncation)
        backend.no_padding() if padding is None else backend.enable_padding(**padding)


def refuse_special_tokens(
    ids: Sequence[int],
    special: Sequence[int],
    tokenizer: PreTrainedTokenizerBase,
    *,
    where: str,
    allowed: Sequence[int] = (),
) -> None:
    """Refuse a text that has special tokens in it, which would be read as more than characters, or even scored.

    Args:
        ids: token ids of the text.
        special: 1 for each token that the tokenizer put around the text by itself.
        tokenizer: it knows the special tokens; the unknown token is not one of them here, unless it ends or begins
            texts too, as GPT-2's does.
        where: the item, for the error.
        allowed: special tokens that were put into the text on purpose, each as often as it may occur.

    Raises:
        ScoringError: there is one more.
    """
    left, known = list(allowed), text_specials(tokenizer).union(allowed)
    for token, is_around in zip(ids, special, strict=True):
        if is_around or token not in known:
            continue
        if token not in left:
            raise ScoringError(
                f"{where or 'request'}: the text has the special token {tokenizer.convert_ids_to_tokens(token)!r} in "
                "it; expected none with this model: change the item or leave it out"
            )
        left.remove(token)


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


def read_logprobs_nats(logits: torch.Tensor, *, rows: IntArray, tokens: IntArray, model_name: str) -> FloatArray:
    """Return log-softmax values in nats at (row, token).

    Args:
        logits: (n_rows, output vocabulary).
        rows: (n_reads,) the row of each read.
        tokens: (n_reads,) the token whose log-probability is read there.
        model_name: for the error.

    Raises:
        ScoringError: a value is NaN or infinite.
    """
    normaliser = torch.cat([part.float().logsumexp(-1) for part in torch.split(logits, ROWS_A_CHUNK)])
    row_index = torch.from_numpy(rows).to(logits.device)
    chosen = logits[row_index, torch.from_numpy(tokens).to(logits.device)].float()
    both = torch.stack([chosen, normaliser[row_index]]).cpu().numpy().astype(np.float64)
    return finite(both[0] - both[1], model_name)


def finite(values: FloatArray, model_name: str) -> FloatArray:
    """Return values that are numbers as they are.

    Raises:
        ScoringError: a value is NaN or infinite.
    """
    if not np.isfinite(values).all():
        raise ScoringError(
            f"model {model_name!r} gave a log-probability that is NaN or infinite; expected finite values: "
            "load it with dtype='float32', or check its weights"
        )
    return values


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
