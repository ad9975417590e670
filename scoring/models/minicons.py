"""A model scored as minicons scores it by default, to compare: `load_model("minicons:MODEL")`.

The tokens are those that `sequence_score` and `conditional_score` of `minicons.scorer.IncrementalLMScorer` take when
only texts are given. `direct` is then the sum of what they score, and `mean_logprob` their own default, the mean. Each
request has a flag for each way in which its tokens are not ours.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError
from pairbank.scoring.api.model import ExampleTurn, Progress, Scorer
from pairbank.scoring.api.names import FIRST_TOKEN_UNSCORED
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.options import LoadOptions

SAME_NATS = 0.0005
"""Sums that are no further apart are the same."""
NO_BOS, TWO_BOS, EOS_SCORED, JOINED, RETOKENISED = "no_bos", "two_bos", "eos_scored", "joined_by_space", "join_token"
PROMPT_SCORED, TARGET_UNSCORED = "prompt_scored", "target_unscored"
REASONS = {
    FIRST_TOKEN_UNSCORED: "the first token is not scored",
    NO_BOS: "no BOS before the text",
    TWO_BOS: "two BOS before the text",
    EOS_SCORED: "the tokenizer's EOS is scored",
    JOINED: "context and target are joined by a space",
    RETOKENISED: "a token reaches across the join",
    PROMPT_SCORED: "tokens of the prompt are scored (end-of-turn and padding tokens are not counted as prompt)",
    TARGET_UNSCORED: "the first tokens of the target are not scored",
}
"""Flag -> what minicons does otherwise by default."""


class MiniconsScorer:
    def __init__(self, ours: CausalScorer) -> None:
        from minicons.scorer import IncrementalLMScorer

        self.ours, tokenizer = ours, copy.deepcopy(ours.tokenizer)
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token  # as minicons does, with a warning
        if tokenizer.pad_token is None:
            raise ModelLoadError(f"{ours.info.name}: no padding token, for which minicons would change the model")
        self.peer: Any = IncrementalLMScorer(ours.model, str(input_device(ours.model)), tokenizer=tokenizer)
        self.info = replace(ours.info, name=f"{ours.info.name} (minicons)", backend=f"minicons {version('minicons')}")

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        return self.ours.render_prompt(system=system, user=user, stem=stem, examples=examples)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        encoded = self.ours.encode(requests)
        return [self._encoded(request, ours) for request, ours in zip(requests, encoded, strict=True)]

    def _encoded(self, request: Request, ours: EncodedRequest) -> EncodedRequest:
        tokenizer, target = self.peer.tokenizer, request.target.lstrip(" ")
        if request.context:
            batch, (offset,) = self.peer.prime_text([request.context], [target])
        else:
            batch, (offset,) = self.peer.prepare_text([request.target])
        ids = tuple(batch["input_ids"][0].tolist())
        begins = (self.ours.info.prefix or (tokenizer.bos_token_id,))[-1]
        body, our_body = _after(ids, begins), _after(ours.ids, begins)
        n_more = len(body) - len(our_body)
        ends = body[: len(our_body)] == our_body and set(body[len(our_body) :]) == {tokenizer.eos_token_id}
        flags = {
            NO_BOS: len(ids) == len(body) and len(ours.ids) > len(our_body),
            TWO_BOS: len(ids) - len(body) > max(1, len(ours.ids) - len(our_body)),
            EOS_SCORED: n_more > 0 and ends,
            JOINED: bool(request.context) and f"{request.context} {target}" != request.context + request.target,
        }
        flags[RETOKENISED] = not (ends or body == our_body or flags[JOINED])
        # what it scores ends the text as ours does: compare how far from the end both begin
        n_scored = len(ids) - offset - 1 - (n_more if flags[EOS_SCORED] else 0)
        flags[FIRST_TOKEN_UNSCORED] = not request.context and n_scored < ours.n_scored
        flags[TARGET_UNSCORED] = bool(request.context) and n_scored < ours.n_scored
        flags[PROMPT_SCORED] = bool(request.context) and n_scored > ours.n_scored
        return EncodedRequest(ids=ids, start=offset + 1, flags=tuple(flag for flag, holds in flags.items() if holds))

    def gap_on_our_tokens(self, requests: Sequence[Request]) -> float:
        """Return the largest difference in nats of a sum by minicons from ours, where it is given our tokens."""
        encoded = self.ours.encode(requests)
        ours, theirs = (x.token_logprobs(encoded, progress=lambda _n: None) for x in (self.ours, self))
        return max(abs(float(a.sum() - b.sum())) for a, b in zip(ours, theirs, strict=True))

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        import torch
        from transformers import BatchEncoding

        results: list[FloatArray] = []
        with scoring_mode(self.ours.model):
            for request in requests:  # one by one: what else is in a batch is not minicons' default
                ids = torch.tensor([request.ids])
                batch = BatchEncoding({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
                (scores,) = self.peer.compute_stats((batch, [request.start - 1]), return_tensors=True)
                results.append(scores.double().cpu().numpy().astype(np.float64))
                progress(1)
        return results


def _after(ids: Sequence[int], begins: int | None) -> tuple[int, ...]:
    n_before = next((n for n, token in enumerate(ids) if token != begins), len(ids))
    return tuple(ids[n_before:])


def load(rest: str, options: LoadOptions) -> MiniconsScorer:
    from pairbank.scoring.models.load import load_model

    return beside(load_model(rest, **options))


def beside(ours: Scorer) -> MiniconsScorer:
    if not isinstance(ours, CausalScorer):
        raise ModelLoadError(f"{ours.info.name}: minicons is compared on causal models of transformers")
    try:
        return MiniconsScorer(ours)
    except ImportError as problem:
        raise ModelLoadError("minicons is not installed; type pip install minicons") from problem
