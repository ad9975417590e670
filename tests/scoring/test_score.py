"""`score`: columns, signatures, the store, errors; with the fake model."""

import json
from pathlib import Path

import datasets
import numpy as np
import pytest

import pairbank
from counting import Counting
from pairbank.errors import BankError, CorpusError, ScoringError, UnknownNameError
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.signature import signature_line

METHODS = ["direct", "meta_question_simple", "acceptability_judgment_i"]


@pytest.fixture
def scorer() -> Counting:
    Counting.asked.clear()
    return Counting()


@pytest.fixture
def items() -> datasets.Dataset:
    return pairbank.load_corpus("starter")


def test_direct_is_the_sum_of_token_logprobs_and_delta_their_difference(items: datasets.Dataset) -> None:
    fake = FakeScorer()
    rows = pairbank.score(items.select(range(275, 300)), fake).dataset
    for row in rows:
        for side in ("good", "bad"):
            context = row[f"context_{side}"]
            target = f" {row[f'target_{side}']}" if context else row[f"target_{side}"]
            [tokens] = fake.token_logprobs(fake.encode([Request(context=context, target=target)]), progress=print)
            assert row[f"direct_{side}"] == pytest.approx(tokens.sum(), abs=1e-12)
            assert row[f"direct_{side}_n"] == len(target)
        assert row["direct_delta"] == pytest.approx(row["direct_good"] - row["direct_bad"], abs=1e-12)


def test_a_method_that_does_not_apply_leaves_nulls(items: datasets.Dataset) -> None:
    frame = pairbank.score(items, FakeScorer(), methods=METHODS).to_pandas()
    by_subset = frame.groupby("subset")["acceptability_judgment_i_delta"].count().to_dict()
    assert by_subset == {"concepts": 0, "contexts": 0, "minimal-pairs": 280, "plausibility": 0}
    assert set(frame[frame["meta_question_simple_delta"].notna()]["language"]) == {"en"}


def test_a_second_run_asks_the_model_nothing_and_gives_the_same_bytes(
    items: datasets.Dataset, scorer: Counting, tmp_path: Path
) -> None:
    first = pairbank.score(items, scorer, methods=METHODS).save(tmp_path / "first.parquet")
    asked = len(scorer.asked)
    again = pairbank.score(items, scorer, methods=METHODS).save(tmp_path / "again.parquet")
    assert asked > 2 * len(items)
    assert len(scorer.asked) == asked
    assert first.read_bytes() == again.read_bytes()


def test_another_model_never_meets_the_stored_numbers(items: datasets.Dataset) -> None:
    few = items.select(range(5))
    a, b = (pairbank.score(few, FakeScorer(name=name))["direct_good"][:] for name in ("one", "two"))
    assert all(x != y for x, y in zip(a, b, strict=True))


def test_a_new_method_is_scored_without_rescoring_the_others(items: datasets.Dataset, scorer: Counting) -> None:
    few = items.select(range(20))
    pairbank.score(few, scorer, methods=["direct"])
    scorer.asked.clear()
    both = pairbank.score(few, scorer, methods=["meta_question_simple", "direct"])
    assert len(scorer.asked) == 20 * 4
    assert both.methods == ("direct", "meta_question_simple")


def test_saved_scores_read_back_with_their_signature(items: datasets.Dataset, tmp_path: Path) -> None:
    scored = pairbank.score(items.select(range(8)), FakeScorer(), methods=METHODS)
    again = pairbank.read_scored(scored.save(tmp_path / "s.parquet"))
    assert again.signature == json.loads(json.dumps(scored.signature))
    assert again.dataset.features == scored.dataset.features
    assert again.dataset.to_list() == scored.dataset.to_list()
    assert "model:pairbank/fake@1|" in signature_line(again.signature)
    assert again.signature["corpus"]["manifest"]["corpus"] == "starter"
    items.select(range(2)).to_parquet(str(tmp_path / "items.parquet"))
    with pytest.raises(BankError, match="carries no signature"):
        pairbank.read_scored(tmp_path / "items.parquet")


def test_an_over_long_item_is_an_error_or_a_flagged_nan(items: datasets.Dataset) -> None:
    few = items.select(range(3))
    short = FakeScorer(max_length=55)
    with pytest.raises(ScoringError, match=r"starter/minimal-pairs/\d+ \(\w+\): \d+ tokens, but fake takes 55"):
        pairbank.score(few, short)
    scored = pairbank.score(few, short, over_length="nan")
    too_long = [max(len(row["target_good"]), len(row["target_bad"])) > 55 for row in scored.dataset]
    assert any(too_long)
    assert [np.isnan(d) for d in scored["direct_delta"][:]] == too_long
    assert [flags == ["over_length"] for flags in scored["direct_flags"][:]] == too_long
    assert scored.signature["n_by_flag"]["direct"] == {"over_length": sum(too_long)}


def test_identical_sides_are_flagged_and_differ_by_nothing() -> None:
    scored = pairbank.score([("Same.", "Same."), ("A b.", "A c.")], FakeScorer())
    assert scored["direct_delta"][0] == 0
    assert scored["direct_flags"][:] == [["identical_tokens"], []]


def test_braces_in_a_sentence_stay_as_they_are() -> None:
    scored = pairbank.score([("A {bad} b.", "A {0} c.")], FakeScorer(), methods=METHODS)
    assert np.isfinite(scored["meta_question_simple_delta"][0])


def test_bad_calls_say_what_to_do(items: datasets.Dataset) -> None:
    with pytest.raises(UnknownNameError, match="no method 'meta_question'; did you mean 'meta_question_simple'"):
        pairbank.score(items, FakeScorer(), methods=["meta_question"])
    with pytest.raises(ScoringError, match="items lack the column"):
        pairbank.score(items.remove_columns("task"), FakeScorer())
    with pytest.raises(CorpusError, match="one column, 'text'; expected two"):
        pairbank.score(datasets.Dataset.from_dict({"text": ["A."]}), FakeScorer())
    with pytest.raises(ScoringError, match="no items to score"):
        pairbank.score(items.select([]), FakeScorer())
    with pytest.raises(ScoringError, match="no method to score with"):
        pairbank.score(items, FakeScorer(), methods=[])


def test_per_token_logprobs_sum_to_the_score_and_travel_into_a_bank(items: datasets.Dataset, tmp_path: Path) -> None:
    scored = pairbank.score(items.select(range(5)), FakeScorer(), per_token=True)
    for row in scored.dataset:
        for side in ("good", "bad"):
            assert len(row[f"direct_{side}_tokens"]) == row[f"direct_{side}_n"]
            assert sum(row[f"direct_{side}_tokens"]) == pytest.approx(row[f"direct_{side}"], abs=1e-9)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    held = datasets.Dataset.from_parquet(
        str(bank / "data" / "starter" / "items.parquet"), cache_dir=str(tmp_path / "c")
    )
    assert not [name for name in held.column_names if name.startswith("direct")]
