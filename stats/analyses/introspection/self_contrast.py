"""How much better a model's answers follow its own probabilities than other models': in, deltas; out, Estimates.

Ours, beside Song, Hu & Mahowald 2025: the same contrasts as their Table 7 (self against each match type, at equal
similarity) with a percentile bootstrap over items. Their standard errors take the pairs of models for independent
observations, though each model stands in many pairs; resampling items leaves the models as they are, and says how far
the contrast would move with other items like these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES, SELF
from pairbank.stats.analyses.introspection.model_pairs import mean_over_prompts
from pairbank.stats.estimates.bootstrap import percentile_estimate
from pairbank.stats.estimates.estimate import Estimate, undefined

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.item_resamples import ResampledCorrelations
    from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations

ANY_OTHER = "any other model"
_DIGITS = 10
"""Ends of intervals are rounded, so that the order of sums on another machine shows in no digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfContrast:
    """The advantage of self over one match type, in units of r; positive where a model follows itself better."""

    match_type: str
    """The match type, or `any other model` for all of them together."""
    n_self: int
    """Pairs of a model with itself."""
    n_pairs: int
    """Pairs of the match type."""
    plain: Estimate
    """Mean r of self minus mean r of the match type."""
    at_equal_similarity: Estimate
    """The same at equal r(direct of A, direct of B): minus the match type's coefficient in Table 7."""


def self_contrasts(
    found: PairCorrelations,
    resampled: ResampledCorrelations,
    match_types: Sequence[str],
    *,
    level: float = 0.95,
) -> tuple[SelfContrast, ...]:
    """Return the contrast of self with each match type that occurs, and with all other models together.

    Args:
        found: The correlations of all pairs.
        resampled: Those of resamples of the items.
        match_types: Of every ordered pair, row-major over (model read directly, model asked).
        level: Confidence level, a share.

    Returns:
        In the order of `MATCH_TYPES`, then `any other model`. A contrast is undefined, with a reason, where a side
        has no pair, or, at equal similarity, where similarity does not vary within match types.

    >>> from pairbank.stats.scored_table.delta_stack import DeltaStack
    >>> from pairbank.stats.analyses.introspection.item_resamples import resampled_correlations
    >>> from pairbank.stats.analyses.introspection.model_pairs import pair_correlations
    >>> direct = np.array([[1.0, 2.0, 3.0, 5.0], [3.0, 1.0, 2.0, 4.0]])
    >>> stack = DeltaStack(corpus="toy", models=("a", "b"), prompts=("meta",), item_ids=("w", "x", "y", "z"),
    ...                    n_identical=0, direct_nats=direct, meta_nats=direct[np.newaxis])
    >>> resampled = resampled_correlations(stack, rng=np.random.default_rng(7), n_resamples=50)
    >>> found = self_contrasts(pair_correlations(stack), resampled, ["self", "other", "other", "self"])
    >>> round(found[0].plain.value, 4), found[0].at_equal_similarity.reason  # r(a, b) is .5292
    (0.4708, 'similarity does not vary within match types, so that it cannot be told apart from them')
    """
    x, y = found.direct_direct.reshape(1, -1), found.meta_direct.reshape(1, -1)
    mean = mean_over_prompts(resampled.meta_direct_by_prompt)
    draws = resampled.direct_direct.reshape(len(mean), -1), mean.reshape(len(mean), -1)
    kinds = [kind for kind in MATCH_TYPES if kind in set(match_types)]
    codes = np.array([kinds.index(kind) for kind in match_types], dtype=np.int64)
    both = (codes > 0).astype(np.int64) if SELF in kinds else np.ones_like(codes)
    contrasts = []
    for labels, names, picked in (
        (codes, kinds, [kind for kind in kinds if kind != SELF]),
        (both, [SELF, ANY_OTHER], [ANY_OTHER]),
    ):
        value, spread = _contrasts(x, y, labels, len(names)), _contrasts(*draws, labels, len(names))
        used = ~np.isnan(x[0]) & ~np.isnan(y[0])
        for name in picked:
            nth = names.index(name)
            n_self, n_pairs = int((used & (labels == 0)).sum()), int((used & (labels == nth)).sum())
            estimates = {
                kind: _estimate(
                    value[kind][0, nth],
                    spread[kind][:, nth],
                    _why(kind, n_self, n_pairs),
                    n=found.n_items_direct,
                    level=level,
                    method=resampled.method,
                )
                for kind in value
            }
            contrasts.append(SelfContrast(match_type=name, n_self=n_self, n_pairs=n_pairs, **estimates))
    return tuple(contrasts)


def adjusted_differences(x: FloatArray, y: FloatArray, groups: FloatArray) -> FloatArray:
    """Return how much higher the first group's mean is than each group's, at equal x (analysis of covariance).

    The slope of x is common to the groups. Minus the result is the group's coefficient in `lm(y ~ x + group)`.

    Args:
        x: The covariate, shape (resamples, rows); NaN leaves the row out.
        y: The outcome, likewise.
        groups: 1 where a row is in a group, shape (rows, groups).

    Returns:
        Shape (resamples, groups); NaN where a group is empty or x does not vary within groups.

    >>> groups = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    >>> adjusted_differences(np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 2, 2, 3]]), groups).round(6).tolist()
    [[0.0, 1.0]]
    """
    there = (~np.isnan(x) & ~np.isnan(y)).astype(np.float64)
    x, y = np.where(there > 0, x, 0.0), np.where(there > 0, y, 0.0)
    n = _grouped(there, groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = _grouped(x, groups) / n, _grouped(y, groups) / n
    fill_x, fill_y = (np.einsum("rg,ig->ri", np.nan_to_num(mean), groups) for mean in (mean_x, mean_y))
    within_x, within_y = (x - fill_x) * there, (y - fill_y) * there
    variation, shared = (within_x**2).sum(axis=1), (within_x * within_y).sum(axis=1)
    slope = np.full(len(x), np.nan)
    np.divide(shared, variation, out=slope, where=variation > 1e-16 * x.shape[1])
    level = mean_y - slope[:, np.newaxis] * mean_x
    return np.asarray(level[:, :1] - level)


def _contrasts(x: FloatArray, y: FloatArray, codes: np.ndarray, n_groups: int) -> dict[str, FloatArray]:
    """Return both contrasts of group 0 with each group, shape (resamples, groups)."""
    groups = (codes[:, np.newaxis] == np.arange(n_groups)).astype(np.float64)
    there = (~np.isnan(x) & ~np.isnan(y)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _grouped(np.where(there > 0, y, 0.0), groups) / _grouped(there, groups)
    return {"plain": mean[:, :1] - mean, "at_equal_similarity": adjusted_differences(x, y, groups)}


def _grouped(values: FloatArray, groups: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ri,ig->rg", values, groups))


def _why(kind: str, n_self: int, n_pairs: int) -> str:
    """Return why a contrast is undefined, if it is."""
    if not n_self or not n_pairs:
        return f"{n_self} pairs of a model with itself and {n_pairs} of this type have a defined r; both need one"
    if kind == "plain":
        return "r is undefined for these items"
    return "similarity does not vary within match types, so that it cannot be told apart from them"


def _estimate(value: float, resampled: FloatArray, reason: str, *, n: int, level: float, method: str) -> Estimate:
    if np.isnan(value):
        return undefined(reason, n=n, method=method, level=level)
    return percentile_estimate(float(value), resampled.round(_DIGITS), n=n, method=method, level=level)
