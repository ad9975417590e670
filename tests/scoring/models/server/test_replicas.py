"""Several servers as replicas of one model: the numbers of one, the same probes required, a lost one is left out."""

import numpy as np
import pytest

import pairbank
from pairbank.errors import ModelChangedError, ModelLoadError, ScoringError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.models.generation import write
from served_models import Here, Serve, with_other_weights


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairbank.scoring.methods.direct.Direct.shard_items", 4)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["llama", *(pytest.param(x, marks=pytest.mark.slow) for x in ("gpt2", "mistral"))])
def test_replicas_share_the_questions_and_give_the_numbers_of_one_model(name: str, serve: Serve, here: Here) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(12))
    servers = [serve(name) for _ in range(3)]
    addresses = [server.url for server, _ in servers]
    there = pairbank.load_model(addresses[0], tokenizer=servers[0][1], replicas=", ".join(addresses[1:]), concurrency=2)
    n_loaded = [len(server.log) for server, _ in servers]
    result = pairbank.score(items, there)["direct_delta"][:]
    np.testing.assert_allclose(result, pairbank.score(items, here[name][1])["direct_delta"][:], atol=1e-3)
    n_probes = 3 * 2  # two fixed texts after each of three units
    assert all(len(server.log) > n + n_probes for (server, _), n in zip(servers, n_loaded, strict=True))
    alone = pairbank.load_model(addresses[2], tokenizer=servers[0][1])
    assert alone.info == there.info, "stored scores are those of one server"


@pytest.mark.ci
def test_a_replica_that_is_lost_is_left_out_and_its_unit_is_asked_again(
    serve: Serve, here: Here, caplog: pytest.LogCaptureFixture
) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(12))
    (first, tokenizer), (second, _) = serve("gpt2"), serve("gpt2")
    there = pairbank.load_model(first.url, tokenizer=tokenizer, replicas=second.url, concurrency=2)
    second.dies_after = len(second.log) + 5
    told: list[float] = []
    result = pairbank.score(items, there, progress=lambda n_done, _: told.append(n_done))["direct_delta"][:]
    np.testing.assert_allclose(result, pairbank.score(items, here["gpt2"][1])["direct_delta"][:], atol=1e-3)
    assert told == sorted(told)
    assert told[-1] == len(items)
    assert f"going on with {first.url}" in caplog.text
    assert write(there, [Ask(text="A dog barks.")], max_new_tokens=2)
    first.dies_after = len(first.log)
    with pytest.raises(ScoringError, match="no answer to /completions after 6 tries"):
        pairbank.score(items.select(range(3)), there)


@pytest.mark.ci
def test_another_model_is_no_replica_at_load_and_none_in_mid_run(serve: Serve, here: Here) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(8))
    (first, tokenizer), (second, _) = serve("llama"), serve("llama")
    with pytest.raises(ModelLoadError, match="is no replica of itself"):
        pairbank.load_model(first.url, tokenizer=tokenizer, replicas=first.url)
    there = pairbank.load_model(first.url, tokenizer=tokenizer, replicas=second.url)
    second.model = with_other_weights(here["llama"][1].model)
    with pytest.raises(ModelLoadError, match=f"{second.url} is no replica of {first.url}: log-probabilities of fixed"):
        pairbank.load_model(first.url, tokenizer=tokenizer, replicas=second.url)
    with pytest.raises(ModelChangedError, match=f"at {second.url}: another model answers than at load"):
        pairbank.score(items, there)
    shorter, _ = serve("llama", max_model_len=128)
    with pytest.raises(ModelLoadError, match="max_length is 127 there and 255 here"):
        pairbank.load_model(first.url, tokenizer=tokenizer, replicas=shorter.url)
    with pytest.raises(ModelLoadError, match="takes no replicas="):
        pairbank.load_model(first.url, api="chat", replicas=second.url)
