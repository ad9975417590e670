"""The one table of metrics: nothing in a summary is missing from it, and the documentation defines all of it."""

from pathlib import Path

import numpy as np
import pandas as pd

from pairbank.stats import accuracy_table, agreement_table, summarise
from pairbank.stats.analyses.neuro import METRICS
from pairbank.stats.estimates.estimate import HEADINGS
from rated_tables import rated_table

ROOT = Path(__file__).resolve().parents[3]


def summary() -> pd.DataFrame:
    table = rated_table()
    return summarise(table.frame, table.layouts, model=table.model)


def test_every_metric_of_a_summary_has_a_heading_and_its_values_lie_in_its_range() -> None:
    result = summary()
    known = HEADINGS["accuracy"] | HEADINGS["agreement"] | {"accuracy_argmax_ties_first": ""}
    for row in result[result["value"].notna()].to_dict("records"):
        of_log_p, signed = row["metric"] == "mean_logprob", known[row["metric"]][:3] in ("MCC", "Pea", "Spe", "Coh")
        low, high = (-np.inf, 0) if of_log_p else (-1 if signed else 0, 1)
        assert low <= row["value"] <= high


def test_every_metric_is_defined_in_the_documentation() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    of_probes = [f"{x}{of}" for x in METRICS for of in ("", "_layer", "_chosen", "_control", "_selectivity")]
    metrics = [*HEADINGS["accuracy"], *HEADINGS["agreement"], "accuracy_argmax_ties_first", *of_probes]
    assert [name for name in metrics if f"`{name}`" not in page] == []


def test_a_wide_table_has_the_headings_of_its_metrics_and_those_of_rare_ones_only_where_they_are() -> None:
    result = summary()
    assert list(accuracy_table(result).columns)[6:-1] == ["accuracy", "orders pooled", "first option chosen"]
    rare = result.iloc[:1].assign(metric="unparsed", value=0.25, low=np.nan, high=np.nan)
    assert "no answer found" in accuracy_table(pd.concat([result, rare]))
    assert list(agreement_table(result).columns)[-5:-1] == ["Pearson r", "Spearman rho", "Cohen's kappa", "same choice"]
    sentences = result.iloc[:1].assign(metric="pearson_human_sentence", versus="human")
    assert "Pearson r of sentences" in agreement_table(pd.concat([result, sentences]))
