"""Participants: baselines held to a hand count, verdicts and their nulls, base against instruct by family."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from nulls.participants import sessions
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.participants import OTHERS, OWN, baselines, majority_accuracy, participants
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures
from rated_tables import keyed


def frames(gains: dict[str, float]) -> list[ScoredFrame]:
    return [
        ScoredFrame(corpus="mine", model=str(name), layouts=(), frame=rows)
        for name, rows in sessions(gains).groupby("model", sort=False)
    ]


def test_baselines_are_those_of_a_hand_count() -> None:
    rows = pd.DataFrame(
        {"scale": "s", "rater": [0, 0, 0, 1, 2], "trial": [1, 2, 3, 1, 1], "item_id": list("abcaa"), "side": "good"}
        | {"value": [1.0, 1, 2, 1, 2], "option": [0, 0, 1, 0, 1], "n_options": 2}
    )
    known = baselines(rows)
    assert np.exp(known[OWN]).tolist() == pytest.approx([1 / 2, 2 / 3, 1 / 4, 1 / 2, 1 / 2])
    assert np.exp(known[OTHERS]).tolist() == pytest.approx([2 / 4, 1 / 2, 1 / 2, 2 / 4, 1 / 4])
    assert majority_accuracy(rows) == pytest.approx((0.5 + 0.5 + 0.0) / 3)  # the three answers to a; ties are shared


def test_a_model_is_set_beside_each_baseline_and_pairs_by_family() -> None:
    gains = {f"{family}-{kind}": gain for family in "abc" for kind, gain in (("base", 0.4), ("chat", 0.1))}
    features = {
        name: ModelFeatures(
            family=name[0], generation="1", size_billions=1, type="base" if "base" in name else "instruct"
        )
        for name in gains
    }
    section = participants(frames(gains), Context(features=features))
    rows = keyed(section.tables["contrasts"], "model", "versus")
    assert rows["a-base", OTHERS]["value"] == pytest.approx(0.4, abs=0.03)
    assert rows["a-base", OTHERS]["p_holm"] < 0.05
    assert "than the same model without the session 6." in section.answer
    assert (
        "Base models predict participants better than the instruction-tuned models made of them: -0.30"
        in section.answer
    )
    assert "cut at trials: 1 participant, of whom 34 responses were predicted" in section.text
    two = participants(
        frames({name: gain for name, gain in gains.items() if name[0] != "c"}), Context(features=features)
    )
    assert "No claim about instruction tuning in other families: 2 of the 3 families" in two.answer


def test_other_tables_are_refused() -> None:
    with pytest.raises(BankError, match="no columns alone_nats, item_id"):
        participants([ScoredFrame(corpus="c", model="m", layouts=(), frame=pd.DataFrame({"rater": [1]}))])
    [table] = frames({"m": 0.0})
    twice = replace(table, frame=pd.concat([table.frame, table.frame]))
    with pytest.raises(BankError, match="m: two responses of one participant and trial"):
        participants([twice])


def test_few_participants_are_said_and_random_weights_are_apart_in_a_report_of_a_study() -> None:
    gains = {"a-base": 0.4, "a-chat": 0.1, "random-a": 0.0}
    base = ModelFeatures(family="a", generation="1", size_billions=1, type="base")
    features = {"a-base": base, "a-chat": replace(base, type="instruct")}
    rows = sessions(gains)
    responses = {str(name): of_model for name, of_model in rows[rows["rater"] < 4].groupby("model")}
    *models, null = frames(gains)  # of a study: scored tables
    answer = participants(models, Context(features=features, responses=responses, nulls=[null])).answer
    assert "Models that predict responses better (of 2): than chance 2," in answer
    assert "random-a: inconclusive against the same model without the session" in answer
    assert "No claim about instruction tuning in other families: 4 of the 10 participants that are needed." in answer
    assert "undefined" not in answer
