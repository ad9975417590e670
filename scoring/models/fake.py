"""A deterministic scorer for tests and docs: characters are tokens, log-probabilities come from a hash.

`load_model("fake:NAME")` gives one; each name knows other numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.scoring.api.model import Ask, Continuation, ExampleTurn, ModelInfo, OverLength, Progress
from pairbank.scoring.api.requests import EncodedRequest, Request, encoded
from pairbank.scoring.models.options import LoadOptions, refuse_others

BOS = 0x110000
"""One past the last Unicode code point, so that no character is taken for it."""


class CharacterVocabulary:
    """Characters as tokens: every code point is its own id, and BOS is one more."""

    n_tokens = BOS + 1
    n_ids = BOS + 1
    fingerprint = "characters"
    name = "characters"

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [[ord(character) for character in text] for text in texts]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeScorer:
    """A model that knows nothing, always says the same, and needs no weights.

    >>> scorer = FakeScorer()
    >>> request = scorer.encode([Request(context="", target="ab")])
    >>> scorer.token_logprobs(request, progress=print)[0].shape
    1
    (2,)
    """

    samples_answers: ClassVar[Literal[True]] = True

    name: str = "fake"
    """Decides the numbers."""
    shown_name: str = ""
    prompt_format: Literal["base", "chat"] = "base"
    max_length: int | None = None

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            name=self.shown_name or self.name,
            model_id=f"pairbank/{self.name}",
            revision="1",
            architecture="FakeScorer",
            dtype="float64",
            quantisation="",
            device="cpu",
            backend="fake",
            prompt_format=self.prompt_format,
            bos_policy="auto",
            bos_id=BOS,
            max_length=self.max_length,
        )

    @property
    def vocabulary(self) -> CharacterVocabulary:
        return CharacterVocabulary()

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        if self.prompt_format == "base":
            return f"{user}\n{stem}" if stem else user
        before = "".join(f"[user]{turn.user}[assistant]{turn.assistant}" for turn in examples)
        return f"[system]{system}{before}[user]{user}[assistant]{stem}"

    def as_read(self, text: str, *, chat: bool) -> str:  # noqa: ARG002
        return text

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        results = []
        for request in requests:
            text = request.context + request.target
            offsets = [(i, i + 1) for i in range(len(text))]
            tokens = encoded([ord(c) for c in text], offsets, request, bos_id=BOS)
            results.append(replace(tokens, ranks=request.ranks))
        return results

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        """Return a value in (-10, 0] nats for each token; its rank is the value in whole nats, from 1."""
        results = []
        for request in requests:
            values = [self._logprob(request.ids[: i + 1]) for i in range(request.start, len(request.ids))]
            ranks = [1 - int(value) for value in values] if request.ranks else []
            results.append(np.array(values + ranks, dtype=np.float64))
            progress(1)
        return results

    def write(
        self,
        prompts: Sequence[Ask],
        *,
        max_new_tokens: int,
        over_length: OverLength,  # noqa: ARG002 - it takes any
        progress: Progress,
    ) -> list[Continuation]:
        results = []
        for ask in prompts:
            drawn = f" {ask.draw.temperature} {ask.draw.seed}" if ask.draw else ""
            digest = hashlib.sha256(f"{self.name} writes {ask.text}{drawn}".encode()).digest()
            text = (" {}", " {}.", "The answer is {}", "I cannot say.")[digest[0] % 4].format(digest[1] % 5 + 1)
            results.append(Continuation(text=text[:max_new_tokens], n_tokens=min(len(text), max_new_tokens)))
        progress(len(results))
        return results

    def _logprob(self, ids: Sequence[int]) -> float:
        digest = hashlib.sha256(f"{self.name} {ids}".encode()).digest()
        return -10 * int.from_bytes(digest[:8]) / 2**64


def load(rest: str, options: LoadOptions) -> FakeScorer:
    refuse_others(options, ("name", "prompt_format", "max_length"), where=f"fake:{rest}")
    return FakeScorer(
        name=rest or "fake",
        shown_name=options["name"] or "",
        prompt_format="chat" if options["prompt_format"] == "chat" else "base",
        max_length=options["max_length"],
    )
