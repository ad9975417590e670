"""Partial and within-subject correlations, relative importance, Bayes factors: all digits, and intervals that cover."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from statsmodels.api import OLS

from pairbank.errors import BankError
from pairbank.stats.measures.associations import (
    _permuted_variance,
    all_digits,
    bayes_factor_of_r,
    p_of_all,
    partial_correlation,
    relative_importance,
    within_correlation,
)


def test_numbers_have_all_digits_and_pingouin_is_left_as_it_was() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 30))
    with all_digits() as pingouin:
        inner = dict(pingouin.options)
        exact = pingouin.ttest(x, y)
    assert inner["round.column.CI95"] is None
    assert pingouin.options["round.column.CI95"] == 2
    rounded = pingouin.ttest(x, y)
    assert exact["CI95"].iloc[0][0] != rounded["CI95"].iloc[0][0] == pytest.approx(exact["CI95"].iloc[0][0], abs=0.005)
    result = partial_correlation(x, y, np.arange(30.0)[:, np.newaxis])
    for number in (result.value, result.low, result.high, bayes_factor_of_r(result.value, 30)):
        assert number != round(number, 9)


def test_a_partial_correlation_is_that_of_the_residuals() -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=(80, 2))
    x, y = z @ [1, 2] + rng.normal(size=80), z @ [3, -1] + rng.normal(size=80)
    design = np.column_stack([np.ones(80), z])
    u, v = (c - design @ np.linalg.lstsq(design, c, rcond=None)[0] for c in (x, y))
    assert partial_correlation(x, y, z).value == pytest.approx(float(pearsonr(u, v).statistic), abs=1e-12)
    assert "determines" in str(partial_correlation(z[:, 0], y, z).reason)
    assert np.isnan(partial_correlation(x[:9], y[:9], z[:9]).value)
    with pytest.raises(BankError, match=r"given has shape \(80,\); expected \(80, columns\)"):
        partial_correlation(x, y, z[:, 0])


def test_levels_of_subjects_do_not_count_within_them() -> None:
    rng = np.random.default_rng(7)
    level = np.repeat([0.0, 10.0, 20.0, 30.0], 60)
    x, y = level + rng.normal(size=240), level + rng.normal(size=240)
    result = within_correlation(x, y, np.repeat(list("abcd"), 60), np.tile(np.arange(60), 4))
    assert pearsonr(x, y).statistic > 0.98
    assert result.low < 0 < result.high
    assert result.n == 60
    centred = pd.DataFrame({"x": x, "y": y, "s": level}).groupby("s").transform(lambda c: c - c.mean())
    assert result.value == pytest.approx(float(pearsonr(centred["x"], centred["y"]).statistic), abs=1e-12)
    assert np.isnan(within_correlation(x[:120], y[:120], np.repeat(list("ab"), 60), np.arange(120)).value)


def test_importances_sum_to_r_squared_and_one_predictor_has_all_of_it() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(2, 200))
    made, r2 = relative_importance(2 * a + b + rng.normal(size=200), {"a": a, "b": b})
    assert [x.name for x in made] == ["a", "b"]
    assert sum(x.importance for x in made) == pytest.approx(r2, abs=1e-12)
    assert made[0].importance > made[1].importance > 0
    (alone,), r2 = relative_importance(a + b, {"a": a})
    assert alone.importance == pytest.approx(r2) == pytest.approx(float(pearsonr(a, a + b).statistic) ** 2)
    with pytest.raises(BankError, match="flat: the same for all 200 items"):
        relative_importance(a, {"flat": np.ones(200)})


def test_r2_of_all_orders_of_an_outcome_has_the_mean_and_variance_of_its_beta_distribution() -> None:
    rng = np.random.default_rng(6)
    y, x = rng.standard_t(3, 7), rng.standard_t(3, (7, 2))
    y, basis = y - y.mean(), np.linalg.qr(x - x.mean(axis=0))[0]
    orders = np.array(list(permutations(y)))
    r2 = ((orders @ basis) ** 2).sum(axis=1) / (y @ y)
    leverage = (basis**2).sum(axis=1)
    spread = _permuted_variance(float((y**4).sum() / (y @ y) ** 2), float(leverage @ leverage), 7, 2)
    assert r2.mean() == pytest.approx(2 / 6, abs=1e-12)
    assert r2.var() == pytest.approx(spread, abs=1e-12)
    assert p_of_all(y, x) == pytest.approx((r2 >= r2[0] - 1e-12).mean(), abs=0.03)


def test_of_normal_numbers_the_test_of_all_predictors_is_the_f_test() -> None:
    rng = np.random.default_rng(7)
    y, x = rng.normal(size=400), rng.normal(size=(400, 3))
    assert p_of_all(y, x) == pytest.approx(OLS(y, np.column_stack([np.ones(400), x])).fit().f_pvalue, abs=2e-3)
