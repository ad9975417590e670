"""The reference: one sequence, one forward pass, every step written out. Shares no code with pairbank."""

from collections.abc import Sequence
from typing import Any

import torch

QUESTION = "Which sentence is a better English sentence? 1: '{}', 2: '{}'. Respond with 1 or 2 as your answer."
"""Of `meta_question_simple`."""


def token_logprobs(model: Any, ids: list[int], n_target: int) -> list[float]:  # noqa: ANN401 - any causal model
    """Return log P(token | all before) of each of the last `n_target` tokens, one forward pass."""
    with torch.inference_mode():
        logits = model(torch.tensor([ids], device=model.device), use_cache=False).logits[0]
    first = len(ids) - n_target
    logprobs = torch.log_softmax(logits[first - 1 : -1].double(), dim=-1)
    return [float(row[token]) for row, token in zip(logprobs, ids[first:], strict=True)]


def target_logprob(model: Any, ids: list[int], n_target: int) -> float:  # noqa: ANN401
    """Return the sum of log P(token | all before) over the last `n_target` tokens."""
    return sum(token_logprobs(model, ids, n_target))


def tokens_of(tokenizer: Any, context: str, target: str, bos_id: int | None) -> tuple[list[int], int]:  # noqa: ANN401
    """Return the tokens of the whole string, BOS first, and how many of them, at its end, reach into the target.

    Spaces that end the context are target. Without a BOS the first token has nothing before it.
    """
    encoding = tokenizer(context + target, add_special_tokens=False, return_offsets_mapping=True)
    ids, spans = encoding["input_ids"], encoding["offset_mapping"]
    while context.endswith(" "):
        context = context[:-1]
    n_before = 0
    while context and n_before < len(ids) and spans[n_before][1] <= len(context):
        n_before += 1
    n_target = len(ids) - n_before
    if bos_id is None:
        return ids, min(n_target, len(ids) - 1)
    return [bos_id, *ids], n_target


def sentence_logprob(model: Any, tokenizer: Any, sentence: str) -> float:  # noqa: ANN401
    """Return log P(sentence) with one BOS before it."""
    ids = tokenizer(sentence, add_special_tokens=False)["input_ids"]
    bos = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    return target_logprob(model, [bos, *ids], len(ids))


def n_distinct_nodes(requests: Sequence[Any]) -> int:
    """Return how many tree nodes the requests need with no budget: the least possible work, in tokens."""
    return len({request.ids[:n] for request in requests for n in range(1, len(request.ids))})
