"""Servers that are slow, busy, broken now and then, killed or started again: the numbers of calm ones, or one line."""

import json
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairbank
from completions_server import CompletionsServer, Fault
from pairbank.errors import ModelLoadError
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.options import DEFAULTS
from pairbank.scoring.models.server import client
from pairbank.scoring.models.server.client import client_for
from served_models import Here, Serve

NAMES = ("llama", "gpt2", "mistral")
PASSING: Sequence[Fault] = ("429", "500", "503", "cut", "half", "garbled", "slow")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Direct, "shard_items", 4)
    monkeypatch.setattr(Prompted, "shard_items", 4)


def most_fail_twice(body: dict[str, Any], n_before: int) -> Fault | None:
    """Plan something for most questions, the first two times; what it is depends on the question alone."""
    chosen = zlib.crc32(json.dumps(body).encode()) % (len(PASSING) + 2)
    return PASSING[(chosen + n_before) % len(PASSING)] if n_before < 2 and chosen < len(PASSING) else None


@pytest.mark.ci
@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_fails_again_and_again_gives_the_bytes_of_a_calm_one(
    name: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("completions_server.SLOW_S", 0.02)
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(8))

    def table(cache: str, **how: Any) -> tuple[bytes, CompletionsServer]:  # noqa: ANN401 - its fields
        monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / cache))
        server, tokenizer = serve(name, **how)
        there = pairbank.load_model(server.url, tokenizer=tokenizer)
        scored = pairbank.score(items, there, methods=["direct", "meta_question_simple"])
        return scored.save(tmp_path / "scored.parquet").read_bytes(), server

    (calm, _), (result, server) = table("one"), table("another", fails=most_fail_twice)
    assert result == calm
    assert len(server.log) > 1.5 * len({json.dumps(body) for body in server.log})


@pytest.mark.ci
def test_a_server_started_again_while_it_is_asked_costs_pauses_and_no_number(
    serve: Serve, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.2)
    server, tokenizer = serve("llama")
    there = pairbank.load_model(server.url, tokenizer=tokenizer, concurrency=2)
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    server.log.clear()
    server.dies_after = 9
    restarted: list[CompletionsServer] = []

    def start_again() -> None:
        while len(server.log) <= 9:
            time.sleep(0.01)
        server.__exit__()
        restarted.append(serve("llama", port=server.port)[0])

    watching = threading.Thread(target=start_again)
    watching.start()
    result = pairbank.score(items, there)["direct_delta"][:]
    watching.join()
    assert restarted[0].log
    np.testing.assert_allclose(result, pairbank.score(items, here["llama"][1])["direct_delta"][:], atol=1e-4)


@pytest.mark.parametrize(
    ("asks_for", "longest_s", "at_least_s", "at_most_s"),
    [("1", 30.0, 1.0, 30.0), ("3600", 0.01, 0.0, 30.0), ("Wed, 21 Oct 2065 07:28:00 GMT", 30.0, 0.0, 30.0)],
)
def test_a_pause_is_as_long_as_the_server_asks_up_to_a_limit(
    asks_for: str, longest_s: float, at_least_s: float, at_most_s: float, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LONGEST_PAUSE_S", longest_s)
    server, _ = serve("gpt2", retry_after=asks_for)
    server.faults.append("429")
    began = time.monotonic()
    asked = client_for(server.url, concurrency=1, timeout_s=20)
    asked.post("/completions", {"model": server.name, "prompt": [1, 2], "max_tokens": 1})
    assert at_least_s <= time.monotonic() - began < at_most_s
    assert len(server.log) == 2


def test_questions_are_made_as_there_is_room_for_them(serve: Serve) -> None:
    server, _ = serve("gpt2")
    n_made = n_read = most_ahead = 0

    def bodies() -> Iterator[dict[str, Any]]:
        nonlocal n_made, most_ahead
        for token in range(1, 41):
            n_made += 1
            most_ahead = max(most_ahead, n_made - n_read)
            yield {"model": server.name, "prompt": [1, token], "max_tokens": 1}

    for _ in client_for(server.url, concurrency=3, timeout_s=20).post_all("/completions", bodies(), lambda *_: None):
        n_read += 1
    assert n_made == n_read == 40
    assert most_ahead <= 3 + 1
    assert DEFAULTS["concurrency"] == 64


@pytest.mark.parametrize(
    "address", ["http://[::1/v1", "http://127.0.0.1:abc/v1", "http://127.0.0.1:99999/v1", "http://..example.org/v1"]
)
def test_an_address_that_can_be_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ModelLoadError, match="the address of a server is http://HOST:PORT/v1"):
        pairbank.load_model(address, tokenizer="x")
