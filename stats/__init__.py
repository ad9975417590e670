"""Scored tables in, named estimates with intervals out. Importing it loads numpy and pandas only."""

from __future__ import annotations

from pairbank.markdown import to_markdown
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.languages.statistics import leave_one_out
from pairbank.stats.estimates.bootstrap import bootstrap_mean, bootstrap_statistic
from pairbank.stats.estimates.estimate import Estimate, undefined
from pairbank.stats.measures.accuracy import accuracy, accuracy_pooled, balanced_accuracy, position_bias
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement, spearman
from pairbank.stats.measures.distance_bins import correlation_by_bin
from pairbank.stats.measures.paired_tests import compare, corrected
from pairbank.stats.measures.people.human_agreement import human_agreement
from pairbank.stats.measures.roc import auc
from pairbank.stats.report.summary import summarise
from pairbank.stats.report.wide_tables import accuracy_table, agreement_table

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
