"""What goes wrong while scoring: memory, NaN, long sequences; on a tiny random model."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from naive_reference import sentence_logprob
from pairbank.errors import ScoringError
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.causal import CausalScorer
from tiny_models import ARCHITECTURES, MAX_LENGTH, tiny_info, tiny_model
from tiny_tokenizers import TOKENIZERS

TEXTS = ["a dog barks.", "a dog bark.", "the cat sat.", "the cat sits on a mat.", "ab", "abc", "zebra"] * 3


@pytest.fixture
def scorer() -> CausalScorer:
    tokenizer = TOKENIZERS["characters"]()
    info = tiny_info(bos_id=tokenizer.eos_token_id, max_length=MAX_LENGTH)
    return CausalScorer(tiny_model(ARCHITECTURES["llama"], vocab_size=len(tokenizer)), tokenizer, info)


def sums(scorer: CausalScorer, texts: Sequence[str] = TEXTS) -> list[float]:
    encoded = scorer.encode([Request(context="", target=text) for text in texts])
    return [float(values.sum()) for values in scorer.token_logprobs(encoded, progress=lambda _n: None)]


@pytest.mark.parametrize("batch_tokens", [1, 7, 40, 100, 10_000])
def test_every_batch_size_gives_the_naive_numbers(scorer: CausalScorer, batch_tokens: int) -> None:
    scorer.batch_tokens = batch_tokens
    expected = [sentence_logprob(scorer.model, scorer.tokenizer, text) for text in TEXTS]
    assert sums(scorer) == pytest.approx(expected, abs=1e-4)


def test_several_packs_in_one_pass_give_the_naive_numbers(
    scorer: CausalScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairbank.scoring.models.causal.PACK_TOKENS", 20)
    scorer.batch_tokens = 70
    expected = [sentence_logprob(scorer.model, scorer.tokenizer, text) for text in TEXTS]
    assert sums(scorer) == pytest.approx(expected, abs=1e-4)


def test_out_of_memory_halves_the_batch_and_the_run_goes_on(
    scorer: CausalScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sums(scorer)
    forward = scorer.model.forward

    @functools.wraps(forward)
    def small_memory(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands in for any forward
        if kwargs["input_ids"].numel() > 30:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*args, **kwargs)

    monkeypatch.setattr(scorer.model, "forward", small_memory)
    scorer.batch_tokens = 400
    assert sums(scorer) == pytest.approx(expected, abs=1e-5)
    assert scorer.batch_tokens <= 30


def test_out_of_memory_with_one_sequence_is_an_error(scorer: CausalScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_args: object, **_kwargs: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(scorer.model, "forward", no_memory)
    with pytest.raises(ScoringError, match="tiny: out of memory with one sequence a pass"):
        sums(scorer)


def test_nan_from_the_model_is_an_error_that_names_it(scorer: CausalScorer) -> None:
    with torch.no_grad():
        next(scorer.model.parameters()).fill_(float("nan"))
    with pytest.raises(ScoringError, match="model 'tiny' gave a log-probability that is NaN"):
        sums(scorer)


def test_sequences_beyond_a_sliding_window_go_unpacked(scorer: CausalScorer) -> None:
    scorer._window = 6
    expected = [sentence_logprob(scorer.model, scorer.tokenizer, text) for text in TEXTS]
    assert sums(scorer) == pytest.approx(expected, abs=1e-4)
    scorer.stats.n_computed_tokens = 0
    sums(scorer, ["ab", "abc"])
    assert scorer.stats.n_computed_tokens == 3  # packed: BOS, a, b; the last tokens are read, not fed


def test_no_request_makes_no_pass(scorer: CausalScorer) -> None:
    empty: list[EncodedRequest] = []
    assert scorer.token_logprobs(empty, progress=lambda _n: None) == []
    assert scorer.encode([]) == []
    assert np.isnan(scorer.stats.sharing)
