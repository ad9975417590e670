"""CHOICE, LIKERT and LOGPROBS, against the confusion matrices of Ivanova et al. 2024."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from ivanova_2024 import FIGURE_2, KAPPAS, MODELS, TABLE_1
from pairbank.errors import BankError
from pairbank.stats.analyses.choice_likert import choice_likert as section
from pairbank.stats.analyses.choice_likert import measures
from pairbank.stats.measures.confusion import Confusion, agreement_share, confusion, confusion_kappa, takes_second
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from rated_tables import DIRECT, META, items_frame, keyed, rating

# choice by CHOICE and by LIKERT: 1 1, 1 2, 2 1, 2 2
CHOICE_LIKERT = (
    (121, 55, 106, 68),
    (289, 57, 1, 3),
    (215, 119, 9, 7),
    (240, 54, 47, 9),
    (252, 84, 8, 6),
    (167, 6, 8, 169),
)
# their Table 2, whose last row says MPT_7B-chat and means MPT_30B-chat
TABLE_2 = (0.54, 0.83, 0.63, 0.71, 0.74, 0.96)


def table(cells: tuple[int, int, int, int]) -> Confusion:
    return Confusion(*cells)


@pytest.mark.parametrize("measure", list(FIGURE_2))
def test_accuracies_of_table_1_follow_from_the_cells(measure: str) -> None:
    for name, cells, published in zip(MODELS, FIGURE_2[measure], TABLE_1[measure], strict=False):
        result = agreement_share(table(cells))
        assert result.n == 350
        assert result.value == pytest.approx(published, abs=0.005), name
        assert cells[0] + cells[1] == 173  # people chose context 1 in 173 of 350
    thirty = agreement_share(table(FIGURE_2["LOGPROBS"][3])).value
    assert thirty == pytest.approx(0.8114, abs=5e-5)
    assert round(thirty, 2) == 0.81  # not .82


def test_consistencies_of_table_2_follow_from_the_cells() -> None:
    for name, cells, published in zip(MODELS, CHOICE_LIKERT, TABLE_2, strict=True):
        assert table(cells).n == 350
        assert agreement_share(table(cells)).value == pytest.approx(published, abs=0.005), name


def test_the_three_matrices_of_a_model_have_the_same_margins() -> None:
    # choices by CHOICE are the rows of CHOICE-LIKERT and the columns of CHOICE, likewise LIKERT
    for number, cells in enumerate(CHOICE_LIKERT):
        choice, likert = table(FIGURE_2["CHOICE"][number]), table(FIGURE_2["LIKERT"][number])
        assert cells[0] + cells[1] == choice.first_first + choice.second_first
        assert cells[0] + cells[2] == likert.first_first + likert.second_first


def test_kappas_are_those_of_the_cells() -> None:
    for cells, published in zip((*FIGURE_2["LOGPROBS"], FIGURE_2["LIKERT"][5]), KAPPAS, strict=True):
        assert confusion_kappa(table(cells)).value == pytest.approx(published, abs=5e-4)


def test_a_tie_is_the_first_context_as_in_the_published_code() -> None:
    assert takes_second([1.0, 0.0, -1.0]).tolist() == [True, False, False]


def test_kappa_of_one_sided_choices_is_undefined() -> None:
    result = confusion_kappa(table((3, 0, 4, 0)))
    assert math.isnan(result.value)
    assert result.reason == "the reference or the other always makes one choice"
    assert (result.n, confusion_kappa(table((0, 0, 0, 0))).reason) == (7, "there are no items")
    perfect = confusion_kappa(table(FIGURE_2["CHOICE"][5]))
    assert (perfect.value, perfect.high) == (1.0, 1.0)
    assert 0.95 < perfect.low < 1
    with pytest.raises(BankError, match="expected one of each per item"):
        confusion([True], [True, False])


WHO = ("human", "design")
RATING = rating("rate", 5)


def context_pairs(n_items: int = 120) -> ScoredFrame:
    """Targets 1 and 2 in turn: the right context is the first one for target 1, the second for target 2."""
    rng = np.random.default_rng(0)
    direct, meta, expected, human = rng.normal(0.4, 1.0, size=(4, n_items))
    ratings = rng.integers(1, 6, size=(2, n_items))
    frame = items_frame(
        n_items,
        "ewok",
        task="context_pair",
        target_number=np.arange(n_items) % 2 + 1,
        human_good=human,
        human_bad=0.0,
        direct_delta=direct,
        meta_delta=meta,
        rate_delta=expected,
        rate_argmax_good=ratings[0],
        rate_argmax_bad=ratings[1],
    )
    return ScoredFrame(corpus="ewok", model="gpt2", frame=frame, layouts=(DIRECT, META, RATING))


def test_each_kind_of_method_is_its_measure() -> None:
    scored = context_pairs()
    result = {(x.method, x.measure, x.reading) for x in measures(read_table(scored))}
    assert result == {
        ("direct", "LOGPROBS", ""),
        ("meta", "CHOICE", ""),
        ("rate", "LIKERT", "expected"),
        ("rate", "LIKERT", "argmax"),
    }


def test_a_rating_without_its_most_probable_value_is_read_as_expected() -> None:
    scored = context_pairs()
    frame = scored.frame.drop(columns=["rate_argmax_good", "rate_argmax_bad"])
    pairs = read_table(replace(scored, frame=frame))
    result = [(x.method, x.reading) for x in measures(pairs) if x.measure == "LIKERT"]
    assert result == [("rate", "expected")]


def test_the_section_counts_choices_of_contexts() -> None:
    scored = context_pairs()
    frame = scored.frame
    rows = keyed(section([scored]).tables["accuracy"], "method", "versus", "metric")
    second = frame["target_number"] == 2
    people = np.where(second, frame["human_good"], -frame["human_good"]) > 0
    rated = frame["rate_argmax_good"] - frame["rate_argmax_bad"]
    chosen = np.where(second, rated, -rated) > 0
    row = rows["rate (argmax)", "human", "accuracy_ties_first"]
    assert row["value"] == pytest.approx((people == chosen).mean(), abs=1e-12)
    expected = metrics.confusion_matrix(people, chosen).ravel().tolist()
    assert [row[x] for x in ("first_first", "first_second", "second_first", "second_second")] == expected
    assert row["n_ties"] == (rated == 0).sum() > 10
    assert rows["rate (argmax)", "human", "kappa"]["value"] == pytest.approx(
        metrics.cohen_kappa_score(people, chosen), abs=1e-12
    )
    credit = np.where(rated == 0, 0.5, np.sign(rated) == np.sign(frame["human_good"]))
    assert rows["rate (argmax)", "human", "accuracy"]["value"] == pytest.approx(credit.mean(), abs=1e-12)
    assert rows["direct", "design", "accuracy"]["value"] == pytest.approx((frame["direct_delta"] > 0).mean(), abs=1e-12)


def test_two_measures_are_compared_item_by_item() -> None:
    scored = context_pairs()
    result = keyed(section([scored]).tables["consistency"], "method", "versus", "metric")
    row = result["meta", "rate (expected)", "consistency"]
    same = (scored.frame["meta_delta"] > 0) == (scored.frame["rate_delta"] > 0)
    assert row["value"] == pytest.approx(same.mean(), abs=1e-12)
    assert row["measure"] == "CHOICE-LIKERT"
    assert ("rate (expected)", "rate (argmax)", "consistency") not in result


def test_log_probabilities_are_compared_with_each_prompt_on_the_same_items() -> None:
    scored = context_pairs()
    frame = scored.frame
    result = section([scored, replace(scored, model="gpt2-xl")])
    rows = keyed(result.tables["differences"].query("model == 'gpt2'"), "minus", "versus")
    second = frame["target_number"] == 2
    sides = np.where(second, 1, -1)
    people, direct, meta = (frame[name] * sides > 0 for name in ("human_good", "direct_delta", "meta_delta"))
    gain = (people == direct).astype(float) - (people == meta)
    row = rows["meta", "human"]
    assert row["value"] == pytest.approx(gain.mean(), abs=1e-12)
    assert (row["method"], row["measure"], row["n"]) == ("direct", "LOGPROBS-CHOICE", len(frame))
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * gain.std() / np.sqrt(len(frame)), rel=0.05)
    assert set(rows) == {(minus, who) for minus in ("meta", "rate (expected)", "rate (argmax)") for who in WHO}
    assert f"- LOGPROBS minus CHOICE: {gain.mean():+.2f} (median of 2 models; " in result.answer
    alone = section([scored]).answer
    assert (
        f"- LOGPROBS minus CHOICE: {gain.mean():+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]\n- LOGPROBS minus LIKERT"
        in alone
    )


def test_a_prompt_of_which_every_comparison_is_a_tie_is_not_compared_with_log_probabilities() -> None:
    scored = context_pairs()
    tied = scored.frame.assign(rate_argmax_good=3, rate_argmax_bad=3, rate_delta=0.0)
    silent = replace(scored, frame=tied, model="silent")
    assert "- LOGPROBS minus LIKERT: not compared, because every LIKERT comparison is a tie" in section([silent]).answer
    both = section([scored, silent]).answer
    assert "- LOGPROBS minus CHOICE: +0" in both or "- LOGPROBS minus CHOICE: -0" in both
    (line,) = (line for line in both.splitlines() if line.startswith("- LOGPROBS minus LIKERT"))
    assert line.endswith("] (1 of 2 models left out, all ties)")


def test_without_ratings_by_people_only_the_design_is_compared() -> None:
    scored = context_pairs()
    bare = replace(scored, frame=scored.frame.assign(human_good=None, human_bad=None).drop(columns="target_number"))
    result = section([bare])
    assert set(result.tables["accuracy"]["versus"]) == {"design"}
    row = keyed(result.tables["accuracy"], "method", "metric")["direct", "kappa"]
    assert row["reason"] == "the reference or the other always makes one choice"
    assert "the items' design" in result.text


def test_pairs_of_sentences_have_no_contexts_to_choose() -> None:
    scored = context_pairs()
    other = replace(scored, frame=scored.frame.assign(task="sentence_pair"))
    with pytest.raises(BankError, match="has scored items of the task context_pair"):
        section([other])


def published(model: str, nth: int) -> ScoredFrame:
    """350 items on which people and a model choose as often as in Figure 2; target 1 has its better context first."""
    people_second = np.repeat([False, True], [173, 177])
    likert_of_people = np.repeat([False, True, False, True], FIGURE_2["LIKERT"][5])
    right_second = people_second  # the design is what people choose
    chosen = {
        name: np.where(np.repeat([False, True, False, True], FIGURE_2[name][nth]) == right_second, 1.0, -1.0)
        for name in FIGURE_2
    }
    rated = np.where(likert_of_people == right_second, 1.0, -1.0)
    frame = items_frame(
        350,
        "social",
        task="context_pair",
        target_number=np.where(right_second, 2, 1),
        human_good=3 + rated,
        human_bad=3.0,
        human_choice=6 / 7,
        direct_delta=chosen["LOGPROBS"],
        meta_delta=chosen["CHOICE"],
        rate_delta=chosen["LIKERT"] / 2,
        rate_argmax_good=3 + chosen["LIKERT"],
        rate_argmax_bad=3,
    )
    return ScoredFrame(corpus="social", model=model, frame=frame, layouts=(DIRECT, META, RATING))


def test_people_are_a_measure_and_their_choices_the_reference() -> None:
    result = section([published(name, nth) for nth, name in enumerate(MODELS[:5])])
    rows = keyed(result.tables["accuracy"], "model", "method", "versus", "metric")
    for nth, model in enumerate(MODELS[:5]):
        for method, measure in (("direct", "LOGPROBS"), ("meta", "CHOICE"), ("rate (argmax)", "LIKERT")):
            row = rows[model, method, "human", "accuracy_ties_first"]
            assert row["told_by"] == "CHOICE"
            cells = tuple(row[x] for x in ("first_first", "first_second", "second_first", "second_second"))
            assert cells == FIGURE_2[measure][nth]
            assert row["value"] == pytest.approx(TABLE_1[measure][nth], abs=0.005)
    people = rows["human", "human (LIKERT)", "human", "accuracy_ties_first"]
    assert people["value"] == pytest.approx(336 / 350, abs=1e-12)  # .96 of their Table 2
    assert ("human", "human (CHOICE)", "human", "accuracy_ties_first") not in rows
    same = keyed(result.tables["consistency"], "model", "method", "versus", "metric")
    row = same["human", "human (CHOICE)", "human (LIKERT)", "consistency"]
    assert (row["measure"], row["first_first"], row["second_second"]) == ("CHOICE-LIKERT", 167, 169)
    assert row["value"] == pytest.approx(0.96, abs=0.005)
    assert "people do in 0.96" in result.answer
    assert "LOGPROBS 0.72 (gpt2_xl) to 0.83 (mpt_30b_chat)" in result.answer


@pytest.mark.ci
@pytest.mark.parametrize("n_models", [1, 3, 21])
def test_every_model_has_a_line_of_the_first_table_and_a_place_in_each_figure(n_models: int) -> None:
    tables = [replace(published("x", nth % 5), model=f"lab/model-{nth}") for nth in range(n_models)]
    result = section(tables)
    models = [table.model for table in tables]
    assert result.tables["choices"]["model"].tolist() == [*models, "human"]
    assert result.main_figure in {figure.name for figure in result.figures}
    confusions, accuracies, consistencies = (figure.draw() for figure in result.figures)
    counts = [
        np.asarray(axes.images[0].get_array(), dtype=int).ravel().tolist() for axes in confusions.axes if axes.images
    ]
    expected = [list(FIGURE_2[kind][nth % 5]) for nth in range(n_models) for kind in ("CHOICE", "LIKERT", "LOGPROBS")]
    assert counts == [*expected, list(FIGURE_2["LIKERT"][5])]
    for drawn in (accuracies, consistencies):
        assert [x.get_text() for x in drawn.axes[0].get_yticklabels()] == [*models, "human"]


def test_ratings_that_all_tie_are_said_to_tie_where_their_agreement_stands() -> None:
    scored = published("m", 1)
    flat = scored.frame.assign(rate_argmax_good=3, rate_argmax_bad=3, rate_delta=0.0, meta_delta=-1.0)
    always_first = flat.assign(meta_delta=np.where(flat["target_number"] == 1, 1.0, -1.0))
    result = section([replace(scored, frame=always_first)])
    line = result.tables["choices"].iloc[0]
    assert line["CHOICE-LIKERT"].startswith("1.00")
    assert line["CHOICE-LIKERT"].endswith("all tie")
    assert "All 350 LIKERT comparisons of m are ties" in result.answer
    assert "All 350 LIKERT comparisons of m are ties" in result.text
    drawn = result.figures[0].draw()
    marked = [axes.get_ylabel() for axes in drawn.axes if "all tie" in {text.get_text() for text in axes.texts}]
    assert marked == ["LIKERT"]


def test_models_that_do_alike_are_said_once() -> None:
    tables = [replace(published("x", 0), model=f"m{nth}") for nth in range(3)]
    assert "LOGPROBS 0.72 everywhere" in section(tables).answer


def test_mean_ratings_are_the_reference_where_nobody_chose() -> None:
    scored = published("m", 0)
    result = section([replace(scored, frame=scored.frame.drop(columns="human_choice"))])
    rows = keyed(result.tables["accuracy"], "model", "method", "versus", "metric")
    assert rows["m", "direct", "human", "accuracy"]["told_by"] == "LIKERT"
    assert not any(key[0] == "human" and key[2] == "human" for key in rows)
    assert rows["human", "human (LIKERT)", "design", "accuracy"]["value"] == pytest.approx(0.96, abs=1e-12)
    assert "what people prefer (LIKERT)" in result.answer
