"""Mixed models with crossed random terms equal those of lme4 1.1-31."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from in_r import in_r
from pairbank.errors import BankError
from pairbank.stats.measures.random_slopes import Grouping, MixedFit, fit_slopes

FORMULAS = {
    "y~x+z+(1+x||s)+(1|w)+(1|t)": False,
    "y~x+z+(1+x|s)+(1|w)+(1|t)": True,
}
# logLik by ML and by REML, as lme4 1.1-31 gives them for `readers()`
LME4 = {False: (-1375.156797, -1386.326594), True: (-1374.981570, -1386.154562)}


def readers() -> pd.DataFrame:
    """Return 6,000 observations of 30 participants who read some of 300 words in 10 texts."""
    rng = np.random.default_rng(1)
    s, w = rng.integers(0, 30, 6000), rng.integers(0, 300, 6000)
    t, x, z = w // 30, rng.normal(size=300)[w], rng.normal(size=6000)
    y = 5.8 + 0.02 * x + 0.01 * z + rng.normal(0, 0.2, 30)[s] + rng.normal(0, 0.02, 30)[s] * x
    y = y + rng.normal(0, 0.05, 300)[w] + rng.normal(0, 0.04, 10)[t] + rng.normal(0, 0.3, 6000)
    return pd.DataFrame({"y": y, "x": x, "z": z, "s": s, "w": w, "t": t})


def fitted(data: pd.DataFrame, *, correlated: bool, reml: bool) -> MixedFit:
    x = np.column_stack([np.ones(len(data)), data["x"], data["z"]])
    subject = Grouping(name="s", codes=data["s"].to_numpy(), columns=x[:, :2], terms=("1", "x"), correlated=correlated)
    others = [Grouping(name=name, codes=data[name].to_numpy(), columns=x[:, :1], terms=("1",)) for name in ("w", "t")]
    return fit_slopes(data["y"].to_numpy(), x, [subject, *others], reml=reml)


@pytest.mark.ci
@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("reml", [False, True])
def test_the_likelihood_is_that_of_lme4(correlated: bool, reml: bool) -> None:
    fit = fitted(readers(), correlated=correlated, reml=reml)
    assert fit.deviance == pytest.approx(-2 * LME4[correlated][reml], abs=2e-4)


@pytest.mark.ci
def test_effects_errors_and_variances_are_those_of_lme4(tmp_path: Path) -> None:
    data = readers()
    data.to_csv(tmp_path / "d.csv", index=False)
    fits = "".join(
        f"m<-lmer({formula},d,REML={'TRUE' if reml else 'FALSE'});"
        "cat(c(fixef(m),sqrt(diag(as.matrix(vcov(m)))),sigma(m)^2),'\\n');"
        for formula in FORMULAS
        for reml in (False, True)
    )
    script = f"suppressMessages(library(lme4));options(digits=12);d<-read.csv('{tmp_path / 'd.csv'}');{fits}"
    expected = iter(in_r("-e", script).strip().splitlines())
    for correlated in FORMULAS.values():
        for reml in (False, True):
            fit = fitted(data, correlated=correlated, reml=reml)
            numbers = [*fit.effects, *np.sqrt(np.diag(fit.covariance)), fit.scale]
            assert numbers == pytest.approx([float(x) for x in next(expected).split()], rel=2e-3)


def test_redundant_predictors_are_an_error() -> None:
    data = readers().assign(z=lambda d: 2 * d["x"])
    with pytest.raises(BankError, match="redundant"):
        fitted(data, correlated=False, reml=False)
