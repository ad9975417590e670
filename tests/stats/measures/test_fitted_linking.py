"""MORCELA: weights against statsmodels and against what was planted; held-out r, and the null of SLOR being right."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from nulls.linking import sentences
from pairbank.errors import BankError
from pairbank.stats.analyses.linking import FittedLinking, fitted_linking


def fitted(given: pd.DataFrame) -> FittedLinking:
    result = fitted_linking(given)
    assert not isinstance(result, str), result
    return result


def test_weights_are_the_ratios_of_statsmodels_coefficients() -> None:
    given = sentences(np.random.default_rng(1), beta=0.6, gamma=8.0)
    y, n = given.ratings.to_numpy(), given.n_tokens.to_numpy()
    ols = sm.OLS(y, sm.add_constant(np.column_stack([given.logprob_nats / n, given.unigram_nats / n, 1 / n])))
    weights = ols.fit().params
    result = fitted(given)
    assert result.beta.value == pytest.approx(-weights[2] / weights[1], abs=1e-6)
    assert result.gamma.value == pytest.approx(weights[3] / weights[1], abs=1e-6)
    slor = (given.logprob_nats - given.unigram_nats) / n
    assert result.r_slor.value == pytest.approx(np.corrcoef(slor, y)[0, 1], abs=1e-12)
    assert result.r.value == pytest.approx(np.corrcoef(result.scores, y)[0, 1], abs=1e-12)
    assert result.over_slor.value == pytest.approx(result.r.value - result.r_slor.value, abs=1e-12)


def test_ratings_of_nothing_are_not_predicted() -> None:
    rng = np.random.default_rng(5)
    given = sentences(rng, beta=0.6, gamma=8.0, n=200)
    assert fitted(given.assign(ratings=rng.normal(size=200))).r.value < 0.15


def test_a_group_is_never_fitted_on_and_predicted_at_once() -> None:
    given = sentences(np.random.default_rng(6), beta=0.6, gamma=8.0, n=200, noise=0.1)
    given = given.assign(groups=np.arange(200) // 5)
    mine = given.groups == 7
    before, after = (fitted(given.assign(ratings=given.ratings + add)).scores for add in (0.0, 1000.0 * mine))
    assert np.array_equal(before[mine], after[mine])
    assert not np.allclose(before[~mine], after[~mine])


def test_what_cannot_be_fitted_says_why() -> None:
    given = sentences(np.random.default_rng(7), beta=1.0, gamma=0.0, n=60)
    assert "19 groups of sentences" in str(fitted_linking(given.assign(groups=np.arange(60) % 19)))
    assert "lengths or frequencies do not vary" in str(fitted_linking(given.assign(n_tokens=np.full(60, 7.0))))
    with pytest.raises(BankError, match="expected finite numbers"):
        fitted_linking(given.assign(n_tokens=np.nan))
