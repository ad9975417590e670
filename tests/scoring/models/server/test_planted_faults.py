"""Servers with a planted fault are refused at load; another model under the same name never gets or mixes scores."""

import math
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import pairbank
from completions_server import Value
from pairbank.errors import ModelChangedError, ModelLoadError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.generation import write
from pairbank.scoring.models.server.load import ServerScorer
from served_models import MODELS, Here, Serve, models_here


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    """Return tiny models, their output layers sharpened: a random one gives all tokens about the same probability."""
    made = models_here(tmp_path_factory.mktemp("models"))
    for _, scorer in made.values():
        sharpen(scorer, 4.0)
    return made


def sharpen(scorer: CausalScorer, factor: float) -> None:
    model: Any = scorer.model
    layer = model.get_output_embeddings()
    if layer.weight is model.get_input_embeddings().weight:  # tied: the copy alone becomes larger
        layer.weight = torch.nn.Parameter(layer.weight.detach().clone())
    with torch.no_grad():
        layer.weight *= factor


def of_prompt(change: Callable[[float], Any]) -> Callable[[Value], Any]:
    return lambda value: change(value.nats) if value.in_prompt else value.nats


def of_all(change: Callable[[float], Any]) -> Callable[[Value], Any]:
    return lambda value: change(value.nats)


def noise(value: Value) -> float:
    return zlib.crc32(repr((value.token, value.place, len(value.prompt))).encode()) % 1000 / 500 - 1


FAULTS: dict[str, Callable[[Value], Any]] = {
    # of the audit
    "prompts halved": of_prompt(lambda nats: nats / 2),
    "prompts zero": of_prompt(lambda _nats: 0.0),
    "all base 10": of_all(lambda nats: nats / math.log(10)),
    "all halved": of_all(lambda nats: nats / 2),
    "halved beyond 14 tokens": lambda value: value.nats / (1 + (len(value.prompt) > 14)),
    "halved in company": lambda value: value.nats / (1 + (value.n_now > 1)),
    "constant": of_prompt(lambda _nats: -3.5),
    "not a number": of_prompt(lambda _nats: float("nan")),
    "above zero": of_prompt(lambda nats: nats + 9.0),
    "minus infinity": of_prompt(lambda _nats: -9999.0),
    "null": of_prompt(lambda _nats: None),
    "text": of_prompt(str),
    "false": of_prompt(lambda _nats: False),
    "true": of_all(lambda _nats: True),
    # others
    "prompts zero where unlikely": of_prompt(lambda nats: nats if nats > -3 else 0.0),
    "all base 2": of_all(lambda nats: nats / math.log(2)),
    "all doubled": of_all(lambda nats: 2 * nats),
    "all a nat less": of_all(lambda nats: nats - 1),
    "prompts clipped": of_prompt(lambda nats: max(nats, -2.0)),
    "prompts a nat less": of_prompt(lambda nats: nats - 1),
    "the first fourteen right": lambda value: value.nats - (value.in_prompt and value.place > 14),
    "noise": lambda value: value.nats - 1 + noise(value) if value.in_prompt else value.nats,
    "probabilities": of_all(lambda nats: -math.exp(nats)),
    "prompts by temperature": of_prompt(lambda nats: nats / 0.7),
    "in company the last answer's": lambda value: value.nats - 2 * (value.n_now > 1 and value.in_prompt),
    "moved with the length": lambda value: value.nats - len(value.prompt) / 40 * value.in_prompt,
}


def on_models(faults: Mapping[str, object]) -> list[Any]:
    """Return each fault on a model that goes around, in CI, and on the others only when asked for."""
    return [
        pytest.param(fault, name, marks=[] if at == n % 3 else [pytest.mark.slow])
        for n, fault in enumerate(faults)
        for at, name in enumerate(("llama", "gpt2", "mistral"))
    ]


@pytest.mark.ci
@pytest.mark.parametrize(("fault", "name"), on_models(FAULTS))
def test_a_planted_fault_is_refused_at_load(fault: str, name: str, serve: Serve) -> None:
    server, tokenizer = serve(name, alters=FAULTS[fault])
    if "company" in fault:
        server.before_answer = lambda: time.sleep(0.01)
    with pytest.raises(ModelLoadError, match="so nothing can be scored with it"):
        pairbank.load_model(server.url, tokenizer=tokenizer)


STRUCTURAL: dict[str, Callable[[Callable[..., torch.Tensor], list[int]], torch.Tensor]] = {
    "shifted by a place": lambda logprobs, ids: torch.roll(logprobs(ids), 1, dims=0),
    "sees the future": lambda logprobs, ids: logprobs(ids) - 0.7 * (ids[-1] % 3),
    "without context": lambda logprobs, ids: torch.cat([logprobs([one]) for one in ids]),
}


@pytest.mark.ci
@pytest.mark.parametrize(("fault", "name"), on_models(STRUCTURAL))
def test_a_wrong_forward_pass_is_refused_at_load(fault: str, name: str, serve: Serve) -> None:
    server, tokenizer = serve(name)
    right = server.logprobs
    cast("Any", server).logprobs = lambda ids: STRUCTURAL[fault](right, ids)
    with pytest.raises(ModelLoadError, match="so nothing can be scored with it"):
        pairbank.load_model(server.url, tokenizer=tokenizer)


@pytest.mark.ci
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dialect", ["vllm", "vllm-2025", "echo"])
def test_a_right_server_is_accepted_and_its_probes_have_twenty_tokens(name: str, dialect: str, serve: Serve) -> None:
    server, tokenizer = serve(name, dialect=dialect)
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    assert isinstance(there, ServerScorer)
    assert len(there.probes.nats) >= 20
    assert (
        there.info.to_dict()["answers_sha256"]
        == pairbank.load_model(server.url, tokenizer=tokenizer).info.answers_sha256
    )


def shifted(by: float) -> Callable[[Value], float]:
    """Return what rounding moves: less or more than what is allowed."""
    return lambda value: value.nats - by * (value.token % 2)


@pytest.mark.ci
def test_what_batching_moves_is_the_same_model_and_other_weights_are_another(serve: Serve, here: Here) -> None:
    keys = []
    for by in (0.0, 0.004, 0.0):
        server, tokenizer = serve("gpt2", alters=shifted(by))
        keys.append(pairbank.load_model(server.url, tokenizer=tokenizer, dtype="float32").info.key)
    assert len(set(keys)) == 1
    for factor in (1.1, 1 / 1.1):
        sharpen(here["gpt2"][1], factor)
        server, tokenizer = serve("gpt2")
        keys.append(pairbank.load_model(server.url, tokenizer=tokenizer, dtype="float32").info.key)
    assert keys[3] != keys[0]
    assert keys[4] == keys[0]


@pytest.mark.ci
@pytest.mark.parametrize("name", ["llama", *(pytest.param(x, marks=pytest.mark.slow) for x in ("gpt2", "mistral"))])
def test_another_model_of_the_same_name_gets_its_own_scores(name: str, serve: Serve, here: Here) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(6))
    scorer = here[name][1]

    def served(*methods: str) -> pairbank.Scored:
        server, tokenizer = serve(name)
        return pairbank.score(items, pairbank.load_model(server.url, tokenizer=tokenizer), methods=list(methods))

    first = served("direct")
    sharpen(scorer, 1.5)
    try:
        second = served("direct", "meta_question_simple")
    finally:
        sharpen(scorer, 1 / 1.5)
    assert first.signature["model"]["answers_sha256"] != second.signature["model"]["answers_sha256"]
    assert max(abs(a - b) for a, b in zip(first["direct_good"][:], second["direct_good"][:], strict=True)) > 0.1
    np.testing.assert_allclose(served("direct")["direct_good"][:], first["direct_good"][:], atol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["llama", *(pytest.param(x, marks=pytest.mark.slow) for x in ("gpt2", "mistral"))])
def test_weights_swapped_in_mid_run_stop_it_and_leave_nothing(
    name: str, serve: Serve, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairbank.scoring.methods.direct.Direct.shard_items", 4)
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(12))
    scorer = here[name][1]
    server, tokenizer = serve(name)
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    expected = pairbank.score(items, scorer)["direct_good"][:]
    n_loaded, n_swapped = len(server.log), 0

    def swap() -> None:
        nonlocal n_swapped
        if n_swapped == 0 and len(server.log) > n_loaded + 14:  # in the second unit
            n_swapped = 1
            sharpen(scorer, 1.5)

    server.before_answer = swap
    ids = items["item_id"][:]
    with pytest.raises(
        ModelChangedError, match=f"items {ids[4]} to {ids[7]} .direct.: .*another model answers"
    ) as error:
        pairbank.score(items, there)
    assert "is in doubt and is not stored" in str(error.value)
    with pytest.raises(ModelChangedError, match="another model answers"):
        write(there, [Ask(text="A dog barks.")], max_new_tokens=2)
    sharpen(scorer, 1 / 1.5)
    server.before_answer = lambda: None
    n_before = len(server.log)
    result = pairbank.score(items, pairbank.load_model(server.url, tokenizer=tokenizer))["direct_good"][:]
    np.testing.assert_allclose(result, expected, atol=1e-3)
    assert len(server.log) > n_before


def test_records_that_cannot_be_read_are_left_aside(serve: Serve, tmp_path: Path) -> None:
    server, tokenizer = serve("gpt2")
    key = pairbank.load_model(server.url, tokenizer=tokenizer).info.key
    [record] = (tmp_path / "cache" / "served").glob("*/*.json")
    record.write_text("{", encoding="utf-8")
    (record.parent / "other.json").write_text('{"nats": [1], "allowed_nats": 1}', encoding="utf-8")
    assert pairbank.load_model(server.url, tokenizer=tokenizer).info.key == key
    assert "allowed_nats" in record.read_text(encoding="utf-8"), "recorded anew"
