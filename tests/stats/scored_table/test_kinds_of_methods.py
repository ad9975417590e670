"""Ratings, predictions and fixed orders in the summary: numbers derived by hand."""

from typing import Any

import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats import MethodLayout, accuracy_pooled, position_bias, summarise
from rated_tables import DIRECT, choice, direct, items_frame, rating

RATING = rating("likert", 3)
FIXED = choice("choice", counterbalanced=False, asked="one")
WORD = MethodLayout(method="ask", kind="prediction", presentations=("asked",), options=("target",), correct=())
SPELT_OUT = choice("words", options=("target_good", "target_bad"), correct=(0, 0), first=(0, 1), accuracy="pooled")
NAN = float("nan")


def values(frame: pd.DataFrame, *layouts: MethodLayout) -> dict[tuple[str, str], float]:
    rows = summarise(frame, layouts, model="m").to_dict("records")
    return {(row["method"], row["metric"]): row["value"] for row in rows}


def rated(**more: Any) -> pd.DataFrame:  # noqa: ANN401
    return items_frame(
        4,
        likert_delta=[0.5, 0.1, -0.2, 0.3],
        likert_logprobs=[[-1.0] * 6] * 4,
        likert_argmax_good=[3.0, 2.0, 2.0, 1.0],
        likert_argmax_bad=[1.0, 2.0, 2.0, 3.0],
        **more,
    )


def test_ties_of_the_likeliest_ratings_are_one_half_or_context_1() -> None:
    result = values(rated(), RATING)
    assert result["likert", "accuracy"] == 0.75
    assert result["likert", "accuracy_argmax"] == (1 + 0.5 + 0.5 + 0) / 4
    assert ("likert", "accuracy_argmax_ties_first") not in result, "the items do not say which context is the first"
    # Ivanova et al. 2024: a tie counts as context 1; it is the better one in both tied items, then in one of them
    assert values(rated(target_number=[2, 1, 1, 2]), RATING)["likert", "accuracy_argmax_ties_first"] == 0.75
    assert values(rated(target_number=["2", "1", "2", "2"]), RATING)["likert", "accuracy_argmax_ties_first"] == 0.5


def test_a_rating_without_its_likeliest_ratings_is_refused() -> None:
    with pytest.raises(BankError, match=r"no columns .*likert_argmax_bad"):
        summarise(rated().drop(columns="likert_argmax_bad"), [RATING], model="m")


def test_a_presentation_that_is_not_asked_is_no_trial() -> None:
    logprobs = [[-0.1, -2.0, NAN, NAN], [NAN, NAN, -0.2, -1.0], [NAN, NAN, -1.0, -0.2], [-0.5, -0.1, NAN, NAN]]
    frame = items_frame(4, choice_delta=[1.9, -0.8, 0.8, -0.4], choice_logprobs=logprobs)
    result = values(frame, FIXED)
    assert result["choice", "accuracy"] == result["choice", "accuracy_pooled"] == 0.5
    assert result["choice", "position_bias"] == 0.5
    always_one = [[-0.1, -2.0, NAN, NAN], [NAN, NAN, -0.2, -1.0]]
    assert position_bias(FIXED.reshape(always_one), FIXED).value == 1.0
    assert accuracy_pooled(FIXED.reshape(always_one), FIXED).n == 2


@pytest.mark.parametrize("broken", [[NAN] * 4, [-1.0, NAN, NAN, NAN], [-1.0, -2.0, NAN, -1.0]])
def test_half_a_presentation_or_none_is_refused(broken: list[float]) -> None:
    frame = items_frame(2, choice_delta=[1.0, 1.0], choice_logprobs=[[-1.0, -2.0, NAN, NAN], broken])
    with pytest.raises(BankError, match=r"toy/0001: choice_logprobs is .*; expected finite numbers"):
        summarise(frame, [FIXED], model="m")


def test_the_option_shown_first_may_differ_between_presentations() -> None:
    # the first word shown wins in both orders: right once, wrong once, and all bias
    logprobs = SPELT_OUT.reshape([[-0.1, -2.0, -2.0, -0.1]])
    assert position_bias(logprobs, SPELT_OUT).value == 1.0
    assert accuracy_pooled(logprobs, SPELT_OUT).value == 0.5


def test_predicted_words_have_a_mean_and_a_correlation_and_no_accuracy() -> None:
    direct, asked = [-1.0, -2.0, -3.0, -5.0], [-2.0, -1.0, -4.0, -6.0]
    empty: dict[str, Any] = dict.fromkeys(("direct_delta", "direct_bad", "ask_delta", "target_bad"), [None] * 4)
    frame = items_frame(4, direct_good=direct, ask_good=asked, ask_logprobs=[[x] for x in asked], **empty)
    result = values(frame, DIRECT, WORD)
    assert result["direct", "mean_logprob"] == -2.75
    assert result["ask", "mean_logprob"] == -3.25
    # sums of products of deviations by hand: 10.25, 8.75 and 14.75; one swap of neighbours in four ranks: 0.8
    assert result["ask", "pearson_logprob"] == pytest.approx(10.25 / (8.75 * 14.75) ** 0.5, abs=1e-12)
    assert result["ask", "spearman_logprob"] == pytest.approx(0.8, abs=1e-12)
    assert not [metric for _, metric in result if "accuracy" in metric]


@pytest.mark.parametrize(
    ("layout", "changes", "message"),
    [
        (RATING, {"sides": ("good",)}, "sides are"),
        (RATING, {"correct": (0, 1)}, "correct is .*; expected none"),
        (SPELT_OUT, {"first": (0, 2)}, "first is .*; expected one index below 2"),
        (WORD, {"options": ()}, "options are .*; expected at least 1"),
        (FIXED, {"asked": "some"}, "asked is 'some'; expected"),
        (FIXED, {"accuracy": "mean"}, "accuracy is 'mean'; expected"),
    ],
)
def test_contradictory_layouts_are_refused(layout: MethodLayout, changes: dict[str, Any], message: str) -> None:
    assert MethodLayout.from_dict(layout.to_dict()) == layout
    with pytest.raises(BankError, match=message):
        MethodLayout.from_dict(layout.to_dict() | changes)


def test_a_rating_has_no_pooled_accuracy() -> None:
    with pytest.raises(BankError, match="likert is a rating; it has no correct options"):
        accuracy_pooled(RATING.reshape([[-1.0] * 6]), RATING)


WRITTEN = choice("free", readout="generation")


def test_texts_without_an_answer_are_counted_over_all_items() -> None:
    # two of two texts, one of two, none; the fourth prompt left no room to write, the fifth was not asked
    frame = items_frame(
        5,
        free_delta=[NAN, 1.0, -1.0, NAN, NAN],
        free_unparsed=[2, 1, 0, 0, None],
        free_flags=[["unparsed"], ["unparsed"], [], ["over_length"], None],
    )
    rows = summarise(frame, [WRITTEN], model="m").set_index("metric")
    assert rows.loc["unparsed", "value"] == pytest.approx((1 + 0.5 + 0) / 3, abs=1e-12)
    assert rows.loc["unparsed", "n"] == 3
    assert rows.loc["accuracy", "n"] == 2
    fixed = MethodLayout.from_dict(WRITTEN.to_dict() | {"asked": "one", "counterbalanced": False})
    one = items_frame(2, free_delta=[NAN, 1.0], free_unparsed=[1, 0], free_flags=[[], []])
    assert values(one, fixed)["free", "unparsed"] == 0.5


def test_a_method_whose_every_answer_is_unparsed_still_has_its_row() -> None:
    frame = items_frame(2, free_delta=[NAN, NAN], free_unparsed=[2, 2], free_flags=[["unparsed"]] * 2)
    assert values(frame, WRITTEN) == {("free", "unparsed"): 1.0}


def test_paradigms_of_written_choices_have_no_orders_to_pool() -> None:
    from pairbank.stats.analyses.paradigms import paradigms as section
    from pairbank.stats.scored_table.method_scores import ScoredFrame

    frame = items_frame(4, free_delta=[1.0, 1.0, -1.0, 0.0], paradigm=["a", "a", "b", "b"])
    made = section([ScoredFrame(corpus="toy", model="m", frame=frame, layouts=(WRITTEN,))])
    assert made.tables["accuracy"][["group", "metric", "value"]].to_numpy().tolist() == [
        ["a", "accuracy", 1.0],
        ["b", "accuracy", 0.25],
    ]


def test_the_mean_of_a_linking_function_is_no_mean_log_probability() -> None:
    slor = direct("slor")
    empty: dict[str, Any] = dict.fromkeys(("direct_delta", "slor_delta", "target_bad"), [None] * 2)
    frame = items_frame(2, direct_good=[-10.0, -20.0], slor_good=[3.0, 4.0], **empty)
    assert values(frame, DIRECT, slor) == {("direct", "mean_logprob"): -15.0}


def test_tasks_are_grouped_where_a_corpus_has_several() -> None:
    frame = items_frame(4, direct_delta=[1.0, 1.0, -1.0, 1.0], task=["sentence_pair"] * 2 + ["context_pair"] * 2)
    rows = summarise(frame, [DIRECT], model="m")
    by_task = rows[rows["group_by"] == "task"].set_index("group")["value"].to_dict()
    assert by_task == {"context_pair": 0.5, "sentence_pair": 1.0}
