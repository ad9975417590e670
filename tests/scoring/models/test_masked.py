"""Pseudo-log-likelihoods against a loop of one hidden token, one input, one forward pass, that shares no code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.api.names import BOUNDARY_MERGE, UNKNOWN_TOKEN
from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.logprobs import read_logprobs_nats
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.masked import MaskedScorer, Pll
from tiny_bidirectional_models import SIZES, masked_model, saved, scores
from tiny_models import tiny_info

FAMILIES = ["bert", "roberta", "xlm-r"]
VARIANTS: list[Pll] = ["original", "within_word_l2r"]
TOLERANCE_NATS = 1e-4
INFO = tiny_info("masked")

ENGLISH = ("", "The unbelievable stories don't end.")
IN_CONTEXT = ("The keys to the cabinet", " are on the unbelievable table.")
CHINESE = ("这本书", "很好那只狗")
ARABIC = ("", "الكلب يركض في الحديقة")
EMOJI = ("I like", " 😀😀 pizza")
# Words written out by hand, as each family's pre-tokenizer has them; their pieces are looked up by characters.
BY_SPACES = {text: "".join(text).split() for text in (ENGLISH, IN_CONTEXT, CHINESE, ARABIC, EMOJI)}
WORDS = {
    "bert": BY_SPACES
    | {
        ENGLISH: ["The", "unbelievable", "stories", "don", "'", "t", "end", "."],
        IN_CONTEXT: ["The", "keys", "to", "the", "cabinet", "are", "on", "the", "unbelievable", "table", "."],
        CHINESE: list("这本书很好那只狗"),
    },
    "roberta": BY_SPACES
    | {
        ENGLISH: ["The", "unbelievable", "stories", "don", "'t", "end", "."],
        IN_CONTEXT: ["The", "keys", "to", "the", "cabinet", "are", "on", "the", "unbelievable", "table", "."],
    },
    "xlm-r": BY_SPACES,
}


def naive_token_logprobs(
    model: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    text: tuple[str, str],
    words: list[str],
    *,
    pll: Pll,
) -> list[float]:
    """Hide the target's tokens one by one, each with an input and a forward pass of its own."""
    context, target = text
    whole = context + target
    spans, at = [], 0
    for word in words:
        at = whole.index(word, at)
        spans.append((at, at + len(word)))
        at += len(word)
    encoding = tokenizer(whole, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, offsets, special = (encoding[name] for name in ("input_ids", "offset_mapping", "special_tokens_mask"))
    word_of = [
        None if is_special else next(i for i, (_, word_end) in enumerate(spans) if start < word_end)
        for (start, _), is_special in zip(offsets, special, strict=True)
    ]
    result = []
    for i, (_, end) in enumerate(offsets):
        if special[i] or end <= len(context.rstrip(" ")):
            continue
        masked = list(ids)
        for j in range(i, len(ids)):
            if j == i or (pll == "within_word_l2r" and word_of[j] == word_of[i]):
                masked[j] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([masked])).logits[0, i].double()
        result.append(float(torch.log_softmax(logits, dim=-1)[ids[i]]))
    return result


def sizes_of_passes(model: Any, run: Any) -> list[tuple[int, int]]:  # noqa: ANN401
    """Return the (rows, columns) of each forward pass that `run` makes."""
    seen: list[tuple[int, int]] = []
    handle = model.register_forward_pre_hook(
        lambda _module, _args, kwargs: seen.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    try:
        run()
    finally:
        handle.remove()
    return seen


@pytest.mark.parametrize("pll", VARIANTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_token_equals_one_hidden_token_one_forward_pass(family: str, pll: Pll) -> None:
    model, tokenizer = masked_model(family)
    texts = [ENGLISH, IN_CONTEXT, CHINESE, ARABIC, EMOJI]
    result = scores(MaskedScorer(model, tokenizer, INFO, pll=pll), texts)
    for text, values in zip(texts, result, strict=True):
        expected = naive_token_logprobs(model, tokenizer, text, WORDS[family][text], pll=pll)
        assert values.dtype == np.float64
        assert values.tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)


ARCHITECTURES: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2},
    "albert": SIZES | {"embedding_size": 8},
    "electra": SIZES | {"embedding_size": 8},
    "deberta-v2": SIZES | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": 20},
    "modernbert": SIZES | {"local_attention": 8, "global_attn_every_n_layers": 2},
}


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_other_heads_and_position_schemes_are_exact_too(model_type: str) -> None:
    from transformers import AutoConfig, AutoModelForMaskedLM

    _, tokenizer = masked_model("bert")
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        model_type, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **ARCHITECTURES[model_type]
    )
    auto: Any = AutoModelForMaskedLM
    model = auto.from_config(config).train(mode=False)
    scorer = MaskedScorer(model, tokenizer, INFO, pll="within_word_l2r")
    assert scorer._head_on_rows
    texts = [ENGLISH, IN_CONTEXT, CHINESE]
    for text, values in zip(texts, scores(scorer, texts), strict=True):
        expected = naive_token_logprobs(model, tokenizer, text, WORDS["bert"][text], pll="within_word_l2r")
        assert values.tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)


def test_what_looks_like_a_mask_in_a_text_is_scored_as_characters() -> None:
    model, tokenizer = masked_model("roberta")
    (request,) = MaskedScorer(model, tokenizer, INFO).encode([Request(context="", target="a <mask>")])
    assert tokenizer.mask_token_id not in request.ids
    assert tokenizer.decode(request.ids[request.start :]) == "a <mask>"


def test_a_special_token_that_is_also_a_piece_of_the_vocabulary_is_refused() -> None:
    scorer = MaskedScorer(*masked_model("xlm-r"), INFO)
    with pytest.raises(ScoringError, match=r"item 7: the text has the special token '</s>' in it"):
        scorer.encode([Request(context="The </s>", target=" keys", where="item 7")])


def test_a_batch_holds_at_most_the_budget_and_only_inputs_of_like_length() -> None:
    model, tokenizer = masked_model("bert")
    scorer = MaskedScorer(model, tokenizer, INFO, budget_tokens=60)
    passes = sizes_of_passes(model, lambda: scores(scorer, [ENGLISH, IN_CONTEXT, ("", "The keys")]))
    assert len(passes) > 3
    assert all(rows * columns <= 60 for rows, columns in passes)
    assert [columns for _, columns in passes] == sorted((columns for _, columns in passes), reverse=True)


def test_a_minimal_pair_shares_the_input_in_which_its_difference_is_hidden() -> None:
    model, tokenizer = masked_model("bert")
    scorer = MaskedScorer(model, tokenizer, INFO)
    good, bad = ("", "这本书很好"), ("", "这只书很好")
    passes = sizes_of_passes(model, lambda: scores(scorer, [good, bad, good]))
    assert sum(rows for rows, _ in passes) == 2 * 5 - 1


@pytest.mark.parametrize("family", FAMILIES)
def test_the_head_is_applied_to_the_hidden_rows_only(family: str) -> None:
    model, tokenizer = masked_model(family)
    scorer = MaskedScorer(model, tokenizer, INFO)
    with_rows = scores(scorer, [ENGLISH])[0]
    assert scorer._head_on_rows
    scorer._head_on_rows = False
    assert with_rows.tolist() == pytest.approx(scores(scorer, [ENGLISH])[0].tolist(), abs=TOLERANCE_NATS)
    assert not model.base_model._forward_hooks


def test_a_head_that_looks_at_its_neighbours_gets_all_rows() -> None:
    model, tokenizer = masked_model("bert")
    head = model.cls.forward
    model.cls.forward = lambda hidden: head(hidden + hidden.mean(dim=1, keepdim=True))
    scorer = MaskedScorer(model, tokenizer, INFO)
    assert not scorer._head_on_rows
    expected = naive_token_logprobs(model, tokenizer, ENGLISH, WORDS["bert"][ENGLISH], pll="original")
    # The head's mean runs over pads too, so that only unpadded inputs compare; one sentence has one length.
    assert scores(scorer, [ENGLISH])[0].tolist() == pytest.approx(expected, abs=TOLERANCE_NATS)


def test_bfloat16_logits_are_normalised_in_float32() -> None:
    logits = (torch.arange(2000).reshape(2, 1000) % 37 / 10).bfloat16()
    rows, tokens = np.array([0, 1, 1]), np.array([3, 3, 999])
    result = read_logprobs_nats(logits, rows=rows, tokens=tokens, model_name="tiny")()
    exact = torch.log_softmax(logits.double(), dim=-1)[rows, tokens].numpy()
    # bfloat16 has 8 bits: a log-probability near -9 would be off by up to 0.03.
    assert result == pytest.approx(exact, abs=1e-5)


def test_a_bfloat16_model_is_scored() -> None:
    model, tokenizer = masked_model("bert")
    in_float32 = scores(MaskedScorer(model, tokenizer, INFO), [ENGLISH])[0]
    in_bfloat16 = scores(MaskedScorer(model.to(torch.bfloat16), tokenizer, INFO), [ENGLISH])[0]
    assert in_bfloat16 == pytest.approx(in_float32, abs=0.3)


def test_a_merge_at_the_join_and_an_unknown_character_are_flagged() -> None:
    model, tokenizer = masked_model("bert")
    scorer = MaskedScorer(model, tokenizer, INFO)
    merged, unknown, plain = scorer.encode(
        [
            Request(context="Th", target="e keys"),
            Request(context="", target="The ∀ keys"),
            Request(context="The ∀", target=" keys"),
        ]
    )
    assert (merged.flags, unknown.flags, plain.flags) == ((BOUNDARY_MERGE,), (UNKNOWN_TOKEN,), ())


def test_an_empty_target_is_an_error_that_names_the_item() -> None:
    scorer = MaskedScorer(*masked_model("bert"), INFO)
    for target in ("", "   "):
        with pytest.raises(ScoringError, match=r"item 7: target .* has no token to score"):
            scorer.encode([Request(context="", target=target, where="item 7")])


@pytest.mark.parametrize(("family", "n_positions"), [("bert", 24), ("roberta", 26)])
def test_the_longest_text_that_fits_is_scored_and_one_token_more_is_over_length(
    family: str, n_positions: int, tmp_path: Path
) -> None:
    # 22 tokens of text: two special tokens, and RoBERTa's position table loses the rows up to the padding index, 1.
    scorer = load_model(saved(*masked_model(family, n_positions=n_positions), tmp_path / "short"), device="cpu")
    assert scorer.info.max_length == 22
    piece = {"bert": "1 ", "roberta": "1"}[family]
    items = pairbank.load_corpus("starter", limit=1).select([0])
    for n_tokens, is_over in ((22, False), (23, True)):
        item = items.map(lambda _row, text=piece * n_tokens: {"target_good": text})
        row = pairbank.score(item, scorer, methods=["direct"], over_length="nan").dataset[0]
        assert row["direct_good_n"] == n_tokens
        assert np.isnan(row["direct_good"]) == is_over
