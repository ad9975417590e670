"""Base against instruction-tuned models: the contrast within families, when it is claimed, and who is compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pairbank
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.base_instruct import base_instruct
from pairbank.stats.estimates.bootstrap import freedom, standard_error
from pairbank.stats.measures.families import correlation_parts, family_contrast
from pairbank.stats.report.frames import scored_frames
from pairbank.stats.report.item_sets import ids_by_text
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures
from rated_tables import always_first, keyed, rated_table

RNG = np.random.default_rng(7)


def models(n_families: int, *, better: float = 0.0) -> tuple[list[ScoredFrame], Context]:
    """Pairs of sizes that differ between families; the direct score of tuned models is better by some nats."""
    tables: list[ScoredFrame] = []
    features: dict[str, ModelFeatures] = {}
    for family in range(n_families):
        for size in range(1, 3 - family % 2 + 1):
            for kind in ("base", "instruct"):
                name = f"f{family}-{size}b-{kind}"
                table = rated_table(seed=len(tables), model=name)
                shift = better if kind == "instruct" else 0.0
                direct = table.frame["direct_delta"] + shift
                tables.append(replace(table, frame=table.frame.assign(direct_delta=direct)))
                features[name] = ModelFeatures(
                    family=f"F{family}",
                    generation="1",
                    size_billions=size,
                    type="base" if kind == "base" else "instruct",
                )
    return tables, Context(features=features)


def test_with_items_alike_the_test_is_that_of_family_means_and_with_families_alike_that_of_paradigms() -> None:
    families, means = ["A", "B", "B", "C", "D"], np.array([0.1, 0.3, 0.5, 0.2, 0.6])
    result = family_contrast(np.tile(means, (40, 1)), families)
    expected = stats.ttest_1samp([0.1, 0.4, 0.2, 0.6], 0.0)
    interval = expected.confidence_interval()
    assert (result.estimate.low, result.estimate.high) == pytest.approx((interval.low, interval.high))
    assert result.p == pytest.approx(expected.pvalue)
    sizes = np.repeat(np.arange(8), [20, 10, 8, 6, 4, 4, 4, 4])
    items = RNG.normal(0.2, 1, sizes.size)
    result = family_contrast(np.tile(items[:, np.newaxis], (1, 5)), families, sizes)
    half = stats.t.ppf(0.975, freedom(sizes)) * standard_error(items, sizes)
    assert result.estimate.high - result.estimate.value == pytest.approx(half)


def test_the_parts_of_r_have_its_mean_and_its_standard_error() -> None:
    x, y = RNG.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 4000).T
    parts = correlation_parts(x, y)
    assert parts.mean() == pytest.approx(stats.pearsonr(x, y).statistic)
    assert parts.std() == pytest.approx(1 - 0.6**2, abs=0.03)  # of normal data: Fisher 1915


@pytest.mark.ci
def test_a_corpus_with_too_few_items_for_an_interval_has_no_figure() -> None:
    tables, context = models(3)
    few = [replace(table, corpus="few", frame=table.frame.head(6)) for table in tables]
    section = base_instruct([*tables, *few], context)
    assert section.tables["contrasts"].query("corpus == 'few'")["low"].isna().all()
    [figure] = section.figures
    figure.draw()


@pytest.mark.ci
def test_a_difference_is_claimed_from_three_families_on_and_each_family_counts_once() -> None:
    tables, context = models(3, better=8.0)
    section = base_instruct(tables, context)
    row = keyed(section.tables["contrasts"], "measure", "method")["accuracy", "direct"]
    assert (row["families"], row["pairs"], row["n"]) == (3, 8, 199)
    pairs = section.tables["pairs"].query("measure == 'accuracy' and method == 'direct'")
    assert row["value"] == pytest.approx(pairs.groupby("family")["difference"].mean().mean())
    assert row["low"] > 0.1
    assert "raises accuracy by `direct` on toy" in section.answer
    gap = keyed(section.tables["contrasts"], "measure", "method")["direct - prompted", "meta"]
    assert gap["value"] > 0.2
    two, context = models(2, better=8.0)
    answer = base_instruct(two, context).answer
    assert answer.startswith("No claim about instruction tuning in other families: 2 of the 3 families")
    assert "raises" not in answer


@pytest.mark.ci
def test_models_with_position_bias_are_left_out_with_their_pairs_and_without_pairs_the_reason_is_said() -> None:
    tables, context = models(3)
    tables[0] = always_first(tables[0])
    section = base_instruct(tables, context)
    rows = keyed(section.tables["contrasts"], "measure", "method")
    assert (rows["accuracy", "meta"]["pairs"], rows["accuracy", "direct"]["pairs"]) == (7, 8)
    assert "Not compared because of position bias: `f0-1b-base` by `meta`" in section.text
    with pytest.raises(BankError, match="no instruction-tuned model has its base model beside it"):
        base_instruct(tables)


@pytest.mark.ci
def test_a_report_of_models_with_pairs_has_the_contrast_unasked() -> None:
    features = {
        name: ModelFeatures(family="F", generation="1", size_billions=1, type="base" if name == "a" else "instruct")
        for name in "ab"
    }
    scored = [pairbank.score([("The dogs bark.", "The dogs barks.")], f"fake:{name}") for name in features]
    assert [section.id for section in pairbank.report(scored, features=features).sections] == ["base_instruct"]
    assert pairbank.report(scored, features=features).parts[0].id == "overview"
    assert pairbank.report(scored).sections == ()


@pytest.mark.ci
@pytest.mark.upstream
def test_the_published_systems_of_qfrblimp_have_twenty_five_pairs_of_seven_families(shared: Path) -> None:
    items = pairbank.load_corpus("qfrblimp", data_dir=shared / "corpora")
    scored = pairbank.import_logs(shared / "corpora" / "qfrblimp", "qfrblimp", items=items).tables
    ids, _ = ids_by_text(scored)
    table = base_instruct(scored_frames(scored, ids, for_analyses=True)).tables["contrasts"]
    row = keyed(table, "measure", "method")["accuracy", "preferred"]
    assert (row["pairs"], row["families"], row["n"]) == (25, 7, 1743)
    assert pd.isna(row["reason"])
    assert row["low"] < row["value"] < 0
