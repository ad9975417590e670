"""Masked language models: pseudo-log-likelihood, each target token hidden in turn and read from both sides.

Of each token of the target it is log P(token | everything that is not hidden), in nats. Two variants:

- `original` hides the token alone (Salazar et al. 2020, "Masked Language Model Scoring", equation 2);
- `within_word_l2r` hides the later tokens of its word too, so that a long word's pieces do not give each other
  away (Kauf & Ivanova 2023, "A Better Way to Do Masked Language Model Scoring", section 3).

Context and target are one input between the model's own special tokens, which are never scored. What
looks like a special token in an item ("[MASK]") is read as characters. A word is what the tokenizer's pre-tokenizer
makes one (`word_ids`), cut at whitespace besides: BERT splits "don't" into three words and makes every Chinese
character a word; XLM-R splits at whitespace only, so that an unspaced Chinese sentence is one word.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import ModelInfo, Progress
from pairbank.scoring.api.names import UNKNOWN_TOKEN
from pairbank.scoring.api.requests import EncodedRequest, Request, Share, encoded
from pairbank.scoring.engine.batching import Answers, in_batches, padded
from pairbank.scoring.engine.forward import Reading, on_device, scoring_mode
from pairbank.scoring.engine.logprobs import read_logprobs_nats
from pairbank.scoring.engine.threads import PASSES_AHEAD, n_parallel_encoder_passes
from pairbank.scoring.models.batch_check import REFUSALS, allowed_nats
from pairbank.scoring.models.local import EncoderScorer
from pairbank.scoring.models.tokenizing import left_as_it_was, refuse_special_tokens, word_ends

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Pll: TypeAlias = Literal["original", "within_word_l2r"]
SELF_CHECK = "a b"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedRequest(EncodedRequest):
    """The input up to the target's last token, special tokens first; tokens from `start` on are scored."""

    suffix: tuple[int, ...]
    """Special tokens that close the input, [SEP] for one; read by the model, never scored."""
    word_ends: tuple[int, ...]
    """For each scored token, one past the last position of its word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """One input with something hidden, and where it is read; `request` and `position` are enough to make it."""

    request: MaskedRequest
    position: int
    key: bytes
    reads: list[tuple[int, int]]
    """(slot of the answer, token read): minimal pairs that differ in the hidden word alone share a copy."""

    @property
    def length(self) -> int:
        return len(self.request.ids) + len(self.request.suffix)


class MaskedScorer(EncoderScorer):
    """Scores with a masked transformers model. Build it with `pairbank.load_model`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        info: ModelInfo,
        *,
        pll: Pll = "original",
        budget_tokens: int | None = None,
    ) -> None:
        super().__init__(model, tokenizer, replace(info, pll=pll), body=model.base_model, budget_tokens=budget_tokens)
        self.pll: Pll = pll
        self._mask_id = cast("int", tokenizer.mask_token_id)
        self._read = threading.local()  # `columns`: where the pass of this thread is read
        self._head_on_rows = False
        self._head_on_rows = self._head_takes_rows()

    def _encoded(self, requests: Sequence[Request]) -> list[MaskedRequest]:
        texts = [request.context + request.target for request in requests]
        wanted = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "split_special_tokens": True}
        with left_as_it_was(self.tokenizer):
            encoding = self.tokenizer(texts, verbose=False, **wanted)
        columns = (encoding["input_ids"], encoding["offset_mapping"], encoding["special_tokens_mask"])
        return [
            self._placed(*parts, encoding.word_ids(i)) for i, parts in enumerate(zip(requests, *columns, strict=True))
        ]

    def _placed(
        self,
        request: Request,
        ids: Sequence[int],
        offsets: Sequence[tuple[int, int]],
        special: Sequence[int],
        word_ids: Sequence[int | None],
    ) -> MaskedRequest:
        first = next((i for i, is_special in enumerate(special) if not is_special), len(ids))
        last = next((i for i in range(len(ids), first, -1) if not special[i - 1]), first)
        refuse_special_tokens(ids, special, self.tokenizer, where=request.where)
        # The boundary rule is that of all back ends; a stand-in goes where it puts a BOS, since here the first
        # token can be scored even with nothing before it.
        placed = encoded(ids[first:last], offsets[first:last], request, bos_id=self._mask_id)
        start = placed.start - 1 + first
        text = request.context + request.target
        ends = word_ends(text, offsets[first:last], word_ids[first:last])
        is_unknown = self.tokenizer.unk_token_id in ids[start:last]
        return MaskedRequest(
            ids=tuple(ids[:last]),
            start=start,
            flags=(*placed.flags, UNKNOWN_TOKEN) if is_unknown else placed.flags,
            offsets=placed.offsets,
            suffix=tuple(ids[last:]),
            word_ends=tuple(end + first for end in ends[start - first :]),
        )

    def _results(self, requests: Sequence[EncodedRequest], share: Share, progress: Progress) -> list[FloatArray]:
        answers = Answers([request.n_scored for request in requests], progress)
        copies = sorted(self._copies(requests, answers), key=lambda copy: (copy.length, copy.key))
        with scoring_mode(self.model), self._head_of_rows():
            for slots, read in in_batches(
                copies,
                width=lambda copy: copy.length,
                budget_tokens=1 if self.one_at_a_time else self.budget_tokens,
                compute=self._batch,
                model_name=self.info.name,
                at_once=n_parallel_encoder_passes(self.model, 0 if self._head_on_rows else self.budget_tokens),
                ahead=PASSES_AHEAD,
                share=share,
            ):
                answers.put(slots, read())
        return answers.by_request()

    def _copies(self, requests: Sequence[EncodedRequest], answers: Answers) -> list[_Copy]:
        copies: dict[bytes, _Copy] = {}
        for number, request in enumerate(requests):
            if not isinstance(request, MaskedRequest):
                raise ScoringError(f"{self.info.name}: got a request that this scorer's encode did not make")
            for position in range(request.start, len(request.ids)):
                content = self._masked(request, position).tobytes() + position.to_bytes(8, "little")
                key = hashlib.blake2b(content, digest_size=16).digest()
                copy = copies.setdefault(key, _Copy(request=request, position=position, key=key, reads=[]))
                copy.reads.append((answers.slot(number, position - request.start), request.ids[position]))
        return list(copies.values())

    def _masked(self, request: MaskedRequest, position: int) -> IntArray:
        masked = np.array(request.ids + request.suffix, dtype=np.int64)
        end = position + 1 if self.pll == "original" else request.word_ends[position - request.start]
        masked[position:end] = self._mask_id
        return masked

    def _batch(self, copies: list[_Copy]) -> tuple[IntArray, Reading]:
        inputs = [self._masked(copy.request, copy.position) for copy in copies]
        logits = self._row_logits(inputs, [copy.position for copy in copies])
        reads = [(row, slot, token) for row, copy in enumerate(copies) for slot, token in copy.reads]
        rows, slots, tokens = np.array(reads, dtype=np.int64).T.copy()
        return slots, read_logprobs_nats(logits, rows=rows, tokens=tokens, model_name=self.info.name)

    def _row_logits(self, inputs: Sequence[IntArray], positions: Sequence[int]) -> torch.Tensor:
        ids, mask = padded(inputs, pad_id=self._pad_id, device=self.model.device)
        columns = on_device(np.array(positions, dtype=np.int64), self.model.device)
        self._read.columns = columns
        logits: torch.Tensor = self.model(input_ids=ids, attention_mask=mask).logits
        if self._head_on_rows:
            return logits[:, 0]
        return logits[torch.arange(len(ids), device=logits.device), columns.to(logits.device)]

    @contextmanager
    def _head_of_rows(self) -> Iterator[None]:
        """Give the head one hidden row of each input, the one that is read; the model's own head path does the rest."""
        if not self._head_on_rows:
            yield
            return

        def keep(_module: torch.nn.Module, _args: Any, output: Any) -> Any:  # noqa: ANN401 - a ModelOutput
            hidden = output["last_hidden_state"]
            rows = torch.arange(len(hidden), device=hidden.device)
            output["last_hidden_state"] = hidden[rows, self._read.columns.to(hidden.device)][:, None]
            return output

        handle = self.model.base_model.register_forward_hook(keep)
        try:
            yield
        finally:
            handle.remove()

    def _head_takes_rows(self) -> bool:
        """Return whether the model's head, given the hidden rows that are read, gives the logits of those rows."""
        (request,) = self._encoded([Request(context="", target=SELF_CHECK)])
        positions = range(request.start, len(request.ids))
        inputs = [self._masked(request, position) for position in positions]
        with scoring_mode(self.model):
            try:
                whole = self._row_logits(inputs, positions)
                self._head_on_rows = True
                with self._head_of_rows():
                    rows = self._row_logits(inputs, positions)
            except REFUSALS:
                return False
            finally:
                self._head_on_rows = False
        is_same = rows.shape == whole.shape
        return is_same and bool((rows.float() - whole.float()).abs().max() <= allowed_nats(self.model.dtype))


def longest_text(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, max_length: int | None) -> int | None:
    """Return how many tokens of text fit between an opening special token and the closing ones; None: no limit."""
    limits = [] if max_length is None else [max_length]
    stated = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if stated is not None and stated > 0:
        limits.append(int(stated))
    for name, module in model.base_model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # those of the RoBERTa family lose the rows up to the padding index
            unusable = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - unusable)
    with left_as_it_was(tokenizer):
        special = tokenizer(SELF_CHECK, return_special_tokens_mask=True)["special_tokens_mask"]
    n_closing = next((i for i, is_special in enumerate(reversed(special)) if not is_special), 0)
    return min(limits) - n_closing - 1 if limits else None
