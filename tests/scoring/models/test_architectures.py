"""Every architecture against the naive loop: tiny random models, many scripts, short and long, alone and together."""

import functools
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import pairbank
from naive_reference import QUESTION, token_logprobs, tokens_of
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.forward import computed_prefix
from pairbank.scoring.engine.logprobs import BLOCK_LOGITS, CHANGES_LOGITS
from pairbank.scoring.engine.prefix_trees import MIN_SHARED_TOKENS
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.self_check import causal_length, packing_problem
from tiny_models import ARCHITECTURES, MAX_LENGTH, WINDOW, Architecture, saved_model, tiny_info, tiny_model
from tiny_tokenizers import SENTENCES, TOKENIZERS

TOLERANCE_NATS = 1e-4
"""The promise is 1e-3; what is seen on these models is at most 5e-5 a sequence."""
EMOJI = "\N{GRINNING FACE}\N{CRESCENT MOON}"
REQUESTS = (
    *(("", sentence) for sentence in SENTENCES),
    ("", "A dog barks, and the dogs bark again. " * 5 + "The keys are on the table."),
    ("", "A dog barks, and the dogs bark again. " * 5 + "The keys is on the table."),
    ("", "The keys to the cabinet are on the table."),
    ("The keys to the cabinet", " are"),
    ("The keys to the cabinet", " is on the table again"),
    ("The keys to the cabinet ", "are"),
    ("The un", "believable story"),
    ("Which sentence is better?\nMy answer is", " 1"),
    ("Which sentence is better?\nMy answer is", " 2"),
    ("Which sentence is better?\nMy answer is", " not acceptable"),
    ("这本书很", "有意思。"),
    ("他们在图书馆", "看书。"),
    ("قرأت الطالبات", " الكتب"),
    ("เด็กกิน", "ข้าว"),
    (f"Good night {EMOJI}", f" {EMOJI}"),
    ("", EMOJI + "!"),
)
ACCEPTABLE = "Is the following sentence acceptable in English? {} Respond with 1 if it is {}, and 2 if it is {}."
CHAT = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\nMy answer is"
)
PROMPTS = ("meta_question_simple", "acceptability_judgment_i")


@dataclass(kw_only=True)
class Case:
    """One architecture, loaded by pairbank and, for the reference, by transformers alone."""

    name: str
    architecture: Architecture
    folder: Path
    scorer: CausalScorer
    warnings: list[str]
    model: Any
    tokenizer: Any
    known: dict[tuple[tuple[int, ...], int], list[float]] = field(default_factory=dict)

    @property
    def own_warnings(self) -> list[str]:
        """What pairbank warns of, without what it passes on of transformers' own notes on a config."""
        return [warning for warning in self.warnings if "This model config has set" not in warning]

    @property
    def bos_id(self) -> int:
        own, end = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        return int(end if own is None else own)

    def naive(self, context: str, target: str, *, bos: bool = True) -> list[float]:
        """Return the target's token log-probabilities from one sequence in one forward pass."""
        ids, n_target = tokens_of(self.tokenizer, context, target, self.bos_id if bos else None)
        key = (tuple(ids), n_target)
        if key not in self.known:
            self.known[key] = token_logprobs(self.model, ids, n_target)
        return self.known[key]


class Listener(logging.Handler):
    """Keeps what pairbank warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(scope="module", params=ARCHITECTURES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    name = request.param
    architecture = ARCHITECTURES[name]
    folder = saved_model(architecture, tmp_path_factory.mktemp("models") / name)
    listener = Listener()
    logger = logging.getLogger("pairbank")
    logger.addHandler(listener)
    try:
        yield Case(
            name=name,
            architecture=architecture,
            folder=folder,
            scorer=causal(folder, prompt_format="base"),
            warnings=listener.messages,
            model=reference_model(architecture, folder),
            tokenizer=transformers.AutoTokenizer.from_pretrained(folder),
        )
    finally:
        logger.removeHandler(listener)


def causal(folder: Path, **options: Any) -> CausalScorer:  # noqa: ANN401 - options of load_model
    scorer = load_model(folder, **options)
    assert isinstance(scorer, CausalScorer)
    return scorer


def reference_model(architecture: Architecture, folder: Path) -> Any:  # noqa: ANN401 - any model
    model_class = getattr(transformers, architecture.model_class)
    return model_class.from_pretrained(folder, attn_implementation=architecture.reference_attention).eval()


def scores(scorer: CausalScorer, requests: Sequence[tuple[str, str]]) -> list[list[float]]:
    encoded = scorer.encode([Request(context=context, target=target) for context, target in requests])
    return [values.tolist() for values in scorer.token_logprobs(encoded, progress=lambda _n: None)]


def assert_close(result: Sequence[Sequence[float]], expected: Sequence[Sequence[float]]) -> None:
    """Compare token by token and in sum."""
    assert [len(values) for values in result] == [len(values) for values in expected]
    worst = max(float(np.abs(np.subtract(a, b)).max()) for a, b in zip(result, expected, strict=True))
    worst_sum = max(abs(sum(a) - sum(b)) for a, b in zip(result, expected, strict=True))
    assert max(worst, worst_sum) <= TOLERANCE_NATS


@pytest.mark.ci
def test_the_table_holds_and_a_fallback_names_its_reason(case: Case) -> None:
    if case.architecture.batching == "padded":
        assert case.scorer.info.backend == "causal-padded"
        [warning] = case.own_warnings
        assert f"{case.name}: {case.architecture.reason}" in warning
        assert "padded batches, which is slower but exact" in warning
    else:
        assert case.scorer.info.backend == "causal-packed"


@pytest.mark.ci
def test_token_scores_equal_one_sequence_one_pass(case: Case) -> None:
    lengths = [len(tokens_of(case.tokenizer, *request, case.bos_id)[0]) for request in REQUESTS]
    assert min(lengths) < WINDOW < max(lengths)
    assert_close(scores(case.scorer, REQUESTS), [case.naive(*request) for request in REQUESTS])
    if case.architecture.batching != "packed":
        assert any(case.architecture.reason in warning for warning in case.own_warnings)
        assert len(case.own_warnings) == 1
    else:
        assert case.own_warnings == []


@pytest.mark.ci
def test_many_sequences_in_any_order_score_as_each_alone(case: Case) -> None:
    words = ("keys", "dogs", "cabinet", "author", "story", "table", "book")
    many = [("", f"The {a} to the {b} is on the {c}.") for a in words for b in words for c in words[:3]]
    many += [REQUESTS[i] for i in range(0, len(REQUESTS), 3)]
    order = np.random.default_rng(0).permutation(len(many))
    alone = scores(case.scorer, many)
    together = scores(case.scorer, [many[i] for i in order])
    assert_close(together, [alone[i] for i in order])
    few = order[:12]
    assert_close([alone[i] for i in few], [case.naive(*many[i]) for i in few])


@pytest.mark.ci
def test_a_prefix_computed_once_for_many_packs_changes_no_score(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def counted(model: Any, tokens: Any, device: Any) -> Any:  # noqa: ANN401 - as computed_prefix
        lengths.append(len(tokens))
        return computed_prefix(model, tokens, device)

    monkeypatch.setattr("pairbank.scoring.models.causal.computed_prefix", counted)
    assert case.scorer.min_shared_tokens == (math.inf if case.architecture.batching == "padded" else MIN_SHARED_TOKENS)
    if case.architecture.batching == "packed":
        monkeypatch.setattr(case.scorer, "min_shared_tokens", 1)
    monkeypatch.setattr(case.scorer, "batch_tokens", 24)
    nouns = ("keys", "dogs", "cabinet", "author", "story", "table", "book")
    asked = [("The author of the book", f" is in the {noun} {verb}.") for noun in nouns for verb in ("is", "are")]
    asked += [("A dog barks and the dogs bark again. The", f" {noun} is on the table again.") for noun in nouns]
    result = scores(case.scorer, asked)
    assert_close(result, [case.naive(*request) for request in asked])
    if case.architecture.batching == "packed":
        assert max(lengths) >= 5
    if case.architecture.batching == "padded":
        assert lengths == []


@pytest.mark.ci
def test_the_output_layer_in_blocks_gives_the_same_scores(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    config = case.model.config.get_text_config()
    capped = any(getattr(config, name, None) not in (None, 1, 1.0) for name in CHANGES_LOGITS)
    if capped:
        assert case.scorer.head is None
    if case.scorer.head is None:
        return
    monkeypatch.setitem(BLOCK_LOGITS, "cpu", 64)
    asked = REQUESTS[:6]
    assert_close(scores(case.scorer, asked), [case.naive(*request) for request in asked])


@pytest.mark.ci
@pytest.mark.parametrize("case", ["gpt2", "gpt-j", "llama", "mistral", "opt", "bloom"], indirect=True)
@pytest.mark.parametrize("prompt_format", ["base", "chat"])
def test_every_prompt_layout(case: Case, prompt_format: str) -> None:
    """With equation 1 of Song et al.: half of the differences of both orders, or of both assignments."""
    if prompt_format == "chat" and not case.tokenizer.chat_template:
        with pytest.raises(ModelLoadError, match="has no chat template"):
            causal(case.folder, prompt_format="chat")
        return
    info = replace(case.scorer.info, prompt_format="chat" if prompt_format == "chat" else "base")
    scorer = CausalScorer(case.scorer.model, case.scorer.tokenizer, info, batching=case.scorer.batching)
    good, bad = "The dogs bark.", "The dogs barks."
    [row] = pairbank.score([(good, bad)], scorer, methods=PROMPTS).dataset
    questions = {
        "meta_question_simple": [QUESTION.format(good, bad), QUESTION.format(bad, good)],
        "acceptability_judgment_i": [
            ACCEPTABLE.format(side, *wording)
            for side in (good, bad)
            for wording in (("acceptable", "not acceptable"), ("not acceptable", "acceptable"))
        ],
    }
    for method, asked in questions.items():
        expected = [sum(option_logprobs(case, q, option, prompt_format)) for q in asked for option in (" 1", " 2")]
        assert row[f"{method}_logprobs"] == pytest.approx(expected, abs=TOLERANCE_NATS)
        signs = [1, -1, -1, 1, -1, 1, 1, -1]
        delta = sum(sign * value for sign, value in zip(signs, expected, strict=False)) / 2
        assert row[f"{method}_delta"] == pytest.approx(delta, abs=2 * TOLERANCE_NATS)


def option_logprobs(case: Case, question: str, option: str, prompt_format: str) -> list[float]:
    if prompt_format == "base":
        return case.naive(question + "\nMy answer is", option)
    # a chat gets the BOS that the tokenizer puts before any text, and no other
    return case.naive(CHAT.format(question), option, bos=case.tokenizer.bos_token_id is not None)


TWO_WAYS = [
    name
    for name, architecture in ARCHITECTURES.items()
    if getattr(transformers, architecture.model_class)._supports_sdpa and architecture.reference_attention == "eager"
]


@pytest.mark.ci
@pytest.mark.parametrize("case", TWO_WAYS, indirect=True)
def test_eager_and_sdpa_attention_give_the_same_numbers(case: Case) -> None:
    default = case.scorer.model.config._attn_implementation
    other = causal(case.folder, attention="eager" if default == "sdpa" else "sdpa")
    assert {default, other.model.config._attn_implementation} == {"eager", "sdpa"}
    assert other.info.backend == case.scorer.info.backend
    assert_close(scores(other, REQUESTS), [case.naive(*request) for request in REQUESTS])


def without(forward: Callable[..., Any], argument: str) -> Callable[..., Any]:
    """Return a forward pass that ignores an argument of packed passes: those with a four-dimensional mask."""

    @functools.wraps(forward)
    def deaf(*positional: Any, **named: Any) -> Any:  # noqa: ANN401 - a forward pass
        if named["attention_mask"].ndim == 4:
            named.pop(argument)
        return forward(*positional, **named)

    return deaf


PACKED = [name for name, architecture in ARCHITECTURES.items() if architecture.batching == "packed"]


@pytest.mark.ci
@pytest.mark.parametrize("case", PACKED, indirect=True)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_self_check_sees_a_model_that_ignores_masks_or_positions(case: Case, attention: str) -> None:
    model_class = getattr(transformers, case.architecture.model_class)
    if attention == "sdpa" and not model_class._supports_sdpa:
        with pytest.raises(ModelLoadError, match="scaled_dot_product_attention"):
            causal(case.folder, attention=attention)
        return
    for dtype in ("float32", "bfloat16"):
        scorer = causal(case.folder, attention=attention, dtype=dtype)
        assert scorer.info.backend == "causal-packed"
        scorer.head = None  # as it is while the check runs at load
        forward = scorer.model.forward
        for argument in ("position_ids", "attention_mask"):
            scorer.model.forward = without(forward, argument)
            problem = packing_problem(scorer) or ""
            assert problem.startswith(("packed and plain scores differ by", "its forward pass refuses a tree"))


def test_the_models_are_sharp_enough_to_show_a_wrong_mask(case: Case) -> None:
    """Every token of a context moves what follows by far more than the tolerance: also the first one."""
    base = case.naive("The keys to the cabinet are", " on the table.")
    for context in ("The dogs to the cabinet are", "to the keys The cabinet are"):
        assert abs(sum(case.naive(context, " on the table.")) - sum(base)) > 100 * TOLERANCE_NATS


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("BertLMHeadModel", {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}),
        ("XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 48}),
    ],
)
def test_a_model_that_reads_ahead_is_refused(name: str, settings: dict[str, int]) -> None:
    tokenizer = TOKENIZERS["byte_bpe_eos"]()
    if "d_model" not in settings:
        settings = {**settings, "hidden_size": 32}
    architecture = Architecture(model_class=name, config=settings, batching="padded")
    scorer = CausalScorer(
        tiny_model(architecture, vocab_size=len(tokenizer)),
        tokenizer,
        tiny_info(architecture=name, bos_id=tokenizer.eos_token_id),
    )
    with pytest.raises(ModelLoadError, match="tiny is not a causal model: later tokens change"):
        packing_problem(scorer)


SPARSE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "index_head_dim": 16,
    "index_n_heads": 2,
    "max_position_embeddings": 256,
}


@pytest.mark.parametrize("window", [24, 64])
def test_a_model_that_is_causal_up_to_a_sparse_window_takes_no_longer_texts(
    window: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    architecture = Architecture(
        model_class="DeepseekV32ForCausalLM", config={**SPARSE, "index_topk": window}, batching="padded"
    )
    scorer = causal(saved_model(architecture, tmp_path / "sparse"))
    assert scorer.info.max_length == window
    assert f"beyond {window} tokens its attention is sparse, and later tokens change" in caplog.text
    texts = [SENTENCES[0], "A dog barks and the dogs bark again. " * window]
    requests = [Request(context="", target=text, where="item") for text in texts]
    fits, too_long = scorer.encode(requests)
    assert len(fits.ids) - 1 <= window < len(too_long.ids) - 1
    with pytest.raises(ScoringError, match=rf"tokens, but sparse takes {window}"):
        pairbank.score([(text, "A dog barks.") for text in texts], scorer)


@pytest.mark.parametrize("window", [24, 300])
def test_a_sparse_window_that_moves_nothing_or_that_no_text_reaches_changes_no_length(window: int) -> None:
    tokenizer = TOKENIZERS["byte_bpe_eos"]()
    model = tiny_model(ARCHITECTURES["llama"], vocab_size=len(tokenizer))
    model.config.index_topk = window
    scorer = CausalScorer(model, tokenizer, tiny_info(bos_id=tokenizer.eos_token_id))
    assert causal_length(scorer) is None


@pytest.mark.parametrize("name", ["gpt2", "mpt", "opt"])
def test_longer_than_the_positions_is_an_error_that_names_the_item(name: str, tmp_path: Path) -> None:
    architecture = ARCHITECTURES[name]
    scorer = causal(saved_model(architecture, tmp_path / name))
    assert scorer.info.max_length == MAX_LENGTH
    fits, too_long = "The" + " keys" * (MAX_LENGTH - 1), "The" + " keys" * MAX_LENGTH
    items = [(fits, "The keys."), (too_long, "The keys.")]
    scored = pairbank.score(items, scorer, over_length="nan")
    assert np.isfinite(scored["direct_good"][0])
    assert scored["direct_good_n"][0] == MAX_LENGTH
    assert np.isnan(scored["direct_good"][1])
    with pytest.raises(ScoringError, match=rf" \(good\): {MAX_LENGTH + 2} tokens, but {name} takes {MAX_LENGTH}"):
        pairbank.score(items, scorer)


def test_bfloat16_weights_give_no_ties_that_the_model_does_not_have(tmp_path: Path) -> None:
    """With the log-softmax in bfloat16, as transformers 5 leads to, different sentences tie exactly; with ours none."""
    scorer = causal(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"), dtype="bfloat16")
    nouns = ("keys", "dogs", "cabinet", "author", "story", "table", "book", "night", "morning", "library")
    sentences = [f"The {a} to the {b} {verb} good." for a in nouns for b in nouns for verb in ("is", "are")]
    ours = {sum(values) for values in scores(scorer, [("", sentence) for sentence in sentences])}
    in_bfloat16 = {low_precision_sum(scorer, sentence) for sentence in sentences}
    assert len(in_bfloat16) < len(sentences)
    assert len(ours) == len(sentences)
    # and ours are the model's own logits, normalised exactly
    [alone] = scores(CausalScorer(scorer.model, scorer.tokenizer, scorer.info, batching="padded"), [("", sentences[0])])
    ids, n_target = tokens_of(scorer.tokenizer, "", sentences[0], scorer.info.bos_id)
    assert alone == pytest.approx(token_logprobs(scorer.model, ids, n_target), abs=1e-5)


def low_precision_sum(scorer: CausalScorer, sentence: str) -> float:
    ids, _ = tokens_of(scorer.tokenizer, "", sentence, scorer.info.bos_id)
    with torch.inference_mode():
        logprobs = scorer.model(torch.tensor([ids]), use_cache=False).logits[0].log_softmax(-1)
    assert logprobs.dtype is torch.bfloat16
    return sum(float(logprobs[i - 1, ids[i]]) for i in range(1, len(ids)))


def test_scoring_changes_neither_the_model_nor_the_tokenizer_nor_torch(tmp_path: Path) -> None:
    scorer = causal(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"))
    scorer.model.train()
    before = state_of(scorer.tokenizer)
    trained = scores(scorer, REQUESTS[:3])
    assert scorer.model.training
    assert torch.is_grad_enabled()
    assert state_of(scorer.tokenizer) == before
    scorer.model.train(mode=False)
    assert trained == scores(scorer, REQUESTS[:3])
    assert not scorer.model.training


def state_of(tokenizer: Any) -> tuple[str, str, str]:  # noqa: ANN401 - any tokenizer
    return tokenizer.backend_tokenizer.to_str(), tokenizer.padding_side, tokenizer.pad_token
