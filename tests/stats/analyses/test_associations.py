"""The section of partial and within-model correlations and of predictors of ratings."""

from dataclasses import replace

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.associations import associations as section
from pairbank.stats.measures.associations import partial_correlation
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import keyed, rated_table


def with_tokens(table: ScoredFrame) -> ScoredFrame:
    rng = np.random.default_rng(11)
    n = len(table.frame)
    return replace(table, frame=table.frame.assign(direct_good_n=rng.integers(4, 9, n), direct_bad_n=5))


def models(n: int = 3) -> list[ScoredFrame]:
    return [with_tokens(rated_table(seed=seed, model=f"m{seed}")) for seed in range(n)]


def test_every_table_has_its_numbers_with_n_and_interval() -> None:
    result = section(models())
    assert set(result.tables) == {
        "answers_given_other_models",
        "people_given_length",
        "within_models",
        "predictors_of_ratings",
    }
    others = keyed(result.tables["answers_given_other_models"], "model", "method")
    tables = [x.frame.iloc[1:] for x in models()]
    expected = partial_correlation(
        tables[0]["direct_delta"],
        tables[0]["meta_delta"],
        np.column_stack([tables[1]["direct_delta"], tables[2]["direct_delta"]]),
    )
    row = others["m0", "meta"]
    assert (row["value"], row["low"], row["n"]) == (expected.value, expected.low, 199)
    assert row["given"] == "direct of 2 other models"
    assert result.tables["within_models"]["n"].tolist() == [199]


def test_a_model_without_log_probabilities_does_not_take_away_the_reference_of_the_others() -> None:
    def elsewhere(table: ScoredFrame) -> ScoredFrame:
        frame = table.frame.rename(columns=lambda name: name.replace("direct_", "logprob_minicons_"))
        layouts = [replace(x, method=x.method.replace("direct", "logprob_minicons")) for x in table.layouts]
        return replace(table, frame=frame, layouts=tuple(layouts))

    *others, last = models(4)
    asked = replace(last, layouts=tuple(layout for layout in last.layouts if layout.is_prompted))
    expected = section(others).tables["within_models"].iloc[0]
    row = section([*map(elsewhere, others), asked]).tables["within_models"].iloc[0]
    assert (row["versus"], row["value"], row["n"]) == ("logprob_minicons", expected["value"], expected["n"])


def test_parts_of_r_squared_sum_to_it_and_the_text_says_them() -> None:
    result = section(models(1))
    part = result.tables["predictors_of_ratings"]
    assert part["predictor"].tolist() == ["direct", "mean", "length", "meta"]
    assert part["importance"].sum() == pytest.approx(part["r2"].iloc[0], abs=1e-12)
    adjusted = 1 - (1 - part["r2"].iloc[0]) * 198 / 194
    assert part["r2_adjusted"].iloc[0] == pytest.approx(adjusted, abs=1e-12)
    said = (
        f"{adjusted:.1%} of the variance of people's differences is predicted, corrected for the number of predictors"
    )
    assert f"{said} (4 predictors, 199 items). Parts of R^2 = {part['r2'].iloc[0]:.3f}: " in result.text
    assert "answers_given_other_models" not in result.tables


def test_a_column_can_be_given_and_one_that_is_not_there_is_told() -> None:
    result = section(models(1), given=("cosine_distance",))
    assert set(result.tables["people_given_length"]["given"]) == {"length, cosine_distance"}
    with pytest.raises(BankError, match="no table has a column 'colour'"):
        section(models(1), given=("colour",))


def test_tables_without_ratings_or_other_models_are_refused() -> None:
    table = rated_table()
    bare = replace(table, frame=table.frame.assign(human_good=np.nan))
    with pytest.raises(BankError, match="has 20 items with ratings"):
        section([bare])
