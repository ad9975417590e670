"""Every number against the naive loop: the demo model on BLiMP and LI sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pairbank
from naive_reference import sentence_logprob
from pairbank.scoring.api.names import SPECIAL_TOKEN
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.causal import CausalScorer

if TYPE_CHECKING:
    import datasets


pytestmark = [pytest.mark.model, pytest.mark.upstream]
TOLERANCE_NATS = 1e-3


@pytest.fixture(scope="module")
def pairs(shared: Path) -> datasets.Dataset:
    items = pairbank.load_corpus("blimp", data_dir=shared / "corpora", limit=2)
    return items.select(range(100))


@pytest.mark.ci
@pytest.mark.parametrize("n_pairs", [50, pytest.param(100, marks=pytest.mark.slow)])
def test_direct_scores_of_blimp_sentences_equal_one_sentence_one_pass(
    n_pairs: int, demo_model: CausalScorer, pairs: datasets.Dataset
) -> None:
    scored = pairbank.score(pairs, demo_model, methods=["direct"])
    worst = 0.0
    for row in scored.dataset.select(range(0, 100, 100 // n_pairs)):
        for side in ("good", "bad"):
            expected = sentence_logprob(demo_model.model, demo_model.tokenizer, row[f"target_{side}"])
            worst = max(worst, abs(row[f"direct_{side}"] - expected))
    assert len(scored) == 100
    assert worst <= TOLERANCE_NATS


@pytest.mark.ci
def test_a_text_with_a_special_token_in_it_is_flagged(demo_model: CausalScorer) -> None:
    texts = ("The dog <|im_start|> barks.", "The dog <im_start> barks.", "The dog barks.")
    flags = [one.flags for one in demo_model.encode([Request(context="", target=text) for text in texts])]
    assert flags == [(SPECIAL_TOKEN,), (), ()]
    prompt = demo_model.render_prompt(system="", user="Is it good?", stem="Answer:")
    [chat] = demo_model.encode([Request(context=prompt, target=" Yes", chat=True)])
    assert SPECIAL_TOKEN not in chat.flags
