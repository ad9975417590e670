"""The section on items: suspects, what people say of them, known errors, and what it refuses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nulls.items import Design, made
from pairbank.errors import BankError
from pairbank.stats.analyses.baselines import with_and_without
from pairbank.stats.analyses.items import items as section
from pairbank.stats.report.checks import Facts, sentences
from pairbank.stats.scored_table.method_scores import ScoredFrame
from scored_frames import scored_frame


def tables(n_models: int = 60, *, faulty: int = 0, people: bool = False) -> list[ScoredFrame]:
    """Models on 200 items in 20 paradigms, 8 of them reversed; the first `faulty` items are known errors."""
    data = made(np.random.default_rng(7), Design(n_models=n_models, n_paradigms=20, n_each=10, reversed_share=0.04))
    flags = [["known_error"] if nth < faulty else [] for nth in range(200)]
    facts: dict[str, Any] = {"paradigm": np.repeat([f"p{nth:02d}" for nth in range(20)], 10), "flags": flags}
    if people:
        facts |= {"human_good": np.where(data.discrimination < 0, 0.0, 2.0), "human_bad": 1.0}
    return [
        replace(one, frame=one.frame.assign(**facts))
        for one in (scored_frame(f"m{nth:02d}", data.credit[:, nth] - 0.5, {}) for nth in range(n_models))
    ]


def test_suspects_are_named_with_their_curves_and_what_people_say() -> None:
    result = section(tables(people=True))
    items, suspects = result.tables["items"], result.tables["suspects"]
    assert len(items) == 200
    assert 3 <= len(suspects) <= 8
    assert (suspects["human_delta"] < 0).all()
    assert (suspects["discrimination_high"] < 0.5).all()
    assert f"{len(suspects)} items discriminate negatively" in result.answer
    assert "People prefer the other side in 100% of them" in result.answer
    assert items["accuracy"].between(0, 1).all()
    groups = result.tables["groups"]
    assert groups["n"].tolist() == [10] * 20
    assert groups["suspects"].sum() == len(suspects)
    assert result.tables["models"]["ability"].is_monotonic_decreasing
    assert [figure.name for figure in result.figures] == ["items_toy_direct"]
    result.figures[0].draw()


def test_too_few_models_are_refused_with_the_number_needed() -> None:
    with pytest.raises(BankError, match=r"`direct` on toy: 11 models on 200 items; expected at least 12 models"):
        section(tables(11))


def test_known_errors_are_shown_with_few_models_too() -> None:
    result = section(tables(3, faulty=20))
    assert "Inconclusive: `direct` on toy: 3 models" in result.answer
    assert result.main_table == "known_errors"
    assert len(result.tables["known_errors"]) == 3


def known_errors(scored: list[ScoredFrame]) -> tuple[str, ...]:
    none = pd.DataFrame()
    return sentences(Facts(tables=scored, summary=none, own=none, labels={}, layouts={}), "note")


def test_accuracy_is_given_with_and_without_known_errors() -> None:
    scored = tables(13, faulty=30)
    result = with_and_without(scored).set_index("model")
    for table in scored:
        right = table.frame["direct_delta"] > 0
        row = result.loc[table.model]
        assert (row["n"], row["n_known_errors"]) == (200, 30)
        assert row["accuracy_with"] == pytest.approx(right.mean(), abs=1e-12)
        assert row["accuracy_without"] == pytest.approx(right[30:].mean(), abs=1e-12)
        assert row["difference"] == pytest.approx(right[30:].mean() - right.mean(), abs=1e-12)
        assert row["low_with"] < row["accuracy_with"] < row["high_with"]
    (note,) = known_errors(scored)
    assert note.startswith(
        "**toy** has 30 items with a known error (flag `known_error`). Without them accuracy changes"
    )
    assert section(scored).tables["items"]["known_error"].sum() == 30


def test_no_known_errors_no_note() -> None:
    assert known_errors(tables(2)) == ()
    assert with_and_without(tables(2)).empty


def test_models_that_lack_items_are_fitted_on_what_they_have() -> None:
    scored = tables(20)
    scored[0] = replace(scored[0], frame=scored[0].frame.iloc[:120])
    items = section(scored).tables["items"]
    assert set(items["n_models"]) == {19, 20}


def test_the_order_of_rows_changes_nothing() -> None:
    scored = tables(13)
    turned = [replace(one, frame=one.frame.iloc[::-1]) for one in scored]
    pd.testing.assert_frame_equal(section(scored).tables["items"], section(turned).tables["items"])
