"""Small forms of tests/simulations/coverage.py: intervals on the data on which others fail."""

from functools import partial

import numpy as np
import pytest

from interval_cases import (
    Case,
    area,
    biased_trials,
    binary_pair,
    coverage,
    difference,
    heavy_pair,
    message_pairs,
    one_column,
    trials,
)
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import mean_of_items, share_of_items, share_of_trials
from pairbank.stats.measures.agreement import cohens_kappa, pearson, spearman

RUNS = 400
"""Two standard errors of a coverage of .95 are .022."""
CASES = (
    # Fisher's own interval covers .73 here
    Case("pearson", "heavy", partial(heavy_pair, r=0.5), pearson, 0.5),
    Case("spearman", "heavy", partial(heavy_pair, r=0.0), spearman, 0.0),
    # trials taken as independent cover .84
    Case("pooled", "alike", partial(trials, p=0.75, alike=0.8), share_of_trials, 0.75),
    # items taken as right or wrong cover .99
    Case("pooled", "biased", partial(biased_trials, p=0.5, bias=0.3), share_of_trials, 0.5),
    # the percentile bootstrap covers .80 to .90 in these three
    Case("difference", "near 1", partial(binary_pair, p=0.97, q=0.9, r=0.0), difference, 0.07),
    Case("auc", "null", partial(message_pairs, shift=0.0), area, 0.5),
    Case("mean log P", "heavy", partial(one_column, kind="heavy-tailed (t3)"), mean_of_items, -5.0),
    # phi of two median splits of normal variables that correlate at .7: 2 / pi * arcsin(.7)
    Case("kappa", "middling", partial(binary_pair, p=0.5, q=0.5, r=0.7), cohens_kappa, 2 / np.pi * np.arcsin(0.7)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.estimate}-{case.data}")
def test_the_interval_covers_in_93_to_97_percent_within_sampling_error(case: Case) -> None:
    result = coverage(case, 50, runs=RUNS)
    assert result.given > 0.99
    assert 0.93 - 0.02 <= result.held <= 0.97 + 0.02


def test_a_case_that_does_not_cover_is_seen() -> None:
    # a third of the width: a normal interval of .65 standard errors covers .49
    def narrow(values: np.ndarray) -> Estimate:
        whole = mean_of_items(values)
        half = (whole.high - whole.low) / 6
        return Estimate(value=whole.value, low=whole.value - half, high=whole.value + half, n=whole.n, method="narrow")

    case = Case("narrow", "normal", partial(one_column, kind="normal"), narrow, -5.0)
    assert 0.4 < coverage(case, 50, runs=RUNS).held < 0.6


def test_without_any_interval_there_is_no_coverage() -> None:
    case = Case("one item", "p = .5", lambda _, n: (np.full(n, 0.5),), share_of_items, 0.5)
    assert coverage(case, 1, runs=3).given == 0.0
