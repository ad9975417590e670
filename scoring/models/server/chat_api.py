"""How a chat API is asked, and what its answers hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, cast

from pairbank.scoring.api.model import BLOCKS, SWITCH, Thinking
from pairbank.scoring.models.server.client import Client, ServerError
from pairbank.scoring.models.server.ways import reported_nats

CHAT = "/chat/completions"
MOST_TOP = 20
"""Most probable first tokens that APIs of this kind tell."""
FIRST_TOKENS = 16
"""Tokens of the first answer, which some APIs refuse to be fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """Which parameters an API takes; tried once at load."""

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_temperature: bool = True
    takes_seed: bool = True
    thinking: Thinking = "auto"
    """Sent to the server's chat template, unless auto."""
    effort: str = ""

    @property
    def deviations(self) -> list[str]:
        return [
            *([self.limit] if self.limit != "max_tokens" else []),
            *(["no temperature"] if not self.takes_temperature else []),
            *(["no seed"] if not self.takes_seed else []),
        ]

    def body(self, n_tokens: int, *, temperature: float) -> dict[str, Any]:
        return {
            self.limit: n_tokens,
            **({"temperature": temperature} if self.takes_temperature else {}),
            **({"reasoning_effort": self.effort} if self.effort else {}),
            **({"chat_template_kwargs": {SWITCH: self.thinking == "on"}} if self.thinking != "auto" else {}),
        }


def negotiated(client: Client, served: str, settings: ChatSettings) -> tuple[ChatSettings, Mapping[str, Any]]:
    """Return the parameters that an API takes, and its answer to a question with them."""
    question = [{"role": "user", "content": "Respond with 1 or 2 as your answer."}]
    refusal: ServerError | None = None
    for limit, takes_temperature, takes_seed, logprobs in product(
        ("max_tokens", "max_completion_tokens"), (True, False), (True, False), (True, False)
    ):
        tried = replace(settings, limit=cast("Any", limit), takes_temperature=takes_temperature, takes_seed=takes_seed)
        body = {"model": served, "messages": question, **tried.body(FIRST_TOKENS, temperature=0.0)}
        body |= {"seed": 0} if takes_seed else {}
        try:
            return tried, client.post(CHAT, body | ({"logprobs": True, "top_logprobs": 2} if logprobs else {}))
        except ServerError as error:
            if error.status not in (400, 422):
                raise
            refusal = refusal or error
    raise refusal or ServerError(f"{client.url}: no parameters to try")


def shows_thinking(choice: Mapping[str, Any]) -> bool:
    message = choice.get("message") or {}
    thought = message.get("reasoning_content") or message.get("reasoning")
    text = message.get("content") or ""
    return bool(thought) or any(text.lstrip().startswith(start) for start, _ in BLOCKS)


def messages_of(text: str, *, chat: bool) -> list[dict[str, str]]:
    """Return the messages of a prompt: those that `render_prompt` wrote, or plain text as the user's one message."""
    if not chat:
        return [{"role": "user", "content": text}]
    messages: list[dict[str, str]] = json.loads(text)
    return messages


def top_tokens(choice: Mapping[str, Any], place: int) -> dict[str, float]:
    """Return the most probable tokens of a place, with their log-probabilities in nats: those that are reported."""
    try:
        entries = choice["logprobs"]["content"][place]["top_logprobs"]
        values = [token["logprob"] for token in entries]
        others = [values[:n] + values[n + 1 :] for n in range(len(values))]
        nats = [reported_nats(value, rest) for value, rest in zip(values, others, strict=True)]
        return {str(token["token"]): value for token, value in zip(entries, nats, strict=True) if not math.isnan(value)}
    except (KeyError, IndexError, TypeError):
        return {}
