"""The mixed model of right and wrong answers: answers in, effects on log odds out (Laplace's approximation).

A logistic model with the effects of `pairbank.stats.measures.mixed` and, within paradigms, items as a further random
part. The deviance is that of lme4's `glmer` (Bates et al. 2015, J Stat Softw 67(1)): the conditional modes are found by
penalised iteratively reweighted least squares, standard deviations and effects together by their gradient. Items are
eliminated first, then what units have of their own, so that the largest matrix has one row per method and model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.measures.mixed import BY_MODEL, BY_UNIT, Fitted, Plan, effects_of, fit_mixed, planned, unfitted

Blocks: TypeAlias = "tuple[FloatArray, FloatArray, FloatArray]"
"""Numbers of items, of units' own (units, local), and of kinds."""
Deviance: TypeAlias = "Callable[[FloatArray], tuple[float, FloatArray]]"

LAPLACE = "mixed-laplace"
LEVEL_VARIANCE = np.pi**2 / 3
"""Of the standard logistic distribution: what varies within a cell, on the scale of log odds."""
_LARGEST_EFFECT, _LARGEST = 12.0, 30.0
"""Log odds beyond which an effect is not finite: 0.999994."""
_ITERATIONS, _RESTARTS, _POLISHES = 50, 4, 3
_NEARLY_0 = 0.02
"""Standard deviation at which 0 is compared with something more."""


def fit_logistic(answers: pd.DataFrame, *, references: dict[str, str] | None = None) -> Fitted:
    values = answers["value"].to_numpy(dtype=np.float64)
    if not (np.isfinite(values).all() and values.min(initial=0) >= 0 and values.max(initial=1) <= 1):
        raise BankError("answers must be from 0 (wrong) to 1 (right)")
    keys = ["unit", "method", "model"]
    has_phenomenon = "phenomenon" in answers.columns
    cells = answers.groupby(keys, sort=True).agg(
        value=("value", "mean"), **({"phenomenon": ("phenomenon", "first")} if has_phenomenon else {})
    )
    cells = cells.reset_index()
    plan = planned(cells, references or {})
    if reason := _why_infinite(answers, plan):
        return unfitted(plan, reason, LAPLACE)
    model = _model(answers, cells, plan)
    start = np.zeros(plan.n_fixed)
    mean = float(values.mean())
    start[0] = np.log(mean / (1 - mean))
    optimum = _optimum(model, start)
    if optimum is None:
        return unfitted(plan, "the likelihood has no optimum", LAPLACE)
    sds, effects, covariance = optimum
    if np.abs(effects).max() > _LARGEST_EFFECT:
        return unfitted(plan, "an effect on log odds is infinite: some answers are all right or all wrong", LAPLACE)
    variances = {name: float(sd**2) for name, sd in zip(model.parts, sds, strict=True)}
    degrees = np.array([x.degrees for x in fit_mixed(cells, references=references).effects])
    degrees = np.where(np.isfinite(degrees), degrees, plan.n_units - 1.0)
    lost = 2 / plan.n_methods * variances.get(BY_MODEL, 0.0)
    squares = np.array([float(w @ covariance @ w) - lost * (term == "model") for term, *_, w in plan.contrasts])
    squares[squares <= 0] = np.nan
    fixed = float(np.var(plan.design @ effects))
    whole = fixed + sum(variances.values()) + LEVEL_VARIANCE
    return Fitted(
        effects=tuple(effects_of(plan.contrasts, effects, squares, degrees, n=plan.n_units, method=LAPLACE)),
        variances=tuple(variances.items()),
        r_squared=fixed / whole,
        r_squared_with_units=1 - LEVEL_VARIANCE / whole,
    )


def _why_infinite(answers: pd.DataFrame, plan: Plan) -> str | None:
    terms = list(dict.fromkeys(term for term, *_ in plan.contrasts))
    for names in [*([term] for term in terms), *([["method", "model"]] if plan.has_fixed_by_model else [])]:
        means = answers.groupby(names)["value"].mean()
        for share, which in ((1.0, "right"), (0.0, "wrong")):
            if (means == share).any():
                level = means.index[means == share][0]
                shown = " of ".join(level) if isinstance(level, tuple) else str(level)
                return f"every answer of `{shown}` is {which}, so that its log odds are infinite"
    return None


def _model(answers: pd.DataFrame, cells: pd.DataFrame, plan: Plan) -> _Model:
    """Return the answers as a table of items and kinds, and the terms."""
    wide = answers.pivot(index=["unit", "item"], columns=["method", "model"], values="value")
    wide = wide.sort_index().sort_index(axis=1)
    unit = pd.factorize(wide.index.get_level_values(0))[0]
    y = wide.to_numpy(dtype=np.float64)
    first = np.flatnonzero(~cells["unit"].duplicated())
    n_by_kind = plan.by_kind.shape[1]
    methods, models = (wide.columns.get_level_values(name).to_numpy() for name in ("method", "model"))
    columns = {
        BY_UNIT[0]: np.ones((len(methods), 1)),
        BY_UNIT[1]: methods[:, np.newaxis] == np.unique(methods),
        BY_UNIT[2]: models[:, np.newaxis] == np.unique(models),
    }
    within = [name for name in BY_UNIT if name in plan.parts]
    has_items = len(wide) > plan.n_units
    if not within and has_items:
        within = ["unit"]
    local = [columns[name].astype(np.float64) for name in within]
    return _Model(
        y=np.where(np.isnan(y), 0.0, y),
        there=np.asarray(~np.isnan(y)),
        unit=np.asarray(unit),
        starts=np.flatnonzero(np.diff(unit, prepend=-1)),
        by_kind=plan.by_kind,
        between=plan.design[first, n_by_kind:],
        local=np.column_stack(local) if local else np.zeros((len(methods), 0)),
        part_of_local=np.repeat(np.arange(len(local)), [x.shape[1] for x in local]),
        parts=(*["item"] * (has_items and len(methods) > 1), *within, *[BY_MODEL] * (BY_MODEL in plan.parts)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Solver:
    """H = A' W A + 1 in blocks, A what spherical random effects add to log odds: items, units' own, kinds."""

    t_item: float
    t_kind: float
    w: FloatArray
    diagonal: FloatArray
    """Of items."""
    between: FloatArray
    """What is left of W between kinds without items, shape (units, kinds, kinds)."""
    scaled: FloatArray
    """Local columns times their standard deviation, shape (kinds, local)."""
    crossed: FloatArray
    inverse_local: FloatArray
    inverse_kinds: FloatArray
    log_determinant: float


@dataclass(frozen=True, kw_only=True)
class _Model:
    y: FloatArray
    """Shape (items, kinds); a kind is a method of a model."""
    there: BoolArray
    unit: IntArray
    starts: IntArray
    """First item of each unit."""
    by_kind: FloatArray
    between: FloatArray
    local: FloatArray
    """Which kinds share a random effect of a unit, shape (kinds, local)."""
    part_of_local: IntArray
    parts: tuple[str, ...]

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        return list(zip(self.starts.tolist(), [*self.starts[1:].tolist(), len(self.y)], strict=True))

    @property
    def has_items(self) -> bool:
        return "item" in self.parts

    def over_units(self, numbers: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(numbers, self.starts, axis=0))

    def sds(self, theta: FloatArray) -> tuple[float, FloatArray, float]:
        first, last = int(self.has_items), BY_MODEL in self.parts
        return (
            float(theta[0]) if first else 0.0,
            theta[first : len(theta) - last][self.part_of_local],
            float(theta[-1]) if last else 0.0,
        )

    def solver(self, theta: FloatArray, w: FloatArray) -> _Solver:
        """Return what solves with H at these standard deviations and weights."""
        t_item, t_local, t_kind = self.sds(theta)
        diagonal = 1 + t_item**2 * w.sum(axis=1)
        n_kinds = w.shape[1]
        between = np.zeros((len(self.starts), n_kinds, n_kinds))
        index = np.arange(n_kinds)
        between[:, index, index] = self.over_units(w)
        if t_item:
            root = w * (t_item / np.sqrt(diagonal))[:, np.newaxis]
            for nth, (start, end) in enumerate(self.ends):
                between[nth] -= root[start:end].T @ root[start:end]
        scaled = self.local * t_local
        crossed = between @ scaled
        own = np.eye(scaled.shape[1]) + scaled.T @ crossed
        inverse = np.asarray(np.linalg.inv(own), dtype=np.float64)
        log_determinant = float(np.log(diagonal).sum() + np.linalg.slogdet(own)[1].sum())
        kinds = np.eye(n_kinds)
        if t_kind:
            kinds += t_kind**2 * (between - crossed @ inverse @ crossed.transpose(0, 2, 1)).sum(axis=0)
            log_determinant += float(np.linalg.slogdet(kinds)[1])
        return _Solver(
            t_item=t_item,
            t_kind=t_kind,
            w=w,
            diagonal=diagonal,
            between=between,
            scaled=scaled,
            crossed=crossed,
            inverse_local=inverse,
            inverse_kinds=np.asarray(np.linalg.inv(kinds), dtype=np.float64),
            log_determinant=log_determinant,
        )

    def solve(self, s: _Solver, right: Blocks) -> tuple[Blocks, FloatArray]:
        """Return H^-1 of a right side in three blocks, and what that adds to log odds."""
        of_items, of_local, of_kinds = right
        moved = self.over_units(s.w * (s.t_item * of_items / s.diagonal)[:, np.newaxis])
        own = np.einsum("uij,uj->ui", s.inverse_local, of_local - moved @ s.scaled)
        left = of_kinds - s.t_kind * (moved + np.einsum("ukl,ul->uk", s.crossed, own)).sum(axis=0)
        kinds = s.inverse_kinds @ left
        own = own - s.t_kind * np.einsum("uij,uj->ui", s.inverse_local, kinds @ s.crossed)
        added = (own @ s.scaled.T)[self.unit] + s.t_kind * kinds
        items = (of_items - s.t_item * (s.w * added).sum(axis=1)) / s.diagonal
        return (items, own, kinds), added + (s.t_item * items)[:, np.newaxis]

    def transposed(self, theta: FloatArray, numbers: FloatArray) -> Blocks:
        t_item, t_local, t_kind = self.sds(theta)
        return (
            t_item * numbers.sum(axis=1),
            (self.over_units(numbers) @ self.local) * t_local,
            t_kind * numbers.sum(axis=0),
        )

    def log_odds(self, theta: FloatArray, beta: FloatArray, u: Blocks) -> FloatArray:
        t_item, t_local, t_kind = self.sds(theta)
        n = self.by_kind.shape[1]
        of_units = (self.between @ beta[n:])[:, np.newaxis] + (u[1] * t_local) @ self.local.T
        return of_units[self.unit] + (self.by_kind @ beta[:n] + t_kind * u[2]) + (t_item * u[0])[:, np.newaxis]

    def penalised(self, eta: FloatArray, u: Blocks) -> float:
        """Return -2 log likelihood given the random effects + their squared length."""
        log_likelihood = self.y * eta - np.logaddexp(0, eta)
        return float(-2 * log_likelihood[self.there].sum() + sum(float((x**2).sum()) for x in u))

    def mode(
        self, theta: FloatArray, beta: FloatArray, u: Blocks
    ) -> tuple[Blocks, FloatArray, FloatArray, _Solver, float]:
        """Return the most probable random effects, with chances, residuals, the solver and the deviance there."""
        from scipy.special import expit

        eta = self.log_odds(theta, beta, u)
        value = self.penalised(eta, u)
        left = _ITERATIONS
        while True:
            p = expit(eta)
            residual = np.where(self.there, self.y - p, 0.0)
            solver = self.solver(theta, np.where(self.there, p * (1 - p), 0.0))
            back = self.transposed(theta, residual)
            gradient = back[0] - u[0], back[1] - u[1], back[2] - u[2]
            step, along = self.solve(solver, gradient)
            decrement = sum(float((a * b).sum()) for a, b in zip(gradient, step, strict=True))
            left -= 1
            if decrement < 1e-14 * max(1.0, abs(value)) or not left:
                break
            size = 1.0
            while True:
                tried = u[0] + size * step[0], u[1] + size * step[1], u[2] + size * step[2]
                reached = self.penalised(eta + size * along, tried)
                if reached < value or size < 1e-4:
                    break
                size /= 2
            u, eta, value = tried, eta + size * along, reached
        return u, p, residual, solver, value

    def deviance(self, theta: FloatArray, beta: FloatArray, u: Blocks) -> tuple[float, FloatArray, Blocks]:
        """Return the Laplace deviance, its slopes by standard deviations and effects, and the random effects."""
        u, p, residual, s, value = self.mode(theta, beta, u)
        t_item, t_local, t_kind = self.sds(theta)
        total = value + s.log_determinant
        shared = s.scaled @ s.inverse_local @ s.scaled.T
        # covariance of what units and kinds add to log odds, under H^-1
        left = np.eye(len(self.by_kind)) - shared @ s.between
        spread = t_kind**2 * left @ s.inverse_kinds @ left.transpose(0, 2, 1) + shared
        weighted = np.empty_like(s.w)
        if t_item:
            for nth, (start, end) in enumerate(self.ends):
                weighted[start:end] = s.w[start:end] @ spread[nth]
            of_items = (1 + t_item**2 * (weighted * s.w).sum(axis=1) / s.diagonal) / s.diagonal
            leverage = (
                np.einsum("ukk->uk", spread)[self.unit]
                - 2 * t_item**2 * weighted / s.diagonal[:, np.newaxis]
                + t_item**2 * of_items[:, np.newaxis]
            )
        else:
            of_items = np.ones(len(self.y))
            leverage = np.einsum("ukk->uk", spread)[self.unit]
        c = s.w * (1 - 2 * p) * leverage
        solved, along = self.solve(s, self.transposed(theta, c))
        e = -2 * residual + c - s.w * along
        slopes = list[float]()
        e_units, r_units = self.over_units(e), self.over_units(residual)
        if self.has_items:
            slopes.append(
                e.sum(axis=1) @ u[0] + solved[0] @ residual.sum(axis=1) + _ratio(len(u[0]) - of_items.sum(), t_item)
            )
        back = t_kind * np.einsum("ukl,ulm->ukm", s.crossed, s.inverse_local)  # (units, kinds, local)
        diagonal = np.einsum("ull->ul", s.inverse_local) + np.einsum("ukl,kj,ujl->ul", back, s.inverse_kinds, back)
        by_local = ((e_units @ self.local) * u[1]).sum(axis=0) + (solved[1] * (r_units @ self.local)).sum(axis=0)
        for part in range(int(self.part_of_local.max(initial=-1)) + 1):
            columns = self.part_of_local == part
            t = float(t_local[columns][0])
            slopes.append(by_local[columns].sum() + _ratio(float((1 - diagonal[:, columns]).sum()), t))
        if BY_MODEL in self.parts:
            slopes.append(
                e.sum(axis=0) @ u[2]
                + solved[2] @ residual.sum(axis=0)
                + _ratio(len(u[2]) - float(np.trace(s.inverse_kinds)), t_kind)
            )
        of_beta = np.concatenate([self.by_kind.T @ e.sum(axis=0), self.between.T @ e_units.sum(axis=1)])
        return total, np.concatenate([slopes, of_beta]), u


def _ratio(left: float, sd: float) -> float:
    return 2 * left / sd if sd > 1e-10 else 0.0


def _optimum(model: _Model, start: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return standard deviations, effects and their covariance at the smallest deviance; None where there is none."""
    from scipy.optimize import minimize

    n, (n_items, n_kinds) = len(model.parts), model.y.shape
    known = [(np.zeros(n_items), np.zeros((len(model.starts), model.local.shape[1])), np.zeros(n_kinds))]

    def deviance(at: FloatArray) -> tuple[float, FloatArray]:
        value, slope, known[0] = model.deviance(at[:n], at[n:], known[0])
        return value, slope

    at = np.concatenate([np.full(n, 0.5), start])
    bounds = [(0.0, _LARGEST)] * n + [(-_LARGEST, _LARGEST)] * len(start)
    for _ in range(_RESTARTS):
        settings: Any = {"ftol": 1e-11, "gtol": 1e-4, "maxiter": 300}
        result = minimize(deviance, at, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
        at = np.asarray(result.x)
        # the slope at a standard deviation of 0 is always 0: is the deviance smallest there?
        lower = [nth for nth in range(n) if at[nth] < _NEARLY_0 and _is_lower_above_0(deviance, at, nth)]
        if not lower:
            break
        at[lower] = 0.1
    else:
        return None
    at[:n][at[:n] < 1e-4] = 0.0
    free = np.flatnonzero(np.append(at[:n] > 0, np.ones(len(start), dtype=np.bool_)))
    hessian = _hessian(deviance, at, free)
    for _ in range(_POLISHES):
        if not np.isfinite(hessian).all() or np.linalg.eigvalsh(hessian).min() <= 0:
            return None
        step = np.linalg.solve(hessian, deviance(at)[1][free])
        size = np.abs(step).max()
        if size > 1:
            return None
        moved = at.copy()
        moved[free] -= step
        if size < 1e-5 or (moved[:n] < 0).any():
            break
        at, hessian = moved, _hessian(deviance, moved, free)
    own = np.flatnonzero(free >= n)
    return at[:n], at[n:], np.asarray(2 * np.linalg.inv(hessian)[np.ix_(own, own)])


def _is_lower_above_0(deviance: Deviance, at: FloatArray, nth: int) -> bool:
    at_0, above = (np.concatenate([at[:nth], [sd], at[nth + 1 :]]) for sd in (0.0, 0.05))
    value = deviance(at_0)[0]
    return deviance(above)[0] < value - 1e-6


def _hessian(deviance: Deviance, at: FloatArray, free: IntArray) -> FloatArray:
    rows = []
    for nth in free:
        above, below, step = at.copy(), at.copy(), 1e-4 * max(1.0, abs(float(at[nth])))
        above[nth] += step
        below[nth] -= step
        rows.append((deviance(above)[1] - deviance(below)[1])[free] / (2 * step))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
