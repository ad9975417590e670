"""A model's agreement with itself: alpha by hand, position bias as contradiction, samples, and coverage."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.self_agreement import self_agreement
from pairbank.stats.measures.raters import alpha_of_counts
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import META, always_first, keyed, rated_table, rating


def test_alpha_is_one_for_a_model_that_always_agrees_and_below_zero_under_position_bias() -> None:
    biased, other = always_first(rated_table(60, model="biased")), rated_table(60, seed=1, model="other")
    copy = replace(META, method="copy")
    names = {f"copy_{end}": biased.frame[f"meta_{end}"] for end in ("good", "bad", "delta", "logprobs")}
    biased = replace(biased, frame=biased.frame.assign(**names), layouts=(*biased.layouts, copy))
    section = self_agreement([biased, other])
    rows = keyed(section.tables["agreement"], "raters", "model", "method")
    orders = rows["orders", "biased", "meta"]
    assert orders["same"] == 0.0
    assert orders["value"] == pytest.approx(-1, abs=0.05)
    assert rows["wordings", "biased", ""]["value"] == 1.0
    both = rows["models", "", "meta"]
    assert both["value"] == pytest.approx(2 * both["same"] - 1, abs=0.03)  # labels are drawn at random
    assert {row[0] for row in rows} == {"orders", "wordings", "models", "model and people"}
    assert "its answers to other wordings: 1.00" in section.answer


def test_sampled_answers_are_raters_of_each_presentation() -> None:
    layout = rating("drawn", 3, readout="generation", samples=3)
    table = rated_table(20)
    draws = [[1.0 + i % 3, 1.0 + i % 3, 1.0 + (i + 1) % 3, 2.0, 2.0, np.nan] for i in range(20)]
    frame = table.frame.assign(drawn_draws=pd.Series(draws), drawn_good=2.0, drawn_bad=1.0 + np.arange(20) % 2)
    frame["drawn_delta"] = frame["drawn_good"] - frame["drawn_bad"]
    section = self_agreement([ScoredFrame(corpus="toy", model="m", frame=frame, layouts=(layout,))])
    row = keyed(section.tables["agreement"], "raters")[("sampled answers",)]
    kept = np.array(draws[1:])  # the sides of the first item are identical
    units = np.concatenate([kept[:, :3], kept[:, 3:]])
    counts = np.stack([(units == x).sum(axis=1) for x in (1, 2, 3)], axis=1).astype(float)
    assert row["value"] == pytest.approx(alpha_of_counts(counts, np.array([1.0, 2, 3]), scale="interval").value)
    assert (row["n_raters"], row["n"]) == (3, 38)


def test_a_table_without_two_answers_says_what_to_score() -> None:
    table = rated_table(20)
    alone = replace(table, layouts=table.layouts[:1])
    with pytest.raises(BankError, match="no model of \\['toy'\\] has two wordings, two orders or sampled answers"):
        self_agreement([alone])
