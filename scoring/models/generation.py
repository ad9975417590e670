"""Generation: prompts in, what the model writes after each out: greedily, or sampled where an ask has a `draw`.

Each prompt goes on as it would alone: many go through the model together, padded on the left; a model that padding
would disturb (its states or its rotary embeddings follow the batch) gets prompts of equal length together. Settings
that a checkpoint brings for chatting (sampling, penalties, forbidden words) are not used. Where a token's lead was less
than `NEAR_TIE_NATS`, about what rounding differs by between two batches or machines, the text is flagged `near_tie`. A
sampled token is the one of the greatest logit / temperature + noise, and leads are of these sums.
"""

from __future__ import annotations

import copy
import itertools
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
from pairbank.scoring.engine.batching import in_batches, padded, settings_tables
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.engine.threads import CHANGING_ROPES
from pairbank.scoring.models.batch_check import allowed_nats

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedModel

    from pairbank.scoring.models.local import LocalScorer

NEAR_TIE_NATS = 1e-3
BATCH_TOKENS_CPU, BATCH_TOKENS_ACCELERATOR = 4_096, 32_768
"""Prompt and answer tokens, pads included, that go through the model together."""
SELF_CHECK = ("The keys to the cabinet are on the table.", "A dog barks.")
Inputs = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A model of transformers that writes, and how: what differs between a causal model and an encoder-decoder."""

    scorer: LocalScorer
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it needs beside plain greedy decoding."""
    self_check: Inputs = ()
    """Prompts to try padding on the left with, where the prompt is the start of what is written and no encoder's."""

    def write(
        self,
        prompts: Sequence[Ask],
        inputs: Inputs,
        *,
        max_new_tokens: int,
        over_length: OverLength,
        progress: Progress,
    ) -> list[Continuation]:
        """Return what the model writes after each prompt (`inputs`: its tokens), as `Writer.write` does."""
        scorer = self.scorer
        over = too_long(scorer.info, prompts, inputs, max_new_tokens, over_length)
        results = [Continuation(text=None, n_tokens=0, flags=(OVER_LENGTH,)) for _ in prompts]
        progress(sum(over))
        budget_tokens = BATCH_TOKENS_CPU if input_device(scorer.model).type == "cpu" else BATCH_TOKENS_ACCELERATOR
        within = [i for i, is_over in enumerate(over) if not is_over]
        order = sorted(within, key=lambda i: (len(inputs[i]), inputs[i], i))
        with scoring_mode(scorer.model), self._plain_settings(max_new_tokens) as settings:

            def written(batch: list[int]) -> dict[int, Continuation]:
                texts = self._batch([inputs[i] for i in batch], settings, [prompts[i].draw for i in batch])
                return dict(zip(batch, texts, strict=True))

            may_mix = scorer.one_at_a_time or not self.self_check or self._padding_is_exact(settings)
            for _, together in itertools.groupby(order, key=lambda i: 0 if may_mix else len(inputs[i])):
                for by_prompt in in_batches(
                    list(together),
                    width=lambda i: len(inputs[i]) + max_new_tokens,
                    budget_tokens=1 if scorer.one_at_a_time else budget_tokens,
                    model_name=scorer.info.name,
                    compute=written,
                ):
                    for i, text in by_prompt.items():
                        results[i] = text
                    progress(len(by_prompt))
        return results

    @contextmanager
    def _plain_settings(self, max_new_tokens: int) -> Iterator[GenerationConfig]:
        """Put plain greedy decoding in the place of the checkpoint's own settings, which would fill what is not set."""
        from transformers import GenerationConfig

        make: Any = GenerationConfig
        network: Any = self.scorer.model
        tokenizer = self.scorer.tokenizer
        brought = network.generation_config
        stated = brought.eos_token_id if isinstance(brought.eos_token_id, list) else [brought.eos_token_id]
        ends = sorted({token for token in (*stated, tokenizer.eos_token_id) if isinstance(token, int)})
        pad = tokenizer.pad_token_id
        settings = make(
            do_sample=False,
            num_beams=1,
            max_new_tokens=max_new_tokens,
            eos_token_id=ends or None,
            pad_token_id=pad if isinstance(pad, int) else (ends or [0])[0],
            bos_token_id=brought.bos_token_id,
            **self.settings,
        )
        network.generation_config = settings
        try:
            yield settings
        finally:
            network.generation_config = brought

    def _padding_is_exact(self, settings: GenerationConfig) -> bool:
        """Return whether padding leaves the next token's log-probabilities as they are without it."""
        network = self.scorer.model
        ropes = settings_tables(getattr(network.config.get_text_config(), "rope_parameters", None))
        if any(rope.get("rope_type", rope.get("type")) in CHANGING_ROPES for rope in ropes):
            return False
        together = _first_logprobs(network, self.self_check, settings)
        alone = torch.cat([_first_logprobs(network, [ids], settings) for ids in self.self_check])
        allowed = allowed_nats(network.dtype)
        return bool((together - alone).abs().max() <= allowed)

    def _batch(self, inputs: Inputs, settings: GenerationConfig, draws: Sequence[Draw | None]) -> list[Continuation]:
        scorer, goes_on = self.scorer, bool(self.self_check)
        network: Any = scorer.model
        if goes_on:
            padded_inputs = _padded_left(inputs, settings, network)
        else:
            padded_inputs = padded(inputs, pad_id=settings.pad_token_id, device=input_device(network))
        watch = _Watch(draws)
        generated = _generated(network, padded_inputs, settings, watch)
        if watch.is_broken:
            raise ScoringError(
                f"model {scorer.info.name!r} gave a logit that is NaN; load it with dtype='float32', or check its "
                "weights"
            )
        new = generated[:, padded_inputs[0].shape[1] if goes_on else 1 :]
        least_nats = torch.stack(watch.leads_nats, dim=1).cpu().numpy()
        ends = set(settings.eos_token_id or [])
        results = []
        for tokens, leads in zip(new.tolist(), least_nats, strict=True):
            n = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
            flags = (NEAR_TIE,) if leads[: n + 1].min() < NEAR_TIE_NATS else ()
            results.append(Continuation(text=_decoded(scorer, tokens[:n]), n_tokens=n, flags=flags))
        return results


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


def _first_logprobs(network: PreTrainedModel, inputs: Inputs, settings: GenerationConfig) -> torch.Tensor:
    """Return the log-probabilities of the first new token, shape (inputs, vocabulary)."""
    watch, of_one = _Watch(), copy.deepcopy(settings)
    of_one.max_new_tokens = 1
    _generated(network, _padded_left(inputs, settings, network), of_one, watch)
    return torch.log_softmax(watch.first_scores.float(), dim=-1)


def _decoded(scorer: LocalScorer, tokens: list[int]) -> str:
    """Return the text without special tokens, but for those that mark thinking."""
    tokenizer = scorer.tokenizer
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
            scores = scores.float().clone()
            for row, draw in self.draws.items():
                noise = torch.from_numpy(draw.noise(len(self.leads_nats), scores.shape[1]))
                scores[row] = (scores[row].cpu().double() / draw.temperature + noise).to(scores)
        top = scores.float().topk(2, dim=-1).values
        self.leads_nats.append(top[:, 0] - top[:, 1])
        return scores


def _generated(
    network: PreTrainedModel, inputs: tuple[torch.Tensor, torch.Tensor], settings: GenerationConfig, watch: _Watch
) -> torch.Tensor:
    from transformers import LogitsProcessorList

    model: Any = network
    try:
        created: torch.Tensor = model.generate(
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
