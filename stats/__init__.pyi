# ruff: noqa: I001 - in the order in which data flow
from pairbank.markdown import to_markdown as to_markdown
from pairbank.scoring.api.layout import MethodLayout as MethodLayout
from pairbank.stats.analyses.languages.statistics import leave_one_out as leave_one_out
from pairbank.stats.estimates.bootstrap import bootstrap_mean as bootstrap_mean
from pairbank.stats.estimates.bootstrap import bootstrap_statistic as bootstrap_statistic
from pairbank.stats.estimates.estimate import Estimate as Estimate
from pairbank.stats.estimates.estimate import undefined as undefined
from pairbank.stats.measures.accuracy import accuracy as accuracy
from pairbank.stats.measures.accuracy import accuracy_pooled as accuracy_pooled
from pairbank.stats.measures.accuracy import balanced_accuracy as balanced_accuracy
from pairbank.stats.measures.accuracy import position_bias as position_bias
from pairbank.stats.measures.agreement import cohens_kappa as cohens_kappa
from pairbank.stats.measures.agreement import pearson as pearson
from pairbank.stats.measures.agreement import raw_agreement as raw_agreement
from pairbank.stats.measures.agreement import spearman as spearman
from pairbank.stats.measures.distance_bins import correlation_by_bin as correlation_by_bin
from pairbank.stats.measures.paired_tests import compare as compare
from pairbank.stats.measures.paired_tests import corrected as corrected
from pairbank.stats.measures.human_agreement import human_agreement as human_agreement
from pairbank.stats.measures.roc import auc as auc
from pairbank.stats.report.summary import summarise as summarise
from pairbank.stats.report.wide_tables import accuracy_table as accuracy_table
from pairbank.stats.report.wide_tables import agreement_table as agreement_table

__all__: list[str]  # noqa: PYI035 - the names above
