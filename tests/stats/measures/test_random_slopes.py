"""Random slopes by REML: the numbers of lme4 and lmerTest, on data that anybody can draw again."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from in_r import in_r
from nulls.designs import CODED
from pairbank.errors import BankError
from pairbank.stats.measures.random_slopes import Grouping, fit_maximal, fit_slopes

SCRIPT = """
suppressMessages(library(lmerTest))
options(digits = 12)
for (file in c("0.csv", "1.csv", "2.csv")) for (bar in c("|", "||")) {
  d <- read.csv(file)
  f <- as.formula(sprintf("y ~ s * d + (1 + s * d %s p) + (1 + s * d %s i)", bar, bar))
  m <- suppressMessages(suppressWarnings(lmer(f, d, control = lmerControl(optimizer = "bobyqa"))))
  cat(REMLcrit(m), coef(summary(m))[4, 1:3], "\\n")
}
"""


def drawn(
    seed: int = 0, *, n_raters: int = 20, n_sets: int = 10, slopes: tuple[float, ...] = (1.0, 1.0, 1.0)
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    by_rater, by_set = rng.normal(0, 0.5, (n_raters, 4)), rng.normal(0, 0.6, (n_sets, 4))
    by_rater[:, 1:], by_set[:, 1:] = by_rater[:, 1:] * slopes, by_set[:, 1:] * slopes
    rows = [
        (p, i, c, CODED[c] @ (np.array([0, 1, 1, -0.5]) + by_rater[p] + by_set[i]) + rng.normal(0, 0.5))
        for p in range(n_raters) for i in range(n_sets) for c in range(4) if (p + i + c) % 2
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["p", "i", "cell", "y"])
    return table.assign(s=CODED[table["cell"], 1], d=CODED[table["cell"], 2])


def groupings(data: pd.DataFrame, *, correlated: bool = True) -> list[Grouping]:
    columns = CODED[data["cell"]]
    terms = ("1", "s", "d", "s:d")
    return [
        Grouping(name=name, codes=data[name].to_numpy(), columns=columns, terms=terms, correlated=correlated)
        for name in ("p", "i")
    ]


@pytest.mark.ci
def test_estimates_errors_and_degrees_of_freedom_are_those_of_lme4(tmp_path: Path) -> None:
    tables = [drawn(), *(drawn(seed, slopes=(0.0, 0.1, 0.3)) for seed in (1, 2))]  # slopes that vary little
    for nth, data in enumerate(tables):
        data.to_csv(tmp_path / f"{nth}.csv", index=False)
    lines = in_r("-e", SCRIPT, cwd=tmp_path).splitlines()
    above_lme4 = []
    for line, (data, correlated) in zip(lines, itertools.product(tables, (True, False)), strict=True):
        fit = fit_slopes(data["y"].to_numpy(), CODED[data["cell"]], groupings(data, correlated=correlated))
        expected = [float(x) for x in line.split()]
        above_lme4.append(fit.deviance - expected[0])
        assert above_lme4[-1] <= 1e-3  # bobyqa may stop short of the optimum
        if above_lme4[-1] > -1e-3:
            assert fit.contrast(np.array([0, 0, 0, 1.0]))[:2] == pytest.approx(expected[1:3], rel=2e-3)
            assert (fit.parameters < 1e-3).any() or fit.contrast(np.array([0, 0, 0, 1.0]))[2] == pytest.approx(
                expected[3], rel=5e-3
            )
    assert above_lme4[-1] == pytest.approx(0, abs=1e-3)


def test_a_variance_of_zero_is_no_trap_for_the_optimum() -> None:
    """The slope by a standard deviation of 0 is 0 whatever it is; the optimum is left where a variance would rise."""
    data = drawn(3)
    fit = fit_slopes(data["y"].to_numpy(), CODED[data["cell"]], groupings(data, correlated=False))
    assert (fit.parameters > 0.5).all(), "all are about 1 by design"


def test_balanced_scores_by_item_set_give_the_paired_t_test() -> None:
    from scipy.stats import ttest_1samp

    from pairbank.stats.measures.designs import of_item_sets

    values = np.random.default_rng(1).normal(0, 1, (12, 4)) + np.array([3, 2, 2, 0])
    weights = np.array([-1.0, 1.0, 1.0, -1.0])
    tested, expected = of_item_sets(values, weights), ttest_1samp(values @ weights, 0)
    assert tested.p == pytest.approx(expected.pvalue)
    assert (tested.estimate.low, tested.estimate.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_more_effects_than_observations_are_refused_and_the_maximal_model_has_fewer_slopes() -> None:
    data = drawn(n_raters=4, n_sets=16)
    once = data.drop_duplicates(["i", "cell"])[["p", "i", "cell", "y"]].reset_index(drop=True)
    with pytest.raises(BankError, match=r"\(1 \+ s \+ d \+ s:d \| i\) has 64 effects for 64 observations"):
        fit_slopes(once["y"].to_numpy(), CODED[once["cell"]], groupings(once))
    fit = fit_maximal(once["y"].to_numpy(), CODED[once["cell"]], groupings(once))
    assert "s:d | i" not in fit.formula


def test_models_effects_are_those_of_lme4s_maximal_model_by_item_set() -> None:
    """`lmer(y ~ s * d + (1 + s * d | item))`, the checks of the number of observations left out."""
    from pairbank.stats.measures.designs import effects_of, of_item_sets

    scores = np.array([
        [-1.43, -1.055, -0.77, 0.698],
        [-0.847, 0.532, -0.32, 1.275],
        [-2.572, -1.051, -0.646, 0.984],
        [0.159, 1.631, 1.763, 2.707],
        [-0.757, 0.716, -0.26, 1.951],
        [-1.251, -0.52, -1.934, 0.037],
        [-0.205, 0.124, 0.435, 2.313],
        [0.532, 0.516, 1.246, 1.367],
    ])  # fmt: skip
    effects = effects_of({"s": ["low", "high"], "d": ["low", "high"]})
    lme4 = {"s": (-1.020250, 0.21616001), "d": (-1.192625, 0.19187020), "s:d": (-0.569250, 0.24784859)}
    for effect in effects:
        tested = of_item_sets(scores, effect.weights)
        value, error = lme4[effect.term]
        reach = 2.364624 * error  # t of 7 degrees of freedom
        assert tested.degrees == 7
        estimate = tested.estimate
        assert (estimate.value, estimate.low) == pytest.approx((value, value - reach), abs=1e-5)
