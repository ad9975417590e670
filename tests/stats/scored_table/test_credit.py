"""What a method earns on each item: by its paper's definition, with presentations pooled where answers are constant."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses import mixed, paradigms
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.comparisons import comparisons as section
from pairbank.stats.analyses.multiverse import section as multiverse
from pairbank.stats.estimates.estimate import undefined
from pairbank.stats.measures.mixed import Effect, Fitted
from pairbank.stats.report.overview import own_accuracies
from pairbank.stats.report.summary import summarise
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of
from pairbank.stats.scored_table.scored_table import read_table
from rated_tables import DIRECT, META, POOLED, always_first, keyed, rated_table


def credit(table: ScoredFrame, method: str) -> tuple[float, float]:
    """The accuracy of a method by its credits, and its share of first options where that is position bias."""
    scores = read_table(table).choices.method(method)
    assert scores is not None
    result = credits_of(scores)
    return float(np.nanmean(result.credit)), result.first_option


@pytest.mark.parametrize("layout", [META, POOLED])
@pytest.mark.parametrize("biased", [False, True])
def test_credits_have_the_accuracy_of_the_main_table(layout: MethodLayout, biased: bool) -> None:
    tables = [replace(rated_table(seed=seed, model=f"m{seed}"), layouts=(DIRECT, layout)) for seed in range(3)]
    tables = [always_first(table) for table in tables] if biased else tables
    layouts = {one.method: one for one in tables[0].layouts}
    summary = pd.concat([summarise(table.frame, table.layouts, model=table.model) for table in tables])
    own = own_accuracies(summary.reset_index(drop=True), layouts)
    rows = keyed(own[own["group_by"] == "all"], "model", "method")
    for table in tables:
        for method in ("direct", "meta"):
            value, first = credit(table, method)
            row = rows[table.model, method]
            assert value == pytest.approx(row["value"], abs=1e-12)
            np.testing.assert_equal(first, row["first_option"])


def test_an_averaged_method_with_position_bias_is_pooled() -> None:
    table = always_first(rated_table())
    assert (table.frame["meta_delta"] > 0).all()  # averaged over orders, all right
    assert credit(table, "meta") == (0.5, 1.0)


def test_models_with_position_bias_are_named_and_not_compared() -> None:
    fair = [rated_table(seed=seed, model=f"m{seed}") for seed in range(2)]
    result = section([*fair, *(always_first(rated_table(seed=9, model=name)) for name in ("b0", "b1"))])
    rows = result.tables["comparisons"]
    asked = rows[(rows["compared"] == "models") & (rows["within"] == "meta")]
    assert [*zip(asked["a"], asked["b"], strict=True)] == [("m0", "m1")]
    assert not {"b0", "b1"} & set(rows[rows["compared"] == "methods"]["within"])
    said = "Not compared because of position bias: `b0` by `meta`; `b1` by `meta`."
    assert said in result.answer
    assert said in result.text
    apart = result.tables["position_bias"]
    assert apart["model"].to_list() == ["b0", "b1"]
    assert set(apart["accuracy"]) == {0.5}
    assert set(apart["first_option"]) == {1.0}
    assert "position_bias" not in section(fair).tables
    assert "position bias" not in section(fair).answer


def test_a_difference_of_methods_is_that_of_their_accuracies() -> None:
    table = replace(rated_table(), layouts=(DIRECT, POOLED))
    rows = keyed(section([table]).tables["comparisons"], "a", "b")
    expected = credit(table, "direct")[0] - credit(table, "meta")[0]
    assert rows["direct", "meta"]["difference"] == pytest.approx(expected, abs=1e-12)
    averaged = (table.frame["meta_delta"].to_numpy()[1:] > 0).mean()
    assert abs(averaged - credit(table, "meta")[0]) > 0.01  # or the test could not fail


def test_models_with_position_bias_are_compared_by_no_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [replace(rated_table(seed=seed, model=f"m{seed}"), layouts=(DIRECT, POOLED)) for seed in range(3)]
    names = [f"p{i % 12}" for i in range(len(tables[0].frame))]
    tables = [replace(table, frame=table.frame.assign(paradigm=names)) for table in tables]
    tables[0] = always_first(tables[0])
    why = "Not compared because of position bias: `m0` by `meta`. These models pick the same option throughout"
    hard = paradigms.paradigms(tables)
    assert why in hard.text
    over = keyed(hard.tables["over_models"], "group", "method")
    assert over["p1", "direct"]["n_models"] == 3
    assert over["p1", "meta"]["n_models"] == 2
    rows = keyed(hard.tables["accuracy"][hard.tables["accuracy"]["by_paper"]], "model", "group", "method")
    assert rows["m0", "p1", "meta"]["value"] == 0.5
    assert rows["m0", "p1", "meta"]["first_option"] == 1
    assert np.isnan(rows["m1", "p1", "meta"]["first_option"])
    means = [rows[f"m{k}", "p1", "meta"]["value"] for k in (1, 2)]
    assert over["p1", "meta"]["value"] == pytest.approx(np.mean(means), abs=1e-12)
    cells: dict[str, pd.DataFrame] = {}
    for name in ("delta", "accuracy"):
        monkeypatch.setitem(mixed.OUTCOMES, name, partial(_recorded, cells, name))
    assert why in mixed.mixed(tables).text
    assert not ((cells["accuracy"]["model"] == "m0") & (cells["accuracy"]["method"] == "meta")).any()
    assert ((cells["delta"]["model"] == "m0") & (cells["delta"]["method"] == "meta")).any()
    used = keyed(cells["accuracy"], "model", "method", "unit")
    assert used["m1", "meta", "p1"]["value"] == pytest.approx(means[0], abs=1e-12)
    claim = multiverse.multiverse(tables, Context(n_resamples=20))
    assert why in claim.text
    assert not claim.tables["specifications"]["model"].eq("m0").any()
    with pytest.raises(BankError, match=r"no specification .* Not compared because of position bias"):
        multiverse.multiverse(tables[:1], Context(n_resamples=20))


def _recorded(cells: dict[str, pd.DataFrame], name: str, made: pd.DataFrame, **_: object) -> Fitted:
    """Take what would be fitted."""
    cells[name] = made
    nothing = undefined("not fitted here", n=12, method="none")
    effect = Effect(term="method", level="meta", versus="direct", estimate=nothing, p=np.nan)
    return Fitted(effects=(effect,), variances=(), reason="not fitted here")
