"""A model behind a chat API that tells no probabilities of a text: what it writes, what its top tokens choose.

In: prompts, sent as messages; the stem of an answer ends the question, for no answer can be begun for the model. Out:
written answers; and of a question whose options are all among the most probable first tokens (20 at most) their
log-probabilities, flagged `top_logprobs`. An option's probability is that of all tokens that are the option beside
spaces. Where an option is not among them, that is an error: nothing is known of it but that it is less probable.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import (
    Ask,
    Continuation,
    ExampleTurn,
    ModelInfo,
    OverLength,
    Progress,
    ScoringStats,
)
from pairbank.scoring.api.names import NEAR_TIE, TOP_LOGPROBS
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.generation import NEAR_TIE_NATS
from pairbank.scoring.models.server.client import Client, ServerError
from pairbank.scoring.models.server.scorer import first_choice
from pairbank.scoring.models.tokens.tokenizing import base_prompt

CHAT = "/chat/completions"
MOST_TOP = 20
"""Most probable first tokens that APIs of this kind tell."""


@dataclass(slots=True, kw_only=True)
class ChatScorer:
    """Asks a model through a chat API. Build it with `pairbank.load_model(URL, api="chat")`."""

    client: Client
    served: str
    """What the server calls the model."""
    info: ModelInfo
    tells_top: bool
    """Whether the API tells the most probable first tokens."""
    stats: ScoringStats = field(default_factory=ScoringStats)
    _contexts: dict[str, int] = field(default_factory=dict)
    _options: dict[tuple[int, str], int] = field(default_factory=dict)
    _asked: dict[tuple[int, int], tuple[str, str, str]] = field(default_factory=dict)
    """(context, option) of an encoded request -> the context, the option, and the item's name."""

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        """Return the messages, as JSON."""
        messages = [{"role": "system", "content": system}] if system else []
        for turn in examples:
            messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}]
        messages.append({"role": "user", "content": base_prompt(user=user, stem=stem)})
        return json.dumps(messages, ensure_ascii=False)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return a number for each question and option, in the place of tokens that nobody here knows.

        Raises:
            ScoringError: a text that is no question to a chat.
        """
        found = []
        for request in requests:
            if not request.chat or not self.tells_top:
                why = "tells no log-probabilities" if request.chat else "gives no probability of a text"
                raise ScoringError(
                    f"{request.where or 'request'}: {self.info.name} is behind a chat API, which {why}; ask for "
                    f"written answers (methods that end in _free){'' if request.chat else ' or forced choices @chat'}, "
                    "or use a server that gives prompt log-probabilities, such as vLLM's"
                )
            context = self._contexts.setdefault(request.context, len(self._contexts))
            text = request.target.strip()
            option = self._options.setdefault((context, text), len(self._options))
            self._asked[context, option] = (request.context, text, request.where)
            found.append(EncodedRequest(ids=(context, option), start=1, flags=(TOP_LOGPROBS,)))
        return found

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        """Return the log-probability in nats of each option as the first thing written.

        Raises:
            ScoringError: an option that is not among the most probable tokens.
        """
        began = time.perf_counter()
        by_context: dict[int, list[int]] = {}
        for number, request in enumerate(requests):
            by_context.setdefault(request.ids[0], []).append(number)
        groups = list(by_context.values())
        first = [self._asked[requests[members[0]].ids[0], requests[members[0]].ids[1]] for members in groups]
        settings = {"max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "logprobs": True, "top_logprobs": MOST_TOP}
        bodies = ({"model": self.served, "messages": messages_of(text, chat=True), **settings} for text, _, _ in first)
        found: dict[int, FloatArray] = {}
        for number, answer in self.client.post_all(CHAT, bodies):
            top = top_tokens(first_choice(answer), 0)
            for member in groups[number]:
                _, option, where = self._asked[requests[member].ids[0], requests[member].ids[1]]
                found[member] = np.array([self._nats(top, option, where)])
            progress(len(groups[number]))
        self.stats.seconds += time.perf_counter() - began
        return [found[number] for number in range(len(requests))]

    def _nats(self, top: Mapping[str, float], option: str, where: str) -> float:
        nats = [value for token, value in top.items() if token.strip() == option]
        if not nats:
            raise ScoringError(
                f"{where or 'request'}: the option {option!r} is not among the {len(top)} most probable tokens that "
                f"{self.info.name} tells ({', '.join(map(repr, list(top)[:5]))} …), so its probability is not known; "
                "ask for written answers (methods that end in _free), or use a server that gives prompt "
                "log-probabilities"
            )
        return math.log(math.fsum(math.exp(value) for value in nats))

    def write(
        self,
        prompts: Sequence[Ask],
        *,
        max_new_tokens: int,
        over_length: OverLength,  # noqa: ARG002 - only the server knows how long a prompt is; it refuses one too long
        progress: Progress,
    ) -> list[Continuation]:
        """Return what the model answers, greedily."""
        settings: dict[str, Any] = {"max_tokens": max_new_tokens, "temperature": 0.0}
        if self.tells_top:
            settings |= {"logprobs": True, "top_logprobs": 2}
        bodies = (
            {"model": self.served, "messages": messages_of(ask.text, chat=ask.chat), **settings} for ask in prompts
        )
        found: dict[int, Continuation] = {}
        for number, answer in self.client.post_all(CHAT, bodies):
            found[number] = _continuation(answer)
            progress(1)
        return [found[number] for number in range(len(prompts))]


def messages_of(text: str, *, chat: bool) -> list[dict[str, str]]:
    """Return the messages of a prompt: those that `render_prompt` wrote, or plain text as the user's one message."""
    if not chat:
        return [{"role": "user", "content": text}]
    messages: list[dict[str, str]] = json.loads(text)
    return messages


def top_tokens(choice: Mapping[str, Any], place: int) -> dict[str, float]:
    """Return the most probable tokens of a place, with their log-probabilities in nats; none where none are told."""
    try:
        entries = choice["logprobs"]["content"][place]["top_logprobs"]
        return {str(entry["token"]): float(entry["logprob"]) for entry in entries}
    except (KeyError, IndexError, TypeError):
        return {}


def _continuation(answer: Mapping[str, Any]) -> Continuation:
    choice = first_choice(answer)
    text = (choice.get("message") or {}).get("content")
    if not isinstance(text, str):
        raise ServerError(f"the answer has no text: {repr(choice)[:200]}; expected an OpenAI-compatible chat API")
    n_places = len((choice.get("logprobs") or {}).get("content") or ())
    leads = [sorted(top_tokens(choice, place).values())[-2:] for place in range(n_places)]
    is_near = any(len(two) == 2 and two[1] - two[0] < NEAR_TIE_NATS for two in leads)
    n_tokens = (answer.get("usage") or {}).get("completion_tokens", n_places)
    return Continuation(text=text, n_tokens=int(n_tokens), flags=(NEAR_TIE,) if is_near else ())
