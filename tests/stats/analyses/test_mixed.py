"""The section of mixed models: what is said, from which units, and how often wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import mixedlm

from claims_nulls import crossed_cells, mixed_errors
from pairbank.errors import BankError
from pairbank.stats.analyses.mixed import section
from pairbank.stats.measures.mixed import mixed_numbers, mixed_shares
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, keyed, rated_table


def models(n_items: int = 120, *, paradigms: int = 12) -> list[ScoredFrame]:
    tables = [rated_table(n_items, seed=seed, model=f"m{seed}") for seed in range(2)]
    names = [f"p{i % paradigms:02d}" for i in range(n_items)]
    return [replace(x, frame=x.frame.assign(paradigm=names, phenomenon=[n[-1] for n in names])) for x in tables]


def test_the_linear_model_is_that_of_the_formula() -> None:
    cells = crossed_cells(30, 3, 2, np.random.default_rng(4), effect=0.5).drop(columns="phenomenon")
    found = keyed(pd.DataFrame([{"level": x.level, "e": x.estimate} for x in mixed_numbers(cells).effects]), "level")
    fit = mixedlm(
        "value ~ C(method) + C(model)",
        cells,
        groups="unit",
        re_formula="1",
        vc_formula={"method": "0 + C(method)", "model": "0 + C(model)"},
    ).fit(reml=True)
    for level, name in (("k1", "C(method)[T.k1]"), ("k2", "C(method)[T.k2]"), ("m1", "C(model)[T.m1]")):
        estimate = found[(level,)]["e"]
        assert estimate.value == pytest.approx(fit.params[name], abs=1e-4)
        assert (estimate.high - estimate.low) / 2 == pytest.approx(2.045 * fit.bse[name], rel=0.02)
    explained = np.var(fit.model.exog @ fit.fe_params)
    whole = explained + fit.cov_re.iloc[0, 0] + fit.vcomp.sum() + fit.scale
    made = mixed_numbers(cells)
    assert made.r_squared == pytest.approx(explained / whole, abs=1e-4)
    assert made.r_squared_with_units == pytest.approx(1 - fit.scale / whole, abs=1e-4)


def test_the_r_squared_of_shares_is_that_of_the_means_where_each_method_has_its_own() -> None:
    cells = crossed_cells(30, 3, 1, np.random.default_rng(4), effect=0.5, threshold=True).drop(columns="phenomenon")
    means = cells.groupby("method")["value"].transform("mean")
    left = ((cells["value"] - means) ** 2).sum() / ((cells["value"] - cells["value"].mean()) ** 2).sum()
    assert 0 < 1 - left == pytest.approx(mixed_shares(cells).r_squared, abs=1e-6)


@pytest.mark.ci
def test_every_outcome_has_an_r_squared_in_the_report() -> None:
    fit = section(models()).tables["fit"]
    assert fit["outcome"].tolist() == ["delta", "accuracy"]
    assert fit["r_squared"].between(0, 1).all()


@pytest.mark.ci
def test_paradigms_are_the_units_where_there_are_ten_and_the_text_says_so() -> None:
    found = section(models())
    effects = found.tables["effects"]
    assert set(effects["unit"]) == {"paradigm"}
    assert set(effects["n"]) == {12}
    assert "12 paradigms of 119 items as a sample" in found.text
    rows = keyed(effects, "outcome", "term", "level")
    assert rows["delta", "method", "meta"]["versus"] == "direct"
    assert set(effects["term"]) == {"method", "model"}, "each phenomenon has one paradigm here: it tells nothing"
    row = rows["delta", "method", "meta"]
    interval = f"{row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}] standard deviations"
    differ = int(row["p_holm"] < 0.05)
    said = f"delta: of 1 other methods, {differ} differ from `direct` at 0.05 (Holm); `meta` is furthest from it, by"
    assert f"{said} {interval}, Holm's p " in found.text


@pytest.mark.ci
def test_items_are_the_units_of_a_corpus_without_paradigms_and_as_many_as_asked_for_are_drawn() -> None:
    found = section(models(paradigms=2), max_items=40)
    assert set(found.tables["effects"]["unit"]) == {"item"}
    assert set(found.tables["effects"]["n"]) == {40}
    assert "40 items, drawn from 119 as a sample" in found.text
    again = section(models(paradigms=2), max_items=40)
    pd.testing.assert_frame_equal(found.tables["effects"], again.tables["effects"])


def test_what_cannot_be_fitted_has_a_reason_and_no_number() -> None:
    cells = crossed_cells(30, 3, 2, np.random.default_rng(4), threshold=True)
    cells.loc[cells["method"] == "k1", "value"] = 1.0
    found = mixed_shares(cells)
    assert found.reason
    assert all(np.isnan(x.estimate.value) and x.estimate.reason == found.reason for x in found.effects)


def test_one_method_of_one_model_is_refused() -> None:
    table = replace(models()[0], layouts=(DIRECT,))
    with pytest.raises(BankError, match="toy: nothing to compare"):
        section([table])


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["numbers", "shares"])
def test_nothing_is_seldom_said_where_there_is_nothing(kind: str) -> None:
    found = mixed_errors(kind, 20, 2, 2, n_items=4, n_runs=12, seed=3)
    assert found["fitted"] == 1
    assert found["coverage"] >= 0.75  # 3 of 12 wrong; at .05, more in 2 of 1,000
    # each said wrongly in 3 of 12 at most: at .05, more often in 2 of 1,000
    assert max(found["method"], found["model"], found["phenomenon"]) <= 0.25
