"""A model behind a server against the same model here: the same numbers, texts, flags and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairbank
from command_line import completed
from completions_server import Fault
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.unigrams import count_unigrams
from pairbank.scoring.models.generation import write
from pairbank.scoring.models.server import client
from pairbank.scoring.models.server.load import ServerScorer
from prompt_files import FREE, prompt_text
from served_models import MODELS, Here, Serve

ENGLISH = [
    ("The keys to the cabinet are on the table.", "The keys to the cabinet is on the table."),
    ("A dog barks.", "A dog bark."),
    ("She saw him.", "She saw he."),
]
CHINESE = [("他来了。", "来他了。"), ("书在这里。", "在书这里。")]
KEY = "sk-very-secret-0123456789"
METHODS = ["direct", "mean_logprob", "slor", "bayes_uniform", "pmi", "choice", "choice@2shot", "choice@chat", "free"]


def prompts(folder: Path) -> list[Path]:
    for name, text in (("choice.toml", prompt_text("choice")), ("free.toml", FREE)):
        (folder / name).write_text(text)
    return [folder / "choice.toml", folder / "free.toml"]


@pytest.mark.ci
@pytest.mark.parametrize(("language", "pairs"), [("en", ENGLISH), ("zh", CHINESE)])
@pytest.mark.parametrize("name", MODELS)
def test_all_that_a_server_can_do_gives_our_own_numbers_and_texts(
    name: str, language: str, pairs: list[tuple[str, str]], here: Here, serve: Serve, tmp_path: Path
) -> None:
    server, tokenizer = serve(name)
    items, own = pairbank.load_corpus(pairs, language=language), here[name][1]
    methods = METHODS if own.info.prompt_format == "chat" else [m for m in METHODS if "@chat" not in m]
    if language == "zh":
        methods = [m for m in methods if "choice" not in m and m != "free"]
    asked: dict[str, Any] = {
        "methods": methods,
        "prompts": prompts(tmp_path),
        "unigrams": count_unigrams([good for good, _ in pairs], own),
        "per_token": True,
    }
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    expected, result = pairbank.score(items, own, **asked), pairbank.score(items, there, **asked)
    assert set(result.dataset.column_names) == set(expected.dataset.column_names)
    for column in (name for name in expected.dataset.column_names if name != "model"):
        for one, other in zip(expected[column][:], result[column][:], strict=True):
            if isinstance(one, float) or (isinstance(one, list) and one and isinstance(one[0], float)):
                np.testing.assert_allclose(other, one, atol=1e-4, rtol=0, err_msg=column)
            else:
                assert other == (None if column.endswith("_ranks") else one), column  # ranks are read here alone


@pytest.mark.parametrize("dialect", ["vllm-2025", "echo"])
def test_older_servers_are_asked_sequence_by_sequence(dialect: str, here: Here, serve: Serve) -> None:
    server, tokenizer = serve("gpt2", dialect=dialect)
    items = pairbank.load_corpus(ENGLISH)
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    expected, result = (pairbank.score(items, m)["direct_delta"][:] for m in (here["gpt2"][1], there))
    np.testing.assert_allclose(result, expected, atol=1e-4)
    way = {"vllm-2025": "whole", "echo": "echo"}[dialect]
    assert there.info.measured == f"log-probabilities ({way}), tokens, max_length"
    assert there.info.max_length == server.max_model_len - 2


def without_probes(log: list[dict[str, Any]], there: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a served model
    """Return the questions of a log that are not those which identify the model."""
    probes = {request.ids[:end] for request in there.probes.requests for end in (len(request.ids), -1)}
    return [body for body in log if tuple(body.get("prompt", ())) not in probes]


def test_the_answers_of_a_prompt_share_a_question(serve: Serve) -> None:
    server, tokenizer = serve("qwen2")
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    server.log.clear()
    requests = there.encode([Request(context="Which?", target=text) for text in (" 1", " 2", " 3")])
    there.token_logprobs(requests, progress=lambda _n: None)
    n_asked = len(without_probes(server.log, there))
    assert len({request.ids[:-1] for request in requests}) == n_asked
    assert n_asked < len(requests)


def test_the_signature_tells_what_was_stated_and_what_was_measured(serve: Serve) -> None:
    server, tokenizer = serve("llama")
    told: Any = {"tokenizer": tokenizer, "revision": "v2", "dtype": "float32", "quantisation": "fp8"}
    info = pairbank.load_model(server.url, **told).info
    assert (info.name, info.model_id, info.revision) == ("served@v2", "tiny", "v2")
    assert (info.dtype, info.quantisation, info.device) == ("float32", "fp8", "server")
    assert info.backend == "server-completions-vllm-0.32.0"
    assert info.stated == "revision, dtype, quantisation, tokenizer"
    assert info.measured == "log-probabilities (grouped), tokens, max_length"
    assert info.max_length == server.max_model_len - 1
    assert len(info.to_dict()["tokenizer_sha256"]) == 64
    silent, _ = serve("llama", tokenizes=False, tells_length=False)
    info = pairbank.load_model(silent.url, tokenizer=tokenizer).info
    assert (info.measured, info.max_length) == ("log-probabilities (grouped)", None)
    assert (info.revision, info.dtype, info.stated) == ("unknown", "unknown", "tokenizer")


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"dialect": "llama.cpp"}, {}, r"it gives 0\.0 for every token \(as llama\.cpp's server does: .*27174"),
    ({"dialect": "constant"}, {}, r"gives -3\.5 for every token"),
    ({"dialect": "processed"}, {}, "and gives it .* nats in a prompt"),
    ({"dialect": "nothing"}, {}, "refused /completions.*404"),
    ({}, {"tokenizer": None}, "which tokenizer has tiny/served"),
    ({}, {"served_model": "other"}, "serves tiny/served, not 'other'"),
    ({}, {"attention": "eager"}, "takes no attention='eager'"),
    ({}, {"max_length": 999}, "max_length 999 is out of range"),
    ({}, {"api": "grpc"}, "api 'grpc' is unknown"),
    ({}, {"concurrency": 0}, "concurrency 0"),
    ({"key": KEY}, {}, "401.*environment variable PAIRBANK_API_KEY"),
]


@pytest.mark.ci
@pytest.mark.parametrize(("how", "options", "message"), REFUSED)
def test_a_server_that_cannot_be_scored_is_refused_at_load(
    how: dict[str, Any], options: dict[str, Any], message: str, serve: Serve
) -> None:
    server, tokenizer = serve("gpt2", **how)
    with pytest.raises(ModelLoadError, match=message):
        pairbank.load_model(server.url, **{"tokenizer": tokenizer, **options})


def test_another_models_tokenizer_is_refused(serve: Serve, here: Here) -> None:
    server, _ = serve("llama")
    with pytest.raises(ModelLoadError, match="name the served model's own tokenizer"):
        pairbank.load_model(server.url, tokenizer=str(here["gpt2"][0]))


def test_options_of_servers_are_refused_where_there_is_none(here: Here) -> None:
    with pytest.raises(ModelLoadError, match="concurrency=3 is for models behind a server"):
        pairbank.load_model(str(here["gpt2"][0]), concurrency=3)


@pytest.mark.parametrize("address", ["http://me:word@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?key=x", "http:///v1"])
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ModelLoadError, match="with no user, key or query in it") as caught:
        pairbank.load_model(address, tokenizer="x")
    assert "word" not in str(caught.value).replace("password", "")
    assert "key=x" not in str(caught.value)


def test_nobody_there_is_one_line(monkeypatch: pytest.MonkeyPatch, here: Here) -> None:
    monkeypatch.setattr(client, "TRIES", 2)
    with pytest.raises(ModelLoadError, match="no answer to /models after 2 tries"):
        pairbank.load_model("http://127.0.0.1:9/v1", tokenizer=str(here["gpt2"][0]))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("html", "something else than JSON"),
        ("nan", "the server reports no log-probability of some tokens"),
        ("lacks", "no log-probability of the token asked for"),
        ("echoed", r"the answer has no choice: .*overloaded, \[key\]"),
    ],
)
def test_an_answer_that_is_none_is_asked_for_once_more_and_then_an_error(
    fault: Fault,
    message: str,
    serve: Serve,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(client.KEY_VARIABLE, "sk-secret-777")
    server, tokenizer = serve("gpt2", key="sk-secret-777")
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    items = pairbank.load_corpus(ENGLISH)
    server.fails = lambda _body, _n_before: fault
    with pytest.raises(ScoringError, match=message) as error:
        pairbank.score(items, there)
    assert "is repeated in 0.0 s (try 2 of 6)" in caplog.text
    assert "sk-secret" not in f"{error.value}{caplog.text}"
    seen: list[dict[str, Any]] = []  # each question fails the first time that it is asked from here on

    def once(body: dict[str, Any], _n_before: int) -> Fault | None:
        is_new = body not in seen
        seen.append(body)
        return fault if is_new else None

    server.fails = once
    result = pairbank.score(items, there)["direct_delta"][:]
    np.testing.assert_allclose(result, pairbank.score(items, here["gpt2"][1])["direct_delta"][:], atol=1e-4)


def test_the_timeout_doubles_with_every_try_that_ran_into_it(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("completions_server.SLOW_S", 1.4)
    server, _ = serve("gpt2")
    server.fails = lambda _body, _n_before: "slow"
    asked = client.client_for(server.url, concurrency=1, timeout_s=0.5)
    assert asked.post("/completions", {"model": server.name, "prompt": [1, 2], "max_tokens": 1})["choices"]
    assert len(server.log) == 3


@pytest.mark.ci
def test_a_server_killed_in_the_middle_costs_a_shard_and_no_more(
    serve: Serve, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairbank.scoring.methods.direct.Direct.shard_items", 1)
    items = pairbank.load_corpus(ENGLISH)
    server, tokenizer = serve("llama")
    first = pairbank.load_model(server.url, tokenizer=tokenizer)
    server.log.clear()
    server.dies_after = 5  # a unit is two sentences, and two probes before it is stored
    with pytest.raises(ScoringError, match=r"no answer to /completions.*run the same command again"):
        pairbank.score(items, first)
    asked = {json.dumps(body) for body in without_probes(server.log[:4], first)}
    again, _ = serve("llama")
    second = pairbank.load_model(again.url, tokenizer=tokenizer)
    again.log.clear()
    result = pairbank.score(items, second)["direct_delta"][:]
    assert asked
    assert not asked & {json.dumps(body) for body in again.log}
    np.testing.assert_allclose(result, pairbank.score(items, here["llama"][1])["direct_delta"][:], atol=1e-4)


def test_as_many_questions_are_under_way_as_was_asked_for(serve: Serve) -> None:
    server, tokenizer = serve("gpt2")
    there = pairbank.load_model(server.url, tokenizer=tokenizer, concurrency=4)
    server.most_at_once = 0
    requests = there.encode([Request(context="", target=f"A dog barks {n} times.") for n in range(40)])
    told: list[int] = []
    there.token_logprobs(requests, progress=told.append)
    assert sum(told) == 40
    assert 1 < server.most_at_once <= 4


def test_texts_over_the_servers_limit_are_an_error_or_nan(serve: Serve) -> None:
    server, tokenizer = serve("llama", max_model_len=24)
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    n_fits = next(n for n in range(40) if len(there.encode([Request(context="", target="a b " * n + "c")])[0].ids) > 24)
    fits, over = "a b " * (n_fits - 1) + "c", "a b " * n_fits + "c"
    with pytest.raises(ScoringError, match="but served takes 23"):
        pairbank.score([(fits, over)], there)
    scored = pairbank.score([(fits, over)], there, over_length="nan")
    assert np.isfinite(scored["direct_good"][0])
    assert np.isnan(scored["direct_bad"][0])


def test_what_only_a_model_here_can_do_says_so(serve: Serve) -> None:
    server, tokenizer = serve("llama")
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    items = pairbank.load_corpus(ENGLISH)
    with pytest.raises(ScoringError, match=r"direct_wb .*served is scored by the back end 'server-completions"):
        pairbank.score(items, there, methods=["direct_wb"])
    with pytest.raises(ScoringError, match=r"served .* has no hidden states to read"):
        pairbank.probe(items, there, groups=["phenomenon"])


def test_a_key_is_sent_and_stands_nowhere(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, private_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, tokenizer = serve("gpt2", key=KEY)
    monkeypatch.setenv(client.KEY_VARIABLE, "wrong-" + KEY)
    with pytest.raises(ModelLoadError) as caught:
        pairbank.load_model(server.url, tokenizer=tokenizer)  # the server repeats what it was sent
    assert KEY not in str(caught.value)
    monkeypatch.setenv(client.KEY_VARIABLE, KEY)
    caplog.set_level("DEBUG")
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    assert isinstance(there, ServerScorer)
    scored = pairbank.score(ENGLISH, there)
    scored.save(tmp_path / "out.parquet")
    assert KEY not in repr(there.client) + repr(scored.signature) + caplog.text
    files = [path for folder in (tmp_path, private_cache) for path in folder.rglob("*") if path.is_file()]
    assert (tmp_path / "out.parquet") in files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_the_command_line_scores_by_an_address(serve: Serve, tmp_path: Path) -> None:
    server, tokenizer = serve("llama")
    (tmp_path / "mine.csv").write_text("good,bad\n" + "".join(f"{good},{bad}\n" for good, bad in ENGLISH))
    words = ["score", str(tmp_path / "mine.csv"), "--model", server.url, "--tokenizer", tokenizer, "--method", "direct"]
    out = tmp_path / "scored.parquet"
    completed([*words, "--dtype", "float32", "--out", str(out)])
    scored = pairbank.read_scored(out)
    assert scored.signature["model"]["stated"] == "dtype, tokenizer"
    assert np.isfinite(scored["direct_delta"][:]).all()


@pytest.mark.ci
@pytest.mark.parametrize("name", MODELS)
def test_written_answers_stop_where_ours_do(name: str, serve: Serve, here: Here) -> None:
    server, tokenizer = serve(name)
    there = pairbank.load_model(server.url, tokenizer=tokenizer)
    asks = [Ask(text=text) for text in ("A dog barks.", "The keys", "这本书很有意思。")]
    expected, result = (write(model, asks, max_new_tokens=12) for model in (here[name][1], there))
    assert [(one.text, one.n_tokens) for one in result] == [(one.text, one.n_tokens) for one in expected]
    with pytest.raises(ScoringError, match="255 to write, but served takes 255"):
        write(there, asks[:1], max_new_tokens=255)


@pytest.mark.ci
def test_models_that_a_server_calls_differently_share_no_stored_score(serve: Serve) -> None:
    """Both are in a folder called `tiny`, of which only the last part is shown."""
    keys, shown = set(), set()
    for name in ("run-a", "run-b"):
        server, tokenizer = serve("llama", name=name)
        for given in (None, "Mine"):
            info = pairbank.load_model(server.url, tokenizer=tokenizer, name=given).info
            keys.add(info.key)
            shown.add((info.name, info.model_id))
    assert len(keys) == 2
    assert shown == {("run-a", "tiny"), ("run-b", "tiny"), ("Mine", "tiny")}
