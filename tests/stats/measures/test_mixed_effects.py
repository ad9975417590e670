"""The mixed model against lme4 and lmerTest: regular and singular designs, with and without missing cells."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

from lme4_fits import fits_in, r_fits
from pairbank.errors import BankError
from pairbank.stats.measures.mixed import Fitted, fit_mixed

FIRST = {"method": "k0", "model": "m0"}
SCRIPT = Path(__file__).with_name("mixed_reference.R")

# Name -> seed, units, methods, models; standard deviations of units, of methods and models within units, of methods
# within models; share of cells that are missing; whether values are 0 or 1; whether units have phenomena.
DESIGNS = {
    "all vary": (1, 20, 2, 5, (1.0, 0.4, 0.3, 0.3), 0.0, False, False),
    "nothing varies": (2, 20, 3, 4, (0.0, 0.0, 0.0, 0.0), 0.0, False, False),
    "methods alone vary within units": (3, 40, 3, 3, (0.0, 0.6, 0.0, 0.0), 0.0, False, True),
    "cells are missing": (4, 25, 3, 6, (0.5, 0.0, 0.4, 0.3), 0.15, False, True),
    "right or wrong, cells are missing": (5, 30, 2, 8, (0.8, 0.3, 0.3, 0.4), 0.1, True, False),
    "three models": (6, 15, 2, 3, (0.5, 0.3, 0.0, 0.5), 0.0, False, False),
    "one method": (7, 30, 1, 4, (0.6, 0.0, 0.0, 0.0), 0.1, False, True),
}

REFERENCE = fits_in(Path(__file__).with_name("mixed_lme4.csv"))
"""What the script gave with lme4 1.1-31 and lmerTest 3.1-3."""


def cells_of(name: str) -> pd.DataFrame:
    seed, n_units, n_methods, n_models, spread, missing, binary, grouped = DESIGNS[name]
    rng = np.random.default_rng(seed)
    shape = (n_units, n_methods, n_models)
    values = 0.7 * rng.normal(size=shape) + 0.3 * np.arange(n_methods)[:, np.newaxis] + 0.1 * np.arange(n_models)
    shapes = (n_units, 1, 1), (n_units, n_methods, 1), (n_units, 1, n_models), (1, n_methods, n_models)
    for size, part in zip(spread, shapes, strict=True):
        values = values + size * rng.normal(size=part)
    unit, method, model = np.indices(shape).reshape(3, -1)
    cells = pd.DataFrame(
        {
            "unit": [f"u{i:02d}" for i in unit],
            "method": [f"k{i}" for i in method],
            "model": [f"m{i}" for i in model],
            "phenomenon": [f"p{i % 4}" if grouped else None for i in unit],
            "value": (values > 0.5).astype(float).ravel() if binary else values.ravel(),
        }
    )
    return cells[rng.random(len(cells)) >= missing]


PARTS = {
    "unit": "unit",
    "unit:method": "method x unit",
    "unit:model": "model x unit",
    "method:model": "method x model",
    "Residual": "rest",
}


def differences(
    fitted: Fitted, reference: dict[str, tuple[float, ...]], n_methods: int
) -> Iterator[tuple[str, float, float]]:
    """Yield what is compared, ours and the reference's: estimates, standard errors, degrees of freedom, variances."""
    variances = dict(fitted.variances)
    for name, part in PARTS.items():
        if part in variances:
            yield f"variance of {part}", variances[part], reference[name][0]
    for effect in fitted.effects:
        if effect.term == "phenomenon":
            continue
        value, error, *degrees = reference[effect.term + effect.level]
        yield f"{effect.level}", effect.estimate.value, value
        own = (effect.estimate.high - effect.estimate.low) / 2 / student.isf(0.025, effect.degrees)
        if effect.term == "model":  # ours is by these methods: without what methods vary by model
            own = np.sqrt(own**2 + 2 * variances.get("method x model", 0.0) / n_methods)
        yield f"standard error of {effect.level}", own, error
        if degrees and effect.term == "method":
            yield f"degrees of freedom of {effect.level}", effect.degrees, degrees[0]


def off(name: str, ours: float, theirs: float) -> bool:
    if "standard error" in name or "degrees" in name:
        return abs(ours / theirs - 1) > 0.002
    return abs(ours - theirs) > 2e-4


@pytest.mark.parametrize("name", DESIGNS)
def test_effects_errors_and_degrees_of_freedom_are_those_of_lme4(name: str) -> None:
    fitted = fit_mixed(cells_of(name), references=FIRST)
    compared = list(differences(fitted, REFERENCE[name], DESIGNS[name][2]))
    assert len(compared) >= 5
    assert not [one for one in compared if off(*one)]


@pytest.mark.ci
def test_they_are_those_of_the_lme4_that_is_installed(tmp_path: Path) -> None:
    result = r_fits(SCRIPT, {name: cells_of(name) for name in DESIGNS}, tmp_path)
    for name, reference in result.items():
        fitted = fit_mixed(cells_of(name), references=FIRST)
        assert not [one for one in differences(fitted, reference, DESIGNS[name][2]) if off(*one)], name


def test_a_model_is_compared_by_these_methods_whatever_they_change_in_it() -> None:
    cells = cells_of("all vary")
    shifted = cells.assign(value=cells["value"] + 5 * ((cells["method"] == "k1") - 0.5) * (cells["model"] == "m1"))
    widths = [
        next(x.estimate.high - x.estimate.low for x in fit_mixed(one, references=FIRST).effects if x.level == level)
        for one in (cells, shifted)
        for level in ("m1", "k1")
    ]
    assert widths[2] == pytest.approx(widths[0], rel=0.05)
    assert widths[3] > 5 * widths[1]


def test_two_cells_of_one_unit_are_refused() -> None:
    cells = cells_of("one method")
    with pytest.raises(BankError, match="two cells of one method and model"):
        fit_mixed(pd.concat([cells, cells]))


def test_cells_that_effects_explain_wholly_have_no_numbers() -> None:
    cells = cells_of("three models")
    exact = (cells["method"] == "k1") * 2.0 + (cells["model"] == "m1")
    fitted = fit_mixed(cells.assign(value=exact), references=FIRST)
    assert "no" in str(fitted.reason)
    assert all(np.isnan(x.estimate.value) for x in fitted.effects)


@pytest.mark.parametrize("shared", [-0.6, 0.0, 0.6])
def test_two_models_by_one_method_are_compared_by_the_paired_t_test_however_alike_units_are(shared: float) -> None:
    rng = np.random.default_rng(11)
    a, b = rng.multivariate_normal([0.0, 0.4], [[1.0, shared], [shared, 1.0]], size=20).T
    units = [f"u{k:02d}" for k in range(20)]
    cells = pd.concat(
        [
            pd.DataFrame({"unit": units, "method": "k", "model": m, "value": x})
            for m, x in zip("ab", (a, b), strict=True)
        ]
    )
    fitted = fit_mixed(cells)
    (effect,) = fitted.effects
    assert effect.p == pytest.approx(ttest_rel(b, a).pvalue, rel=1e-4)
    assert effect.degrees == pytest.approx(19, abs=0.01)
    assert min(variance for _, variance in fitted.variances) >= 0
