"""Masked models and encoder-decoders alike: folders, batches and their order, memory, NaN, what is left as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pairbank
from naive_reference import QUESTION
from pairbank.errors import ScoringError
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.masked import MaskedScorer
from pairbank.scoring.models.seq2seq import Seq2SeqScorer
from tiny_bidirectional_models import bart_model, masked_model, saved, scores, t5_model
from tiny_models import tiny_info

TOLERANCE_NATS = 1e-4
KINDS: dict[str, tuple[Callable[[], tuple[Any, Any]], dict[str, Any]]] = {
    "bert": (lambda: masked_model("bert"), {"pll": "original"}),
    "roberta": (lambda: masked_model("roberta"), {"pll": "within_word_l2r"}),
    "xlm-r": (lambda: masked_model("xlm-r"), {"pll": "within_word_l2r"}),
    "t5": (t5_model, {"mode": "sentinel"}),
    "t5, conditional": (t5_model, {"mode": "conditional"}),
    "bart": (bart_model, {"mode": "conditional"}),
}
TEXTS = [
    ("", "The unbelievable stories don't end."),
    ("The keys to the cabinet", " are on the unbelievable table."),
    *(("这本书", "很好那只狗"), ("", "الكلب يركض في الحديقة"), ("I like", " 😀😀 pizza"), ("", "Run.")),
    *(("The keys to the cabinet " * 5, "are lost"), ("The keys to the cabinet " * 5, "is on the table")),
]
alike = pytest.mark.parametrize("kind", KINDS)


def scorer_of(kind: str) -> Any:  # noqa: ANN401 - of either back end
    make, own = KINDS[kind]
    scorer_class, backend = (Seq2SeqScorer, "seq2seq") if "mode" in own else (MaskedScorer, "masked")
    return scorer_class(*make(), tiny_info(backend), **own)


@alike
def test_numbers_do_not_depend_on_batches_or_order(kind: str) -> None:
    scorer, result = scorer_of(kind), []
    for budget, texts in ((1, TEXTS), (100_000, TEXTS), (90, TEXTS), (90, TEXTS[::-1])):
        scorer.budget_tokens = budget
        result.append(scores(scorer, texts))
    one, every, some, turned = result
    for a, b, c in zip(one, some, every, strict=True):
        assert a == pytest.approx(c, abs=TOLERANCE_NATS)
        assert b == pytest.approx(c, abs=TOLERANCE_NATS)
    assert [x.tolist() for x in turned[::-1]] == [x.tolist() for x in some]


@alike
def test_model_and_tokenizer_are_left_as_they_were(kind: str) -> None:
    scorer = scorer_of(kind)
    model, backend = scorer.model, scorer.tokenizer.backend_tokenizer
    backend.enable_truncation(max_length=5)
    model.train()
    next(part for part in model.modules() if isinstance(part, torch.nn.ModuleList))[0].eval()
    modes, state = [module.training for module in model.modules()], backend.to_str()
    first = scores(scorer, TEXTS[:2])
    assert [module.training for module in model.modules()] == modes
    assert backend.to_str() == state
    assert not backend.encode_special_tokens
    for one, other in zip(scores(scorer, TEXTS[:2]), first, strict=True):
        assert one.tolist() == other.tolist(), "dropout was on"
    assert torch.is_grad_enabled()


@alike
def test_progress_tells_of_every_request_once(kind: str) -> None:
    scorer = scorer_of(kind)
    scorer.budget_tokens = 40
    requests = scorer.encode([Request(context=context, target=target) for context, target in TEXTS[:6]])
    told: list[int] = []
    scorer.token_logprobs(requests, progress=told.append)
    assert sum(told) == len(requests)
    assert len(told) > 2
    assert scorer.encode([]) == scorer.token_logprobs([], progress=told.append) == []


@alike
def test_nan_from_the_model_is_an_error(kind: str) -> None:
    scorer = scorer_of(kind)
    with torch.no_grad():
        next(scorer.model.parameters()).fill_(float("nan"))
    with pytest.raises(ScoringError, match="'tiny' gave a log-probability that is NaN"):
        scores(scorer, TEXTS[:1])


@alike
def test_out_of_memory_halves_the_batch_and_the_run_goes_on(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = scorer_of(kind)
    expected, forward = scores(scorer, TEXTS[:2]), scorer.model.forward
    name, most = ("decoder_input_ids", 40) if isinstance(scorer, Seq2SeqScorer) else ("input_ids", 64)

    def small_memory(**inputs: Any) -> Any:  # noqa: ANN401
        if inputs[name].numel() > most:
            raise torch.OutOfMemoryError
        return forward(**inputs)

    monkeypatch.setattr(scorer.model, "forward", small_memory)
    for a, b in zip(expected, scores(scorer, TEXTS[:2]), strict=True):
        assert a == pytest.approx(b, abs=TOLERANCE_NATS)


@alike
def test_a_request_of_another_back_end_is_refused(kind: str) -> None:
    with pytest.raises(ScoringError, match="did not make"):
        scorer_of(kind).token_logprobs([EncodedRequest(ids=(1, 2), start=1)], progress=lambda _n: None)


@pytest.mark.ci
@alike
def test_a_folder_is_loaded_and_scores_a_corpus(kind: str, tmp_path: Path) -> None:
    make, own = KINDS[kind]
    options = {"seq2seq_mode" if name == "mode" else name: value for name, value in own.items()}
    scorer = load_model(saved(*make(), tmp_path / "tiny"), device="cpu", **options)
    assert scorer.info.backend == ("seq2seq" if "mode" in own else "masked")
    pairs = [("The keys are lost.", "The keys is lost."), ("A dog barks.", "A dog bark."), ("She left.", "She leave.")]
    scored = pairbank.score(pairs, scorer, methods=["direct", "meta_question_simple"])
    assert options.items() <= scored.signature["model"].items()
    for row in scored.dataset:
        sides = [row["target_good"], row["target_bad"]]
        for side, values in zip(("good", "bad"), scores(scorer, [("", text) for text in sides]), strict=True):
            assert row[f"direct_{side}"] == pytest.approx(sum(values), abs=TOLERANCE_NATS)
            assert row[f"direct_{side}_n"] == len(values)
        asked = [f"{QUESTION.format(*order)}\nMy answer is" for order in (sides, sides[::-1])]
        expected = map(sum, scores(scorer, [(text, option) for text in asked for option in (" 1", " 2")]))
        assert row["meta_question_simple_logprobs"] == pytest.approx([*expected], abs=TOLERANCE_NATS)
