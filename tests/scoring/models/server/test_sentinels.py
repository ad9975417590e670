"""What APIs write for a log-probability that they do not report is missing, with a flag, and never a number."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairbank
from completions_server import Value
from pairbank import cli
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.generation import write
from pairbank.scoring.models.server.chat import ChatScorer, top_tokens
from pairbank.scoring.models.server.client import ServerError
from pairbank.scoring.models.server.ways import reported_nats
from prompt_files import BOTH_ORDERS
from served_models import Here, Serve, first_tokens

SENTINELS = {"very unlikely": -9999.0, "minus infinity": -math.inf, "null": None, "least float": -3.4e38}
CHATS = ("llama", "qwen2")
QUESTION = "A: A dog barks. B: A dog bark."


def writes(sentinel: float | None, *, unless: Callable[[Value], bool]) -> Callable[[Value], Any]:
    """Return what makes a server write this in the place of log-probabilities."""
    return lambda value: value.nats if unless(value) else sentinel


def options(there: ChatScorer, *names: str) -> tuple[list[float], list[tuple[str, ...]]]:
    context = there.render_prompt(system="", user=QUESTION, stem="")
    requests = there.encode([Request(context=context, target=name, chat=True) for name in names])
    values = there.token_logprobs(requests, progress=lambda _n: None)
    return [float(nats.sum()) for nats in values], [there.flags_of(request) for request in requests]


@pytest.mark.parametrize("sentinel", [*SENTINELS, "zero"])
@pytest.mark.parametrize("name", CHATS)
def test_of_a_chat_a_token_that_is_not_reported_is_a_bound(name: str, sentinel: str, here: Here, serve: Serve) -> None:
    known = first_tokens(here[name][1], QUESTION)
    words = {token.strip() for _, token, _ in known if token.strip().isalnum()}
    first = next(token.strip() for _, token, _ in known if token.strip() in words)
    kept = [token for token, text, _ in known if text.strip() == first]
    other = next(word for word in (text.strip() for _, text, _ in known) if word in words - {first})
    server, _ = serve(name)
    there = pairbank.load_model(server.url, api="chat")
    assert isinstance(there, ChatScorer)
    there.identity = None
    server.alters = lambda value: value.nats if value.token in kept else SENTINELS.get(sentinel, 0.0)
    values, flags = options(there, first, other)
    mass = sum(math.exp(nats) for token, _, nats in known if token in kept)
    least = min(nats for token, _, nats in known if token in kept)
    assert values == pytest.approx([math.log(mass), min(math.log(1 - mass), least)], abs=1e-4)
    assert flags == [(), ("outside_top",)]


def test_of_a_chat_that_reports_nothing_nothing_is_known(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = serve("llama")
    (tmp_path / "mine.toml").write_text(BOTH_ORDERS)
    there: Any = pairbank.load_model(server.url, api="chat")
    there.identity = None
    items = pairbank.load_corpus([("The keys are here.", "The keys is here.")])
    scored: Any = None
    for sentinel in (*SENTINELS.values(), 0.0):
        server.alters = writes(sentinel, unless=lambda _value: False)
        scored = pairbank.score(items, there, methods=["mine@chat"], prompts=[tmp_path / "mine.toml"])
        assert math.isnan(scored["mine@chat_delta"][0])
        assert scored["mine@chat_flags"][0] == ["top_logprobs", "outside_top"]
        monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / repr(sentinel)))
    scored.save(tmp_path / "scored.parquet")
    monkeypatch.setattr("sys.argv", ["pairbank", "report", str(tmp_path / "scored.parquet")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (None, 0)
    assert "No option of an answer is among the most probable first tokens" in capsys.readouterr().out


def test_of_a_chat_a_probability_that_underflows_has_a_logarithm(serve: Serve, here: Here) -> None:
    server, _ = serve("llama")
    there = pairbank.load_model(server.url, api="chat")
    assert isinstance(there, ChatScorer)
    there.identity = None
    [(_, text, nats), *_] = [entry for entry in first_tokens(here["llama"][1], QUESTION) if entry[1].strip().isalnum()]
    server.alters = lambda value: value.nats - 900
    [value], _ = options(there, text.strip())
    assert value == pytest.approx(nats - 900, abs=1.5)


@pytest.mark.parametrize("wrong", [abs, math.exp, str])
def test_of_a_chat_what_is_no_log_probability_is_an_error(wrong: Any, serve: Serve) -> None:  # noqa: ANN401
    server, _ = serve("llama")
    there = pairbank.load_model(server.url, api="chat")
    assert isinstance(there, ChatScorer)
    there.identity = None
    server.alters = lambda value: wrong(value.nats)
    with pytest.raises(ScoringError, match=r"sum to \d\.\d\d, expected 1 at most|which is no log-probability"):
        options(there, "A", "B")


@pytest.mark.parametrize(("name", "dialect"), [("gpt2", "vllm"), ("llama", "vllm-2025"), ("mistral", "echo")])
def test_of_completions_a_text_with_a_token_that_is_not_reported_has_no_score(
    name: str, dialect: str, here: Here, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = pairbank.load_corpus(
        [("The red canoe is here.", "That red canoes is here."), ("A dog barks.", "A dog bark.")]
    )
    expected = pairbank.score(items, here[name][1])
    server, tokenizer = serve(name, dialect=dialect)
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    start = there.encode([Request(context="", target="The red canoe is here.")])[0].ids[:9]
    for sentinel in (*SENTINELS.values(), 0.0):
        server.alters = writes(
            sentinel, unless=lambda v: not v.in_prompt or v.place != 4 or tuple(v.prompt[:9]) != start
        )
        monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / repr(sentinel)))
        scored = pairbank.score(items, there)
        assert math.isnan(scored["direct_good"][0])
        assert math.isnan(scored["direct_delta"][0])
        assert scored["direct_flags"][:] == [["unreported"], []]
        assert scored.signature["n_by_flag"]["direct"] == {"unreported": 1}
        np.testing.assert_allclose(scored["direct_delta"][1], expected["direct_delta"][1], atol=1e-4)
        np.testing.assert_allclose(scored["direct_bad"][:], expected["direct_bad"][:], atol=1e-4)


def test_a_server_that_reports_zero_for_unlikely_tokens_is_refused_in_every_dialect(serve: Serve) -> None:
    for name, dialect in (("gpt2", "vllm"), ("llama", "vllm-2025"), ("mistral", "echo"), ("qwen2", "echo")):
        server, tokenizer = serve(name, dialect=dialect)
        server.alters = lambda value: value.nats if value.nats > -2 or not value.in_prompt else 0.0
        with pytest.raises(ModelLoadError, match="so nothing can be scored with it"):
            pairbank.load_model(server.url, tokenizer=tokenizer)


def test_a_written_answer_is_no_near_tie_for_tokens_that_are_not_reported(serve: Serve) -> None:
    server, tokenizer = serve("gpt2")
    there: Any = pairbank.load_model(server.url, tokenizer=tokenizer)
    there.refuse_another_model = lambda: None
    [usual] = write(there, [Ask(text="The keys")], max_new_tokens=1)
    first = int(server.logprobs(there.prompt_ids(["The keys"])[0])[-1].argmax())
    for sentinel in SENTINELS.values():
        server.alters = writes(sentinel, unless=lambda value: value.token == first)
        [written] = write(there, [Ask(text="The keys")], max_new_tokens=1)
        assert (written.text, written.flags) == (usual.text, ())


def test_what_counts_as_a_log_probability() -> None:
    assert [reported_nats(value) for value in (-0.0, -1, 1e-5, -9998.0)] == [0.0, -1.0, 1e-5, -9998.0]
    assert all(math.isnan(reported_nats(value)) for value in (None, -math.inf, -9999.0, -1e30))
    assert all(math.isnan(reported_nats(0.0, others)) for others in ([-0.2], [0.0], [-9.0, -0.5, None]))
    assert reported_nats(0.0, [-20.0, None, -9999.0]) == 0.0
    others: list[Any] = [math.nan, "x", True, 0.5, [], {}]
    for value in others:
        with pytest.raises(ServerError, match="no log-probability of a token that can come"):
            reported_nats(value)
    entries = [{"token": "1", "logprob": -0.2}, {"token": "2", "logprob": None}, {"token": "3", "logprob": 0.0}]
    assert top_tokens({"logprobs": {"content": [{"top_logprobs": entries}]}}, 0) == {"1": -0.2}
