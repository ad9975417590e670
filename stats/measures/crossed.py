"""Linear mixed models with crossed random terms, as lme4's `lmer`: numbers in, effects and a log-likelihood out.

    y = X b + sum over terms of Z u + e,      u of a level ~ N(0, s² L L')

L holds the standard deviations over the residual one: a lower triangle, or where slopes are uncorrelated (`||`) a
diagonal. The deviance is profiled over b and s² (Bates et al. 2015, J Stat Softw 67(1), section 3). The intercepts of
the largest factor (the words of a text, thousands of them) are eliminated first, so that the rest is dense and small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.errors import BankError

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

_LARGEST = 100.0
"""Of a parameter: standard deviations beyond this many residual ones leave no digits."""
_LARGEST_DENSE = 2_000
"""Random effects beside those of the factor that is eliminated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomTerm:
    """A factor with a random intercept and random slopes."""

    name: str
    levels: IntArray
    """Number of each observation's level, from 0; shape (n,)."""
    slopes: FloatArray | None = None
    """Shape (n, slopes)."""
    correlated: bool = False
    """Whether intercept and slopes correlate: `(1 + x | g)`, not `(1 + x || g)`."""

    def design(self) -> FloatArray:
        """Return the columns of the intercept and the slopes."""
        ones = np.ones((len(self.levels), 1))
        return ones if self.slopes is None else np.column_stack([ones, self.slopes])

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return int(self.levels.max()) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedFit:
    """A fitted model."""

    effects: FloatArray
    covariance: FloatArray
    """Of the effects."""
    log_likelihood: float
    """Restricted, if the model was fitted by REML."""
    residual_variance: float
    covariances: dict[str, FloatArray]
    """Of the random effects of a level, by term; shape (1 + slopes, 1 + slopes)."""
    random_effects: dict[str, FloatArray]
    """Conditional modes by term, shape (levels, 1 + slopes); none of the factor that was eliminated."""
    parameters: FloatArray
    """Of the terms, relative to the residual standard deviation; lme4's theta."""


def fit_crossed(
    y: FloatArray,
    x: FloatArray,
    terms: Sequence[RandomTerm],
    *,
    reml: bool = False,
    parameters: FloatArray | None = None,
) -> CrossedFit:
    """Return the fit of a linear mixed model."""
    from scipy.optimize import Bounds, minimize
    from threadpoolctl import threadpool_limits

    if len(y) <= x.shape[1] or np.linalg.matrix_rank(x / np.linalg.norm(x, axis=0)) < x.shape[1]:
        raise BankError(f"{len(y)} observations do not determine {x.shape[1]} effects: some predictors are redundant")
    with threadpool_limits(1, user_api="blas"):  # several threads are slower here, and change last digits
        sums = _Sums(y, x, terms)
        if parameters is None:
            # of standard deviations the squares: at 0 the deviance has no slope in a standard deviation
            result = minimize(  # type: ignore[call-overload]
                lambda at: sums.at(sums.unsquared(at), reml=reml)["deviance"],
                sums.start, method="L-BFGS-B", jac="3-point",
                bounds=Bounds(np.where(sums.deviations, 0.0, -_LARGEST), np.full(len(sums.start), _LARGEST**2)),
                options={"ftol": 1e-11, "gtol": 1e-5, "maxiter": 300},
            )  # fmt: skip
            if not np.isfinite(result.fun):
                raise BankError("the likelihood of the mixed model has no optimum: nothing varies beside the effects")
            parameters = sums.unsquared(result.x)
        return sums.fit(parameters, reml=reml)


class _Sums:
    """What the likelihood takes of the observations, whatever the variances are."""

    def __init__(self, y: FloatArray, x: FloatArray, terms: Sequence[RandomTerm]) -> None:
        from scipy.sparse import csr_matrix, hstack

        intercepts = [term for term in terms if term.slopes is None]
        self.eliminated = max(intercepts, key=lambda term: term.n_levels, default=None)
        self.terms = [term for term in terms if term is not self.eliminated]
        self.widths = [term.design().shape[1] for term in self.terms]
        self.n, self.n_effects = x.shape
        self.n_random = sum(term.n_levels * width for term, width in zip(self.terms, self.widths, strict=True))
        if self.n_random > _LARGEST_DENSE:
            raise BankError(f"{self.n_random:,} random effects with slopes; at most {_LARGEST_DENSE:,} can be fitted")
        blocks = [csr_matrix(np.column_stack([x, y]))]
        blocks = [*(_spread(term.levels, term.design()) for term in self.terms), *blocks]
        whole = hstack(blocks, format="csr")
        self.products = (whole.T @ whole).toarray()
        self.counts, self.shared = np.zeros(0), np.zeros((0, whole.shape[1]))
        if self.eliminated is not None:
            levels = _spread(self.eliminated.levels, self.eliminated.design())
            self.counts, self.shared = np.asarray(levels.sum(axis=0)).ravel(), (levels.T @ whole).toarray()
        # per parameter: whether it is a standard deviation, whose square starts at 0.3 and is not below 0
        sizes = [(width, term.correlated) for term, width in zip(self.terms, self.widths, strict=True)]
        shapes = [list(zip(*np.tril_indices(k), strict=True)) if c else [(i, i) for i in range(k)] for k, c in sizes]
        self.places = shapes
        self.deviations = [row == column for shape in shapes for row, column in shape]
        self.deviations += [True] * (self.eliminated is not None)
        self.start = 0.3 * np.array(self.deviations, dtype=np.float64)

    def unsquared(self, squares: FloatArray) -> FloatArray:
        """Return parameters of which the standard deviations are squared."""
        return np.where(self.deviations, np.sqrt(np.maximum(squares, 0.0)), squares)

    def factors(self, parameters: FloatArray) -> list[FloatArray]:
        """Return L of each term."""
        made, place = [], 0
        for width, cells in zip(self.widths, self.places, strict=True):
            lower = np.zeros((width, width))
            for cell in cells:
                lower[cell] = parameters[place]
                place += 1
            made.append(lower)
        return made

    def at(self, parameters: FloatArray, *, reml: bool) -> dict[str, Any]:
        """Return the deviance, and what effects are computed from."""
        from scipy.linalg import block_diag, cho_solve, cholesky

        q, end = self.n_random, self.n_random + self.n_effects
        ratio = parameters[-1] ** 2 if self.eliminated is not None else 0.0
        weights = ratio / (1 + ratio * self.counts)
        left = self.products - self.shared.T @ (weights[:, None] * self.shared)
        lower = [np.kron(np.eye(t.n_levels), f) for t, f in zip(self.terms, self.factors(parameters), strict=True)]
        relative = block_diag(*lower) if lower else np.zeros((0, 0))
        scaled = relative.T @ left[:q, q:]
        root = cholesky(relative.T @ left[:q, :q] @ relative + np.eye(q), lower=True) if q else np.zeros((0, 0))
        solved = cho_solve((root, True), scaled) if q else scaled
        fixed = left[q:, q:] - scaled.T @ solved
        by_effects = cholesky(fixed[:-1, :-1], lower=True)
        effects = cho_solve((by_effects, True), fixed[:-1, -1])
        squares = float(fixed[-1, -1] - fixed[:-1, -1] @ effects)
        freedom = self.n - self.n_effects * reml
        log_determinant = 2 * np.log(np.diag(root)).sum() + np.log1p(ratio * self.counts).sum()
        log_determinant += 2 * np.log(np.diag(by_effects)).sum() * reml
        deviance = log_determinant + freedom * (1 + np.log(2 * np.pi * max(squares, 1e-300) / freedom))
        random = relative @ (solved[:, -1] - solved[:, : end - q] @ effects)
        return {
            "deviance": deviance, "effects": effects, "root": by_effects, "variance": squares / freedom,
            "random": random,
        }  # fmt: skip

    def fit(self, parameters: FloatArray, *, reml: bool) -> CrossedFit:
        """Return the fit at some parameters."""
        from scipy.linalg import cho_solve

        state = self.at(parameters, reml=reml)
        variance = state["variance"]
        factors = dict(zip((term.name for term in self.terms), self.factors(parameters), strict=True))
        covariances = {name: variance * factor @ factor.T for name, factor in factors.items()}
        if self.eliminated is not None:
            covariances[self.eliminated.name] = np.array([[variance * parameters[-1] ** 2]])
        ends = np.cumsum([t.n_levels * width for t, width in zip(self.terms, self.widths, strict=True)])[:-1]
        parts = np.split(state["random"], ends) if self.terms else []
        return CrossedFit(
            effects=state["effects"],
            covariance=variance * cho_solve((state["root"], True), np.eye(self.n_effects)),
            log_likelihood=-state["deviance"] / 2,
            residual_variance=variance,
            covariances=covariances,
            random_effects={
                t.name: part.reshape(t.n_levels, -1) for t, part in zip(self.terms, parts, strict=True)
            },
            parameters=parameters,
        )  # fmt: skip


def _spread(levels: IntArray, design: FloatArray) -> Any:  # noqa: ANN401 - scipy's matrices have no types
    """Return the design of a term, sparse: a block of columns per level."""
    from scipy.sparse import csr_matrix

    n, width = design.shape
    columns = levels[:, None] * width + np.arange(width)
    shape = (n, (int(levels.max()) + 1) * width)
    return csr_matrix((design.ravel(), columns.ravel(), np.arange(0, n * width + 1, width)), shape=shape)
