"""Models that think: off closes the block, on refuses options, thinking is never parsed, a cut one is flagged."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pairbank
from naive_reference import target_logprob, tokens_of
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import Continuation
from pairbank.scoring.methods.generated import Generated
from pairbank.scoring.models.generation import _decoded
from pairbank.scoring.prompts.registry import prompts
from prompt_files import prompt_text
from single_sentences import rated
from tiny_models import ARCHITECTURES, saved_model

SWITCHED = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant] "
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""In the manner of Qwen3: thinks unless it is told not to."""
OPENED = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] <think>\n{% endif %}"
)
"""In the manner of DeepSeek R1: always opens a block."""
PLAIN = OPENED.replace(" <think>\n", " ")
QUESTION = prompt_text("asked", "yes_no_log_odds", template="{sentence} A or B?", tasks=["sentence"])
"""Without a stem, so that the option is the first thing after the template's prompt for an answer."""


def tiny(folder: Path, architecture: str, template: str, **options: Any) -> Any:  # noqa: ANN401
    """Return a tiny model with this template."""
    saved = saved_model(ARCHITECTURES[architecture], folder / architecture)
    (saved / "chat_template.jinja").write_text(template)
    return pairbank.load_model(saved, **options)


@pytest.mark.parametrize("architecture", ["llama", "gpt-neox", "gpt2"])
@pytest.mark.parametrize("template", [SWITCHED, OPENED])
def test_options_are_read_behind_the_closed_block_as_in_the_naive_loop(
    tmp_path: Path, architecture: str, template: str
) -> None:
    (tmp_path / "asked.toml").write_text(QUESTION)
    model = tiny(tmp_path, architecture, template)
    assert model.info.thinking == "off"
    items = rated(2)
    rows = pairbank.score(items, model, methods=["asked"], prompts=[tmp_path / "asked.toml"]).dataset
    for row in rows:
        text = f"[user] {row['target_good']} A or B?\n[assistant] <think>\n\n</think>\n\n"
        assert model.render_prompt(system="", user=f"{row['target_good']} A or B?", stem="") == text
        bos = model.tokenizer.bos_token_id
        adds_bos = bos is not None and model.tokenizer("x")["input_ids"][0] == bos
        ids = [tokens_of(model.tokenizer, text, option, bos if adds_bos else None) for option in "AB"]
        expected = [target_logprob(model.model, tokens, n) for tokens, n in ids]
        assert row["asked_logprobs"] == pytest.approx(expected, abs=1e-3)


def test_thinking_on_refuses_options_and_writes_with_a_budget(tmp_path: Path) -> None:
    (tmp_path / "asked.toml").write_text(QUESTION)
    model = tiny(tmp_path, "llama", SWITCHED, thinking="on", thinking_tokens=8)
    assert (model.info.thinking, model.info.thinking_tokens) == ("on", 8)
    assert model.info.to_dict()["thinking"] == "on"
    assert model.render_prompt(system="", user="Hm", stem="").endswith("[assistant] ")
    with pytest.raises(ScoringError, match=r"thinks before it answers.*--thinking off"):
        pairbank.score(rated(1), model, methods=["asked"], prompts=[tmp_path / "asked.toml"])
    opened = tiny(tmp_path / "r1", "llama", OPENED, thinking="on", thinking_tokens=8)
    row = pairbank.score(rated(1), opened, methods=["rating_7_free"]).dataset[0]
    assert row["rating_7_free_unparsed"] == 1
    assert "truncated" in row["rating_7_free_flags"]
    assert row["rating_7_free_good"] is None


def test_a_model_without_a_thinking_mode_has_none(tmp_path: Path) -> None:
    assert tiny(tmp_path, "llama", PLAIN).info.thinking == ""
    with pytest.raises(ModelLoadError, match="has no thinking mode"):
        tiny(tmp_path, "llama", PLAIN, thinking="on")
    with pytest.raises(ModelLoadError, match="still ends in an empty thinking block"):
        tiny(tmp_path, "llama", PLAIN.replace("[assistant] ", "[assistant] <think></think>"), thinking="on")
    with pytest.raises(ModelLoadError, match="thinking 'maybe' is unknown"):
        tiny(tmp_path, "llama", PLAIN, thinking="maybe")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>1 is bad, 2 too</think>\n6", "6"),
        ("1 is bad</think> 5 of 7", "5"),
        ("<think>\nOkay, there are 2 contexts", None),
        ("4", "4"),
        ("[THINK]3[/THINK]7", "7"),
    ],
)
def test_thinking_is_never_the_answer(text: str, answer: str | None) -> None:
    [row] = rated(1)
    result = Generated(prompts()["rating_7_free"]).written([Continuation(text=text, n_tokens=9)], row)
    assert result["rating_7_free_answers"][0] == answer
    assert result["rating_7_free_unparsed"] == (answer is None)


def test_marks_of_thinking_that_are_special_tokens_are_kept_in_the_text(tmp_path: Path) -> None:
    model = tiny(tmp_path, "llama", OPENED)
    decoder: Any = SimpleNamespace(tokenizer=model.tokenizer)
    model.tokenizer.add_special_tokens({"additional_special_tokens": ["</think>", "<|other|>"]})
    tokens = model.tokenizer("a b</think> b<|other|>", add_special_tokens=False)["input_ids"]
    assert "".join(_decoded(decoder, tokens).split()) == "ab</think>b"


Answer = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def chat_api(message: Answer, *, refuses: tuple[str, ...] = ()) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve a chat API that refuses some parameters; yield its address and the questions that it took."""
    taken: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"data": [{"id": "thinker"}]} if self.path.endswith("/models") else {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if bad := [name for name in refuses if name in body]:
                self._send(400, {"error": {"message": f"Unsupported parameter: {bad[0]}"}})
                return
            taken.append(body)
            self._send(200, {"choices": [message(body)], "usage": {"completion_tokens": 3}})

        def _send(self, status: int, made: dict[str, Any]) -> None:
            data = json.dumps(made).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:  # noqa: ANN401
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", taken
    finally:
        server.shutdown()
        server.server_close()


def written(content: str | None, *, reason: str = "stop", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"message": {"role": "assistant", "content": content, **more}, "finish_reason": reason}


def test_thinking_in_the_text_that_is_cut_is_flagged_and_not_parsed() -> None:
    cut = written("<think>\nOkay, there are 2 contexts to compare. Context 1", reason="length")
    with chat_api(lambda _body: cut) as (url, _):
        model: Any = pairbank.load_model(url, api="chat")
        assert model.info.thinking == "on"
        rows = pairbank.score(rated(3), model, methods=["rating_7_free"]).dataset
        with pytest.raises(ScoringError, match="--thinking off"):
            pairbank.score(rated(1), model, methods=["rating_7"])
    assert [row["rating_7_free_answers"][0] for row in rows] == [None] * 3
    assert all({"truncated", "unparsed"} <= {*row["rating_7_free_flags"]} for row in rows)


def test_content_null_is_counted_and_the_run_goes_on() -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        text = body["messages"][-1]["content"]
        return written(None, reason="length", reasoning_content="Hm") if "1 hens" in text else written("6")

    with chat_api(answer) as (url, _):
        rows = pairbank.score(rated(3), pairbank.load_model(url, api="chat"), methods=["rating_7_free"]).dataset
    assert [row["rating_7_free_good"] for row in rows] == [6.0, None, 6.0]
    assert [row["rating_7_free_unparsed"] for row in rows] == [0, 1, 0]
    assert "truncated" in rows[1]["rating_7_free_flags"]


@pytest.mark.parametrize("refuses", [("max_tokens",), ("temperature",), ("logprobs",), ("max_tokens", "temperature")])
def test_parameters_are_negotiated_once_and_recorded(refuses: tuple[str, ...]) -> None:
    with chat_api(lambda _body: written("5"), refuses=refuses) as (url, taken):
        model: Any = pairbank.load_model(url, api="chat", thinking="off", reasoning_effort="low")
        rows = pairbank.score(rated(2), model, methods=["rating_7_free"]).dataset
    assert [row["rating_7_free_good"] for row in rows] == [5.0, 5.0]
    assert ("max_completion_tokens" in model.info.measured) == ("max_tokens" in refuses)
    assert ("no temperature" in model.info.measured) == ("temperature" in refuses)
    assert all(body["reasoning_effort"] == "low" for body in taken)
    assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in taken)
    assert (model.info.thinking, model.info.reasoning_effort) == ("off", "low")


def test_an_api_that_takes_nothing_is_an_error_with_its_own_words() -> None:
    with (
        chat_api(lambda _body: written("5"), refuses=("messages",)) as (url, _),
        pytest.raises(ModelLoadError, match="Unsupported parameter: messages"),
    ):
        pairbank.load_model(url, api="chat")


def test_the_audit_reports_models_whose_answers_were_cut() -> None:
    items = pairbank.load_corpus([(f"The {n} hens cluck.", f"The {n} hens clucks.") for n in range(12)])
    with chat_api(lambda _body: written("<think>Well", reason="length")) as (url, _):
        scored = pairbank.score(items, pairbank.load_model(url, api="chat"), methods=["rating_7_free"])
    page = pairbank.report([scored], analyses=["audit"]).html()
    assert "12 cut before the model had finished thinking: raise --thinking-tokens" in page
