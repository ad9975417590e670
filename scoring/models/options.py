"""What can be chosen when a model is loaded: one declaration for Python and the command line.

Each option's annotation carries its help and its default. Importing this imports neither torch nor transformers.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast, get_args, get_origin, get_type_hints

from pairbank.errors import ModelLoadError

SHOWN_COMMIT = 12
TRAINED, RANDOM = "trained", "random"
BACKEND_NAME = re.compile(r"(?P<name>[a-z][a-z0-9_-]+):(?!//)(?P<rest>.*)", re.DOTALL)
"""Neither a drive (`C:\\models`) nor an address (`http://…`)."""
ADDRESS = re.compile(r"https?://", re.IGNORECASE)
SERVER_OPTIONS = ("tokenizer", "served_model", "api", "replicas", "concurrency", "timeout_s", "reasoning_effort")


class LoadOptions(TypedDict, total=False):
    """Keyword options of `load_model`: type, help, default."""

    name: Annotated[
        str | None,
        "Display name in tables and banks. [default: the folder's or the Hub's name] Stored scores are "
        "reused under a new name.",
        None,
    ]
    kind: Annotated[
        Literal["auto", "causal", "masked", "seq2seq"],
        "causal, masked or seq2seq; auto reads the model's configuration.",
        "auto",
    ]
    device: Annotated[str, "auto (CUDA, else MPS, else CPU), or a torch device: cpu, cuda, cuda:1 …", "auto"]
    dtype: Annotated[
        str,
        "auto (float32 on CPU, bfloat16 on CUDA if supported), or a torch dtype. Log-softmax is always in float32.",
        "auto",
    ]
    device_map: Annotated[
        str | dict[str, int | str] | None,
        "Distribute layers over devices with transformers' device_map (auto, balanced …).",
        None,
    ]
    tensor_parallel: Annotated[
        bool, "Split each layer over all processes that torchrun started (transformers' tp_plan), one per GPU.", False
    ]
    quantisation: Annotated[
        str | None,
        "4bit (nf4, as Song et al. 2025 for models above 70B) or 8bit, with bitsandbytes. Servers: "
        "recorded in the signature.",
        None,
    ]
    weights: Annotated[
        str,
        "trained, or random (random:SEED) for the architecture with random weights: a null model, which reports show "
        "apart. The same as random:MODEL as the model.",
        "trained",
    ]
    revision: Annotated[
        str | None, "Commit, tag or branch on the Hub; becomes part of the name (model@revision).", None
    ]
    gguf_file: Annotated[str | None, "GGUF file in the folder or on the Hub; it is dequantised.", None]
    bos: Annotated[
        Literal["auto", "bos", "eos-as-bos", "cls", "none"],
        "Causal models: token before the text. auto = what the tokenizer writes, else BOS, else EOS; cls = [CLS]; "
        "none leaves the first token unscored.",
        "auto",
    ]
    prompt_format: Annotated[
        Literal["auto", "base", "chat"],
        "chat applies the chat template to prompts, base does not; auto = chat if there is a template. "
        "Direct scores never use one.",
        "auto",
    ]
    thinking: Annotated[
        Literal["auto", "off", "on"],
        "Thinking of chat models: off, or on (written answers only). auto = off if the template has a switch or "
        "opens a thinking block.",
        "auto",
    ]
    thinking_tokens: Annotated[int, "With thinking on: maximum number of thinking tokens per answer.", 2_048]
    reasoning_effort: Annotated[
        str | None, "Servers with --api chat: reasoning effort to request (low, medium …).", None
    ]
    pll: Annotated[
        Literal["original", "within_word_l2r"],
        "Masked models: mask each token alone (original, Salazar et al. 2020) or with the rest of its "
        "word (within_word_l2r, Kauf & Ivanova 2023).",
        "original",
    ]
    seq2seq_mode: Annotated[
        Literal["auto", "sentinel", "conditional"],
        "Encoder-decoders: sentinel (Hu & Levy 2023) or conditional; auto = sentinel if the tokenizer has sentinels.",
        "auto",
    ]
    max_length: Annotated[int | None, "Maximum sequence length in tokens, if below the model's own.", None]
    attention: Annotated[str | None, "transformers' attn_implementation: sdpa, eager …", None]
    batch_tokens: Annotated[
        int | None,
        "Tokens per forward pass. [default: by cache or GPU memory] Halved when memory runs out; "
        "results change by rounding only.",
        None,
    ]
    trust_remote_code: Annotated[bool, "Execute code from the model's repository.", False]
    keep_mistral_regex: Annotated[
        bool,
        "Keep the pre-tokenizer pattern of Mistral tokenizers that transformers before 5 converted, for models trained "
        "with it; otherwise it is repaired (transformers' fix_mistral_regex).",
        False,
    ]
    tokenizer: Annotated[str | None, "Servers: tokenizer of the served model, a folder or a Hub id.", None]
    served_model: Annotated[str | None, "Servers: model name on the server, if it serves several.", None]
    api: Annotated[
        Literal["completions", "chat"],
        "Servers: completions (prompt log-probabilities; supports every method) or chat (written "
        "answers, and choices from top log-probabilities).",
        "completions",
    ]
    replicas: Annotated[
        str | None,
        "Servers: addresses of other servers that run the same model, separated by commas; requests are shared out.",
        None,
    ]
    concurrency: Annotated[int, "Servers: number of concurrent requests (to each replica).", 64]
    timeout_s: Annotated[
        int, "Servers: timeout of the first try, in seconds; it doubles with every try that times out.", 60
    ]


DEFAULTS = cast(
    "LoadOptions", {name: get_args(hint)[2] for name, hint in get_type_hints(LoadOptions, include_extras=True).items()}
)
"""Of every option: the last part of its declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    id: str
    """`demo`, a folder or file, a Hub id, a server's address, or what a back end loads, `BACKEND:rest`."""
    revision: str | None = None
    """Of a Hub id, where `ID@REVISION` says it."""
    weights: str = TRAINED
    """`random` of `random:MODEL`."""


def reference_of(model: str | Path) -> Reference:
    """Return what is named: `ID@REVISION` of a Hub id in its two parts, everything else as it is.

    >>> reference_of("allenai/OLMo-2-1124-7B@stage1-step1000-tokens5B").revision, reference_of("demo").revision
    ('stage1-step1000-tokens5B', None)
    >>> reference_of("random:gpt2")
    Reference(id='gpt2', revision=None, weights='random')
    >>> reference_of("http://me@host:8000/v1").id
    'http://me@host:8000/v1'
    >>> reference_of("./models/mine@step1000")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pairbank.errors.ModelLoadError: no folder ./models/mine@step1000; only Hub ids have an @REVISION: ...
    """
    text = str(model)
    if text.startswith(f"{RANDOM}:"):
        return replace(reference_of(text.removeprefix(f"{RANDOM}:")), weights=RANDOM)
    before, at, revision = text.rpartition("@")
    if not at or ADDRESS.match(text) or BACKEND_NAME.fullmatch(text) or Path(text).expanduser().exists():
        return Reference(id=text)
    is_local = before.startswith((".", "/", "~")) or before.count("/") > 1 or Path(before).expanduser().exists()
    if is_local or before == "demo":
        raise ModelLoadError(
            f"no folder {text}; only Hub ids have an @REVISION: a folder is one revision, name the one that you mean "
            f"(expected {before}, or ORG/NAME@{revision or 'REVISION'})"
        )
    if not before or not revision:
        raise ModelLoadError(f"model {text!r}: expected ORG/NAME@REVISION, with a commit, tag or branch behind the @")
    return Reference(id=before, revision=revision)


def name_at(name: str, revision: str | None) -> str:
    """Return a model's name in tables with the revision that was asked for.

    >>> name_at("OLMo-2-1124-7B", "refs/pr/1"), name_at("gpt2", None)
    ('OLMo-2-1124-7B@refs-pr-1', 'gpt2')
    """
    if revision is None:
        return name
    is_commit = re.fullmatch(r"[0-9a-f]{40}", revision) is not None
    return f"{name}@{revision[:SHOWN_COMMIT] if is_commit else revision.replace('/', '-')}"


def random_seed(weights: str) -> int | None:
    """Return the seed of random weights; None where they are trained."""
    kind, _, seed = weights.partition(":")
    if weights == TRAINED:
        return None
    if kind != RANDOM or not (seed.isdecimal() or weights == RANDOM):
        raise ModelLoadError(f"weights {weights!r} is unknown; expected trained, random or random:SEED")
    return int(seed or 0)


def name_of_weights(name: str, weights: str) -> str:
    """Return a model's name in tables, which says where its weights are random."""
    seed = random_seed(weights)
    return name if seed is None else f"{RANDOM}-{name}{f'-seed{seed}' if seed else ''}"


def with_reference(options: LoadOptions, reference: Reference) -> LoadOptions:
    if reference.weights != TRAINED and options.get("weights", TRAINED) == TRAINED:
        options = {**options, "weights": reference.weights}
    revision = reference.revision
    if revision is None:
        return options
    if (other := options.get("revision")) not in (None, revision):
        raise ModelLoadError(f"revision {other!r}, but the model is named @{revision}; say it once")
    return {**options, "revision": revision}


def refuse_others(options: LoadOptions, honoured: Collection[str], *, where: str) -> None:
    for name, value, usual in _set(options):
        if name not in honoured:
            raise ModelLoadError(
                f"{where} takes no {name}={value!r}; it honours {', '.join(honoured) or 'no option'}. "
                f"Leave {name} at {usual!r}"
            )


def _set(options: LoadOptions) -> Iterator[tuple[str, Any, Any]]:
    usual = cast("Mapping[str, Any]", DEFAULTS)
    return ((name, value, usual[name]) for name, value in options.items() if value != usual[name])


def refuse_server_options(options: LoadOptions, *, where: str) -> None:
    for name, value, _ in _set(options):
        if name in SERVER_OPTIONS:
            raise ModelLoadError(
                f"{name}={value!r} is for models behind a server, and {where} is no address (http://…)"
            )


def completed(options: LoadOptions) -> LoadOptions:
    provided = cast("Mapping[str, Any]", options)
    if unknown := sorted(provided.keys() - DEFAULTS.keys()):
        near = difflib.get_close_matches(unknown[0], DEFAULTS)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ModelLoadError(f"load_model has no option {unknown[0]!r}; {hint}known: {', '.join(DEFAULTS)}")
    name = provided.get("name")
    if name is not None and not (name.strip() and name.isprintable()):
        raise ModelLoadError(f"name={name!r} is none; expected a few printable characters")
    for option, hint in get_type_hints(LoadOptions).items():
        if get_origin(hint) is Literal and option in provided and provided[option] not in get_args(hint):
            known = ", ".join(get_args(hint))
            raise ModelLoadError(f"{option} {provided[option]!r} is unknown; expected one of {known}")
    for option in ("thinking_tokens", "batch_tokens"):
        if (n_tokens := provided.get(option)) is not None and n_tokens < 1:
            raise ModelLoadError(f"{option} {n_tokens} is out of range; expected at least 1")
    wanted = ("quantisation", "device_map", "gguf_file", "tensor_parallel")
    lost = [option for option in wanted if provided.get(option) not in (None, False)]
    if random_seed(provided.get("weights", TRAINED)) is not None and lost:
        raise ModelLoadError(f"{lost[0]} does not go with random weights, which are drawn in float32; leave it out")
    return {**DEFAULTS, **options}
