"""What do methods, models and phenomena change, when paradigms, items and models are a sample? Cells in, effects out.

A cell is what one method of one model gives on one unit: a paradigm (the mean of its items) or an item. Random are
units, methods within units, models within units (Barr et al. 2013, J Mem Lang 68:255-278) and, from four models on,
methods within models. The linear mixed model is fitted by REML, profiled over the ratios of these variances to the
residual one, which may be 0 (Bates et al. 2015, J Stat Softw 67(1), section 3); degrees of freedom are Satterthwaite's
(Kuznetsova, Brockhoff & Christensen 2017, J Stat Softw 82(13)). Units with the same cells share a covariance matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, undefined

REML = "mixed-reml"
BY_UNIT = ("unit", "method x unit", "model x unit")
BY_MODEL = "method x model"
Contrasts: TypeAlias = "tuple[tuple[str, str, str, FloatArray], ...]"
REST = "rest"
LEAST_UNITS = 10
"""Units that intervals need."""
LEAST_MODELS = 4
"""Models that can be a sample of models."""
_LARGEST = 1 - 1e-6
"""Of ratio / (1 + ratio), for a variance ratio."""
_FLAT = 0.01
"""Slope of -2 log likelihood that an optimum may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How one level of a term differs from what it is compared with."""

    term: str
    """`method`, `model` or `phenomenon`."""
    level: str
    versus: str
    """The reference level, or `mean` of all levels."""
    estimate: Estimate
    """In the unit of the values; n counts units."""
    p: float
    """Two-sided; NaN where there is none."""
    degrees: float = np.nan
    """Satterthwaite's degrees of freedom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Effects, and where the variance of the cells lies."""

    effects: tuple[Effect, ...]
    variances: tuple[tuple[str, float], ...]
    """Of units, of methods and of models within units, of methods within models, and the rest."""
    r_squared: float = np.nan
    """Share of the cells' variance that methods, models and phenomena explain."""
    r_squared_with_units: float = np.nan
    """The same with all random effects."""
    reason: str | None = None
    """Why the model could not be fitted; None where it could."""


def fit_mixed(cells: pd.DataFrame, *, references: dict[str, str] | None = None) -> Fitted:
    """Return the effects on numbers or shares, by a linear mixed model."""
    return fit_plan(planned(cells, references or {}))


def fit_plan(plan: Plan) -> Fitted:
    if plan.n_cells <= plan.n_fixed:
        return unfitted(plan, f"{plan.n_cells} cells for {plan.n_fixed} effects leave none for their error")
    ratios = _optimum(plan)
    if ratios is None:
        return unfitted(plan, "the restricted likelihood has no optimum: effects leave nearly no variation")
    best = plan.at(ratios)
    if not best.scale > 1e-12 * plan.spread**2:
        return unfitted(plan, "no variation is left beside the effects, so that they have no error")
    variances = np.append(ratios, 1.0) * best.scale
    covariances, degrees = _uncertainty(plan, variances)
    fixed = float(np.var(plan.design @ best.effects))
    known = np.maximum(variances, 0.0)
    whole = fixed + float(known.sum())
    return Fitted(
        effects=tuple(effects_of(plan.contrasts, best.effects, covariances, degrees, n=plan.n_units)),
        variances=tuple(zip([*plan.parts, REST], map(float, known), strict=True)),
        r_squared=fixed / whole,
        r_squared_with_units=1 - best.scale / whole,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """Units that have the same cells: the sums that a likelihood takes, whatever the variances are."""

    kinds: IntArray
    """Number of the method and model of each cell, shape (cells,)."""
    alike: tuple[FloatArray, ...]
    """For each random part within units, which two cells share its level, shape (cells, cells)."""
    n_units: int
    between: FloatArray
    """Sum over units of the columns that are the same for all cells of a unit, shape (columns,)."""
    between_squares: FloatArray
    values: FloatArray
    """Sum over units of the cells' values, shape (cells,)."""
    between_values: FloatArray
    """Sum over units of columns times values, shape (columns, cells)."""
    value_squares: FloatArray
    """Shape (cells, cells)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The restricted likelihood at some variance ratios; the residual variance is profiled out."""

    deviance: float
    """-2 log restricted likelihood, but for a constant."""
    effects: FloatArray
    covariance: FloatArray
    """Of the effects, for a residual variance of 1."""
    scale: float
    """Residual variance."""
    traces: FloatArray
    """tr(P V_k) of each part, P and V for a residual variance of 1."""
    quadratics: FloatArray
    """y' P V_k P y."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The terms of a model, and what its likelihood takes of the cells."""

    patterns: tuple[_Pattern, ...]
    parts: tuple[str, ...]
    """Random parts: those within units in the order of each pattern's `alike`, then those between units."""
    across: tuple[FloatArray, ...]
    """For each random part between units (the last ones of `parts`), its levels' weights, shape (kinds, levels)."""
    by_kind: FloatArray
    """Columns of the design that depend on method and model, shape (kinds, columns)."""
    n_between: int
    n_cells: int
    n_units: int
    n_methods: int
    contrasts: Contrasts
    """Term, level, what it is compared with, and its weights on the columns of the design."""
    design: FloatArray
    spread: float
    has_fixed_by_model: bool
    """Whether how much a method changes a single model is a fixed effect."""

    @property
    def n_fixed(self) -> int:
        return int(self.design.shape[1])

    @cached_property
    def _columns(self) -> FloatArray:
        """From (kinds, columns between units, value) to (design, value, levels of the parts between units)."""
        n_kinds = len(self.by_kind)
        levels = np.column_stack([np.zeros((n_kinds, 0)), *self.across])
        created = np.zeros((n_kinds + self.n_between + 1, self.n_fixed + 1 + levels.shape[1]))
        created[:n_kinds, : self.by_kind.shape[1]] = self.by_kind
        created[n_kinds:, self.by_kind.shape[1] : self.n_fixed + 1] = np.eye(self.n_between + 1)
        created[:n_kinds, self.n_fixed + 1 :] = levels
        return created

    def _products(self, weights: Sequence[FloatArray]) -> FloatArray:
        """Return [design, value, levels]' W [design, value, levels], W the weights of each unit's cells."""
        n_kinds, n_between = len(self.by_kind), self.n_between
        whole = np.zeros((n_kinds + n_between + 1,) * 2)
        between = slice(n_kinds, n_kinds + n_between)
        for pattern, weight in zip(self.patterns, weights, strict=True):
            sums = weight.sum(axis=1)
            whole[np.ix_(pattern.kinds, pattern.kinds)] += pattern.n_units * weight
            whole[pattern.kinds, between] += np.outer(sums, pattern.between)
            whole[pattern.kinds, -1] += weight @ pattern.values
            whole[between, between] += sums.sum() * pattern.between_squares
            whole[between, -1] += pattern.between_values @ sums
            whole[-1, -1] += float((weight * pattern.value_squares).sum())
        whole[between, :n_kinds] = whole[:n_kinds, between].T
        whole[-1, :-1] = whole[:-1, -1]
        return np.asarray(self._columns.T @ whole @ self._columns)

    def at(self, ratios: FloatArray) -> _State:
        """Return the likelihood, its parts and the effects at these ratios of variances to the residual one."""
        within, between = np.split(ratios, [len(ratios) - len(self.across)])
        inverses, log_determinant = list[np.ndarray](), 0.0
        for pattern in self.patterns:
            covariance = np.eye(len(pattern.kinds))
            for ratio, alike in zip(within, pattern.alike, strict=True):
                covariance += ratio * alike
            log_determinant += pattern.n_units * float(np.linalg.slogdet(covariance)[1])
            inverses.append(np.linalg.inv(covariance))
        products = self._products(inverses)
        # The design and, scaled by their standard deviations, the parts between units: Henderson's equations.
        n_fixed = self.n_fixed
        kept = np.delete(np.arange(len(products)), n_fixed)
        sizes = [levels.shape[1] for levels in self.across]
        scales = np.concatenate([np.ones(n_fixed), np.repeat(np.sqrt(between), sizes)])
        system = products[np.ix_(kept, kept)] * np.outer(scales, scales) + np.diag((kept > n_fixed).astype(float))
        inverse = np.linalg.inv(system)
        target = products[kept, n_fixed] * scales
        solved = inverse @ target
        left = float(products[n_fixed, n_fixed] - target @ solved)
        degrees = self.n_cells - n_fixed
        residual = np.zeros(len(products))
        residual[kept], residual[n_fixed] = -solved * scales, 1.0
        traces, quadratics = list[float](), list[float]()
        projector = inverse * np.outer(scales, scales)
        for nth in range(len(within)):
            shared = [w @ p.alike[nth] for w, p in zip(inverses, self.patterns, strict=True)]
            inner = self._products([entry @ w for entry, w in zip(shared, inverses, strict=True)])
            plain = sum(p.n_units * float(np.trace(member)) for member, p in zip(shared, self.patterns, strict=True))
            traces.append(plain - float((projector * inner[np.ix_(kept, kept)]).sum()))
            quadratics.append(float(residual @ inner @ residual))
        for end, size in zip(n_fixed + 1 + np.cumsum(sizes, dtype=int), sizes, strict=True):
            levels = products[end - size : end]
            of_kept = levels[:, kept]
            traces.append(float(levels[:, end - size : end].trace()) - float((of_kept @ projector * of_kept).sum()))
            quadratics.append(float(((levels @ residual) ** 2).sum()))
        log_determinant += float(np.linalg.slogdet(system)[1])
        return _State(
            deviance=log_determinant + degrees * np.log(max(left, 1e-300) / degrees),
            effects=solved[:n_fixed],
            covariance=np.asarray(inverse[:n_fixed, :n_fixed], dtype=np.float64),
            scale=left / degrees,
            traces=np.array(traces),
            quadratics=np.array(quadratics),
        )


def _optimum(plan: Plan) -> FloatArray | None:
    """Return the variance ratios of the largest restricted likelihood, each 0 or more; None if none is found."""
    from scipy.optimize import minimize

    if not plan.parts:
        return np.zeros(0)

    def deviance(bounded: FloatArray) -> tuple[float, FloatArray]:
        ratios = bounded / (1 - bounded)
        state = plan.at(ratios)
        slope = state.traces - state.quadratics / max(state.scale, 1e-300)
        return state.deviance, slope * (1 + ratios) ** 2

    least = -0.999 / max(len(x.kinds) for x in plan.patterns) if plan.parts == ("unit",) else 0.0
    lowest = least / (1 + least)
    for start in (0.3, 0.05, 0.8):
        result = minimize(
            deviance,
            np.full(len(plan.parts), start),
            jac=True,
            method="L-BFGS-B",
            bounds=[(lowest, _LARGEST)] * len(plan.parts),
            options={"ftol": 1e-13, "gtol": 1e-7, "maxiter": 500},
        )
        _, slope = deviance(result.x)
        downhill = np.where(result.x > lowest, np.abs(slope), -slope)
        if (result.x < _LARGEST).all() and (downhill <= _FLAT).all():
            return np.asarray(result.x / (1 - result.x))
    return None


def _uncertainty(plan: Plan, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the covariance of each contrast's weights, shape (contrasts,), and its degrees of freedom."""
    free = np.append(np.abs(variances[:-1]) > 1e-6 * variances[-1], True)
    within = np.array([weights for *_, weights in plan.contrasts])
    by_methods = BY_MODEL in plan.parts
    lost = np.array([2 / plan.n_methods if by_methods and term == "model" else 0.0 for term, *_ in plan.contrasts])

    def errors(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the contrasts' variances and the slopes of -2 log restricted likelihood."""
        state = plan.at(at[:-1] / at[-1])
        squares = np.einsum("ij,jk,ik->i", within, state.covariance, within) * at[-1]
        squares = squares - lost * (at[-2] if len(at) > 1 else 0.0)
        ratios, left = at[:-1] / at[-1], state.scale * (plan.n_cells - plan.n_fixed)
        traces = np.append(state.traces, plan.n_cells - plan.n_fixed - ratios @ state.traces)
        quadratics = np.append(state.quadratics, left - ratios @ state.quadratics)
        return squares, traces / at[-1] - quadratics / at[-1] ** 2

    squares, _ = errors(variances)
    which = np.flatnonzero(free)
    information, slopes = np.zeros((len(which),) * 2), np.zeros((len(which), len(squares)))
    for row, nth in enumerate(which):
        step = np.zeros(len(variances))
        step[nth] = 1e-4 * variances[nth]
        above, below = errors(variances + step), errors(variances - step)
        slopes[row] = (above[0] - below[0]) / (2 * step[nth])
        information[row] = (above[1] - below[1])[which] / (2 * step[nth])
    scaled = np.outer(variances[which], variances[which])  # so that the inverse does not depend on units
    spread = 2 * np.linalg.pinv((information + information.T) / 2 * scaled, rcond=1e-8, hermitian=True) * scaled
    uncertain = np.einsum("ki,kl,li->i", slopes, spread, slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 2 * squares**2 / uncertain
    degrees = np.where(np.isfinite(degrees) & (degrees > 0), degrees, plan.n_cells - plan.n_fixed)
    return squares, np.clip(degrees, 1, plan.n_cells - plan.n_fixed)


def planned(cells: pd.DataFrame, references: dict[str, str]) -> Plan:
    keys = ["unit", "method", "model"]
    ordered = cells.sort_values(keys, kind="stable").reset_index(drop=True)
    if ordered.duplicated(keys).any():
        raise BankError("a unit has two cells of one method and model; give their mean")
    n_units = ordered["unit"].nunique()
    if n_units < LEAST_UNITS:
        raise BankError(f"{n_units} units; a mixed model needs {LEAST_UNITS} items or paradigms")
    values = ordered["value"].to_numpy(dtype=np.float64)
    if not np.ptp(values):
        raise BankError("every cell has the same value")
    n_methods, n_models = (ordered[name].nunique() for name in ("method", "model"))
    methods, models = (pd.factorize(ordered[name], sort=True)[0] for name in ("method", "model"))
    kinds, first, kind = np.unique(methods * n_models + models, return_index=True, return_inverse=True)
    crossed = min(n_methods, n_models) > 1
    blocks, contrasts = _terms(ordered, references, crossed=crossed and len(kinds) == n_methods * n_models)
    design = np.column_stack(list(blocks.values()))
    if not contrasts or np.linalg.matrix_rank(design) < design.shape[1]:
        raise BankError("nothing to compare: no two methods or models on the same units")
    n_between = blocks["phenomenon"].shape[1] if "phenomenon" in blocks else 0
    n_by_kind = design.shape[1] - n_between
    within = ["unit"] * (len(kinds) > 1) + [*BY_UNIT[1:]] * crossed
    is_sample = crossed and n_models >= LEAST_MODELS
    same = {"unit": np.zeros_like(first), BY_UNIT[1]: methods[first], BY_UNIT[2]: models[first]}
    kernels = [np.equal.outer(same[part], same[part]).astype(np.float64) for part in within]
    return Plan(
        patterns=tuple(patterns_of(ordered, kind, values, design[:, n_by_kind:], kernels)),
        parts=(*within, *[BY_MODEL] * is_sample),
        across=(np.eye(len(kinds)),) * is_sample,
        by_kind=design[first, :n_by_kind],
        n_between=n_between,
        n_cells=len(ordered),
        n_units=n_units,
        n_methods=n_methods,
        contrasts=tuple(
            (term, str(level), versus, np.pad(w, (start, design.shape[1] - start - len(w))))
            for term, level, versus, start, w in contrasts
        ),
        design=design,
        spread=float(values.std()),
        has_fixed_by_model=BY_MODEL in blocks,
    )


def _terms(
    cells: pd.DataFrame, references: dict[str, str], *, crossed: bool
) -> tuple[dict[str, FloatArray], list[tuple[str, str, str, int, FloatArray]]]:
    """Return columns of the design by term, and contrasts: term, level, versus, first column and weights from there."""
    blocks: dict[str, FloatArray] = {"": np.ones((len(cells), 1))}
    contrasts: list[tuple[str, str, str, int, FloatArray]] = []
    for term in ("method", "model", "phenomenon"):
        levels = _levels(cells, term)
        if len(levels) < 2:
            continue
        reference = references[term] if references.get(term) in levels else levels[0]
        others = [level for level in levels if level != reference]
        start, weights = sum(block.shape[1] for block in blocks.values()), np.eye(len(others))
        blocks[term] = np.column_stack([(cells[term] == level).to_numpy(dtype=np.float64) for level in others])
        if term == "phenomenon":
            weights = np.vstack([np.zeros(len(others)), weights]) - 1 / len(levels)
            contrasts += [(term, x, "mean", start, w) for x, w in zip([reference, *others], weights, strict=True)]
        else:
            contrasts += [(term, x, reference, start, w) for x, w in zip(others, weights, strict=True)]
        if term == "model" and crossed and len(levels) < LEAST_MODELS:
            by_method = blocks["method"] - 1 / (blocks["method"].shape[1] + 1)
            by_model = blocks["model"] - 1 / len(levels)
            blocks[BY_MODEL] = (by_method[:, :, np.newaxis] * by_model[:, np.newaxis]).reshape(len(cells), -1)
    return blocks, contrasts


def patterns_of(
    cells: pd.DataFrame, kind: IntArray, values: FloatArray, between: FloatArray, kernels: Sequence[FloatArray]
) -> Iterator[_Pattern]:
    """Yield the sums over units that have the same cells, which follow each other."""
    starts = np.flatnonzero(np.diff(pd.factorize(cells["unit"])[0], prepend=-1))
    end_of = dict(zip(starts.tolist(), [*starts[1:], len(cells)], strict=True))
    alike: dict[bytes, list[int]] = {}
    for start, end in end_of.items():
        alike.setdefault(kind[start:end].tobytes(), []).append(start)
    for units in alike.values():
        kinds = kind[units[0] : end_of[units[0]]]
        stacked = np.stack([values[start : end_of[start]] for start in units])
        columns = between[units]
        yield _Pattern(
            kinds=kinds,
            alike=tuple(kernel[np.ix_(kinds, kinds)] for kernel in kernels),
            n_units=len(units),
            between=columns.sum(axis=0),
            between_squares=columns.T @ columns,
            values=stacked.sum(axis=0),
            between_values=columns.T @ stacked,
            value_squares=stacked.T @ stacked,
        )


def _levels(cells: pd.DataFrame, term: str) -> list[str]:
    if term not in cells.columns or cells[term].isna().any():
        return []
    if term == "phenomenon" and cells.groupby(term)["unit"].nunique().min() < 2:
        return []
    return list(dict.fromkeys(cells[term]))


def effects_of(
    contrasts: Contrasts, effects: FloatArray, squares: FloatArray, degrees: FloatArray, *, n: int, method: str = REML
) -> Iterator[Effect]:
    from scipy.stats import t

    for (term, level, versus, weights), square, freedom in zip(contrasts, squares, degrees, strict=True):
        value, error = float(weights @ effects), float(np.sqrt(square))
        reach = float(t.isf(0.025, freedom)) * error
        yield Effect(
            term=term,
            level=level,
            versus=versus,
            estimate=Estimate(value=value, low=value - reach, high=value + reach, n=n, method=method),
            p=float(2 * t.sf(abs(value) / error, freedom)),
            degrees=float(freedom),
        )


def unfitted(plan: Plan, reason: str, method: str = REML) -> Fitted:
    nothing = undefined(reason, n=plan.n_units, method=method)
    effects = [
        Effect(term=term, level=level, versus=versus, p=np.nan, estimate=nothing)
        for term, level, versus, _ in plan.contrasts
    ]
    return Fitted(effects=tuple(effects), variances=(), reason=reason)


def cells_of(
    values: FloatArray, *, units: Sequence[str], method: str, model: str, phenomena: Sequence[str | None] | None = None
) -> pd.DataFrame:
    """Return the cells of one method of one model: the mean of a unit's values that are there.

    A unit is a paradigm or an item; it has the phenomenon of its first item.

    >>> cells_of(np.array([1.0, 3.0, np.nan]), units=["a", "a", "b"], method="direct", model="m")[["unit", "value"]]
      unit  value
    0    a    2.0
    """
    frame = pd.DataFrame({"unit": list(units), "value": values, "phenomenon": list(phenomena or [None] * len(values))})
    by_unit = frame[frame["value"].notna()].groupby("unit", sort=True)
    result = by_unit.agg(value=("value", "mean"), phenomenon=("phenomenon", "first")).reset_index()
    return result.assign(method=method, model=model)
