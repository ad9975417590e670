"""Encoder-decoders: log P in nats of label tokens, teacher-forced; such a model has no log P(sentence).

`sentinel`, for T5 and its kin, is Hu & Levy 2023 (section 3.3) as their code has it, the tokenizer's `</s>` included
at the end of every input and label:

- a whole sentence (no context): one final "." is dropped, the rest cut at single spaces. For each word the encoder
  reads the sentence with `<extra_id_0>` in the word's place, and the label is `w <extra_id_0>` for the first word
  (also where it is the only word), `<extra_id_0> w` for the last and `<extra_id_0> w <extra_id_1>` for those between.
  The words' own tokens are summed, sentinels and `</s>` are not. Text without spaces is one word.
- a continuation: the encoder reads the context, a space (which T5's tokenizer drops) and `<extra_id_0>`; the label
  is `<extra_id_0> continuation`. All of the label after the sentinel is summed, **its `</s>` included**.

`conditional`, for models without sentinels (BART): the encoder reads the context (none: flag `blank_context`), the
decoder's text is the target, its `</s>` not scored; a forced BOS or what the tokenizer puts before a target (BART's
`<s>`, a language code) stands before it, unscored. The decoder begins with the model's `decoder_start_token_id`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import Ask, Continuation, ModelInfo, OverLength, Progress
from pairbank.scoring.api.names import UNKNOWN_TOKEN
from pairbank.scoring.api.requests import EncodedRequest, Request, Share
from pairbank.scoring.engine.batching import Answers, in_batches, padded
from pairbank.scoring.engine.forward import Reading, on_device, scoring_mode
from pairbank.scoring.engine.logprobs import read_logprobs_nats
from pairbank.scoring.engine.threads import PASSES_AHEAD, n_parallel_encoder_passes
from pairbank.scoring.models.generation import Decoder
from pairbank.scoring.models.local import EncoderScorer
from pairbank.scoring.models.tokenizing import left_as_it_was, refuse_special_tokens

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

Seq2SeqMode: TypeAlias = Literal["sentinel", "conditional"]
GAP, AFTER = "<extra_id_0>", "<extra_id_1>"
"""In the place of what is left out, and behind it: T5's first two sentinels."""
BLANK_CONTEXT = "blank_context"
"""Flag: no context in `conditional` mode; the encoder read an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One encoder input and one label; the decoder reads its start token and the label's tokens but the last."""

    encoder_ids: tuple[int, ...]
    labels: tuple[int, ...]
    scored: tuple[int, ...]
    """Positions in `labels` that are scored, in order; nothing stands after the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seq2SeqRequest(EncodedRequest):
    """Token ids that tell texts apart, the scored ones last.

    A continuation has its encoder input and label; a sentence one sentinel a word, then the words' tokens.
    """

    parts: tuple[Part, ...]


_Rows: TypeAlias = dict[tuple[int, ...], list[tuple[int, int, int]]]
"""Decoder input -> all that is read from it: (position, token, slot of the answer)."""


class Seq2SeqScorer(EncoderScorer):
    """Scores with an encoder-decoder of transformers. Build it with `pairbank.load_model`."""

    samples_answers: ClassVar[Literal[True]] = True

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        info: ModelInfo,
        *,
        mode: Seq2SeqMode | None = None,
        budget_tokens: int | None = None,
    ) -> None:
        super().__init__(model, tokenizer, info, body=model.get_encoder(), budget_tokens=budget_tokens)
        with left_as_it_was(tokenizer):
            gaps = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in (GAP, AFTER)]
        has_sentinels = all(len(ids) == 1 and ids[0] != tokenizer.unk_token_id for ids in gaps)
        self.mode = mode or ("sentinel" if has_sentinels else "conditional")
        self._start_id = decoder_start_id(model, info.name)
        self.info = replace(info, seq2seq_mode=self.mode)
        if self.mode == "sentinel":
            if not has_sentinels:
                raise ModelLoadError(
                    f"{info.name}: the tokenizer has no single token for {GAP} and {AFTER}; load the model with "
                    "seq2seq_mode='conditional'"
                )
            self._gap_id, self._after_id = (int(ids[0]) for ids in gaps)
        else:
            self._decoder_prefix = decoder_prefix(model, tokenizer, self._start_id)

    def _encoded(self, requests: Sequence[Request]) -> Sequence[EncodedRequest]:
        with left_as_it_was(self.tokenizer):
            if self.mode == "conditional":
                return [self._conditional(request) for request in requests]
            return [
                self._continuation(request) if request.context.strip(" ") else self._sentence(request)
                for request in requests
            ]

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        with left_as_it_was(self.tokenizer):
            encodings = [self.tokenizer(ask.text, split_special_tokens=True, verbose=False) for ask in prompts]
        settings: dict[str, Any] = {"decoder_start_token_id": self._start_id}
        forced = getattr(self.model.generation_config, "forced_bos_token_id", None)
        if isinstance(forced, int):
            settings["forced_bos_token_id"] = forced
        inputs = [tuple(encoding["input_ids"]) for encoding in encodings]
        decoder = Decoder(scorer=self, settings=settings)
        return decoder.write(prompts, inputs, max_new_tokens=max_new_tokens, over_length=over_length, progress=progress)

    def _sentence(self, request: Request) -> Seq2SeqRequest:
        words = (request.context + request.target).removesuffix(".").split(" ")
        not_scored = {self._gap_id, self._after_id, self.tokenizer.eos_token_id}
        parts = []
        for i, word in enumerate(words):
            around = f"{' '.join(words[:i])} {GAP} {' '.join(words[i + 1 :])}".strip()
            if i == 0:
                labels = self._framed(f"{word} {GAP}", request)
            elif i == len(words) - 1:
                labels = self._framed(f"{GAP} {word}", request)
            else:
                labels = self._framed(f"{GAP} {word} {AFTER}", request, self._after_id)
            scored = tuple(k for k, token in enumerate(labels) if token not in not_scored)
            if scored:
                encoder_ids = self._framed(around, request)
                parts.append(Part(encoder_ids=encoder_ids, labels=labels[: scored[-1] + 1], scored=scored))
        tokens = [part.labels[k] for part in parts for k in part.scored]
        return self._request(request, read=[self._gap_id] * len(parts), scored=tokens, parts=parts)

    def _continuation(self, request: Request) -> Seq2SeqRequest:
        encoder_ids = self._framed(f"{request.context.rstrip(' ')} {GAP}", request)
        labels = self._framed(f"{GAP} {request.target.lstrip(' ')}", request)
        first = labels.index(self._gap_id) + 1
        if set(labels[first:]) <= {self.tokenizer.eos_token_id}:
            raise _nothing_to_score(request)
        part = Part(encoder_ids=encoder_ids, labels=labels, scored=tuple(range(first, len(labels))))
        return self._request(request, read=[*encoder_ids, *labels[:first]], scored=labels[first:], parts=[part])

    def _framed(self, text: str, request: Request, *others: int) -> tuple[int, ...]:
        """Return the tokens of a text with one gap (and the other sentinels), as the tokenizer frames it."""
        encoding = self.tokenizer(text, return_special_tokens_mask=True, verbose=False)
        ids = self._own_text(encoding, request, allowed=(self._gap_id, *others))
        if self._gap_id not in ids:
            raise ScoringError(f"{request.where or 'request'}: the tokenizer finds no {GAP} in {text!r}")
        return ids

    def _conditional(self, request: Request) -> Seq2SeqRequest:
        context, target = request.context.rstrip(" "), request.target.lstrip(" ")
        options = {"split_special_tokens": True, "return_special_tokens_mask": True, "verbose": False}
        encoder_ids = self._own_text(self.tokenizer(context, **options), request)
        read_as_target = self.tokenizer(text_target=target, add_special_tokens=False, **options)
        ids = self._own_text(read_as_target, request)
        n_before = len(self._decoder_prefix)
        labels = (*self._decoder_prefix, *ids)
        part = Part(encoder_ids=encoder_ids, labels=labels, scored=tuple(range(n_before, len(labels))))
        encoded = self._request(request, read=[*encoder_ids, *self._decoder_prefix], scored=ids, parts=[part])
        return encoded if context else replace(encoded, flags=(*encoded.flags, BLANK_CONTEXT))

    def _own_text(self, encoding: BatchEncoding, request: Request, *, allowed: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the tokens of a text, once it is sure that the item brought no special tokens along."""
        ids: list[int] = encoding["input_ids"]
        special: list[int] = encoding["special_tokens_mask"]
        refuse_special_tokens(ids, special, self.tokenizer, where=request.where, allowed=allowed)
        return tuple(ids)

    def _request(
        self, request: Request, *, read: Sequence[int], scored: Sequence[int], parts: Sequence[Part]
    ) -> Seq2SeqRequest:
        if not scored:
            raise _nothing_to_score(request)
        flags = (UNKNOWN_TOKEN,) if self.tokenizer.unk_token_id in scored else ()
        return Seq2SeqRequest(ids=(*read, *scored), start=len(read), flags=flags, parts=tuple(parts))

    def _results(self, requests: Sequence[EncodedRequest], share: Share, progress: Progress) -> list[FloatArray]:
        answers = Answers([request.n_scored for request in requests], progress)
        by_input = self._rows(requests, answers)
        inputs = sorted(by_input, key=lambda ids: (len(ids), ids))
        with scoring_mode(self.model):
            for slots, read in in_batches(
                inputs,
                width=len,
                budget_tokens=1 if self.one_at_a_time else self.budget_tokens,
                compute=lambda batch: self._batch(batch, [by_input[ids] for ids in batch]),
                model_name=self.info.name,
                at_once=n_parallel_encoder_passes(self.model, self.budget_tokens),
                ahead=PASSES_AHEAD,
                share=share,
            ):
                answers.put(slots, read())
        return answers.by_request()

    def _rows(self, requests: Sequence[EncodedRequest], answers: Answers) -> dict[tuple[int, ...], _Rows]:
        """Return, for every distinct encoder input, every distinct decoder input with all that is read from it."""
        results: dict[tuple[int, ...], _Rows] = {}
        for number, request in enumerate(requests):
            if not isinstance(request, Seq2SeqRequest):
                raise ScoringError(f"{self.info.name}: got a request that this scorer's encode did not make")
            n_read = 0
            for part in request.parts:
                decoder_ids = (self._start_id, *part.labels[:-1])
                reads = results.setdefault(part.encoder_ids, {}).setdefault(decoder_ids, [])
                for position in part.scored:
                    reads.append((position, part.labels[position], answers.slot(number, n_read)))
                    n_read += 1
        return results

    def _batch(self, inputs: Sequence[tuple[int, ...]], rows_of: Sequence[_Rows]) -> tuple[IntArray, Reading]:
        """Return the slots and values of all that is read with these encoder inputs, each encoded once."""
        device = self.model.device
        ids, mask = padded(inputs, pad_id=self._pad_id, device=device)
        encoded_inputs = self.model.get_encoder()(input_ids=ids, attention_mask=mask)
        hidden = encoded_inputs.last_hidden_state
        # mixtures of experts look for the choices of their routers in what the encoder gave
        as_encoded = type(encoded_inputs)
        jobs = [(len(decoder_ids), i, decoder_ids) for i, rows in enumerate(rows_of) for decoder_ids in rows]

        def decoded(batch: list[tuple[int, int, tuple[int, ...]]]) -> tuple[IntArray, Reading]:
            decoder_ids, decoder_mask = padded([of_row for *_, of_row in batch], pad_id=self._pad_id, device=device)
            chosen = on_device(np.array([i for _, i, _ in batch], dtype=np.int64), hidden.device)
            output = self.model(
                input_ids=ids[chosen.to(device)],  # not read again; without them FSMT makes no causal mask
                encoder_outputs=as_encoded(last_hidden_state=hidden[chosen]),
                attention_mask=mask[chosen.to(device)],
                decoder_input_ids=decoder_ids,
                decoder_attention_mask=decoder_mask,
                use_cache=False,
            )
            return self._read(output.logits, [rows_of[i][ids_of_row] for _, i, ids_of_row in batch])

        width = ids.shape[1]
        done = list(
            in_batches(
                sorted(jobs),
                width=lambda job: max(width, job[0]),
                budget_tokens=1 if self.one_at_a_time else self.budget_tokens,
                compute=decoded,
                model_name=self.info.name,
            )
        )
        return np.concatenate([slots for slots, _ in done]), lambda: np.concatenate([read() for _, read in done])

    def _read(
        self, logits: torch.Tensor, of_rows: Sequence[Sequence[tuple[int, int, int]]]
    ) -> tuple[IntArray, Reading]:
        reads = [(i, *read) for i, of_row in enumerate(of_rows) for read in of_row]
        row_index, position, tokens, slots = np.array(reads, dtype=np.int64).T.copy()
        at = (on_device(index, logits.device) for index in (row_index, position))
        read = logits[tuple(at)]
        nth = np.arange(len(tokens))
        return slots, read_logprobs_nats(read, rows=nth, tokens=tokens, model_name=self.info.name)


def _nothing_to_score(request: Request) -> ScoringError:
    return ScoringError(
        f"{request.where or 'request'}: target {request.target!r} has no token to score; expected at least one word"
    )


def decoder_start_id(model: PreTrainedModel, name: str) -> int:
    """Return the token that every decoder input begins with; where none is stated, a separate decoder's BOS."""
    stated = [getattr(config, "decoder_start_token_id", None) for config in (model.generation_config, model.config)]
    for result in (*stated, getattr(getattr(model.config, "decoder", None), "bos_token_id", None)):
        if isinstance(result, int):
            return result
    raise ModelLoadError(
        f"{name}: the configuration states no decoder_start_token_id; set it in the model's config.json"
    )


def decoder_prefix(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, start_id: int) -> tuple[int, ...]:
    """Return what stands between the decoder's start token and a target: a forced BOS, else the tokenizer's own."""
    for stated in (model.generation_config, model.config):
        forced = getattr(stated, "forced_bos_token_id", None)
        if isinstance(forced, int):
            return (forced,)
    with left_as_it_was(tokenizer):
        encoding = tokenizer(text_target="a", return_special_tokens_mask=True, verbose=False)
    ids, special = encoding["input_ids"], encoding["special_tokens_mask"]
    n_leading = next((i for i, is_special in enumerate(special) if not is_special), len(ids))
    prefix = tuple(ids[:n_leading])
    return prefix[1:] if prefix[:1] == (start_id,) else prefix
