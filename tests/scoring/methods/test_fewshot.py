"""Answered examples before a question: drawn fairly, reproducibly, and written as each kind of model reads them."""

from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.methods.prompted import Pool, Prompted, Shots
from pairbank.scoring.methods.registry import MethodOptions, method_named
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.prompts.registry import prompts
from tiny_models import ARCHITECTURES, saved_model

METHOD = "meta_question_simple@4shot"


@pytest.fixture
def items() -> datasets.Dataset:
    return pairbank.load_corpus("starter", subset="minimal-pairs").select(range(40))


def deltas(items: datasets.Dataset, *, seed: int = 0, method: str = METHOD) -> dict[str, Any]:
    scored = pairbank.score(items, FakeScorer(), methods=[method], seed=seed)
    return dict(zip(scored["item_id"], scored[f"{method}_delta"], strict=True))


def test_examples_are_other_items_that_share_no_string_and_balance_the_right_answer(items: datasets.Dataset) -> None:
    prompt, rows = prompts()["meta_question_simple"], items.to_list()
    pool = Pool(rows)
    firsts: Counter[str] = Counter()
    for row in rows:
        shots = Shots(n_shots=4, seed=1, pool=pool).examples(prompt, row)
        assert len({e.user for e in shots}) == 4
        assert not [e for e in shots if row["target_good"] in e.user or row["target_bad"] in e.user]
        assert Counter(e.answer for e in shots) == {"1": 2, "2": 2}
        firsts[shots[0].answer] += 1
    assert min(firsts["1"], firsts["2"]) > 8, "the order of the answers is drawn too"
    by_user = {u: "1" for r in rows for u in [f"1: '{r['target_good']}', 2: '{r['target_bad']}'"]}
    for e in Shots(n_shots=8, seed=1, pool=pool).examples(prompt, rows[0]):
        assert by_user.get(e.user.split("? ", 1)[1].split(". Respond")[0], "2") == e.answer


def test_examples_depend_on_seed_item_and_pool_only(items: datasets.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    first = deltas(items)
    assert deltas(items.shuffle(seed=3)) == first
    monkeypatch.setattr(Prompted, "shard_items", 7)
    assert deltas(items) == first
    other = deltas(items, seed=1)
    assert sum(other[k] != first[k] for k in first) > 30
    smaller = deltas(items.select(range(20)))
    assert sum(smaller[k] != first[k] for k in smaller) > 10


def test_the_signature_says_how_many_examples_and_with_what_seed(items: datasets.Dataset) -> None:
    scored = pairbank.score(items, FakeScorer(), methods=["meta_question_simple", METHOD], seed=5)
    definition = scored.signature["methods"][METHOD]
    assert (definition["n_shots"], definition["seed"], len(definition["pool_sha256"])) == (4, 5, 64)
    assert definition["layout"]["method"] == METHOD
    assert "n_shots" not in scored.signature["methods"]["meta_question_simple"]
    hashes = {
        pairbank.score(items, FakeScorer(), methods=[METHOD], seed=s).signature["methods"][METHOD]["sha256"]
        for s in (5, 6)
    }
    assert len(hashes) == 2
    assert set(pairbank.report([scored], n_resamples=10).summary["method"]) == {"meta_question_simple", METHOD}


def test_base_models_read_answered_questions_and_chat_models_turns(items: datasets.Dataset) -> None:
    options = MethodOptions(pool=Pool(items.to_list()))
    method, row = method_named("meta_question_simple@2shot", options=options), items[0]
    base = method.requests(row, FakeScorer())
    blocks = base[0].context.split("\n\n")
    assert len(blocks) == 3
    for block in blocks[:2]:
        question, answer = block.split("\n")
        assert question.startswith("Which sentence is a better English sentence? 1: '")
        assert answer in ("My answer is 1", "My answer is 2")
    assert blocks[2].endswith("\nMy answer is")
    zero = method_named("meta_question_simple").requests(row, FakeScorer())
    assert [r.context.split("\n\n")[2] for r in base] == [r.context for r in zero]
    assert len({r.context.rsplit("\n\n", 1)[0] for r in base}) == 1, "the same examples for both orders"
    chat = method.requests(row, FakeScorer(prompt_format="chat"))[0].context
    assert chat.count("[user]Which sentence is a better") == 3
    assert chat.count("[assistant]My answer is ") == 2
    assert chat.endswith("[assistant]My answer is")


def test_a_judgment_and_a_comparison_of_words_can_have_examples_too() -> None:
    rows = pairbank.load_corpus("starter", subset="plausibility").to_list()
    options = MethodOptions(pool=Pool(rows))
    asked = method_named("hl23_word_comp_meta_question_simple@2shot", options=options).requests(rows[0], FakeScorer())
    before = asked[0].context.split("\n\n")[1:4:2]
    answers = {f"{r['context_good']} {r['target_good']}" for r in rows}
    assert len(before) == 2
    assert set(before) <= answers
    rows = pairbank.load_corpus("starter", subset="minimal-pairs").to_list()
    options = MethodOptions(pool=Pool(rows))
    judged = method_named("hl23_sent_judge_meta_question_simple@4shot", options=options).requests(rows[0], FakeScorer())
    said = Counter(part for part in judged[0].context.split("\n\n") if part in ("Yes", "No"))
    assert said == {"Yes": 2, "No": 2}


def test_a_pool_that_is_too_small_is_an_error() -> None:
    few = pairbank.load_corpus([(f"She saw {n} cats.", f"She saw {n} cat.") for n in ("two", "three", "four")])
    with pytest.raises(ScoringError, match="found 2 of 4 examples for meta_question_simple among 3 items"):
        pairbank.score(few, FakeScorer(), methods=[METHOD])
    with pytest.raises(ScoringError, match="no pool of items to draw examples from"):
        method_named(METHOD).requests(few[0], FakeScorer())


def test_the_chat_template_of_a_model_gets_turns(items: datasets.Dataset, tmp_path: Path) -> None:
    model = load_model(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"), prompt_format="chat", device="cpu")
    asked = method_named(METHOD, options=MethodOptions(pool=Pool(items.to_list()))).requests(items[0], model)[0]
    assert asked.chat
    _, *turns = asked.context.split("<|im_start|>")
    assert [turn.split("\n")[0] for turn in turns] == ["system", *["user", "assistant"] * 5]
    assert [turn.startswith("assistant\nMy answer is ") for turn in turns[2::2]] == [True] * 4 + [False]
    assert turns[-1] == "assistant\nMy answer is"
