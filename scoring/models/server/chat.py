"""A model behind a chat API that tells no probabilities of a text: what it writes, what its top tokens choose.

In: prompts, sent as messages; the stem of an answer ends the question, for no answer can be begun for the model. Out:
written answers; and of a question whose options are all among the most probable first tokens (20 at most) their
log-probabilities, flagged `top_logprobs`. An option's probability is that of all tokens that are the option beside
spaces. A token with what an API writes for "not reported" (`ways.reported_nats`) is not among them. Where an option is
not among them, no token that is it can be more probable than the least of them, nor than what they leave: the smaller
one is its value, an upper bound, flagged `outside_top`. Where that holds of all options of a question, nothing is
known: NaN.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

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
    thinking_characters,
)
from pairbank.scoring.api.names import NEAR_TIE, OUTSIDE_TOP, TOP_LOGPROBS, TRUNCATED
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.generation import NEAR_TIE_NATS
from pairbank.scoring.models.server.chat_api import CHAT, MOST_TOP, ChatSettings, messages_of, top_tokens
from pairbank.scoring.models.server.client import Client, ServerError, model_changed
from pairbank.scoring.models.server.identity import ChatAnswers, chat_answers
from pairbank.scoring.models.server.ways import MOST_OTHERS, draw_settings, first_choice
from pairbank.scoring.models.tokenizing import base_prompt

logger = logging.getLogger(__name__)


LEAST_LEFT = 1e-12
"""Probability that the told tokens leave at least: their sum may be rounded above 1."""


@dataclass(slots=True, kw_only=True)
class ChatScorer:
    """Asks a model through a chat API. Build it with `pairbank.load_model(URL, api="chat")`."""

    samples_answers: ClassVar[Literal[True]] = True

    client: Client
    served: str
    """What the server calls the model."""
    info: ModelInfo
    tells_top: bool
    """Whether the API tells the most probable first tokens."""
    settings: ChatSettings = field(default_factory=ChatSettings)
    identity: ChatAnswers | None = None
    stats: ScoringStats = field(default_factory=ScoringStats)
    _contexts: dict[str, int] = field(default_factory=dict)
    _options: dict[tuple[int, str], int] = field(default_factory=dict)
    _asked: dict[tuple[int, int], tuple[str, str, str]] = field(default_factory=dict)
    """(context, option) of an encoded request -> the context, the option, and the item's name."""
    _outside: set[tuple[int, int]] = field(default_factory=set)
    """Encoded requests whose option was not told."""

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        messages = [{"role": "system", "content": system}] if system else []
        for turn in examples:
            messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}]
        messages.append({"role": "user", "content": base_prompt(user=user, stem=stem)})
        return json.dumps(messages, ensure_ascii=False)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return a number for each question and option, in the place of tokens that nobody here knows."""
        results = []
        for request in requests:
            if self.info.thinking == "on":
                raise ScoringError(
                    f"{request.where or 'request'}: {self.info.name} thinks before it answers, so that its first token "
                    "is no answer; load it with thinking='off' (--thinking off), or ask for written answers (methods "
                    "that end in _free)"
                )
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
            results.append(EncodedRequest(ids=(context, option), start=1, flags=(TOP_LOGPROBS,)))
        return results

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        began = time.perf_counter()
        by_context: dict[int, list[int]] = {}
        for number, request in enumerate(requests):
            by_context.setdefault(request.ids[0], []).append(number)
        groups = list(by_context.values())
        first = [self._asked[requests[members[0]].ids[0], requests[members[0]].ids[1]] for members in groups]
        settings = self.settings.body(1, temperature=1.0) | {"logprobs": True, "top_logprobs": MOST_TOP}
        settings |= {"top_p": 1.0} if self.settings.takes_temperature else {}
        bodies = ({"model": self.served, "messages": messages_of(text, chat=True), **settings} for text, _, _ in first)
        results: dict[int, FloatArray] = {}
        for number, choice in self.client.post_all(CHAT, bodies, lambda _, answer: first_choice(answer)):
            members = groups[number]
            top = top_tokens(choice, 0)
            if not (choice.get("logprobs") or {}).get("content"):
                raise ServerError(
                    f"{first[number][2] or 'request'}: {self.info.name} told no log-probabilities; ask for written "
                    "answers (methods that end in _free)"
                )
            values = self._nats(top, [requests[member] for member in members])
            results |= {member: np.array([nats]) for member, nats in zip(members, values, strict=True)}
            progress(len(members))
        self.refuse_another_model()
        self.stats.seconds += time.perf_counter() - began
        return [results[number] for number in range(len(requests))]

    def _nats(self, top: Mapping[str, float], requests: Sequence[EncodedRequest]) -> list[float]:
        keys = [(request.ids[0], request.ids[1]) for request in requests]
        reported = [[nats for token, nats in top.items() if token.strip() == self._asked[key][1]] for key in keys]
        self._outside.difference_update(keys)
        self._outside.update(key for key, nats in zip(keys, reported, strict=True) if not nats)
        mass = math.fsum(map(math.exp, top.values()))
        if mass > 1 + MOST_OTHERS:
            raise ServerError(
                f"{self.info.name} at {self.client.url}: the probabilities of its most probable first tokens sum to "
                f"{mass:.2f}, expected 1 at most; ask for written answers (methods that end in _free)"
            )
        left = max(1 - mass, LEAST_LEFT)
        bound = min(math.log(left), *top.values()) if any(reported) else math.nan
        return [float(np.logaddexp.reduce(nats)) if nats else bound for nats in reported]

    def flags_of(self, request: EncodedRequest) -> tuple[str, ...]:
        return (OUTSIDE_TOP,) if request.ids in self._outside else ()

    def write(
        self,
        prompts: Sequence[Ask],
        *,
        max_new_tokens: int,
        over_length: OverLength,  # noqa: ARG002 - only the server knows how long a prompt is; it refuses one too long
        progress: Progress,
    ) -> list[Continuation]:
        began = time.perf_counter()
        settings = self.settings.body(max_new_tokens, temperature=0.0)
        if self.tells_top:
            settings |= {"logprobs": True, "top_logprobs": 2}
        bodies = (
            {"model": self.served, "messages": messages_of(ask.text, chat=ask.chat), **settings, **self._drawn(ask)}
            for ask in prompts
        )
        results: dict[int, Continuation] = {}

        def read(number: int, answer: Mapping[str, Any]) -> Continuation:
            return _continuation(answer, is_drawn=prompts[number].draw is not None)

        for number, created in self.client.post_all(CHAT, bodies, read):
            results[number] = created
            progress(1)
        self.refuse_another_model()
        self.stats.seconds += time.perf_counter() - began
        return [results[number] for number in range(len(prompts))]

    def refuse_another_model(self) -> None:
        """Ask the questions of `chat_identity` again, after every unit and before anything of it is stored."""
        if self.identity is None:
            return
        problem = ""
        for _ in range(2):
            answers = chat_answers(self.client, self.served, self.settings, tells_top=self.tells_top)
            problem = self.identity.difference(answers) or ""
            if not problem:
                return
        raise model_changed(self.info.name, self.client.url, problem)

    def _drawn(self, ask: Ask) -> dict[str, Any]:
        result = draw_settings(ask.draw)
        if ask.draw is not None and ask.draw.temperature != 1 and not self.settings.takes_temperature:
            raise ScoringError(
                f"{ask.where or 'prompt'}: {self.info.name} takes no temperature, so draws at {ask.draw.temperature:g} "
                "cannot be had; leave --temperature away"
            )
        dropped = {"temperature": not self.settings.takes_temperature, "seed": not self.settings.takes_seed}
        return {name: value for name, value in result.items() if not dropped[name]}


def _continuation(answer: Mapping[str, Any], *, is_drawn: bool) -> Continuation:
    """Return what was written; an answer that is thinking alone has no text, and is flagged where it was cut."""
    choice = first_choice(answer)
    message = choice.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content", ""), str | None):
        raise ServerError(f"the answer has no text: {repr(choice)[:200]}; expected an OpenAI-compatible chat API")
    text = message.get("content") or ""
    is_cut = choice.get("finish_reason") == "length" and (not text or thinking_characters(text) is None)
    n_places = len((choice.get("logprobs") or {}).get("content") or ())
    leads = [sorted(top_tokens(choice, place).values())[-2:] for place in range(n_places)]
    is_near = not is_drawn and any(len(two) == 2 and two[1] - two[0] < NEAR_TIE_NATS for two in leads)
    n_tokens = (answer.get("usage") or {}).get("completion_tokens", n_places)
    flags = (*([NEAR_TIE] if is_near else []), *([TRUNCATED] if is_cut else []))
    return Continuation(text=text, n_tokens=int(n_tokens), flags=flags)
