"""A tie is a tie in every statistic: what holds for 0 holds for rounding noise, and for nothing larger."""

import numpy as np
import pandas as pd
import pytest

from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.api.names import TIE
from pairbank.scoring.methods.prompted import Prompted, most_probable_ratings
from pairbank.scoring.prompts.registry import prompt_named
from pairbank.stats.analyses.introspection.model_pairs import disagreement, pair_table
from pairbank.stats.estimates.shares import ROUNDING, is_tie, merged, signs, varies
from pairbank.stats.measures.accuracy import accuracy, accuracy_pooled, balanced_accuracy, chosen_options
from pairbank.stats.measures.agreement import cohens_kappa, raw_agreement, spearman
from pairbank.stats.measures.confusion import choice_counts, takes_second
from pairbank.stats.measures.paired_tests import compare
from pairbank.stats.measures.roc import auc, pooled_pairs, roc_curve
from pairbank.stats.report.summary import summarise
from pairbank.stats.scored_table.scored_table import DeltaStack
from rated_tables import DIRECT, items_frame
from scored_frames import scored_frame

EXACT = np.array([1.0, 0.0, -2.0, 0.5, 0.0, -1.0, 3.0, 0.25])
NOISE = np.array([0.0, -2e-16, 0.0, 0.0, 2e-16, 0.0, 0.0, 0.0])
"""What adding the same four numbers in two orders can differ by; a published tie of Hu & Frank 2024 is -2e-16."""
OTHER = np.array([1.0, 1.0, -2.0, -0.5, -2.0, 1.0, 3.0, 1.0])


def test_rounding_noise_is_a_tie_and_the_smallest_difference_that_a_table_prints_is_none() -> None:
    assert signs([0.1 + 0.2 - 0.3, 1e-7, -1e-7, np.nan])[:3].tolist() == [0.0, 1.0, -1.0]
    assert is_tie([TIE, -TIE, 2 * TIE, np.nan]).tolist() == [True, True, False, False]


def test_noise_on_a_tie_moves_no_statistic() -> None:
    noisy = EXACT + NOISE
    assert accuracy(noisy) == accuracy(EXACT)
    assert accuracy(noisy).value == 0.625
    assert cohens_kappa(noisy, OTHER) == cohens_kappa(EXACT, OTHER)
    assert raw_agreement(OTHER, noisy) == raw_agreement(OTHER, EXACT)
    assert raw_agreement(OTHER, noisy).n == 6
    assert compare(noisy, OTHER) == compare(EXACT, OTHER)
    assert compare(noisy, OTHER).n_ties == 2
    assert choice_counts(noisy, OTHER) == choice_counts(EXACT, OTHER)
    assert takes_second(-noisy).tolist() == takes_second(-EXACT).tolist()
    assert spearman(noisy, OTHER) == spearman(EXACT, OTHER)
    twice, other = np.tile(EXACT, 2), np.concatenate([OTHER, OTHER[::-1]])
    assert spearman(twice + np.tile(NOISE, 2), other) == spearman(twice, other)
    assert spearman(twice, other).low < spearman(twice, other).high
    good = np.array([True, False] * 4)
    assert balanced_accuracy(noisy, good) == balanced_accuracy(EXACT, good)
    meta = np.stack([[EXACT, OTHER]])
    kept = [disagreement(np.stack([x, OTHER]), meta)["direct_negative_share"].tolist() for x in (EXACT, noisy)]
    assert kept[0] == kept[1]


def test_options_that_tie_but_for_noise_share_their_credit() -> None:
    layout = MethodLayout(method="m", kind="forced_choice", presentations=("a",), options=("1", "2"), correct=(0,))
    logprobs = np.array([[[-0.5, -0.5 + 1e-16]], [[-0.5, -0.75]]])
    assert accuracy_pooled(logprobs, layout).value == 0.75
    assert chosen_options(logprobs, layout)[:, 0, 0].tolist() == [0.5, 1.0]


def test_strings_that_tie_but_for_noise_count_one_half_in_the_area_under_the_curve() -> None:
    good, bad = np.array([-3.0, -1.0, -2.0]), np.array([-3.0, -2.0, -4.0])
    tied, noisy = pooled_pairs(good, bad), pooled_pairs(good - [1e-15, 0, 0], bad)
    assert noisy.good[0] < tied.good[0]
    assert auc(noisy) == auc(tied)
    assert roc_curve(noisy).true_positive_rate.tolist() == roc_curve(tied).true_positive_rate.tolist()


def test_stored_choices_share_a_tie_that_is_one_but_for_noise() -> None:
    logprobs = np.array([[-0.5, -0.5 + 1e-16, -3.0]])
    assert most_probable_ratings(logprobs, np.array([1.0, 2.0, 3.0])).tolist() == [1.5]
    prompt = prompt_named("meta_question_simple")
    result = Prompted(prompt).readout([-0.5, -0.5 + 1e-16, -0.5, -0.75], [])
    assert result["meta_question_simple_first_choice"] == 0.75


def test_values_that_tie_pairwise_share_one_rank() -> None:
    assert merged([2.0, 1.0 + 12e-10, 1.0, 1.0 + 6e-10]).tolist() == [2.0, 1.0, 1.0, 1.0]
    assert merged([]).tolist() == []


@pytest.mark.parametrize("shift", [0.0, -2e-16])
def test_a_report_counts_a_published_tie_of_minus_2e_16_as_a_half(shift: float) -> None:
    frame = items_frame(2, direct_delta=[1.0, shift])
    assert summarise(frame, [DIRECT], model="m")["value"].tolist() == [0.75]


def test_the_same_answer_with_rounding_does_not_vary_and_a_thousandth_of_a_nat_does() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=200)
    assert varies(0.3 + np.stack([0.5 * ROUNDING * noise, 10 * ROUNDING * noise])).tolist() == [False, True]
    assert not varies([1.0])
    assert not varies([])


def test_a_model_whose_answers_are_one_but_for_rounding_has_no_r_in_a_summary_nor_among_models() -> None:
    rng = np.random.default_rng(3)
    direct, meta = rng.normal(size=(2, 80)), rng.normal(size=80)
    answers = np.stack([direct[0] + meta, 0.1 + 2e-5 * direct[1]])
    frames = [scored_frame(m, direct[k], {"p": answers[k]}) for k, m in enumerate("ab")]
    rows = pd.concat([summarise(one.frame, one.layouts, model=one.model) for one in frames])
    chosen = rows[(rows["group_by"] == "all") & (rows["method"] == "p")]
    result = {(row["model"], row["metric"]): row for row in chosen.to_dict("records")}
    assert result["a", "pearson"]["value"] > 0.5
    for metric in ("pearson", "spearman"):
        assert np.isnan(result["b", metric]["value"])
        assert "by rounding alone" in result["b", metric]["reason"]
    assert result["b", "accuracy"]["value"] == 1.0
    stack = DeltaStack(
        corpus="toy", models=("a", "b"), prompts=("p",), item_ids=tuple(f"{n}" for n in range(80)), n_identical=0,
        direct_nats=direct, meta_nats=answers[np.newaxis],
    )  # fmt: skip
    pairs = pair_table(stack, {}).set_index(["direct_model", "meta_model"])
    assert pairs["meta_direct"].notna().tolist() == [True, False, True, False]
    assert pairs.loc[("b", "b"), "reason"] == "the deltas of no prompt vary"
    assert pairs["direct_direct"].notna().all()
