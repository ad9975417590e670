"""Shares of variance of crossed factors, such as items, prompts, models: numbers and their levels in, components out.

Each component (a factor, or a combination of factors; the last is the rest) is drawn at random, so that half the mean
squared difference of two observations which share some factors is the sum of the components that these do not cover.
These means over pairs are sums of squares, for any pattern of missing cells (Henderson 1953, Biometrics 9:226-252; Gao
& Owen 2016, arXiv:1610.08088); solving for the components is then linear.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

REST = "rest"
N_GROUPS = 20
"""Groups of items that are left out in turn, for the intervals."""


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
    """Return the components of the variance.

    Args:
        values: One observation a cell, shape (cells,), finite.
        factors: Name -> number of each cell's level, from 0; the first one, items, is what intervals are over.

    Raises:
        BankError: A factor has one level, or no two cells share what is needed.

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
            variance=float(whole[nth]), share=float(shares[nth]), low=float(low[nth]), high=float(high[nth]),
            n_levels=_n_levels([factors[name] for name in kind]),
        )
        for nth, kind in enumerate(_kinds(names))
    ]  # fmt: skip


def _kinds(names: list[str]) -> list[tuple[str, ...]]:
    return [kind for size in range(1, len(names) + 1) for kind in itertools.combinations(names, size)]


def component_variances(values: FloatArray, factors: Mapping[str, IntArray]) -> FloatArray:
    """Return the components alone: of each factor, of combinations of ever more factors, and of the rest.

    Args:
        values: As for `crossed_components`.
        factors: As for `crossed_components`.

    Raises:
        BankError: Too few cells share a level.
    """
    names = list(factors)
    shared = [(), *_kinds(names)[:-1]]
    centred = values - values.mean()
    sums: dict[tuple[str, ...], FloatArray] = {
        kind: _pairs(centred, [factors[name] for name in kind]) for kind in shared
    }
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


def _n_levels(codes: list[IntArray]) -> int:
    return int(np.unique(np.column_stack(codes), axis=0).shape[0])
