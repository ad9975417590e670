"""Models of numbers by named columns: least squares and binomial regression, and shares of variance of crossed factors.

The regressions are what R's `lm` and `glm(family = binomial)` print, with classical standard errors. A regression that
the data cannot determine has NaN coefficients and a reason, never numbers that depend on the solver.

Of crossed factors, such as items, prompts, models: each component (a factor, or a combination of factors; the last is
the rest) is drawn at random, so that half the mean squared difference of two observations which share some factors is
the sum of the components that these do not cover. These means over pairs are sums of squares, for any pattern of
missing cells (Henderson 1953, Biometrics 9:226-252; Gao & Owen 2016, arXiv:1610.08088); solving for the components is
then linear.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError

INTERCEPT = "intercept"
_EXACT_FIT = 1e-12
_INFINITE_LOGIT = 15.0
"""Where some group is always right, the iteration ends at about log(1e8 trials); no finite estimate gets here."""

REST = "rest"
N_GROUPS = 20
"""Groups of items that are left out in turn, for the intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One coefficient of a regression, in units of the outcome (log odds for a binomial one)."""

    term: str
    estimate: float
    standard_error: float
    """Classical, as R prints it."""
    statistic: float
    """t for least squares, z for a binomial regression."""
    p_value: float
    """Two-sided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A fitted regression, or the reason why there is none."""

    formula: str
    """As R would write it."""
    coefficients: tuple[Coefficient, ...]
    n: int
    """Observations used; for a binomial regression, trials."""
    n_left_out: int
    """Rows left out because a number of theirs is undefined."""
    df_residual: int
    log_likelihood: float = math.nan
    aic: float = math.nan
    bic: float = math.nan
    r_squared: float = math.nan
    """Least squares: share of variance. Binomial: McFadden's 1 - log L / log L of the intercept alone, of single
    trials."""
    reason: str | None = None
    """Why something is NaN; None where everything is there."""

    def __getitem__(self, term: str) -> Coefficient:
        known = {coefficient.term: coefficient for coefficient in self.coefficients}
        if term not in known:
            raise BankError(f"{self.formula}: no term {term!r}; its terms are {[*known]}")
        return known[term]

    @property
    def is_defined(self) -> bool:
        return not any(math.isnan(c.estimate) for c in self.coefficients)

    def table(self) -> pd.DataFrame:
        """Return one row a coefficient: formula, term, estimate, standard_error, …, n, …, r_squared, reason."""
        shared = {name: value for name, value in asdict(self).items() if name not in ("formula", "coefficients")}
        rows = [{"formula": self.formula} | asdict(coefficient) | shared for coefficient in self.coefficients]
        return pd.DataFrame(rows).astype({"reason": "string"})


def least_squares(outcome: ArrayLike, terms: Mapping[str, ArrayLike], *, formula: str) -> Regression:
    """Return the ordinary least squares fit of an outcome on an intercept and some terms, as R's `lm`.

    AIC and BIC count the residual variance as a parameter, as R does. Rows with a NaN are left out and counted.

    >>> fit = least_squares([1.0, 3.0, 2.0, 5.0], {"x": [0.0, 1.0, 2.0, 3.0]}, formula="y ~ x")
    >>> round(fit["x"].estimate, 6), round(fit["x"].standard_error, 6), fit.df_residual
    (1.1, 0.519615, 2)
    """
    from statsmodels.regression.linear_model import OLS

    y, design, n_left_out = _design(np.asarray(outcome, dtype=np.float64), terms)
    names = (INTERCEPT, *terms)
    if reason := _why_not(design, names):
        return _undetermined(formula, names, reason, n=len(y), n_left_out=n_left_out)
    fit = OLS(y, design).fit()
    df, estimate = int(fit.df_resid), np.asarray(fit.params)
    shared: dict[str, Any] = {"formula": formula, "n": len(y), "n_left_out": n_left_out, "df_residual": df}
    if df == 0 or np.linalg.norm(fit.resid) <= _EXACT_FIT * np.linalg.norm(y):
        reason = "as many coefficients as observations" if df == 0 else "the fit is exact: nothing is left over"
        coefficients = _coefficients(names, estimate, *[np.full(len(names), np.nan)] * 3)
        return Regression(coefficients=coefficients, reason=reason, **shared)
    coefficients = _coefficients(names, estimate, fit.bse, fit.tvalues, fit.pvalues)
    known = _information(float(fit.llf), n_parameters=len(names) + 1, n=len(y))
    return Regression(coefficients=coefficients, r_squared=float(fit.rsquared), **shared, **known)


def binomial(successes: ArrayLike, trials: ArrayLike, terms: Mapping[str, ArrayLike], *, formula: str) -> Regression:
    """Return the logistic regression of single trials, given as counts, as R's `glm(family = binomial)`.

    Log-likelihood, AIC, BIC and n are those of the single trials, as if each were a row.

    >>> fit = binomial([30, 10], [40, 40], {"x": [1.0, 0.0]}, formula="y ~ x")
    >>> round(fit["x"].estimate, 6) == round(2 * math.log(3), 6), fit.n  # log odds 3 against 1/3
    (True, 80)
    """
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    y, design, n_left_out = _design(np.asarray(successes, dtype=np.float64), {**terms, "trials": trials})
    design, of = design[:, :-1], design[:, -1]
    if (y < 0).any() or (y > of).any() or (of < 1).any():
        raise BankError(f"{formula}: successes must be between 0 and the trials, of which there is at least 1")
    names, n = (INTERCEPT, *terms), int(of.sum())
    if reason := _why_not(design, names):
        return _undetermined(formula, names, reason, n=n, n_left_out=n_left_out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a saturated fit is no perfect separation; convergence is checked below
        fit = GLM(np.column_stack([y, of - y]), design, family=families.Binomial()).fit()
    if not fit.converged or np.abs(design @ fit.params).max() > _INFINITE_LOGIT:
        reason = "some group is always or never right: no finite estimate"
        return _undetermined(formula, names, reason, n=n, n_left_out=n_left_out)
    likelihood = _log_likelihood(y, of, np.asarray(fit.fittedvalues))
    without_terms = _log_likelihood(y, of, np.full_like(y, y.sum() / of.sum()))
    return Regression(
        formula=formula,
        coefficients=_coefficients(names, fit.params, fit.bse, fit.tvalues, fit.pvalues),
        n=n,
        n_left_out=n_left_out,
        df_residual=n - len(names),
        r_squared=1 - likelihood / without_terms,
        **_information(likelihood, n_parameters=len(names), n=n),
    )


def _design(outcome: FloatArray, terms: Mapping[str, ArrayLike]) -> tuple[FloatArray, FloatArray, int]:
    """Return outcome, design matrix (rows, 1 + terms) and how many rows are left out for a NaN."""
    columns = [np.ones_like(outcome), *(np.asarray(x, dtype=np.float64) for x in terms.values())]
    if any(x.shape != outcome.shape for x in columns) or outcome.ndim != 1:
        shapes = {name: np.shape(x) for name, x in terms.items()}
        raise BankError(f"outcome has shape {outcome.shape}, terms {shapes}; expected one number per row in each")
    design = np.column_stack(columns)
    keep = np.isfinite(design).all(axis=1) & np.isfinite(outcome)
    return outcome[keep], design[keep], int((~keep).sum())


def _why_not(design: FloatArray, names: tuple[str, ...]) -> str | None:
    n_rows, n_columns = design.shape
    if n_rows < n_columns:
        return f"{n_rows} observations cannot determine {n_columns} coefficients"
    length = np.linalg.norm(design, axis=0)
    scaled = design / np.where(length > 0, length, 1.0)
    for nth in range(1, n_columns):
        if np.linalg.matrix_rank(scaled[:, : nth + 1], tol=1e-9) <= nth:
            others = ", ".join(names[:nth])
            return f"{names[nth]} cannot be told apart from {others}: it is a linear combination of them in these data"
    return None


def _coefficients(names: tuple[str, ...], *columns: FloatArray) -> tuple[Coefficient, ...]:
    return tuple(
        Coefficient(term=name, estimate=float(b), standard_error=float(se), statistic=float(t), p_value=float(p))
        for name, b, se, t, p in zip(names, *columns, strict=True)
    )


def _undetermined(formula: str, names: tuple[str, ...], reason: str, *, n: int, n_left_out: int) -> Regression:
    return Regression(
        formula=formula,
        coefficients=_coefficients(names, *[np.full(len(names), np.nan)] * 4),
        n=n,
        n_left_out=n_left_out,
        df_residual=max(0, n - len(names)),
        reason=reason,
    )


def _information(log_likelihood: float, *, n_parameters: int, n: int) -> dict[str, Any]:
    return {
        "log_likelihood": log_likelihood,
        "aic": 2 * n_parameters - 2 * log_likelihood,
        "bic": math.log(n) * n_parameters - 2 * log_likelihood,
    }


def _log_likelihood(successes: FloatArray, trials: FloatArray, share: FloatArray) -> float:
    """Return the log-likelihood of the single trials; 0 log 0 is 0."""
    from scipy.special import xlog1py, xlogy

    return float(np.sum(xlogy(successes, share) + xlog1py(trials - successes, -share)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One part of the variance."""

    name: str
    """Its factors, `item x model`; `rest` for what all of them leave."""
    variance: float
    """In squared units of the values; an estimate may be below 0."""
    share: float
    """Of the sum of all components, those below 0 taken as 0."""
    low: float
    high: float
    """95% interval of the share, for other levels of the first factor and the same ones of the others."""
    n_levels: int
    """Levels, or combinations of levels, that there are."""


def crossed_components(values: FloatArray, factors: Mapping[str, IntArray]) -> list[Component]:
    """Return the components of the variance, one observation per cell; intervals are over the first factor, items.

    >>> item, rater = np.divmod(np.arange(12), 3)
    >>> parts = crossed_components(1.0 * item, {"item": item, "rater": rater})
    >>> [(part.name, round(part.share, 3)) for part in parts]
    [('item', 1.0), ('rater', 0.0), ('rest', 0.0)]
    """
    names = list(factors)
    if any(np.unique(factors[name]).size < 2 for name in names):
        raise BankError(f"components of {', '.join(names)}: each needs two levels")
    whole = component_variances(values, factors)
    shares = _shares(whole)
    first = factors[names[0]]
    group = first % N_GROUPS
    left_out = []
    for nth in np.unique(group):
        kept = group != nth
        if np.unique(first[kept]).size > 1:
            part = {name: np.unique(codes[kept], return_inverse=True)[1] for name, codes in factors.items()}
            left_out.append(_shares(component_variances(values[kept], part)))
    low, high = _interval(shares, np.array(left_out))
    return [
        Component(
            name=" x ".join(kind) if len(kind) < len(names) else REST,
            variance=float(whole[nth]),
            share=float(shares[nth]),
            low=float(low[nth]),
            high=float(high[nth]),
            n_levels=len(np.unique(np.column_stack([factors[name] for name in kind]), axis=0)),
        )
        for nth, kind in enumerate(_kinds(names))
    ]


def _kinds(names: list[str]) -> list[tuple[str, ...]]:
    return [kind for size in range(1, len(names) + 1) for kind in itertools.combinations(names, size)]


def component_variances(values: FloatArray, factors: Mapping[str, IntArray]) -> FloatArray:
    """Return the components alone: of each factor, of combinations of ever more factors, and of the rest."""
    names = list(factors)
    shared = [(), *_kinds(names)[:-1]]
    centred = values - values.mean()
    sums = {kind: _pairs(centred, [factors[name] for name in kind]) for kind in shared}
    exact: dict[tuple[str, ...], FloatArray] = {}
    for kind in sorted(shared, key=len, reverse=True):  # pairs that share these factors and no others
        above = [exact[other] for other in exact if set(kind) < set(other)]
        exact[kind] = sums[kind] - np.sum([np.zeros(2), *above], axis=0)
    kinds = _kinds(names)
    used = [kind for kind in shared if exact[kind][1] > 0]
    design = np.array([[float(not set(component) <= set(kind)) for component in kinds] for kind in used])
    means = np.array([exact[kind][0] / exact[kind][1] for kind in used])
    if np.linalg.matrix_rank(design) < len(kinds):
        raise BankError(f"components of {', '.join(names)}: too few cells share a level; give a fuller table")
    return np.asarray(np.linalg.lstsq(design, means, rcond=None)[0])


def _pairs(values: FloatArray, codes: list[IntArray]) -> FloatArray:
    """Return half the sum of squared differences over ordered pairs that share the factors, and the number of pairs."""
    group = np.zeros(values.size, dtype=np.int64)
    for code in codes:
        group = np.unique(group * (int(code.max()) + 1) + code, return_inverse=True)[1]
    n = np.bincount(group).astype(np.float64)
    squares, totals = np.bincount(group, weights=values**2), np.bincount(group, weights=values)
    return np.array([float((n * squares - totals**2).sum()), float((n * (n - 1)).sum())])


def _shares(variances: FloatArray) -> FloatArray:
    kept = np.clip(variances, 0, None)
    total = kept.sum()
    return np.asarray(kept / total) if total > 0 else np.full_like(kept, np.nan)


def _interval(shares: FloatArray, left_out: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Student's interval of the jackknife over groups of items, within 0 and 1; NaN below ten groups."""
    from scipy.stats import t

    g = len(left_out)
    if g < N_GROUPS / 2:
        return np.full_like(shares, np.nan), np.full_like(shares, np.nan)
    error = np.sqrt((g - 1) / g * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    half = t.ppf(0.975, g - 1) * error
    return np.clip(shares - half, 0, 1), np.clip(shares + half, 0, 1)
