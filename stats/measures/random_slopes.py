"""Linear mixed models with crossed groupings, each with an intercept and slopes: what `lme4::lmer` fits.

The deviance is profiled over effects and residual variance (Bates et al. 2015, J Stat Softw 67(1), section 3) with its
analytic gradient. The effects of the largest grouping (the words of texts, thousands of them) are solved one level at a
time, so that the rest is dense and small. Degrees of freedom are Satterthwaite's, from the observed information of all
variance parameters (Kuznetsova et al. 2017, J Stat Softw 82(13)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError

SINGULAR = 1e-4
"""Of a standard deviation relative to the residual one; lme4's `isSingular`."""
_MOST_STARTS = 8
_FLAT = 0.02
"""Slope of the deviance that an optimum may have."""
_LARGEST_DENSE = 2_000
"""Random effects beside those of the largest grouping."""


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
        return f"({' + '.join(dict.fromkeys(self.terms))} {'|' if self.correlated else '||'} {self.name})"

    @property
    def n_levels(self) -> int:
        return int(self.codes.max()) + 1

    def some(self, kept: BoolArray) -> Grouping:
        terms = tuple(term for term, is_kept in zip(self.terms, kept, strict=True) if is_kept)
        return replace(self, columns=self.columns[:, kept], terms=terms)

    @cached_property
    def free(self) -> tuple[Any, ...]:
        """Places of the parameters in the relative Cholesky factor."""
        size = self.columns.shape[1]
        return np.tril_indices(size) if self.correlated else np.diag_indices(size)

    @property
    def has_variances(self) -> bool:
        """Whether all parameters are standard deviations, so that their squares can be fitted."""
        return not self.correlated or self.columns.shape[1] == 1


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedFit:
    """Fixed effects with what their tests need."""

    model: _Model
    effects: FloatArray
    covariance: FloatArray
    """Of the effects."""
    scale: float
    """Residual variance."""
    deviance: float
    """-2 log L, or the REML criterion, as lme4 prints it."""
    parameters: FloatArray
    """Of the groupings, relative to the residual standard deviation; lme4's theta, largest grouping first."""
    random_effects: Mapping[str, FloatArray]
    """Conditional modes by grouping, shape (levels, columns)."""

    @property
    def formula(self) -> str:
        return " + ".join(grouping.formula for grouping in self.model.groupings)

    @property
    def factors(self) -> dict[str, FloatArray]:
        names = [grouping.name for grouping in self.model.groupings]
        return dict(zip(names, self.model.factors(self.parameters), strict=True))

    def covariance_of(self, name: str) -> FloatArray:
        factor = self.factors[name]
        return self.scale * factor @ factor.T

    @cached_property
    def _spread(self) -> tuple[FloatArray, FloatArray]:
        return _information(self.model, np.append(self.parameters, np.sqrt(self.scale)))

    def contrast(self, weights: FloatArray) -> tuple[float, float, float]:
        """Return a contrast of the effects, its standard error and its degrees of freedom."""
        information, slopes = self._spread
        square = float(weights @ self.covariance @ weights)
        gradient = np.einsum("i,kij,j->k", weights, slopes, weights)
        spread = float(gradient @ information @ gradient)
        most = self.model.n - len(weights)
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
    """Z'PZ (by maximum likelihood, with the inverse of V) summed over the levels of each grouping."""
    squares: tuple[FloatArray, ...]
    """Z'Py of each level times itself, summed."""
    random: tuple[FloatArray, ...]
    """Z'Py of each level, shape (levels, columns)."""


class _Model:
    """The sums that a likelihood takes, whatever the variances are."""

    def __init__(
        self, values: FloatArray, design: FloatArray, groupings: Sequence[Grouping], *, reml: bool = True
    ) -> None:
        from scipy.sparse import csr_matrix, hstack

        self.groupings, self.reml = tuple(groupings), reml
        self.n, self.n_fixed = design.shape
        self.freedom = self.n - self.n_fixed * reml
        self.is_diagonal = np.concatenate([g.free[0] == g.free[1] for g in groupings])
        self.is_variance = np.concatenate([np.full(len(g.free[0]), g.has_variances) for g in groupings])
        first, *others = groupings
        self.shapes = [(grouping.n_levels, grouping.columns.shape[1]) for grouping in others]
        self.ends = np.cumsum([0, *(levels * width for levels, width in self.shapes)])
        if self.ends[-1] > _LARGEST_DENSE:
            most = f"{first.formula}; at most {_LARGEST_DENSE:,} can be fitted"
            raise BankError(f"{self.ends[-1]:,} random effects beside those of {most}")
        joined = hstack([*map(_spread_out, others), csr_matrix(np.column_stack([design, values]))], format="csr")
        by_level = _spread_out(first)
        self.products = (joined.T @ joined).toarray()
        shape = (first.n_levels, first.columns.shape[1])
        self.cross = (by_level.T @ joined).toarray().reshape(*shape, -1)
        self.own = np.zeros((*shape, shape[1]))
        np.add.at(self.own, first.codes, first.columns[:, :, np.newaxis] * first.columns[:, np.newaxis])

    def factors(self, parameters: FloatArray) -> list[FloatArray]:
        result, start = [], 0
        for grouping in self.groupings:
            factor = np.zeros((grouping.columns.shape[1],) * 2)
            factor[grouping.free] = parameters[start : start + len(grouping.free[0])]
            start += len(grouping.free[0])
            result.append(factor)
        return result

    def at(self, parameters: FloatArray) -> _State:
        first, *others = self.factors(parameters)
        n_second = int(self.ends[-1])

        def scaled(columns: FloatArray) -> FloatArray:
            parts = [
                (columns[..., start:end].reshape(*columns.shape[:-1], *shape) @ factor).reshape(*columns.shape[:-1], -1)
                for start, end, shape, factor in zip(self.ends[:-1], self.ends[1:], self.shapes, others, strict=True)
            ]
            return np.concatenate([*parts, columns[..., n_second:]], axis=-1)

        inner = np.eye(len(first)) + first.T @ self.own @ first
        solver = first @ np.linalg.inv(inner) @ first.T
        reduced = solver @ self.cross
        flat = (-1, self.cross.shape[-1])
        between = self.products - self.cross.reshape(flat).T @ reduced.reshape(flat)
        raw = scaled(between[:-1, :-1])
        system = scaled(raw.T) + np.diag(np.r_[np.ones(n_second), np.zeros(self.n_fixed)])
        inverse = np.linalg.inv(system)
        target = scaled(between[-1, :-1])
        solved = inverse @ target
        covariance = inverse[n_second:, n_second:]
        log_determinants = float(np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(system)[1])
        if not self.reml:
            log_determinants += float(np.linalg.slogdet(covariance)[1])
            inverse = np.zeros_like(inverse)
            inverse[:n_second, :n_second] = np.linalg.inv(system[:n_second, :n_second])
        left = self.cross - self.own @ reduced
        shown = scaled(left[:, :, :-1])
        random = [left[:, :, -1] - shown @ solved]
        both = (shown.reshape(-1, shown.shape[-1]) @ inverse).reshape(shown.shape) @ shown.transpose(0, 2, 1)
        traces = [(self.own - self.own @ solver @ self.own - both).sum(axis=0)]
        whole = between[:n_second, :n_second] - raw[:n_second] @ inverse @ raw[:n_second].T
        effects = between[:n_second, -1] - raw[:n_second] @ solved
        for start, end, shape in zip(self.ends[:-1], self.ends[1:], self.shapes, strict=True):
            traces.append(np.einsum("lalb->ab", whole[start:end, start:end].reshape(shape * 2)))
            random.append(effects[start:end].reshape(shape))
        return _State(
            log_determinants=log_determinants,
            rest=float(between[-1, -1] - target @ solved),
            effects=solved[n_second:],
            covariance=covariance,
            traces=tuple(traces),
            squares=tuple(part.T @ part for part in random),
            random=tuple(random),
        )

    def slope(self, parameters: FloatArray, state: _State, scale: float) -> FloatArray:
        """Return the slope of the deviance by each parameter, for a residual variance."""
        parts = zip(self.groupings, self.factors(parameters), state.traces, state.squares, strict=True)
        return np.concatenate([(2 * (trace - square / scale) @ factor)[g.free] for g, factor, trace, square in parts])

    def profiled(self, parameters: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the deviance, its slope and that by the variances, the residual variance profiled out."""
        state = self.at(parameters)
        scale = max(state.rest, 1e-300) / self.freedom
        deviance = state.log_determinants + self.freedom * (1 + np.log(2 * np.pi * scale))
        # by a standard deviation of 0 the slope is 0, also where no optimum is: that by its square is not
        parts = zip(self.groupings, state.traces, state.squares, strict=True)
        by_variance = [np.diagonal(trace - square / scale)[g.free[0]] for g, trace, square in parts]
        return deviance, self.slope(parameters, state, scale), np.concatenate(by_variance)

    def unsquared(self, fitted: FloatArray) -> FloatArray:
        """Return the parameters; variances are fitted for standard deviations, by which nothing has a slope at 0."""
        return np.where(self.is_variance, np.sqrt(np.maximum(fitted, 0)), fitted)

    def of_fitted(self, fitted: FloatArray) -> tuple[float, FloatArray]:
        deviance, slope, by_variance = self.profiled(self.unsquared(fitted))
        return deviance, np.where(self.is_variance, by_variance, slope)

    def full_slope(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the deviance's slope and the covariance of the effects, the last parameter being the residual SD."""
        state, sigma = self.at(parameters[:-1]), float(parameters[-1])
        by_sigma = 2 * self.freedom / sigma - 2 * state.rest / sigma**3
        return np.append(self.slope(parameters[:-1], state, sigma**2), by_sigma), state.covariance * sigma**2


def _spread_out(grouping: Grouping) -> Any:  # noqa: ANN401 - scipy's matrices have no types
    """Return the design of a grouping, sparse: a block of columns per level."""
    from scipy.sparse import csr_matrix

    n, width = grouping.columns.shape
    columns = grouping.codes[:, np.newaxis] * width + np.arange(width)
    places = (grouping.columns.ravel(), columns.ravel(), np.arange(0, n * width + 1, width))
    return csr_matrix(places, shape=(n, grouping.n_levels * width))


def fit_slopes(
    values: FloatArray,
    design: FloatArray,
    groupings: Sequence[Grouping],
    *,
    reml: bool = True,
    factors: Mapping[str, FloatArray] | None = None,
) -> MixedFit:
    """Return the model with these random parts, by REML or ML; `factors` are relative ones that are known."""
    from threadpoolctl import threadpool_limits

    if np.linalg.matrix_rank(design / np.linalg.norm(design, axis=0)) < design.shape[1]:
        raise BankError(f"{len(values)} observations do not determine {design.shape[1]} effects: some are redundant")
    ordered = sorted(groupings, key=lambda grouping: -grouping.n_levels)
    for grouping in ordered:
        if (n_effects := grouping.n_levels * grouping.columns.shape[1]) >= len(values):
            raise BankError(f"{grouping.formula} has {n_effects} effects for {len(values)} observations")
    with threadpool_limits(1, user_api="blas"):  # several threads are slower here, and change last digits
        model = _Model(values, design, ordered, reml=reml)
        parameters = (
            _optimum(model)
            if factors is None
            else np.concatenate([factors[grouping.name][grouping.free] for grouping in ordered])
        )
        state = model.at(parameters)
        deviance = model.profiled(parameters)[0]
    scale = state.rest / model.freedom
    if not scale > 1e-12 * float(np.var(values)):
        raise BankError("no variation is left beside the effects")
    parts = zip(ordered, model.factors(parameters), state.random, strict=True)
    return MixedFit(
        model=model,
        effects=state.effects,
        covariance=state.covariance * scale,
        scale=scale,
        deviance=float(deviance),
        parameters=parameters,
        random_effects={grouping.name: random @ factor @ factor.T for grouping, factor, random in parts},
    )


def _optimum(model: _Model) -> FloatArray:
    from scipy.optimize import minimize

    diagonal = model.is_diagonal
    bounds = [(0.0 if is_diagonal else None, None) for is_diagonal in diagonal]
    start = diagonal * 1.0
    for _ in range(_MOST_STARTS):
        settings: Any = {"ftol": 1e-12, "gtol": 1e-6, "maxiter": 1000}
        found = minimize(model.of_fitted, start, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
        parameters = model.unsquared(found.x)
        _, slope, by_variance = model.profiled(parameters)
        lifted = diagonal & (parameters < SINGULAR) & (by_variance < -_FLAT)
        if not lifted.any() and (np.abs(np.where(diagonal & (parameters <= 0), 0, slope)) <= _FLAT).all():
            return np.asarray(parameters)
        start = np.where(lifted, 0.3, found.x) if lifted.any() else diagonal * float(start.max()) / 3
    raise BankError(f"{' + '.join(grouping.formula for grouping in model.groupings)} does not converge")


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
