"""Introspection from answers alone: by hand, with and without access, and tables that are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from nulls.self_prediction import predictions
from pairbank.errors import BankError
from pairbank.stats.analyses.self_prediction import crossed, self_prediction
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import keyed


def table(rows: pd.DataFrame) -> list[ScoredFrame]:
    return [ScoredFrame(corpus="mine", model="mine", frame=rows.drop(columns="right"), layouts=())]


def test_accuracies_and_access_are_those_of_a_hand_count() -> None:
    rows = predictions((1,) * 60, 3, np.random.default_rng(3))
    section = self_prediction(table(rows))
    row = keyed(section.tables["models"], "model")[("m0",)]
    about = {name: part["right"].mean() for name, part in rows[rows["target"] == "m0"].groupby("predictor")}
    assert row["value"] == pytest.approx(about["m0"])
    assert row["others"] == pytest.approx((about["m1"] + about["m2"]) / 2)
    right = {key: part.set_index("item")["right"] for key, part in rows.groupby(["predictor", "target"])}
    said = {name: part.drop_duplicates("item").set_index("item")["behaviour"] for name, part in rows.groupby("target")}
    alike = said["m0"] == said["m1"]
    gain = (right["m0", "m0"] - right["m1", "m0"] + right["m1", "m1"] - right["m0", "m1"])[alike].mean() / 2
    pair = keyed(section.tables["pairs"], "a", "b")["m0", "m1"]
    assert pair["value"] == pytest.approx(gain)
    assert pair["n"] == alike.sum()


def test_access_to_own_answers_is_claimed_where_there_is_some() -> None:
    answer = self_prediction(table(predictions((1,) * 300, 4, np.random.default_rng(4), access=0.4))).answer
    assert answer.startswith("These models have access to their own answers beyond what they share with others: +")


def test_wrong_tables_are_refused_with_what_is_expected() -> None:
    rows = predictions((1,) * 20, 2, np.random.default_rng(3))
    with pytest.raises(BankError, match="no columns prediction, behaviour; expected target, item"):
        self_prediction(table(rows.drop(columns=["prediction", "behaviour"])))
    with pytest.raises(BankError, match="m0 / 0 / m0: more than one prediction"):
        self_prediction(table(pd.concat([rows, rows.head(1)])))
    with pytest.raises(BankError, match="m0 / 0: more than one behaviour"):
        self_prediction(table(rows.assign(behaviour=np.where(rows.index == 0, "else", rows["behaviour"]))))
    with pytest.raises(BankError, match="m1: no prediction of itself"):
        self_prediction(table(rows[(rows["predictor"] != "m1") | (rows["target"] != "m1")]))
    few = [replace(one, frame=one.frame[one.frame["item"] < 5]) for one in table(rows)]
    assert "Self-access cannot be computed: no two models" in self_prediction(few).answer
    assert crossed(rows[rows["item"] < 5])[0] == []
