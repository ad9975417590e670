"""The section on probability and grammaticality, number by number."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

from pairbank.errors import BankError
from pairbank.stats.analyses.grammaticality.section import grammaticality as section
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, direct, items_frame, keyed, rated_table

MEAN = direct("mean_logprob")


def linked_table() -> ScoredFrame:
    table = rated_table()
    frame = table.frame.assign(mean_logprob_good=table.frame["direct_good"] / 9)
    frame["mean_logprob_bad"] = table.frame["direct_bad"] / 10
    frame["mean_logprob_delta"] = frame["mean_logprob_good"] - frame["mean_logprob_bad"]
    return replace(table, frame=frame, layouts=(*table.layouts, MEAN))


def labelled_table() -> ScoredFrame:
    numbers = {"direct_good": [-10.0, -30.0, -20.0, -15.0], "direct_bad": None, "direct_delta": None}
    frame = items_frame(4, "cola", task="sentence", label=[1, 0, 1, 0], **numbers)
    return ScoredFrame(corpus="cola", model="gpt2", frame=frame, layouts=(DIRECT,))


def test_numbers_are_those_of_scipy_and_scikit_learn() -> None:
    table = linked_table()
    result = section([table])
    used = table.frame.iloc[1:]
    for method in ("direct", "mean_logprob"):
        good, bad = used[f"{method}_good"], used[f"{method}_bad"]
        r = result.tables["correlation"].query("method == @method").iloc[0]
        assert r["value"] == pytest.approx(stats.pearsonr(good, bad).statistic, abs=1e-12)
        assert (r["n"], r["n_excluded"]) == (199, 1)
        rows = result.tables["separability"].query("method == @method").set_index("metric")
        area = metrics.roc_auc_score(np.repeat([1, 0], 199), np.concatenate([good, bad]))
        assert rows.loc["auc", "value"] == pytest.approx(area, abs=1e-12)
        assert set(rows.index) == {"auc", "accuracy"}  # one number, one interval
        assert rows.loc["accuracy", "value"] == pytest.approx((good > bad).mean(), abs=1e-12)
        assert rows.loc["auc", "low"] < area < rows.loc["auc", "high"]
        assert f"{area:.2f}" in result.text
    assert set(result.tables["roc"]["method"]) == {"direct", "mean_logprob"}
    assert "meta" not in set(result.tables["separability"]["method"])  # a question puts no number on one string


def test_the_correlation_falls_with_the_distance_where_the_strings_differ_more() -> None:
    table = linked_table()
    rng = np.random.default_rng(5)
    frame = table.frame
    frame["direct_bad"] += 40 * frame["cosine_distance"] * rng.normal(size=len(frame))
    bins = section([table]).tables["by_bin"]
    by_distance = bins.query("method == 'direct' and group_by == 'cosine_distance'")
    assert by_distance["bin"].tolist() == list(range(1, 11))
    assert by_distance["n"].sum() == 199
    values = by_distance["value"].to_numpy()
    assert values[0] > 0.9 > values[-1]
    assert (np.diff(by_distance["bin_median"].to_numpy()) > 0).all()


def test_few_subsets_have_areas_of_their_own() -> None:
    table = linked_table()
    frame = table.frame.assign(subset=np.where(np.arange(200) < 100, "plausible", "implausible"))
    result = section([replace(table, frame=frame)])
    rows = keyed(result.tables["separability"].query("method == 'direct' and metric == 'auc'"), "group_by", "group")
    used = frame.iloc[100:]
    area = metrics.roc_auc_score(np.repeat([1, 0], 100), np.concatenate([used["direct_good"], used["direct_bad"]]))
    assert rows["subset", "implausible"]["value"] == pytest.approx(area, abs=1e-12)
    assert set(rows) == {("all", ""), ("subset", "implausible"), ("subset", "plausible")}
    assert set(result.tables["roc"]["subset"]) == {"", "implausible", "plausible"}
    assert "grammaticality_roc_toy_plausible" in {figure.name for figure in result.figures}


def test_sentences_labelled_one_by_one_have_an_area_and_no_accuracy() -> None:
    result = section([labelled_table()])
    rows = {str(row["metric"]): row for row in result.tables["separability"].to_dict("records")}
    # good -10, -20; bad -30, -15: 3 of 4 combinations
    assert rows["auc"]["value"] == 0.75
    assert np.isnan(rows["accuracy"]["value"])
    assert rows["accuracy"]["reason"] == "single labelled sentences make no pairs"
    assert result.tables["correlation"].empty
    assert "log P of the two strings" not in result.text
    assert "  - `direct`: 0.75" in result.text
    assert "Prediction 1" not in result.answer
    assert result.answer.startswith("- **Prediction 3**")
    assert "area under the ROC curve (AUC) of 0.75 [" in result.answer


def test_continuations_and_one_class_are_no_pool_of_strings() -> None:
    table = rated_table()
    with pytest.raises(BankError, match="has whole strings of both classes"):
        section([replace(table, frame=table.frame.assign(task="continuation_pair"))])
    labelled = labelled_table()
    with pytest.raises(BankError, match="has whole strings of both classes"):
        section([replace(labelled, frame=labelled.frame.assign(label=1))])


def test_the_answer_has_each_prediction_with_its_numbers_intervals_and_n() -> None:
    result = section([linked_table()])
    used = linked_table().frame.iloc[1:]
    human = used["human_good"] - used["human_bad"]
    for name, expected in (
        ("correlation", stats.pearsonr(used["direct_good"], used["direct_bad"]).statistic),
        ("with_people", stats.pearsonr(used["direct_good"] - used["direct_bad"], human).statistic),
    ):
        row = result.tables[name].query("method == 'direct'").iloc[0]
        assert row["value"] == pytest.approx(expected, abs=1e-12)
        assert f"r = {expected:.2f} [{row['low']:.2f}, {row['high']:.2f}] (n = 199)" in result.answer
    areas = result.tables["separability"].query("metric == 'auc'").sort_values("value")
    low, middle, high = (areas["value"].quantile(share) for share in (0, 0.5, 1))
    assert f"(AUC) of {middle:.2f} (median of {len(areas)}; {low:.2f} to {high:.2f}; n = 199)" in result.answer
    assert result.main_figure == result.figures[0].name


def test_several_models_are_a_range() -> None:
    tables = [rated_table(seed=seed, model=f"m{seed}") for seed in range(3)]
    for nth, table in enumerate(tables):  # more noise, so that no two r are the same to two digits
        noise = np.random.default_rng(nth).normal(scale=3 * nth, size=len(table.frame))
        table.frame["direct_good"] += noise
        table.frame["direct_delta"] = table.frame["direct_good"] - table.frame["direct_bad"]
    result = section(tables)
    by_model = result.tables["correlation"].set_index("model")["value"]
    ends = f"{by_model.min():.2f} to {by_model.max():.2f}"
    assert f"correlate at r = {by_model.median():.2f} (median of 3; {ends}; n = 199)" in result.answer
    assert len(result.tables["areas"]) == 3


def test_a_filtered_corpus_is_filtered_in_every_number() -> None:
    """At the 75th percentile over the rated pairs; pairs that are not rated are filtered too."""
    table = linked_table()
    table.frame.loc[5:40, "human_bad"] = np.nan
    limit = np.quantile(table.frame.dropna(subset=["human_bad"])["edit_distance"], 0.75)
    result = section([table], filtered=("toy", "elsewhere"))
    used = table.frame.iloc[1:]
    used = used[used["edit_distance"] <= limit]
    assert set(result.tables["separability"].query("metric == 'auc'")["n"]) == {len(used)}
    assert set(result.tables["correlation"]["n"]) == {len(used)}
    rated = used.dropna(subset=["human_bad"])
    assert set(result.tables["with_people"]["n"]) == {len(rated)}
    bins = result.tables["by_bin"].query("method == 'direct' and group_by == 'cosine_distance'")
    assert bins["n"].sum() == len(used)
    assert f"of 200 pairs at most {limit:g} edits apart are used" in result.text
    without = replace(table, frame=table.frame.drop(columns="edit_distance"))
    with pytest.raises(BankError, match="toy by gpt2 is to be filtered by edit_distance, which it does not have"):
        section([without], filtered=("toy",))


def test_corpora_of_one_language_are_pooled_and_another_stays_apart() -> None:
    first, second, chinese = (replace(linked_table(), corpus=name) for name in ("a", "b", "c"))
    second = replace(second, frame=rated_table(seed=4).frame, layouts=(DIRECT,))
    chinese = replace(chinese, frame=chinese.frame.assign(language="zh"))
    labelled = labelled_table()
    labelled = replace(labelled, frame=labelled.frame.assign(language="en"))
    result = section([first, second, chinese, labelled])
    rows = result.tables["separability"].query("metric == 'auc' and method == 'direct'").set_index("corpus")
    assert set(rows.index) == {"a", "b", "c", "cola", "3 corpora (en)"}
    pairs = [table.frame.iloc[1:] for table in (first, second)]
    good = np.concatenate([*(part["direct_good"] for part in pairs), [-10.0, -20.0]])
    bad = np.concatenate([*(part["direct_bad"] for part in pairs), [-30.0, -15.0]])
    area = metrics.roc_auc_score(np.repeat([1, 0], 400), np.concatenate([good, bad]))
    assert rows.loc["3 corpora (en)", "value"] == pytest.approx(area, abs=1e-12)
    assert rows.loc["3 corpora (en)", "n"] == 402


def test_corpora_whose_language_is_not_known_are_not_pooled() -> None:
    unknown = [replace(rated_table(60, corpus=name), layouts=(DIRECT,)) for name in ("a", "b")]
    result = section([replace(table, frame=table.frame.assign(language="")) for table in unknown])
    assert set(result.tables["separability"]["corpus"]) == {"a", "b"}


def test_a_corpus_without_area_says_why() -> None:
    labelled = labelled_table()
    one_class = replace(labelled, frame=labelled.frame.assign(label=1))
    result = section([linked_table(), one_class])
    assert "No AUC for cola: there are no ungrammatical strings." in result.answer


def test_a_score_that_a_corpus_lacks_does_not_take_the_area_from_its_others() -> None:
    lacking = linked_table()
    gone = {f"mean_logprob_{column}": np.nan for column in ("good", "bad", "delta")}
    lacking = replace(lacking, corpus="sling", frame=lacking.frame.assign(corpus="sling", **gone))
    result = section([linked_table(), lacking])
    assert set(result.tables["areas"]["corpus"]) >= {"toy", "sling"}
    assert "No AUC of `mean_logprob` for sling, which has no such scores." in result.answer


def test_a_headline_counts_no_number_of_a_few_items_and_has_the_bins_of_both_predictions() -> None:
    few = rated_table(seed=5, model="m0")
    few = replace(few, corpus="few", frame=few.frame.iloc[:9].assign(corpus="few"))
    result = section([rated_table(seed=seed, model=f"m{seed}") for seed in range(3)] + [few])
    lines = result.answer.splitlines()
    assert [line[4:17] for line in lines[:4]] == [f"Prediction {name}" for name in ("1a", "1b", "2a", "2b")]
    assert all("few left out, fewer than 20" in line for line in (lines[0], lines[2], lines[4]))
    for line, table in ((lines[1], "by_bin"), (lines[3], "by_bin_people")):
        bins = result.tables[table].query("method == 'direct' and group_by == 'cosine_distance' and corpus == 'toy'")
        near, far = (bins[bins["bin"] == nth].set_index("model")["value"] for nth in (1, bins["bin"].max()))
        shown = f"r goes from {near.median():.2f} to {far.median():.2f} (medians of 3)"
        said = f"{shown}; it is lower in {(far < near).sum()} of 3"
        assert re.search(rf"{re.escape(said)} \(p = \.\d+, pairs permuted\)\.$", line), line


def test_a_histogram_counts_every_string_once() -> None:
    result = section([linked_table()]).tables["distributions"]
    for _, part in result.groupby("method"):
        assert (part["n_good"].sum(), part["n_bad"].sum()) == (199, 199)
        assert len(part) == 40


def test_word_counts_stand_beside_the_predictions() -> None:
    table = rated_table()
    rng = np.random.default_rng(2)
    good = [" ".join(rng.choice(["a", "b", "c", "d"], size=3 + k % 9)) for k in range(len(table.frame))]
    bad = [f"{text} {rng.choice(['a', 'e'])}" for text in good]
    result = section([replace(table, frame=table.frame.assign(target_good=good, target_bad=bad))])
    used = [k for k, flags in enumerate(table.frame["flags"]) if not len(flags)]
    words = [text.split() for texts in (good, bad) for text in (texts[k] for k in used)]
    counts = pd.Series([word for one in words for word in one]).value_counts(normalize=True)
    logs = np.array([np.log(counts[one]).sum() for one in words])
    r = stats.pearsonr(logs[: len(used)], logs[len(used) :]).statistic
    rows = keyed(result.tables["null"], "metric")
    assert rows["pearson_sides",]["value"] == pytest.approx(r, abs=1e-12)
    assert rows["accuracy",]["value"] == 1.0  # the longer one is always the bad one
    model, null = result.tables["correlation"].query("method == 'direct'").iloc[0], rows["pearson_sides",]
    reach = np.hypot(model["value"] - model["low"], null["high"] - r)
    above = f"log P is above that in {int(model['value'] - r > reach)} of 1 (95% intervals of the difference)"
    assert f"Word counts alone (unigram null) give {r:.2f}; {above}" in result.answer
    assert section([table]).tables["null"].empty


@pytest.mark.ci
def test_with_paradigms_every_number_has_both_intervals_and_the_wider_one_decides() -> None:
    table = rated_table()
    rng = np.random.default_rng(3)
    paradigm = np.arange(200) % 12
    shared = 40 * rng.normal(size=12)[paradigm] + rng.normal(size=200)
    texts = [" ".join(["a"] * (3 + k)) for k in paradigm]
    frame = table.frame.assign(
        paradigm=[f"p{k}" for k in paradigm],
        direct_good=shared + rng.normal(size=200),
        direct_bad=shared + rng.normal(size=200),
        target_good=[f"{text} b" for text in texts],
        target_bad=[f"{text} {rng.choice(['c', 'd'])} e" for text in texts],
    )
    frame["direct_delta"] = frame["direct_good"] - frame["direct_bad"]
    result = section([replace(table, frame=frame)])
    for name in ("correlation", "with_people", "separability", "null"):
        rows = result.tables[name].query("group_by == 'all' and 0 < value < 1")
        assert (rows["n_paradigms"] == 12).all(), name
    (row,) = result.tables["correlation"].query("method == 'direct' and group_by == 'all'").to_dict("records")
    low, high = min(row["low"], row["low_paradigms"]), max(row["high"], row["high_paradigms"])
    assert f"correlate at r = {row['value']:.2f} [{low:.2f}, {high:.2f}] (n = 199)" in result.answer
    (null,) = result.tables["null"].query("metric == 'pearson_sides'").to_dict("records")
    reach = np.hypot(row["value"] - low, max(null["high"], null["high_paradigms"]) - null["value"])
    above = int(row["value"] - null["value"] > reach)
    assert f"log P is above that in {above} of 1 (95% intervals of the difference" in result.answer
