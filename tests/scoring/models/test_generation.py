"""Greedy writing in batches against one prompt at a time, without a cache, every step written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from scipy import stats

from pairbank.errors import ScoringError
from pairbank.scoring.api.model import Ask, Continuation, Draw
from pairbank.scoring.api.names import NEAR_TIE, OVER_LENGTH
from pairbank.scoring.models import generation
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.generation import write
from pairbank.scoring.models.load import load_model
from tiny_bidirectional_models import bart_model, masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

if TYPE_CHECKING:
    from pairbank.scoring.models.load import LoadedModel

PROMPTS = [
    "A dog barks.",
    "The keys to the cabinet are on the table, and the dogs bark again.",
    "They",
    "The unbelievable story is believable; the author said so. Which sentence is a better English sentence?",
    "这本书很有意思。",
    "A dog barks.",
]
N_NEW = 7
CAUSAL = ["gpt2", "llama", "gemma2", "phi3-longrope", "llama4-chunked", "bloom", "mamba2", "rwkv", "qwen3-next"]


def greedy(next_token: Callable[[list[int]], int], ends: Sequence[int]) -> list[int]:
    written: list[int] = []
    while len(written) < N_NEW:
        token = next_token(written)
        if token in ends:
            break
        written.append(token)
    return written


def naive(model: LoadedModel, prompt: str, ends: Sequence[int]) -> list[int]:
    network: Any = model.model
    tokenizer: Any = model.tokenizer
    if not isinstance(model, CausalScorer):
        ids = torch.tensor([tokenizer(prompt)["input_ids"]])
        start = [network.config.decoder_start_token_id]

        def decoded(written: list[int]) -> int:
            decoder = torch.tensor([start + written])
            logits = network(input_ids=ids, decoder_input_ids=decoder, use_cache=False).logits
            return int(logits[0, -1].argmax())

        with torch.inference_mode():
            return greedy(decoded, ends)
    before = [model.info.bos_id, *tokenizer(prompt, add_special_tokens=False)["input_ids"]]

    def following(written: list[int]) -> int:
        return int(network(torch.tensor([before + written]), use_cache=False).logits[0, -1].argmax())

    with torch.inference_mode():
        return greedy(following, ends)


def check(model: LoadedModel) -> None:
    tokenizer: Any = model.tokenizer
    ends = [tokenizer.eos_token_id]
    texts = write(model, [Ask(text=prompt) for prompt in PROMPTS], max_new_tokens=N_NEW)
    expected = [naive(model, prompt, ends) for prompt in PROMPTS]
    assert [text.n_tokens for text in texts] == [len(tokens) for tokens in expected]
    assert [text.text for text in texts] == [tokenizer.decode(t, skip_special_tokens=True) for t in expected]
    assert len({text.text for text in texts}) > 1


@pytest.mark.ci
@pytest.mark.parametrize("name", CAUSAL)
def test_a_batch_writes_what_one_prompt_at_a_time_writes(name: str, tmp_path: Path) -> None:
    check(load_model(saved_model(ARCHITECTURES[name], tmp_path), device="cpu"))


@pytest.mark.parametrize("make", [lambda: t5_model(seed=1), bart_model], ids=["t5", "bart"])
def test_encoder_decoders_write_too(make: Callable[[], tuple[Any, Any]], tmp_path: Path) -> None:
    network, tokenizer = make()
    if network.config.model_type == "bart":
        network.generation_config.forced_bos_token_id = None
    check(load_model(saved(network, tokenizer, tmp_path), device="cpu"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(saved_model(ARCHITECTURES["llama"], tmp_path_factory.mktemp("llama")), device="cpu")


def test_writing_stops_at_any_of_the_checkpoints_end_tokens(tiny: LoadedModel) -> None:
    network: Any = tiny.model
    tokens = naive(tiny, PROMPTS[1], [])
    end = tokens[3]
    brought = network.generation_config.eos_token_id
    network.generation_config.eos_token_id = [brought, end]
    try:
        [text] = write(tiny, [Ask(text=PROMPTS[1])], max_new_tokens=N_NEW)
    finally:
        network.generation_config.eos_token_id = brought
    assert text.n_tokens == tokens.index(end)


def test_a_checkpoints_own_settings_change_nothing_and_are_given_back(tiny: LoadedModel) -> None:
    network: Any = tiny.model
    asks = [Ask(text=prompt) for prompt in PROMPTS]
    plain = write(tiny, asks, max_new_tokens=N_NEW)
    brought = network.generation_config
    for name, value in {"do_sample": True, "repetition_penalty": 9.0, "num_beams": 3, "min_length": 400}.items():
        setattr(brought, name, value)
    network.train()
    try:
        assert write(tiny, asks, max_new_tokens=N_NEW) == plain
        assert network.generation_config is brought
        assert network.training
    finally:
        network.train(mode=False)
        for name, value in {"do_sample": False, "repetition_penalty": 1.0, "num_beams": 1, "min_length": 0}.items():
            setattr(brought, name, value)


def test_equal_prompts_are_answered_once_and_progress_counts_them(
    tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    told: list[int] = []
    real = generation.Decoder._batch

    def counting(model: Any, inputs: Any, *more: Any) -> Any:  # noqa: ANN401
        batches.append(len(inputs))
        return real(model, inputs, *more)

    monkeypatch.setattr(generation.Decoder, "_batch", counting)
    write(tiny, [Ask(text=prompt) for prompt in PROMPTS], max_new_tokens=2, progress=told.append)
    assert sum(batches) == sum(told) == len(set(PROMPTS))


def test_a_choice_by_a_hair_is_flagged(tmp_path: Path) -> None:
    model = load_model(saved_model(ARCHITECTURES["gpt2"], tmp_path), device="cpu")
    assert write(model, [Ask(text=PROMPTS[0])], max_new_tokens=3)[0].flags == ()
    network: Any = model.model
    network.lm_head.weight.data[7] = network.lm_head.weight.data[9]
    network.lm_head.weight.data[[i for i in range(len(network.lm_head.weight)) if i not in {7, 9}]] = 0.0
    result = write(model, [Ask(text=prompt) for prompt in PROMPTS], max_new_tokens=3)
    assert NEAR_TIE in {flag for text in result for flag in text.flags}


def test_a_prompt_without_room_is_refused_or_left_unanswered(tiny: LoadedModel) -> None:
    asks = [Ask(text="A dog barks. " * 200, where="x/1"), Ask(text="They")]
    with pytest.raises(ScoringError, match=r"x/1: \d+ tokens and 20 to write, but .* takes 640"):
        write(tiny, asks, max_new_tokens=20)
    over, fits = write(tiny, asks, max_new_tokens=20, over_length="nan")
    assert (over.text, over.flags) == (None, (OVER_LENGTH,))
    assert fits.n_tokens > 0


def test_a_broken_model_is_an_error(tmp_path: Path) -> None:
    model = load_model(saved_model(ARCHITECTURES["gpt2"], tmp_path), device="cpu")
    network: Any = model.model
    network.transformer.ln_f.weight.data[:] = float("nan")
    with pytest.raises(ScoringError, match="logit that is NaN"):
        write(model, [Ask(text="They")], max_new_tokens=2)


def test_masked_models_cannot_write(tmp_path: Path) -> None:
    model = load_model(saved(*masked_model("bert"), tmp_path), device="cpu")
    with pytest.raises(ScoringError, match="cannot write"):
        write(model, [Ask(text="They")], max_new_tokens=2)


def test_the_fake_model_writes_the_same_each_time() -> None:
    asks = [Ask(text=f"Question {i}? My answer is") for i in range(40)]
    first, again = (write(FakeScorer(), asks, max_new_tokens=20) for _ in range(2))
    assert first == again
    assert {digit for text in first for digit in str(text.text) if digit.isdigit()} == set("12345")
    assert any(not any(c.isdigit() for c in str(text.text)) for text in first)
    other = write(FakeScorer(name="other"), asks, max_new_tokens=20)
    assert other != first
    assert all(text.n_tokens <= 4 for text in write(FakeScorer(), asks, max_new_tokens=4))


DRAWS = [
    Ask(text=prompt, draw=Draw(temperature=heat, seed=seed))
    for prompt in PROMPTS[:4]
    for seed, heat in ((1, 1.0), (2, 0.5))
]


def drawn(model: LoadedModel, ask: Ask) -> list[int]:
    """Write one answer token by token, without cache and batch; tokens by numpy's argmax."""
    network: Any = model.model
    tokenizer: Any = model.tokenizer
    draw = ask.draw
    assert draw is not None
    ids = tokenizer(ask.text, add_special_tokens=not isinstance(model, CausalScorer))["input_ids"]

    def following(written: list[int]) -> int:
        if isinstance(model, CausalScorer):
            logits = network(torch.tensor([[model.info.bos_id, *ids, *written]]), use_cache=False).logits
        else:
            decoder = torch.tensor([[network.config.decoder_start_token_id, *written]])
            logits = network(input_ids=torch.tensor([ids]), decoder_input_ids=decoder, use_cache=False).logits
        heated = logits[0, -1].double().numpy() / draw.temperature
        return int(np.argmax(heated + draw.noise(len(written), heated.size)))

    with torch.inference_mode():
        return greedy(following, [tokenizer.eos_token_id])


def check_draws(model: LoadedModel) -> None:
    tokenizer: Any = model.tokenizer
    asks = [*DRAWS, Ask(text=PROMPTS[0])]
    texts = write(model, asks, max_new_tokens=N_NEW)
    expected = [tokenizer.decode(drawn(model, ask), skip_special_tokens=True) for ask in DRAWS]
    assert [text.text for text in texts[:-1]] == expected
    assert len({text.text for text in texts}) > 4
    assert [one.text for one in write(model, asks[1::3], max_new_tokens=N_NEW)] == [t.text for t in texts[1::3]]
    assert texts[-1] == write(model, asks[-1:], max_new_tokens=N_NEW)[0]


@pytest.mark.ci
@pytest.mark.parametrize("name", ["gpt2", "gemma2", "mamba2"])
def test_a_drawn_answer_is_the_one_that_its_seed_gives_alone_whatever_the_batch(name: str, tmp_path: Path) -> None:
    check_draws(load_model(saved_model(ARCHITECTURES[name], tmp_path), device="cpu"))


def test_encoder_decoders_draw_too(tmp_path: Path) -> None:
    network, tokenizer = t5_model(seed=1)
    check_draws(load_model(saved(network, tokenizer, tmp_path), device="cpu"))


def test_drawn_tokens_have_the_models_probabilities_and_steps_and_seeds_go_with_no_others() -> None:
    logits = np.array([0.3, -1.0, 2.0, 0.0, 1.2])
    expected = np.exp(logits / 0.7) / np.exp(logits / 0.7).sum()
    draws = [Draw(temperature=0.7, seed=seed) for seed in range(4_000)]
    tokens = np.array([[int(np.argmax(logits / 0.7 + d.noise(step, 5))) for step in range(2)] for d in draws])
    for step in range(2):
        assert stats.chisquare(np.bincount(tokens[:, step], minlength=5), 4_000 * expected).pvalue > 0.01
    both = np.histogram2d(tokens[:, 0], tokens[:, 1], bins=5)[0]
    assert stats.chi2_contingency(both).pvalue > 0.01


class GreedyAlone:
    """A writer of somebody else's that knows nothing of draws."""

    info = FakeScorer().info

    def write(self, prompts: Sequence[Ask], **_: object) -> list[Continuation]:
        return [Continuation(text=" 1", n_tokens=1) for _ in prompts]


def test_a_writer_that_would_answer_every_draw_alike_is_refused() -> None:
    model: Any = GreedyAlone()
    assert write(model, [Ask(text="A dog")], max_new_tokens=1)[0].text == " 1"
    with pytest.raises(ScoringError, match="answers greedily alone; leave the samples away"):
        write(model, DRAWS, max_new_tokens=1)
