"""What a completions server is asked at load, before any score rests on it: questions whose answers are known.

- After six texts, one of them long, the 20 most probable tokens have probabilities that sum to at most 1, and leave the
  others no more than they can have: so log-probabilities are natural logarithms of one distribution.
- Five of each 20, from likely to unlikely, have the same log-probability when they stand in the prompt (llama.cpp's
  server gives 0.0 for every token of a prompt).
- A token's log-probability depends on what stands before it, and on nothing behind it, alone and in company.
- Where the server tells its own tokens (`/tokenize`), they must be ours.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.batch_check import LONG_TEXT, LOW_PRECISION_TOLERANCE_NATS
from pairbank.scoring.models.causal_tokens import CausalTokens
from pairbank.scoring.models.self_check import SELF_CHECK
from pairbank.scoring.models.server.client import Client, ServerError, ServerGoneError
from pairbank.scoring.models.server.identity import Probes, moved_nats
from pairbank.scoring.models.server.ways import MOST_LAST_TOKENS, PLAIN, TOKEN_ID, WAYS, Asking, Way, reported_nats
from pairbank.scoring.models.tokenizing import vocabulary_of

logger = logging.getLogger(__name__)
TEXTS = (*SELF_CHECK, "Fran\N{LATIN SMALL LETTER C WITH CEDILLA}ois \N{EM DASH} 这本书很有意思。")
"""What both tokenizers cut: plain English, an accent, a dash, Chinese."""
MOST_TOKENS = 160
BEGINNINGS = (8, 15, 33, 64, 120)
"""Tokens of the long text that are also asked for alone."""
N_TOP = {"echo": 5}
"""Most probable tokens that a server tells: 20, of OpenAI's first API 5."""
RANKS = (0, 1, 4, 9, 19)
MOST_MASS, LEAST_MASS = 1.02, 0.95
"""What the probabilities of all tokens may sum to; low precision moves it by less than .02."""
FLOOR_NATS = {"float32": 0.01}
OTHER_FLOOR_NATS = 0.1
"""What batching is allowed to move a probe by at least: 2e-3 was seen in float32, 0.05 in bfloat16."""
TOLERANCE_NATS = {"float32": 0.02}
"""Between two ways to ask for one number, where the user stated the dtype."""
LEAST_MOVED_NATS = 1e-6


def known_answers(
    client: Client, tokens: CausalTokens, served: str, *, longest: int | None
) -> tuple[Way, tuple[str, ...], Probes]:
    """Return the quickest way to ask that gives right answers, what of the model's facts was seen, and the probes."""
    measured = ["tokens"] if tokens_agree(client, tokens, served) else []
    problems: dict[str, str] = {}
    result: Probes | str
    for way in WAYS:
        try:
            asking = Asking(client=client, served=served, way=way)
            result = _tried(asking, tokens, longest)
        except ServerError as error:
            if error.status in (401, 403, 404) or (isinstance(error, ServerGoneError) and error.status is None):
                raise
            result = str(error)
        if isinstance(result, Probes):
            return way, (f"log-probabilities ({way.name})", *measured), result
        problems[way.name] = result
    reported = client.without_key("; ".join(dict.fromkeys(problems.values())))
    raise ModelLoadError(
        f"{client.url} gives no log-probabilities of a prompt's tokens, so nothing can be scored with it ({reported}). "
        "Serve the model with vLLM, load it here by its folder or Hub id, or ask for written answers alone (--api chat)"
    )


def tokens_agree(client: Client, tokens: CausalTokens, served: str) -> bool:
    """Return whether the server cuts texts as our tokenizer does, as far as it tells; False where it does not tell."""
    ours = tokens.tokenizer(list(TEXTS), add_special_tokens=False)["input_ids"]
    for text, ids in zip(TEXTS, ours, strict=True):
        try:
            reported = client.post("/tokenize", {"model": served, "prompt": text, "add_special_tokens": False})
        except ServerError as error:
            if error.status in (400, 404, 405, 422):
                return False
            raise
        theirs = reported.get("tokens") if isinstance(reported, dict) else None
        if not isinstance(theirs, list):
            return False
        if theirs != list(ids):
            named = tokens.tokenizer.name_or_path
            raise ModelLoadError(
                f"{client.url} cuts {text!r} into the tokens {theirs[:8]} …, the tokenizer {named!r} "
                f"into {list(ids)[:8]} …; name the served model's own tokenizer (--tokenizer FOLDER or Hub id)"
            )
    return True


def _tried(asking: Asking, tokens: CausalTokens, longest: int | None) -> Probes | str:
    """Return what identifies the model, or what is wrong with this way to ask."""
    most = MOST_TOKENS if longest is None else max(3, min(MOST_TOKENS, longest - 3))
    requests = [
        EncodedRequest(ids=request.ids[:most], start=request.start)
        for request in tokens.encode(
            [Request(context="", target=text, where="self-check") for text in (*TEXTS, LONG_TEXT)]
        )
    ]
    *texts, long = requests
    tolerance = TOLERANCE_NATS.get(tokens.info.dtype, LOW_PRECISION_TOLERANCE_NATS)
    alone = asking.nats(requests, together=False)
    beginnings = [EncodedRequest(ids=long.ids[:n], start=long.start) for n in BEGINNINGS if n < len(long.ids)]
    company = asking.nats([*reversed(texts), *beginnings, long], together=True)
    again = [*reversed(company[: len(texts)]), company[-1]]
    of_beginnings = company[len(texts) : -1]
    if (problem := _constant(asking, texts, alone)) is not None:
        return problem
    noise = max(moved_nats(first, second) for first, second in zip(alone, again, strict=True))
    if noise > tolerance:
        return f"its answers differ by {noise:.2f} nats when several questions are asked at once"
    # a causal model gives the beginnings of a text what it gives them in the whole
    ahead = max((moved_nats(beginning, alone[-1][: len(beginning)]) for beginning in of_beginnings), default=0.0)
    if ahead > tolerance:
        return f"a token's log-probability changes by {ahead:.2f} nats with what follows it"
    held = [*requests[:3], texts[-1], *beginnings[::2], long]
    if (problem := _wrong_logarithms(asking, tokens, held, tolerance)) is not None:
        return problem
    floor = FLOOR_NATS.get(tokens.info.dtype, OTHER_FLOOR_NATS)
    return Probes(
        requests=(texts[0], texts[-1]),
        nats=np.concatenate([alone[0], alone[len(texts) - 1]]),
        allowed_nats=min(LOW_PRECISION_TOLERANCE_NATS, max(floor, 4 * noise)),
    )


def _constant(asking: Asking, texts: Sequence[EncodedRequest], values: Sequence[FloatArray]) -> str | None:
    together = np.concatenate(values)
    if np.ptp(together) < LEAST_MOVED_NATS:
        known = " (as llama.cpp's server does: ggml-org/llama.cpp#27174)" if not together.any() else ""
        return f"it gives {together[0]:.1f} for every token{known}"
    first, other = texts[0].ids, texts[3].ids
    at = next(place for place, (token, another) in enumerate(zip(first, other, strict=False)) if token != another)
    changed = EncodedRequest(ids=(*first[:at], other[at], *first[at + 1 :]), start=len(first) - 1)
    if abs(asking.nats([changed], together=False)[0][0] - values[0][-1]) < LEAST_MOVED_NATS:
        return "a token's log-probability does not depend on what precedes it"
    return None


def _wrong_logarithms(
    asking: Asking, tokens: CausalTokens, requests: Sequence[EncodedRequest], tolerance: float
) -> str | None:
    """Hold the most probable tokens of several places to a distribution, and to what they have in a prompt."""
    n_ids = vocabulary_of(tokens.tokenizer).n_ids
    named: list[tuple[EncodedRequest, float]] = []
    prompts = [request.ids[:-1] for request in requests]
    tops = _top(asking, prompts)
    for prompt, top in zip(prompts, tops, strict=True):
        if not top:
            return None if asking.way.name == "echo" else "it does not tell which token it made"
        ranked = sorted(top, key=lambda name: -top[name])
        by_id = ranked[0].startswith(TOKEN_ID)  # else several tokens may have one name
        mass = math.fsum(math.exp(nats) for nats in top.values())
        most = mass + 1.1 * max(0, n_ids - len(top)) * math.exp(top[ranked[-1]]) if by_id else 1.0
        if mass > MOST_MASS or most < LEAST_MASS:
            return (
                f"the probabilities of all tokens after a text sum to between {mass:.2f} and {most:.2f}, expected 1: "
                "what it gives are not natural logarithms of the model's own distribution"
            )
        if by_id:
            chosen = [
                (name, int(name.removeprefix(TOKEN_ID))) for name in (ranked[r] for r in RANKS if r < len(ranked))
            ]
            named += [
                (EncodedRequest(ids=(*prompt, token, prompt[-1]), start=len(prompt)), top[name])
                for name, token in chosen
            ]
    in_prompts = asking.nats([request for request, _ in named], together=True)
    for (request, nats), values in zip(named, in_prompts, strict=True):
        if abs(values[0] - nats) > tolerance:
            return (
                f"it makes token {request.ids[-2]} with {nats:.2f} nats, and gives it {values[0]:.2f} nats in a prompt"
            )
    own = [EncodedRequest(ids=(*request.ids, request.ids[-2]), start=len(request.ids) - 1) for request in requests]
    for request, values, top in zip(own, asking.nats(own, together=True), tops, strict=True):
        unlike = min((abs(values[0] - nats) for nats in top.values()), default=0.0)
        if unlike > tolerance and values[0] > min(top.values()):
            return f"it gives token {request.ids[-2]} {values[0]:.2f} nats, and tells others as the most probable ones"
    return None


def _top(asking: Asking, prompts: Sequence[tuple[int, ...]]) -> list[dict[str, float]]:
    settings = {**PLAIN, "temperature": 0.0, "logprobs": N_TOP.get(asking.way.name, MOST_LAST_TOKENS)}
    settings |= {"return_tokens_as_token_ids": True}
    results: list[dict[str, float]] = [{} for _ in range(len(prompts))]
    for number, choice in asking.choices([settings | {"prompt": list(prompt)} for prompt in prompts]):
        logprobs = choice.get("logprobs")
        tops = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
        if isinstance(tops, list) and tops and isinstance(tops[0], dict):
            nats = {str(name): reported_nats(value) for name, value in tops[0].items()}
            results[number] = {name: value for name, value in nats.items() if not math.isnan(value)}
    return results
