"""What do methods, models and phenomena change, when items and paradigms are a sample? Cells in, effects out.

A cell is what one method of one model gives on one unit: a paradigm (the mean of its items) or an item. Units are drawn
at random, and so is how far each method and each model is better or worse on a unit than elsewhere (Barr et al. 2013,
J Mem Lang 68:255-278): numbers by a linear mixed model (REML), shares by a logistic model with the standard errors of
Mancl & DeRouen 2001 (GEE: Liang & Zeger 1986). Intervals are Student's, with units - 1 degrees of freedom.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, undefined

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

LINEAR, LOGISTIC = "mixed-reml", "gee-logit"
METHOD, MODEL, PHENOMENON, UNIT, VALUE = "method", "model", "phenomenon", "unit", "value"
LEAST_UNITS = 10
"""Units that intervals need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How one level of a term differs from what it is compared with."""

    term: str
    """`method`, `model` or `phenomenon`."""
    level: str
    versus: str
    """The reference level, or `mean` of all levels."""
    estimate: Estimate
    """In standard deviations of a delta, or log odds; n counts units."""
    p: float
    """Two-sided; NaN where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Effects, and where the variance of the cells lies."""

    effects: tuple[Effect, ...]
    variances: tuple[tuple[str, float], ...]
    """Of units, of methods and of models within units, and the rest; empty for shares."""
    r_squared: float = np.nan
    """Share of the cells' variance that methods, models and phenomena explain."""
    r_squared_with_units: float = np.nan
    """The same with what units, and methods and models within them, vary; NaN for shares."""
    reason: str | None = None
    """Why the model could not be fitted; None where it could."""


def mixed_numbers(cells: pd.DataFrame, *, references: dict[str, str] | None = None) -> Fitted:
    """Return the effects on numbers, by a linear mixed model.

    Args:
        cells: Columns unit, method, model, value, and phenomenon where it counts; one row a unit, method and model.
        references: Level of method and model that others are compared with; the first of each where not given.

    Raises:
        BankError: If there are no two methods or models, or fewer than ten units.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    plan = _planned(cells, references or {})
    n_method, n_model = cells[METHOD].nunique(), cells[MODEL].nunique()
    parts = [METHOD] * (n_method > 1 and n_model > 1) + [MODEL] * (n_model > 1 and n_method > 1)
    spread = plan.cells[VALUE].std(ddof=0)
    specification = VCSpec(
        parts,
        [[list(_dummies(plan.cells[name]).columns)] * plan.n_units for name in parts],
        [_by_unit(_dummies(plan.cells[name]).to_numpy(), plan) for name in parts],
    )
    model = MixedLM(
        plan.cells[VALUE].to_numpy() / spread,
        plan.design,
        groups=plan.codes,
        exog_re=np.ones((len(plan.cells), 1)),
        exog_vc=specification if parts else None,
    )
    fit, reason = _fit(lambda: model.fit(reml=True, method=["lbfgs", "bfgs"]))
    if fit is None:
        return _unfitted(plan, str(reason), LINEAR)
    n_fixed = plan.design.shape[1]
    effects = _effects(
        plan, fit.fe_params * spread, np.asarray(fit.cov_params())[:n_fixed, :n_fixed] * spread**2, LINEAR
    )
    found = [(UNIT, float(fit.cov_re[0, 0])), *zip(parts, map(float, fit.vcomp), strict=True), ("rest", fit.scale)]
    fixed = float(np.var(plan.design @ np.asarray(fit.fe_params)))
    whole = fixed + sum(float(x) for _, x in found)
    return Fitted(
        effects=effects,
        variances=tuple((name, float(x) * spread**2) for name, x in found),
        r_squared=fixed / whole,
        r_squared_with_units=1 - float(fit.scale) / whole,
    )


def mixed_shares(cells: pd.DataFrame, *, references: dict[str, str] | None = None) -> Fitted:
    """Return the effects on shares (0 to 1), as log odds, by a logistic model with standard errors over units.

    Args:
        cells: As for `mixed_numbers`, with shares as values.
        references: As there.
    """
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    plan = _planned(cells, references or {})
    model = GEE(
        plan.cells[VALUE].to_numpy(), plan.design, groups=plan.codes, family=Binomial(), cov_struct=Exchangeable()
    )
    fit, reason = _fit(lambda: model.fit(cov_type="bias_reduced", maxiter=200))
    if fit is None or np.abs(fit.params).max() > 15:
        return _unfitted(plan, reason or "a method or model is right, or wrong, nearly everywhere", LOGISTIC)
    values = plan.cells[VALUE].to_numpy()
    left = float(np.sum((values - np.asarray(fit.fittedvalues)) ** 2) / np.sum((values - values.mean()) ** 2))
    effects = _effects(plan, fit.params, np.asarray(fit.cov_params()), LOGISTIC)
    return Fitted(effects=effects, variances=(), r_squared=1 - left)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    cells: pd.DataFrame
    codes: np.ndarray
    design: FloatArray
    contrasts: tuple[tuple[str, str, str, FloatArray], ...]
    """Term, level, what it is compared with, and its weights on the columns of the design."""
    n_units: int
    n_between: int
    """Parameters that units have in common with no other unit of theirs: phenomena."""


def _planned(cells: pd.DataFrame, references: dict[str, str]) -> _Plan:
    ordered = cells.sort_values([UNIT, METHOD, MODEL], kind="stable").reset_index(drop=True)
    codes, units = pd.factorize(ordered[UNIT])
    if len(units) < LEAST_UNITS:
        raise BankError(f"{len(units)} units; a mixed model needs {LEAST_UNITS} items or paradigms")
    if not np.ptp(ordered[VALUE].to_numpy()):
        raise BankError("every cell has the same value")
    blocks: list[FloatArray] = [np.ones((len(ordered), 1))]
    contrasts: list[tuple[str, str, str, int, FloatArray]] = []
    n_between = 1
    for term in (METHOD, MODEL, PHENOMENON):
        levels = _levels(ordered, term)
        if len(levels) < 2:
            continue
        reference = references.get(term, levels[0])
        others = [level for level in levels if level != reference]
        blocks.append(np.column_stack([(ordered[term] == level).to_numpy(dtype=np.float64) for level in others]))
        start = sum(block.shape[1] for block in blocks[:-1])
        weights = np.eye(len(others))
        if term == PHENOMENON:
            n_between = len(levels)
            weights = np.vstack([np.zeros(len(others)), weights]) - 1 / len(levels)
            contrasts += [(term, x, "mean", start, w) for x, w in zip([reference, *others], weights, strict=True)]
        else:
            contrasts += [(term, x, reference, start, w) for x, w in zip(others, weights, strict=True)]
    design = np.column_stack(blocks)
    if not contrasts or np.linalg.matrix_rank(design) < design.shape[1]:
        raise BankError("nothing to compare: no two methods or models on the same units")
    spread = tuple(
        (term, level, versus, np.pad(w, (start, design.shape[1] - start - len(w))))
        for term, level, versus, start, w in contrasts
    )
    return _Plan(cells=ordered, codes=codes, design=design, contrasts=spread, n_units=len(units), n_between=n_between)


def _levels(cells: pd.DataFrame, term: str) -> list[str]:
    """Return the levels of a term; phenomena only where each has two units, else their units tell nothing."""
    if term not in cells.columns or cells[term].isna().any():
        return []
    if term == PHENOMENON and cells.groupby(term)[UNIT].nunique().min() < 2:
        return []
    return list(dict.fromkeys(cells[term]))


def _dummies(column: pd.Series[Any]) -> pd.DataFrame:
    return pd.get_dummies(column, dtype=float)


def _by_unit(matrix: FloatArray, plan: _Plan) -> list[FloatArray]:
    cuts = np.flatnonzero(np.diff(plan.codes)) + 1
    return np.split(matrix, cuts)


def _fit(fit: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - statsmodels has no types
    """Return a fit, or None and why there is none."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = fit()
        except (np.linalg.LinAlgError, ValueError, FloatingPointError) as error:
            return None, f"it cannot be fitted: {error}"
    failed = any("not converge" in str(warning.message) for warning in told)
    if failed or not getattr(found, "converged", True) or not np.isfinite(np.asarray(found.cov_params())).any():
        return None, "it did not converge"
    return found, None


def _effects(plan: _Plan, parameters: FloatArray, covariance: FloatArray, method: str) -> tuple[Effect, ...]:
    from scipy.stats import t

    found = []
    for term, level, versus, weights in plan.contrasts:
        value, error = float(weights @ parameters), float(np.sqrt(weights @ covariance @ weights))
        freedom = plan.n_units - (plan.n_between if term == PHENOMENON else 1)
        if not np.isfinite(value + error) or error <= 0:
            made, p = undefined("no standard error", n=plan.n_units, method=method), np.nan
        else:
            reach = float(t.isf(0.025, freedom)) * error
            made = Estimate(value=value, low=value - reach, high=value + reach, n=plan.n_units, method=method)
            p = float(2 * t.sf(abs(value) / error, freedom))
        found.append(Effect(term=term, level=str(level), versus=versus, estimate=made, p=p))
    return tuple(found)


def _unfitted(plan: _Plan, reason: str, method: str) -> Fitted:
    nothing = undefined(reason, n=plan.n_units, method=method)
    effects = [
        Effect(term=term, level=str(level), versus=versus, p=np.nan, estimate=nothing)
        for term, level, versus, _ in plan.contrasts
    ]
    return Fitted(effects=tuple(effects), variances=(), reason=reason)


def cells_of(
    values: FloatArray, *, units: Sequence[str], method: str, model: str, phenomena: Sequence[str | None] | None = None
) -> pd.DataFrame:
    """Return the cells of one method of one model: the mean of a unit's values that are there.

    Args:
        values: One an item; NaN where the method does not apply.
        units: The item's unit: its paradigm, or itself.
        method: The method.
        model: The model.
        phenomena: The item's phenomenon, where there are some; a unit has that of its first item.

    >>> cells_of(np.array([1.0, 3.0, np.nan]), units=["a", "a", "b"], method="direct", model="m")[["unit", "value"]]
      unit  value
    0    a    2.0
    """
    frame = pd.DataFrame({UNIT: list(units), VALUE: values, PHENOMENON: list(phenomena or [None] * len(values))})
    known = frame[frame[VALUE].notna()]
    found = known.groupby(UNIT, sort=True).agg(value=(VALUE, "mean"), phenomenon=(PHENOMENON, "first")).reset_index()
    return found.assign(method=method, model=model)
