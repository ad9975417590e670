"""Models against people: correlations, filters, bins, choices and the ceiling of a section."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pingouin.correlation import percbend
from scipy import stats

from pairbank.builders.ratings import FORCED_CHOICE
from pairbank.errors import BankError
from pairbank.scoring.minimalness import levenshtein
from pairbank.stats.analyses.people import CHOSEN, ceiling_of
from pairbank.stats.analyses.people import people as section
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.confusion import choice_counts
from pairbank.stats.measures.distance_bins import largest_distance_kept
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from rated_tables import keyed, rated_table


def changed(table: ScoredFrame, **columns: Any) -> ScoredFrame:  # noqa: ANN401
    return replace(table, frame=table.frame.assign(**columns))


@pytest.mark.upstream
def test_the_filter_finds_the_published_number_of_li_pairs(shared: Path) -> None:
    # Hu et al. 2026, Table 1a: 1,883 LI pairs. The quantile over the rated pairs is 18; at most 18 are 1,884 of all
    # 2,379 rows, one of them with identical sides.
    rows = pd.read_csv(shared / "corpora" / "li" / "LI_Large_pairs.csv")
    distance = np.array(
        [
            levenshtein(good, bad)
            for good, bad in zip(rows["sentence_grammatical"], rows["sentence_ungrammatical"], strict=True)
        ]
    )
    rated = (rows["LS_grammatical"] - rows["LS_ungrammatical"]).notna().to_numpy()
    limit = largest_distance_kept(distance[rated])
    assert (rated.sum(), limit) == (2275, 18.0)
    assert int((distance <= limit).sum()) - int((distance == 0).sum()) == 1883
    # the rule as worded, over the rated pairs
    assert int((distance[rated] < limit).sum()) == 1702


def test_the_correlation_is_that_of_scipy_over_rated_choices() -> None:
    table = rated_table()
    table.frame.loc[5:9, "human_bad"] = np.nan
    whole = section([table]).tables["correlation"]
    row = whole[(whole["method"] == "direct") & (whole["group_by"] == "all")].iloc[0]
    used = table.frame.drop(index=[0, *range(5, 10)])  # row 0 has identical sides
    expected = stats.pearsonr(used["direct_delta"], used["human_good"] - used["human_bad"])
    assert row["value"] == pytest.approx(expected.statistic, abs=1e-12)
    low, high = expected.confidence_interval(0.95)
    ours = pearson(used["direct_delta"], used["human_good"] - used["human_bad"])
    assert (row["low"], row["high"]) == pytest.approx((ours.low, ours.high), abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=0.01)  # normal data: near Fisher's
    assert (row["n"], row["n_excluded"], row["ci_method"]) == (194, 1, "jackknife-z")


def test_the_filter_and_the_bins_use_the_items_they_say() -> None:
    table = rated_table()
    result = section([table])
    used = table.frame.iloc[1:]
    human = used["human_good"] - used["human_bad"]
    limit = float(np.quantile(used["edit_distance"], 0.75))
    row = result.tables["correlation"].query("method == 'direct' and group.str.startswith('below')").iloc[0]
    close = used["edit_distance"] < limit
    assert row["value"] == pytest.approx(stats.pearsonr(used["direct_delta"][close], human[close]).statistic, abs=1e-12)
    assert (row["n"], row["group"]) == (close.sum(), f"below the 75th percentile ({limit:g})")
    bins = result.tables["by_bin"].query("method == 'direct' and group_by == 'cosine_distance'")
    assert bins["bin"].tolist() == list(range(1, 11))
    assert bins["n"].sum() == 199
    codes = pd.qcut(used["cosine_distance"], 10, labels=False)
    last = codes == 9
    assert bins["value"].iloc[-1] == pytest.approx(
        stats.pearsonr(used["direct_delta"][last], human[last]).statistic, abs=1e-12
    )


def test_few_subsets_are_compared_beside_the_whole() -> None:
    table = rated_table()
    half = changed(table, subset=np.where(np.arange(200) < 100, "adger", "inquiry"))
    result = section([half]).tables
    rows = keyed(result["correlation"].query("method == 'direct'"), "group_by", "group")
    assert set(rows) >= {("all", ""), ("subset", "adger"), ("subset", "inquiry")}
    used = table.frame.iloc[100:]
    expected = stats.pearsonr(used["direct_delta"], used["human_good"] - used["human_bad"]).statistic
    assert rows["subset", "inquiry"]["value"] == pytest.approx(expected, abs=1e-12)
    binned = set(result["by_bin"].groupby(["subset", "method"]).groups)
    assert binned == {("", "direct"), ("", "meta"), ("adger", "direct"), ("inquiry", "direct")}
    whole = section([table]).tables["correlation"]
    pd.testing.assert_series_equal(
        result["correlation"].query("group_by == 'all'")["value"], whole.query("group_by == 'all'")["value"],
        check_index=False,
    )  # fmt: skip
    many = changed(table, subset=[f"paradigm {i % 13}" for i in range(200)])
    assert "subset" not in set(section([many]).tables["correlation"]["group_by"])


def test_choices_are_counted_against_people() -> None:
    counts = choice_counts([1, 1, 1, -1, -1, 0, 2], [1, 1, -1, 1, -1, 1, 0])
    assert [*counts.values()] == [2, 1, 1, 1, 2]
    choices = section([rated_table()]).tables["choices"]
    kappa = choices.query("method == 'direct' and metric == 'kappa_human'").iloc[0]
    a, b, c, d = (kappa[x] for x in ("both_good", "only_method_good", "only_people_good", "both_bad"))
    # kappa of a 2 x 2 table by hand: 2 (ad - bc) / ((a + b)(b + d) + (a + c)(c + d))
    assert kappa["value"] == pytest.approx(2 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d)), abs=1e-12)


def test_a_ceiling_is_given_where_the_data_allow_one_and_else_the_reason() -> None:
    table = rated_table()
    for scale, reason in (("likert7", "the source gives mean ratings without their spread"), (FORCED_CHOICE, CHOSEN)):
        assert ceiling_of(read_table(changed(table, human_scale=scale)).choices).reason == reason
    spreads = {"human_sd_good": 1.0, "human_n_good": 8, "human_sd_bad": 1.0, "human_n_bad": 8}
    with_spread = changed(table, **spreads)
    result = ceiling_of(read_table(with_spread).choices)
    delta = (table.frame["human_good"] - table.frame["human_bad"]).iloc[1:]
    assert result.reliability == pytest.approx(1 - 0.25 / delta.var(), abs=1e-12)
    assert f"r could reach about {result.ceiling_r:.2f} (an estimate, n = 199)" in section([with_spread]).text


def test_many_models_are_said_with_the_ends_of_their_range() -> None:
    tables = [rated_table(seed=seed, model=f"m{seed}") for seed in range(3)]
    result = section(tables)
    whole = result.tables["correlation"].query("group_by == 'all' and method == 'direct'").sort_values("value")
    low, high = (f"{row['value']:.2f} ({row['model']})" for row in (whole.iloc[0], whole.iloc[-1]))
    assert f"- `direct`: r = {low} to {high}" in result.text
    assert "199 rated pairs, 3 models: smallest and largest r" in result.text
    middle = f"{whole['value'].median():.2f} (median of 3)"
    assert f"r = {middle}, {low} to {high} (n = 199 rated pairs)" in result.answer
    assert len(result.tables["r_with_people"]) == 3


def test_constant_differences_are_undefined_not_zero() -> None:
    result = section([changed(rated_table(), direct_delta=1.0)])
    row = result.tables["correlation"].query("method == 'direct' and group_by == 'all'").iloc[0]
    assert np.isnan(row["value"])
    assert row["reason"] == "the first values do not vary"
    assert "- `direct`: r is undefined" in result.text


def test_without_ratings_there_is_nothing_to_compare() -> None:
    with pytest.raises(BankError, match="none of \\['toy'\\] has 3 scored pairs that people rated"):
        section([changed(rated_table(), human_good=None)])


def test_a_filtered_corpus_is_filtered_in_every_number() -> None:
    table = rated_table()
    close = table.frame["edit_distance"] <= np.quantile(table.frame["edit_distance"], 0.75)
    result = section([table], filtered=("toy",))
    used = table.frame[close].iloc[1:] if close[0] else table.frame[close]
    expected = stats.pearsonr(used["direct_delta"], used["human_good"] - used["human_bad"]).statistic
    whole = result.tables["correlation"]
    assert set(whole["group_by"]) == {"all"}  # the filter is not applied twice
    assert whole.query("method == 'direct'")["value"].iloc[0] == pytest.approx(expected, abs=1e-12)
    for name in ("correlation", "choices"):
        assert set(result.tables[name]["n"] + result.tables[name].get("n_ties", 0)) == {len(used)}
    bins = result.tables["by_bin"].query("method == 'direct' and group_by == 'cosine_distance'")
    assert bins["n"].sum() == len(used)
    assert result.text.startswith("Of toy, the ")


def test_a_few_outliers_do_not_decide_the_robust_r() -> None:
    table = rated_table(120)
    frame = table.frame.assign(direct_delta=np.where(np.arange(120) < 2, [-60.0], table.frame["direct_delta"]))
    result = section([replace(table, frame=frame)])
    rows = keyed(result.tables["robust"].query("group_by == 'all'"), "method")
    used = frame[frame["human_good"].notna() & (frame["flags"].map(len) == 0)]
    people = used["human_good"] - used["human_bad"]
    expected = percbend(used["direct_delta"].to_numpy(), people.to_numpy())[0]
    r = keyed(result.tables["correlation"].query("group_by == 'all'"), "method")["direct",]["value"]
    row = rows["direct",]
    assert row["value"] == pytest.approx(expected, abs=1e-12)
    assert row["low"] < row["value"] < row["high"]
    assert row["n"] == len(used)
    assert row["value"] > r + 0.2
    said = f"Robust r (percentage bend) is furthest from r for `direct`: {row['value']:.2f} against {r:.2f}"
    assert said in result.text
