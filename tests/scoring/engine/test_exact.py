"""Every number against the naive loop: the demo model on BLiMP and LI sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pairbank
from naive_reference import option_logprobs, sentence_logprob
from pairbank.scoring.api.names import SPECIAL_TOKEN
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.causal import CausalScorer

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.scored import Scored

pytestmark = [pytest.mark.model, pytest.mark.upstream]
TOLERANCE_NATS = 1e-3
QUESTION = "Which sentence is a better English sentence? 1: '{}', 2: '{}'. Respond with 1 or 2 as your answer."
CHAT = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\nMy answer is"
)
OPTIONS = (" 1", " 2")
ACCEPTABLE = "Is the following sentence acceptable in English? {} Respond with 1 if it is {}, and 2 if it is {}."


@pytest.fixture(scope="module")
def pairs(shared: Path) -> datasets.Dataset:
    items = pairbank.load_corpus("blimp", data_dir=shared / "corpora", limit=2)
    return items.select(range(100))


@pytest.fixture(scope="module")
def direct(demo_model: CausalScorer, pairs: datasets.Dataset) -> Scored:
    return pairbank.score(pairs, demo_model, methods=["direct"])


@pytest.fixture(scope="module")
def asked_in_chat(demo_model: CausalScorer, pairs: datasets.Dataset) -> Scored:
    assert demo_model.info.prompt_format == "chat"
    return pairbank.score(pairs.select(range(12)), demo_model, methods=["meta_question_simple"])


@pytest.mark.ci
@pytest.mark.parametrize("n_pairs", [50, pytest.param(100, marks=pytest.mark.slow)])
def test_direct_scores_of_blimp_sentences_equal_one_sentence_one_pass(
    n_pairs: int, demo_model: CausalScorer, direct: Scored
) -> None:
    scored = direct
    worst = 0.0
    for row in scored.dataset.select(range(0, 100, 100 // n_pairs)):
        for side in ("good", "bad"):
            expected = sentence_logprob(demo_model.model, demo_model.tokenizer, row[f"target_{side}"])
            worst = max(worst, abs(row[f"direct_{side}"] - expected))
    assert len(scored) == 100
    assert worst <= TOLERANCE_NATS


@pytest.mark.ci
@pytest.mark.parametrize("prompt_format", ["chat", "base"])
def test_forced_choice_equals_equation_1_of_song_et_al(
    demo_model: CausalScorer, pairs: datasets.Dataset, asked_in_chat: Scored, prompt_format: str
) -> None:
    scorer = _in_format(demo_model, prompt_format)
    if prompt_format == "chat":
        scored = asked_in_chat
    else:
        scored = pairbank.score(pairs.select(range(10)), scorer, methods=["meta_question_simple"])
    for row in scored.dataset.select(range(10)):
        good, bad = row["target_good"], row["target_bad"]
        p1, p2 = (_rendered(QUESTION.format(*sides), prompt_format) for sides in ((good, bad), (bad, good)))
        logp = [
            value
            for prompt in (p1, p2)
            for value in option_logprobs(scorer.model, scorer.tokenizer, prompt, OPTIONS, bos=prompt_format == "base")
        ]
        # equation 1: half of [(log P("1"|p1) - log P("2"|p1)) + (log P("2"|p2) - log P("1"|p2))]
        expected = 0.5 * ((logp[0] - logp[1]) + (logp[3] - logp[2]))
        assert row["meta_question_simple_logprobs"] == pytest.approx(logp, abs=TOLERANCE_NATS)
        assert row["meta_question_simple_delta"] == pytest.approx(expected, abs=TOLERANCE_NATS)


@pytest.mark.ci
@pytest.mark.parametrize("prompt_format", ["chat", "base"])
def test_individual_judgment_equals_the_difference_of_yes_no_differences(
    demo_model: CausalScorer, pairs: datasets.Dataset, prompt_format: str
) -> None:
    scorer = _in_format(demo_model, prompt_format)
    rows = pairbank.score(pairs.select(range(5)), scorer, methods=["acceptability_judgment_i"]).dataset
    for row in rows:
        yes_minus_no = {}
        for side in ("good", "bad"):
            total = 0.0
            for wording, yes, no in (
                (("acceptable", "not acceptable"), 0, 1),
                (("not acceptable", "acceptable"), 1, 0),
            ):
                prompt = _rendered(ACCEPTABLE.format(row[f"target_{side}"], *wording), prompt_format)
                said = option_logprobs(scorer.model, scorer.tokenizer, prompt, OPTIONS, bos=prompt_format == "base")
                total += 0.5 * (said[yes] - said[no])
            yes_minus_no[side] = total
        for side in ("good", "bad"):
            assert row[f"acceptability_judgment_i_{side}"] == pytest.approx(yes_minus_no[side], abs=TOLERANCE_NATS)
        expected = yes_minus_no["good"] - yes_minus_no["bad"]
        assert row["acceptability_judgment_i_delta"] == pytest.approx(expected, abs=TOLERANCE_NATS)


@pytest.mark.ci
def test_padded_and_packed_scores_agree(
    demo_model: CausalScorer, pairs: datasets.Dataset, direct: Scored, asked_in_chat: Scored
) -> None:
    padded = CausalScorer(
        demo_model.model, demo_model.tokenizer, replace(demo_model.info, backend="causal-padded"), batching="padded"
    )
    packed = {"direct": direct.to_pandas()[:12], "meta_question_simple": asked_in_chat.to_pandas()}
    b = pairbank.score(pairs.select(range(12)), padded, methods=[*packed]).to_pandas()
    for method, a in packed.items():
        assert a["item_id"].to_list() == b["item_id"].to_list()
        assert a[f"{method}_good"].to_numpy() == pytest.approx(b[f"{method}_good"].to_numpy(), abs=TOLERANCE_NATS)
        assert a[f"{method}_delta"].to_numpy() == pytest.approx(b[f"{method}_delta"].to_numpy(), abs=TOLERANCE_NATS)


def _in_format(scorer: CausalScorer, prompt_format: str) -> CausalScorer:
    assert prompt_format in ("base", "chat")
    info = replace(scorer.info, prompt_format="chat" if prompt_format == "chat" else "base")
    return CausalScorer(scorer.model, scorer.tokenizer, info)


def _rendered(question: str, prompt_format: str) -> str:
    return CHAT.format(question) if prompt_format == "chat" else question + "\nMy answer is"


@pytest.mark.ci
def test_a_text_with_a_special_token_in_it_is_flagged(demo_model: CausalScorer) -> None:
    texts = ("The dog <|im_start|> barks.", "The dog <im_start> barks.", "The dog barks.")
    flags = [one.flags for one in demo_model.encode([Request(context="", target=text) for text in texts])]
    assert flags == [(SPECIAL_TOKEN,), (), ()]
    prompt = demo_model.render_prompt(system="", user="Is it good?", stem="Answer:")
    [chat] = demo_model.encode([Request(context=prompt, target=" Yes", chat=True)])
    assert SPECIAL_TOKEN not in chat.flags
