"""The summary of a small scored corpus, number by number."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from pairbank.stats import summarise
from pairbank.stats.scored_table.scored_table import SummaryRow
from rated_tables import DIRECT, META, items_frame, judgment

JUDGE = judgment("judge")
LAYOUTS = [DIRECT, META, JUDGE]


def scored(n_items: int = 40, seed: int = 0) -> pd.DataFrame:
    """Items of two subsets and two languages; `judge` applies to the first subset, people judged every other item."""
    rng = np.random.default_rng(seed)
    number = np.arange(n_items)
    direct = rng.normal(0.5, 1.0, n_items)
    answers = np.log(rng.uniform(0.05, 1.0, (n_items, 2, 2)))
    frame = items_frame(
        n_items,
        subset=np.where(number % 2 == 0, "binding", "agreement"),
        language=np.where(number < n_items // 4, "en", "zh"),
        task="sentence_pair",
        paradigm=None,
        human_good=np.where(number % 4 < 2, 5 + direct + rng.normal(size=n_items), np.nan),
        human_bad=4.0,
        direct_delta=direct,
        meta_delta=direct / 2 + (answers[:, 0, 0] - answers[:, 0, 1] + answers[:, 1, 1] - answers[:, 1, 0]),
        meta_logprobs=list(answers.reshape(n_items, 4)),
    )
    applies = frame["subset"] == "binding"
    frame["judge_delta"] = (frame["meta_delta"] - 0.2).where(applies)
    frame["judge_logprobs"] = frame["meta_logprobs"].where(applies, None)
    return frame


def cell(summary: pd.DataFrame, **where: str) -> Any:  # noqa: ANN401
    """The only row with these values."""
    keep = pd.Series(data=True, index=summary.index)
    for column, value in where.items():
        keep &= summary[column] == value
    (row,) = summary[keep].itertuples(index=False)
    return row


def test_every_metric_of_the_whole_corpus_is_there_once() -> None:
    summary = summarise(scored(), LAYOUTS, model="gpt2")
    whole = summary[summary["group_by"] == "all"]
    accuracies = {("direct", "accuracy")}
    accuracies |= {(m, k) for m in ("meta", "judge") for k in ("accuracy", "accuracy_pooled", "position_bias")}
    result = {(x.method, x.metric) for x in whole.itertuples() if x.versus == ""}
    assert result == accuracies | {("human", "human_accuracy")}
    agreement = {(m, k) for m in ("meta", "judge") for k in ("pearson", "spearman", "kappa", "raw_agreement")}
    assert {(x.method, x.metric) for x in whole.itertuples() if x.versus == "direct"} == agreement
    people = {(m, k) for m in ("direct", "meta", "judge") for k in ("pearson_human", "spearman_human")}
    assert {(x.method, x.metric) for x in whole.itertuples() if x.versus == "human"} == people
    assert len(whole) == len(accuracies) + 1 + len(agreement) + len(people)
    assert set(summary["model"]) == {"gpt2"}
    assert set(summary["corpus"]) == {"toy"}


def test_groups_have_accuracies_and_subsets_have_agreement_too() -> None:
    summary = summarise(scored(), LAYOUTS, model="gpt2")
    by_language = summary[summary["group_by"] == "language"]
    assert set(by_language["group"]) == {"en", "zh"}
    assert set(by_language["versus"]) == {""}
    by_subset = summary[summary["group_by"] == "subset"]
    assert set(by_subset["versus"]) == {"", "direct", "human"}
    # `judge` applies to no item of the other subset, so it has no row there
    assert set(by_subset[by_subset["group"] == "agreement"]["method"]) == {"direct", "meta", "human"}
    assert set(summary["group_by"]) == {"all", "subset", "language"}


def test_the_numbers_are_those_of_numpy_and_scipy() -> None:
    frame = scored()
    summary = summarise(frame, LAYOUTS, model="gpt2")
    where = {"group_by": "subset", "group": "binding"}
    part = frame[frame["subset"] == "binding"]
    right = cell(summary, **where, method="direct", metric="accuracy")
    assert right.value == pytest.approx((part["direct_delta"] > 0).mean(), abs=1e-12)
    assert (right.n, right.n_excluded, right.ci_method) == (20, 0, "wilson")
    r = cell(summary, **where, method="judge", versus="direct", metric="pearson")
    assert r.value == pytest.approx(stats.pearsonr(part["direct_delta"], part["judge_delta"]).statistic, abs=1e-12)
    rho = cell(summary, **where, method="judge", versus="direct", metric="spearman")
    assert rho.value == pytest.approx(stats.spearmanr(part["direct_delta"], part["judge_delta"]).statistic, abs=1e-12)
    pooled = cell(summary, **where, method="judge", metric="accuracy_pooled")
    answers = np.stack(part["judge_logprobs"].to_list())
    wins = np.concatenate([answers[:, 0] > answers[:, 1], answers[:, 3] > answers[:, 2]])
    assert pooled.value == pytest.approx(wins.mean(), abs=1e-12)
    assert (pooled.n, pooled.ci_method) == (20, "wilson-clustered")
    same = cell(summary, **where, method="judge", metric="raw_agreement")
    assert same.value == pytest.approx(((part["direct_delta"] > 0) == (part["judge_delta"] > 0)).mean(), abs=1e-12)


def test_people_are_compared_where_both_sides_are_judged() -> None:
    frame = scored()
    summary = summarise(frame, LAYOUTS, model="gpt2")
    judged = frame[frame["human_good"].notna()]
    gap = judged["human_good"] - judged["human_bad"]
    r = cell(summary, group_by="all", method="direct", metric="pearson_human")
    assert r.value == pytest.approx(stats.pearsonr(judged["direct_delta"], gap).statistic, abs=1e-12)
    assert r.n == 20
    people = cell(summary, group_by="all", metric="human_accuracy")
    assert (people.method, people.versus, people.n) == ("human", "", 20)
    assert people.value == pytest.approx((gap > 0).mean(), abs=1e-12)


def test_fewer_than_three_judged_items_are_not_correlated() -> None:
    frame = scored()
    frame["human_good"] = [5.0, 6.0] + [np.nan] * 38
    metrics = summarise(frame, LAYOUTS, model="gpt2")["metric"]
    assert "pearson_human" not in set(metrics)
    assert "human_accuracy" in set(metrics)


def test_identical_sides_are_left_out_of_every_number_and_counted() -> None:
    frame = scored()
    frame.loc[[0, 1], "direct_delta"] = 0.0  # as identical sides score
    frame.loc[[0, 1], "meta_delta"] = 99.0
    frame["flags"] = [["identical_sides", "boundary_merge"]] * 2 + [["boundary_merge"]] * 38
    with_flags = summarise(frame, LAYOUTS, model="gpt2")
    without = summarise(frame.iloc[2:], LAYOUTS, model="gpt2")
    numbers = ["value", "low", "high", "n", "reason"]
    pd.testing.assert_frame_equal(with_flags[numbers], without[numbers])
    assert cell(with_flags, group_by="all", method="meta", metric="pearson").n_excluded == 2
    assert cell(with_flags, group_by="all", method="judge", metric="accuracy_pooled").n_excluded == 1
    assert without["n_excluded"].sum() == 0


def test_a_group_of_identical_sides_only_is_undefined_and_says_so() -> None:
    frame = scored()
    frame["flags"] = [["identical_sides"] if x == "binding" else [] for x in frame["subset"]]
    row = cell(summarise(frame, [DIRECT], model="gpt2"), group="binding", method="direct", metric="accuracy")
    assert np.isnan(row.value)
    assert (row.n, row.n_excluded, row.reason) == (0, 20, "no items")


def test_kappa_counts_ties_among_the_items_it_leaves_out() -> None:
    frame = scored()
    frame.loc[3, "meta_delta"] = 0.0
    summary = summarise(frame, LAYOUTS, model="gpt2")
    kappa = cell(summary, group_by="all", method="meta", metric="kappa")
    r = cell(summary, group_by="all", method="meta", metric="pearson")
    assert (kappa.n, kappa.n_excluded) == (39, 1)
    assert (r.n, r.n_excluded) == (40, 0)


def test_an_interval_depends_on_neither_the_other_rows_nor_the_order_of_items() -> None:
    frame = scored()
    everything = summarise(frame, LAYOUTS, model="gpt2")
    alone = summarise(frame.drop(columns=["judge_delta"]), [META], model="gpt2")
    shuffled = summarise(frame.sample(frac=1, random_state=1), LAYOUTS, model="gpt2")
    pd.testing.assert_frame_equal(everything, shuffled)
    keys = ["group_by", "group", "method", "versus", "metric"]
    both = everything.merge(alone, on=keys, suffixes=("", "_alone"))
    assert len(both) == len(alone) > 10
    for name in ("value", "low", "high"):
        np.testing.assert_array_equal(both[name], both[f"{name}_alone"])


def test_a_row_has_a_generator_by_the_seed_and_by_what_it_is() -> None:
    place = SummaryRow(model="gpt2", corpus="toy", group_by="all", group="")
    rows = (place, replace(place, model="llama"), replace(place, metric="accuracy"))
    draws = [row.rng(seed).integers(1 << 40) for seed in (0, 1) for row in rows]
    assert len(set(draws)) == 6
    assert place.rng(0).integers(1 << 40) == draws[0]


def test_without_a_method_called_direct_there_is_no_agreement() -> None:
    assert set(summarise(scored(), [META, JUDGE], model="gpt2")["versus"]) == {"", "human"}


def test_the_types_of_the_columns_do_not_depend_on_the_data() -> None:
    full = summarise(scored(), LAYOUTS, model="gpt2")
    empty = summarise(scored().iloc[:0], LAYOUTS, model="gpt2")
    assert len(empty) == 0
    assert full.dtypes.astype(str).to_dict() == empty.dtypes.astype(str).to_dict()
    schema = pa.Table.from_pandas(full[full["reason"].isna()], preserve_index=False).schema
    assert pa.types.is_string(schema.field("reason").type) or pa.types.is_large_string(schema.field("reason").type)


def test_each_of_many_subsets_has_every_interval() -> None:
    frame = scored(260)
    frame["subset"] = [f"s{i % 13:02d}" for i in range(260)]
    many = summarise(frame, [DIRECT, META], model="gpt2")
    keys = ["group_by", "group", "method", "versus", "metric"]
    rho = cell(many, group_by="subset", group="s03", method="meta", metric="spearman")
    part = frame[frame["subset"] == "s03"]
    assert rho.value == pytest.approx(stats.spearmanr(part["direct_delta"], part["meta_delta"]).statistic, abs=1e-12)
    assert (rho.n, rho.ci_method) == (20, "infinitesimal-jackknife-z")
    assert rho.low < rho.value < rho.high
    few = summarise(frame[frame["subset"] < "s12"], [DIRECT, META], model="gpt2")
    both = many.merge(few[few["group_by"] == "subset"], on=keys, suffixes=("", "_few"))
    for name in ("value", "low", "high"):
        np.testing.assert_array_equal(both[name], both[f"{name}_few"])
