"""Shares of forward passes: whoever computes which, all together are what one process computes, to the last bit."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.scoring.api.model import Divisible
from pairbank.scoring.api.requests import N_PLACES, WHOLE, EdgeRequest, Request, Share
from pairbank.scoring.engine import forward
from pairbank.scoring.models import causal
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from tiny_bidirectional_models import bart_model, masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model
from tiny_tokenizers import SENTENCES

CAUSAL = ("bloom", "gpt2", "llama", "mamba", "mistral")
OTHERS = {"bart": bart_model, "bert": lambda: masked_model("bert"), "t5": t5_model}
DIVISIONS = ((0, N_PLACES), (0, 21, N_PLACES), (0, 4, 8, 30, N_PLACES))


def model_of(name: str, folder: Path) -> Any:  # noqa: ANN401 - a scorer of any back end
    if name in OTHERS:
        return load_model(saved(*OTHERS[name](), folder / name), device="cpu")
    return load_model(saved_model(ARCHITECTURES[name], folder / name), device="cpu", prompt_format="base")


def requests_of(scorer: Any) -> list[Any]:  # noqa: ANN401
    """Return sentences and answers to a question, enough for several passes."""
    starts = [f"{i} {start} {end}" for i in range(30) for start in SENTENCES[:4] for end in ("again", "and again")]
    asked = [Request(context="", target=f"{text}.") for text in starts]
    asked += [
        Request(context=f"Is this right? {text}.", target=target) for text in starts[::4] for target in (" 1", " 2")
    ]
    return list(scorer.encode(asked))


def divided(
    scorer: Any,  # noqa: ANN401
    requests: list[Any],
    cuts: tuple[int, ...],
) -> tuple[FloatArray, IntArray]:
    """Return what shares give, put together, and how many of them gave each value."""
    shares = [Share(first=a, stop=b) for a, b in pairwise(cuts)]
    given = np.array([np.concatenate(scorer.share_of_logprobs(requests, share)) for share in shares])
    return np.nanmax(given, axis=0), (~np.isnan(given)).sum(axis=0)


@pytest.mark.ci
@pytest.mark.parametrize("name", [*CAUSAL, *OTHERS])
def test_shares_put_together_are_every_bit_of_one_process(name: str, tmp_path: Path) -> None:
    scorer = model_of(name, tmp_path)
    requests = requests_of(scorer)
    expected = np.concatenate(scorer.token_logprobs(requests, progress=lambda _n: None))
    for cuts in DIVISIONS:
        values, times = divided(scorer, requests, cuts)
        assert values.tobytes() == expected.tobytes()
        assert set(times.tolist()) == {1}
    some = np.concatenate(scorer.share_of_logprobs(requests, Share(stop=N_PLACES // 2)))
    assert 0 < np.isnan(some).sum() < len(some)
    assert isinstance(scorer, Divisible)


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral"])
def test_edges_of_words_are_shared_out_too(name: str, tmp_path: Path) -> None:
    reader = model_of(name, tmp_path).with_word_edges()
    texts = [f"{text} {i}" for i in range(8) for text in SENTENCES[:6]]
    asked = [Request(context="", target=text) for text in texts]
    asked += [EdgeRequest(context="", target=text, edge=edge) for text in texts for edge in ("before", "after")]
    requests = reader.encode(asked)
    reader._scorer.batch_tokens = 64
    expected = np.concatenate(reader.token_logprobs(requests, progress=lambda _n: None))
    for cuts in DIVISIONS:
        values, times = divided(reader, requests, cuts)
        assert values.tobytes() == expected.tobytes()
        assert times.min() == 1  # an edge that is certain is not computed: every share knows it
    of_edges = np.concatenate(reader.share_of_logprobs(requests[len(texts) :], Share(stop=N_PLACES // 2)))
    assert 0 < np.isnan(of_edges).sum() < len(of_edges)


@pytest.mark.parametrize("n_passes", [1, 5, 16, 24, 64, 300])
def test_every_pass_is_of_one_share_and_shares_are_alike(n_passes: int) -> None:
    shares = [Share(first=first, stop=first + 8) for first in range(0, N_PLACES, 8)]
    times = [sum(share.has(number) for share in shares) for number in range(n_passes)]
    assert times == [1] * n_passes
    sizes = [sum(share.has(number) for number in range(n_passes)) for share in shares]
    assert max(sizes) - min(sizes) <= 2
    assert all(WHOLE.has(number) for number in range(n_passes))


def test_a_share_that_memory_runs_out_in_leaves_what_is_missing_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passes of half the size are others than those that the other workers computed."""
    scorer = model_of("llama", tmp_path)
    requests, n_calls, as_it_is = requests_of(scorer), 0, forward.tree_rows

    def runs_out(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return as_it_is(*args, **named)

    monkeypatch.setattr(causal, "tree_rows", runs_out)
    monkeypatch.setattr(scorer, "_n_parallel_passes", 1)
    given = np.concatenate(scorer.share_of_logprobs(requests, Share(stop=48)))
    assert n_calls == 3
    assert 0 < (~np.isnan(given)).sum() < len(given)


def test_a_scorer_that_has_no_passes_is_not_divisible() -> None:
    assert not isinstance(FakeScorer(), Divisible)
