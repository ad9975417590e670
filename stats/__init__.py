"""Scored tables in, named estimates with intervals out. Importing it loads numpy and pandas only."""

from __future__ import annotations

from pairbank.stats.accuracy import accuracy, accuracy_pooled, position_bias
from pairbank.stats.agreement import cohens_kappa, pearson, raw_agreement, spearman
from pairbank.stats.balanced import balanced_accuracy
from pairbank.stats.bins import correlation_by_bin
from pairbank.stats.bootstrap import bootstrap_mean, bootstrap_statistic
from pairbank.stats.compare import compare, corrected
from pairbank.stats.human_agreement import human_agreement
from pairbank.stats.languages import leave_one_out
from pairbank.stats.layout import MethodLayout
from pairbank.stats.results import Estimate, undefined
from pairbank.stats.separability import auc
from pairbank.stats.summary import summarise
from pairbank.stats.tables import accuracy_table, agreement_table, to_markdown

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
