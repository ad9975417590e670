"""A model behind a chat API that tells no probabilities of a text: what it writes, what its top tokens choose.

Prompts are sent as messages; the stem of an answer ends the question, for no answer can be begun for the model. An
option's probability is that of all tokens that are the option beside spaces, among the most probable first tokens
(20 at most); flagged `top_logprobs`. Where an option is not among them, no token that is it can be more probable than
the least of them, nor than what they leave: the smaller one is its value, an upper bound, flagged `outside_top`. Where
that holds of all options of a question, nothing is known: NaN.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import (
    BLOCKS,
    SWITCH,
    Ask,
    Continuation,
    ExampleTurn,
    ModelInfo,
    OverLength,
    Progress,
    ScoringStats,
    Thinking,
    thinking_characters,
)
from pairbank.scoring.api.names import NEAR_TIE, OUTSIDE_TOP, TOP_LOGPROBS, TRUNCATED
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.generation import NEAR_TIE_NATS
from pairbank.scoring.models.server.client import Client, ServerError, model_changed
from pairbank.scoring.models.server.identity import ChatAnswers
from pairbank.scoring.models.server.ways import MOST_OTHERS, draw_settings, first_choice, lead_nats, reported_nats
from pairbank.scoring.models.tokenizing import base_prompt

T = TypeVar("T")
logger = logging.getLogger(__name__)
CHAT = "/chat/completions"
MOST_TOP = 20
"""Most probable first tokens that APIs of this kind tell."""
FIRST_TOKENS = 16
"""Tokens of the first answer, which some APIs refuse to be fewer."""
IDENTITY_QUESTIONS = (
    "Continue this story with one sentence: The old lighthouse keeper opened the door and",
    "Name five animals that live in the sea, separated by commas.",
    "Write a sentence in which every word begins with the letter s.",
    "Setze diesen Satz fort: Als der Zug endlich kam,",
)
"""Asked at load and after every unit of work."""
IDENTITY_TOKENS = 24
LEAST_LEFT = 1e-12
"""Probability that the told tokens leave at least: their sum may be rounded above 1."""


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


@dataclass(slots=True, kw_only=True)
class ChatScorer:
    """Asks a model through a chat API. Build it with `pairbank.load_model(URL, api="chat")`."""

    samples_answers: ClassVar[Literal[True]] = True

    client: Client
    served: str
    """What the server calls the model."""
    info: ModelInfo
    tells_top: bool
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
        by_context: dict[int, list[int]] = {}
        for number, request in enumerate(requests):
            by_context.setdefault(request.ids[0], []).append(number)
        groups = list(by_context.values())
        first = [self._asked[requests[members[0]].ids[0], requests[members[0]].ids[1]] for members in groups]
        settings = self.settings.body(1, temperature=1.0) | {"logprobs": True, "top_logprobs": MOST_TOP}
        settings |= {"top_p": 1.0} if self.settings.takes_temperature else {}
        bodies = ({"messages": messages_of(text, chat=True), **settings} for text, _, _ in first)
        results: dict[int, FloatArray] = {}
        for number, choice in self._checked_answers(bodies, lambda _, answer: first_choice(answer)):
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
        settings = self.settings.body(max_new_tokens, temperature=0.0)
        if self.tells_top:
            settings |= {"logprobs": True, "top_logprobs": 2}
        bodies = ({"messages": messages_of(ask.text, chat=ask.chat), **settings, **self._drawn(ask)} for ask in prompts)
        results: dict[int, Continuation] = {}

        def read(number: int, answer: Mapping[str, Any]) -> Continuation:
            return _continuation(answer, is_drawn=prompts[number].draw is not None)

        for number, created in self._checked_answers(bodies, read):
            results[number] = created
            progress(1)
        return [results[number] for number in range(len(prompts))]

    def _posted(self, bodies: Iterable[Mapping[str, Any]], read: Callable[[int, Any], T]) -> Iterator[tuple[int, T]]:
        return self.client.post_all(CHAT, ({"model": self.served, **body} for body in bodies), read)

    def _checked_answers(
        self, bodies: Iterable[Mapping[str, Any]], read: Callable[[int, Any], T]
    ) -> Iterator[tuple[int, T]]:
        """Yield (number of the question, what `read` makes of the answer); behind the last the model is identified."""
        began = time.perf_counter()
        yield from self._posted(bodies, read)
        if (known := self.identity) is not None:
            # asked a second time, for APIs batch questions as they come
            problem = known.difference(self._identity_answers()) and known.difference(self._identity_answers())
            if problem:
                raise model_changed(self.info.name, self.client.url, problem)
        self.stats.seconds += time.perf_counter() - began

    def _identity_answers(self) -> ChatAnswers:
        settings = self.settings.body(IDENTITY_TOKENS, temperature=0.0)
        settings |= {"seed": 0} if self.settings.takes_seed else {}
        settings |= {"logprobs": True, "top_logprobs": MOST_TOP} if self.tells_top else {}

        def read(_number: int, answer: Any) -> tuple[str, str, dict[str, float]]:  # noqa: ANN401 - JSON is any
            choice = first_choice(answer)
            message = choice.get("message") or {}
            text = message.get("content") or message.get("reasoning_content") or ""
            return str(answer.get("model") or ""), str(text), top_tokens(choice, 0)

        bodies = ({"messages": messages_of(text, chat=False), **settings} for text in IDENTITY_QUESTIONS)
        models, texts, tops = zip(*(answer for _, answer in sorted(self._posted(bodies, read))), strict=True)
        return ChatAnswers(model=models[0], texts=texts, tops=tops)

    def identified(self) -> ChatAnswers | None:
        """Return what identifies a model, asked twice; None where it answers each time as another model would."""
        first, again = self._identity_answers(), self._identity_answers()
        texts = tuple(a if a == b else "" for a, b in zip(first.texts, again.texts, strict=True))
        if first.difference(again) is None and (any(texts) or any(first.tops)):
            return replace(first, texts=texts)
        told = "%s: %s answers fixed questions differently each time: only its name tells it from another model"
        logger.warning(told, self.client.url, self.served)
        return None

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
    leads = (lead_nats(top_tokens(choice, place).values()) for place in range(n_places))
    is_near = not is_drawn and min(leads, default=NEAR_TIE_NATS) < NEAR_TIE_NATS
    n_tokens = (answer.get("usage") or {}).get("completion_tokens", n_places)
    flags = (*([NEAR_TIE] if is_near else []), *([TRUNCATED] if is_cut else []))
    return Continuation(text=text, n_tokens=int(n_tokens), flags=flags)


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
