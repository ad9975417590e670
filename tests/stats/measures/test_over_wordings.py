"""The mean over wordings: against the two t intervals that it joins, and its coverage with uneven paradigms."""

import numpy as np
import pytest
from scipy import stats

from pairbank.stats.measures.families import mean_over_wordings


def test_without_items_that_differ_it_is_student_over_wordings_and_without_wordings_over_items() -> None:
    rng = np.random.default_rng(0)
    of_wordings, of_items = rng.normal(size=5), rng.normal(size=40)
    by_wording = mean_over_wordings(np.broadcast_to(of_wordings[:, None], (5, 40)))
    assert (by_wording.low, by_wording.high) == pytest.approx(
        stats.t.interval(0.95, 4, of_wordings.mean(), stats.sem(of_wordings))
    )
    by_item = mean_over_wordings(np.broadcast_to(of_items, (5, 40)))
    expected = stats.t.interval(0.95, 39, of_items.mean(), stats.sem(of_items))
    assert (by_item.low, by_item.high) == pytest.approx(expected)


def test_two_wordings_or_one_paradigm_have_no_interval() -> None:
    values = np.random.default_rng(1).normal(size=(3, 20))
    assert "it takes 3" in str(mean_over_wordings(values[:2]).reason)
    uneven = mean_over_wordings(values, clusters=np.repeat([0, 1, 2, 3, 4], [16, 1, 1, 1, 1]))
    assert uneven.value == pytest.approx(values.mean())
    assert "too uneven" in str(uneven.reason)
