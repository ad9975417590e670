"""What scoring costs, from items, a tokenizer and a model's configuration: no weights are read, no model is run.

A few units of each size are laid out as a run would, and the rest is taken to be like them. A token costs 2 FLOPs a
weight of the body (of experts only those that a token goes through) and 4 a layer, channel and token attended to; a
token that is read costs 2 FLOPs a weight of the output layer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from pairbank.errors import ScoringError
from pairbank.scoring.api.method import Method, WritingMethod
from pairbank.scoring.api.model import ModelInfo, Progress
from pairbank.scoring.api.requests import EncodedRequest
from pairbank.scoring.engine.prefix_trees import plan
from pairbank.scoring.models.causal import PACK_TOKENS, CausalScorer
from pairbank.scoring.models.causal_tokens import CausalTokens
from pairbank.scoring.models.checkpoints import located
from pairbank.scoring.models.load import AUTO_CLASSES, Kind, kind_of
from pairbank.scoring.models.loaded_tokenizer import tokenizer_named
from pairbank.scoring.models.options import name_at, reference_of
from pairbank.scoring.models.tokenizing import own_prefix, prefix_facts, prompt_format_for
from pairbank.scoring.run.work import Recipe, ScoreOptions, Unit, units_of

if TYPE_CHECKING:
    import datasets

    from pairbank.arrays import FloatArray

SAMPLED_UNITS = 3
"""Of the units of one size that are laid out, spread evenly."""
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "8bit": 1, "4bit": 0.5}
FLOPS_PER_SECOND = {"h100": 989e12, "h200": 989e12, "a100": 312e12, "l40s": 362e12, "rtx4090": 165e12, "v100": 125e12}
"""Dense matrix products in 16 bits, as the vendor states them."""
HOST_SECONDS_PER_REQUEST = 1.9e-4
"""What one core of the host takes beside the device: prompts, tokens, plans, inputs, tables (`tests/scale/host.py`)."""
UTILISATION = 0.3
"""Of a stated device's FLOPs that scoring of short texts is taken to reach; measure where you can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    kind: Kind
    n_weights: int
    n_body: int
    """Parameters that a token goes through, without embeddings and output layer."""
    n_head: int
    n_layers: int
    n_hidden: int
    dtype: str = "bfloat16"

    @property
    def weights_bytes(self) -> float:
        return self.n_weights * BYTES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is asked of a model; fractions where it was estimated from a sample."""

    n_items: float = 0
    n_requests: float = 0
    n_sequence_tokens: float = 0
    """Of all sequences, each alone."""
    n_computed_tokens: float = 0
    """That go through the model."""
    n_attended: float = 0
    """Pairs of tokens, one attending to the other, padding of packs included."""
    n_read: float = 0
    """Places whose distribution over the vocabulary is computed."""
    n_numbers: float = 0

    def __add__(self, other: Work) -> Work:
        return Work(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Work)})

    def times(self, factor: float) -> Work:
        return Work(**{f.name: getattr(self, f.name) * factor for f in fields(Work)})

    @property
    def shared(self) -> float:
        return 1 - self.n_computed_tokens / self.n_sequence_tokens if self.n_sequence_tokens else 0.0

    def flops(self, shape: Shape) -> float:
        body = 2.0 * shape.n_body * self.n_computed_tokens
        attention = 4.0 * shape.n_layers * shape.n_hidden * self.n_attended
        return body + attention + 2.0 * shape.n_head * self.n_read

    @property
    def host_seconds(self) -> float:
        return HOST_SECONDS_PER_REQUEST * self.n_requests

    @property
    def result_bytes(self) -> float:
        return 8.0 * self.n_numbers


class TokensOnly(CausalTokens):
    """The tokens of a model whose weights nobody loads: a `Scorer` that cannot score."""

    def __init__(self, model: str) -> None:
        tokenizer = tokenizer_named(model).tokenizer
        reference = reference_of(model)
        name = name_at(located(reference.id, gguf_file=None).name, reference.revision)
        has_start = bool(own_prefix(tokenizer)) or tokenizer.bos_token_id is not None
        has_start = has_start or tokenizer.eos_token_id is not None
        info = ModelInfo(
            name=name,
            model_id=name,
            revision="",
            architecture="",
            dtype="",
            quantisation="",
            device="",
            backend="tokens",
            prompt_format=prompt_format_for("auto", tokenizer, name),
            bos_policy="auto",
            **prefix_facts("auto" if has_start else "none", tokenizer, name),
            max_length=None,
        )
        super().__init__(tokenizer, info)

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:  # noqa: ARG002
        raise ScoringError(f"{len(requests)} requests for {self.info.name}, of which only the tokenizer is loaded")


def shape_of(model: str, *, dtype: str = "bfloat16") -> Shape:
    from transformers import AutoConfig

    reference = reference_of(model)
    checkpoint = located(reference.id, gguf_file=None)
    config = AutoConfig.from_pretrained(checkpoint.path, **checkpoint.options(reference.revision))
    return shape_of_config(config, name=name_at(checkpoint.name, reference.revision), dtype=dtype)


def shape_of_config(config: Any, *, name: str, dtype: str = "bfloat16") -> Shape:  # noqa: ANN401 - a configuration
    """Return the shape that a configuration describes; its layers are made without memory and counted."""
    import transformers

    kind = kind_of(config)
    if kind is None:
        raise ScoringError(f"{name}: model_type {config.model_type!r} is no language model that can be planned for")
    with torch.device("meta"):
        model = getattr(transformers, AUTO_CLASSES[kind]).from_config(config)
    text = config.get_text_config()
    head = model.get_output_embeddings()
    tables = [part for part in model.modules() if isinstance(part, torch.nn.Embedding)]
    n_head = head.weight.numel() if head is not None else 0
    outside = {id(p): p.numel() for part in (head, *tables) if part is not None for p in part.parameters()}
    n_all = model.num_parameters()
    n_experts = sum(p.numel() for key, p in model.named_parameters() if ".experts." in key)
    n_there = getattr(text, "num_local_experts", None) or getattr(text, "num_experts", None) or 1
    idle = n_experts * (1 - (getattr(text, "num_experts_per_tok", None) or n_there) / n_there)
    return Shape(
        name=name,
        kind=kind,
        n_weights=n_all,
        n_body=int(n_all - sum(outside.values()) - idle),
        n_head=n_head,
        n_layers=int(text.num_hidden_layers),
        n_hidden=int(text.hidden_size),
        dtype=dtype,
    )


def scaled(shape: Shape, n_weights: float) -> Shape:
    """Return the shape of a larger or smaller model of the same kind: width and depth grow alike."""
    side = (n_weights / shape.n_weights) ** (1 / 3)
    return replace(
        shape,
        name=f"{n_weights / 1e9:g}B",
        n_weights=int(n_weights),
        n_body=int(n_weights - shape.n_head * side),
        n_head=int(shape.n_head * side),
        n_layers=max(1, round(shape.n_layers * side)),
        n_hidden=max(1, round(shape.n_hidden * side)),
    )


def work_of(
    items: datasets.Dataset,
    tokens: TokensOnly,
    *,
    methods: Sequence[str],
    prompts: Sequence[str] = (),
    seed: int = 0,
    kind: Kind = "causal",
    sampled_units: int = SAMPLED_UNITS,
) -> Work:
    recipe = Recipe.of(items, ScoreOptions(methods=methods, prompts=prompts, seed=seed))
    by_size: dict[int, list[Unit]] = {}
    for unit in units_of(len(items), recipe.methods(None)):
        by_size.setdefault(unit.methods[0].shard_items, []).append(unit)
    total = Work()
    for units in by_size.values():
        places = np.unique(np.linspace(0, len(units) - 1, min(sampled_units, len(units))).round().astype(int))
        some = [units[place] for place in places]
        done = Work()
        for unit in some:
            rows = items.select(range(unit.start, unit.stop)).to_list()
            done += work_of_rows(rows, unit.methods, tokens, kind=kind)
        total += done.times(sum(unit.n_items for unit in units) / sum(unit.n_items for unit in some))
    return replace(total, n_items=len(items))


def work_of_rows(rows: Sequence[Any], methods: Sequence[Method], tokens: TokensOnly, *, kind: Kind) -> Work:
    requests = [
        request
        for method in methods
        if not isinstance(method, WritingMethod)
        for row in rows
        if method.applies_to(row)
        for request in method.requests(row, tokens)
    ]
    distinct = list(dict.fromkeys(tokens.encode(requests)))
    n_numbers = sum(len(method.columns) for method in methods) * len(rows) + len(requests)
    work = _read(distinct, kind) + Work(n_requests=len(requests), n_numbers=n_numbers)
    for method in methods:
        if isinstance(method, WritingMethod):
            asks = [ask for row in rows if method.applies_to(row) for ask in method.asks(row, tokens)]
            lengths = [len(ids) for ask in asks for ids in tokens.prompt_ids([ask.text], chat=ask.chat)]
            whole = [length + method.max_new_tokens for length in lengths]
            work += Work(
                n_requests=len(asks),
                n_sequence_tokens=sum(whole),
                n_computed_tokens=sum(whole),
                n_attended=sum(n * n / 2 for n in whole),
                n_read=len(asks) * method.max_new_tokens,
            )
    return work


def _read(requests: Sequence[EncodedRequest], kind: Literal["causal", "masked", "seq2seq"]) -> Work:
    """Return the work of reading log-probabilities: packed as a causal model's, or a pass for every hidden token."""
    lengths = [len(request.ids) - 1 for request in requests]
    if kind != "causal":
        passes = [request.n_scored if kind == "masked" else 1 for request in requests]
        n_computed = sum(n * (length + 1) for n, length in zip(passes, lengths, strict=True))
        return Work(
            n_sequence_tokens=n_computed,
            n_computed_tokens=n_computed,
            n_attended=sum(n * (length + 1) ** 2 for n, length in zip(passes, lengths, strict=True)),
            n_read=sum(request.n_scored for request in requests),
        )
    n_computed = n_attended = n_read = 0
    shared_prefix: Any = None
    for pack in plan(requests, budget_tokens=PACK_TOKENS):
        if pack.shared_prefix is not shared_prefix:
            shared_prefix = pack.shared_prefix
            n_computed, n_attended = n_computed + len(shared_prefix), n_attended + len(shared_prefix) ** 2
        n_computed += len(pack.tokens)
        n_attended += len(pack.tokens) * (len(pack.tokens) + len(shared_prefix))
        n_read += len(np.unique(pack.read_nodes))
    return Work(n_sequence_tokens=sum(lengths), n_computed_tokens=n_computed, n_attended=n_attended, n_read=n_read)


def measured_flops_per_second(*, n_tokens: int = 6_000, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the FLOPs a second that scoring reaches on this machine: a small random Llama scores for some seconds.

    Its layers are as wide as those of SmolLM2-135M on a CPU, and of a model of one billion on a GPU. By `clock` time
    may be this process's own, where others are at work.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    on_gpu = torch.cuda.is_available()
    sizes = (2048, 8192, 32, 8) if on_gpu else (576, 1536, 9, 3)
    config = LlamaConfig(
        hidden_size=sizes[0],
        intermediate_size=sizes[1],
        num_attention_heads=sizes[2],
        num_key_value_heads=sizes[3],
        num_hidden_layers=8,
        vocab_size=49_152,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model: Any = LlamaForCausalLM(config)
    model.to("cuda" if on_gpu else "cpu", torch.bfloat16 if on_gpu else torch.float32)
    model.train(mode=False)
    tokens = TokensOnly("demo")
    scorer = CausalScorer(model, tokens.tokenizer, tokens.info)
    rng = np.random.default_rng(0)
    count = n_tokens * (20 if on_gpu else 1)
    # sentences and, three times as many tokens, questions with two answers each; lengths are as of BLiMP
    requests = [EncodedRequest(ids=(0, *rng.integers(1, 49_000, 14).tolist()), start=1) for _ in range(count // 56)]
    questions = [(0, *rng.integers(1, 49_000, 60).tolist()) for _ in range(count // 80)]
    requests += [EncodedRequest(ids=(*question, answer), start=61) for question in questions for answer in (1, 2)]
    # a pass of each shape, which is slow the first time
    scorer.token_logprobs(requests[::4], progress=lambda _n: None)
    began = clock()
    scorer.token_logprobs(requests, progress=lambda _n: None)
    seconds = clock() - began
    return _read(requests, "causal").flops(shape_of_config(config, name="here")) / seconds
