"""Forward passes side by side: their order, their errors, and which models may have them."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
import transformers
from transformers import BertConfig, BertForMaskedLM, T5Config, T5ForConditionalGeneration

from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.threads import MOST_PARALLEL, n_parallel_encoder_passes, n_parallel_passes, side_by_side
from pairbank.scoring.models.load import load_model
from tiny_architectures import MASKED, SEQ2SEQ, made
from tiny_bidirectional_models import bert_tokenizer, saved, t5_model
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

    result: list[int] = []
    with pytest.raises(ValueError, match="job 3"):
        result.extend(side_by_side(run, iter(range(50)), n=3))
    assert running == []
    results = side_by_side(run, iter([0, 1, 2, 3]), n=3)
    assert [next(results), next(results), next(results)] == [0, 1, 2]


def test_a_lane_has_one_thread_and_the_callers_stay_as_they_were() -> None:
    before = torch.get_num_threads()
    each = list(side_by_side(lambda _: torch.get_num_threads(), iter(range(8)), n=2))
    assert set(each) == {1}
    assert torch.get_num_threads() == before
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [before]


def test_jobs_run_without_gradients() -> None:
    assert all(side_by_side(lambda _: torch.is_inference_mode_enabled(), iter(range(4)), n=2))


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom", "mamba"])
def test_every_bit_is_the_same_for_any_number_of_lanes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enough requests for passes of all sizes between a pack and a batch; both packed and padded models."""
    model = load_model(saved_model(ARCHITECTURES[name], tmp_path / name), device="cpu", prompt_format="base")
    texts = [f"{start} {end} {i}" for i in range(40) for start in SENTENCES[:4] for end in ("again.", "and again.")]
    requests = model.encode([Request(context="", target=text) for text in texts])
    assert sum(len(request.ids) for request in requests) > 16 * 128
    result = []
    for n in (1, 2, 3, 5):
        monkeypatch.setattr(model, "_n_parallel_passes", n)
        result.append(np.concatenate(model.token_logprobs(requests, progress=lambda _n: None)).tobytes())
    assert len(set(result)) == 1


def wide(family: str, folder: Path) -> str:
    """Return a folder with a model whose matrix products several threads share, were they let."""
    torch.manual_seed(0)
    sizes: dict[str, Any]
    if family == "gpt2":
        config = {"n_embd": 256, "n_layer": 2, "n_head": 4, "n_positions": 512}
        return str(saved_model(replace(ARCHITECTURES["gpt2"], config=config), folder))
    if family == "bert":
        tokenizer = bert_tokenizer()
        sizes = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 4}
        return str(saved(BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)), tokenizer, folder))
    small, tokenizer = t5_model()
    sizes = {"d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    of_t5 = T5Config(vocab_size=small.config.vocab_size, **sizes)
    return str(saved(T5ForConditionalGeneration(of_t5), tokenizer, folder))


@pytest.mark.ci
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_every_bit_is_the_same_for_any_number_of_threads(family: str, tmp_path: Path) -> None:
    """Long questions with many answers, so that a causal model computes their beginning by itself."""
    folder, before = wide(family, tmp_path / family), torch.get_num_threads()
    context = "Which sentence is a better English sentence? The keys to the cabinet are on the table. " * 3
    texts = [f"{noun} {verb} {i}." for noun in ("The keys", "My answer") for verb in ("is", "are") for i in range(15)]
    result = set()
    try:
        for n_threads in (1, 2, 3):
            torch.set_num_threads(n_threads)
            model: Any = load_model(folder, device="cpu")
            requests = [Request(context=context, target=" 1"), *(Request(context="", target=one) for one in texts)]
            requests += [Request(context=context, target=f" {one}") for one in texts]
            read = model.token_logprobs(model.encode(requests), progress=lambda _n: None)
            result.add(np.concatenate(read).tobytes())
    finally:
        torch.set_num_threads(before)
    assert len(result) == 1


@pytest.mark.parametrize("name", ["funnel", "longformer", "switch", "t5gemma"])
def test_a_model_that_may_keep_something_of_a_pass_has_one_lane(name: str) -> None:
    config = getattr(transformers, {**MASKED, **SEQ2SEQ}[name].model_class).config_class
    assert n_parallel_encoder_passes(cast("Any", SimpleNamespace(config=config)), pass_tokens=0) == 1


@pytest.mark.ci
@pytest.mark.parametrize("name", ["albert", "deberta-v2", "roberta", "bart", "t5"])
def test_encoders_give_every_bit_the_same_for_any_number_of_lanes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer: Any = load_model(made({**MASKED, **SEQ2SEQ}[name], tmp_path / name), device="cpu")
    texts = [f"{start} {end} {i}." for i in range(6) for start in SENTENCES[:4] for end in ("again", "and again")]
    requests = scorer.encode([Request(context="", target=text) for text in texts])
    result = []
    for n in (1, 2, 5):
        monkeypatch.setattr("pairbank.scoring.engine.threads.n_parallel_passes", lambda *_, n=n: n)
        result.append(np.concatenate(scorer.token_logprobs(requests, progress=lambda _n: None)))
    assert [float(np.abs(other - result[0]).max()) for other in result] == [0, 0, 0]


def test_a_large_vocabulary_leaves_fewer_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = t5_model()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 12)
    assert n_parallel_encoder_passes(model, pass_tokens=1024) == n_parallel_passes(model) == 12
    model.config.vocab_size = 250_000
    assert n_parallel_encoder_passes(model, pass_tokens=0) == 12
    assert n_parallel_encoder_passes(model, pass_tokens=1024) == 4


def test_which_models_get_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = load_model(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"), device="cpu").model
    assert n_parallel_passes(model) == min(MOST_PARALLEL, torch.get_num_threads())
    for kind in ("dynamic", {"full_attention": "longrope", "sliding_attention": "default"}):
        with monkeypatch.context() as patched:
            patched.setattr(model.base_model.rotary_emb, "rope_type", kind)
            assert n_parallel_passes(model) == 1
    with monkeypatch.context() as patched:
        patched.setattr(model.get_input_embeddings(), "_hf_hook", object(), raising=False)
        assert n_parallel_passes(model) == 1
    with monkeypatch.context() as patched:
        patched.setattr(type(model), "__module__", "modeling_from_the_hub")
        assert n_parallel_passes(model) == 1
