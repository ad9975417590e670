"""Generation: prompts in, what the model writes after each out: greedily, or sampled where an ask has a `draw`.

Each prompt goes on as it would alone: many go through the model together, padded on the left, with a key-value
cache; a model that padding would disturb (its states or its rotary embeddings follow the batch) gets prompts of
equal length together. Writing ends at the model's end-of-sequence tokens or after a number of tokens. Settings that
a checkpoint brings for chatting (sampling, penalties, forbidden words) are not used.

Greedy decoding takes the most probable token however small its lead. Where the lead was less than `NEAR_TIE_NATS`,
about what rounding differs by between two batches or machines, the text is flagged `near_tie`. A sampled token is the
one of the greatest logit / temperature + noise; the noise is the draw's own, whatever the batch, and leads are of these
sums.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from pairbank.errors import ScoringError
from pairbank.scoring.api.model import (
    BLOCKS,
    Ask,
    Continuation,
    Draw,
    ModelInfo,
    OverLength,
    Progress,
    Sampler,
    Scorer,
    Writer,
)
from pairbank.scoring.api.names import NEAR_TIE, OVER_LENGTH
from pairbank.scoring.engine.batching import in_batches, padded
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.models.batch_check import allowed_nats

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

NEAR_TIE_NATS = 1e-3
BATCH_TOKENS_CPU, BATCH_TOKENS_ACCELERATOR = 4_096, 32_768
"""Prompt and answer tokens, pads included, that go through the model together."""
MOVING_ROPES = ("dynamic", "longrope")
"""Rotary embeddings that follow the longest text of a batch."""
SELF_CHECK = ("The keys to the cabinet are on the table.", "A dog barks.")
"""Texts that padding on the left is tried with."""
Inputs = Sequence[tuple[int, ...]]
"""Token ids of prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A model of transformers that writes, and how: what differs between a causal model and an encoder-decoder."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    info: ModelInfo
    goes_on: bool
    """The prompt is the start of what the decoder writes; else an encoder reads it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it needs beside plain greedy decoding."""
    one_at_a_time: bool = False
    """What else is in a batch would move its numbers (`batch_check`)."""
    self_check: Inputs = ()
    """Prompts to try padding on the left with; none where padding is exact."""


def write(
    model: Scorer,
    prompts: Sequence[Ask],
    *,
    max_new_tokens: int,
    over_length: OverLength = "error",
    progress: Progress | None = None,
) -> list[Continuation]:
    """Return what the model writes after each prompt; equal prompts are answered once."""
    if not isinstance(model, Writer):
        raise ScoringError(
            f"{model.info.name} ({model.info.backend}) cannot write; expected a causal model or an encoder-decoder: "
            "ask for a method that reads probabilities"
        )
    notify = progress or (lambda _n: None)
    if any(ask.draw is not None for ask in prompts) and not isinstance(model, Sampler):
        raise ScoringError(
            f"{model.info.name} ({model.info.backend}) answers greedily alone; leave the samples away (--samples, "
            "@…samples)"
        )
    first: dict[tuple[str, bool, Draw | None], Ask] = {}
    for ask in prompts:
        first.setdefault((ask.text, ask.chat, ask.draw), ask)
    distinct = list(first.values())
    written = model.write(distinct, max_new_tokens=max_new_tokens, over_length=over_length, progress=notify)
    by_prompt = dict(zip(first, written, strict=True))
    return [by_prompt[ask.text, ask.chat, ask.draw] for ask in prompts]


def greedy(
    model: Decoder,
    prompts: Sequence[Ask],
    inputs: Inputs,
    *,
    max_new_tokens: int,
    over_length: OverLength,
    progress: Progress,
) -> list[Continuation]:
    """Return what a model of transformers writes after each prompt (`inputs`: its tokens), as `Writer.write` does."""
    over = too_long(model.info, prompts, inputs, max_new_tokens, over_length)
    results = [Continuation(text=None, n_tokens=0, flags=(OVER_LENGTH,)) for _ in prompts]
    progress(sum(over))
    budget_tokens = BATCH_TOKENS_CPU if input_device(model.model).type == "cpu" else BATCH_TOKENS_ACCELERATOR
    with scoring_mode(model.model), _plain_settings(model, max_new_tokens) as settings:
        for chosen in _together([i for i, is_over in enumerate(over) if not is_over], inputs, model, settings):
            for batch, texts in in_batches(
                sorted(chosen, key=lambda i: (len(inputs[i]), inputs[i], i)),
                width=lambda i: len(inputs[i]) + max_new_tokens,
                budget_tokens=1 if model.one_at_a_time else budget_tokens,
                model_name=model.info.name,
                compute=lambda batch: (
                    batch,
                    _batch(model, [inputs[i] for i in batch], settings, [prompts[i].draw for i in batch]),
                ),
            ):
                for i, text in zip(batch, texts, strict=True):
                    results[i] = text
                progress(len(batch))
    return results


def too_long(
    info: ModelInfo, prompts: Sequence[Ask], inputs: Inputs, max_new_tokens: int, over_length: OverLength
) -> list[bool]:
    """Return which prompts leave no room for an answer; refuse one where that is an error, and one without a token."""
    for ask, tokens in zip(prompts, inputs, strict=True):
        if not tokens:
            raise ScoringError(f"{ask.where or 'prompt'}: the prompt has no token; expected at least one")
    longest = info.max_length
    over = [longest is not None and len(ids) + max_new_tokens > longest for ids in inputs]
    if over_length == "error" and any(over):
        at = over.index(True)
        raise ScoringError(
            f"{prompts[at].where or 'prompt'}: {len(inputs[at])} tokens and {max_new_tokens} to write, but "
            f"{info.name} takes {longest}; shorten the item, use a model with a longer context, or ask for NaN "
            "(over_length='nan', --over-length nan)"
        )
    return over


@contextmanager
def _plain_settings(model: Decoder, max_new_tokens: int) -> Iterator[GenerationConfig]:
    """Put plain greedy decoding in the place of the checkpoint's own settings, which would fill what is not set."""
    from transformers import GenerationConfig

    make: Any = GenerationConfig
    network: Any = model.model
    brought = network.generation_config
    stated = brought.eos_token_id if isinstance(brought.eos_token_id, list) else [brought.eos_token_id]
    ends = sorted({token for token in (*stated, model.tokenizer.eos_token_id) if isinstance(token, int)})
    pad = model.tokenizer.pad_token_id
    settings = make(
        do_sample=False,
        num_beams=1,
        max_new_tokens=max_new_tokens,
        eos_token_id=ends or None,
        pad_token_id=pad if isinstance(pad, int) else (ends or [0])[0],
        bos_token_id=brought.bos_token_id,
        **model.settings,
    )
    network.generation_config = settings
    try:
        yield settings
    finally:
        network.generation_config = brought


def _together(chosen: Sequence[int], inputs: Inputs, model: Decoder, settings: GenerationConfig) -> Iterator[list[int]]:
    """Yield prompts that may share a batch: all of them, or those of one length."""
    if model.one_at_a_time or padding_is_exact(model, settings):
        yield list(chosen)
        return
    by_length: dict[int, list[int]] = defaultdict(list)
    for i in chosen:
        by_length[len(inputs[i])].append(i)
    yield from (by_length[length] for length in sorted(by_length))


def padding_is_exact(model: Decoder, settings: GenerationConfig) -> bool:
    """Return whether padding leaves the next token's log-probabilities as they are without it."""
    if not model.self_check:
        return True
    text = model.model.config.get_text_config()
    if any(kind in MOVING_ROPES for kind in _rope_types(getattr(text, "rope_parameters", None))):
        return False
    together = _first_logprobs(model.model, model.self_check, settings)
    alone = torch.cat([_first_logprobs(model.model, [ids], settings) for ids in model.self_check])
    allowed = allowed_nats(str(model.model.dtype).removeprefix("torch."))
    return bool((together - alone).abs().max() <= allowed)


def _rope_types(value: object) -> Iterator[object]:
    """Yield the kinds of rotary embeddings in a settings table and those inside it (one a kind of layer)."""
    if isinstance(value, Mapping):
        yield value.get("rope_type", value.get("type"))
        for inner in value.values():
            yield from _rope_types(inner)


def _first_logprobs(network: PreTrainedModel, inputs: Inputs, settings: GenerationConfig) -> torch.Tensor:
    """Return the log-probabilities of the first new token, shape (inputs, vocabulary)."""
    watch = _Watch()
    _generated(network, _padded_left(inputs, settings, network), _of_length(settings, 1), watch)
    return torch.log_softmax(watch.first_scores.float(), dim=-1)


def _of_length(settings: GenerationConfig, max_new_tokens: int) -> GenerationConfig:
    changed = copy.deepcopy(settings)
    changed.max_new_tokens = max_new_tokens
    return changed


def _batch(
    model: Decoder, inputs: Inputs, settings: GenerationConfig, draws: Sequence[Draw | None]
) -> list[Continuation]:
    network: Any = model.model
    if model.goes_on:
        padded_inputs = _padded_left(inputs, settings, network)
    else:
        padded_inputs = padded(inputs, pad_id=settings.pad_token_id, device=input_device(network))
    watch = _Watch(draws)
    generated = _generated(network, padded_inputs, settings, watch)
    if watch.is_broken:
        raise ScoringError(
            f"model {model.info.name!r} gave a logit that is NaN; load it with dtype='float32', or check its weights"
        )
    new = generated[:, padded_inputs[0].shape[1] :] if model.goes_on else generated[:, 1:]
    least_nats = torch.stack(watch.leads_nats, dim=1).cpu().numpy()
    ends = set(settings.eos_token_id or [])
    results = []
    for tokens, leads in zip(new.tolist(), least_nats, strict=True):
        n = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
        flags = (NEAR_TIE,) if leads[: n + 1].min() < NEAR_TIE_NATS else ()
        results.append(Continuation(text=_decoded(model, tokens[:n]), n_tokens=n, flags=flags))
    return results


def _decoded(model: Decoder, tokens: list[int]) -> str:
    """Return the text without special tokens, but for those that mark thinking."""
    tokenizer = model.tokenizer
    added = tokenizer.added_tokens_decoder
    blocks = "".join(mark for block in BLOCKS for mark in block)
    marks = {i: token.content for i, token in added.items() if token.special and token.content.strip() in blocks}
    texts, since = [], 0
    for place, token in enumerate([*tokens, None]):
        if token is None or token in marks:
            part = tokens[since:place]
            texts.append(str(tokenizer.decode(part, skip_special_tokens=True, clean_up_tokenization_spaces=False)))
            texts.append("" if token is None else marks[token])
            since = place + 1
    return "".join(texts)


class _Watch:
    """Sees the logits of every step go by, and changes those of drawn answers alone."""

    def __init__(self, draws: Sequence[Draw | None] = ()) -> None:
        self.draws = {row: draw for row, draw in enumerate(draws) if draw is not None}
        self.leads_nats: list[torch.Tensor] = []
        self.first_scores = torch.empty(0)
        self.is_broken = False

    def __call__(self, _ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not self.leads_nats:
            self.first_scores = scores.clone()
        self.is_broken |= bool(torch.isnan(scores).any())
        if self.draws:
            scores = self._noisy(scores)
        top = scores.float().topk(2, dim=-1).values
        self.leads_nats.append(top[:, 0] - top[:, 1])
        return scores

    def _noisy(self, scores: torch.Tensor) -> torch.Tensor:
        created, step = scores.float().clone(), len(self.leads_nats)
        for row, draw in self.draws.items():
            noise = torch.from_numpy(draw.noise(step, created.shape[1]))
            created[row] = (created[row].cpu().double() / draw.temperature + noise).to(created)
        return created


def _generated(
    network: Any,  # noqa: ANN401 - a PreTrainedModel that generates
    inputs: tuple[torch.Tensor, torch.Tensor],
    settings: GenerationConfig,
    watch: _Watch,
) -> torch.Tensor:
    from transformers import LogitsProcessorList

    try:
        created: torch.Tensor = network.generate(
            input_ids=inputs[0],
            attention_mask=inputs[1],
            generation_config=settings,
            logits_processor=LogitsProcessorList([watch]),
        )
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ScoringError(
            f"transformers cannot write with {type(network).__name__} ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}); ask for a method that reads probabilities"
        ) from error
    return created


def _padded_left(
    inputs: Inputs, settings: GenerationConfig, network: PreTrainedModel
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids padded on the left, and their attention mask; both (n, longest)."""
    turned = [ids[::-1] for ids in inputs]
    ids, mask = padded(turned, pad_id=settings.pad_token_id, device=input_device(network))
    return ids.flip(1), mask.flip(1)
