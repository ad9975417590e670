"""Does accuracy rise with the size of a model? Covariates of models in a linear mixed model, alone and by method.

Units, models and families of models are draws: how much each differs, by how much methods differ in it, and how steep
a covariate is in a unit or family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.measures.mixed import BY_MODEL, BY_UNIT, LEAST_UNITS, Effect, Fitted, Plan, fit_plan, patterns_of

NO_EFFECT, FAMILY = "no effect", "family"
LEAST_OF_SLOPES = 6
"""Models that differ in a covariate; of fewer, their variance is often estimated as 0."""


def fit_covariates(
    cells: pd.DataFrame, covariates: pd.DataFrame, families: Mapping[str, str], *, reference: str | None = None
) -> Fitted:
    """Return the slope of each covariate by each method, and how far it differs from that by the reference method."""
    ordered = cells.sort_values(["unit", "method", "model"], kind="stable").reset_index(drop=True)
    models, names = pd.factorize(ordered["model"], sort=True)
    methods, labels = pd.factorize(ordered["method"], sort=True)
    x = covariates.loc[names].to_numpy(dtype=np.float64)
    x = x - x.mean(axis=0)
    n_units, least = ordered["unit"].nunique(), LEAST_OF_SLOPES - 1 + x.shape[1]
    labelled = [str(name) for name in covariates]
    if len(names) < least or np.linalg.matrix_rank(x) < x.shape[1]:
        raise BankError(f"{', '.join(labelled)} of {len(names)} models; a slope needs {least} that differ in it")
    if n_units < LEAST_UNITS:
        raise BankError(f"{n_units} units; a mixed model needs {LEAST_UNITS} items or paradigms")
    _, first, kind = np.unique(methods * len(names) + models, return_index=True, return_inverse=True)
    of_method = np.equal.outer(methods[first], np.arange(len(labels))).astype(np.float64)
    at = list(labels).index(reference) if reference in set(labels) else 0
    by_kind, contrasts = _slopes(np.delete(of_method, at, axis=1), x[models[first]], labelled, labels, at)
    family_codes = pd.factorize(np.array([families[name] for name in names]))[0]
    slopes = dict(zip(labelled, (x / x.std(axis=0))[models[first]].T, strict=True))
    within, across = _parts(of_method, models[first], slopes, family_codes)
    values = ordered["value"].to_numpy(dtype=np.float64)
    design = by_kind[kind]
    if np.linalg.matrix_rank(design) < design.shape[1] or not np.ptp(values):
        raise BankError("too few models by these methods for a slope of each")
    plan = Plan(
        patterns=tuple(patterns_of(ordered, kind, values, design[:, :0], [*within.values()])),
        parts=(*within, *across),
        across=tuple(across.values()),
        by_kind=by_kind,
        n_between=0,
        n_cells=len(ordered),
        n_units=n_units,
        n_methods=len(labels),
        contrasts=contrasts,
        design=design,
        spread=float(values.std()),
        has_fixed_by_model=False,
    )
    fitted = fit_plan(plan)
    most = len(names) - 1 - x.shape[1]
    return replace(fitted, effects=tuple(_capped(effect, most, n=len(names)) for effect in fitted.effects))


def _capped(effect: Effect, most: int, *, n: int) -> Effect:
    """Return an effect with no more degrees of freedom than models leave: variances estimated as 0 have too many."""
    from scipy.stats import t

    known, degrees = effect.estimate, min(effect.degrees, most)
    if not known.is_defined or np.isnan(degrees):
        return replace(effect, estimate=replace(known, n=n))
    error = (known.high - known.low) / 2 / float(t.isf(0.025, effect.degrees))
    reach, p = error * float(t.isf(0.025, degrees)), float(2 * t.sf(abs(known.value) / error, degrees))
    estimate = replace(known, low=known.value - reach, high=known.value + reach, n=n)
    return replace(effect, estimate=estimate, p=p, degrees=degrees)


def _slopes(
    others: FloatArray, x: FloatArray, covariates: list[str], labels: pd.Index, reference: int
) -> tuple[FloatArray, tuple[tuple[str, str, str, FloatArray], ...]]:
    """Return the design of each method of a model, and contrasts: slopes by method, and their differences."""
    n = others.shape[1]
    blocks = [np.ones((len(x), 1)), others, *(np.column_stack([column, others * column[:, None]]) for column in x.T)]
    design, contrasts = np.column_stack(blocks), []
    rest = [str(label) for place, label in enumerate(labels) if place != reference]
    for nth, covariate in enumerate(covariates):
        start = 1 + n + nth * (1 + n)
        own = np.eye(design.shape[1])[start]
        contrasts.append((covariate, str(labels[reference]), NO_EFFECT, own))
        for place, label in enumerate(rest):
            differs = np.eye(design.shape[1])[start + 1 + place]
            contrasts.append((covariate, label, NO_EFFECT, own + differs))
            contrasts.append((covariate, label, str(labels[reference]), differs))
    return design, tuple(contrasts)


def _parts(
    of_method: FloatArray, models: IntArray, slopes: Mapping[str, FloatArray], families: IntArray
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return the covariances within units, and the levels between units, of all random parts."""
    several, n_models = of_method.shape[1] > 1, len(families)
    same_method, same_model = of_method @ of_method.T, np.equal.outer(models, models).astype(np.float64)
    within = {"unit": np.ones_like(same_method)}
    within |= {BY_UNIT[1]: same_method, BY_UNIT[2]: same_model} if several else {}
    of_model = np.equal.outer(models, np.arange(n_models)).astype(np.float64)
    of_family = of_model @ np.equal.outer(families, np.arange(families.max() + 1)).astype(np.float64)
    across = {"model": of_model} | ({BY_MODEL: np.eye(len(models))} if several else {})
    has_families = 1 < of_family.shape[1] < n_models
    across |= {FAMILY: of_family} if has_families else {}
    for name, slope in slopes.items():
        within[f"{name} x unit"] = np.outer(slope, slope)
        across |= {f"{name} x {FAMILY}": of_family * slope[:, None]} if has_families else {}
    if several:
        within |= {f"{part} x method": within[part] * same_method for part in [*within][3:]}
        for part in [*across][2:]:
            across[f"{part} x method"] = (of_method[:, :, None] * across[part][:, None]).reshape(len(models), -1)
    return within, across
