"""Alone, padded, in other company: whether what shares a batch with a text moves its scores. For every back end.

Where it does, the scorer takes one sequence at a time from there on, which is exact, and a warning says so.
transformers itself has models whose padding reaches into the other texts: FNet mixes all positions, pads among them;
MobileBERT, ProphetNet and others mask too little. Nothing of that can be seen in a configuration, so it is tried.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.requests import EncodedRequest, Request

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

logger = logging.getLogger(__name__)
LONG_TEXT = "The keys to the cabinet are on the table. " * 12
TEXTS = (
    ("", "The keys to the cabinet are on the table."),
    ("", "The keys were lost."),
    ("", "A dog barks."),
    ("The keys to the", " cabinet"),
    (LONG_TEXT, "A dog barks."),
)
"""Short and long ones, (context, target); the long one pads all others, and reaches beyond a block or a window."""
EXACT_NATS = {"float32": 1e-3, "float64": 1e-6}
"""Of a text's sum, and of each token. What padding does to a model that masks it is of the order of 1e-5."""
LOW_PRECISION_TOLERANCE_NATS = 0.5
"""Of a token. In bfloat16 one of SmolLM2-135M moves by 0.13 nats at most; with masks or positions ignored, by 2.7."""
TOLERANCE_NATS = {**EXACT_NATS, "float16": 0.1}
"""In float16 a token of SmolLM2-135M moves by 0.024 nats at most: it has three more bits than bfloat16."""
RMS_SHARE = 0.3
"""Of these, the root mean square of all tokens may have. Rounding moves a few (0.056 nats in bfloat16, 0.008 in
float16), a mask that shows each token one more moves many (0.33 and 0.27), and few of them by more than 0.5."""
SPARSE, FULL = "block_sparse", "original_full"
REFUSALS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a forward pass may raise that was not written for what it is given."""


class Batched(Scorer, Protocol):
    one_at_a_time: bool


def allowed_nats(dtype: str | torch.dtype) -> float:
    return TOLERANCE_NATS.get(str(dtype).removeprefix("torch."), LOW_PRECISION_TOLERANCE_NATS)


def is_exact(dtype: str | torch.dtype) -> bool:
    """Return whether sums of scores in this type are the same in every batch, up to the fourth digit or so."""
    return str(dtype).removeprefix("torch.") in EXACT_NATS


def batch_problem(scorer: Batched) -> str | None:
    """Return how what shares a batch with a text moves its scores, or None."""
    longest, requests = scorer.info.max_length, list[EncodedRequest]()
    for context, target in TEXTS:
        with contextlib.suppress(ScoringError):  # the model has no tokens for it
            requests += scorer.encode([Request(context=context, target=target, where="self-check")])
    requests = [request for request in requests if longest is None or len(request.ids) - 1 <= longest]
    if not requests:
        logger.warning(
            "%s: whether batches move its scores was not tried: it has no tokens for English", scorer.info.name
        )
        return None
    alone = _alone(scorer, requests)
    allowed = allowed_nats(scorer.info.dtype)
    try:
        companies = [_scored(scorer, requests), _in_other_company(scorer, requests)]
    except REFUSALS as error:
        return f"its forward pass fails on a padded batch ({type(error).__name__}: {error})"
    sums = is_exact(scorer.info.dtype)  # roundings of a low precision add up
    moved = max(worst_nats(company, alone, sums=sums) for company in companies)
    if moved <= allowed:
        return None
    again = worst_nats(_alone(scorer, requests), alone, sums=sums)
    if again > allowed:
        raise ModelLoadError(
            f"{scorer.info.name}: the same text alone gets another score each time (by {again:.2g} nats); expected a "
            "model that draws nothing at random when it scores"
        )
    return f"what else is in a batch moves its scores by {moved:.2g} nats (allowed {allowed:g})"


def structural_batch_problem(config: PretrainedConfig) -> str | None:
    """Return why a few short texts would not show that a batch decides numbers, or None."""
    # NLLB's experts take a share of all tokens of a batch, and drop the others; only a full batch would show it
    share = getattr(config, "moe_eval_capacity_token_fraction", 1.0)
    return None if share >= 1 else f"its experts take {share:g} of a batch's tokens, and drop the others"


def drop_random_attention(model: PreTrainedModel, name: str) -> str:
    """Put full attention in the place of BigBird's sparse one; return its name, or "" where none was sparse.

    Sparse attention draws its blocks at random, and transformers drops it for good at the first short text: the score
    of a long text would depend on what was scored before it.
    """
    parts: list[Any] = [part for part in model.modules() if hasattr(part, "set_attention_type")]
    chosen = [part for part in parts if getattr(part, "attention_type", None) == SPARSE]
    for part in chosen:
        part.set_attention_type(FULL)
    if chosen:
        logger.warning("%s: its sparse attention draws blocks at random; scoring with full attention instead", name)
    return FULL if chosen else ""


def _alone(scorer: Batched, requests: Sequence[EncodedRequest]) -> list[FloatArray]:
    scorer.one_at_a_time = True
    try:
        return _scored(scorer, requests)
    except ScoringError:  # NaN, in our own words
        raise
    except REFUSALS as error:
        raise ModelLoadError(
            f"{scorer.info.name}: its forward pass fails on a plain sentence ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:300]}); check that its configuration, weights and tokenizer are of one "
            "model, and that this version of transformers runs it"
        ) from error
    finally:
        scorer.one_at_a_time = False


def _scored(scorer: Batched, requests: Sequence[EncodedRequest]) -> list[FloatArray]:
    return scorer.token_logprobs(requests, progress=lambda _n: None)


def _in_other_company(scorer: Batched, requests: Sequence[EncodedRequest]) -> list[FloatArray]:
    """Return what `_scored` does, the requests in two parts and turned round."""
    by_place: dict[int, FloatArray] = {}
    for first in (-1, -2):
        places = range(len(requests))[first::-2]
        by_place |= zip(places, _scored(scorer, [requests[i] for i in places]), strict=True)
    return [by_place[place] for place in range(len(requests))]


def worst_nats(values: Sequence[FloatArray], other: Sequence[FloatArray], *, sums: bool = False) -> float:
    """Return by how much a token differs at most, or (`sums`) a whole text."""
    differences = [a - b for a, b in zip(values, other, strict=True)]
    tokens = max((float(np.abs(d).max(initial=0)) for d in differences), default=0.0)
    return max(tokens, *(abs(float(d.sum())) for d in differences), 0.0) if sums else tokens
