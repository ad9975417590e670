"""The model of Hu & Frank 2024, `y ~ x * method + (x * method | family)`: families alone are draws, slopes correlated.

By REML or Laplace's approximation; the reference that `fit_covariates` and validation.md are compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.measures.mixed import REML, Fitted, effects_of
from pairbank.stats.measures.mixed_covariates import FAMILY, NO_EFFECT

Deviance = Callable[[FloatArray], float]
LAPLACE = "mixed-laplace"


def fit_by_family(answers: pd.DataFrame, *, reference: str, logistic: bool) -> Fitted:
    """Return the fixed effects of `value ~ x * method + (x * method | family)`, of two methods.

    Logistic models (of values 0 and 1) are Laplace's approximation (`glmer`), others REML (`lmer`) with Satterthwaite's
    degrees of freedom.
    """
    cells = answers.groupby([FAMILY, "method", "x"])["value"].agg(["size", "mean", "var"]).reset_index()
    is_other, size = (cells["method"] != reference).to_numpy(dtype=float), cells["x"].to_numpy(dtype=float)
    design = np.column_stack([np.ones_like(size), size, is_other, size * is_other])
    model = _ByFamily(
        design=design,
        family=pd.factorize(cells[FAMILY])[0],
        n=cells["size"].to_numpy(dtype=float),
        mean=cells["mean"].to_numpy(dtype=float),
        within=float((cells["var"].fillna(0.0) * (cells["size"] - 1)).sum()),
    )
    effects, squares, degrees = model.laplace() if logistic else model.reml()
    other = str(cells.loc[cells["method"] != reference, "method"].iloc[0])
    terms = (("intercept", reference), ("x", reference), ("intercept", other), ("x", other))
    contrasts = tuple(
        (term, level, NO_EFFECT if level == reference else reference, np.eye(4)[nth])
        for nth, (term, level) in enumerate(terms)
    )
    named = effects_of(contrasts, effects, squares, degrees, n=len(answers), method=LAPLACE if logistic else REML)
    return Fitted(effects=tuple(named), variances=())


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByFamily:
    """Counts and means of the answers by each method of each model; fixed and random effects have the same columns."""

    design: FloatArray
    """Shape (cells, 4)."""
    family: IntArray
    n: FloatArray
    mean: FloatArray
    within: float
    """Sum of squares of the answers within cells."""

    @property
    def of_family(self) -> list[IntArray]:
        return [np.flatnonzero(self.family == nth) for nth in range(self.family.max() + 1)]

    def reml(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return effects, their squared standard errors and Satterthwaite's degrees of freedom."""
        parts = [
            (self.design[rows], self.n[rows, None] * self.design[rows], self.mean[rows]) for rows in self.of_family
        ]
        squares, sums = (np.array([w.T @ x for x, w, _ in parts]), np.array([w.T @ y for _, w, y in parts]))
        whole = float((self.n * self.mean**2).sum()) + self.within
        free = self.n.sum() - self.design.shape[1]

        def solved(theta: FloatArray) -> tuple[FloatArray, FloatArray, float, float]:
            """Return effects, their covariance and the sum of squares at residual variance 1, and a log determinant."""
            root = _triangle(theta)
            inner = np.eye(len(root)) + root.T @ squares @ root
            shared = root @ np.linalg.inv(inner) @ root.T
            information = (squares - squares @ shared @ squares).sum(axis=0)
            target = (sums - np.einsum("fij,fj->fi", squares @ shared, sums)).sum(axis=0)
            covariance = np.linalg.inv(information)
            effects = covariance @ target
            left = whole - float(np.einsum("fi,fij,fj->", sums, shared, sums)) - float(target @ effects)
            log_determinant = np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(information)[1]
            return effects, covariance, left, float(log_determinant)

        def deviance(at: FloatArray) -> float:
            _, _, left, log_determinant = solved(at[:-1])
            return float(log_determinant + 2 * free * np.log(at[-1]) + left / at[-1] ** 2)

        def profiled(theta: FloatArray) -> float:
            _, _, left, log_determinant = solved(theta)
            return float(log_determinant + free * np.log(left))

        theta = _lowest(profiled, np.zeros(0))
        effects, _, left, _ = solved(theta)
        at = np.append(theta, np.sqrt(left / free))
        uncertain = 2 * _inverse(_curvature(deviance, at))

        def variances(at: FloatArray) -> FloatArray:
            return np.asarray(np.diag(solved(at[:-1])[1]) * at[-1] ** 2)

        slopes = np.array([(variances(at + step) - variances(at - step)) / 2e-4 for step in 1e-4 * np.eye(at.size)])
        own = variances(at)
        return effects, own, 2 * own**2 / np.einsum("kj,kl,lj->j", slopes, uncertain, slopes)

    def laplace(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return effects on log odds, their squared standard errors and infinite degrees of freedom, as `glmer`."""
        from scipy.special import expit

        n_families, n_columns = int(self.family.max()) + 1, self.design.shape[1]
        blocks = np.equal.outer(self.family, np.arange(n_families))[:, :, None] * self.design[:, None]
        right = self.n * self.mean
        u = np.zeros(n_families * n_columns)

        def deviance(at: FloatArray) -> float:
            nonlocal u
            levels = (blocks @ _triangle(at[n_columns:])).reshape(len(right), -1)
            fixed = self.design @ at[:n_columns]
            hessian = np.eye(u.size)
            for _ in range(50):  # Newton's method; the penalised likelihood has one mode
                p = expit(fixed + levels @ u)
                gradient = levels.T @ (right - self.n * p) - u
                hessian = np.eye(u.size) + levels.T @ (levels * (self.n * p * (1 - p))[:, None])
                step = np.linalg.solve(hessian, gradient)
                u = u + step * min(1.0, 5 / max(1e-300, float(np.abs(levels @ step).max())))
                if float(gradient @ step) < 1e-20:
                    break
            eta = fixed + levels @ u
            likelihood = float((right * eta - self.n * np.logaddexp(0, eta)).sum())
            return -2 * likelihood + float(u @ u) + float(np.linalg.slogdet(hessian)[1])

        best = _lowest(deviance, np.zeros(n_columns))
        spread = 2 * _inverse(_curvature(deviance, best))
        return best[:n_columns], np.diag(spread)[:n_columns], np.full(n_columns, np.inf)


def _triangle(theta: FloatArray) -> FloatArray:
    """Return the Cholesky factor of the covariance of four effects of a family, relative to the residual variance."""
    root = np.zeros((4, 4))
    root[np.tril_indices(4)] = theta
    return root


def _lowest(deviance: Deviance, start: FloatArray) -> FloatArray:
    """Return where a deviance is lowest, from several covariances; they may be singular."""
    from scipy.optimize import minimize

    best = None
    for size in (0.1, 1.0):
        at = np.concatenate([start, size * np.eye(4)[np.tril_indices(4)]])
        for method in ("BFGS", "Nelder-Mead", "BFGS"):
            at = minimize(deviance, at, method=method).x
        best = at if best is None or deviance(at) < deviance(best) else best
    return np.asarray(best)


def _curvature(deviance: Deviance, at: FloatArray) -> FloatArray:
    steps = 1e-3 * np.maximum(np.abs(at), 0.1) * np.eye(at.size)
    rows = [
        [deviance(at + a + b) - deviance(at + a - b) - deviance(at - a + b) + deviance(at - a - b) for b in steps]
        for a in steps
    ]
    return np.asarray(np.array(rows) / (4 * np.outer(steps.max(axis=0), steps.max(axis=0))))


def _inverse(information: FloatArray) -> FloatArray:
    """Return the inverse along the directions in which the deviance is curved, as lmerTest's."""
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    kept = values > 1e-8 * values.max()
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
