"""In-template scores: each equals one forward pass per template, on three tokenizers; what they apply to."""

from pathlib import Path
from typing import Any

import pytest

import pairbank
from naive_reference import target_logprob, tokens_of
from pairbank.errors import ScoringError
from pairbank.scoring.applicability import chosen_methods
from pairbank.scoring.methods.linking_functions import IN_TEMPLATE, TEMPLATES
from pairbank.scoring.models.fake import FakeScorer
from tiny_models import ARCHITECTURES, saved_model

PAIRS = [("A dog barks.", "A dog bark."), ("They see the café.", "They sees the café.")]


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "mamba2"])
def test_each_template_is_one_pass_and_the_mean_is_of_all_five(name: str, tmp_path: Path) -> None:
    model: Any = pairbank.load_model(str(saved_model(ARCHITECTURES[name], tmp_path / "model")), device="cpu")
    scored = pairbank.score(PAIRS, model, methods=[*IN_TEMPLATE])
    for row, sentences in zip(scored.dataset, PAIRS, strict=True):
        for side, sentence in zip(("good", "bad"), sentences, strict=True):
            expected = []
            for template in TEMPLATES:
                ids, n_target = tokens_of(model.tokenizer, template, sentence, model.info.bos_id)
                expected.append(target_logprob(model.model, ids, n_target))
            result = [row[f"in_template_{number}_{side}"] for number in range(1, 6)]
            assert result == pytest.approx(expected, abs=1e-3)
            assert row[f"in_template_{side}"] == pytest.approx(sum(expected) / 5, abs=1e-3)
        assert row["in_template_delta"] == row["in_template_good"] - row["in_template_bad"]


def test_the_templates_are_in_the_definition_and_other_items_are_refused() -> None:
    scored = pairbank.score(PAIRS, FakeScorer(), methods=["in_template", "in_template_2"])
    assert scored.signature["methods"]["in_template"]["templates"] == list(TEMPLATES)
    assert scored.signature["methods"]["in_template_2"]["templates"] == [TEMPLATES[1]]
    with pytest.raises(ScoringError, match="applies to no item: it needs English sentences without a context"):
        chosen_methods(pairbank.load_corpus(PAIRS, language="de"), ["in_template"])
    contexts = pairbank.load_corpus("starter", subset="contexts").select(range(3))
    with pytest.raises(ScoringError, match="applies to no item"):
        chosen_methods(contexts, ["in_template_1"])
