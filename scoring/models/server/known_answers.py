"""What a completions server is asked at load, before any score rests on it: questions whose answers are known.

In: a client, the tokens. Out: the way to ask that gave log-probabilities (`ways`), and what was found out on the way.

- A token that the server itself names as the most probable after a text must have the same log-probability when it
  stands in the prompt (llama.cpp's server gives 0.0 for every token of a prompt).
- What a word's log-probability is must depend on what stands before it.
- Where the server tells its own tokens (`/tokenize`), they must be ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.batch_check import LOW_PRECISION_TOLERANCE_NATS
from pairbank.scoring.models.self_check import SELF_CHECK
from pairbank.scoring.models.server.client import Client, ServerError, ServerGoneError
from pairbank.scoring.models.server.scorer import COMPLETIONS, TOKEN_ID, first_choice
from pairbank.scoring.models.server.ways import PLAIN, WAYS, Way
from pairbank.scoring.models.tokens.causal_tokens import CausalTokens

TEXTS = (*SELF_CHECK, "Fran\N{LATIN SMALL LETTER C WITH CEDILLA}ois \N{EM DASH} 这本书很有意思。")
"""What both tokenizers cut: plain English, an accent, a dash, Chinese."""
LEAST_MOVED_NATS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a server can do."""

    way: Way
    measured: tuple[str, ...]
    """What of the model's facts was seen, not stated."""


def known_answers(client: Client, tokens: CausalTokens, served: str) -> Found:
    """Return the quickest way to ask that gives right answers.

    Raises:
        ModelLoadError: none does, or the server cuts texts into other tokens.
    """
    measured = ["tokens"] if tokens_agree(client, tokens, served) else []
    problems = {}
    for way in WAYS:
        try:
            problem = _problem(client, tokens, served, way)
        except ServerError as error:
            if error.status in (401, 403, 404) or (isinstance(error, ServerGoneError) and error.status is None):
                raise
            problem = str(error)
        if problem is None:
            return Found(way=way, measured=(f"log-probabilities ({way.name})", *measured))
        problems[way.name] = problem
    told = "; ".join(dict.fromkeys(problems.values()))
    raise ModelLoadError(
        f"{client.url} gives no log-probabilities of a prompt's tokens, so nothing can be scored with it ({told}). "
        "Serve the model with vLLM, load it here by its folder or Hub id, or ask for written answers alone (--api chat)"
    )


def tokens_agree(client: Client, tokens: CausalTokens, served: str) -> bool:
    """Return whether the server cuts texts as our tokenizer does, as far as it tells; False where it does not tell.

    Raises:
        ModelLoadError: it cuts them otherwise.
    """
    ours = tokens.tokenizer(list(TEXTS), add_special_tokens=False)["input_ids"]
    for text, ids in zip(TEXTS, ours, strict=True):
        try:
            told = client.post("/tokenize", {"model": served, "prompt": text, "add_special_tokens": False})
        except ServerError as error:
            if error.status in (400, 404, 405, 422):
                return False
            raise
        theirs = told.get("tokens") if isinstance(told, dict) else None
        if not isinstance(theirs, list):
            return False
        if theirs != list(ids):
            named = tokens.tokenizer.name_or_path
            raise ModelLoadError(
                f"{client.url} cuts {text!r} into the tokens {theirs[:8]} …, the tokenizer {named!r} "
                f"into {list(ids)[:8]} …; name the served model's own tokenizer (--tokenizer FOLDER or Hub id)"
            )
    return True


def _problem(client: Client, tokens: CausalTokens, served: str, way: Way) -> str | None:
    """Return what is wrong with this way, or None.

    Raises:
        ServerError: a refusal, or no log-probabilities in the answer.
    """
    requests = tokens.encode([Request(context="", target=text, where="self-check") for text in SELF_CHECK])
    values = _asked(client, served, way, requests)
    together = np.concatenate(values)
    if np.ptp(together) < LEAST_MOVED_NATS:
        known = " (as llama.cpp's server does: ggml-org/llama.cpp#27174)" if not together.any() else ""
        return f"it gives {together[0]:.1f} for every token{known}"
    alone = EncodedRequest(ids=(requests[0].ids[0], requests[0].ids[-1]), start=1)
    if abs(_asked(client, served, way, [alone])[0][0] - values[0][-1]) < LEAST_MOVED_NATS:
        return "a token's log-probability does not depend on what stands before it"
    prompt = requests[0].ids[:-1]
    body = {**PLAIN, "temperature": 0.0, "prompt": list(prompt), "logprobs": 1, "return_tokens_as_token_ids": True}
    named = _named(first_choice(client.post(COMPLETIONS, {"model": served, **body})))
    if named is None:
        return None if way.name == "echo" else "it does not tell which token it made"
    token, nats = named
    asked = _asked(client, served, way, [EncodedRequest(ids=(*prompt, token, prompt[-1]), start=len(prompt))])[0][0]
    if abs(asked - nats) > LOW_PRECISION_TOLERANCE_NATS:
        return f"it makes token {token} with {nats:.2f} nats, and gives it {asked:.2f} nats in a prompt"
    return None


def _asked(client: Client, served: str, way: Way, requests: Sequence[EncodedRequest]) -> list[FloatArray]:
    found: dict[int, FloatArray] = {}
    for question in way.questions(requests):
        choice = first_choice(client.post(COMPLETIONS, {"model": served, **way.body(question)}))
        found |= {member: way.read(question, requests[member], choice) for member in question.members}
    return [found[number] for number in range(len(requests))]


def _named(choice: Mapping[str, Any]) -> tuple[int, float] | None:
    """Return the token made and its log-probability, where the server tells its id."""
    logprobs = choice.get("logprobs") or {}
    names, values = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
    if not names or not values or not str(names[0]).startswith(TOKEN_ID):
        return None
    return int(str(names[0]).removeprefix(TOKEN_ID)), float(values[0])
