"""Accuracies of many groups at once, against statsmodels and scipy."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from pairbank.errors import BankError
from pairbank.stats.analyses.paradigms import paradigms as section
from pairbank.stats.estimates.shares import share_of_trials
from pairbank.stats.measures.accuracy import accuracy_pooled, simultaneous_by_group, wilson_by_group
from rated_tables import META, keyed, rated_table


def test_wilson_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    group, credit = rng.integers(0, 6, 300), rng.integers(0, 2, 300)
    for number, result in enumerate(wilson_by_group(credit, group, 6)):
        mine = credit[group == number]
        low, high = proportion_confint(mine.sum(), mine.size, method="wilson")
        assert result.n == mine.size
        assert result.value == pytest.approx(mine.mean(), abs=1e-12)
        assert (result.low, result.high) == pytest.approx((low, high), abs=1e-12)
    perfect = wilson_by_group([1.0] * 10, [0] * 10, 1)[0]
    assert (perfect.low, perfect.high) == pytest.approx(proportion_confint(10, 10, method="wilson"), abs=1e-12)


def test_simultaneous_intervals_are_exact_ones_of_statsmodels_and_wider_where_a_variance_is_estimated() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(5), [6, 9, 20, 40, 7])
    credit = np.where(group == 4, 1, rng.integers(0, 2, group.size))
    for number, result in enumerate(simultaneous_by_group(credit, group, 5)):
        mine = credit[group == number]
        low, high = proportion_confint(mine.sum(), mine.size, alpha=0.05 / 5, method="beta")
        assert (result.low, result.high) == pytest.approx((low, high), abs=1e-9)
    means = rng.integers(0, 5, 30) / 4
    (result,) = simultaneous_by_group(means, [0] * 30, 1)
    p = means.mean()
    worth = 30 * 31 / (30 * means.var() / (p * (1 - p)) + 1) * (norm.ppf(0.975) / t.ppf(0.975, 29)) ** 2
    assert (result.low, result.high) == pytest.approx(proportion_confint(p * worth, worth, method="beta"), abs=1e-9)


@pytest.mark.parametrize("credit", [[0.5] * 10, [1.0, 0.5, 0.5, 0.0, 0.75, 0.25, 1.0, 1.0, 0.5]])
def test_items_that_vary_little_count_as_more_of_them_with_one_of_effect_1_added(credit: list[float]) -> None:
    n, p = len(credit), np.mean(credit)
    worth = n * (n + 1) / (n * np.var(credit) / (p * (1 - p)) + 1)
    (result,) = wilson_by_group(credit, [0] * n, 1)
    low, high = proportion_confint(p * worth, worth, method="wilson")
    assert (result.low, result.high) == pytest.approx((low, high), abs=1e-12)


def test_each_group_has_the_clustered_interval_of_its_items_alone() -> None:
    rng = np.random.default_rng(1)
    group, share = rng.integers(0, 4, 200), rng.choice([0.0, 0.5, 1.0], 200, p=[0.2, 0.5, 0.3])
    for number, result in enumerate(wilson_by_group(share, group, 4, method="wilson-clustered")):
        mine = share[group == number]
        trials = np.column_stack([mine > 0, mine == 1]).ravel()
        alone = share_of_trials(trials, np.repeat(np.arange(mine.size), 2))
        assert (result.value, result.low, result.high) == pytest.approx((alone.value, alone.low, alone.high), abs=1e-12)
        assert (result.n, result.method) == (alone.n, alone.method)


def test_what_has_no_interval_says_why() -> None:
    one, none = wilson_by_group([0.5], [0], 2)
    assert (one.value, one.reason) == (0.5, "one item has no spread")
    assert (math.isnan(none.value), none.reason) == (True, "no items")
    with pytest.raises(BankError, match="expected a group below 1 each"):
        wilson_by_group([1.0], [1], 1)
    with pytest.raises(BankError, match="expected 0 to 1"):
        wilson_by_group([2.0], [0], 1)


def test_the_section_has_every_group_in_both_definitions() -> None:
    table = rated_table()
    result = section([table])
    rows = keyed(result.tables["accuracy"], "group_by", "group", "method", "metric")
    assert set(rows) == {
        ("paradigm", group, method, metric)
        for group in ("one", "two")
        for method, metric in (("direct", "accuracy"), ("meta", "accuracy"), ("meta", "accuracy_pooled"))
    }
    used = table.frame.iloc[1:].query("paradigm == 'one'")
    row = rows["paradigm", "one", "direct", "accuracy"]
    assert row["value"] == pytest.approx((used["direct_delta"] > 0).mean(), abs=1e-12)
    assert (row["n"], row["n_excluded"], row["ci_method"]) == (99, 1, "wilson")
    answers = META.reshape(used["meta_logprobs"].to_list())
    pooled = accuracy_pooled(answers, META).value
    assert rows["paradigm", "one", "meta", "accuracy_pooled"]["value"] == pytest.approx(pooled, abs=1e-12)
    assert "**toy**, `direct`: of 2 values of paradigm" in result.text


@pytest.mark.ci
def test_rows_without_a_class_are_in_no_group() -> None:
    table = rated_table()
    classes = pd.Series(["a", "b", None, None] * 50)
    some = replace(table, frame=table.frame.assign(phenomenon=classes))
    rows = section([some]).tables["accuracy"]
    by_phenomenon = rows[(rows["group_by"] == "phenomenon") & (rows["metric"] == "accuracy")]
    assert by_phenomenon["n"].sum() == 2 * 99
    plain = replace(table, frame=table.frame.assign(paradigm="one"))
    with pytest.raises(BankError, match="two phenomena or paradigms"):
        section([plain])
