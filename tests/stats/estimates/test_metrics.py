"""The one table of metrics: nothing in a summary is missing from it, and the documentation defines all of it."""

from pathlib import Path

import numpy as np
import pandas as pd

from pairbank.stats import accuracy_table, agreement_table, summarise
from pairbank.stats.estimates.estimate import METRICS, headings, metrics_by_heading
from rated_tables import rated_table

ROOT = Path(__file__).resolve().parents[3]


def summary() -> pd.DataFrame:
    table = rated_table()
    return summarise(table.frame, table.layouts, model=table.model)


def test_every_metric_of_a_summary_is_known_and_its_values_lie_in_its_range() -> None:
    result = summary()
    assert set(result["metric"]) <= set(METRICS)
    for row in result[result["value"].notna()].to_dict("records"):
        metric = METRICS[row["metric"]]
        assert metric.low <= row["value"] <= metric.high


def test_every_metric_is_defined_in_the_documentation() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    assert [name for name in METRICS if f"`{name}`" not in page] == []


def test_a_wide_table_has_the_headings_of_its_metrics_and_those_of_rare_ones_only_where_they_are() -> None:
    result = summary()
    assert list(accuracy_table(result).columns)[6:-1] == ["accuracy", "orders pooled", "first option chosen"]
    rare = result.iloc[:1].assign(metric="unparsed", value=0.25, low=np.nan, high=np.nan)
    assert "no answer found" in accuracy_table(pd.concat([result, rare]))
    usual = [heading for heading in metrics_by_heading("agreement") if not heading.endswith("of sentences")]
    assert list(agreement_table(result).columns)[-5:-1] == usual
    sentences = result.iloc[:1].assign(metric="pearson_human_sentence", versus="human")
    assert "Pearson r of sentences" in agreement_table(pd.concat([result, sentences]))


def test_no_metric_without_a_heading_has_a_column() -> None:
    assert "accuracy_argmax_ties_first" not in headings("accuracy")
    assert not {"f1", "f1_layer"} & {*headings("accuracy"), *headings("agreement")}
