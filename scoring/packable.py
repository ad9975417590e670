"""Whether a tree attention mask keeps a model exact.

In: a loaded model. Out: a reason against packing, or the longest sequence that may be packed. The configuration is
asked first, for a short self-check cannot see a window that no short text reaches; then packed scores are compared
with plain ones, for a configuration does not say whether a forward pass honours masks and position ids.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from pairbank.errors import ModelLoadError
from pairbank.scoring.forward import input_device
from pairbank.scoring.head import linear_head
from pairbank.scoring.planner import TRUNK_WORTH_TOKENS
from pairbank.scoring.readout import scoring_mode
from pairbank.scoring.requests import EncodedRequest, Request

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from pairbank.scoring.causal import CausalScorer

SELF_CHECK = (
    "The keys to the cabinet are on the table.",
    "The keys to the cabinet is on the table.",
    "The keys were lost.",
    "A dog barks.",
)
TOLERANCE_NATS = {"float32": 1e-3, "float64": 1e-6}
LOW_PRECISION_TOLERANCE_NATS = 0.5
"""A token of SmolLM2-135M in bfloat16 moves by 0.13 nats at most; with its masks or positions ignored, by 2.7."""
Scores = npt.NDArray[np.float64]
REFUSALS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a forward pass may raise that was not written for a mask or a cache from outside."""
TRUNK_CHECK_TOKENS = 2

MASKED_LAYERS = ("full_attention", "sliding_attention", "chunked_attention")
"""Kinds of layers that attend where the mask lets them; any other kind mixes tokens in its own way."""
OWN_WINDOWS = ("attention_window", "attention_window_size", "keep_window_size", "index_topk")
"""Settings of attention that picks its keys by their place in the pack, whatever the mask says."""


def structural_problem(model: PreTrainedModel) -> str | None:
    """Return why the model cannot follow a tree attention mask, or None if nothing speaks against it."""
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
    own = [name for name in OWN_WINDOWS if getattr(config, name, None)]
    return f"its attention is sparse ({own[0]})" if own else None


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
    for rope in _tables(getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)):
        if rope.get("rope_type", rope.get("type")) == "longrope":
            original = rope.get("original_max_position_embeddings") or text.original_max_position_embeddings
            limits.append(float(original))
    return min(limits)


def _tables(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield a settings table and those inside it (one a kind of layer, in some configurations)."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _tables(inner)


def packing_problem(scorer: CausalScorer) -> str | None:
    """Return why packed scoring cannot be used with this model, or None if it agrees with plain scoring.

    Raises:
        ModelLoadError: the model cannot be scored in any way: later tokens, or padding, change its scores.
    """
    requests = scorer.encode([Request(context="", target=text, where="self-check") for text in SELF_CHECK])
    plain = [_scored(scorer, [request], batching="padded")[0] for request in requests]
    _check_plain(scorer, requests, plain)
    problem = structural_problem(scorer.model)
    if problem is not None:
        return problem
    try:
        packed = _scored(scorer, requests, batching="packed")
    except REFUSALS as error:
        return f"its forward pass refuses a tree attention mask ({type(error).__name__}: {error})"
    worst, allowed = _worst_nats(packed, plain), _allowed_nats(scorer)
    return f"packed and plain scores differ by {worst:.2g} nats (allowed {allowed:g})" if worst > allowed else None


def trunk_problem(scorer: CausalScorer) -> str | None:
    """Return why packs cannot share the keys and values of their prefix, or None: they then do from here on.

    Sentences are asked for as a start and its continuations, in packs so small that each start becomes a trunk.
    """
    asked = [
        Request(context=text[:at], target=text[at:], where="self-check")
        for text in SELF_CHECK[:2]
        for at in range(len("The keys to the"), len(text))
        if text[at] == " "
    ]
    requests = scorer.encode(asked)
    plain = _scored(scorer, requests, batching="packed")
    size, scorer.batch_tokens, scorer.trunk_worth_tokens = scorer.batch_tokens, TRUNK_CHECK_TOKENS, 1
    try:
        worst = _worst_nats(_scored(scorer, requests, batching="packed"), plain)
    except REFUSALS as error:
        problem: str | None = f"its forward pass refuses a cache ({type(error).__name__}: {error})"
    else:
        allowed = _allowed_nats(scorer)
        problem = f"scores differ by {worst:.2g} nats (allowed {allowed:g})" if worst > allowed else None
    finally:
        scorer.batch_tokens = size
        scorer.trunk_worth_tokens = math.inf
    if problem is None:
        scorer.trunk_worth_tokens = TRUNK_WORTH_TOKENS
    return problem


def block_head(scorer: CausalScorer) -> torch.nn.Linear | None:
    """Return the output layer if it may be applied in blocks of the vocabulary (see `head`), tried on a sentence."""
    [encoded, *_] = scorer.encode([Request(context="", target=text, where="self-check") for text in SELF_CHECK])
    with scoring_mode(scorer.model):
        return linear_head(scorer.model, torch.tensor([encoded.ids], device=input_device(scorer.model)))


def _check_plain(scorer: CausalScorer, requests: Sequence[EncodedRequest], plain: Sequence[Scores]) -> None:
    """Refuse a model whose scores of a sentence's first words depend on its last ones, or on padding."""
    first = requests[0]
    changed = EncodedRequest(ids=(*first.ids[:-2], requests[-1].ids[-2], first.ids[-1]), start=first.start)
    [other] = _scored(scorer, [changed], batching="padded")
    allowed = _allowed_nats(scorer)
    if (ahead := _worst_nats([plain[0][:-2]], [other[:-2]])) > allowed:
        raise ModelLoadError(
            f"{scorer.info.name} is not a causal model: later tokens change the log-probability of earlier ones by "
            f"{ahead:.2g} nats; load a model that predicts from left to right"
        )
    # in low precision rounding can look like this (experts that are chosen by a hair); nothing is refused for it
    moved = _worst_nats(_scored(scorer, requests, batching="padded"), plain)
    if allowed < LOW_PRECISION_TOLERANCE_NATS and moved > allowed:
        raise ModelLoadError(
            f"{scorer.info.name}: padding changes its scores by {moved:.2g} nats; it cannot be scored in batches"
        )


def _scored(
    scorer: CausalScorer, requests: Sequence[EncodedRequest], *, batching: Literal["packed", "padded"]
) -> list[Scores]:
    chosen, scorer.batching = scorer.batching, batching
    try:
        return scorer.token_logprobs(requests, progress=_ignore)
    finally:
        scorer.batching = chosen


def _worst_nats(one: Sequence[Scores], other: Sequence[Scores]) -> float:
    return max(float(np.abs(a - b).max(initial=0)) for a, b in zip(one, other, strict=True))


def _allowed_nats(scorer: CausalScorer) -> float:
    return TOLERANCE_NATS.get(str(scorer.model.dtype).removeprefix("torch."), LOW_PRECISION_TOLERANCE_NATS)


def _ignore(_n_done: int) -> None:
    return None
