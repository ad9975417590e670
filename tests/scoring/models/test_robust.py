"""What goes wrong while scoring: memory, NaN, long sequences; on a tiny random model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from naive_reference import sentence_logprob
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import ModelInfo
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.self_check import packing_problem

LETTERS = [*"abcdefghijklmnopqrstuvwxyz ."]
TEXTS = ["a dog barks.", "a dog bark.", "the cat sat.", "the cat sits on a mat.", "ab", "abc", "zebra"] * 3


@pytest.fixture
def scorer() -> CausalScorer:
    torch.manual_seed(3)
    vocabulary = {token: i for i, token in enumerate(["<s>", "<unk>", *LETTERS])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=plain, bos_token="<s>", unk_token="<unk>"
    )
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
    )
    info = ModelInfo(
        name="tiny",
        model_id="tiny",
        revision="1",
        architecture="LlamaForCausalLM",
        dtype="float32",
        quantisation="",
        device="cpu",
        backend="causal-packed",
        prompt_format="base",
        bos_policy="auto",
        bos_id=0,
        max_length=128,
    )
    return CausalScorer(LlamaForCausalLM(config), tokenizer, info)


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


def test_the_callers_model_and_tokenizer_are_left_as_they_were(scorer: CausalScorer) -> None:
    scorer.model.train()
    before = (scorer.tokenizer.pad_token, scorer.tokenizer.padding_side, torch.is_grad_enabled())
    sums(scorer)
    assert scorer.model.training
    assert (scorer.tokenizer.pad_token, scorer.tokenizer.padding_side, torch.is_grad_enabled()) == before


def test_sequences_beyond_a_sliding_window_go_unpacked(scorer: CausalScorer) -> None:
    scorer._window = 6
    expected = [sentence_logprob(scorer.model, scorer.tokenizer, text) for text in TEXTS]
    assert sums(scorer) == pytest.approx(expected, abs=1e-4)
    scorer.stats.n_computed_tokens = 0
    sums(scorer, ["ab", "abc"])
    assert scorer.stats.n_computed_tokens == 3  # packed: BOS, a, b; the last tokens are read, not fed


def test_a_model_that_ignores_the_mask_is_caught(scorer: CausalScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert packing_problem(scorer) is None
    forward = scorer.model.forward

    @functools.wraps(forward)
    def deaf(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands in for any forward
        kwargs.pop("attention_mask")
        return forward(*args, **kwargs)

    monkeypatch.setattr(scorer.model, "forward", deaf)
    assert "packed and plain scores differ by" in str(packing_problem(scorer))


def test_no_request_makes_no_pass(scorer: CausalScorer) -> None:
    empty: list[EncodedRequest] = []
    assert scorer.token_logprobs(empty, progress=lambda _n: None) == []
    assert scorer.encode([]) == []
    assert np.isnan(scorer.stats.sharing)
