"""The logistic mixed model against lme4's glmer: regular and singular designs, with and without missing answers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from in_r import in_r
from pairbank.errors import BankError
from pairbank.stats.measures.mixed import Fitted
from pairbank.stats.measures.mixed_logistic import fit_logistic

SCRIPT = Path(__file__).with_name("mixed_logistic_reference.R")
FIRST = {"method": "k0", "model": "m0"}

# Name -> seed, units, items in each, methods, models; standard deviations (log odds) of items, of units, of methods and
# models within units, of methods within models; mean log odds; share of answers that are missing; whether units have
# phenomena.
DESIGNS = {
    "three models": (1, 12, 5, 2, 3, (0.8, 1.0, 0.4, 0.3, 0.3), 0.5, 0.0, False),
    "all vary, phenomena": (2, 20, 4, 2, 5, (1.0, 0.6, 0.6, 0.3, 0.4), 0.5, 0.0, True),
    "nothing varies": (3, 25, 3, 3, 4, (0.0, 0.0, 0.0, 0.0, 0.0), 0.5, 0.0, False),
    "items are units, answers are missing": (4, 30, 1, 3, 6, (0.0, 1.0, 0.6, 0.0, 0.4), 0.5, 0.1, False),
    "nearly all right": (5, 20, 8, 2, 4, (0.8, 1.0, 0.4, 0.3, 0.3), 3.0, 0.0, False),
}

# Rscript mixed_logistic_reference.R answers.csv fits.csv, with lme4 1.1-31: estimate and standard error; variances.
REFERENCE: dict[str, dict[str, tuple[float, ...]]] = {
    "all vary, phenomena": {
        "methodk1": (-0.0179545, 0.292978),
        "modelm1": (0.511885, 0.262808),
        "modelm2": (0.546701, 0.263191),
        "modelm3": (0.904806, 0.268711),
        "modelm4": (1.25075, 0.276856),
        "unit:model": (0,),
        "item": (1.20063,),
        "unit:method": (0.554532,),
        "unit": (0,),
        "method:model": (0,),
    },
    "items are units, answers are missing": {
        "methodk1": (0.663699, 0.299008),
        "methodk2": (1.03974, 0.307959),
        "modelm1": (1.29322, 0.393884),
        "modelm2": (1.21832, 0.384679),
        "modelm3": (0.74899, 0.359647),
        "modelm4": (0.463202, 0.352118),
        "modelm5": (0.608722, 0.35531),
        "unit:model": (0,),
        "unit:method": (0.323455,),
        "unit": (0.142722,),
        "method:model": (0,),
    },
    "nearly all right": {
        "methodk1": (0.219863, 0.229977),
        "modelm1": (0.656815, 0.318387),
        "modelm2": (0.305155, 0.296133),
        "modelm3": (0.59973, 0.314734),
        "item": (0.238866,),
        "unit:model": (0.0398039,),
        "unit:method": (0.0305397,),
        "unit": (0.678706,),
        "method:model": (0,),
    },
    "nothing varies": {
        "methodk1": (0.446255, 0.179626),
        "methodk2": (0.55435, 0.18234),
        "modelm1": (0.372296, 0.210194),
        "modelm2": (0.256638, 0.207229),
        "modelm3": (0.302167, 0.208348),
        "unit:model": (4.3868e-18,),
        "unit:method": (0,),
        "item": (0,),
        "unit": (0,),
        "method:model": (0,),
    },
    "three models": {
        "methodk1": (0.370549, 0.2508),
        "modelm1": (0.1821, 0.386096),
        "modelm2": (-0.141585, 0.382493),
        "item": (0.309193,),
        "unit:model": (0.316681,),
        "unit:method": (0,),
        "unit": (0.958387,),
    },
}


def answers_of(name: str) -> pd.DataFrame:
    seed, n_units, n_items, n_methods, n_models, spread, mean, missing, grouped = DESIGNS[name]
    rng = np.random.default_rng(seed)
    shape = (n_units, n_items, n_methods, n_models)
    log_odds = mean + 0.3 * np.arange(n_methods)[:, np.newaxis] + 0.1 * np.arange(n_models) + np.zeros(shape)
    shapes = (
        (n_units, n_items, 1, 1),
        (n_units, 1, 1, 1),
        (n_units, 1, n_methods, 1),
        (n_units, 1, 1, n_models),
        (1, 1, n_methods, n_models),
    )
    for size, part in zip(spread, shapes, strict=True):
        log_odds = log_odds + size * rng.normal(size=part)
    unit, item, method, model = np.indices(shape).reshape(4, -1)
    answers = pd.DataFrame(
        {
            "unit": [f"u{i:02d}" for i in unit],
            "item": [f"u{i:02d}-{j:02d}" for i, j in zip(unit, item, strict=True)],
            "method": [f"k{i}" for i in method],
            "model": [f"m{i}" for i in model],
            "phenomenon": [f"p{i % 4}" if grouped else None for i in unit],
            "value": (rng.random(shape) < 1 / (1 + np.exp(-log_odds))).astype(float).ravel(),
        }
    )
    return answers[rng.random(len(answers)) >= missing]


PARTS = {
    "item": "item",
    "unit": "unit",
    "unit:method": "method x unit",
    "unit:model": "model x unit",
    "method:model": "method x model",
}


def differences(fitted: Fitted, reference: dict[str, tuple[float, ...]], n_methods: int) -> list[str]:
    """Return what is off by more than 0.001 (estimates, standard deviations) or 2% (standard errors)."""
    variances, result = dict(fitted.variances), list[str]()
    for name, part in PARTS.items():
        if part in variances and abs(variances[part] ** 0.5 - reference[name][0] ** 0.5) > 1e-3:
            result.append(f"{part}: {variances[part]} for {reference[name][0]}")
    for effect in fitted.effects:
        if effect.term == "phenomenon":
            continue
        value, error = reference[effect.term + effect.level]
        own = (effect.estimate.high - effect.estimate.low) / 2 / student.isf(0.025, effect.degrees)
        if effect.term == "model":  # ours is by these methods: without what methods vary by model
            own = np.sqrt(own**2 + 2 * variances.get("method x model", 0.0) / n_methods)
        if abs(effect.estimate.value - value) > 1e-3 or abs(own / error - 1) > 0.02:
            result.append(f"{effect.level}: {effect.estimate.value}, {own} for {value}, {error}")
    return result


@pytest.mark.parametrize("name", DESIGNS)
def test_effects_and_errors_are_those_of_glmer(name: str) -> None:
    fitted = fit_logistic(answers_of(name), references=FIRST)
    assert len(fitted.effects) >= 3
    assert differences(fitted, REFERENCE[name], DESIGNS[name][3]) == []


@pytest.mark.ci
def test_they_are_those_of_the_glmer_that_is_installed(tmp_path: Path) -> None:
    name = "three models"
    for which, reference in r_fits({name: answers_of(name)}, tmp_path).items():
        assert differences(fit_logistic(answers_of(which), references=FIRST), reference, DESIGNS[which][3]) == []


def r_fits(designs: dict[str, pd.DataFrame], folder: Path) -> dict[str, dict[str, tuple[float, ...]]]:
    """Fit designs by lme4: design -> effect or part -> estimate and, of effects, standard error."""
    pd.concat([x.assign(set=name) for name, x in designs.items()]).to_csv(folder / "answers.csv", index=False)
    files = [folder / "answers.csv", folder / "fits.csv"]
    in_r(SCRIPT, *files)
    return {
        str(name): {
            str(row["name"]): tuple(float(row[x]) for x in ("value", "se") if not np.isnan(row[x]))
            for row in part.to_dict("records")
        }
        for name, part in pd.read_csv(files[1]).groupby("set")
    }


def test_a_model_that_is_always_right_has_no_finite_log_odds_and_a_reason() -> None:
    answers = answers_of("three models")
    fitted = fit_logistic(answers.assign(value=answers["value"].where(answers["model"] != "m1", 1.0)))
    assert "every answer of `m1` is right" in str(fitted.reason)
    assert all(np.isnan(x.estimate.value) for x in fitted.effects)


def test_answers_outside_0_to_1_are_refused() -> None:
    answers = answers_of("three models")
    with pytest.raises(BankError, match="from 0"):
        fit_logistic(answers.assign(value=answers["value"] * 2))


def test_the_order_of_rows_changes_nothing() -> None:
    answers = answers_of("three models")
    plain, shuffled = (fit_logistic(x) for x in (answers, answers.sample(frac=1, random_state=1)))
    for one, other in zip(plain.effects, shuffled.effects, strict=True):
        assert one.estimate.value == pytest.approx(other.estimate.value, abs=1e-6)
