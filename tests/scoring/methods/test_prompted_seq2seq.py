"""Prompts asked of encoder-decoders in Hu & Levy's framing, and unknown tokens of causal models."""

from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerBase

from made_items import made_item
from pairbank.scoring.api.method import Answered
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.models.seq2seq import Seq2SeqScorer
from tiny_bidirectional_models import t5_model
from tiny_models import tiny_info

INFO = tiny_info("seq2seq")
BEFORE = "The keys to the cabinet"
WORDS = made_item("a/all/1", "are", "on", task="continuation_pair", context_good=BEFORE, context_bad=BEFORE).row()
SENTENCES = made_item("a/all/2", "The keys are lost.", "The keys is lost.").row()
# Hu & Levy's code for Flan-T5: the input is the template with the continuation replaced by the sentinel, the label
# `<extra_id_0> {continuation}`, and the log-probabilities of labels[1:] are summed, `</s>` included.
FRAMED = {
    "hl23_word_comp_meta_question_simple": (
        WORDS,
        (
            "What word is most likely to come next in the following sentence (are, or on?)?\n\nThe keys to the cabinet"
            " <extra_id_0>"
        ),
        ("are", "on"),
    ),
    "hl23_word_comp_meta_question_complex": (
        WORDS,
        (
            "Here is the beginning of an English sentence: The keys to the cabinet... What word is more likely to come "
            "next: are, or on?\n\nAnswer: <extra_id_0>"
        ),
        ("are", "on"),
    ),
    "hl23_sent_judge_meta_question_simple": (
        SENTENCES,
        (
            "Is the following sentence a good sentence of English? The keys are lost. Respond with either Yes or No as "
            "your answer.\n\n<extra_id_0>"
        ),
        ("Yes", "No"),
    ),
}


def naive_nats(model: Any, tokenizer: PreTrainedTokenizerBase, text: str, label: str) -> float:  # noqa: ANN401
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    labels = tokenizer(f"<extra_id_0> {label}", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logprobs = model(input_ids=ids, labels=labels).logits[0].double().log_softmax(-1)
    return float(sum(logprobs[i, token] for i, token in enumerate(labels[0].tolist()) if i > 0))


@pytest.mark.parametrize("name", FRAMED)
def test_prompts_are_framed_as_hu_and_levys_code_frames_them(name: str) -> None:
    model, tokenizer = t5_model()
    scorer = Seq2SeqScorer(model, tokenizer, INFO)
    row, text, labels = FRAMED[name]
    method = method_named(name)
    encoded = scorer.encode(method.requests(row, scorer))
    values = scorer.token_logprobs(encoded, progress=lambda _n: None)
    answers = [Answered(request=e, logprobs_nats=v) for e, v in zip(encoded, values, strict=True)]
    result = method.values(answers, row)[f"{name}_logprobs"]
    expected = [naive_nats(model, tokenizer, text, label) for label in labels]
    assert result[:2] == pytest.approx(expected, abs=1e-4)
