"""Accuracies against the confusion cells of Ivanova et al. 2024 and hand-made answers."""

import math

import numpy as np
import pytest
import scipy.stats

from ivanova_2024 import FIGURE_2, TABLE_1
from pairbank.errors import BankError
from pairbank.stats import accuracy, accuracy_pooled, position_bias
from pairbank.stats.measures.accuracy import balanced_accuracy
from rated_tables import DIRECT, choice, judgment

ORDERS, JUDGMENT = choice("meta"), judgment("judge")
ONE, TWO, TIE = [-0.1, -2.4], [-2.4, -0.1], [-0.7, -0.7]


@pytest.mark.parametrize(("cells", "published"), [*zip(FIGURE_2["LOGPROBS"], TABLE_1["LOGPROBS"], strict=True)])
def test_accuracies_of_ivanova_2024(cells: tuple[int, int, int, int], published: float) -> None:
    delta = np.repeat([1.0, -1.0, -1.0, 1.0], cells)
    estimate = accuracy(delta)
    assert estimate.value == pytest.approx(published, abs=5e-5 if published == 0.8114 else 5e-3)
    assert estimate.n == 350
    expected = scipy.stats.binomtest(cells[0] + cells[3], 350).proportion_ci(method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_only_an_exact_zero_is_a_tie_and_counts_one_half() -> None:
    # 1e-300 wins, -1e-300 loses, 0 and -0.0 tie: (1 + 0 + .5 + .5) / 4
    assert accuracy([1e-300, -1e-300, 0.0, -0.0]).value == 0.5
    assert accuracy([3.0, 0.0]).value == 0.75


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_delta_that_is_no_number_is_an_error_never_a_loss(bad: float) -> None:
    with pytest.raises(BankError, match=r"delta_nats\[2\] is .*; expected finite numbers"):
        accuracy([1.0, -1.0, bad])


def test_no_items_have_no_accuracy() -> None:
    assert accuracy([]).reason == "no items"
    pooled = accuracy_pooled(ORDERS.reshape([]), ORDERS)
    assert (pooled.reason, pooled.n) == ("no items", 0)


def test_pooled_accuracy_counts_every_order_as_a_trial() -> None:
    # item 1: right in both orders; item 2: always "1" (right, wrong); item 3: wrong, tie -> (2 + 1 + .5) / 6
    answers = [[ONE, TWO], [ONE, ONE], [TWO, TIE]]
    estimate = accuracy_pooled(answers, ORDERS)
    assert estimate.value == pytest.approx(3.5 / 6, abs=1e-12)
    assert (estimate.n, estimate.method) == (3, "wilson-clustered")


def test_pooled_and_order_averaged_accuracy_differ_on_the_same_answers() -> None:
    # Always "1", but a little less surely when the bad sentence comes first: every delta is > 0, pooled is 1/2.
    answers = np.array([[[-0.1, -2.4], [-0.2, -1.7]]] * 4)
    delta = ((answers[:, 0, 0] - answers[:, 0, 1]) + (answers[:, 1, 1] - answers[:, 1, 0])) / 2
    assert accuracy(delta).value == 1.0
    assert accuracy_pooled(answers, ORDERS).value == 0.5
    assert position_bias(answers, ORDERS).value == 1.0


def test_pooled_accuracy_of_a_judgment_is_balanced_accuracy() -> None:
    # Good sentences accepted: 3 of 4; bad ones rejected: 1 of 4 -> (.75 + .25) / 2 = .5; "Yes": (3 + 3) / 8
    answers = [[ONE, ONE], [ONE, ONE], [ONE, TWO], [TWO, ONE]]
    assert accuracy_pooled(answers, JUDGMENT).value == 0.5
    assert position_bias(answers, JUDGMENT).value == 0.75


def test_a_balanced_accuracy_knows_whether_both_sentences_of_an_item_go_together() -> None:
    # Right on both sentences or on none: 30 of 40 items, one item is one draw. Right on one of them each: always 0.5.
    right = np.repeat([1.0, -1.0], [30, 10])
    is_good = np.repeat([True, False], 40)
    items = np.tile(np.arange(40), 2)
    together = balanced_accuracy(np.concatenate([right, -right]), is_good, items=items)
    expected = scipy.stats.binomtest(30, 40).proportion_ci(method="wilson")
    assert (together.low, together.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    half = np.repeat([1.0, -1.0], 20)
    either = balanced_accuracy(np.concatenate([half, half]), is_good, items=items)
    assert (either.low, either.value, either.high) == pytest.approx((0.5, 0.5, 0.5), abs=1e-8)


def test_a_tie_among_three_options_is_shared_by_those_that_tie() -> None:
    layout = choice("m", presentations=("p",), options=("a", "b", "c"), correct=(2,))
    all_tie, two_tie, others_tie = [[-1.0] * 3], [[-2.0, -1.0, -1.0]], [[-1.0, -1.0, -2.0]]
    estimate = accuracy_pooled([all_tie, two_tie, others_tie], layout)
    assert estimate.value == pytest.approx((1 / 3 + 1 / 2 + 0) / 3, abs=1e-12)
    first = position_bias([all_tie, two_tie, others_tie], layout)
    assert first.value == pytest.approx((1 / 3 + 0 + 1 / 2) / 3, abs=1e-12)


def test_repeating_a_presentation_makes_no_interval_narrower() -> None:
    # The same answer twice is no new evidence: the interval over items is the one of a single presentation.
    rng = np.random.default_rng(1)
    single = np.where(rng.random((60, 1, 1)) < 0.7, [[ONE]], [[TWO]])
    one = choice("m", presentations=("p",), correct=(0,))
    four = choice("m", presentations=tuple("pqrs"), correct=(0,) * 4)
    a = accuracy_pooled(single, one)
    b = accuracy_pooled(np.repeat(single, 4, axis=1), four)
    assert (a.value, a.low, a.high, a.n) == pytest.approx((b.value, b.low, b.high, b.n), abs=1e-12)


def test_answers_that_do_not_fit_the_layout_are_refused() -> None:
    with pytest.raises(BankError, match=r"direct is a direct method; .*use accuracy\(\)"):
        accuracy_pooled(np.zeros((1, 0, 0)), DIRECT)
    with pytest.raises(BankError, match=r"shape \(1, 4\); expected \(items, 2, 2\): use layout.reshape"):
        accuracy_pooled([[-1.0, -2.0, -1.0, -2.0]], ORDERS)
    with pytest.raises(BankError, match=r"meta_logprobs\[0, 1, 0\] is nan"):
        position_bias([[ONE, [math.nan, -1.0]]], ORDERS)


def test_a_share_of_0_or_1_gets_wilsons_interval() -> None:
    # scipy.stats.binomtest(20, 20).proportion_ci(method="wilson") -> (0.83887485..., 1.0)
    reference = scipy.stats.binomtest(20, 20).proportion_ci(method="wilson")
    every = accuracy([1.0] * 20)
    assert (every.low, every.high) == pytest.approx((reference.low, reference.high), abs=1e-12)
    assert (every.method, every.n, every.reason) == ("wilson", 20, None)
    none = accuracy([-1.0] * 20)
    assert (none.low, none.high) == pytest.approx((1 - reference.high, 1 - reference.low), abs=1e-12)
