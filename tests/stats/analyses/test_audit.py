"""The audit finds each fault that is planted, says its effect, seldom finds one where none is, and hides nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairbank
from nulls.audit import clean_tables, looked_at
from pairbank.stats.analyses.audit.section import audit as section
from pairbank.stats.report.frames import scored_frame
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import keyed

N = 200
Change = Callable[[pd.DataFrame], object]


def with_fault(change: Change, *, models: Sequence[int] = (1,), n_items: int = N) -> list[ScoredFrame]:
    """Clean tables of three models, some of which are changed."""
    tables = clean_tables(n_items)
    for nth in models:
        frame = tables[nth].frame.copy(deep=True)
        change(frame)
        tables[nth] = replace(tables[nth], frame=frame)
    return tables


def answers(frame: pd.DataFrame, first: str, second: str, rows: slice = slice(None)) -> None:
    """Give the judge's answers in both orders to some rows."""
    cells = frame["judge_answers"].to_list()
    cells[rows] = [[first, second]] * len(cells[rows])
    right = np.array([[cell[0] == "1", cell[1] == "2"] for cell in cells]).mean(axis=1)
    frame["judge_answers"] = cells
    frame["judge_delta"] = 2 * right - 1


def always_first(frame: pd.DataFrame) -> None:
    lists = np.array([[-0.1, -2.5, -0.1, -2.5]] * len(frame)) - np.random.default_rng(3).random((len(frame), 4)) / 20
    frame["meta_logprobs"] = list(lists)
    frame["meta_delta"] = lists[:, 0] - lists[:, 1] + lists[:, 3] - lists[:, 2]


def mostly_first(frame: pd.DataFrame) -> None:
    frame["meta_logprobs"] = [cell + np.array([1.0, 0, 1.0, 0]) - 1.1 for cell in frame["meta_logprobs"]]


def shorter_is_right(frame: pd.DataFrame) -> None:
    length = frame["target_good"].str.len() - frame["target_bad"].str.len()
    frame["direct_good"] -= 0.4 * length
    frame["direct_delta"] = frame["direct_good"] - frame["direct_bad"]


def no_probabilities(frame: pd.DataFrame) -> None:
    frame[["direct_good", "direct_bad", "direct_delta"]] = 0.0


def zero_on_some(frame: pd.DataFrame) -> None:
    frame.loc[:9, "direct_good"] = 0.0
    frame["direct_delta"] = frame["direct_good"] - frame["direct_bad"]


def coins(frame: pd.DataFrame) -> None:
    frame["direct_delta"] = np.random.default_rng(0).permutation(np.tile([-1.1, 1.2], len(frame) // 2))
    frame["direct_good"] = frame["direct_bad"] + frame["direct_delta"]


def unread(frame: pd.DataFrame) -> None:
    answers(frame, "2", "1")


def missing(frame: pd.DataFrame) -> None:
    frame.loc[:49, ["direct_good", "direct_bad", "direct_delta"]] = np.nan


def same_sides(frame: pd.DataFrame) -> None:
    frame.loc[:9, "target_bad"] = frame.loc[:9, "target_good"]


def hidden_spaces(frame: pd.DataFrame) -> None:
    frame.loc[:7, "target_bad"] = "\u00a0" + frame.loc[:7, "target_bad"]
    frame.loc[8:11, "target_good"] = frame.loc[8:11, "target_good"] + "\u200b"


def same_tokens(frame: pd.DataFrame) -> None:
    frame["direct_flags"] = [["identical_tokens"] if i < 10 else [] for i in range(len(frame))]


def twice(frame: pd.DataFrame) -> None:
    frame.loc[:19, ["target_good", "target_bad"]] = frame.loc[20:39, ["target_good", "target_bad"]].to_numpy()
    frame.loc[40, ["target_good", "target_bad"]] = frame.loc[41, ["target_bad", "target_good"]].to_numpy()


def prompts_change(frame: pd.DataFrame) -> None:
    pairs = zip(frame["target_good"], frame["target_bad"], strict=True)
    frame["prompt"] = [
        f"Which is better? 1: {a} 2: {b}" if i % 5 else f"{'Choose' if i % 2 else 'Pick'} one: {b} or {a}"
        for i, (a, b) in enumerate(pairs)
    ]


def one_template(frame: pd.DataFrame) -> None:
    pairs = zip(frame["target_good"], frame["target_bad"], strict=True)
    frame["prompt"] = [f"Which? {a} {b}" if i % 2 else f"Which? {b} {a}" for i, (a, b) in enumerate(pairs)]


def other_texts(frame: pd.DataFrame) -> None:
    frame.loc[:4, "target_good"] += "."


def tied(frame: pd.DataFrame) -> None:
    frame.loc[:59, "direct_delta"] = 0.0
    frame.loc[:59, "direct_good"] = frame.loc[:59, "direct_bad"]


PLANTED: dict[str, tuple[Change, str, str]] = {
    "items without a score": (missing, "no_answer", "direct"),
    "all answers wrong": (unread, "zero", "judge"),
    "coins": (coins, "chance", "direct"),
    "always the first option": (always_first, "constant", "meta"),
    "mostly the first option": (mostly_first, "position", "meta"),
    "ties": (tied, "ties", "direct"),
    "a server without probabilities": (no_probabilities, "scores", "direct"),
    "probabilities of 1": (zero_on_some, "scores", "direct"),
    "identical tokens": (same_tokens, "tokens", "direct"),
    "the shorter side": (shorter_is_right, "length_choice", "direct"),
    "prompts change": (prompts_change, "prompts", ""),
    "texts change": (other_texts, "items", ""),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_in_the_model_that_has_it_and_in_no_other(name: str) -> None:
    change, check, method = PLANTED[name]
    tables = with_fault(change, n_items=1600 if name == "coins" else N)
    result = [one for one in looked_at(tables) if one.check == check and one.method in (method, "")]
    assert {one.model for one in result} <= {"m1", ""}
    assert result, f"{name} is not found"
    assert all(one.said for one in result)
    assert result[0].check == "zero" or result[0].n_concerned > 0


@pytest.mark.parametrize(
    ("change", "check"),
    [(same_sides, "identical"), (twice, "repeated"), (hidden_spaces, "unseen")],
    ids=["identical sides", "repeated pairs", "what a reader does not see"],
)
def test_a_fault_of_the_items_is_told_once_with_its_largest_effect(change: Change, check: str) -> None:
    (result,) = [one for one in looked_at(with_fault(change, models=(0, 1, 2))) if one.check == check]
    assert result.n_concerned == {"identical": 10, "repeated": 22, "unseen": 12}[check]
    assert 0 < abs(result.without - result.headline) < 0.2


def test_a_copied_model_is_found_and_the_mean_over_models_is_told_without_it() -> None:
    tables = clean_tables(N)
    tables[2] = replace(tables[2], frame=tables[0].frame)
    result = [one for one in looked_at(tables) if one.check == "copies"]
    assert {(one.model, one.method) for one in result} == {("m2", "direct"), ("m2", "meta"), ("m2", "judge")}
    line = section(tables).tables["findings"]
    line = line[(line["what"] == "scores of another model") & line["where"].str.contains("direct")]
    every = [(t.frame["direct_delta"] > 0).mean() for t in tables]
    assert line["headline"].iloc[0] == pytest.approx(np.mean(every))
    assert line["without"].iloc[0] == pytest.approx(np.mean(every[:2]))


def test_two_good_models_with_the_same_answers_are_no_copies() -> None:
    def nearly_all_right(frame: pd.DataFrame) -> None:
        answers(frame, "1", "2")
        answers(frame, "2", "1", slice(0, 5))

    tables = with_fault(nearly_all_right, models=(0, 1))
    assert not [one for one in looked_at(tables) if one.check == "copies"]


def test_one_prompt_in_both_orders_is_no_change() -> None:
    assert not [one for one in looked_at(with_fault(one_template)) if one.check == "prompts"]


def test_another_definition_under_the_same_name_is_found() -> None:
    tables = clean_tables(N)
    tables[2] = replace(tables[2], signature={"methods": {"meta": {"sha256": "another"}}})
    (result,) = [one for one in looked_at(tables) if one.check == "definitions"]
    assert result.method == "meta"
    assert "2 ways" in result.said


def test_sides_whose_length_tells_which_is_better_are_found_without_a_model() -> None:
    def longer(frame: pd.DataFrame) -> None:
        frame["target_good"] = frame["target_good"].str.ljust(60, "x")

    (result,) = [one for one in looked_at(with_fault(longer, models=(0, 1, 2))) if one.check == "lengths"]
    assert result.headline == 1.0


def test_what_is_not_checked_is_said_and_nothing_found_is_not_all_fine() -> None:
    tables = [replace(t, layouts=t.layouts[:1]) for t in clean_tables(N)[:1]]
    made = section(tables)
    assert made.answer.startswith("**No artefact was found**")
    assert "position bias" in made.answer
    why = made.tables["not_checked"].set_index("what")["why"]
    assert why["position bias"] == "it compares two numbers and shows neither first"
    assert why["scores of another model"] == "there is one model only"


def test_an_accuracy_that_may_be_at_chance_is_not_told_to_be_fine() -> None:
    def unsure(frame: pd.DataFrame) -> None:
        frame["direct_delta"] = np.where(np.arange(len(frame)) < len(frame) * 0.54, 1.0, -1.0)

    made = section(with_fault(unsure, n_items=100))
    assert "Inconclusive (neither at chance nor above it)" in made.answer
    assert "at chance" not in " ".join(made.tables["findings"]["what"])


def test_too_few_items_are_not_judged() -> None:
    assert not [one for one in looked_at(with_fault(unread, n_items=12)) if one.check == "zero"]


def test_the_section_has_the_findings_and_their_figure() -> None:
    made = section(with_fault(always_first, models=(0, 1)))
    assert made.main_table == "findings"
    first = made.tables["findings"].iloc[0]
    assert first["models"] == "2 of 3"
    assert made.figures[0].draw().axes
    assert {"checks", "details", "not_checked"} <= made.tables.keys()


SYSTEMS = (
    "gpt2",
    "bigscience_bloom-1b1",
    "google_flan-t5-large",
    "unsloth_Qwen2.5-7B-bnb-4bit",
    "CohereForAI_aya-23-8b",
)


@pytest.mark.upstream
def test_systems_that_are_never_right_when_asked_are_found_in_published_decisions(shared: Path, tmp_path: Path) -> None:
    """QFrBLiMP: three of these five are right in exactly 0 when asked, and in .59 to .86 by probability."""
    decisions = pd.read_csv(shared / "corpora" / "qfrblimp" / "decisions.csv")
    ids = "qfrblimp/all/" + decisions["id"].astype(str)
    long = [
        pd.DataFrame({"item_id": ids, "model": s, "measured": decisions[s], "asked": decisions[f"{s}_prompting"]})
        for s in SYSTEMS
    ]
    pd.concat(long).to_csv(tmp_path / "long.csv", index=False)
    decision = {"kind": "decision", "answers": {"good": "1", "bad": "0"}}
    tables = pairbank.import_scores(
        tmp_path / "long.csv",
        columns={"item_id": "item_id", "model": "model"},
        scores={"measured": decision, "asked": decision},
        items=pairbank.load_corpus("qfrblimp", data_dir=shared / "corpora"),
    )
    made = section([scored_frame(table, for_analyses=True) for table in tables])
    lines = keyed(made.tables["findings"], "what", "where")
    zero = lines["accuracy of 0 or below chance", "qfrblimp, `asked`"]
    assert zero["models"] == "3 of 5"
    assert zero["found"].startswith("3 of 5 models (`gpt2`, `bigscience_bloom-1b1`, `google_flan-t5-large`)")
    assert "is right in exactly 0" in zero["found"]
    assert "the same models are right by `measured` 0.592 to 0.873" in zero["found"]
    assert zero["headline"] == pytest.approx(0.2, abs=0.01)
    assert zero["without"] == pytest.approx(0.5, abs=0.01)
    assert lines["identical sides", "qfrblimp"]["items"] == 18
    made.figures[0].draw()


@pytest.mark.ci
@pytest.mark.upstream
def test_models_that_always_take_the_first_option_are_found_in_a_published_table(shared: Path) -> None:
    """Hu & Frank 2024: nine of 13 models answer 1 in every question or nearly; their mean hides it."""
    tables = pairbank.import_scores(shared / "published" / "hu_frank_2024_syntax.csv", profile="hu-frank-2024")
    made = section([scored_frame(table, for_analyses=True) for table in tables])
    lines = keyed(made.tables["findings"], "what")
    assert lines["constant choice",]["models"] == "9 of 13"
    assert lines["position bias",]["models"] == "11 of 13"
    assert lines["constant choice",]["headline"] == pytest.approx(0.577, abs=0.001)
    assert lines["constant choice",]["without"] == pytest.approx(0.751, abs=0.001)
