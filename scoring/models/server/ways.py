"""The ways to read log P(token | tokens before) from a completions server: requests to questions, answers to nats.

- `grouped`: one question for all requests that differ in their last token alone. `prompt_logprobs` tells of the tokens
  before it, `logprob_token_ids` of the last ones (vLLM from 2026 on).
- `whole`: one question for each sequence, last token and all, by `prompt_logprobs` (vLLM before).
- `echo`: the same by `echo` and `logprobs`, as OpenAI's first API had it.

Prompts are token ids, so that the server adds and cuts nothing. Every setting that could move a probability is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.scoring.api.model import Draw
from pairbank.scoring.api.requests import EncodedRequest
from pairbank.scoring.models.server.client import Client, ServerError

COMPLETIONS = "/completions"
TOKEN_ID = "token_id:"  # noqa: S105 - not a password
STANDARD: Mapping[str, Any] = {
    "max_tokens": 1,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "stream": False,
}
PLAIN: Mapping[str, Any] = {**STANDARD, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""The model's own distribution, whatever the server's defaults are; `STANDARD`: the part that every server knows."""
MOST_LAST_TOKENS = 20
"""Of one question: servers give so many log-probabilities of a place."""
MOST_SEED = 2**31 - 1
"""Servers take seeds up to it."""
FLOOR_NATS = -9_999.0
"""What vLLM writes for minus infinity."""
CEILING_NATS = 1e-4
"""Rounding may lift a certain token this much above 0."""


def draw_settings(draw: Draw | None) -> dict[str, Any]:
    """Return the parameters of an answer that is sampled; none of one that is not."""
    return {} if draw is None else {"temperature": draw.temperature, "seed": draw.seed & MOST_SEED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is sent at once."""

    prompt: tuple[int, ...]
    last: tuple[int, ...]
    """Tokens that are wanted after the prompt."""
    members: tuple[int, ...]
    """Numbers of the requests that it answers."""
    reads_prompt: bool
    """Whether the prompt's own tokens are wanted too."""


class Way(Protocol):
    """How a server is asked."""

    name: ClassVar[str]
    room: ClassVar[int]
    """Tokens that a question has more than a sequence without its last token, the one that is made among them."""

    def questions(self, requests: Sequence[EncodedRequest]) -> list[Question]:
        """Return what to send, neighbours sharing beginnings."""

    def body(self, question: Question) -> dict[str, Any]:
        """Return the JSON of a question, the model's name left out."""

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        """Return the log-probabilities of a request's scored tokens."""


class Grouped:
    """One question for all that differ in the last token alone."""

    name: ClassVar[str] = "grouped"
    room: ClassVar[int] = 1

    def questions(self, requests: Sequence[EncodedRequest]) -> list[Question]:
        """Return a question for each beginning and twenty last tokens."""
        groups: dict[tuple[int, ...], dict[int, list[int]]] = {}
        for number, request in enumerate(requests):
            groups.setdefault(request.ids[:-1], {}).setdefault(request.ids[-1], []).append(number)
        results = []
        for prompt in sorted(groups):
            last = sorted(groups[prompt])
            for at in range(0, len(last), MOST_LAST_TOKENS):
                part = last[at : at + MOST_LAST_TOKENS]
                members = tuple(number for token in part for number in groups[prompt][token])
                reads = any(requests[number].n_scored > 1 for number in members)
                results.append(Question(prompt=prompt, last=tuple(part), members=members, reads_prompt=reads))
        return results

    def body(self, question: Question) -> dict[str, Any]:
        """Ask for the last tokens by their ids."""
        requested = {
            **PLAIN,
            "prompt": list(question.prompt),
            "logprobs": len(question.last),
            "logprob_token_ids": list(question.last),
            "return_tokens_as_token_ids": True,
        }
        return requested | ({"prompt_logprobs": 0} if question.reads_prompt else {})

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        """Return the prompt's tokens, and the last one."""
        before = _prompt_nats(choice, question.prompt, request.start) if request.n_scored > 1 else []
        token = f"{TOKEN_ID}{request.ids[-1]}"
        try:
            last = choice["logprobs"]["top_logprobs"][0][token]
        except (KeyError, IndexError, TypeError) as error:
            raise ServerError(f"the answer has no log-probability of the token asked for ({token})") from error
        return checked([*before, last])


class Whole:
    """One question for each sequence."""

    name: ClassVar[str] = "whole"
    room: ClassVar[int] = 2

    def questions(self, requests: Sequence[EncodedRequest]) -> list[Question]:
        """Return a question for each sequence."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, request in enumerate(requests):
            groups.setdefault(request.ids, []).append(number)
        return [
            Question(prompt=ids, last=(), members=tuple(members), reads_prompt=True)
            for ids, members in sorted(groups.items())
        ]

    def body(self, question: Question) -> dict[str, Any]:
        """Ask for the prompt's own tokens."""
        return {**PLAIN, "prompt": list(question.prompt), "prompt_logprobs": 0}

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        """Return the tokens from the first that is scored on."""
        return checked(_prompt_nats(choice, question.prompt, request.start))


class Echo(Whole):
    """The same, of a server that repeats the prompt with its log-probabilities."""

    name: ClassVar[str] = "echo"

    def body(self, question: Question) -> dict[str, Any]:
        """Ask for the prompt again."""
        return {**STANDARD, "prompt": list(question.prompt), "echo": True, "logprobs": 1}

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        """Return the tokens from the first that is scored on."""
        try:
            values = choice["logprobs"]["token_logprobs"][: len(question.prompt)]
        except (KeyError, TypeError) as error:
            raise ServerError("the answer does not repeat the prompt with its log-probabilities") from error
        if len(values) < len(question.prompt):
            raise ServerError(f"the answer tells of {len(values)} tokens, expected those of the whole prompt")
        return checked(values[request.start :])


WAYS: tuple[Way, ...] = (Grouped(), Whole(), Echo())
"""The quickest one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One model of one server, asked in one way."""

    client: Client
    served: str
    """What the server calls the model."""
    way: Way

    is_known: bool = False
    """Whether this way gave right answers before: then a malformed one is a passing fault, and asked for again."""

    def nats(self, requests: Sequence[EncodedRequest], *, together: bool) -> list[FloatArray]:
        """Return each request's log-probabilities in nats; `together`: asked at once, as far as the client may."""
        questions = self.way.questions(requests)
        results: dict[int, FloatArray] = {}

        def read(number: int, answer: object) -> None:
            choice = first_choice(answer)
            results.update(
                {m: self.way.read(questions[number], requests[m], choice) for m in questions[number].members}
            )

        for number, answer in self._answers(
            [self.way.body(question) for question in questions],
            read if self.is_known else lambda _, answer: answer,
            together=together,
        ):
            if not self.is_known:
                read(number, answer)
        return [results[number] for number in range(len(requests))]

    def choices(
        self, bodies: Sequence[Mapping[str, Any]], *, together: bool
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield (number of the question, its one choice)."""
        for number, answer in self._answers(bodies, lambda _, answer: answer, together=together):
            yield number, first_choice(answer)

    def _answers(
        self, bodies: Sequence[Mapping[str, Any]], read: Callable[[int, Any], Any], *, together: bool
    ) -> Iterator[tuple[int, Any]]:
        client = self.client if together else replace(self.client, concurrency=1)
        return client.post_all(COMPLETIONS, ({"model": self.served, **body} for body in bodies), read)


def first_choice(answer: Any) -> Mapping[str, Any]:  # noqa: ANN401 - JSON is any
    """Return the one choice of an answer."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ServerError(f"the answer has no choice: {repr(answer)[:200]}; expected an OpenAI-compatible server")
    return choices[0]


def checked(values: Sequence[Any]) -> FloatArray:
    """Return log-probabilities, if they are some."""
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or not FLOOR_NATS < value <= CEILING_NATS:
            raise ServerError(
                f"the server gave {value!r}, which is no log-probability of a token that can come; expected a number "
                "below 0 (vLLM: --logprobs-mode raw_logprobs)"
            )
    return np.array(values, dtype=np.float64)


def _prompt_nats(choice: Mapping[str, Any], prompt: Sequence[int], start: int) -> list[Any]:
    places = choice.get("prompt_logprobs")
    if not isinstance(places, list) or len(places) != len(prompt):
        raise ServerError("the answer has no log-probabilities of the prompt's tokens (prompt_logprobs)")
    try:
        return [places[k][str(prompt[k])]["logprob"] for k in range(start, len(prompt))]
    except (KeyError, TypeError) as error:
        raise ServerError("the answer's log-probabilities are not those of the tokens sent") from error
