"""Linear mixed models with random slopes of one or two crossed groupings, by REML: what `lme4::lmer` fits.

The deviance is profiled over effects and residual variance (Bates et al. 2015, J Stat Softw 67(1), section 3) with its
analytic gradient; the first grouping's effects are solved one level at a time. Degrees of freedom are Satterthwaite's,
from the observed information of all variance parameters (Kuznetsova et al. 2017, J Stat Softw 82(13)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.errors import BankError

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray, IntArray

SINGULAR = 1e-4
"""Of a standard deviation relative to the residual one; lme4's `isSingular`."""
_MOST_STARTS = 8
_FLAT = 0.02
"""Slope of the deviance that an optimum may have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouping:
    """Levels that are drawn, and how the columns of the design vary between them."""

    name: str
    codes: IntArray
    """Level of each row, from 0."""
    columns: FloatArray
    """Intercept and slopes, shape (rows, columns)."""
    terms: tuple[str, ...]
    """What the columns are: `1`, `structure`, …"""
    correlated: bool = True

    @property
    def formula(self) -> str:
        """The grouping as R writes it."""
        return f"({' + '.join(dict.fromkeys(self.terms))} {'|' if self.correlated else '||'} {self.name})"

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return int(self.codes.max()) + 1

    def some(self, kept: BoolArray) -> Grouping:
        """Return the grouping with some of its columns."""
        terms = tuple(term for term, is_kept in zip(self.terms, kept, strict=True) if is_kept)
        return replace(self, columns=self.columns[:, kept], terms=terms)

    @cached_property
    def free(self) -> tuple[Any, ...]:
        """Places of the parameters in the relative Cholesky factor."""
        size = self.columns.shape[1]
        return np.tril_indices(size) if self.correlated else np.diag_indices(size)


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedFit:
    """Fixed effects with what their tests need, or why there are none."""

    effects: FloatArray
    covariance: FloatArray
    scale: float
    """Residual variance."""
    deviance: float
    """The REML criterion, as lme4 prints it."""
    parameters: FloatArray
    groupings: tuple[Grouping, ...]
    n: int
    is_singular: bool
    information: FloatArray
    """Inverse of half the Hessian of the deviance, of the parameters and the residual standard deviation."""
    slopes: FloatArray
    """Of the covariance of the effects by each of these, shape (parameters + 1, effects, effects)."""

    @property
    def formula(self) -> str:
        """The random part as R writes it."""
        return " + ".join(grouping.formula for grouping in self.groupings)

    def contrast(self, weights: FloatArray) -> tuple[float, float, float]:
        """Return a contrast of the effects, its standard error and its degrees of freedom."""
        square = float(weights @ self.covariance @ weights)
        gradient = np.einsum("i,kij,j->k", weights, self.slopes, weights)
        spread = float(gradient @ self.information @ gradient)
        most = self.n - len(weights)
        degrees = min(max(2 * square**2 / spread, 1.0), most) if spread > 0 else float(most)
        return float(weights @ self.effects), float(np.sqrt(square)), degrees


@dataclass(frozen=True, kw_only=True, eq=False)
class _State:
    log_determinants: float
    rest: float
    """Residual sum of squares, penalised."""
    effects: FloatArray
    covariance: FloatArray
    traces: tuple[FloatArray, ...]
    """Z'PZ summed over the levels of each grouping."""
    squares: tuple[FloatArray, ...]
    """Z'Py of each level times itself, summed."""


class _Model:
    """The sums that a likelihood takes, whatever the variances are."""

    def __init__(self, values: FloatArray, design: FloatArray, groupings: Sequence[Grouping]) -> None:
        self.groupings = tuple(groupings)
        self.n, self.n_fixed = design.shape
        first, others = groupings[0], groupings[1:]
        second = [np.zeros((self.n, 0))]
        for grouping in others:
            n_columns = grouping.columns.shape[1]
            block = np.zeros((self.n, grouping.n_levels, n_columns))
            block[np.arange(self.n), grouping.codes] = grouping.columns
            second.append(block.reshape(self.n, -1))
        self.joined = np.column_stack([*second, design, values])
        self.products = self.joined.T @ self.joined
        shape = (first.n_levels, first.columns.shape[1])
        self.own = np.zeros((*shape, shape[1]))
        self.cross = np.zeros((*shape, self.joined.shape[1]))
        np.add.at(self.own, first.codes, first.columns[:, :, np.newaxis] * first.columns[:, np.newaxis])
        np.add.at(self.cross, first.codes, first.columns[:, :, np.newaxis] * self.joined[:, np.newaxis])

    def factors(self, parameters: FloatArray) -> list[FloatArray]:
        """Return the relative Cholesky factor of each grouping."""
        result, start = [], 0
        for grouping in self.groupings:
            factor = np.zeros((grouping.columns.shape[1],) * 2)
            factor[grouping.free] = parameters[start : start + len(grouping.free[0])]
            start += len(grouping.free[0])
            result.append(factor)
        return result

    def at(self, parameters: FloatArray) -> _State:
        """Return the likelihood's parts at relative factors of the covariances."""
        own, n_second = self.factors(parameters), self.joined.shape[1] - self.n_fixed - 1
        first = own[0]
        inner = np.eye(len(first)) + first.T @ self.own @ first
        solver = first @ np.linalg.inv(inner) @ first.T
        reduced = solver @ self.cross
        flat = (-1, self.joined.shape[1])
        between = self.products - self.cross.reshape(flat).T @ reduced.reshape(flat)
        scaling = np.eye(n_second + self.n_fixed)
        if n_second:
            scaling[:n_second, :n_second] = np.kron(np.eye(self.groupings[1].n_levels), own[1])
        penalty = np.diag(np.r_[np.ones(n_second), np.zeros(self.n_fixed)])
        raw = between[:-1, :-1] @ scaling
        system = scaling.T @ raw + penalty
        inverse = np.linalg.inv(system)
        target = scaling.T @ between[:-1, -1]
        solved = inverse @ target
        left = self.cross - self.own @ reduced
        shown = left[:, :, :-1] @ scaling
        residual = left[:, :, -1] - shown @ solved
        traces = [(self.own - self.own @ solver @ self.own - shown @ inverse @ shown.transpose(0, 2, 1)).sum(axis=0)]
        squares = [residual.T @ residual]
        if n_second:
            shape = (self.groupings[1].n_levels, len(own[1]))
            upper = raw[:n_second]
            whole = (between[:n_second, :n_second] - upper @ inverse @ upper.T).reshape(shape * 2)
            effects = (between[:n_second, -1] - upper @ solved).reshape(shape)
            traces.append(np.einsum("lalb->ab", whole))
            squares.append(effects.T @ effects)
        return _State(
            log_determinants=float(np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(system)[1]),
            rest=float(between[-1, -1] - target @ solved),
            effects=solved[n_second:],
            covariance=inverse[n_second:, n_second:],
            traces=tuple(traces),
            squares=tuple(squares),
        )

    def slope(self, parameters: FloatArray, state: _State, scale: float) -> FloatArray:
        """Return the slope of the deviance by each parameter, for a residual variance."""
        parts = zip(self.groupings, self.factors(parameters), state.traces, state.squares, strict=True)
        return np.concatenate([(2 * (trace - square / scale) @ factor)[g.free] for g, factor, trace, square in parts])

    def profiled(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the deviance and its slope, the residual variance profiled out."""
        state, degrees = self.at(parameters), self.n - self.n_fixed
        scale = max(state.rest, 1e-300) / degrees
        deviance = state.log_determinants + degrees * (1 + np.log(2 * np.pi * scale))
        return deviance, self.slope(parameters, state, scale)

    def slope_of_variances(self, parameters: FloatArray) -> FloatArray:
        """Return the slope by each variance: by a standard deviation of 0 it is 0, also where no optimum is."""
        state = self.at(parameters)
        scale = state.rest / (self.n - self.n_fixed)
        parts = zip(self.groupings, state.traces, state.squares, strict=True)
        return np.concatenate([np.diagonal(trace - square / scale)[g.free[0]] for g, trace, square in parts])

    def full_slope(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the deviance's slope and the covariance of the effects, the last parameter being the residual SD."""
        state, sigma = self.at(parameters[:-1]), float(parameters[-1])
        by_sigma = 2 * (self.n - self.n_fixed) / sigma - 2 * state.rest / sigma**3
        return np.append(self.slope(parameters[:-1], state, sigma**2), by_sigma), state.covariance * sigma**2


def fit_slopes(values: FloatArray, design: FloatArray, groupings: Sequence[Grouping]) -> MixedFit:
    """Return the model with these random parts."""
    from scipy.optimize import minimize

    ordered = sorted(groupings, key=lambda grouping: -grouping.n_levels)
    for grouping in ordered:
        if (n_effects := grouping.n_levels * grouping.columns.shape[1]) >= len(values):
            raise BankError(f"{grouping.formula} has {n_effects} effects for {len(values)} observations")
    model = _Model(values, design, ordered)
    diagonal = np.concatenate([grouping.free[0] == grouping.free[1] for grouping in ordered])
    bounds = [(0.0 if is_diagonal else None, None) for is_diagonal in diagonal]
    start = diagonal * 1.0
    for _ in range(_MOST_STARTS):
        found = minimize(
            model.profiled, start, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"ftol": 1e-12, "gtol": 1e-6, "maxiter": 1000},
        )  # fmt: skip
        deviance, slope = model.profiled(found.x)
        lifted = diagonal & (found.x < SINGULAR) & (model.slope_of_variances(found.x) < -_FLAT)
        if not lifted.any() and (np.abs(np.where(diagonal & (found.x <= 0), 0, slope)) <= _FLAT).all():
            break
        start = np.where(lifted, 0.3, found.x) if lifted.any() else diagonal * float(start.max()) / 3
    else:
        raise BankError(f"{' + '.join(grouping.formula for grouping in ordered)} does not converge")
    state = model.at(found.x)
    scale = state.rest / (model.n - model.n_fixed)
    if not scale > 1e-12 * float(np.var(values)):
        raise BankError("no variation is left beside the effects")
    information, slopes = _information(model, np.append(found.x, np.sqrt(scale)))
    return MixedFit(
        effects=state.effects,
        covariance=state.covariance * scale,
        scale=scale,
        deviance=float(deviance),
        parameters=np.asarray(found.x),
        groupings=tuple(ordered),
        n=model.n,
        is_singular=bool((np.abs(found.x[diagonal]) < SINGULAR).any()),
        information=information,
        slopes=slopes,
    )


def _information(model: _Model, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return twice the inverse Hessian of the deviance, and the slopes of the effects' covariance."""
    hessian, slopes = np.zeros((len(parameters),) * 2), []
    for nth, value in enumerate(parameters):
        step = np.zeros(len(parameters))
        step[nth] = 1e-4 * max(abs(value), 0.1)
        above, below = model.full_slope(parameters + step), model.full_slope(parameters - step)
        hessian[nth] = (above[0] - below[0]) / (2 * step[nth])
        slopes.append((above[1] - below[1]) / (2 * step[nth]))
    roots, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    kept = roots > 1e-8 * max(float(roots.max()), 1e-300)
    return 2 * (vectors[:, kept] / roots[kept]) @ vectors[:, kept].T, np.array(slopes)


def fit_maximal(values: FloatArray, design: FloatArray, groupings: Sequence[Grouping]) -> MixedFit:
    """Return the model with the maximal random structure that converges (Barr et al. 2013, J Mem Lang 68:255-278)."""
    most = [max(1, (len(values) - 1) // grouping.n_levels) for grouping in groupings]
    whole = [g.some(np.arange(g.columns.shape[1]) < n) for g, n in zip(groupings, most, strict=True)]
    uncorrelated = [replace(grouping, correlated=False) for grouping in whole]
    intercepts = [grouping.some(np.arange(grouping.columns.shape[1]) < 1) for grouping in groupings]
    reasons = []
    for structure in (whole, uncorrelated, intercepts):
        try:
            return fit_slopes(values, design, structure)
        except BankError as error:
            reasons.append(str(error))
    raise BankError("; ".join(dict.fromkeys(reasons)))
