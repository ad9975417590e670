"""Tiny models of four tokenizers, each here and behind a server that answers as vLLM does."""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import torch

import pairbank
from completions_server import CompletionsServer
from pairbank.scoring.models.causal import CausalScorer
from tiny_models import ARCHITECTURES, saved_model

MODELS = ("llama", "gpt2", "qwen2", "mistral")
"""Tokenizers with BPE over metaspaces and a chat template, byte BPE, byte BPE with a template, Unigram."""
Here = dict[str, tuple[Path, CausalScorer]]
"""A model's folder, and the model."""
Serve = Callable[..., tuple[CompletionsServer, str]]
"""Serves a model by name, with fields of the server; gives the server and the path of its tokenizer."""


def models_here(folder: Path) -> Here:
    made = {name: saved_model(ARCHITECTURES[name], folder / name) for name in (*MODELS, "opt")}
    return {name: (path, cast("CausalScorer", pairbank.load_model(str(path)))) for name, path in made.items()}


@contextmanager
def serving(here: Here) -> Iterator[Serve]:
    with ExitStack() as stack:

        def run(model: str = "llama", **how: Any) -> tuple[CompletionsServer, str]:  # noqa: ANN401 - its fields
            path, scorer = here[model]
            server = CompletionsServer(model=scorer.model, tokenizer=scorer.tokenizer, **how)
            return stack.enter_context(server), str(path)

        yield run


def first_tokens(scorer: Any, question: str, n: int = 20) -> list[tuple[int, str, float]]:  # noqa: ANN401 - causal
    """Return the most probable first tokens of an answer, as ids and texts, and their nats, by one forward pass."""
    turns = [{"role": "user", "content": question}]
    text = scorer.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    with torch.inference_mode():
        logits = scorer.model(torch.tensor([scorer.tokenizer(text, add_special_tokens=False)["input_ids"]])).logits
    logprobs = torch.log_softmax(logits[0, -1].double(), dim=-1)
    return [(token, scorer.tokenizer.decode([token]), float(logprobs[token])) for token in logprobs.topk(n).indices]


def with_other_weights(model: torch.nn.Module) -> torch.nn.Module:
    result = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in result.parameters():
            parameter.mul_(1.2)
    return result
