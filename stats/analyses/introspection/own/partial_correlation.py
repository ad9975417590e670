"""Answers with own probabilities, given all other models': in, correlations; out, partial correlations. No test.

The others' direct differences measure only imperfectly what models share, so that a partial correlation given them
keeps some of it: without privileged access it is above 0, the more so the fewer relatives there are (errors in the
variables; Westfall & Yarkoni 2016, "Statistically controlling for confounding constructs is harder than you think").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.analyses.introspection.model_pairs import mean_over_prompts
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations

METHOD = "none"
_SINGULAR = 1e-8
_DIGITS = 10
"""Numbers are rounded, so that the order of sums on another machine shows in no digit."""


def partial_correlations(direct_direct: FloatArray, meta_direct: FloatArray) -> FloatArray:
    """Return r of each model's answers with its own direct differences, given the direct differences of all others.

    Args:
        direct_direct: Correlations of direct differences, shape (models, models).
        meta_direct: Correlations of direct differences (rows) with answers (columns), likewise.

    Returns:
        Shape (models,); NaN where the direct differences of some are linear combinations of the others' or an r is
        undefined. The same as `pingouin.partial_corr`, which takes one model at a time.

    >>> direct = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> # by hand: 0.45 / sqrt(0.75 * 0.91), -.15 / sqrt(0.75 * 0.91)
    >>> partial_correlations(direct, np.array([[0.6, 0.3], [0.3, 0.0]])).round(6).tolist()
    [0.544705, -0.181568]
    """
    n_models = len(direct_direct)
    values = np.full(n_models, np.nan)
    for asked in range(n_models):
        r = np.ones((n_models + 1, n_models + 1))
        r[:-1, :-1], r[:-1, -1], r[-1, :-1] = direct_direct, meta_direct[:, asked], meta_direct[:, asked]
        if np.isfinite(r).all() and np.linalg.eigvalsh(r)[0] > _SINGULAR:
            inverse = np.linalg.inv(r)
            values[asked] = -inverse[asked, -1] / np.sqrt(inverse[asked, asked] * inverse[-1, -1])
    return values


def mean_partial(found: PairCorrelations, *, n_items: int) -> Estimate:
    """Return the mean over prompts and models, a value without an interval: it is above 0 under the null too.

    Args:
        found: The correlations of all pairs.
        n_items: Items there were.
    """
    both = np.flatnonzero(~np.isnan(np.diag(found.meta_direct)) & ~np.isnan(np.diag(found.direct_direct)))
    at = np.ix_(both, both)
    if len(both) < 2:
        why = f"{len(both)} models have both direct and prompted scores; at least 2 are compared"
        return undefined(why, n=n_items, method=METHOD)
    prompts = zip(found.direct_direct_by_prompt, found.meta_direct_by_prompt, strict=True)
    by_model = mean_over_prompts(np.array([partial_correlations(direct[at], meta[at]) for direct, meta in prompts]))
    if np.isnan(by_model).any():
        why = f"the direct differences of the {len(both)} models on {n_items} items are linearly dependent"
        return undefined(why, n=n_items, method=METHOD)
    value = round(float(by_model.mean()), _DIGITS)
    return without_interval(value, "no test: above 0 without privileged access too", n=n_items, method=METHOD)
