"""Encoder-decoders: Hu & Levy's framing written out by hand, closed forms, and plain one-label forward passes."""

from typing import Any

import numpy as np
import pytest
import torch

from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.names import UNKNOWN_TOKEN
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.seq2seq import BLANK_CONTEXT, Seq2SeqMode, Seq2SeqRequest, Seq2SeqScorer
from tiny_bidirectional_models import bart_model, scores, t5_model
from tiny_models import tiny_info

TOLERANCE_NATS = 1e-4
INFO = tiny_info("seq2seq")
CONTINUATIONS = [
    ("The keys to the cabinet", " are", "The keys to the cabinet <extra_id_0>", "<extra_id_0> are"),
    ("The keys ", "are on the table.", "The keys <extra_id_0>", "<extra_id_0> are on the table."),
    ("这本书", "很好", "这本书<extra_id_0>", "<extra_id_0> 很好"),
    ("Which is better?\nMy answer is", " 1", "Which is better?\nMy answer is <extra_id_0>", "<extra_id_0> 1"),
    ("I like", " 😀 pizza", "I like <extra_id_0>", "<extra_id_0> 😀 pizza"),
]
# Hu & Levy 2023: (encoder input, label) for each word; of a label the word is summed, not its sentinels.
SENTENCES = {
    "The keys are lost.": [
        ("<extra_id_0> keys are lost", "The <extra_id_0>"),
        ("The <extra_id_0> are lost", "<extra_id_0> keys <extra_id_1>"),
        ("The keys <extra_id_0> lost", "<extra_id_0> are <extra_id_1>"),
        ("The keys are <extra_id_0>", "<extra_id_0> lost"),
    ],
    "Unbelievable stories don't end..": [
        ("<extra_id_0> stories don't end.", "Unbelievable <extra_id_0>"),
        ("Unbelievable <extra_id_0> don't end.", "<extra_id_0> stories <extra_id_1>"),
        ("Unbelievable stories <extra_id_0> end.", "<extra_id_0> don't <extra_id_1>"),
        ("Unbelievable stories don't <extra_id_0>", "<extra_id_0> end."),
    ],
    "Run.": [("<extra_id_0>", "Run <extra_id_0>")],
    "الكلب  يركض": [
        ("<extra_id_0>  يركض", "الكلب <extra_id_0>"),
        ("الكلب <extra_id_0> يركض", "<extra_id_0>  <extra_id_1>"),
        ("الكلب  <extra_id_0>", "<extra_id_0> يركض"),
    ],
    "这本书很好": [("<extra_id_0>", "这本书很好 <extra_id_0>")],
    "I like 😀": [
        ("<extra_id_0> like 😀", "I <extra_id_0>"),
        ("I <extra_id_0> 😀", "<extra_id_0> like <extra_id_1>"),
        ("I like <extra_id_0>", "<extra_id_0> 😀"),
    ],
}


def ids_of(tokenizer: Any, text: str) -> list[int]:  # noqa: ANN401
    return list(tokenizer(text)["input_ids"])


def naive_labels(model: Any, encoder_ids: list[int], labels: list[int]) -> list[float]:  # noqa: ANN401
    """Return log P(label | encoder, labels before) of every label; transformers itself makes the decoder's input."""
    with torch.no_grad():
        output = model(input_ids=torch.tensor([encoder_ids]), labels=torch.tensor([labels]))
    logprobs = torch.log_softmax(output.logits[0].double(), dim=-1)
    return [float(logprobs[i, label]) for i, label in enumerate(labels)]


def naive_sentence(model: Any, tokenizer: Any, rows: list[tuple[str, str]]) -> list[tuple[int, float]]:  # noqa: ANN401
    result = []
    for encoder_text, label_text in rows:
        labels = ids_of(tokenizer, label_text)
        special = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>", "</s>"])
        values = naive_labels(model, ids_of(tokenizer, encoder_text), labels)
        result += [both for both in zip(labels, values, strict=True) if both[0] not in special]
    return result


def as_request(request: EncodedRequest) -> Seq2SeqRequest:
    assert isinstance(request, Seq2SeqRequest)
    return request


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_summed_word_by_word_as_hu_and_levy_do(sentence: str) -> None:
    model, tokenizer = t5_model()
    scorer = Seq2SeqScorer(model, tokenizer, INFO, mode="sentinel")
    (values,) = scores(scorer, [("", sentence)])
    assert values.dtype == np.float64
    ids, expected = zip(*naive_sentence(model, tokenizer, SENTENCES[sentence]), strict=True)
    assert values.tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)
    (request,) = scorer.encode([Request(context="", target=sentence)])
    assert request.ids[request.start :] == ids


def test_a_final_period_changes_nothing_and_makes_two_sides_identical() -> None:
    scorer = Seq2SeqScorer(*t5_model(), INFO)
    with_period, without = scorer.encode([Request(context="", target=t) for t in ("The keys.", "The keys")])
    assert with_period.ids == without.ids


@pytest.mark.parametrize(("context", "target", "encoder_text", "label_text"), CONTINUATIONS)
def test_a_continuation_is_summed_after_the_sentinel_with_its_eos(
    context: str, target: str, encoder_text: str, label_text: str
) -> None:
    model, tokenizer = t5_model()
    scorer = Seq2SeqScorer(model, tokenizer, INFO)
    assert scorer.info.seq2seq_mode == "sentinel"
    (request,) = scorer.encode([Request(context=context, target=target)])
    encoder_ids, labels = ids_of(tokenizer, encoder_text), ids_of(tokenizer, label_text)
    assert labels[-1] == tokenizer.eos_token_id
    assert list(request.ids) == encoder_ids + labels
    assert list(request.ids[request.start :]) == labels[1:]
    (values,) = scorer.token_logprobs([request], progress=print)
    assert values.tolist() == pytest.approx(naive_labels(model, encoder_ids, labels)[1:], abs=TOLERANCE_NATS)


def test_closed_form_of_a_t5_that_sees_only_the_token_before() -> None:
    """With every attention and feed-forward output at 0 the decoder's state is the embedding of its last input.

    Then log P(b | a) = log softmax(E (E_a / rms(E_a)) / sqrt(d))_b (T5's final RMS norm with weight 1, and its
    tied, rescaled head), with a = the pad token, T5's decoder start, before the first label.
    """
    model, tokenizer = t5_model()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith((".o.weight", ".wo.weight")):
                weight.zero_()
    embedding = model.shared.weight.detach().double().numpy()
    normed = embedding / np.sqrt((embedding**2).mean(axis=1, keepdims=True) + 1e-6)
    logits = normed @ embedding.T / np.sqrt(embedding.shape[1])
    bigram = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def chain(label: str, scored: slice) -> list[float]:
        labels = ids_of(tokenizer, label)
        return [float(bigram[a, b]) for a, b in zip([0, *labels], labels, strict=False)][scored]

    scorer = Seq2SeqScorer(model, tokenizer, INFO)
    sentence, continuation = scores(scorer, [("", "The keys."), ("The keys", " are")])
    # First word: its tokens are the label's first, so that its first token follows the start token directly.
    expected = chain("The <extra_id_0>", slice(0, -2)) + chain("<extra_id_0> keys", slice(1, -1))
    assert sentence.tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)
    assert continuation.tolist() == pytest.approx(chain("<extra_id_0> are", slice(1, None)), abs=TOLERANCE_NATS)


@pytest.mark.parametrize("context", ["The keys to the cabinet", "这本书", "الكلب", "I like 😀", ""])
def test_conditional_t5_scores_the_target_without_eos(context: str) -> None:
    model, tokenizer = t5_model()
    scorer = Seq2SeqScorer(model, tokenizer, INFO, mode="conditional")
    (request,) = scorer.encode([Request(context=context, target=" are on the table.")])
    labels = ids_of(tokenizer, "are on the table.")[:-1]
    assert list(request.ids[request.start :]) == labels
    assert request.flags == ((BLANK_CONTEXT,) if not context else ())
    (values,) = scorer.token_logprobs([request], progress=print)
    expected = naive_labels(model, ids_of(tokenizer, context), labels)
    assert values.tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)


@pytest.mark.parametrize("context", ["The keys to the cabinet", "这本书", "الكلب", "I like 😀", ""])
def test_conditional_bart_starts_with_eos_and_bos_and_scores_neither(context: str) -> None:
    model, tokenizer = bart_model()
    scorer = Seq2SeqScorer(model, tokenizer, INFO)
    assert scorer.info.seq2seq_mode == "conditional"
    (request,) = scorer.encode([Request(context=context, target=" are on the 😀.")])
    (values,) = scorer.token_logprobs([request], progress=print)
    start, bos = 2, 0
    target = tokenizer("are on the 😀.", add_special_tokens=False)["input_ids"]
    encoder_ids = ids_of(tokenizer, context)
    assert (encoder_ids[0], encoder_ids[-1]) == (bos, 2)
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([encoder_ids]), decoder_input_ids=torch.tensor([[start, bos, *target[:-1]]])
        ).logits[0]
    logprobs = torch.log_softmax(logits.double(), dim=-1)
    expected = [float(logprobs[i + 1, token]) for i, token in enumerate(target)]
    assert list(request.ids[request.start :]) == target
    assert values.tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)


def test_a_forced_bos_goes_before_the_tokenizers_own() -> None:
    model, tokenizer = bart_model()
    model.generation_config.forced_bos_token_id = 17
    scorer = Seq2SeqScorer(model, tokenizer, INFO)
    (request,) = scorer.encode([Request(context="The", target=" keys")])
    (part,) = as_request(request).parts
    assert part.labels[0] == 17
    assert part.scored[0] == 1


def test_an_encoder_input_is_encoded_once_whatever_reads_it() -> None:
    model, tokenizer = t5_model()
    seen: list[torch.Tensor] = []
    decoded: list[torch.Tensor] = []
    model.get_encoder().register_forward_pre_hook(
        lambda _module, _args, kwargs: seen.append(kwargs["input_ids"]), with_kwargs=True
    )
    model.register_forward_pre_hook(
        lambda _module, _args, kwargs: decoded.append(kwargs["decoder_input_ids"]), with_kwargs=True
    )
    scorer = Seq2SeqScorer(model, tokenizer, INFO, budget_tokens=30)
    options = [("My answer is", f" {option}") for option in (1, 2, 1)]
    pair = [("", "The keys are lost."), ("", "The keys is lost.")]
    scores(scorer, options + pair)
    rows = [tuple(row.tolist()) for batch in seen for row in batch]
    # 1 for the options; the pair's four words each, less the one input in which the differing word is hidden.
    assert len(rows) == 1 + 4 + 4 - 1
    assert len({tuple(token for token in row if token != 0) for row in rows}) == len(rows)
    assert all(batch.numel() <= 30 for batch in seen)
    # Two distinct options; four words in each sentence.
    assert sum(len(batch) for batch in decoded) == 2 + 8


def test_unknown_characters_are_flagged() -> None:
    scorer = Seq2SeqScorer(*t5_model(), INFO)
    unknown, plain = scorer.encode([Request(context="The", target=" ∀"), Request(context="The ∀", target=" keys")])
    assert (unknown.flags, plain.flags) == ((UNKNOWN_TOKEN,), ())


@pytest.mark.parametrize(
    ("make", "context", "target"),
    [(make, *text) for make in (t5_model, bart_model) for text in (("", ""), ("", "  "), ("The keys", " "))]
    + [(t5_model, "", "."), (t5_model, "The keys", " \n")],
)
def test_a_target_without_a_word_is_an_error_that_names_the_item(make: Any, context: str, target: str) -> None:  # noqa: ANN401
    model, tokenizer = make()
    scorer = Seq2SeqScorer(model, tokenizer, INFO)
    with pytest.raises(ScoringError, match=r"item 7: target .* has no token to score"):
        scorer.encode([Request(context=context, target=target, where="item 7")])


@pytest.mark.parametrize("mode", ["sentinel", "conditional"])
@pytest.mark.parametrize(
    ("context", "target"), [("", "The </s> keys"), ("The </s>", " keys"), ("The", " keys </s>"), ("a </s> b", " c")]
)
def test_a_text_with_special_tokens_of_its_own_is_refused(mode: Seq2SeqMode, context: str, target: str) -> None:
    """Unigram tokenizers have "</s>" among their pieces, so that it is found in plain text too."""
    scorer = Seq2SeqScorer(*t5_model(), INFO, mode=mode)
    with pytest.raises(ScoringError, match=r"item 7: the text has the special token '</s>' in it"):
        scorer.encode([Request(context=context, target=target, where="item 7")])


@pytest.mark.parametrize(("context", "target"), [("", "The <extra_id_0> keys"), ("The", " keys <extra_id_1>")])
def test_a_text_with_sentinels_of_its_own_is_refused_or_read_as_characters(context: str, target: str) -> None:
    model, tokenizer = t5_model()
    request = Request(context=context, target=target, where="item 7")
    with pytest.raises(ScoringError, match=r"item 7: the text has the special token '<extra_id_.>' in it"):
        Seq2SeqScorer(model, tokenizer, INFO, mode="sentinel").encode([request])
    (made,) = Seq2SeqScorer(model, tokenizer, INFO, mode="conditional").encode([request])
    assert not {*made.ids} & {*tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])}


def test_without_sentinels_or_a_start_token_the_remedy_is_named() -> None:
    model, tokenizer = bart_model()
    with pytest.raises(ModelLoadError, match="load the model with seq2seq_mode='conditional'"):
        Seq2SeqScorer(model, tokenizer, INFO, mode="sentinel")
    model.config.decoder_start_token_id = None
    model.generation_config.decoder_start_token_id = None
    with pytest.raises(ModelLoadError, match="states no decoder_start_token_id"):
        Seq2SeqScorer(model, tokenizer, INFO)
