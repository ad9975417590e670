"""A model behind a chat API: what it writes, and choices among its most probable tokens, against the model here."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pairbank
from completions_server import CompletionsServer
from pairbank.errors import ModelChangedError, ModelLoadError, ScoringError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.server.chat import IDENTITY_QUESTIONS, ChatScorer
from prompt_files import BOTH_ORDERS, FREE
from served_models import Here, first_tokens, with_other_weights

MODELS = ("llama", "qwen2", "opt")
"""Three tokenizers that have a chat template."""
Serve = Callable[..., CompletionsServer]
PAIRS = [("The keys are here.", "The keys is here."), ("A dog barks.", "A dog bark.")]


@pytest.fixture
def serve(serve: Callable[..., tuple[CompletionsServer, str]]) -> Serve:
    return lambda name, **how: serve(name, dialect="nothing", **how)[0]


def without_identity(server: CompletionsServer) -> list[dict[str, Any]]:
    """Return what was asked beside the questions that identify the model."""
    return [body for body in server.log if body["messages"][-1]["content"] not in IDENTITY_QUESTIONS]


@pytest.mark.parametrize("name", MODELS)
def test_written_answers_come_from_the_users_question(name: str, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "free.toml").write_text(FREE)
    server = serve(name)
    there = pairbank.load_model(server.url, api="chat")
    assert isinstance(there, ChatScorer)
    assert there.info.measured == "top log-probabilities (told)"
    server.log.clear()
    scored = pairbank.score(PAIRS, there, methods=["free"], prompts=[tmp_path / "free.toml"])
    assert all(len(texts) == 2 for texts in scored["free_texts"][:])
    assert {body["messages"][-1]["content"] for body in without_identity(server)} == {
        f"A: {one} B: {other}" for pair in PAIRS for one, other in (pair, pair[::-1])
    }


@pytest.mark.parametrize("name", MODELS)
def test_a_choice_among_the_most_probable_tokens_has_their_probability_and_a_flag(
    name: str, here: Here, serve: Serve
) -> None:
    there = pairbank.load_model(serve(name).url, api="chat")
    assert isinstance(there, ChatScorer)
    for question in ("A: A dog barks. B: A dog bark.", "Respond with 1 or 2 as your answer."):
        known = first_tokens(here[name][1], question)
        words = list(dict.fromkeys(token.strip() for _, token, _ in known if token.strip().isalnum()))[:3]
        context = there.render_prompt(system="", user=question, stem="")
        requests = there.encode([Request(context=context, target=f" {word}", chat=True) for word in words])
        result = [float(values.sum()) for values in there.token_logprobs(requests, progress=lambda _n: None)]
        expected = [math.log(sum(math.exp(v) for _, t, v in known if t.strip() == word)) for word in words]
        assert result == pytest.approx(expected, abs=1e-4)
        assert {request.flags for request in requests} == {("top_logprobs",)}
    assert there.stats.seconds > 0


def test_a_question_none_of_whose_options_is_told_has_no_score_and_the_run_goes_on(
    serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(BOTH_ORDERS.replace('["A", "B"]', '["Antananarivo", "Bratislava"]'))
    there = pairbank.load_model(serve("llama").url, api="chat")
    table = pairbank.score(PAIRS, there, methods=["mine@chat"], prompts=[tmp_path / "mine.toml"])
    assert all(math.isnan(value) for value in table["mine@chat_delta"])
    assert all(flags == ["top_logprobs", "outside_top"] for flags in table["mine@chat_flags"])
    assert table.signature["n_by_flag"]["mine@chat"] == {"top_logprobs": 2, "outside_top": 2}
    assert "mine@chat" not in set(pairbank.report([table], n_resamples=10).accuracy["method"])


@pytest.mark.parametrize("name", MODELS)
def test_draws_of_a_chat_have_a_temperature_and_a_seed_each(name: str, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "free.toml").write_text(FREE)
    server = serve(name)
    there = pairbank.load_model(server.url, api="chat")
    server.log.clear()
    method = "free@3samples@t0.7"
    scored = pairbank.score(PAIRS, there, methods=[method], prompts=[tmp_path / "free.toml"])
    asked = without_identity(server)
    assert {body["temperature"] for body in asked} == {0.7}
    assert len({body["seed"] for body in asked}) == len(asked) == 2 * 2 * 3
    assert all(0 <= body["seed"] < 2**31 for body in asked)
    assert all(len(texts) == 6 for texts in scored[f"{method}_texts"][:])


def test_direct_scores_and_apis_without_log_probabilities_are_refused(serve: Serve, tmp_path: Path) -> None:
    there = pairbank.load_model(serve("llama").url, api="chat")
    with pytest.raises(ScoringError, match=r"is behind a chat API, which gives no probability of a text"):
        pairbank.score(PAIRS, there)
    (tmp_path / "mine.toml").write_text(BOTH_ORDERS)
    silent = pairbank.load_model(serve("qwen2", chat_logprobs=False).url, api="chat")
    assert silent.info.measured == "top log-probabilities (not told)"
    with pytest.raises(ScoringError, match="which tells no log-probabilities; ask for written answers"):
        pairbank.score(PAIRS, silent, methods=["mine@chat"], prompts=[tmp_path / "mine.toml"])
    (tmp_path / "free.toml").write_text(FREE)
    written = pairbank.score(PAIRS, silent, methods=["free"], prompts=[tmp_path / "free.toml"])
    assert all(text is not None for texts in written["free_texts"][:] for text in texts)


def test_options_of_tokens_are_refused_for_a_chat(serve: Serve) -> None:
    with pytest.raises(ModelLoadError, match="takes no tokenizer='gpt2'"):
        pairbank.load_model(serve("llama").url, api="chat", tokenizer="gpt2")


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("name", ["llama", "qwen2"])
def test_another_model_behind_a_chat_gets_a_key_of_its_own(name: str, tells: bool, serve: Serve, here: Here) -> None:
    server = serve(name, chat_logprobs=tells)
    first: Any = pairbank.load_model(server.url, api="chat")
    assert first.info.answers_sha256 == pairbank.load_model(server.url, api="chat").info.answers_sha256 != ""
    server.model = with_other_weights(here[name][1].model)
    assert pairbank.load_model(server.url, api="chat").info.answers_sha256 != first.info.answers_sha256
    with pytest.raises(ModelChangedError, match="another model answers than at load"):
        first.write([Ask(text="A dog barks.")], max_new_tokens=2, over_length="error", progress=lambda _n: None)


def test_a_chat_that_never_answers_alike_has_no_identity_and_says_so(
    serve: Serve, here: Here, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve("llama", chat_logprobs=False)
    models, n_asked = [here["llama"][1].model, with_other_weights(here["llama"][1].model)], 0

    def swap() -> None:
        nonlocal n_asked
        n_asked += 1
        server.model = models[n_asked // 4 % 2]

    server.before_answer = swap
    there = pairbank.load_model(server.url, api="chat", concurrency=1)
    assert there.info.answers_sha256 == ""
    assert "only its name tells it from another model" in caplog.text
