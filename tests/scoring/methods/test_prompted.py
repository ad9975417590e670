"""Prompted methods: what each kind reads, which items are asked, in which format; with the fake model."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pytest

import pairbank
from counting import Counting
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.registry import prompts


def pair(task: str, good: str, bad: str, *contexts: str, **more: str) -> dict[str, Any]:
    texts = {"target_good": good, "target_bad": bad}
    texts |= dict(zip(("context_good", "context_bad"), contexts, strict=False))
    return {"task": task, "language": "en", **texts, **more}


SENTENCES = pair("sentence_pair", "The hens cluck.", "The hens clucks.")
WORDS = pair("continuation_pair", "soup", "gravel", *["The cook stirred the"] * 2)
CONTEXTS = pair(
    "context_pair", *["Mia gives Leo her keys."] * 2, "Mia trusts Leo.", "Mia doubts Leo.", target_number="1"
)
OF_CONCEPTS = {"language": "de", "property": "kann fliegen", "concept_good": "Adler", "concept_bad": "Pinguin"}
CONCEPTS = pair("concept_pair", "Ein Adler kann fliegen.", "Ein Pinguin kann fliegen.", **OF_CONCEPTS)
CHINESE = pair("sentence_pair", "他看了三本书。", "他看了三只书。", language="zh")


def scored(rows: Sequence[Mapping[str, Any]], methods: Sequence[str], model: Any = None) -> Any:  # noqa: ANN401
    return pairbank.score([dict(row) for row in rows], model or FakeScorer(), methods=methods)


def nats(context: str, target: str) -> float:
    fake = FakeScorer()
    [values] = fake.token_logprobs(fake.encode([Request(context=context, target=target)]), progress=print)
    return float(values.sum())


def swapped(row: Mapping[str, Any]) -> dict[str, Any]:
    other = {key.replace("good", "BAD").replace("bad", "good").replace("BAD", "bad"): x for key, x in row.items()}
    return {key: other[key] for key in row}


def test_a_yes_no_judgment_compares_yes_after_both_sentences() -> None:
    row = scored([SENTENCES], ["hl23_sent_judge_meta_question_simple"]).dataset[0]
    asked = "Is the following sentence a good sentence of English? {} Respond with either Yes or No as your answer.\n\n"
    yes_no = [nats(asked.format(SENTENCES[f"target_{s}"]), a) for s in ("good", "bad") for a in ("Yes", "No")]
    name = "hl23_sent_judge_meta_question_simple"
    assert row[f"{name}_logprobs"] == pytest.approx(yes_no, abs=1e-12)
    assert row[f"{name}_good"] == pytest.approx(yes_no[0], abs=1e-12)
    assert row[f"{name}_bad"] == pytest.approx(yes_no[2], abs=1e-12)
    assert row[f"{name}_delta"] == pytest.approx(yes_no[0] - yes_no[2], abs=1e-12)


def test_a_comparison_of_words_averages_both_orders_and_knows_which_word_stood_first() -> None:
    name = "hl23_word_comp_meta_question_complex"
    table = scored([WORDS], [name])
    row = table.dataset[0]
    asked = (
        "Here is the beginning of an English sentence: The cook stirred the... What word is more likely to come next: "
    )
    orders = [asked + f"{a}, or {b}?\n\nAnswer:" for a, b in (("soup", "gravel"), ("gravel", "soup"))]
    values = [nats(order, f" {word}") for order in orders for word in ("soup", "gravel")]
    assert row[f"{name}_logprobs"] == pytest.approx(values, abs=1e-12)
    assert row[f"{name}_delta"] == pytest.approx((values[0] + values[2] - values[1] - values[3]) / 2, abs=1e-12)
    first = [values[0] > values[1], values[3] > values[2]]
    assert row[f"{name}_first_choice"] == np.mean(first)
    [layout] = table.layouts
    assert (layout["options"], layout["first"], layout["correct"]) == (["target_good", "target_bad"], [0, 1], [0, 0])
    bias = pairbank.report([table], n_resamples=10).summary.set_index("metric")["value"]
    assert bias["position_bias"] == np.mean(first)
    assert bias["accuracy_pooled"] == np.mean([values[0] > values[1], values[2] > values[3]])


def test_a_rating_is_the_mean_under_the_renormalised_probabilities_of_the_options() -> None:
    table = scored([CONTEXTS], ["ewok24_likert"])
    row = table.dataset[0]
    logprobs = np.array(row["ewok24_likert_logprobs"]).reshape(2, 5)
    for side, values in zip(("good", "bad"), logprobs, strict=True):
        weights = [math.exp(x) for x in values]
        expected = sum(w * rating for rating, w in enumerate(weights, 1)) / sum(weights)
        assert row[f"ewok24_likert_{side}"] == pytest.approx(expected, abs=1e-9)
        assert row[f"ewok24_likert_argmax_{side}"] == 1 + int(np.argmax(values))
    assert row["ewok24_likert_delta"] == pytest.approx(row["ewok24_likert_good"] - row["ewok24_likert_bad"], abs=1e-9)
    asked = method_named("ewok24_likert").requests(row, FakeScorer())[0].context
    assert '## Scenario\n"Mia trusts Leo. Mia gives Leo her keys."\n' in asked
    metrics = set(pairbank.report([table], n_resamples=10).summary["metric"])
    assert {"accuracy", "accuracy_argmax", "accuracy_argmax_ties_first"} <= metrics
    assert not {"accuracy_pooled", "position_bias"} & metrics


def test_a_predicted_word_has_a_log_probability_and_no_difference() -> None:
    words = ("soup", "sauce", "stew", "batter", "porridge")
    asked = {"task": "word_prediction", "context_good": "The cook stirred the"}
    rows = [made_item(f"toy/a/{w}", w, **asked).row() for w in words]
    name = "hl23_word_pred_meta_question_simple"
    items = datasets.Dataset.from_list(rows, features=features())
    table = pairbank.score(items, FakeScorer(), methods=["direct", name])
    row = table.dataset[0]
    question = "What word is most likely to come next in the following sentence?\n\nThe cook stirred the"
    assert row[f"{name}_good"] == pytest.approx(nats(question, " soup"), abs=1e-12)
    assert row[f"{name}_logprobs"] == [row[f"{name}_good"]]
    assert row[f"{name}_delta"] is row[f"{name}_bad"] is row["direct_delta"] is None
    made = pairbank.report([table], n_resamples=50)
    cell = made.summary.set_index(["method", "metric"])
    frame = table.to_pandas()
    for method in ("direct", name):
        assert cell.loc[(method, "mean_logprob"), "value"] == pytest.approx(frame[f"{method}_good"].mean(), abs=1e-12)
    r = np.corrcoef(frame["direct_good"], frame[f"{name}_good"])[0, 1]
    assert cell.loc[(name, "pearson_logprob"), "value"] == pytest.approx(r, abs=1e-12)
    assert set(made.accuracy["mean log P (nats)"]) != {""}
    assert "Mean log P" in made.markdown()


def test_a_fixed_order_asks_each_item_once_as_its_number_says() -> None:
    second = swapped(CONTEXTS) | {"target_number": "2", "target_good": "Mia hides her keys."}
    rows = [CONTEXTS, second | {"target_bad": second["target_good"]}, CONTEXTS | {"target_number": "3"}]
    table = scored(rows, ["social24_choice", "social24_choice_both_orders"])
    fixed = np.array([row["social24_choice_logprobs"] or [np.nan] * 4 for row in table.dataset], dtype=float)
    assert np.isnan(fixed).tolist() == [[False, False, True, True], [True, True, False, False], [True] * 4]
    both = np.array(table["social24_choice_both_orders_logprobs"][:])
    assert fixed[0, :2].tolist() == both[0, :2].tolist()
    assert table["social24_choice_delta"][:2] == pytest.approx([fixed[0, 0] - fixed[0, 1], fixed[1, 3] - fixed[1, 2]])
    assert table.signature["n_by_flag"]["social24_choice"] == {"missing:target_number": 1}
    # contexts 1 and 2 of both items stand in the order of the source
    for row, places in zip(table.dataset, ("good bad", "bad good"), strict=False):
        [asked, _] = method_named("social24_choice").requests(row, FakeScorer())
        one, two = (row[f"context_{side}"] for side in places.split())
        assert f'Contexts:\n1. "{one}"\n2. "{two}"\nScenario:\n' in asked.context
    estimates = pairbank.report([table], n_resamples=10).summary.to_dict("records")
    values = {x["metric"]: x["value"] for x in estimates if x["method"] == "social24_choice"}
    n_right = sum(x > 0 for x in table["social24_choice_delta"][:2])
    assert values["accuracy"] == values["accuracy_pooled"] == n_right / 2
    assert values["position_bias"] == np.mean([fixed[0, 0] > fixed[0, 1], fixed[1, 2] > fixed[1, 3]])


def test_an_item_without_a_text_for_a_slot_is_not_asked_and_says_why() -> None:
    rows = [CONCEPTS, CONCEPTS | {"property": "", "target_good": "Ein Spatz kann fliegen."}]
    table = scored(rows, ["xcomps_meta"])
    assert [x is None for x in table["xcomps_meta_delta"][:]] == [False, True]
    assert table["xcomps_meta_flags"][:] == [[], ["missing:property"]]
    assert table.signature["n_by_flag"]["xcomps_meta"] == {"missing:property": 1}


def test_length_normalised_options_are_log_probabilities_per_token() -> None:
    table = scored([CONCEPTS], ["xcomps_meta", "xcomps_meta_normalised"])
    whole, normalised = table["xcomps_meta_logprobs"][0], table["xcomps_meta_normalised_logprobs"][0]
    n_tokens = [len("Adler"), len("Pinguin")] * 2  # the fake model has one token a character
    assert normalised == pytest.approx([x / n for x, n in zip(whole, n_tokens, strict=True)], abs=1e-12)


def test_words_that_are_the_same_are_flagged_and_differ_by_nothing() -> None:
    table = scored([WORDS | {"target_bad": "soup"}, WORDS], ["hl23_word_comp_meta_instruct"])
    assert table["hl23_word_comp_meta_instruct_delta"][0] == 0
    assert table["hl23_word_comp_meta_instruct_flags"][:] == [["identical_tokens"], []]


def test_prompts_of_plain_text_stay_so_for_chat_models_unless_asked() -> None:
    chat, row = FakeScorer(prompt_format="chat"), dict(SENTENCES, item_id="a", context_good="", context_bad="")
    [plain, *_] = method_named("hl23_sent_comp_meta_question_complex").requests(row, chat)
    [base, *_] = method_named("hl23_sent_comp_meta_question_complex").requests(row, FakeScorer())
    assert (plain.context, plain.target, plain.chat) == (base.context, base.target, False)
    [rendered, *_] = method_named("hl23_sent_comp_meta_question_complex@chat").requests(row, chat)
    assert rendered.chat
    assert rendered.context.endswith("as your answer.[assistant]Answer:")
    assert rendered.target == " 1"


def test_a_word_that_opens_the_assistants_turn_has_no_separator() -> None:
    row = dict(WORDS, item_id="a")
    for scorer, target in ((FakeScorer(), " soup"), (FakeScorer(prompt_format="chat"), "soup")):
        assert method_named("meta_question_simple_direct").requests(row, scorer)[0].target == target


ALL_ITEMS = (SENTENCES, WORDS, CONTEXTS, CONCEPTS, CONCEPTS | {"language": "en"}, CHINESE)
SYMMETRIC = ["direct", *(p.id for p in prompts().values() if p.counterbalanced and p.readout == "options")]


def test_swapping_good_and_bad_flips_every_counterbalanced_delta() -> None:
    n_flipped = 0
    for row in ALL_ITEMS:
        pair = [row, swapped(row)]
        rows = scored(pair, SYMMETRIC).dataset.to_list()
        for method in SYMMETRIC:
            a, b = (x[f"{method}_delta"] for x in rows)
            assert (a is None) == (b is None), method
            if a is not None:
                assert a == pytest.approx(-b, abs=1e-9), method
                n_flipped += 1
    two_sided = [name for name in SYMMETRIC if name == "direct" or prompts()[name].kind != "prediction"]
    assert n_flipped > len(two_sided), "every two-sided method applies to one of the items"


def test_what_is_not_counterbalanced_does_not_flip() -> None:
    for row, method in ((CONTEXTS, "ewok24_choice"), (SENTENCES, "acceptability_judgment_i_code")):
        a, b = scored([row, swapped(row)], [method])[f"{method}_delta"][:]
        assert abs(a + b) > 1e-3


def test_equal_requests_of_several_methods_and_items_are_asked_once() -> None:
    Counting.asked.clear()
    # a rating of the same strings in two items with exchanged sides; two methods with the same question
    rows = [CONTEXTS, swapped(CONTEXTS)]
    methods = ["social24_choice", "social24_choice_both_orders", "social24_likert"]
    table = scored(rows, methods, Counting(name="counting"))
    assert len(Counting.asked) == len({(one.ids, one.start) for one in Counting.asked}) == 2 * 2 + 2 * 5
    assert table["social24_likert_delta"][0] == pytest.approx(-table["social24_likert_delta"][1])
