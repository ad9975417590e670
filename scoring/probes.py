"""Linear probes: rows of hidden states and labels in, log-odds out. What `neuro` and `probe_grammar` have in common.

Logistic regression with an L2 penalty, on states that are standardised by the training rows or taken as they are.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError

MAX_ITERATIONS, TOLERANCE = 10_000, 1e-4
"""Of the solver; the tolerance is scikit-learn's own. States that are not standardised need more iterations."""
NEWTON_FEATURES = 256
"""Up to this many coordinates Newton's method is faster than L-BFGS (its Hessian is dense)."""


def out_of_fold(
    states: ArrayLike,
    labels: ArrayLike,
    folds: ArrayLike,
    *,
    c: float = 1.0,
    standardise: bool = True,
    balanced: bool = False,
) -> FloatArray:
    """Return the log-odds that each row is labelled true, by a probe of the other folds, shape (label sets, rows).

    `balanced`: both labels weigh the same, however many rows have them.

    >>> states = np.array([[1.0], [-1.0], [1.1], [-1.1]])
    >>> (out_of_fold(states, [[1, 0, 1, 0]], [0, 0, 1, 1]) > 0).tolist()
    [[True, False, True, False]]
    """
    rows, kinds, fold_of = np.asarray(states), np.asarray(labels, dtype=bool), np.asarray(folds)
    if rows.ndim != 2 or kinds.shape != (len(kinds), len(rows)) or fold_of.shape != (len(rows),):
        shapes = f"states {rows.shape}, labels {kinds.shape}, folds {fold_of.shape}"
        raise BankError(f"{shapes}; expected (rows, hidden), (label sets, rows) and (rows,)")
    result = np.full(kinds.shape, np.nan)
    for fold in range(int(fold_of.max()) + 1):
        test = fold_of == fold
        train_x, coordinates = _coordinates(rows[~test], standardise=standardise)
        test_x = coordinates.of(rows[test])
        for number, kind in enumerate(kinds):
            for part, of_part in (("training", kind[~test]), ("test", kind[test])):
                if of_part.all() or not of_part.any():
                    raise BankError(f"fold {fold}: its {part} part has one kind of label only; expected whole pairs")
            result[number, test] = _fitted(train_x, kind[~test], c=c, balanced=balanced).decision_function(test_x)
    return result


def fitted(states: ArrayLike, labels: BoolArray, *, c: float = 1.0, balanced: bool = False) -> tuple[FloatArray, float]:
    """Return weights (hidden,) and bias of a probe of all rows, standardised: log-odds are states @ weights + bias."""
    train_x, coordinates = _coordinates(np.asarray(states), standardise=True)
    regression = _fitted(train_x, labels, c=c, balanced=balanced)
    weights = regression.coef_[0]
    by_state = (weights if coordinates.axes is None else coordinates.axes @ weights) / coordinates.scale
    return by_state, float(regression.intercept_[0] - coordinates.origin @ by_state)


def mean_area(log_odds: FloatArray, labels: BoolArray, folds: IntArray) -> float:
    from sklearn.metrics import roc_auc_score

    by_fold = [roc_auc_score(labels[folds == fold], log_odds[folds == fold]) for fold in np.unique(folds)]
    return float(np.mean(by_fold))


class _Coordinates(NamedTuple):
    """Other coordinates of states, shape (hidden,): standardised, and where asked along fewer axes (hidden, axes)."""

    origin: FloatArray
    scale: FloatArray
    axes: FloatArray | None = None

    def of(self, states: NDArray[Any]) -> FloatArray:
        rows = (states.astype(np.float64) - self.origin) / self.scale
        return rows if self.axes is None else rows @ self.axes


def _coordinates(train: NDArray[Any], *, standardise: bool) -> tuple[FloatArray, _Coordinates]:
    """Return rows, standardised or not, in the coordinates that they span where these are the fewer."""
    from sklearn.preprocessing import StandardScaler

    same = _Coordinates(np.zeros(train.shape[1]), np.ones(train.shape[1]))
    if standardise:
        scaler = StandardScaler().fit(train.astype(np.float64))
        same = _Coordinates(scaler.mean_, scaler.scale_)
    rows = same.of(train)
    if 2 * len(rows) > rows.shape[1]:
        return rows, same
    powers, axes = np.linalg.eigh(rows @ rows.T)
    if powers[-1] <= 0:  # all training rows are the same, as those of a shared full stop's embedding are
        return rows, same
    kept = powers > powers[-1] * len(powers) * np.finfo(np.float64).eps
    roots = np.sqrt(powers[kept])
    return axes[:, kept] * roots, same._replace(axes=rows.T @ (axes[:, kept] / roots))


def _fitted(rows: FloatArray, labels: BoolArray, *, c: float, balanced: bool) -> Any:  # noqa: ANN401 - a LogisticRegression
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    problem: Warning | None = None
    options = {"C": c, "tol": TOLERANCE, "max_iter": MAX_ITERATIONS, "class_weight": "balanced" if balanced else None}
    for solver in ("newton-cholesky", "lbfgs") if rows.shape[1] <= NEWTON_FEATURES else ("lbfgs",):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            try:
                return LogisticRegression(solver=solver, **options).fit(rows, labels)
            except ConvergenceWarning as warning:
                problem = warning
    raise BankError(
        f"logistic regression on {rows.shape} did not converge in {MAX_ITERATIONS} iterations ({problem}); "
        "expected standardised hidden states: look at them, or leave the layer out"
    )
