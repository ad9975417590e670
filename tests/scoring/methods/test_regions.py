"""The method `regions`: each region's log-probability against a loop over the whole sentence, for four tokenizers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.methods.direct import Regions
from pairbank.scoring.models.fake import FakeScorer
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

REGIONS = ["The", "", "cook", "he", "said", "burned", "the big house", "."]
SENTENCES = [
    (REGIONS, "The cook he said burned the big house."),
    (["It", "rains", ", she", "says"], "It rains, she says"),
]
MAP = """
layout = "sentences"
[columns]
sentence = "sentence"
[label]
column = "label"
good = [1]
bad = [0]
"""
MODELS = ("gpt2", "llama", "mistral", "gpt-bigcode")
"""Of four tokenizers: byte BPE, BPE and Unigram over metaspaces, characters."""


def items(path: Path) -> Any:  # noqa: ANN401 - a Dataset
    from pairbank.builders.corpora.syntaxgym import joined_with_spans

    made = [joined_with_spans(regions) for regions, _ in SENTENCES]
    assert [text for text, _ in made] == [text for _, text in SENTENCES]
    rows = [{"sentence": text, "region_spans": json.dumps(spans), "label": 1} for text, spans in made]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path.with_name("map.toml").write_text(MAP, encoding="utf-8")
    return pairbank.load_corpus(path)


def naive(model: Any, tokenizer: Any, bos_id: int | None, text: str, spans: list[list[int]]) -> list[float]:  # noqa: ANN401
    """Sum the log-probabilities of the tokens of the whole sentence, by the region that their last character is in."""
    coded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = [bos_id, *coded["input_ids"]]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    sums = [0.0] * len(spans)
    for place, (start, end) in enumerate(coded["offset_mapping"]):
        last = max(end, start + 1, 1)
        region = next(n for n, (first, stop) in enumerate(spans) if first < last <= stop or (last <= first < stop))
        sums[region] += float(logits[place, ids[place + 1]])
    return sums


@pytest.mark.parametrize("name", MODELS)
def test_regions_are_the_sums_over_their_tokens_in_the_whole_sentence(name: str, tmp_path: Path) -> None:
    model = pairbank.load_model(saved_model(ARCHITECTURES[name], tmp_path / name))
    table = pairbank.score(items(tmp_path / "own.jsonl"), model, methods=["regions", "direct"]).dataset
    for row in table:
        spans = json.loads(row["region_spans"])
        assert row["regions_flags"] == []
        expected = naive(model.model, model.tokenizer, model.info.bos_id, row["target_good"], spans)
        assert np.allclose(row["regions_by_region"], expected, atol=1e-3)
        assert row["regions_good"] == pytest.approx(row["direct_good"], abs=1e-3)
        assert row["regions_good_n"] == row["direct_good_n"]
        assert row["regions_bad"] is None
        assert row["regions_delta"] is None
    assert table[0]["regions_by_region"][1] == 0  # the empty region


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_models_that_see_both_sides_are_refused(kind: str, tmp_path: Path) -> None:
    model, tokenizer = masked_model("bert") if kind == "bert" else t5_model()
    loaded = pairbank.load_model(saved(model, tokenizer, tmp_path / kind))
    with pytest.raises(ScoringError, match="regions needs a causal model"):
        pairbank.score(items(tmp_path / "own.jsonl"), loaded, methods=["regions"])


def test_items_without_regions_have_no_score() -> None:
    pairs = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    table = pairbank.score(pairs, FakeScorer(name="one"), methods=["regions"]).dataset
    assert set(table["regions_good"][:]) == {None}


@pytest.mark.parametrize("spans", ["[[0, 3]]", "no JSON", "[[4, 8], [0, 3], [8, 99]]", "[[0, 3], [4]]"])
def test_regions_that_do_not_cover_the_sentence_are_refused(spans: str) -> None:
    row = {"item_id": "own/1", "target_good": "The cook.", "target_bad": None, "region_spans": spans}
    with pytest.raises(ScoringError, match=r"own/1: region_spans is .*; expected a JSON list"):
        Regions().requests(row, FakeScorer(name="one"))


def test_a_bank_of_surprisals_alone_is_whole_with_and_without_texts(tmp_path: Path) -> None:
    sentences = items(tmp_path / "own.jsonl")
    tables = [
        pairbank.score(
            sentences, pairbank.load_model(saved_model(ARCHITECTURES[name], tmp_path / name)), methods=["regions"]
        )
        for name in ("gpt2", "llama")
    ]
    bank = pairbank.write_bank(tmp_path / "bank", scored=tables[:1])
    pairbank.check_bank(bank)
    public = pairbank.strip_texts(bank, tmp_path / "public")
    pairbank.check_bank(public)
    for folder in (bank, public):  # grown by a second model, with results of neither
        pairbank.write_bank(folder, scored=tables[1:])
        pairbank.check_bank(folder)
