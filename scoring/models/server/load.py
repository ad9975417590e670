"""`load_model("http://HOST:PORT/v1")`: a server's address and what the user states, to a scorer that was tried.

Revision, dtype and quantisation a server does not tell, so that the user states them. The signature says which fact was
stated and which was measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.model import Ask, Continuation, ModelInfo, OverLength, Progress, ScoringStats
from pairbank.scoring.api.names import NEAR_TIE, OVER_LENGTH, UNREPORTED
from pairbank.scoring.api.requests import EncodedRequest
from pairbank.scoring.models.causal_tokens import CausalTokens
from pairbank.scoring.models.generation import NEAR_TIE_NATS, too_long
from pairbank.scoring.models.loaded_tokenizer import LoadedTokenizer, tokenizer_named
from pairbank.scoring.models.options import LoadOptions, name_at, refuse_others
from pairbank.scoring.models.server.chat import ChatScorer, ChatSettings, negotiated, shows_thinking, top_tokens
from pairbank.scoring.models.server.client import Client, ServerError, ServerGoneError, client_for, model_changed
from pairbank.scoring.models.server.identity import Probes, chat_identity_of, identity_of, moved_nats
from pairbank.scoring.models.server.known_answers import known_answers
from pairbank.scoring.models.server.ways import (
    COMPLETIONS,
    PLAIN,
    TOKEN_ID,
    Asking,
    Way,
    draw_settings,
    first_choice,
    lead_nats,
    reported_nats,
)
from pairbank.scoring.models.tokenizing import text_facts, vocabulary_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

T = TypeVar("T")
STATED = ("revision", "dtype", "quantisation", "max_length")
"""Facts that the signature has of a server's model because the user said so."""
COMPLETIONS_OPTIONS = (
    *("name", "tokenizer", "served_model", "api", "replicas", "concurrency", "timeout_s", *STATED),
    *("bos", "prompt_format", "thinking", "thinking_tokens", "keep_mistral_regex"),
)
CHAT_OPTIONS = (
    *("name", "served_model", "api", "concurrency", "timeout_s", "revision", "dtype", "quantisation"),
    *("thinking", "thinking_tokens", "reasoning_effort"),
)


class ServerScorer(CausalTokens):
    """Scores with a model that a server runs. Build it with `pairbank.load_model`."""

    samples_answers: ClassVar[Literal[True]] = True

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
        super().__init__(tokenizer, info)
        self.client = client
        self.served = served
        self.way = way
        self.probes = probes
        self.stats = ScoringStats()
        self._unreported: set[tuple[int, ...]] = set()
        """Sequences of which a token's log-probability was not reported."""

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        on_share: set[int] = set()

        def on_progress(members: Sequence[int]) -> None:
            progress(len(set(members) - on_share))
            on_share.update(members)

        return self._by_replicas(lambda: self._token_logprobs(requests, on_progress))

    def _by_replicas(self, ask: Callable[[], T]) -> T:
        """Ask, and once more all of it where a replica is lost: what it answered has not been checked."""
        while True:
            try:
                return ask()
            except ServerGoneError as error:
                if not self.client.goes_on_without(error):
                    raise

    def _token_logprobs(
        self, requests: Sequence[EncodedRequest], on_progress: Callable[[Sequence[int]], None]
    ) -> list[FloatArray]:
        began = time.perf_counter()
        results: dict[int, FloatArray] = {}
        asking = Asking(client=self.client, served=self.served, way=self.way, is_known=True)
        try:
            for question, values in asking.answers(requests, together=True, may_lack=True):
                for number, nats in zip(question.members, values, strict=True):
                    results[number] = nats
                    if np.isnan(nats).any():
                        self._unreported.add(requests[number].ids)
                    self.stats.n_sequence_tokens += len(requests[number].ids) - 1
                self.stats.n_computed_tokens += len(question.prompt)
                on_progress(question.members)
        except ServerError as error:
            if isinstance(error, ServerGoneError) or error.status is not None:  # these name the address
                raise
            raise ServerError(f"{self.info.name} at {self.client.url}: {error}") from error
        if requests:
            self.refuse_another_model()
        self.stats.seconds += time.perf_counter() - began
        return [results[number] for number in range(len(requests))]

    def flags_of(self, request: EncodedRequest) -> tuple[str, ...]:
        return (UNREPORTED,) if request.ids in self._unreported else ()

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        inputs = [tuple(self.prompt_ids([ask.text], chat=ask.chat)[0]) for ask in prompts]
        over = too_long(self.info, prompts, inputs, max_new_tokens, over_length)
        results = [Continuation(text=None, n_tokens=0, flags=(OVER_LENGTH,))] * len(prompts)
        progress(sum(over))
        within = sorted((i for i, is_over in enumerate(over) if not is_over), key=lambda i: inputs[i])
        settings = {
            **PLAIN,
            "temperature": 0.0,
            "max_tokens": max_new_tokens,
            "logprobs": 2,
            "return_tokens_as_token_ids": True,
        }

        def read(number: int, answer: object) -> Continuation:
            return self._continuation(first_choice(answer), is_drawn=prompts[within[number]].draw is not None)

        on_share: set[int] = set()

        def ask() -> list[Continuation]:
            bodies = (
                {"model": self.served, **settings, "prompt": list(inputs[i]), **draw_settings(prompts[i].draw)}
                for i in within
            )
            for number, created in self.client.post_all(COMPLETIONS, bodies, read):
                results[within[number]] = created
                progress(number not in on_share)
                on_share.add(number)
            if within:
                self.refuse_another_model()
            return results

        return self._by_replicas(ask)

    def refuse_another_model(self) -> None:
        """Ask the probes again, after every unit and before anything of it is stored."""
        for client in self.client.servers:
            asking = Asking(client=client, served=self.served, way=self.way, is_known=True)
            moved = moved_nats(self.probes.nats, np.concatenate(asking.nats(self.probes.requests, together=False)))
            if moved > self.probes.allowed_nats:
                problem = (
                    f"log-probabilities of fixed texts moved by up to {moved:.2f} nats (at most "
                    f"{self.probes.allowed_nats:.2f} expected)"
                )
                raise model_changed(self.info.name, client.url, problem)

    def _continuation(self, choice: Mapping[str, Any], *, is_drawn: bool) -> Continuation:
        """Return the text of the tokens written, up to the one that ends a text, as the models here are read."""
        logprobs = choice.get("logprobs") or {}
        names = logprobs.get("tokens")
        if not isinstance(names, list) or not all(str(name).startswith(TOKEN_ID) for name in names):
            raise ServerError(
                f"{self.info.name} at {self.client.url}: the answer does not tell which tokens were written; expected "
                "a server that knows return_tokens_as_token_ids (vLLM): ask for methods that read probabilities"
            )
        tokens = [int(str(name).removeprefix(TOKEN_ID)) for name in names]
        ends = {self.tokenizer.eos_token_id}
        if choice.get("finish_reason") == "stop":
            ends |= {*tokens[-1:]}.intersection(self.tokenizer.all_special_ids)
        n = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
        text = self.tokenizer.decode(tokens[:n], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        leads = [lead_nats(map(reported_nats, top.values())) for top in logprobs.get("top_logprobs") or [] if top]
        is_near = not is_drawn and min(leads[: n + 1], default=NEAR_TIE_NATS) < NEAR_TIE_NATS
        return Continuation(text=str(text), n_tokens=n, flags=(NEAR_TIE,) if is_near else ())


def load(address: str, options: LoadOptions) -> ServerScorer | ChatScorer:
    is_chat = options["api"] == "chat"
    refuse_others(options, CHAT_OPTIONS if is_chat else COMPLETIONS_OPTIONS, where="a server's address")
    client_at = partial(client_for, concurrency=options["concurrency"], timeout_s=options["timeout_s"])
    client = client_at(address)
    try:
        card = _card(client, options["served_model"])
        if is_chat:
            return _chat(client, card, options)
        scorer = _completions(client, card, options)
        others = [text.strip() for text in (options["replicas"] or "").split(",") if text.strip()]
        replicas = [client_at(one) for one in others]
        for replica in replicas:
            _refuse_another(scorer, _completions(replica, _card(replica, scorer.served), options))
    except ServerError as error:
        raise ModelLoadError(client.without_key(str(error))) from error
    scorer.client = replace(client, others=tuple(replicas))
    return scorer


def _refuse_another(scorer: ServerScorer, replica: ServerScorer) -> None:
    first, second = scorer.client.url, replica.client.url
    if second == first:
        raise ModelLoadError(f"{second} is no replica of itself; name other servers (replicas=, --replicas)")
    moved, allowed = moved_nats(scorer.probes.nats, replica.probes.nats), scorer.probes.allowed_nats
    if moved > allowed:
        raise ModelLoadError(
            f"{second} is no replica of {first}: log-probabilities of fixed texts differ by up to {moved:.2f} nats (at "
            f"most {allowed:.2f} expected), so it runs another model; name servers of one model (--replicas)"
        )
    for name in ("backend", "max_length", "measured", "tokenizer_sha256"):
        if getattr(scorer.info, name) != getattr(replica.info, name):
            raise ModelLoadError(
                f"{second} is no replica of {first}: {name} is {getattr(replica.info, name)!r} there and "
                f"{getattr(scorer.info, name)!r} here; serve the model alike (--replicas)"
            )


def _completions(client: Client, card: Mapping[str, Any], options: LoadOptions) -> ServerScorer:
    if options["tokenizer"] is None:
        raise ModelLoadError(
            f"{client.url}: which tokenizer has {card['id']}? Name it (tokenizer=, --tokenizer FOLDER or Hub id), or "
            "ask for written answers alone (api='chat', --api chat)"
        )
    loaded = tokenizer_named(options["tokenizer"], keep_mistral_regex=options["keep_mistral_regex"])
    tokenizer = loaded.tokenizer
    if not tokenizer.is_fast:
        raise ModelLoadError(f"tokenizer {options['tokenizer']!r} is no fast one; character offsets need one")
    info = _info(client, card, options, loaded)
    tokens = CausalTokens(tokenizer, info)
    stated = card.get("max_model_len")
    reported = stated if isinstance(stated, int) and stated > 0 else None
    limits = [limit for limit in (reported, options["max_length"]) if limit is not None]
    way, seen, probes = known_answers(client, tokens, card["id"], longest=min(limits, default=None))
    longest = reported - way.room if reported is not None else None
    if options["max_length"] is not None and longest is not None and not 1 <= options["max_length"] <= longest:
        raise ModelLoadError(f"max_length {options['max_length']} is out of range; {client.url} takes 1 to {longest}")
    measured = [*seen, *(["max_length"] if longest is not None and options["max_length"] is None else [])]
    described = f"{info.served_sha256} {info.tokenizer_sha256} {' '.join(map(str, info.prefix)) or None}"
    info = replace(
        info,
        max_length=options["max_length"] or longest,
        measured=", ".join(measured),
        answers_sha256=identity_of(probes, described),
    )
    return ServerScorer(client, tokenizer, info, served=card["id"], way=way, probes=probes)


def _chat(client: Client, card: Mapping[str, Any], options: LoadOptions) -> ChatScorer:
    info = replace(_info(client, card, options, None), prompt_format="chat", bos_policy="none")
    settings = ChatSettings(thinking=options["thinking"], effort=options["reasoning_effort"] or "")
    settings, answer = negotiated(client, card["id"], settings)
    tells = bool(top_tokens(first_choice(answer), 0))
    thinks = options["thinking"] == "on" or (options["thinking"] == "auto" and shows_thinking(first_choice(answer)))
    info = replace(
        info,
        measured="; ".join([f"top log-probabilities ({'told' if tells else 'not told'})", *settings.deviations]),
        thinking="on" if thinks else "off" if options["thinking"] == "off" else "",
        thinking_tokens=options["thinking_tokens"] if thinks else 0,
        reasoning_effort=settings.effort,
    )
    scorer = ChatScorer(client=client, served=card["id"], info=info, tells_top=tells, settings=settings)
    scorer.identity = scorer.identified()
    if scorer.identity is not None:
        described = f"{info.served_sha256} {info.backend} {settings}"
        scorer.info = replace(info, answers_sha256=chat_identity_of(scorer.identity, described))
    return scorer


def _info(client: Client, card: Mapping[str, Any], options: LoadOptions, loaded: LoadedTokenizer | None) -> ModelInfo:
    revision, quantisation = options["revision"], options["quantisation"]
    stated = [name for name in STATED if cast("Mapping[str, Any]", options)[name] not in (None, "auto")]
    name = options["name"] or name_at(str(card["id"]).rstrip("/").rsplit("/", 1)[-1], revision)
    tokenizer = None if loaded is None else loaded.tokenizer
    reported = client.get("/version")
    version = reported.get("version") if isinstance(reported, dict) else None
    return ModelInfo(
        name=name,
        model_id=_public_id(card),
        revision=revision or "unknown",
        architecture="unknown",
        dtype="unknown" if options["dtype"] == "auto" else options["dtype"],
        quantisation=quantisation or "unknown",
        device="server",
        backend=f"server-{options['api']}{f'-vllm-{version}' if isinstance(version, str) else ''}",
        bos_policy=options["bos"],
        **({"prompt_format": "base", "bos_id": None} if tokenizer is None else text_facts(tokenizer, name, options)),
        max_length=options["max_length"],
        stated=", ".join([*stated, *(["tokenizer"] if tokenizer is not None else [])]),
        served_sha256=sha256_of_text(str(card["id"]), str(card.get("root") or "")),
        tokenizer_sha256="" if tokenizer is None else vocabulary_of(tokenizer).fingerprint,
        tokenizer_changes="" if loaded is None else loaded.changes,
        load_notes="" if loaded is None else "; ".join(loaded.notes),
    )


def _card(client: Client, wanted: str | None) -> Mapping[str, Any]:
    listed = client.get("/models")
    cards = listed.get("data") if isinstance(listed, dict) else None
    known = [card for card in cards or () if isinstance(card, dict) and isinstance(card.get("id"), str)]
    results = [card for card in known if wanted in (None, card["id"])]
    if not known and wanted is not None:
        return {"id": wanted}  # an API that lists nothing
    if len(results) != 1:
        ids = ", ".join(card["id"] for card in known[:20]) or "no model"
        problem = f"not {wanted!r}" if wanted is not None else "so that it has to be said which"
        raise ModelLoadError(f"{client.url} serves {ids}, {problem}; name one (served_model=, --served-model)")
    return results[0]


def _public_id(card: Mapping[str, Any]) -> str:
    """Return the model's Hub id or name; of a folder on the server's disk its name alone."""
    root = card.get("root")
    result = root if isinstance(root, str) and root else str(card["id"])
    return result.rstrip("/").rsplit("/", 1)[-1] if result.startswith(("/", ".", "~")) or "\\" in result else result
