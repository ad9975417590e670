"""The section that compares all models and all methods."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.comparisons import comparisons as section
from pairbank.stats.estimates.bootstrap import freedom
from pairbank.stats.measures.paired_tests import corrected, mcnemar_mid_p
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, keyed, rated_table


def models(n_models: int = 4) -> list[ScoredFrame]:
    return [rated_table(seed=seed, model=f"m{seed}") for seed in range(n_models)]


@cache
def of_four() -> Section:
    return section(models())


@pytest.mark.ci
def test_all_pairs_of_models_and_of_methods_are_there_once() -> None:
    result = of_four().tables["comparisons"]
    by_kind = result.groupby("compared")["n"].size().to_dict()
    assert by_kind == {"models": 6 * 2, "methods": 4}  # 6 pairs by 2 methods; 1 pair in 4 models
    assert set(result["n"]) == {199}
    keyed(result, "compared", "within", "a", "b")


@pytest.mark.ci
def test_a_pair_has_the_numbers_of_its_items() -> None:
    tables = models()
    rows = keyed(of_four().tables["comparisons"], "compared", "within", "a", "b")
    row = rows["models", "direct", "m0", "m2"]
    a, b = (tables[i].frame["direct_delta"].to_numpy()[1:] > 0 for i in (0, 2))
    assert (row["n_only_a"], row["n_only_b"]) == ((a & ~b).sum(), (~a & b).sum())
    assert row["difference"] == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert row["p_mid"] == mcnemar_mid_p(int((a & ~b).sum()), int((~a & b).sum()))


@pytest.mark.ci
def test_p_values_are_corrected_over_the_models_of_a_method_and_over_all_pairs_of_methods() -> None:
    result = of_four().tables["comparisons"]
    for _, part in result.groupby(result["within"].where(result["compared"] == "models", "")):
        expected = corrected(part["p_mid"].to_numpy())
        np.testing.assert_array_equal(part["p_mid_holm"], expected.holm)
        np.testing.assert_array_equal(part["p_mid_bh"], expected.benjamini_hochberg)


@pytest.mark.ci
def test_a_difference_has_an_interval_over_paradigms_and_the_wider_one_is_shown() -> None:
    names = [f"p{i % 12}" for i in range(len(models(1)[0].frame))]
    tables = [replace(x, frame=x.frame.assign(paradigm=names)) for x in models(2)]
    result = section(tables)
    row = keyed(result.tables["comparisons"], "within", "a")["direct", "m0"]
    gain = np.subtract(*(np.sign(x.frame["direct_delta"].to_numpy()) for x in tables))
    gain, codes = gain[1:], pd.factorize(np.array(names[1:]))[0]  # the sides of the first item are identical
    sizes, left = np.bincount(codes), np.bincount(codes, weights=(gain - gain.mean()) / 2)
    error = np.sqrt((left**2 / (1 - sizes / gain.size)).sum()) / gain.size
    expected = student.isf(0.025, freedom(codes)) * error  # nearly 11 degrees of freedom
    assert row["high_paradigms"] - row["difference"] == pytest.approx(expected, rel=1e-9)
    assert freedom(codes) == pytest.approx(11, abs=0.1)
    shown = result.tables["first"].iloc[0]
    wider = min(row["low"], row["low_paradigms"]), max(row["high"], row["high_paradigms"])
    assert result.tables["first"]["difference"].str.contains(f"[{wider[0]:+.2f}, {wider[1]:+.2f}]", regex=False).any()
    assert shown["Holm's p, paradigms"]


def test_only_common_items_are_compared() -> None:
    first, second = models(2)
    part = replace(second, frame=second.frame.iloc[50:120])
    result = keyed(section([first, part]).tables["comparisons"], "compared", "within", "a", "b")
    assert result["models", "direct", "m0", "m1"]["n"] == 70
    other = replace(second, frame=second.frame.assign(item_id=[f"other/{i}" for i in range(200)]))
    row = keyed(section([first, other]).tables["comparisons"], "compared", "within", "a", "b")
    assert row["models", "direct", "m0", "m1"]["reason"] == "they share no scored items"
    assert np.isnan(row["models", "direct", "m0", "m1"]["difference"])


@pytest.mark.ci
def test_the_text_counts_differences() -> None:
    result = of_four()
    table = result.tables["comparisons"]
    kind = table[table["compared"] == "models"]
    assert f"{(kind['p_mid_holm'] < 0.05).sum()} of 12 comparisons differ" in result.text


def test_one_model_with_one_method_is_refused() -> None:
    with pytest.raises(BankError, match="nothing to compare"):
        section([replace(rated_table(), layouts=(DIRECT,))])


@pytest.mark.ci
def test_the_text_counts_equivalent_pairs_at_the_margin_that_is_asked_for() -> None:
    same = [rated_table(seed=1, n_items=400, model=name) for name in ("m0", "m1")]
    result = section(same, margin=0.02)
    rows = keyed(result.tables["comparisons"], "compared", "within", "a", "b")
    row = rows["models", "direct", "m0", "m1"]
    assert row["p_equivalent"] <= row["p_equivalent_holm"] < 0.05
    assert "2 are equivalent within 0.02 (Holm)" in result.text
    with pytest.raises(BankError, match="margin is 2"):
        section(same, margin=2)


@pytest.mark.ci
def test_the_text_names_the_largest_difference_and_says_whether_it_is_significant() -> None:
    known = rated_table(400, model="knows")
    frame = known.frame.assign(direct_delta=np.where(np.arange(400) % 10 < 9, 1.0, -1.0))
    better = replace(known, frame=frame, layouts=(DIRECT,))
    others = [replace(rated_table(400, seed=seed, model=f"m{seed}"), layouts=(DIRECT,)) for seed in (1, 2, 3, 4)]
    few = replace(others[0], model="few", frame=others[0].frame.head(6))
    result = section([better, *others[:2], few])
    assert "2 of 6 comparisons differ" in result.text
    assert "Largest significant difference: `knows` - `m" in result.text
    assert result.text.count("(`direct`, toy, n = 399)") == 1
    assert result.answer == result.text.rpartition("\n\n")[0]
    assert "not significant" not in result.text
    none = section(others[:2])
    assert "0 of 1 comparison differ" in none.text
    assert "Largest difference (not significant): `m1` - `m2`" in none.text


@pytest.mark.ci
def test_of_many_corpora_the_answer_tells_how_many_differ() -> None:
    tables = [rated_table(60, seed=seed, corpus=f"c{seed}", model=model) for seed in range(5) for model in ("a", "b")]
    result = section(tables)
    n = (result.tables["comparisons"]["p_mid_holm"] < 0.05).sum()
    assert result.answer.startswith(f"{n} of 20 comparisons of models and of methods on 5 corpora differ on such items")


def test_comparisons_without_a_test_are_counted_with_the_reason() -> None:
    first, second = (replace(table, layouts=(DIRECT,)) for table in models(2))
    apart = replace(second, model="apart", frame=second.frame.assign(item_id=[f"other/{i}" for i in range(200)]))
    result = section([first, second, apart])
    assert "2 have no test: they share no scored items." in result.text


@pytest.mark.ci
def test_the_first_page_has_seven_columns_with_those_that_differ_on_top() -> None:
    result = of_four()
    first, whole = (result.tables[name] for name in ("first", "comparisons"))
    assert list(first) == ["corpus", "within", "a", "b", "difference", "n", "Holm's p"]
    assert len(first) == len(whole)
    assert result.main_table == "first"
    p = whole[whole["compared"] == "models"].sort_values("p_mid_holm")["p_mid_holm"]
    assert first["Holm's p"][0] in (f"{p.iloc[0]:.3f}".removeprefix("0"), "< .001")


def test_a_method_that_equals_another_is_no_further_comparison() -> None:
    tables = models()
    copied = [
        replace(
            table,
            frame=table.frame.assign(copy_delta=table.frame["direct_delta"]),
            layouts=(*table.layouts, replace(DIRECT, method="copy")),
        )
        for table in tables
    ]
    once, twice = (one.tables["comparisons"] for one in (of_four(), section(copied)))
    kept = twice[~(twice[["a", "b", "within"]] == "copy").any(axis=1)]
    np.testing.assert_array_equal(kept["p_mid_holm"], once["p_mid_holm"])
