"""What a model's own probabilities add to everybody else's in predicting its answers: in, correlations; out, Estimates.

Ours. Song, Hu & Mahowald 2025 define introspection as the degree to which a model's answers go with its own
probabilities beyond what a model with nearly identical knowledge would predict. Here that is measured item by item: the
answers of each model are regressed on the direct differences of all models at once, and the coefficient of its own is
compared with the coefficients of the others. No declared features are needed, no line is extended to a similarity of
1, and two models are enough. Every model is once the own one of its answers and an other one for all other answers, so
that neither being easy to predict nor answering well favours a side by itself; where the same models do both, the
difference is above 0 without introspection, by about their covariance over (models - 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.analyses.introspection.model_pairs import mean_over_prompts
from pairbank.stats.estimates.bootstrap import ROWS, percentile_estimate
from pairbank.stats.estimates.estimate import Estimate, undefined

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.item_resamples import ResampledCorrelations
    from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations

_SINGULAR = 1e-8
_DIGITS = 10
"""Ends of intervals are rounded, so that the order of sums on another machine shows in no digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnContribution:
    """Standardised coefficients of direct differences in the regression of answers on those of all models."""

    own: Estimate
    """Mean coefficient of the asked model's own differences."""
    others: Estimate
    """Mean coefficient of the other models' differences."""
    advantage: Estimate
    """Own minus others: above 0 where answers follow the model's own probabilities more than theirs."""
    n_models: int
    """Models that are both read and asked."""


def own_contribution(
    found: PairCorrelations, resampled: ResampledCorrelations, *, level: float = 0.95
) -> OwnContribution:
    """Return the contribution of a model's own direct differences to the prediction of its answers.

    For each prompt and asked model, least squares of the prompted differences on the direct differences of all models,
    all standardised over items; coefficients are averaged over prompts, then over models. Intervals are percentile
    bootstrap intervals over items.

    Args:
        found: The correlations of all pairs.
        resampled: Those of resamples of the items.
        level: Confidence level, a share.

    Returns:
        Undefined, with a reason, below two models that are both read and asked, or where the direct differences of
        some are linear combinations of the others'.

    >>> from pairbank.stats.scored_table.delta_stack import DeltaStack
    >>> from pairbank.stats.analyses.introspection.item_resamples import resampled_correlations
    >>> from pairbank.stats.analyses.introspection.model_pairs import pair_correlations
    >>> rng = np.random.default_rng(7)
    >>> direct = rng.normal(size=(2, 50))  # unrelated models, each of which answers as its probabilities say
    >>> stack = DeltaStack(corpus="toy", models=("a", "b"), prompts=("meta",), item_ids=tuple(map(str, range(50))),
    ...                    n_identical=0, direct_nats=direct, meta_nats=direct[np.newaxis])
    >>> resampled = resampled_correlations(stack, rng=rng, n_resamples=50)
    >>> own_contribution(pair_correlations(stack), resampled).own.value.__round__(6)
    1.0
    """
    n_items = int(found.n_items_by_prompt.max(initial=0))
    both = np.flatnonzero(~np.isnan(np.diag(found.meta_direct)) & ~np.isnan(np.diag(found.direct_direct)))
    value = _summaries(found.direct_direct_by_prompt[:, np.newaxis], found.meta_direct_by_prompt[:, np.newaxis], both)
    spread = _summaries(resampled.direct_direct_by_prompt, resampled.meta_direct_by_prompt, both)
    if reason := _why_not(len(both), n_items, value):
        nothing = undefined(reason, n=n_items, method=ROWS, level=level)
        return OwnContribution(own=nothing, others=nothing, advantage=nothing, n_models=len(both))
    own, others, advantage = (
        percentile_estimate(float(v), s.round(_DIGITS), n=n_items, method=ROWS, level=level)
        for v, s in zip(value[:, 0], spread, strict=True)
    )
    return OwnContribution(own=own, others=others, advantage=advantage, n_models=len(both))


def standardised_coefficients(direct_direct: FloatArray, meta_direct: FloatArray) -> FloatArray:
    """Return the coefficients of the regression of each model's answers on all models' direct differences.

    Args:
        direct_direct: Correlations of the predictors, shape (..., models, models).
        meta_direct: Correlations of predictors (rows) with answers (columns), shape (..., models, asked).

    Returns:
        Shape (..., models, asked); NaN where the predictors are linearly dependent or an r is undefined.

    >>> standardised_coefficients(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0.8], [0.4]])).round(6).tolist()
    [[0.8], [0.0]]
    """
    identity = np.eye(direct_direct.shape[-1])
    usable = np.asarray(np.isfinite(direct_direct).all(axis=(-1, -2)))[..., np.newaxis, np.newaxis]
    safe = np.where(usable, direct_direct, identity)
    usable = usable & (np.linalg.eigvalsh(safe)[..., :1, np.newaxis] > _SINGULAR)
    found = np.linalg.solve(np.where(usable, safe, identity), np.nan_to_num(meta_direct))
    return np.where(usable & ~np.isnan(meta_direct).any(axis=-2, keepdims=True), found, np.nan)


def _summaries(direct_direct: FloatArray, meta_direct: FloatArray, models: np.ndarray) -> FloatArray:
    """Return mean own coefficient, mean other coefficient and their difference, shape (3, resamples)."""
    at = (..., models[:, np.newaxis], models)
    n_models = len(models)
    if n_models < 2:
        return np.full((3, meta_direct.shape[1]), np.nan)
    found = mean_over_prompts(standardised_coefficients(direct_direct[at], meta_direct[at]))
    total, own = found.sum(axis=(-1, -2)), np.trace(found, axis1=-2, axis2=-1)
    own, others = own / n_models, (total - own) / (n_models * (n_models - 1))
    return np.stack([own, others, own - others])


def _why_not(n_models: int, n_items: int, value: FloatArray) -> str | None:
    if n_models < 2:
        return f"{n_models} models have both direct and prompted scores; at least 2 are compared"
    if np.isnan(value).any():
        return (
            f"the direct deltas of the {n_models} models on {n_items} items are linearly dependent, or the answers of "
            "some do not vary"
        )
    return None
