"""What goes with what, given the rest? Arrays in, named results out: pingouin's values with all their digits.

Partial correlation; correlation within subjects (Bakdash & Marusich 2017, Front Psychol 8:456); relative importance of
predictors (LMG: Lindeman, Merenda & Gold 1980); Bayes factors of a correlation (Ly, Verhagen & Wagenmakers 2016) and of
a paired difference (Rouder et al. 2009); equivalence (two one-sided tests: Schuirmann 1987). Intervals of correlations
are our own: pingouin rounds its, and they suppose normal data and independent rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import deleted, draws, freedom, half_width, on_z_scale, with_paradigms
from pairbank.stats.estimates.estimate import Estimate, finite_vector, paired_vectors, undefined, without_interval
from pairbank.stats.estimates.shares import varies

ROBUST = "jackknife-z"
_LEAST = 8
"""Items that an estimate needs."""
_FOR_EACH_GIVEN = 3
"""Items more that it needs for each given column: with fewer and heavy tails it would cover less than 92%."""


@contextmanager
def all_digits() -> Iterator[Any]:
    """Yield pingouin with its rounding switched off; importing it takes seconds, so nothing else here does."""
    import pingouin

    kept = dict(pingouin.options)
    pingouin.options.update({"round": None, "round.column.CI95": None, "round.column.BF10": None})
    try:
        with warnings.catch_warnings():  # of pandas, about how pingouin calls it
            warnings.filterwarnings("ignore", category=DeprecationWarning, module="pingouin")
            yield pingouin
    finally:
        pingouin.options.clear()
        pingouin.options.update(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """One predictor of a linear regression with others."""

    name: str
    slope: float
    """Change of the outcome, in its standard deviations, with one standard deviation of the predictor."""
    p: float
    """Two-sided p-value of the slope, with White's (HC3) standard error."""
    importance: float
    """Part of R^2, averaged over the orders in which predictors can enter; the parts sum to R^2."""


def partial_correlation(x: ArrayLike, y: ArrayLike, given: ArrayLike, *, clusters: ArrayLike | None = None) -> Estimate:
    """Return Pearson's r of x and y given other columns (items, columns), with a robust interval.

    >>> rng = np.random.default_rng(1)
    >>> z, a, b = rng.normal(size=(3, 400))
    >>> found = partial_correlation(z + a, z + b, z[:, np.newaxis])
    >>> round(found.value, 2), found.low < 0 < found.high
    (-0.04, True)
    """
    a, b = paired_vectors(x, y, names=("x", "y"))
    z = np.asarray(given, dtype=np.float64)
    if z.ndim != 2 or len(z) != a.size or not np.isfinite(z).all():
        raise BankError(f"given has shape {z.shape}; expected ({a.size}, columns) of finite numbers")
    z = z[:, np.ptp(z, axis=0) > 0]
    if a.size < z.shape[1] + _LEAST or not varies(a) or not varies(b):
        return undefined(
            f"{a.size} items, {z.shape[1]} given; or a constant (but for rounding)", n=a.size, method=ROBUST
        )
    u, v = _residuals(a, z), _residuals(b, z)
    if min(u.var() / a.var(), v.var() / b.var()) < 1e-12:
        return undefined("what is given determines one of the two", n=a.size, method=ROBUST)
    value = _r(u, v)
    needed = _LEAST + _FOR_EACH_GIVEN * z.shape[1]
    if a.size < needed:
        reason = f"an interval needs {needed} items with {z.shape[1]} columns given, there are {a.size}"
        return without_interval(value, reason, n=a.size, method=ROBUST)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(a.size), z]))
    leverage = (basis**2).sum(axis=1)
    weight = (a.size / (a.size - 1)) ** 0.25 * (1 - leverage).clip(1e-9) ** -0.75
    result = jackknifed_r(value, u, v, weight, np.arange(a.size), lost=2 + z.shape[1])
    codes = draws(clusters, a.size)
    return result if codes is None else on_z_scale(result, _without_paradigms(a, b, z, codes), codes)


def _without_paradigms(x: FloatArray, y: FloatArray, z: FloatArray, codes: IntArray) -> FloatArray:
    """Return by how much each paradigm shifts Fisher's z of a partial r: a jackknife over paradigms."""
    columns = np.column_stack([np.ones(x.size), z, x, y])
    whole = columns.T @ columns
    left = (whole - columns[codes == k].T @ columns[codes == k] for k in range(int(codes.max()) + 1))
    inverse = np.array([np.linalg.pinv(products, hermitian=True)[-2:, -2:] for products in left])
    with np.errstate(invalid="ignore", divide="ignore"):
        return deleted(np.arctanh(-inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])))


def _r(u: FloatArray, v: FloatArray) -> float:
    return float(np.clip(u @ v / math.sqrt(float((u @ u) * (v @ v))), -1, 1))


def within_correlation(
    x: ArrayLike, y: ArrayLike, subjects: ArrayLike, items: ArrayLike, *, clusters: ArrayLike | None = None
) -> Estimate:
    """Return the r of x and y within subjects (repeated-measures correlation), with an interval robust over items."""
    a, b = paired_vectors(x, y, names=("x", "y"))
    frame = pd.DataFrame({"x": a, "y": b, "subject": np.asarray(subjects, dtype=str)})
    _, item = np.unique(np.asarray(items, dtype=str), return_inverse=True)
    n = int(item.max()) + 1 if item.size else 0
    if frame["subject"].nunique() < 3 or n < _LEAST:
        reason = f"{frame['subject'].nunique()} subjects and {n} items; at least 3 and {_LEAST} are needed"
        return undefined(reason, n=n, method=ROBUST)
    centred = frame[["x", "y"]] - frame.groupby("subject")[["x", "y"]].transform("mean")
    u, v = centred["x"].to_numpy(), centred["y"].to_numpy()
    if not varies(u) or not varies(v):
        return undefined("constant within every subject (but for rounding)", n=n, method=ROBUST)
    value = _r(u, v)
    rows_of_subject = frame.groupby("subject")["x"].transform("size").to_numpy(dtype=np.float64)
    weight = rows_of_subject / (rows_of_subject - 1).clip(1)
    result = jackknifed_r(value, u, v, weight, item, lost=2)
    if (codes := draws(clusters, a.size)) is None:
        return result
    over = jackknifed_r(value, u, v, weight, codes, lost=1)
    return with_paradigms(result, over.low, over.high, codes)


def p_of_all(outcome: ArrayLike, predictors: ArrayLike) -> float:
    """Return the p-value of no linear prediction: how often exchanged outcomes would be predicted as well.

    R^2 of outcomes in random order has a mean and a variance that are known exactly; a beta distribution with both is
    taken for its own (Pitman 1938, Biometrika 29:322-335; Box & Watson 1962, Biometrika 49:93-106). For normal numbers
    that is the F test of all predictors, which is too often significant where outcome and predictors have heavy tails.

    >>> x = np.linspace(-1, 1, 30)
    >>> round(p_of_all(np.cos(9 * x), x[:, np.newaxis]), 3), p_of_all(x**3, x[:, np.newaxis]) < 0.001
    (1.0, True)
    """
    from scipy.stats import beta

    y, x = finite_vector(outcome, name="outcome"), np.asarray(predictors, dtype=np.float64)
    n, y = y.size, y - y.mean()
    left, sizes, _ = np.linalg.svd((x - x.mean(axis=0)) / x.std(axis=0), full_matrices=False)
    basis = left[:, sizes > 1e-10 * sizes[0]]
    k, squares = basis.shape[1], float(y @ y)
    r2 = float(((basis.T @ y) ** 2).sum()) / squares
    if r2 >= 1 - 1e-12:
        return 0.0
    leverage = (basis**2).sum(axis=1)
    mean, spread = k / (n - 1), _permuted_variance(float((y**4).sum()) / squares**2, float(leverage @ leverage), n, k)
    size = mean * (1 - mean) / spread - 1 if spread > 0 else 0.0
    size = size if size > 0 else (n - 1) / 2  # as for normal numbers
    return float(beta.sf(r2, mean * size, (1 - mean) * size))


def _permuted_variance(fourth: float, leverage: float, n: int, k: int) -> float:
    """Return the variance of R^2 over all orders of the outcome."""
    # mean products of outcomes of one to four different items; sums of products of the entries of the hat matrix
    two, three, four = n * (n - 1), n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3)
    same, cross = leverage, k - leverage
    second = (
        same * fourth / n
        + (k**2 - same + 2 * cross) * (1 - fourth) / two
        + 4 * same * fourth / two
        + (2 * (2 * same - k**2) + 4 * (same - cross)) * (2 * fourth - 1) / three
        + (k**2 - 2 * cross - 4 * (same - cross)) * (3 - 6 * fourth) / four
    )
    return second - (k / (n - 1)) ** 2


def p_over_paradigms(outcome: ArrayLike, predictors: Mapping[str, ArrayLike], clusters: ArrayLike) -> float:
    """Return the p-value of no linear prediction over other paradigms like these; NaN where they are too few."""
    from scipy.stats import f

    y = finite_vector(outcome, name="outcome")
    codes = draws(clusters, y.size)
    k = len(predictors)
    if codes is None or (n := int(codes.max()) + 1) < 2 * k + 2:
        return math.nan
    columns = [_standardised(finite_vector(x, name=name)) for name, x in predictors.items()]
    design = np.column_stack([np.ones(y.size), *columns])
    whole, moments = design.T @ design, design.T @ y
    left = []
    for entry in range(n):
        rows = codes == entry
        rest = whole - design[rows].T @ design[rows]
        left.append(np.linalg.lstsq(rest, moments - design[rows].T @ y[rows], rcond=None)[0][1:])
    slopes = np.linalg.lstsq(whole, moments, rcond=None)[0][1:]
    away = np.array(left) - np.mean(left, axis=0)
    covariance = (n - 1) / n * (away.T @ away)
    n_even = freedom(codes) + 1  # paradigms of one size that leave as many degrees of freedom
    t2 = float(slopes @ np.linalg.lstsq(covariance, slopes, rcond=None)[0])
    if n_even <= k + 1:
        return math.nan
    return float(f.sf(t2 * (n_even - k) / (k * (n_even - 1)), k, n_even - k))


def relative_importance(outcome: ArrayLike, predictors: Mapping[str, ArrayLike]) -> tuple[list[Predictor], float]:
    """Return what each predictor adds to R^2, and R^2."""
    from statsmodels.api import OLS, add_constant

    y = finite_vector(outcome, name="outcome")
    names = list(predictors)
    columns = [finite_vector(predictors[name], name=name) for name in names]
    if not 1 <= len(names) <= 12 or y.size < len(names) + _LEAST:
        raise BankError(f"{len(names)} predictors of {y.size} items; expected 1 to 12, and {_LEAST} items more")
    if constant := [name for name, x in zip(["outcome", *names], [y, *columns], strict=True) if not np.ptp(x)]:
        raise BankError(f"{', '.join(constant)}: the same for all {y.size} items; leave it out")
    z = pd.DataFrame({name: _standardised(x) for name, x in zip(names, columns, strict=True)})
    with all_digits() as pingouin:
        result = pingouin.linear_regression(z, _standardised(y), relimp=True)
    robust = OLS(_standardised(y), add_constant(z.to_numpy())).fit(cov_type="HC3", use_t=True)
    importance = [
        Predictor(name=str(row["names"]), slope=float(row["coef"]), p=float(p), importance=float(row["relimp"]))
        for row, p in zip(result.iloc[1:].to_dict("records"), robust.pvalues[1:], strict=True)
    ]
    return importance, float(result["r2"].iloc[0])


def bayes_factor_of_r(r: float, n: int) -> float:
    """Return how many times likelier the data are without than with a correlation (BF01).

    The prior is flat on r; the data are supposed normal (Ly, Verhagen & Wagenmakers 2016).

    >>> round(bayes_factor_of_r(0.0, 100), 2), bayes_factor_of_r(0.6, 100) < 1e-6
    (8.0, True)
    """
    if math.isnan(r) or n < 3 or abs(r) >= 1:
        return math.nan
    with all_digits() as pingouin:
        result = float(pingouin.bayesfactor_pearson(r, n))
    return 1 / result if result > 0 else math.nan


def _residuals(y: FloatArray, z: FloatArray) -> FloatArray:
    design = np.column_stack([np.ones(y.size), z])
    return np.asarray(y - design @ np.linalg.lstsq(design, y, rcond=None)[0])


def _standardised(x: FloatArray) -> FloatArray:
    return np.asarray((x - x.mean()) / x.std(ddof=1))


def jackknifed_r(r: float, u: FloatArray, v: FloatArray, weight: FloatArray, item: IntArray, *, lost: int) -> Estimate:
    """Return r of residuals with a jackknife interval on Fisher's z scale, for which items are left out whole."""
    n = int(item.max()) + 1
    shared: dict[str, Any] = {"n": n, "method": ROBUST}
    if abs(r) >= 1 - 1e-12:
        return without_interval(r, "r is 1 or -1", **shared)
    xy, xx, yy = (float(np.sum(p)) - np.bincount(item, weights=weight * p) for p in (u * v, u * u, v * v))
    if min(xx.min() / np.sum(u * u), yy.min() / np.sum(v * v)) <= 1e-12:
        return without_interval(r, "the values do not vary without one of the items", **shared)
    without = xy / np.sqrt(xx * yy)
    if np.abs(without).max() >= 1 - 1e-12:
        return without_interval(r, "r is 1 or -1 without one of the items", **shared)
    half = half_width(deleted(np.arctanh(without)), lost=lost)
    if not half > 0:
        return without_interval(r, "the standard error is 0", **shared)
    low, high = np.tanh([np.arctanh(r) - half, np.arctanh(r) + half])
    return Estimate(value=r, low=float(low), high=float(high), **shared)
