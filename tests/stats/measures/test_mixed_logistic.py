"""The logistic mixed model against lme4's glmer: regular and singular designs, with and without missing answers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from lme4_fits import fits_in, r_fits
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

REFERENCE = fits_in(Path(__file__).with_name("mixed_logistic_lme4.csv"))
"""What the script gave with lme4 1.1-31."""


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
    for which, reference in r_fits(SCRIPT, {name: answers_of(name)}, tmp_path).items():
        assert differences(fit_logistic(answers_of(which), references=FIRST), reference, DESIGNS[which][3]) == []


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
