"""The section on test suites: accuracy, margins and differences of differences of numbers that are known."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.form import Words
from pairbank.stats.analyses.suites import section as suites_module
from pairbank.stats.analyses.suites.results import model_rows
from pairbank.stats.analyses.suites.section import suites as section
from pairbank.stats.estimates import bootstrap
from pairbank.stats.estimates.bootstrap import LEAST_PARADIGMS, wider
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import direct

LAYOUT = direct("regions")
GARDEN_PATH = "[(2;%amb_no%) > (2;%amb_comma%)] & [[(2;%amb_no%) - (2;%amb_comma%)] > [(2;%un_no%) - (2;%un_comma%)]]"
CONTROL = "(1;%amb_no%) = (1;%amb_comma%)"
CONDITIONS = ("amb_no", "amb_comma", "un_no", "un_comma")


def table(bits: np.ndarray, *, model: str = "m", formulas: tuple[str, ...] = (GARDEN_PATH, CONTROL)) -> ScoredFrame:
    """Items in four conditions of two regions; `bits` are the surprisals of the second, shape (items, conditions)."""
    rows = [
        {
            "item_id": f"own/{item}-{condition}",
            "subset": "garden",
            "phenomenon": "garden_path_effects",
            "item_number": item,
            "condition": condition,
            "formulas": json.dumps(formulas),
            "regions_by_region": [-2 * np.log(2), -bits[item, place] * np.log(2)],
            "regions_flags": [],
        }
        for item in range(len(bits))
        for place, condition in enumerate(CONDITIONS)
    ]
    return ScoredFrame(corpus="own", model=model, frame=pd.DataFrame(rows), layouts=(LAYOUT,))


def made(*tables: ScoredFrame) -> Section:
    return section(list(tables))


def test_an_item_counts_where_all_comparisons_hold_and_margins_are_in_bits() -> None:
    bits = np.array([[9.0, 4.0, 5.0, 4.0], [9.0, 4.0, 9.0, 3.0], [3.0, 4.0, 5.0, 4.0], [10.0, 4.0, 5.0, 4.0]])
    result = made(table(bits))
    [suite] = result.tables["suites"].to_dict("records")
    assert (suite["value"], suite["n"]) == (
        0.5,
        4,
    )  # the second fails in the difference of differences, the third in both
    assert suite["each_alone"] == pytest.approx((3 / 4 + 2 / 4) / 2)
    rows = result.tables["comparisons"].set_index("kind")
    assert rows.loc["difference", "value"] == pytest.approx((5 + 5 - 1 + 6) / 4)
    # margins 5 - 1, 5 - 6, -1 - 1, 6 - 1: mean 1.5, sd 3.512, t(3, .975) = 3.182: half width 5.588
    twofold = rows.loc["difference of differences"]
    assert twofold["value"] == pytest.approx(1.5)
    assert twofold["high"] - twofold["value"] == pytest.approx(5.588, abs=1e-3)
    assert rows.loc["control", "holds"] == 1
    assert result.tables["items"]["holds"].tolist() == [True, False, False, True]


def test_models_stand_side_by_side_and_the_answer_has_both() -> None:
    rng = np.random.default_rng(1)
    clear = np.array([9.0, 4.0, 4.0, 4.0]) + rng.normal(0, 0.5, (30, 4))
    chance = 5 + rng.normal(0, 0.5, (30, 4))
    result = made(table(clear, model="clear"), table(chance, model="chance"))
    assert "(chance) to 1.00 (clear)" in result.answer
    assert "- clear: 1 as predicted, 0 in the opposite direction" in result.answer
    assert list(result.tables["accuracy"].columns) == ["phenomenon", "suite", "clear", "chance"]
    for figure in result.figures:
        assert figure.draw().get_axes()


def test_from_four_suites_on_the_mean_has_an_interval_for_suites_like_these() -> None:
    shares = np.array([0.2, 0.9, 0.5, 0.6, 1.0, 0.4, 0.7, 0.8, 0.3, 0.6])
    suites = pd.DataFrame({"model": "m", "value": shares, "n": 20, "suite": [f"s{k}" for k in range(10)]})
    (row,) = model_rows(suites)
    (few,) = model_rows(suites.head(3))
    assert row["value"] == pytest.approx(0.6)
    # Wilson's interval by hand: of the items whose variance is that of the mean; t with 190 and 9 degrees of freedom
    for error, quantile, low, high in (
        (np.sqrt((shares * (1 - shares) / 19).sum()) / 10, 1.972528, "low", "high"),
        (shares.std(ddof=1) / np.sqrt(10), 2.262157, "low_paradigms", "high_paradigms"),
    ):
        n = 0.24 / error**2
        centre, scale = (0.6 + quantile**2 / (2 * n)), 1 + quantile**2 / n
        half = quantile * np.sqrt(0.24 / n + quantile**2 / (4 * n**2))
        assert (row[low], row[high]) == pytest.approx(((centre - half) / scale, (centre + half) / scale), abs=1e-4)
    assert np.isnan(few["low_paradigms"])
    assert f"in 0.60 [{row['low_paradigms']:.2f}, {row['high_paradigms']:.2f}] of its items" in answer_of(suites)
    assert f"Fewer than {LEAST_PARADIGMS} suites" in answer_of(suites.head(LEAST_PARADIGMS - 1))


def answer_of(suites: pd.DataFrame) -> str:
    values = {"means": wider(pd.DataFrame(model_rows(suites))), "suites": suites, "twofold": pd.DataFrame()}
    template = Path(suites_module.__file__).with_name("suites.md.j2")
    return Words(template, values | {"bootstrap": bootstrap})["answer"]


def test_items_that_lack_a_condition_are_left_out_and_counted() -> None:
    whole = table(np.tile([9.0, 4.0, 5.0, 4.0], (5, 1)))
    part = ScoredFrame(corpus="own", model="m", frame=whole.frame.iloc[:-1], layouts=(LAYOUT,))
    [suite] = made(part).tables["suites"].to_dict("records")
    assert (suite["n"], suite["left_out"]) == (4, 1)


def test_tables_without_regions_and_formulas_without_their_conditions_are_refused() -> None:
    other = ScoredFrame(corpus="own", model="m", frame=pd.DataFrame({"item_id": ["a"]}), layouts=())
    with pytest.raises(BankError, match="no table was scored with the method regions"):
        made(other)
    with pytest.raises(BankError, match="has no region 9, which its formula names of 'amb_no'; it has 2"):
        made(table(np.ones((3, 4)), formulas=("(9;%amb_no%) > 0",)))
    with pytest.raises(BankError, match="no item of own has every condition that its suite compares; a limit counts"):
        made(table(np.ones((3, 4)), formulas=("(2;%absent%) > 0",)))
