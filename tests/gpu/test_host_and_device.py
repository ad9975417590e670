"""The host works while a device does: passes begin before others are waited for, and wait for nothing themselves.

A stub stands for the device: a CPU whose waits are counted, and `meta`, on which every wait is an error.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

import pairbank
from naive_reference import token_logprobs
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import ended, one_begun_ahead
from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine import forward
from pairbank.scoring.engine.threads import PASSES_AHEAD, UnderWay
from pairbank.scoring.models import causal
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.run.work import Unit
from tiny_models import ARCHITECTURES, saved_model

NAMES = ("llama", "gpt2", "mistral")
TEXTS = [
    f"{start} {verb} {i}."
    for i in range(40)
    for start in ("A dog", "The keys to the cabinet")
    for verb in ("is", "are")
]


@pytest.fixture(params=NAMES)
def scorer(request: pytest.FixtureRequest, tmp_path: Path) -> CausalScorer:
    """Return a model in one pass, as on a device, with passes so small that there are many."""
    folder = saved_model(ARCHITECTURES[request.param], tmp_path / request.param)
    result: Any = pairbank.load_model(str(folder), device="cpu", batch_tokens=16)
    result._n_parallel_passes = 1
    return cast("CausalScorer", result)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what happens on the host, in order."""
    result: list[str] = []
    begin, wait = forward.tree_rows, forward.Download.wait

    def begun(*args: Any, **more: Any) -> Any:  # noqa: ANN401
        result.append("begin")
        return begin(*args, **more)

    def waited(self: forward.Download) -> Any:  # noqa: ANN401
        result.append("wait")
        return wait(self)

    monkeypatch.setattr(causal, "tree_rows", begun)
    monkeypatch.setattr(forward.Download, "wait", waited)
    return result


def test_passes_begin_before_others_are_waited_for_and_numbers_are_those_of_a_naive_loop(
    scorer: CausalScorer, events: list[str]
) -> None:
    requests = scorer.encode([Request(context="", target=text) for text in TEXTS])
    result = scorer.token_logprobs(requests, progress=lambda _n: None)
    n = events.count("begin")
    assert n > 4 * PASSES_AHEAD
    # one wait a pass, and never one while the device would have had less than two passes to do
    assert events == ["begin"] * (1 + PASSES_AHEAD) + ["wait", "begin"] * (n - 1 - PASSES_AHEAD) + ["wait"] * (
        1 + PASSES_AHEAD
    )
    expected = [token_logprobs(scorer.model, list(one.ids), one.n_scored) for one in requests]
    np.testing.assert_allclose(np.concatenate(result), np.concatenate(expected), atol=1e-3)


@pytest.mark.parametrize("has_head", [True, False])
@pytest.mark.parametrize("ranks", [True, False])
def test_a_pass_waits_for_nothing(scorer: CausalScorer, *, has_head: bool, ranks: bool) -> None:
    requests = scorer.encode([Request(context="", target=text) for text in TEXTS])
    packs = [*scorer.packs(requests)][:3]
    scorer.model.to("meta")  # type: ignore[arg-type]
    scorer.head = scorer.head if has_head else None
    index = np.arange(len(requests))
    with torch.inference_mode():
        created = scorer._pass(lambda: scorer._tree_rows(packs, None), requests, index=index, n_tokens=1, ranks=ranks)
        with pytest.raises(NotImplementedError, match="meta tensor"):
            created.read()


def test_inputs_go_through_pinned_memory_and_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Tensor:
        def pin_memory(self) -> Tensor:
            calls.append("pinned")
            return self

        def to(self, device: Any, **options: Any) -> Tensor:  # noqa: ANN401
            calls.append((device.type, options))
            return self

    monkeypatch.setattr(torch, "from_numpy", lambda _values: Tensor())
    forward.on_device(np.zeros(3), torch.device("cuda"))
    assert calls == ["pinned", ("cuda", {"non_blocking": True})]


@pytest.mark.ci
def test_the_next_unit_is_encoded_and_begun_while_the_last_passes_of_one_run(
    scorer: CausalScorer, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=2)
    whole = pairbank.score(items, scorer)
    encode = type(scorer).encode

    def encoded(self: CausalScorer, requests: Any) -> Any:  # noqa: ANN401
        events.append("encode")
        return encode(self, requests)

    monkeypatch.setattr(CausalScorer, "encode", encoded)
    monkeypatch.setattr("pairbank.scoring.run.work.efforts", lambda units, *_: [1.0] * len(units))
    monkeypatch.setattr(
        "pairbank.scoring.run.work.units_of",
        lambda n, methods: [
            Unit(number=k, start=start, stop=min(start + 7, n), methods=tuple(methods))
            for k, start in enumerate(range(0, n, 7))
        ],
    )
    events.clear()
    told: list[float] = []
    result = pairbank.score(items, scorer, progress=lambda n_done, _n_items: told.append(n_done))
    assert events.count("encode") == -(-len(items) // 7) > 2
    for place in [k for k, event in enumerate(events) if event == "encode"][1:]:
        begun, waited = (events[:place].count(event) for event in ("begin", "wait"))
        assert begun - waited == PASSES_AHEAD  # the device has these to do while the host encodes
        assert events[place + 1] == "begin"
    assert told == sorted(told)
    assert told[-1] == len(items)
    for name in ("direct_good", "direct_bad", "direct_delta"):
        np.testing.assert_allclose(result.dataset[name][:], whole.dataset[name][:], atol=1e-3)


def test_a_model_in_training_is_scored_in_one_step_and_stays_in_training(scorer: CausalScorer) -> None:
    requests = scorer.encode([Request(context="", target=text) for text in TEXTS])
    expected = scorer.token_logprobs(requests, progress=lambda _n: None)
    assert next(scorer.logprob_steps(requests, progress=lambda _n: None), "ended") is None
    scorer.model.train()
    scorer._n_parallel_passes = 2
    steps = scorer.logprob_steps(requests, progress=lambda _n: None)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert scorer.model.training
    np.testing.assert_allclose(np.concatenate(end.value.value), np.concatenate(expected), atol=1e-3)


def test_what_is_computed_is_stored_when_the_next_unit_cannot_begin() -> None:
    stored: list[str] = []

    def work(name: str, *, fails: bool = False) -> Any:  # noqa: ANN401
        if fails:
            raise ScoringError(f"{name} is too long")
        yield
        yield
        stored.append(name)
        return name

    with pytest.raises(ScoringError, match="c is too long"):
        list(one_begun_ahead(work(name, fails=name == "c") for name in "abcd"))
    assert stored == ["a", "b"]
    assert [*one_begun_ahead(work(name) for name in "abcd")] == [*"abcd"]
    assert ended(work("e")) == "e"


def test_a_pass_that_runs_out_of_memory_is_told_after_those_before_it_and_is_freed_before_it_is_repeated(
    scorer: CausalScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[torch.Tensor]] = []
    free: list[bool] = []
    tree_rows = forward.tree_rows

    def rows(*args: Any, **more: Any) -> Any:  # noqa: ANN401
        free.append(all(one() is None for one in held))
        if len(free) == 3:
            activations = torch.zeros(1_000)
            held.append(weakref.ref(activations))
            raise torch.OutOfMemoryError("out of memory")
        return tree_rows(*args, **more)

    requests = scorer.encode([Request(context="", target=text) for text in TEXTS])
    expected = scorer.token_logprobs(requests, progress=lambda _n: None)
    monkeypatch.setattr(causal, "tree_rows", rows)
    gc.disable()  # nothing may be left for the collector
    try:
        result = scorer.token_logprobs(requests, progress=lambda _n: None)
    finally:
        gc.enable()
    assert held
    assert all(free[3:])
    assert len(free) > 3
    assert scorer.batch_tokens == 8
    np.testing.assert_allclose(np.concatenate(result), np.concatenate(expected), atol=1e-3)


def test_what_was_begun_before_a_failure_has_its_turn_first() -> None:
    def run(job: int) -> int:
        if job == 3:
            raise RuntimeError("job 3")
        return job

    under_way, result = UnderWay(run, iter(range(9)), n=1, ahead=4), list[int]()
    with pytest.raises(RuntimeError, match="job 3"):
        result.extend(under_way)
    assert result == [0, 1, 2]
    assert under_way.n_under_way == 0


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    n = torch.get_num_threads()
    yield
    torch.set_num_threads(n)


def test_a_download_waits_for_the_devices_own_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    event = SimpleNamespace(synchronize=lambda: calls.append("waited"))

    def record_event() -> Any:  # noqa: ANN401
        calls.append("recorded")
        return event

    stream = SimpleNamespace(record_event=record_event)

    class OnCard:
        shape, dtype, device = (2,), torch.float32, SimpleNamespace(type="cuda")

    real_empty = torch.empty

    def empty(shape: Any, *, dtype: Any, pin_memory: bool) -> Any:  # noqa: ANN401
        assert pin_memory
        host = real_empty(shape, dtype=dtype)
        monkeypatch.setattr(
            torch.Tensor, "copy_", lambda _self, _values, non_blocking: calls.append(f"copied {non_blocking}")
        )
        return host

    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device: stream)
    download = forward.Download(OnCard())  # type: ignore[arg-type]
    assert calls == ["copied True", "recorded"]
    assert download.wait().shape == (2,)
    assert calls[-1] == "waited"
