"""The ways to read log P(token | tokens before) from a completions server: requests to questions, answers to nats.

- `grouped`: one question for all requests that differ in their last token alone. `prompt_logprobs` tells of the tokens
  before it, `logprob_token_ids` of the last ones (vLLM from 2026 on).
- `whole`: one question for each sequence, last token and all, by `prompt_logprobs` (vLLM before).
- `echo`: the same by `echo` and `logprobs`, as OpenAI's first API had it.

Prompts are token ids, so that the server adds and cuts nothing. Every setting that could move a probability is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
FLOOR_NATS = -9_999.0
"""What vLLM writes for minus infinity, and OpenAI for "very unlikely"."""
CEILING_NATS = 1e-4
"""Rounding may lift a certain token this much above 0."""
MOST_OTHERS = 0.02
"""Probability of all other tokens where one has a log-probability of 0.0, for rounding."""


def draw_settings(draw: Draw | None) -> dict[str, Any]:
    return {} if draw is None else {"temperature": draw.temperature, "seed": draw.seed & MOST_SEED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    prompt: tuple[int, ...]
    last: tuple[int, ...]
    members: tuple[int, ...]
    """Numbers of the requests that it answers."""
    reads_prompt: bool
    """Whether the prompt's own tokens are wanted too."""


class Way:
    """How a server is asked: one question for each sequence, by `prompt_logprobs`."""

    name: ClassVar[str] = "whole"
    room: ClassVar[int] = 2
    """Tokens that a question has more than a sequence without its last token, the one that is made among them."""

    def questions(self, requests: Sequence[EncodedRequest]) -> list[Question]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, request in enumerate(requests):
            groups.setdefault(request.ids, []).append(number)
        return [
            Question(prompt=ids, last=(), members=tuple(members), reads_prompt=True)
            for ids, members in sorted(groups.items())
        ]

    def body(self, question: Question) -> dict[str, Any]:
        return {**PLAIN, "prompt": list(question.prompt), "prompt_logprobs": 0}

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        return np.array(_prompt_nats(choice, question.prompt, request.start), dtype=np.float64)


class Grouped(Way):
    """One question for all that differ in the last token alone."""

    name: ClassVar[str] = "grouped"
    room: ClassVar[int] = 1

    def questions(self, requests: Sequence[EncodedRequest]) -> list[Question]:
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
        return {
            **PLAIN,
            "prompt": list(question.prompt),
            "logprobs": len(question.last),
            "logprob_token_ids": list(question.last),
            "return_tokens_as_token_ids": True,
            **({"prompt_logprobs": 0} if question.reads_prompt else {}),
        }

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        before = _prompt_nats(choice, question.prompt, request.start) if request.n_scored > 1 else []
        token = f"{TOKEN_ID}{request.ids[-1]}"
        try:
            top = choice["logprobs"]["top_logprobs"][0]
            last = reported_nats(top[token], [value for name, value in top.items() if name != token])
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ServerError(f"the answer has no log-probability of the token asked for ({token})") from error
        return np.array([*before, last], dtype=np.float64)


class Echo(Way):
    """The same, of a server that repeats the prompt with its log-probabilities."""

    name: ClassVar[str] = "echo"

    def body(self, question: Question) -> dict[str, Any]:
        return {**STANDARD, "prompt": list(question.prompt), "echo": True, "logprobs": 1}

    def read(self, question: Question, request: EncodedRequest, choice: Mapping[str, Any]) -> FloatArray:
        n = len(question.prompt)
        try:
            told = choice["logprobs"]
            names, values, tops = (told.get(key) or [None] * n for key in ("tokens", "token_logprobs", "top_logprobs"))
            if len(values) < n:
                raise ServerError(f"the answer tells of {len(values)} tokens, expected those of the whole prompt")
            places = [*zip(names, values, tops, strict=False)][request.start : n]
            others = [[nats for other, nats in (top or {}).items() if other != name] for name, _, top in places]
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerError("the answer does not repeat the prompt with its log-probabilities") from error
        return np.array([reported_nats(value, rest) for (_, value, _), rest in zip(places, others, strict=True)])


WAYS: tuple[Way, ...] = (Grouped(), Way(), Echo())


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One model of one server, asked in one way."""

    client: Client
    served: str
    """What the server calls the model."""
    way: Way

    is_known: bool = False
    """Whether this way gave right answers before: then a malformed one is a passing fault, and asked for again."""

    def answers(
        self, requests: Sequence[EncodedRequest], *, together: bool, may_lack: bool = False
    ) -> Iterator[tuple[Question, list[FloatArray]]]:
        """Yield each question with its members' log-probabilities in nats; `may_lack`: missing ones are NaN at last."""
        questions, incomplete = self.way.questions(requests), set[int]()

        def read(number: int, answer: object) -> list[FloatArray]:
            choice, question = first_choice(answer), questions[number]
            values = [self.way.read(question, requests[member], choice) for member in question.members]
            if any(np.isnan(nats).any() for nats in values) and not (may_lack and number in incomplete):
                incomplete.add(number)
                raise ServerError("the server reports no log-probability of some tokens (null, 0.0 or -9999)")
            return values

        bodies = (self.way.body(question) for question in questions)
        for number, answer in self._asked(bodies, read if self.is_known else _as_it_came, together=together):
            yield questions[number], answer if self.is_known else read(number, answer)

    def nats(self, requests: Sequence[EncodedRequest], *, together: bool) -> list[FloatArray]:
        """Return each request's log-probabilities in nats; `together`: asked at once, as far as the client may."""
        results: dict[int, FloatArray] = {}
        for question, values in self.answers(requests, together=together):
            results.update(zip(question.members, values, strict=True))
        return [results[number] for number in range(len(requests))]

    def choices(self, bodies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, answer in self._asked(bodies, _as_it_came, together=False):
            yield number, first_choice(answer)

    def _asked(
        self, bodies: Iterable[Mapping[str, Any]], read: Callable[[int, Any], Any], *, together: bool
    ) -> Iterator[tuple[int, Any]]:
        client = self.client if together else replace(self.client, concurrency=1)
        return client.post_all(COMPLETIONS, ({"model": self.served, **body} for body in bodies), read)


def _as_it_came(_number: int, answer: Any) -> Any:  # noqa: ANN401 - JSON is any
    return answer


def first_choice(answer: Any) -> Mapping[str, Any]:  # noqa: ANN401 - JSON is any
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ServerError(f"the answer has no choice: {repr(answer)[:200]}; expected an OpenAI-compatible server")
    return choices[0]


def reported_nats(value: Any, others: Sequence[Any] = ()) -> float:  # noqa: ANN401 - JSON is any
    """Return a token's log-probability in nats; NaN, never a number, where the server reports none.

    It then writes null, minus infinity, -9999, or a 0.0 that the other tokens of the same place contradict.
    """
    if value is None:
        return math.nan
    if not isinstance(value, int | float) or isinstance(value, bool) or not value <= CEILING_NATS:
        raise ServerError(
            f"the server gave {value!r}, which is no log-probability of a token that can come; expected a number "
            "below 0 (vLLM: --logprobs-mode raw_logprobs)"
        )
    if value == 0:
        mass = math.fsum(math.exp(nats) for nats in map(reported_nats, others) if not math.isnan(nats))
        return math.nan if mass > MOST_OTHERS else 0.0
    return math.nan if value <= FLOOR_NATS else float(value)


def lead_nats(nats: Iterable[float]) -> float:
    """Return by how much the most probable token leads the second; infinite where no two are reported."""
    values = sorted(value for value in nats if not math.isnan(value))
    return values[-1] - values[-2] if len(values) > 1 else math.inf


def _prompt_nats(choice: Mapping[str, Any], prompt: Sequence[int], start: int) -> list[float]:
    places = choice.get("prompt_logprobs")
    if not isinstance(places, list) or len(places) != len(prompt):
        raise ServerError("the answer has no log-probabilities of the prompt's tokens (prompt_logprobs)")
    results = []
    for token, place in zip(map(str, prompt[start:]), places[start:], strict=True):
        try:
            own, rank = place[token]["logprob"], place[token].get("rank")
            others = [facts["logprob"] for name, facts in place.items() if name != token]
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerError("the answer's log-probabilities are not those of the tokens sent") from error
        is_contradicted = own == 0 and isinstance(rank, int) and rank > 1
        results.append(math.nan if is_contradicted else reported_nats(own, others))
    return results
