"""A causal model behind a completions server: our tokens, its log-probabilities.

In: encoded requests, prompts. Out: log-probabilities in nats as the server gives them, what the model writes. Which
way the server is asked was found out at load (`known_answers`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ModelChangedError
from pairbank.scoring.api.model import (
    Ask,
    Continuation,
    ExampleTurn,
    ModelInfo,
    OverLength,
    Progress,
    ScoringStats,
)
from pairbank.scoring.api.names import NEAR_TIE, OVER_LENGTH
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.generation import NEAR_TIE_NATS, too_long
from pairbank.scoring.models.server.client import Client, ServerError
from pairbank.scoring.models.server.identity import Probes, moved_nats
from pairbank.scoring.models.server.ways import COMPLETIONS, PLAIN, TOKEN_ID, Asking, Way, first_choice
from pairbank.scoring.models.tokens.causal_tokens import CausalTokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class ServerScorer:
    """Scores with a model that a server runs. Build it with `pairbank.load_model`."""

    def __init__(
        self,
        client: Client,
        tokenizer: PreTrainedTokenizerBase,
        info: ModelInfo,
        *,
        served: str,
        way: Way,
        probes: Probes,
    ) -> None:
        self.client = client
        self.tokenizer = tokenizer
        self.info = info
        self.served = served
        """What the server calls the model."""
        self.way = way
        self.probes = probes
        self.stats = ScoringStats()
        self._tokens = CausalTokens(tokenizer=tokenizer, info=info)

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        """Return question and answer stem: through the chat template, or one line after the other."""
        return self._tokens.render_prompt(system=system, user=user, stem=stem, examples=examples)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return the tokens of each context + target, encoded as one string, one BOS before them."""
        return self._tokens.encode(requests)

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        """Return each request's token log-probabilities in nats.

        Raises:
            ServerError: the server is gone, refuses a question, or gives something that is no log-probability.
        """
        began = time.perf_counter()
        results: list[FloatArray | None] = [None] * len(requests)
        questions = self.way.questions(requests)
        bodies = ({"model": self.served, **self.way.body(question)} for question in questions)

        def read(number: int, answer: object) -> list[FloatArray]:
            question = questions[number]
            try:
                choice = first_choice(answer)
                return [self.way.read(question, requests[member], choice) for member in question.members]
            except ServerError as error:
                raise ServerError(f"{self.info.name} at {self.client.url}: {error}") from error

        for number, values in self.client.post_all(COMPLETIONS, bodies, read):
            question = questions[number]
            for member, nats in zip(question.members, values, strict=True):
                results[member] = nats
                self.stats.n_sequence_tokens += len(requests[member].ids) - 1
            self.stats.n_computed_tokens += len(question.prompt)
            progress(len(question.members))
        if questions:
            self.refuse_another_model()
        self.stats.seconds += time.perf_counter() - began
        return [result for result in results if result is not None]

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        """Return what the model writes after each prompt, greedily.

        Raises:
            ScoringError: a prompt that is too long or has no token, a server that is gone or refuses.
        """
        inputs = [tuple(self._tokens.prompt_ids([ask.text], chat=ask.chat)[0]) for ask in prompts]
        over = too_long(self.info, prompts, inputs, max_new_tokens, over_length)
        found = [Continuation(text=None, n_tokens=0, flags=(OVER_LENGTH,)) for _ in prompts]
        progress(sum(over))
        asked = sorted((i for i, is_over in enumerate(over) if not is_over), key=lambda i: inputs[i])
        settings = {
            **PLAIN,
            "temperature": 0.0,
            "max_tokens": max_new_tokens,
            "logprobs": 2,
            "return_tokens_as_token_ids": True,
        }
        bodies = ({"model": self.served, **settings, "prompt": list(inputs[i])} for i in asked)
        read = self._continuation
        for number, made in self.client.post_all(COMPLETIONS, bodies, lambda _, answer: read(first_choice(answer))):
            found[asked[number]] = made
            progress(1)
        if asked:
            self.refuse_another_model()
        return found

    def refuse_another_model(self) -> None:
        """Ask the probes again, after every unit and before anything of it is stored.

        Raises:
            ModelChangedError: the answers are not those given at load.
        """
        asking = Asking(client=self.client, served=self.served, way=self.way, is_known=True)
        moved = moved_nats(self.probes.nats, np.concatenate(asking.nats(self.probes.requests, together=False)))
        if moved > self.probes.allowed_nats:
            raise ModelChangedError(
                f"{self.info.name} at {self.client.url}: another model answers than at load; log-probabilities of "
                f"fixed texts moved by up to {moved:.2f} nats (at most {self.probes.allowed_nats:.2f} expected). What "
                "was scored since the last check is in doubt and is not stored; all that is stored was checked. See "
                "which model the server runs, and run the same command again"
            )

    def _continuation(self, choice: Mapping[str, Any]) -> Continuation:
        """Return the text of the tokens written, up to the one that ends a text, as the models here are read."""
        logprobs = choice.get("logprobs") or {}
        names = logprobs.get("tokens")
        if not isinstance(names, list) or not all(str(name).startswith(TOKEN_ID) for name in names):
            raise ServerError(
                f"{self.info.name} at {self.client.url}: the answer does not tell which tokens were written; expected "
                "a server that knows return_tokens_as_token_ids (vLLM): ask for methods that read probabilities"
            )
        tokens = [int(str(name).removeprefix(TOKEN_ID)) for name in names]
        ends = {self.tokenizer.eos_token_id} | ({tokens[-1]} if ended(choice, tokens, self.tokenizer) else set())
        n = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
        text = self.tokenizer.decode(tokens[:n], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        leads = [_lead_nats(top) for top in logprobs.get("top_logprobs") or [] if top]
        flags = (NEAR_TIE,) if min(leads[: n + 1], default=NEAR_TIE_NATS) < NEAR_TIE_NATS else ()
        return Continuation(text=str(text), n_tokens=n, flags=flags)


def ended(choice: Mapping[str, Any], tokens: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the last token written is one that ends a text."""
    return choice.get("finish_reason") == "stop" and bool(tokens) and tokens[-1] in tokenizer.all_special_ids


def _lead_nats(top: Mapping[str, float]) -> float:
    values = sorted(top.values(), reverse=True)
    return values[0] - values[1] if len(values) > 1 else NEAR_TIE_NATS
