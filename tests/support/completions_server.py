"""A completions server over a tiny model of transformers that answers as vLLM's does, and fails by plan.

It speaks /v1/models, /v1/completions, /v1/chat/completions, /tokenize and /version: token-id prompts,
`prompt_logprobs`, `logprob_token_ids`, `return_tokens_as_token_ids`, echo, the limit of the context, keys. Its
numbers come from plain forward passes of one sequence each, so that it shares no code with what it tests.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from weakref import WeakKeyDictionary

import torch

Fault = Literal["429", "500", "503", "cut", "half", "garbled", "slow", "html", "nan", "lacks", "echoed"]
Dialect = Literal["vllm", "vllm-2025", "echo", "llama.cpp", "nothing", "constant", "processed"]
MOST_LOGPROBS = 20
MOST_LAST_TOKENS = 128
SLOW_S = 3.0
_KNOWN: WeakKeyDictionary[Any, dict[tuple[Any, ...], torch.Tensor]] = WeakKeyDictionary()
"""Answers of a model as its weights are: every load asks the questions that identify it again."""


class RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Value:
    """A log-probability before it is sent."""

    nats: float
    token: int
    place: int
    """Of the token, in the prompt or behind it."""
    prompt: list[int]
    in_prompt: bool
    n_now: int
    """Questions under way."""


@dataclass(kw_only=True)
class CompletionsServer:
    """The server: `faults` are taken one a question of completions or chats, in order; `log` has every body."""

    model: Any
    tokenizer: Any
    name: str = "tiny/served"
    max_model_len: int = 256
    key: str = ""
    dialect: Dialect = "vllm"
    faults: list[Fault | None] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_at_once: int = 0
    dies_after: int | None = None
    """Questions after which every connection is cut: the server is gone."""
    fails: Callable[[dict[str, Any], int], Fault | None] = lambda _body, _n_before: None
    """What befalls a question that was asked so many times before, beside what `faults` plans."""
    retry_after: str = "0"
    """What refusals say of the pause."""
    port: int = 0
    """0: any that is free."""
    tokenizes: bool = True
    tells_length: bool = True
    chat_logprobs: bool = True
    before_answer: Callable[[], None] = lambda: None
    alters: Callable[[Value], Any] = lambda value: value.nats
    """What is sent for a log-probability: a fault that is planted."""

    def __post_init__(self) -> None:
        self._lock, self._model_lock, self._n_now = threading.Lock(), threading.Lock(), 0
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, verb: str, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Any:  # noqa: ANN401
        if self.key and headers.get("Authorization") != f"Bearer {self.key}":
            raise RefusedError(401, f"no key, or the wrong one: {headers.get('Authorization')}")
        if (verb, path) == ("GET", "/v1/models"):
            card = {"id": self.name, "object": "model", "root": "/data/models/tiny"}
            return {"data": [card | ({"max_model_len": self.max_model_len} if self.tells_length else {})]}
        if (verb, path) == ("GET", "/version") and self.dialect.startswith("vllm"):
            return {"version": "0.32.0"}
        if (verb, path) == ("POST", "/tokenize") and self.tokenizes:
            ids = self.tokenizer(body["prompt"], add_special_tokens=body["add_special_tokens"])["input_ids"]
            return {"tokens": ids, "count": len(ids)}
        if (verb, path) == ("POST", "/v1/completions") and self.dialect != "nothing":
            return self._completion(body)
        if (verb, path) == ("POST", "/v1/chat/completions"):
            return self._chat(body)
        raise RefusedError(404, f"nothing at {path}")

    def logprobs(self, ids: list[int]) -> torch.Tensor:
        """Return log P(. | ids[:k + 1]) of every place, (len(ids), vocabulary)."""
        with self._model_lock, torch.inference_mode():
            known = _KNOWN.setdefault(self.model, {})
            key = (*ids, *((id(x), x._version) for x in self.model.parameters()))
            if key not in known:
                if len(known) > 200:
                    known.clear()
                logits = self.model(torch.tensor([ids]), use_cache=False).logits[0]
                known[key] = torch.log_softmax(logits.double(), dim=-1)
            return known[key]

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        ids, n_new, n_top = body["prompt"], body["max_tokens"], body.get("logprobs")
        self._check(body, ids, n_new)
        logprobs = self.logprobs(ids)
        choice: dict[str, Any] = {"index": 0, "prompt_logprobs": None, "logprobs": None}
        if "prompt_logprobs" in body and self.dialect in ("vllm", "vllm-2025", "constant", "processed"):
            choice["prompt_logprobs"] = [None] + [
                {
                    str(token): {
                        "logprob": self._sent(self._seen(float(logprobs[k, token])), token, k + 1, ids, in_prompt=True),
                        "rank": int((logprobs[k] > logprobs[k, token]).sum()) + 1,
                        "decoded_token": "x",
                    }
                }
                for k, token in enumerate(ids[1:])
            ]
        requested = body.get("logprob_token_ids") if self.dialect in ("vllm", "processed") else None
        choice |= self._written(ids, n_new, n_top, requested, body)
        if body.get("echo") and self.dialect in ("echo", "llama.cpp"):
            own = [
                self._sent(float(logprobs[k, token]), token, k + 1, ids, in_prompt=True)
                for k, token in enumerate(ids[1:])
            ]
            told = [0.0] * len(ids) if self.dialect == "llama.cpp" else [None, *own]
            best = [(self._token(int(row.argmax()), body), float(row.max())) for row in logprobs]
            choice["logprobs"] = {
                "token_logprobs": [*told, -1.0],
                "tokens": [*(self._token(token, body) for token in ids), "x"],
            } | ({"top_logprobs": [None, *({name: nats} for name, nats in best)]} if self.dialect == "echo" else {})
        return {"object": "text_completion", "model": self.name, "choices": [choice]}

    def _sent(self, nats: float, token: int, place: int, prompt: list[int], *, in_prompt: bool) -> Any:  # noqa: ANN401
        value = Value(nats=nats, token=token, place=place, prompt=prompt, in_prompt=in_prompt, n_now=self._n_now)
        return self.alters(value)

    def _seen(self, value: float) -> float:
        return {"constant": -3.5, "processed": 2 * value - 4}.get(self.dialect, value)

    def _written(
        self, ids: list[int], n_new: int, n_top: int | None, requested: list[int] | None, body: dict[str, Any]
    ) -> dict[str, Any]:
        ids, made, values, tops, reason = list(ids), [], [], [], "length"
        for _ in range(n_new):
            last = self.logprobs(ids)[-1]
            token = int(last.argmax())
            n_shown = len(requested) if requested else n_top or 0
            shown = [token, *(requested or last.topk(n_shown).indices.tolist() if n_shown else [])]
            sent = {one: self._sent(float(last[one]), one, len(ids), ids, in_prompt=False) for one in shown}
            tops.append({self._token(one, body): nats for one, nats in sent.items()})
            values.append(sent[token])
            made.append(token)
            ids.append(token)
            if token == self.tokenizer.eos_token_id:
                reason = "stop"
                break
        names = [self._token(token, body) for token in made]
        told = None if n_top is None else {"tokens": names, "token_logprobs": values, "top_logprobs": tops}
        return {"text": self.tokenizer.decode(made), "finish_reason": reason, "logprobs": told}

    def _token(self, token: int, body: dict[str, Any]) -> str:
        as_id = body.get("return_tokens_as_token_ids") and self.dialect != "echo"
        return f"token_id:{token}" if as_id else str(self.tokenizer.decode([token]))

    def _check(self, body: dict[str, Any], ids: Any, n_new: int) -> None:  # noqa: ANN401 - what came
        if body["model"] != self.name:
            raise RefusedError(404, f"the model {body['model']!r} does not exist")
        if not isinstance(ids, list) or not ids or max(ids) >= self.model.config.vocab_size:
            raise RefusedError(400, "expected token ids")
        if len(ids) + n_new > self.max_model_len:
            raise RefusedError(400, f"{len(ids)} tokens and {n_new} to write; at most {self.max_model_len}")
        if (body.get("logprobs") or 0) > MOST_LOGPROBS or len(body.get("logprob_token_ids", ())) > MOST_LAST_TOKENS:
            raise RefusedError(400, "too many logprobs")

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("logprobs") and not self.chat_logprobs:
            raise RefusedError(400, "logprobs are not supported with this model")
        text = self.tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True)
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        choice = self._written(ids, body["max_tokens"], body.get("top_logprobs"), None, {})
        told = (
            [
                {"token": name, "top_logprobs": [{"token": one, "logprob": value} for one, value in top.items()]}
                for name, top in zip(choice["logprobs"]["tokens"], choice["logprobs"]["top_logprobs"], strict=True)
            ]
            if body.get("logprobs")
            else None
        )
        message = {"role": "assistant", "content": choice["text"]}
        made: dict[str, Any] = {"message": message, "logprobs": {"content": told} if told else None}
        return {"choices": [made], "usage": {"completion_tokens": body["max_tokens"]}}

    def entered(self, path: str, body: dict[str, Any]) -> Fault | None:
        with self._lock:
            self._n_now += 1
            self.most_at_once = max(self.most_at_once, self._n_now)
            self.paths.append(path)
            if "completions" not in path:
                return None
            n_before = self.log.count(body)
            self.log.append(body)
            if self.dies_after is not None and len(self.log) > self.dies_after:
                return "cut"
            return self.faults.pop(0) if self.faults else self.fails(body, n_before)

    def left(self) -> None:
        with self._lock:
            self._n_now -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plan: CompletionsServer

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def _do(self, verb: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        fault = self.plan.entered(self.path, body)
        try:
            self.plan.before_answer()
            self._answer(verb, body, fault)
        finally:
            self.plan.left()

    def _answer(self, verb: str, body: dict[str, Any], fault: Fault | None) -> None:
        if fault == "cut":
            self.close_connection = True
            self.connection.close()
        elif fault in ("429", "500", "503"):
            told = {"Retry-After": self.plan.retry_after}
            self._send(int(fault), {"error": {"message": f"planned {fault}"}}, told)
        elif fault == "html":
            self._send(200, "<html>a proxy's page</html>")
        else:
            time.sleep(SLOW_S if fault == "slow" else 0)
            if fault == "half":
                self.close_connection = True
            try:
                made = _spoilt(self.plan.answer(verb, self.path, dict(self.headers.items()), body), fault)
                made = {"error": {"message": f"overloaded, {self.plan.key}"}} if fault == "echoed" else made
                self._send(200, made, {"Content-Encoding": "gzip"} if fault == "garbled" else {}, fault=fault)
            except RefusedError as refusal:
                self._send(refusal.status, {"error": {"message": str(refusal)}})

    def _send(
        self,
        status: int,
        made: Any,  # noqa: ANN401 - JSON is any
        headers: Mapping[str, str] | None = None,
        *,
        fault: Fault | None = None,
    ) -> None:
        data = made.encode() if isinstance(made, str) else json.dumps(made).encode()
        try:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if fault == "half" else data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # who asked has gone

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _handler(server: CompletionsServer) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"plan": server})


def _spoilt(made: Any, fault: Fault | None) -> Any:  # noqa: ANN401 - JSON is any
    if fault == "nan":
        tops = made["choices"][0]["logprobs"]["top_logprobs"]
        tops[0] = dict.fromkeys(tops[0], -9999.0)
    if fault == "lacks":
        made["choices"][0]["logprobs"] = None
    return made
