"""The Protocol that every back end satisfies, those of what only some can do, and what a model says about itself.

What a model writes for itself before its answer, in marked blocks, is its thinking. Log-probabilities of options mean
nothing inside a block, and what is thought is no answer (DESIGN.md, rule 11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from pairbank.arrays import FloatArray
from pairbank.errors import PairbankError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.requests import EncodedRequest, Request, Share

T = TypeVar("T")
SLUG_BYTES = 96
RESERVED = ("all", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)))
"""What no split may be called (`datasets`), and no file on Windows, whatever its ending."""
BosPolicy = Literal["auto", "bos", "eos-as-bos", "cls", "none"]
OverLength = Literal["error", "nan"]
"""What is done with a text longer than the model's context: an error that names the item, or NaN and a flag."""
Progress = Callable[[int], None]
"""Called with the number of requests, prompts or texts just finished."""
Thinking = Literal["auto", "off", "on"]
"""`auto`: off, where the chat template has a switch or opens a block."""
BLOCKS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
"""How a block begins and ends: Qwen, DeepSeek R1 and most others; Magistral; Seed-OSS; gpt-oss."""
HARMONY = "<|start|>assistant"
"""How a prompt of gpt-oss ends: the model writes which channel follows."""
SWITCH = "enable_thinking"
"""The argument of chat templates that turns thinking on or off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What a number's signature says of the model that it came from."""

    name: str
    """Short name, for tables: `SmolLM2-135M-Instruct`."""
    model_id: str
    """Hub id, or folder name for a local model."""
    revision: str
    """Commit on the Hub, or the fingerprint of a local folder."""
    architecture: str
    dtype: str
    quantisation: str
    device: str
    backend: str
    prompt_format: Literal["base", "chat"]
    bos_policy: BosPolicy
    bos_id: int | None
    max_length: int | None
    """Longest sequence in tokens that the model accepts, or None if it states none. For a masked model: of text,
    beside its own special tokens; for an encoder-decoder: of encoder input and scored text together."""
    pll: str = ""
    """Masked models: which tokens are hidden together, `original` or `within_word_l2r`."""
    seq2seq_mode: str = ""
    """Encoder-decoders: how text is framed, `sentinel` or `conditional`."""
    attention: str = ""
    """The attention implementation asked for; empty = what the library chose."""
    device_map: str = ""
    """How the layers were spread over devices, where that was asked for."""
    gguf_file: str = ""
    weights: str = ""
    """`random:SEED` where they are drawn and not trained: a null model. Empty for trained ones."""
    trust_remote_code: bool = False
    """Code from the model's repository was run."""
    device_name: str = ""
    """The card, where it is one that decides numbers: kernels differ from one to the next. Empty for a CPU."""
    torch: str = ""
    """Version of torch, whose kernels make the numbers; empty where none does, and in tables of earlier versions."""
    transformers: str = ""
    stated: str = ""
    """Of a model behind a server: the facts that the user stated, for the server does not tell them."""
    thinking: Literal["", "off", "on"] = ""
    """Models that think before they answer: whether they do; empty for others."""
    thinking_tokens: int = 0
    """Most tokens of thinking, beside those of the answer."""
    reasoning_effort: str = ""
    """Of a model behind a chat API: the effort that it is asked for."""
    measured: str = ""
    """Of a model behind a server: what was seen of it at load."""
    tokenizer_sha256: str = ""
    """Of a model behind a server: hash of the tokenizer that made its tokens here."""
    served_sha256: str = ""
    """Of a model behind a server: hash of what the server calls it and of where it has it, which only shows in part."""
    answers_sha256: str = ""
    """Of a model behind a server: hash of its answers to fixed questions, which tell another one of the same name."""
    prefix_ids: tuple[int, ...] = ()
    """The tokens that stand before a text, where the tokenizer writes others there than its declared BOS."""
    tokenizer_changes: str = ""
    """What was changed of the tokenizer as it was saved: BPE dropout switched off, a wrong pattern repaired."""
    load_notes: str = ""
    """What transformers warned of when it was loaded."""

    @property
    def prefix(self) -> tuple[int, ...]:
        return self.prefix_ids or (() if self.bos_id is None else (self.bos_id,))

    @property
    def slug(self) -> str:
        return slug(self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values; what was not chosen is left out from `pll` on."""
        chosen = {f.name for f in fields(self) if f.default is MISSING or getattr(self, f.name) != f.default}
        facts = {name: value for name, value in asdict(self).items() if name in chosen}
        return facts | {name: list(value) for name, value in facts.items() if isinstance(value, tuple)}

    @property
    def key(self) -> str:
        """Everything that decides numbers, as one text that they are stored under; the name anybody may choose."""
        decides = {k: v for k, v in self.to_dict().items() if k not in ("name", "load_notes")}
        return json.dumps(decides, ensure_ascii=False)


def slug(name: str) -> str:
    r"""Return a split name (`\w+(\.\w+)*`) for a model, short enough to name a file; a cut one ends in a hash.

    >>> slug("meta-llama/Llama-3.1-8B"), slug("SmolLM2-135M-Instruct"), slug("all")
    ('Llama_3.1_8B', 'SmolLM2_135M_Instruct', 'all_')
    """
    last = name.rstrip("/").rsplit("/", 1)[-1]
    parts = [part for part in re.sub(r"[^\w.]", "_", last).split(".") if part] or ["model"]
    if parts[0].casefold() in RESERVED:
        parts[0] += "_"
    result = ".".join(parts)
    if len(result.encode()) <= SLUG_BYTES:
        return result
    start = result.encode()[: SLUG_BYTES - 9].decode(errors="ignore").rstrip(".")
    return f"{start}_{sha256_of_text(name)[:8]}"


@dataclass(slots=True, kw_only=True)
class WorkerStats:
    """How much one of several workers did."""

    where: str = ""
    """Its machine and process."""
    n_units: float = 0.0
    """Of those that were divided, its parts."""
    n_computed_tokens: int = 0
    """0 where its model does not count them."""
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class ScoringStats:
    """How much work a scorer did, in tokens."""

    n_sequence_tokens: int = 0
    """Tokens of all sequences asked for, whether computed or shared."""
    n_computed_tokens: int = 0
    """Tokens that went through the model."""
    seconds: float = 0.0
    """Time spent in the model and the planner."""
    workers: dict[int, WorkerStats] = field(default_factory=dict)
    """Of workers in other processes, by number from 1; none where this process scores."""

    @property
    def sharing(self) -> float:
        """Tokens asked for per token computed."""
        return self.n_sequence_tokens / self.n_computed_tokens if self.n_computed_tokens else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleTurn:
    """An answered question that stands before the one asked."""

    user: str
    assistant: str
    """Stem and answer."""


@runtime_checkable
class Scorer(Protocol):
    """A model that gives log-probabilities of targets given contexts; what only some can do are Protocols below."""

    @property
    def info(self) -> ModelInfo:
        """What the signature records."""

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        """Return the text that stands before the answer, in the model's prompt format."""

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return each request's tokens."""

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        """Return, a request, the log-probabilities in nats of its scored tokens, in order."""


@runtime_checkable
class Divisible(Protocol):
    """What a scorer has whose forward passes several processes can share out among them."""

    def share_of_logprobs(self, requests: Sequence[EncodedRequest], share: Share) -> list[FloatArray]:
        """Return what `token_logprobs` would, of the values that this share's passes give; NaN in place of others."""


@runtime_checkable
class Spelling(Protocol):
    """What a scorer has that can write out the special tokens before a text."""

    def as_read(self, text: str, *, chat: bool) -> str:
        """Return a text behind the special tokens that the model reads before it."""


@runtime_checkable
class Stepwise(Protocol):
    """What a scorer has whose model computes while the caller does something else.

    After the first step (`next`) the first forward passes have begun, after the second one the last ones; the end
    waits for all. Another unit's steps may be taken in between.
    """

    def logprob_steps(
        self, requests: Sequence[EncodedRequest], *, progress: Progress
    ) -> Generator[None, None, list[FloatArray]]:
        """Return what `token_logprobs` returns, step by step."""


class _Begun(Generic[T]):
    """Work in steps, perhaps at its end."""

    def __init__(self, steps: Generator[None, None, T]) -> None:
        self._steps = steps
        self._results: list[T] = []

    def step(self) -> None:
        if not self._results:
            try:
                next(self._steps)
            except StopIteration as end:
                self._results.append(end.value)

    def result(self) -> T:
        while not self._results:
            self.step()
        return self._results[0]


def ended(steps: Generator[None, None, T]) -> T:
    """Take all steps that are left, and return what they lead to."""
    return _Begun(steps).result()


def one_begun_ahead(works: Iterable[Generator[None, None, T]]) -> Iterator[T]:
    """Yield what each piece of work leads to, in order; it is waited for when the next one has begun (`Stepwise`)."""
    current: _Begun[T] | None = None
    for steps in works:
        following = _Begun(steps)
        try:
            following.step()
        except (PairbankError, RuntimeError, MemoryError, OSError):
            if current is not None:
                current.result()  # what is computed is stored, whatever comes after it
            raise
        if current is not None:
            yield current.result()
        following.step()
        current = following
    if current is not None:
        yield current.result()


@runtime_checkable
class Noting(Protocol):
    """What a scorer has that knows something of an answer only once it has it."""

    def flags_of(self, request: EncodedRequest) -> tuple[str, ...]:
        """Return the flags of an answered request, beside those that it had when it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How an answer is sampled: each step's token by noise of its own, so that nothing else in a batch moves it."""

    temperature: float
    """What logits are divided by; above 0."""
    seed: int
    """Of this one answer, below 2^64."""

    def noise(self, step: int, n_tokens: int) -> FloatArray:
        """Return standard Gumbel noise for each token of a step, shape (n_tokens,).

        The token of the greatest logit / temperature + noise is a draw from the distribution (Gumbel 1954), and stays
        the same one where rounding moves the logits a little.

        >>> Draw(temperature=1.0, seed=3).noise(0, 2).round(6).tolist()
        [2.688587, -0.930693]
        """
        raw = np.random.Philox(key=np.array([self.seed, step], dtype=np.uint64)).random_raw(n_tokens)
        return np.asarray(-np.log(-np.log(((raw >> np.uint64(11)) + 0.5) / 2.0**53)), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A prompt as the model reads it; `where` names the item in errors."""

    text: str
    chat: bool = False
    """Rendered with a chat template, which brings its own BOS."""
    where: str = ""
    draw: Draw | None = None
    """How the answer is sampled; None = greedily."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    text: str | None
    """The new text alone, special tokens left out; None where the prompt was too long."""
    n_tokens: int
    """Tokens written, the end-of-sequence token not among them."""
    flags: tuple[str, ...] = ()


@runtime_checkable
class Writer(Protocol):
    """What a scorer has that can write: causal models, encoder-decoders, servers."""

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        """Return what follows each prompt, sampled where it has a `draw`; all are different."""


@runtime_checkable
class Sampler(Protocol):
    """What a writer has that heeds an ask's `draw`."""

    @property
    def samples_answers(self) -> Literal[True]:
        """True; a writer without it would answer greedily, each draw alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextInput:
    ids: tuple[int, ...]
    """Token ids, the model's own special tokens among them."""
    last: int
    """Place of the last token of the text itself; -1 where it has none."""


@runtime_checkable
class StateReader(Protocol):
    """What a scorer has whose hidden states can be read."""

    @property
    def info(self) -> ModelInfo:
        """What the signature records."""

    def text_inputs(self, texts: Sequence[str]) -> list[TextInput]:
        """Return each text's tokens."""

    def last_states(self, inputs: Sequence[TextInput], *, layer: int | None = None) -> npt.NDArray[np.float32]:
        """Return the last token's state at every layer, the embedding first, or at one: (layers, inputs, hidden)."""


@runtime_checkable
class WordEdges(Protocol):
    """What a scorer has that knows the probability of a word's edge."""

    def with_word_edges(self) -> Scorer:
        """Return a scorer of the same model that answers an `EdgeRequest` too, where words are marked."""


def open_block(prompt: str) -> tuple[str, str] | None:
    r"""Return the block that a prompt ends inside of, before anything is thought; None where it ends in none.

    >>> open_block("<|assistant|><think>\n"), open_block("<think>\n\n</think>\n\n")
    (('<think>', '</think>'), None)
    """
    end = prompt.rstrip()
    return next((block for block in BLOCKS if end.endswith(block[0])), None)


def without_thinking(prompt: str) -> str:
    r"""Return a prompt after which the answer comes at once: a block that it opens is closed, empty.

    >>> without_thinking("<|assistant|><think>\n"), without_thinking("<|start|>assistant")
    ('<|assistant|><think>\n\n</think>\n\n', '<|start|>assistant<|channel|>final<|message|>')
    """
    if prompt.endswith(HARMONY):
        return prompt + BLOCKS[-1][1]
    block = open_block(prompt)
    return prompt if block is None else f"{prompt.rstrip()}\n\n{block[1]}\n\n"


def thinking_characters(text: str, *, prompt: str = "") -> int | None:
    """Return how many characters of a text are thinking, before the answer; None where it ends before the answer.

    >>> thinking_characters("<think>1 or 2?</think>2"), thinking_characters("2"), thinking_characters("<think>1 or")
    (22, 0, None)
    >>> thinking_characters("1 or 2?</think>2", prompt="...<think>"), thinking_characters("1 or", prompt="...<think>")
    (15, None)
    """
    opened = open_block(prompt)
    for start, end in BLOCKS:
        if (place := text.rfind(end)) >= 0:
            return place + len(end)
        if text.lstrip().startswith(start) or opened == (start, end):
            return None
    return 0
