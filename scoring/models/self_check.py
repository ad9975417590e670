"""What is tried with a causal model when it is loaded, on a few sentences.

The configuration is asked first (`engine/batching`), for no short text reaches a window; then packed scores are
compared with plain ones, for a configuration does not say whether a forward pass honours masks and position ids.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import BLOCKS
from pairbank.scoring.api.requests import EncodedRequest, LinearProbe, ProbeRequest, Request
from pairbank.scoring.engine import cuts
from pairbank.scoring.engine.batching import sparse_window, structural_problem
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.engine.logprobs import linear_head
from pairbank.scoring.engine.prefix_trees import MIN_SHARED_TOKENS
from pairbank.scoring.models.batch_check import REFUSALS, RMS_SHARE, allowed_nats, is_exact, worst_nats
from pairbank.scoring.models.template_trial import limits_problem

if TYPE_CHECKING:
    from pairbank.scoring.models.causal import CausalScorer

logger = logging.getLogger(__name__)
SELF_CHECK = (
    "The keys to the cabinet are on the table.",
    "The keys to the cabinet is on the table.",
    "The keys were lost.",
    "A dog barks.",
)
PREFIX_CHECK_TOKENS = 2
BEYOND_WINDOW_TOKENS = 32
"""By how much the causality check's long text exceeds a window, and how much is appended to it."""
ANSWER = "My answer is"


def packing_problem(scorer: CausalScorer) -> str | None:
    """Return why a tree mask would move scores, or None; refuse a model that reads what follows."""
    requests = scorer.encode([Request(context="", target=text, where="self-check") for text in SELF_CHECK])
    plain = [_scored(scorer, [request], batching="padded")[0] for request in requests]
    first, allowed = requests[0], allowed_nats(scorer.model.dtype)
    changed = EncodedRequest(ids=(*first.ids[:-2], requests[-1].ids[-2], first.ids[-1]), start=first.start)
    [other] = _scored(scorer, [changed], batching="padded")
    if (ahead := worst_nats([plain[0][:-2]], [other[:-2]])) > allowed:
        raise ModelLoadError(
            f"{scorer.info.name} is not a causal model: later tokens change the log-probability of earlier ones by "
            f"{ahead:.2g} nats; load a model that predicts from left to right"
        )
    if (problem := structural_problem(scorer.model)) is not None:
        return problem
    try:
        packed = _scored(scorer, requests, batching="packed")
    except REFUSALS as error:
        return f"its forward pass refuses a tree attention mask ({type(error).__name__}: {error})"
    if (worst := worst_nats(packed, plain)) > allowed:
        return f"packed and plain scores differ by {worst:.2g} nats (allowed {allowed:g})"
    if is_exact(scorer.model.dtype):
        return None
    differences = np.concatenate([a - b for a, b in zip(packed, plain, strict=True)])
    rms = float(np.sqrt(np.mean(differences**2)))
    if rms > RMS_SHARE * allowed:
        return f"packed and plain scores differ by {rms:.2g} nats (root mean square; allowed {RMS_SHARE * allowed:g})"
    return None


def causal_length(scorer: CausalScorer) -> int | None:
    """Return the length in tokens beyond which later tokens change earlier scores, or None if they never do.

    Attention that keeps the best k keys (DeepSeek V3.2's) breaks ties by the length of what it is given; no text
    shorter than k shows it.
    """
    window, longest = sparse_window(scorer.model.config), scorer.info.max_length
    if window is None or (longest is not None and longest <= window + 2 * BEYOND_WINDOW_TOKENS):
        return None
    [first, *_] = scorer.encode([Request(context="", target=text, where="self-check") for text in SELF_CHECK])
    words, n_tokens = first.ids[first.start :], window + BEYOND_WINDOW_TOKENS
    ids = (*first.ids, *(words * (n_tokens // len(words) + 1)))[:n_tokens]
    texts = [EncodedRequest(ids=ids + words[:more], start=first.start) for more in (0, 1, len(words))]
    alone, *longer = [_scored(scorer, [text], batching="padded")[0] for text in texts]
    ahead = max(worst_nats([alone], [values[: len(alone)]]) for values in longer)
    if ahead <= allowed_nats(scorer.model.dtype):
        return None
    logger.warning(
        "%s: beyond %d tokens its attention is sparse, and later tokens change the log-probability of earlier ones by "
        "%.2g nats; longer texts are over length for it",
        scorer.info.name,
        window,
        ahead,
    )
    return window


def shared_prefix_problem(scorer: CausalScorer) -> str | None:
    """Return why packs cannot share the keys and values of their prefix, or None: they then do from here on."""
    # starts and their continuations, in packs so small that each start becomes a shared prefix
    requests = scorer.encode(
        [
            Request(context=text[:at], target=text[at:], where="self-check")
            for text in SELF_CHECK[:2]
            for at in range(len("The keys to the"), len(text))
            if text[at] == " "
        ]
    )
    plain = _scored(scorer, requests, batching="packed")
    size, scorer.batch_tokens, scorer.min_shared_tokens = scorer.batch_tokens, PREFIX_CHECK_TOKENS, 1
    try:
        worst = worst_nats(_scored(scorer, requests, batching="packed"), plain)
    except REFUSALS as error:
        problem: str | None = f"its forward pass refuses a cache ({type(error).__name__}: {error})"
    else:
        allowed = allowed_nats(scorer.model.dtype)
        problem = f"scores differ by {worst:.2g} nats (allowed {allowed:g})" if worst > allowed else None
    finally:
        scorer.batch_tokens = size
        scorer.min_shared_tokens = math.inf
    if problem is None:
        scorer.min_shared_tokens = MIN_SHARED_TOKENS
    return problem


def cut_states(scorer: CausalScorer, probe: LinearProbe) -> None:
    """Compute states up to the probe's layer alone, if log-probabilities and log-odds of sentences stay equal."""
    if scorer.cuts_states is not None or scorer.batching == "padded":
        return
    texts: list[dict[str, Any]] = [{"context": "", "target": text, "where": "self-check"} for text in SELF_CHECK[2:]]
    asked = [*(Request(**text) for text in texts), *(ProbeRequest(**text, probe=probe) for text in texts)]
    requests = scorer.encode(asked)
    whole = _scored(scorer, requests, batching="packed")
    handles = cuts.prepare(scorer.model)
    scorer.cuts_states = bool(handles)
    try:
        worst = worst_nats(_scored(scorer, requests, batching="packed"), whole)
    except REFUSALS as error:
        logger.info("%s: its layers refuse fewer nodes (%s)", scorer.info.name, error)
        worst = math.inf
    if worst > allowed_nats(scorer.model.dtype):
        scorer.cuts_states = False
        for handle in handles:
            handle.remove()


def check_chat_template(scorer: CausalScorer) -> None:
    """Refuse a chat template that fails, exceeds its limits, or leaves out what is asked or how the answer begins."""
    if scorer.info.prompt_format != "chat":
        return
    if problem := limits_problem(scorer.tokenizer):
        raise ModelLoadError(
            f"{scorer.info.name}: its chat template {problem}; load the model with prompt_format='base' "
            "(--prompt-format base), or correct the template"
        )
    for stem in ("", ANSWER):
        try:
            text = scorer.render_prompt(system=SELF_CHECK[2], user=SELF_CHECK[0], stem=stem)
        except ScoringError as error:
            raise ModelLoadError(str(error)) from error
        if not stem and scorer.info.thinking == "on" and text.rstrip().endswith(tuple(end for _, end in BLOCKS)):
            raise ModelLoadError(
                f"{scorer.info.name}: with thinking='on' its chat template still ends in an empty thinking block; "
                "leave thinking at 'auto'"
            )
        if SELF_CHECK[0] not in text or not text.rstrip().endswith(stem):
            raise ModelLoadError(
                f"{scorer.info.name}: its chat template does not render {SELF_CHECK[0]!r} and {stem!r} as they stand, "
                f"but gives {text[:200]!r}; load the model with prompt_format='base', or correct the template"
            )


def block_head(scorer: CausalScorer) -> torch.nn.Linear | None:
    """Return the output layer if it may be applied in blocks of the vocabulary (`logprobs`), tried on a sentence."""
    [encoded, *_] = scorer.encode([Request(context="", target=text, where="self-check") for text in SELF_CHECK])
    with scoring_mode(scorer.model):
        return linear_head(scorer.model, torch.tensor([encoded.ids], device=input_device(scorer.model)))


def _scored(
    scorer: CausalScorer, requests: Sequence[EncodedRequest], *, batching: Literal["packed", "padded"]
) -> list[FloatArray]:
    chosen, scorer.batching = scorer.batching, batching
    try:
        return scorer.token_logprobs(requests, progress=lambda _n_done: None)
    finally:
        scorer.batching = chosen
