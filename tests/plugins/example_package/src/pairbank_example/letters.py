"""A bigram model of letters, learnt from a text file: `letters:some_text.txt`."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairbank.errors import ModelLoadError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.model import ExampleTurn, ModelInfo
from pairbank.scoring.api.requests import EncodedRequest, Request, encoded
from pairbank.scoring.models.options import LoadOptions, refuse_others

BOS = ord("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterBigrams:
    """P(letter | the letter before it), with one added to every count."""

    name: str
    fingerprint: str
    pairs: Mapping[tuple[int, int], int]
    singles: Mapping[int, int]

    @property
    def info(self) -> ModelInfo:
        """What the signature records."""
        return ModelInfo(
            name=self.name,
            model_id=self.name,
            revision=self.fingerprint,
            architecture="LetterBigrams",
            dtype="float64",
            quantisation="",
            device="cpu",
            backend="letters",
            prompt_format="base",
            bos_policy="bos",
            bos_id=BOS,
            max_length=None,
        )

    def render_prompt(
        self,
        *,
        system: str,  # noqa: ARG002 - letters know no turns
        user: str,
        stem: str,
        examples: Sequence[ExampleTurn] = (),  # noqa: ARG002 - they stand in the question
    ) -> str:
        """Return question and answer stem, one line after the other."""
        return f"{user}\n{stem}" if stem else user

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return one token a character."""
        texts = [request.context + request.target for request in requests]
        return [
            encoded([ord(x) for x in text], [(i, i + 1) for i in range(len(text))], request, bos_id=BOS)
            for text, request in zip(texts, requests, strict=True)
        ]

    def token_logprobs(
        self, requests: Sequence[EncodedRequest], *, progress: Callable[[int], None]
    ) -> list[NDArray[np.float64]]:
        """Return, a request, the log-probability in nats of each of its scored letters."""
        result = []
        for request in requests:
            letters = zip(request.ids[request.start - 1 :], request.ids[request.start :], strict=False)
            result.append(np.array([self._logprob_nats(*pair) for pair in letters], dtype=np.float64))
            progress(1)
        return result

    def _logprob_nats(self, before: int, letter: int) -> float:
        return math.log((self.pairs.get((before, letter), 0) + 1) / (self.singles.get(before, 0) + len(self.singles)))


def load(rest: str, options: LoadOptions) -> LetterBigrams:
    """Return the model of the text file that `letters:` is followed by."""
    refuse_others(options, (), where=f"letters:{rest}")
    if not Path(rest).is_file():
        raise ModelLoadError(f"letters:{rest}: no such file; give the path of a text")
    text = "\n" + Path(rest).read_text(encoding="utf-8")
    letters = [ord(letter) for letter in text]
    return LetterBigrams(
        name=Path(rest).stem,
        fingerprint=sha256_of_text(text)[:12],
        pairs=Counter(itertools.pairwise(letters)),
        singles=Counter(letters),
    )
