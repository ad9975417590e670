"""What shares a batch with a text never moves its scores: every masked and encoder-decoder architecture, in miniature.

Each is either exact alone, padded and reordered, or goes one sequence at a time and says so.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers.models.auto import modeling_auto

from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.batch_check import batch_problem, structural_batch_problem
from pairbank.scoring.models.hidden_states import last_token_states
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.masked import MaskedRequest
from pairbank.scoring.models.seq2seq import Seq2SeqRequest
from tiny_architectures import MASKED, SEQ2SEQ, SKIPPED, Tiny, made
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

TOLERANCE_NATS = 1e-3
LONG = "The keys to the cabinet are on the table. " * 9
ASKED = (
    ("", "The keys to the cabinet are on the table."),
    ("", "unbelievable stories don't end."),
    ("", "My answer is 1 or 2."),
    ("The keys", " is lost"),
    ("Which sentence is a better", " English sentence?"),
    (LONG, "The keys is lost."),
)
IN_CI = (
    *("albert", "bert", "convbert", "deberta-v2", "esm", "fnet", "funnel", "longformer", "mobilebert", "nystromformer"),
    *("perceiver", "reformer", "roberta", "xlm", "yoso"),
    *("bart", "bigbird-pegasus", "encoder-decoder", "fsmt", "led", "nllb-moe", "prophetnet", "switch", "t5", "t5gemma"),
)
"""Every one that moves, and one of each manner of those that do not; all others are marked slow."""


def cases(table: Mapping[str, Tiny]) -> list[Any]:
    return [pytest.param(name, marks=() if name in IN_CI else pytest.mark.slow) for name in table]


def requests() -> list[Request]:
    return [Request(context=context, target=target) for context, target in ASKED]


def sums(scorer: Any, encoded: Sequence[Any]) -> list[float]:  # noqa: ANN401 - any scorer
    return [float(values.sum()) for values in scorer.token_logprobs(encoded, progress=lambda _n: None)]


def naive_masked(scorer: Any, request: MaskedRequest) -> float:  # noqa: ANN401
    """Return the pseudo-log-likelihood of one text, each masked copy alone in a forward pass without a mask."""
    total = 0.0
    for position in range(request.start, len(request.ids)):
        ids = torch.tensor([[*request.ids, *request.suffix]])
        ids[0, position] = scorer.tokenizer.mask_token_id
        with torch.no_grad():
            logits = scorer.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, position]
        total += float(torch.log_softmax(logits.float(), dim=-1)[request.ids[position]])
    return total


def naive_seq2seq(scorer: Any, request: Seq2SeqRequest) -> float:  # noqa: ANN401
    """Return the sum over the scored labels of one text, each of its parts alone in a forward pass."""
    total = 0.0
    for part in request.parts:
        decoder_ids = torch.tensor([[scorer.info.bos_id, *part.labels[:-1]]])
        encoder_ids = torch.tensor([part.encoder_ids])
        with torch.no_grad():
            output = scorer.model(
                input_ids=encoder_ids,
                attention_mask=torch.ones_like(encoder_ids),
                decoder_input_ids=decoder_ids,
                decoder_attention_mask=torch.ones_like(decoder_ids),
                use_cache=False,
            )
        logprobs = torch.log_softmax(output.logits[0].float(), dim=-1)
        total += sum(float(logprobs[k, part.labels[k]]) for k in part.scored)
    return total


def check(scorer: Any, tiny: Tiny, naive: Sequence[float], encoded: Sequence[Any], warned: str) -> None:  # noqa: ANN401
    together = sums(scorer, encoded)
    assert together == pytest.approx(naive, abs=TOLERANCE_NATS)
    assert sums(scorer, encoded[::-1])[::-1] == pytest.approx(naive, abs=TOLERANCE_NATS)
    assert [sums(scorer, [one])[0] for one in encoded] == pytest.approx(naive, abs=TOLERANCE_NATS)
    assert scorer.info.backend.endswith("-single") == tiny.moves
    assert ("scoring one sequence at a time, which is slower but exact" in warned) == tiny.moves
    if tiny.moves:
        scorer.one_at_a_time = False
        assert np.abs(np.array(sums(scorer, encoded)) - naive).max() > TOLERANCE_NATS


@pytest.mark.ci
@pytest.mark.parametrize("name", cases({**MASKED, **SEQ2SEQ}))
def test_a_text_is_scored_alike_alone_and_in_any_company(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiny = {**MASKED, **SEQ2SEQ}[name]
    scorer: Any = load_model(made(tiny, tmp_path / name), device="cpu")
    encoded = scorer.encode(requests())
    naive = naive_masked if name in MASKED else naive_seq2seq
    check(scorer, tiny, [naive(scorer, request) for request in encoded], encoded, caplog.text)


def test_every_masked_model_of_transformers_is_named() -> None:
    classes = {tiny.model_class for tiny in MASKED.values()}
    missing = {
        name
        for name, model_class in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.items()
        if model_class not in classes and name not in SKIPPED
    }
    assert not missing


@pytest.mark.parametrize("name", ["fnet", "prophetnet", "reformer"])
def test_hidden_states_do_not_depend_on_the_batch_either(name: str, tmp_path: Path) -> None:
    tiny = {**MASKED, **SEQ2SEQ}[name]
    model: Any = load_model(made(tiny, tmp_path / name), device="cpu")
    texts = ["A dog barks.", "The keys to the cabinet are on the table.", LONG]
    together = model.last_states(model.text_inputs(texts))
    for i, text in enumerate(texts):
        assert together[:, i] == pytest.approx(model.last_states(model.text_inputs([text]))[:, 0], abs=1e-4)
    assert last_token_states(texts, model).n_layers == len(together)


def test_written_texts_do_not_depend_on_the_batch_either(tmp_path: Path) -> None:
    model: Any = load_model(made(SEQ2SEQ["bart"], tmp_path / "bart"), device="cpu")
    texts = ["A dog barks.", "The keys to the cabinet are on the table.", LONG]
    asked: dict[str, Any] = {"max_new_tokens": 4, "over_length": "error", "progress": lambda _n: None}
    together = model.write([Ask(text=text) for text in texts], **asked)
    sizes: list[int] = []
    model.model.get_encoder().register_forward_pre_hook(
        lambda _module, args, named: sizes.append(len(args[0] if args else named["input_ids"])), with_kwargs=True
    )
    model.one_at_a_time = True
    assert model.write([Ask(text=text) for text in texts], **asked) == together
    assert sizes == [1, 1, 1]


def test_a_model_that_transformers_cannot_write_with_is_an_error_that_says_so(tmp_path: Path) -> None:
    model: Any = load_model(made(SEQ2SEQ["prophetnet"], tmp_path / "prophetnet"), device="cpu")
    with pytest.raises(ScoringError, match="transformers cannot write with ProphetNetForConditionalGeneration"):
        model.write([Ask(text="A dog barks.")], max_new_tokens=4, over_length="error", progress=lambda _n: None)


@pytest.mark.parametrize("name", ["big-bird-sparse", "bigbird-pegasus"])
def test_random_sparse_attention_is_dropped_and_that_is_stated(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiny = {**MASKED, **SEQ2SEQ}[name]
    folder = made(tiny, tmp_path / name)
    scorer: Any = load_model(folder, device="cpu")
    assert "scoring with full attention instead" in caplog.text
    assert scorer.info.attention == "original_full"
    encoded = scorer.encode(requests())
    before = sums(scorer, encoded[-1:])
    sums(scorer, encoded[:1])
    assert sums(scorer, encoded[-1:]) == before
    assert sums(load_model(folder, device="cpu"), encoded[-1:]) == before


class Neighbourly(torch.nn.Module):
    """An embedding that lets every text of a batch see how many there are."""

    def __init__(self, inner: Any, *, random: bool) -> None:  # noqa: ANN401 - an embedding
        super().__init__()
        self.inner, self.random = inner, random

    @property
    def weight(self) -> torch.Tensor:
        weight: torch.Tensor = self.inner.weight
        return weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.inner(ids)
        shift = torch.randn(1) if self.random else torch.tensor([0.3 * (len(ids) - 1)])
        return states + shift * torch.linspace(-1, 1, states.shape[-1])  # a constant would be normalised away


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom"])
def test_a_causal_model_that_sees_its_batch_goes_one_sequence_at_a_time(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    folder = saved_model(ARCHITECTURES[name], tmp_path / name)
    plain: Any = load_model(folder, device="cpu")
    encoded = plain.encode(requests())
    expected = sums(plain, encoded)
    real: Any = transformers.AutoModelForCausalLM.from_pretrained

    def neighbourly(*args: Any, **options: Any) -> Any:  # noqa: ANN401
        model, report = real(*args, **options)
        model.set_input_embeddings(Neighbourly(model.get_input_embeddings(), random=False))
        return model, report

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", neighbourly)
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))  # that the plain model passed is known of these files
    caplog.clear()
    scorer: Any = load_model(folder, device="cpu")
    assert scorer.info.backend == "causal-single"
    assert "scoring one sequence at a time" in caplog.text
    assert sums(scorer, encoded) == pytest.approx(expected, abs=TOLERANCE_NATS)
    texts = [context + target for context, target in ASKED]
    states = scorer.last_states(scorer.text_inputs(texts))
    assert states == pytest.approx(plain.last_states(plain.text_inputs(texts)), abs=1e-4)


def test_a_model_that_draws_at_random_is_refused(tmp_path: Path) -> None:
    model: Any = load_model(made(MASKED["bert"], tmp_path / "bert"), device="cpu")
    model.model.set_input_embeddings(Neighbourly(model.model.get_input_embeddings(), random=True))
    with pytest.raises(ModelLoadError, match="the same text alone gets another score each time"):
        batch_problem(model)


def test_a_forward_pass_that_fails_is_an_error_that_says_so(tmp_path: Path) -> None:
    model: Any = load_model(made(MASKED["bert"], tmp_path / "bert"), device="cpu")
    model.model.cls = None
    with pytest.raises(ModelLoadError, match="its forward pass fails on a plain sentence"):
        batch_problem(model)


def test_experts_that_take_a_share_of_a_batch_are_told_by_the_configuration() -> None:
    from transformers import BartConfig, NllbMoeConfig

    assert structural_batch_problem(BartConfig()) is None
    assert structural_batch_problem(NllbMoeConfig()) is None
    assert "its experts take 0.5 of a batch's tokens" in str(
        structural_batch_problem(NllbMoeConfig(moe_eval_capacity_token_fraction=0.5))
    )


def test_a_tokenizer_without_the_letters_of_the_check_is_stated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = load_model(made(MASKED["bert"], tmp_path / "bert"), device="cpu")

    def nothing(_requests: object) -> None:
        raise ScoringError("no token")

    monkeypatch.setattr(model, "encode", nothing)
    assert batch_problem(model) is None
    assert "was not tried" in caplog.text


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["llama", "bert", "t5"])
def test_a_model_that_passed_its_checks_is_loaded_without_them_and_scores_the_same(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = (
        saved_model(ARCHITECTURES[kind], tmp_path / kind)
        if kind == "llama"
        else saved(*(masked_model("bert") if kind == "bert" else t5_model()), tmp_path / kind)
    )
    checked: list[str] = []

    def counted(scorer: Any) -> str | None:  # noqa: ANN401 - as the function in whose place it stands
        checked.append(scorer.info.name)
        return batch_problem(scorer)

    monkeypatch.setattr("pairbank.scoring.models.load.batch_problem", counted)
    first, again = load_model(folder), load_model(folder)
    assert len(checked) == 1
    assert first.info == again.info
    request = [Request(context="", target="The keys to the cabinet are on the table.")]
    one, other = (each.token_logprobs(each.encode(request), progress=lambda _n: None) for each in (first, again))
    np.testing.assert_array_equal(one[0], other[0])
    assert getattr(first, "min_shared_tokens", 0) == getattr(again, "min_shared_tokens", 0)
    assert (getattr(first, "head", None) is None) == (getattr(again, "head", None) is None)
    load_model(folder, dtype="bfloat16")
    assert len(checked) == 2
    monkeypatch.setattr("pairbank.scoring.models.load.MODELS_VERSION", -1)
    load_model(folder)
    assert len(checked) == 3
