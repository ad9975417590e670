"""Hidden states: every architecture against one text at a time, the store, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from pairbank.errors import ScoringError
from pairbank.files import cache_dir
from pairbank.scoring.models import hidden_states
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.hidden_states import last_token_states
from pairbank.scoring.models.load import load_model
from pairbank.scoring.versions import HIDDEN_STATES_VERSION
from tiny_bidirectional_models import bart_model, masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

if TYPE_CHECKING:
    from pairbank.scoring.models.load import LoadedModel

CAUSAL = [
    *("gpt2", "opt", "llama", "gemma2", "gpt-oss", "phi3-longrope", "llama4-chunked"),
    *("gpt-neo", "bloom", "falcon-alibi", "mamba", "mamba2", "rwkv", "qwen3-next"),
]
"""Absolute and rotary positions, ALiBi, sliding windows and chunks, recurrent states."""
TEXTS = (
    "A dog barks.",
    "The keys to the cabinet are on the table, and the dogs bark again.",
    "They bark.",
    "The unbelievable story is believable; the author said so. Which sentence is a better English sentence?",
    "A dog barks.",
    "这本书很有意思。",
    "The keys to the cabinet is on the table, and the dogs bark again.",
)


def alone(model: LoadedModel, ids: Sequence[int], last: int) -> torch.Tensor:
    """Return (layers, hidden) of one token, by a plain forward pass of one text without any padding."""
    network: Any = model.model
    with torch.inference_mode():
        tensor = torch.tensor([list(ids)])
        if network.config.is_encoder_decoder:
            output = network.get_encoder()(input_ids=tensor, output_hidden_states=True)
        else:
            output = network(input_ids=tensor, output_hidden_states=True)
    return torch.stack([layer[0, last] for layer in output.hidden_states])


def worst_difference(model: LoadedModel, expected: Sequence[torch.Tensor]) -> float:
    states = last_token_states(TEXTS, model)
    assert states.n_layers == len(expected[0])
    everything = np.arange(len(TEXTS))
    worst = 0.0
    for layer in range(states.n_layers):
        ours = states.layer(layer, everything)
        theirs = torch.stack([part[layer] for part in expected]).numpy()
        worst = max(worst, float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())))
    return worst


@pytest.mark.ci
@pytest.mark.parametrize("name", CAUSAL)
def test_padded_states_are_those_of_one_text_at_a_time(name: str, tmp_path: Path) -> None:
    model = load_model(saved_model(ARCHITECTURES[name], tmp_path), device="cpu")
    tokenizer: Any = model.tokenizer
    bos = model.info.bos_id
    expected = []
    for text in TEXTS:
        ids = [bos, *tokenizer(text, add_special_tokens=False)["input_ids"]]
        expected.append(alone(model, ids, -1))
    assert worst_difference(model, expected) < 1e-4


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-r", "t5", "bart"])
def test_bidirectional_models_give_the_last_token_of_the_text_itself(family: str, tmp_path: Path) -> None:
    makers: dict[str, Callable[[], tuple[Any, Any]]] = {"t5": t5_model, "bart": bart_model}
    made = makers[family]() if family in makers else masked_model(family)
    model = load_model(saved(*made, tmp_path), device="cpu")
    tokenizer: Any = model.tokenizer
    expected = []
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        assert ids[-1] in {tokenizer.sep_token_id, tokenizer.eos_token_id}
        expected.append(alone(model, ids, -2))
    assert worst_difference(model, expected) < 1e-4


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(saved_model(ARCHITECTURES["llama"], tmp_path_factory.mktemp("llama")), device="cpu")


def test_a_second_call_reads_what_the_first_one_stored(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    first = last_token_states(TEXTS, tiny)
    monkeypatch.setattr(hidden_states, "_computed", lambda *_: pytest.fail("computed again"))
    again = last_token_states(TEXTS, tiny)
    rows = np.array([6, 0, 4])
    assert np.array_equal(first.layer(1, rows), again.layer(1, rows))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
    "one bit": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    "another file's seal": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "no seal": lambda data: data[: -hidden_states.SEAL_BYTES],
    "a web page": lambda _: b"<html>no longer here</html>" * 9,
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_set_aside_and_its_states_are_computed_again(
    how: str, tiny: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path))
    [path] = last_token_states(TEXTS, tiny).shards
    assert path.is_relative_to(cache_dir() / "states")
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[how](whole))
    assert last_token_states(TEXTS, tiny).shards == (path,)
    assert path.read_bytes() == whole
    assert path.with_suffix(".corrupt").read_bytes() == DAMAGES[how](whole)
    assert "are damaged" in caplog.text
    assert "computed again" in caplog.text


def test_a_stopped_run_goes_on_with_the_texts_that_are_missing(
    tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_states, "SHARD_TEXTS", 2)
    computed: list[str] = []
    real = hidden_states._computed

    def counting(texts: Sequence[str], where: Sequence[str], model: LoadedModel) -> Any:  # noqa: ANN401
        if len(computed) == 4:
            raise KeyboardInterrupt
        computed.extend(texts)
        return real(texts, where, model)

    monkeypatch.setattr(hidden_states, "_computed", counting)
    with pytest.raises(KeyboardInterrupt):
        last_token_states(TEXTS, tiny)
    assert computed == list(TEXTS[:4])
    computed.clear()
    monkeypatch.setattr(hidden_states, "_computed", counting)
    resumed = last_token_states(TEXTS, tiny)
    assert computed == list(TEXTS[5:])
    monkeypatch.undo()
    whole = last_token_states(TEXTS, tiny)
    everything = np.arange(len(TEXTS))
    monkeypatch.setattr(hidden_states, "SHARD_TEXTS", 2)
    sharded = resumed.layer(2, everything)
    monkeypatch.undo()
    assert sharded == pytest.approx(whole.layer(2, everything), abs=1e-5)


def test_another_precision_or_model_never_meets_the_stored_states(tiny: LoadedModel, tmp_path: Path) -> None:
    exact = last_token_states(TEXTS, tiny)
    half = last_token_states(TEXTS, tiny, precision="float16")
    other = last_token_states(TEXTS, load_model(saved_model(ARCHITECTURES["qwen2"], tmp_path), device="cpu"))
    assert len({exact.shards, half.shards, other.shards}) == 3
    rows = np.arange(3)
    assert half.layer(1, rows) == pytest.approx(exact.layer(1, rows), rel=1e-3, abs=1e-3)
    assert half.layer(1, rows).dtype == np.float32


def test_states_are_made_anew_when_their_version_is_raised(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    before = last_token_states(TEXTS, tiny)
    assert last_token_states(TEXTS, tiny).shards == before.shards
    monkeypatch.setattr(hidden_states, "HIDDEN_STATES_VERSION", HIDDEN_STATES_VERSION + 1)
    assert set(last_token_states(TEXTS, tiny).shards).isdisjoint(before.shards)


def test_states_that_float16_cannot_hold_are_refused(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    real = hidden_states._computed
    monkeypatch.setattr(hidden_states, "_computed", lambda *args: real(*args) * 1e6)
    with pytest.raises(ScoringError, match="too large for float16; store them as float32"):
        last_token_states(TEXTS[:1], tiny, precision="float16")
    monkeypatch.setattr(hidden_states, "_computed", lambda *args: real(*args) * np.nan)
    with pytest.raises(ScoringError, match="layer 0 is NaN"):
        last_token_states(TEXTS[:1], tiny)


def test_a_model_without_states_and_a_text_without_room_are_refused(tiny: LoadedModel) -> None:
    with pytest.raises(ScoringError, match=r"fake .*has no hidden states"):
        last_token_states(TEXTS, FakeScorer())
    with pytest.raises(ScoringError, match=r"x/1: \d+ tokens, but .* takes 640"):
        last_token_states(["word " * 700], tiny, where=["x/1"])
    with pytest.raises(ScoringError, match="no texts"):
        last_token_states([], tiny)
