"""Item curves: known truths are recovered, and the parts equal those of other implementations."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from nulls.items import Design, made
from pairbank.errors import BankError
from pairbank.stats.measures.item_response import fit_items, negative_items


def test_the_test_is_that_of_scipy_for_right_and_wrong_answers() -> None:
    rng = np.random.default_rng(0)
    credit = (rng.random((60, 13)) < np.linspace(0.3, 0.8, 13)).astype(float)
    result = negative_items(credit)
    for nth, answers in enumerate(credit):
        rest = np.delete(credit, nth, axis=0).sum(axis=0)
        right, wrong = rest[answers == 1], rest[answers == 0]
        if not len(right) or not len(wrong) or len(np.unique(rest)) < len(rest):  # scipy's is exact without ties
            continue
        expected = stats.mannwhitneyu(right, wrong, alternative="less", method="exact").pvalue
        assert result.p[nth] == pytest.approx(expected, abs=1e-12)
    assert np.isfinite(result.p).sum() > 40


def test_half_credits_are_tested_by_spearmans_rho() -> None:
    rng = np.random.default_rng(1)
    credit = rng.choice([0.0, 0.5, 1.0], size=(60, 14))
    credit[0] = np.where(np.arange(14) < 7, 1.0, 0.5)
    result = negative_items(credit)
    rest = credit[1:].sum(axis=0)
    expected = stats.spearmanr(credit[0], rest, alternative="less").pvalue
    assert result.p[0] == pytest.approx(expected, rel=1e-9)


def test_an_item_is_its_logistic_regression_on_ability_weighed_with_the_other_items() -> None:
    """Statsmodels' maximum likelihood, combined with the distribution of items by the closed form for normal ones."""
    data = made(np.random.default_rng(2), Design(n_models=200, n_paradigms=10, n_each=10))
    fit = fit_items(data.credit)
    prior = np.linalg.inv(fit.covariance)
    middle = np.flatnonzero(np.abs(data.credit.mean(axis=1) - 0.6) < 0.15)
    for nth in middle[:8]:
        reference = sm.Logit(data.credit[nth], sm.add_constant(fit.ability)).fit(disp=0)
        precision = np.linalg.inv(reference.cov_params()) / fit.discount
        both = np.linalg.inv(precision + prior)
        expected = both @ (precision @ reference.params + prior @ fit.mean)
        assert (-fit.difficulty[nth], fit.discrimination[nth]) == pytest.approx(expected, abs=0.06)
        sd = np.sqrt(np.diag(both))
        assert (fit.difficulty_sd[nth], fit.discrimination_sd[nth]) == pytest.approx(sd, rel=0.12)


def test_an_item_is_its_posterior_integrated_on_a_grid() -> None:
    data = made(np.random.default_rng(8), Design(n_models=16, n_paradigms=10, n_each=10))
    fit = fit_items(data.credit)
    grid = np.stack(np.meshgrid(np.linspace(-9, 9, 361), np.linspace(-6, 7, 261), indexing="ij"), axis=-1).reshape(
        -1, 2
    )
    odds = grid[:, :1] + grid[:, 1:] * fit.ability
    prior = stats.multivariate_normal(fit.mean, fit.covariance).logpdf(grid)
    for nth in range(0, 100, 9):
        likelihood = (odds * data.credit[nth] - np.logaddexp(0, odds)).sum(axis=1) / fit.discount
        mass = np.exp(prior + likelihood - (prior + likelihood).max())
        mean = (mass @ grid) / mass.sum()
        sd = np.sqrt(mass @ (grid - mean) ** 2 / mass.sum())
        assert (-fit.difficulty[nth], fit.discrimination[nth]) == pytest.approx(tuple(mean), abs=0.03)
        assert (fit.difficulty_sd[nth], fit.discrimination_sd[nth]) == pytest.approx(tuple(sd), rel=0.05)


def test_true_curves_are_recovered_from_85_models() -> None:
    data = made(np.random.default_rng(3), Design(n_models=85, n_paradigms=20, n_each=15, reversed_share=0.04))
    fit = fit_items(data.credit)
    assert np.corrcoef(fit.ability, data.ability)[0, 1] > 0.98
    assert np.corrcoef(fit.difficulty, -data.easiness)[0, 1] > 0.93
    assert np.corrcoef(fit.discrimination, data.discrimination)[0, 1] > 0.85
    low, high = fit.interval("discrimination")
    assert 0.9 < ((low < data.discrimination) & (data.discrimination < high)).mean() < 0.99
    tested = negative_items(data.credit, design_effect=fit.design_effect)
    assert (data.discrimination[tested.suspect] < 0).all()
    assert tested.suspect[data.discrimination < 0].mean() > 0.6


def test_missing_answers_are_left_out() -> None:
    data = made(np.random.default_rng(4), Design(n_models=40, n_paradigms=10, n_each=12))
    credit = data.credit.copy()
    credit[np.random.default_rng(5).random(credit.shape) < 0.2] = np.nan
    fit = fit_items(credit)
    whole = fit_items(data.credit)
    assert np.corrcoef(fit.discrimination, whole.discrimination)[0, 1] > 0.85
    assert fit.discrimination_sd.mean() > whole.discrimination_sd.mean()


def test_copies_of_a_model_do_not_count_as_further_models() -> None:
    data = made(np.random.default_rng(6), Design(n_models=20, n_paradigms=20, n_each=10, flat=0.3))
    copies = np.repeat(data.credit, 3, axis=1)
    fit = fit_items(copies)
    assert 60 / fit.design_effect < 35
    assert not negative_items(copies, design_effect=fit.design_effect).suspect[data.discrimination > 0].any()


def test_too_few_models_or_items_are_refused_with_the_numbers_needed() -> None:
    with pytest.raises(BankError, match=r"11 models on 100 items; expected at least 12 models"):
        fit_items(np.ones((100, 11)))
    with pytest.raises(BankError, match="20 models on 49 items"):
        fit_items(np.ones((49, 20)))
    with pytest.raises(BankError, match="all models have the same accuracy"):
        fit_items(np.ones((60, 12)))
    with pytest.raises(BankError, match="a credit is not from 0 to 1"):
        fit_items(np.full((60, 12), 2.0))
