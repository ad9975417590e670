"""Scored tables in, named estimates with intervals out. Importing it loads nothing; each name does when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairbank.markdown import to_markdown
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.stats.analyses.languages.statistics import leave_one_out
    from pairbank.stats.estimates.bootstrap import bootstrap_mean, bootstrap_statistic
    from pairbank.stats.estimates.estimate import Estimate, undefined
    from pairbank.stats.measures.accuracy import accuracy, accuracy_pooled, balanced_accuracy, position_bias
    from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement, spearman
    from pairbank.stats.measures.distance_bins import correlation_by_bin
    from pairbank.stats.measures.human_agreement import human_agreement
    from pairbank.stats.measures.paired_tests import compare, corrected
    from pairbank.stats.measures.roc import auc
    from pairbank.stats.report.summary import summarise
    from pairbank.stats.report.wide_tables import accuracy_table, agreement_table

_HOMES = {
    "to_markdown": "pairbank.markdown",
    "MethodLayout": "pairbank.scoring.api.layout",
    "leave_one_out": "pairbank.stats.analyses.languages.statistics",
    "bootstrap_mean": "pairbank.stats.estimates.bootstrap",
    "bootstrap_statistic": "pairbank.stats.estimates.bootstrap",
    "Estimate": "pairbank.stats.estimates.estimate",
    "undefined": "pairbank.stats.estimates.estimate",
    "accuracy": "pairbank.stats.measures.accuracy",
    "accuracy_pooled": "pairbank.stats.measures.accuracy",
    "balanced_accuracy": "pairbank.stats.measures.accuracy",
    "position_bias": "pairbank.stats.measures.accuracy",
    "cohens_kappa": "pairbank.stats.measures.agreement",
    "pearson": "pairbank.stats.measures.agreement",
    "raw_agreement": "pairbank.stats.measures.agreement",
    "spearman": "pairbank.stats.measures.agreement",
    "correlation_by_bin": "pairbank.stats.measures.distance_bins",
    "compare": "pairbank.stats.measures.paired_tests",
    "corrected": "pairbank.stats.measures.paired_tests",
    "human_agreement": "pairbank.stats.measures.human_agreement",
    "auc": "pairbank.stats.measures.roc",
    "summarise": "pairbank.stats.report.summary",
    "accuracy_table": "pairbank.stats.report.wide_tables",
    "agreement_table": "pairbank.stats.report.wide_tables",
}

__all__ = [
    "Estimate",
    "MethodLayout",
    "accuracy",
    "accuracy_pooled",
    "accuracy_table",
    "agreement_table",
    "auc",
    "balanced_accuracy",
    "bootstrap_mean",
    "bootstrap_statistic",
    "cohens_kappa",
    "compare",
    "corrected",
    "correlation_by_bin",
    "human_agreement",
    "leave_one_out",
    "pearson",
    "position_bias",
    "raw_agreement",
    "spearman",
    "summarise",
    "to_markdown",
    "undefined",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - module attributes are any
    if name not in _HOMES:
        raise AttributeError(f"module 'pairbank.stats' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
