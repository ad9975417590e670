"""Slopes of models' covariates against lme4 and lmerTest, and against what Hu & Frank 2024 published."""

from __future__ import annotations

import io
import os
import re
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from hu_frank import fit_by_family
from in_r import in_r
from pairbank.errors import BankError
from pairbank.stats.measures.mixed import Fitted
from pairbank.stats.measures.mixed_covariates import fit_covariates

PUBLISHED = Path(os.environ.get("PAIRBANK_SHARED") or Path(__file__).resolve().parents[4] / "shared") / "published"
needs_tables = pytest.mark.skipif(
    not (PUBLISHED / "hu_frank_2024_syntax.csv").is_file(), reason="PAIRBANK_SHARED has no published tables"
)
# lme4 1.1-31, lmerTest 3.1-3 (bobyqa) of `cells(0)`: estimate, standard error, degrees of freedom.
LMER = {
    ("size", "k0", "no effect"): (-0.233385, 0.252206, 9.8555),
    ("size", "k1", "k0"): (0.223516, 0.125197, 9.2162),
}
BY_FAMILY = [
    (-0.721530, 0.756130, 2.6655),
    (-0.661260, 0.840702, 2.6992),
    (0.126527, 0.131909, 6.9546),
    (0.208462, 0.152450, 0.8031),
]
# analysis/lmers/*.txt of jennhu/lm-task-demands: intercept, log10 size, method, both.
SYNTAX = [(1.67469, 0.09067), (0.14072, 0.11178), (-2.17708, 0.30528), (1.09493, 0.54889)]
LAMBADA = [
    (-1.8430, 0.1119, 3.6479),
    (0.6539, 0.1214, 2.5393),
    (-4.9230, 0.5721, 3.6405),
    (1.8368, 0.2400, 2.9343),
]


def cells(seed: int, *, n_units: int = 20, n_models: int = 10) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Cells of two methods, the size of each model, and its family."""
    rng = np.random.default_rng(seed)
    family = [f"f{nth}" for nth in rng.integers(0, 4, n_models)]
    x = rng.normal(size=n_models)
    unit, method, model = np.indices((n_units, 2, n_models)).reshape(3, -1)
    value = rng.normal(0, 0.7, n_units)[unit] + rng.normal(0, 0.3, (n_units, 2))[unit, method]
    value = (
        value + rng.normal(0, 0.3, (n_units, n_models))[unit, model] + rng.normal(0, 0.3, (2, n_models))[method, model]
    )
    value = value + rng.normal(0, 0.4, n_models)[model] + rng.normal(0, 0.3, n_units)[unit] * x[model]
    value = value + 0.3 * x[model] * (method + 1) + rng.normal(0, 0.6, value.size)
    value += rng.normal(0, 0.5, len(set(family)))[pd.factorize(np.array(family))[0]][model]
    frame = pd.DataFrame({"unit": unit, "method": method, "model": model, "value": value})
    frame = frame.assign(x=x[model], family=np.array(family)[model])
    for name in ("unit", "method", "model"):
        frame[name] = {"unit": "u", "method": "k", "model": "m"}[name] + frame[name].astype(str).str.zfill(2)
    frame["method"] = frame["method"].str.replace("k0", "k")
    names = sorted(set(frame["model"]))
    return frame, pd.DataFrame({"size": x}, index=names), dict(zip(names, family, strict=True))


def numbers(fitted: Fitted) -> list[tuple[float, float, float]]:
    """Estimate, standard error and degrees of freedom of each effect."""
    return [
        (
            effect.estimate.value,
            (effect.estimate.high - effect.estimate.low) / 2 / student.isf(0.025, effect.degrees),
            effect.degrees,
        )
        for effect in fitted.effects
    ]


def test_slopes_are_those_of_lme4() -> None:
    frame, sizes, families = cells(0)
    fitted = fit_covariates(frame, sizes, families, reference="k0")
    for effect, own in zip(fitted.effects, numbers(fitted), strict=True):
        if (effect.term, effect.level, effect.versus) in LMER:
            value, error, degrees = LMER[effect.term, effect.level, effect.versus]
            assert own == pytest.approx((value, error, min(degrees, 8.0)), rel=1e-4)


def test_families_with_correlated_slopes_are_those_of_lme4() -> None:
    fitted = fit_by_family(cells(0)[0], reference="k0", logistic=False)
    assert np.array(numbers(fitted)) == pytest.approx(np.array(BY_FAMILY), rel=2e-3)


@pytest.mark.ci
@needs_tables
def test_the_published_model_of_accuracies_is_that_of_hu_and_frank() -> None:
    table = pd.read_csv(PUBLISHED / "hu_frank_2024_syntax.csv")
    columns = {"direct_correct": "direct", "meta_good_correct": "meta", "meta_bad_correct": "meta"}
    parts = [table.assign(method=method, value=table[name].astype(float)) for name, method in columns.items()]
    answers = pd.concat([parts[0], *parts]).rename(columns={"model_family": "family"})
    fitted = fit_by_family(answers.assign(x=np.log10(answers["model_n_params"])), reference="direct", logistic=True)
    for (value, error, _), (published, published_error) in zip(numbers(fitted), SYNTAX, strict=True):
        assert value == pytest.approx(published, abs=5e-4)
        assert error == pytest.approx(published_error, rel=0.03)


@pytest.mark.ci
@needs_tables
def test_the_published_model_of_next_words_is_that_of_hu_and_frank() -> None:
    parts = []
    with tarfile.open(PUBLISHED / "hu-frank-2024" / "lambada.tar.xz") as archive:
        for member in archive.getmembers():
            if member.isfile() and "step" not in member.name:
                table = pd.read_csv(io.BytesIO(archive.extractfile(member).read()))  # type: ignore[union-attr]
                name = Path(member.name).stem.lower()
                place = {"family": re.split(r"[-_]", name)[0], "x": np.log10(float(re.search(r"([\d.]+)b", name)[1]))}  # type: ignore[index]
                parts += [table.assign(**place, method=m, value=table[f"{m}_logprob"]) for m in ("direct", "meta")]
    fitted = fit_by_family(pd.concat(parts), reference="direct", logistic=False)
    for own, published in zip(numbers(fitted), LAMBADA, strict=True):
        assert own[0] == pytest.approx(published[0], abs=1.5e-3)
        assert own[1:] == pytest.approx(published[1:], rel=0.02)


@pytest.mark.ci
def test_slopes_are_those_of_the_lme4_that_is_installed(tmp_path: Path) -> None:
    designs = {seed: cells(seed, n_units=12 + seed, n_models=7 + seed % 4) for seed in range(1, 4)}
    pd.concat([frame.assign(set=seed) for seed, (frame, *_) in designs.items()]).to_csv(
        tmp_path / "cells.csv", index=False
    )
    script = Path(__file__).with_name("mixed_covariates_reference.R")
    in_r(script, tmp_path / "cells.csv", tmp_path / "fits.csv")
    fits = pd.read_csv(tmp_path / "fits.csv")
    for seed, (frame, sizes, families) in designs.items():
        theirs = fits[fits["set"] == seed].set_index("name")
        fitted = fit_covariates(frame, sizes, families, reference="k0")
        for name, own in zip(("size", "", "size:methodk1"), numbers(fitted), strict=True):
            if name:
                value, error, degrees = theirs.loc[name, ["value", "se", "df"]].to_numpy(dtype=float)
                assert own == pytest.approx(
                    (value, error, min(max(1.0, degrees), len(sizes) - 2.0)), rel=5e-3, abs=1e-4
                ), (seed, name)


@pytest.mark.ci
def test_slopes_of_thirty_designs_are_those_that_lme4_gave() -> None:
    """lme4 1.1-31 and lmerTest 3.1-3 by the script beside this file; of two starts, the lower criterion."""
    fits = pd.read_csv(Path(__file__).with_name("mixed_covariates_lme4.csv"))
    for seed, theirs in fits.groupby("set"):
        frame, sizes, families = design(int(str(seed)))
        slope, _, difference = numbers(fit_covariates(frame, sizes, families, reference="k0"))
        for own, (value, error, degrees) in zip(
            (slope, difference), theirs[["value", "se", "df"]].to_numpy(), strict=True
        ):
            most = min(max(1.0, degrees), len(sizes) - 2.0)
            assert own == pytest.approx((value, error, most), rel=1e-3, abs=1e-5), seed


@pytest.mark.ci
def test_families_with_correlated_slopes_of_single_answers_are_those_of_glmer() -> None:
    """Five of the thirty designs in the file, lme4 1.1-31 by the script beside it; docs/validation.md has all."""
    fits = pd.read_csv(Path(__file__).with_name("by_family_lme4.csv"))
    for seed in (4, 12, 16, 24, 27):
        frame, theirs = design(seed)[0], fits[fits["set"] == seed]
        answers = frame.assign(value=(frame["value"] > frame["value"].median()).astype(int))
        fitted = np.array(numbers(fit_by_family(answers, reference="k0", logistic=True)))
        assert np.abs(fitted[:, 0] - theirs["value"]).max() < 0.001 * theirs["se"].min(), seed
        assert fitted[:, 1] == pytest.approx(theirs["se"].to_numpy(), rel=0.01), seed


def design(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return one of thirty designs of 12 to 20 units and 7 to 11 models."""
    return cells(seed, n_units=12 + seed % 9, n_models=7 + seed % 5)


def test_too_few_models_have_no_slope() -> None:
    frame, sizes, families = cells(0, n_models=3)
    with pytest.raises(BankError, match="size of 3 models; a slope needs 6"):
        fit_covariates(frame, sizes, families)
