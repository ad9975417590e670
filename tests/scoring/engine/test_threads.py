"""Forward passes side by side: their order, their errors, and which models may have them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.threads import MOST_LANES, n_lanes, side_by_side
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.load import load_model
from tiny_models import ARCHITECTURES, saved_model
from tiny_tokenizers import SENTENCES


@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_come_in_the_order_of_the_jobs(n: int) -> None:
    def run(job: int) -> int:
        time.sleep(0.01 * (job % 3 == 0))
        return job

    assert list(side_by_side(run, iter(range(20)), n=n)) == list(range(20))


def test_jobs_run_at_once_and_are_taken_only_as_needed() -> None:
    """Three jobs that wait for each other end only if all of them run; of 100 jobs, few are taken ahead."""
    together = threading.Barrier(3, timeout=30)
    taken: list[int] = []

    def jobs() -> Iterator[int]:
        for job in range(99):
            taken.append(job)
            yield job

    results = side_by_side(lambda _: together.wait() >= 0, jobs(), n=3)
    assert next(results)
    assert len(taken) <= 7
    assert all(results)


def test_an_error_comes_when_its_turn_has_come_and_nothing_runs_on() -> None:
    running = []

    def run(job: int) -> int:
        if job == 3:
            raise ValueError("job 3")
        running.append(job)
        time.sleep(0.02)
        running.remove(job)
        return job

    found: list[int] = []
    with pytest.raises(ValueError, match="job 3"):
        found.extend(side_by_side(run, iter(range(50)), n=3))
    assert running == []
    results = side_by_side(run, iter([0, 1, 2, 3]), n=3)
    assert [next(results), next(results), next(results)] == [0, 1, 2]


def test_threads_are_shared_out_and_the_callers_stay_as_they_were() -> None:
    before = torch.get_num_threads()
    each = list(side_by_side(lambda _: torch.get_num_threads(), iter(range(8)), n=2))
    assert set(each) == {max(1, before // 2)}
    assert torch.get_num_threads() == before
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [before]


def test_jobs_run_without_gradients() -> None:
    assert all(side_by_side(lambda _: torch.is_inference_mode_enabled(), iter(range(4)), n=2))


def test_numbers_do_not_depend_on_the_lanes(demo_model: CausalScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"The {noun} {verb} in the {place}." for noun in ("dog", "cat", "keys") for verb in ("is", "are")
             for place in ("house", "garden", "old car")]  # fmt: skip
    requests = demo_model.encode([Request(context="", target=text) for text in texts])
    found = []
    for n in (1, 2, 3):
        monkeypatch.setattr(demo_model, "_n_lanes", n)
        monkeypatch.setattr(demo_model, "batch_tokens", 40)
        found.append(demo_model.token_logprobs(requests, progress=lambda _n: None))
    for other in found[1:]:
        assert max(abs(a - b).max() for a, b in zip(found[0], other, strict=True)) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom", "mamba"])
def test_every_bit_is_the_same_for_any_number_of_lanes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enough requests for passes of all sizes between a pack and a batch; both packed and padded models."""
    model = load_model(saved_model(ARCHITECTURES[name], tmp_path / name), device="cpu", prompt_format="base")
    texts = [f"{start} {end} {i}" for i in range(40) for start in SENTENCES[:4] for end in ("again.", "and again.")]
    requests = model.encode([Request(context="", target=text) for text in texts])
    assert sum(len(request.ids) for request in requests) > 16 * 128
    found = []
    for n in (1, 2, 3, 5):
        monkeypatch.setattr(model, "_n_lanes", n)
        found.append(np.concatenate(model.token_logprobs(requests, progress=lambda _n: None)).tobytes())
    assert len(set(found)) == 1


def test_which_models_get_lanes(demo_model: CausalScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = demo_model.model
    assert n_lanes(model) == min(MOST_LANES, torch.get_num_threads())
    for kind in ("dynamic", {"full_attention": "longrope", "sliding_attention": "default"}):
        with monkeypatch.context() as patched:
            patched.setattr(model.base_model.rotary_emb, "rope_type", kind)
            assert n_lanes(model) == 1
    with monkeypatch.context() as patched:
        patched.setattr(model.get_input_embeddings(), "_hf_hook", object(), raising=False)
        assert n_lanes(model) == 1
    with monkeypatch.context() as patched:
        patched.setattr(type(model), "__module__", "modeling_from_the_hub")
        assert n_lanes(model) == 1
