"""The analysis of designs: what it says of people and models, and how often it claims an interaction wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from nulls.designs import FACTS, LEVELS, Experiment
from pairbank.errors import BankError
from pairbank.stats import summarise
from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.analyses.design import design
from rated_tables import rated_table

DD = "structure:distance"


def interaction(section: Section, model: str = "human") -> pd.DataFrame:
    effects = section.tables["effects"]
    return effects[(effects["term"] == DD) & (effects["model"] == model)]


def test_the_difference_of_differences_is_that_of_the_cell_means() -> None:
    table, ratings = Experiment(interaction=2.0).drawn(0)
    section = design([table], Context(ratings=(ratings,)), raw=True)
    frame = table.frame[table.frame["type"] != "filler"]
    means = frame.groupby(["structure", "distance"])["direct_good"].mean()
    expected = (means["non-island", "long"] - means["island", "long"]) - (
        means["non-island", "short"] - means["island", "short"]
    )
    (row,) = interaction(section, "m").to_dict("records")
    assert row["value"] == pytest.approx(expected)
    assert row["raw"] == pytest.approx(expected)
    (people,) = interaction(section).to_dict("records")
    assert people["value"] == pytest.approx(2.0, abs=1.0)
    assert (people["n_raters"], people["n_item_sets"], people["unit"]) == (24, 8, "likert7")
    assert "| participant) + (1 + structure" in people["model_of_effects"]
    said = f"people {people['value']:.2f} [{people['low']:.2f}, {people['high']:.2f}] (p < .001). `direct` of m: "
    assert said in section.answer


def test_item_sets_without_a_condition_are_not_in_the_n_of_models() -> None:
    table, ratings = Experiment(uneven=True).drawn(0)
    section = design([table], Context(ratings=(ratings,)))
    assert interaction(section, "m")["n_item_sets"].tolist() == [6]
    assert interaction(section)["n_item_sets"].tolist() == [8]
    (row,) = section.tables["interactions"].to_dict("records")
    assert row["m, direct"].endswith(" (n = 6)")
    assert section.footnotes[1].endswith("without a score in some condition: 3 (island, long) and 7 (island, long).")


def test_a_report_groups_single_sentences_by_the_conditions_of_their_design() -> None:
    table, _ = Experiment().drawn(0)
    table.frame["human_good"] = table.frame["direct_good"] * 0.5 + np.arange(len(table.frame)) % 3
    summary = summarise(table.frame, table.layouts, model="m", signature=table.signature)
    by_condition = summary[summary["group_by"] == "condition"].set_index(["group", "metric"])["value"]
    cells = table.frame[table.frame["type"] != "filler"].groupby(["structure", "distance"], sort=False)
    assert [*by_condition.index.unique("group")] == [f"{s}, {d}" for s in LEVELS[0] for d in LEVELS[1]]
    for levels, rows in cells:
        of_cell = by_condition[", ".join(map(str, levels))]
        assert of_cell["mean_rating"] == pytest.approx(rows["human_good"].mean())
        assert of_cell["mean_logprob"] == pytest.approx(rows["direct_good"].mean())
        assert of_cell["pearson_human_sentence"] == pytest.approx(rows["human_good"].corr(rows["direct_good"]))
    plain = table.frame.assign(condition=table.frame["structure"])
    groups = summarise(plain, table.layouts, model="m")
    assert {*groups.loc[groups["group_by"] == "condition", "group"]} >= {*LEVELS[0]}


def test_ratings_are_z_scores_within_participants_over_fillers_too() -> None:
    table, ratings = Experiment().drawn(1)
    scaled = ratings.assign(value=ratings["value"] * (1 + ratings["rater"] % 3) + ratings["rater"])
    sections = [design([table], Context(ratings=(one,))) for one in (ratings, scaled)]
    first, second = (section.tables["cells"]["value"].to_numpy() for section in sections)
    np.testing.assert_allclose(first, second, atol=1e-4)
    without = ratings[~ratings["item_id"].str.startswith("filler")]
    third = design([table], Context(ratings=(without,))).tables["cells"]["value"].to_numpy()
    assert np.abs(first - third).max() > 0.05


def test_several_designs_are_corrected_together_and_correlated_with_people() -> None:
    table, ratings = Experiment(types=("whether", "np", "subject", "adjunct")).drawn(2)
    section = design([table], Context(ratings=(ratings,)))
    people = interaction(section)
    assert people["design"].tolist() == ["adjunct", "np", "subject", "whether"]
    assert (people["p_holm"] >= people["p"]).all()
    (r,) = section.tables["with_people"].to_dict("records")
    both = np.corrcoef(people["value"], interaction(section, "m")["value"])[0, 1]
    assert (r["n"], r["value"]) == (4, pytest.approx(both))
    assert "over 4 interactions" in section.text
    n = int((people["p_holm"] < 0.05).sum())
    assert f"- People: significant in {n} of 4 (" in section.text


def test_mean_ratings_are_analysed_where_there_are_no_individual_ones() -> None:
    table, ratings = Experiment().drawn(3)
    means = ratings.groupby("item_id")["value"].mean()
    rated = replace(table, frame=table.frame.assign(human_good=table.frame["item_id"].map(means)))
    (row,) = interaction(design([rated], Context())).to_dict("records")
    assert (row["method"], row["model_of_effects"]) == ("mean ratings", "t over item sets")


def test_pairs_are_a_design_of_one_factor() -> None:
    section = design([rated_table(40, seed=0, model="m")], Context())
    effects = section.tables["effects"]
    assert set(effects["term"]) == {"side"}
    assert "good - bad" in set(effects["contrast"])


def test_ordered_conditions_are_compared_each_with_the_next() -> None:
    table, ratings = Experiment().drawn(4)
    facts = FACTS | {"factors": [{"column": "order", "levels": ["a", "b", "c", "d"]}]}
    order = table.frame["structure"].map({"non-island": 0, "island": 2}) + table.frame["distance"].map(
        {"short": 0, "long": 1}
    )
    frame = table.frame.assign(order=order.map(dict(enumerate("abcd"))))
    one = replace(table, frame=frame, signature={"corpus": {"manifest": {"facts": {"design": facts}}}})
    effects = design([one], Context(ratings=(ratings,))).tables["effects"]
    assert effects.loc[effects["model"] == "human", "contrast"].tolist() == ["a - b", "b - c", "c - d"]


def test_fillers_need_no_value_in_the_columns_that_tell_designs_apart() -> None:
    table, ratings = Experiment().drawn(5)
    frame = table.frame.assign(kind=table.frame["type"].where(table.frame["type"] != "filler"))
    facts = {"design": FACTS | {"by": ["kind"]}}
    one = replace(table, frame=frame, signature={"corpus": {"manifest": {"facts": facts}}})
    assert set(design([one], Context(ratings=(ratings,))).tables["effects"]["design"]) == {"whether"}


def test_tables_without_scored_sentences_are_refused_with_what_to_do() -> None:
    table, _ = Experiment().drawn(0)
    with pytest.raises(BankError, match=r"declare \[design\] in the map of your table"):
        design([replace(table, layouts=())], Context())
