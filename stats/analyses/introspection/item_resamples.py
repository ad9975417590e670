"""Correlations of all pairs of models in resamples of the items: in, deltas and a generator; out, arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.stats.analyses.introspection.model_pairs import complete_items, standardised
from pairbank.stats.estimates.bootstrap import CLUSTERS, ROWS

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.scored_table.delta_stack import DeltaStack

_CHUNK_NUMBERS = 2**22
_ITEMS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ResampledCorrelations:
    """What `PairCorrelations` has, once for each resample of the items; NaN where an r is undefined."""

    direct_direct: FloatArray
    """Shape (resamples, models read, models read)."""
    meta_direct_by_prompt: FloatArray
    """Shape (prompts, resamples, models read, models asked)."""
    direct_direct_by_prompt: FloatArray
    """The first on the items of each prompt, shape (prompts, resamples, models read, models read)."""
    method: str = ROWS
    """What was drawn: items, or their paradigms whole."""


def resampled_correlations(stack: DeltaStack, *, rng: np.random.Generator, n_resamples: int) -> ResampledCorrelations:
    """Return the correlations of resamples of the items that every model has direct deltas of.

    Args:
        stack: The deltas of the models; items are drawn, or paradigms where the stack says so.
        rng: Source of the resamples.
        n_resamples: How many.

    >>> from pairbank.stats.scored_table.delta_stack import DeltaStack
    >>> direct = np.array([[1.0, 2.0, 3.0, 5.0], [3.0, 1.0, 2.0, 4.0]])
    >>> stack = DeltaStack(corpus="toy", models=("a", "b"), prompts=("meta",), item_ids=("w", "x", "y", "z"),
    ...                    n_identical=0, direct_nats=direct, meta_nats=direct[np.newaxis])
    >>> found = resampled_correlations(stack, rng=np.random.default_rng(7), n_resamples=5)
    >>> found.direct_direct.shape, found.meta_direct_by_prompt.shape
    ((5, 2, 2), (1, 5, 2, 2))
    """
    has_direct = complete_items(stack.direct_nats)
    n_items, n_models, n_prompts = int(has_direct.sum()), len(stack.models), len(stack.prompts)
    direct = _rows(stack.direct_nats[:, has_direct])
    prompts = [
        (items, _rows(meta[:, items]))
        for meta in stack.meta_nats[:, :, has_direct]
        for items in [np.flatnonzero(complete_items(meta))]
    ]
    found = np.full((1 + 2 * n_prompts, n_resamples, n_models, n_models), np.nan)
    chunk = max(1, _CHUNK_NUMBERS // max(1, n_items))
    draws = np.arange(n_items)
    if stack.clusters is not None:
        _, draws = np.unique(stack.clusters[has_direct], return_inverse=True)
    n_draws = int(draws.max(initial=-1)) + 1
    for start in range(0, n_resamples if n_items else 0, chunk):
        at = slice(start, min(start + chunk, n_resamples))
        drawn = rng.integers(n_draws, size=(at.stop - at.start, n_draws))
        copies = np.stack([np.bincount(row, minlength=n_draws)[draws] for row in drawn]).astype(np.float64)
        found[0, at] = _weighted_r(copies, direct, direct)
        for nth, (items, meta) in enumerate(prompts):
            here, read = copies[:, items], _rows(direct[:, items])
            found[1 + nth, at] = _weighted_r(here, read, meta)
            same = items.size == n_items
            found[1 + n_prompts + nth, at] = found[0, at] if same else _weighted_r(here, read, read)
    return ResampledCorrelations(
        direct_direct=found[0],
        meta_direct_by_prompt=found[1 : 1 + n_prompts],
        direct_direct_by_prompt=found[1 + n_prompts :],
        method=ROWS if stack.clusters is None else CLUSTERS,
    )


def _rows(values: FloatArray) -> FloatArray:
    """Return standardised rows; what does not vary is 0, and its r undefined."""
    return np.nan_to_num(standardised(values))


def _weighted_r(copies: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return r of every row of the first with every row of the second in each resample, from its moments.

    The rows are standardised over all items, so that the differences below lose no digits.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # several threads would change last digits
        moments = {
            "x": copies @ first.T,
            "y": copies @ second.T,
            "xx": copies @ (first**2).T,
            "yy": copies @ (second**2).T,
            "xy": _sums_of_products(copies, first, second),
        }
    n = copies.sum(axis=1)[:, np.newaxis]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = moments["x"] / n, moments["y"] / n
        spread_x, spread_y = moments["xx"] - n * mean_x**2, moments["yy"] - n * mean_y**2
        shared = moments["xy"] - n[:, :, np.newaxis] * mean_x[:, :, np.newaxis] * mean_y[:, np.newaxis]
        spread = np.maximum(spread_x, 0)[:, :, np.newaxis] * np.maximum(spread_y, 0)[:, np.newaxis]
    r = np.full(shared.shape, np.nan)
    np.divide(shared, np.sqrt(spread), out=r, where=spread > 1e-24)
    return np.asarray(np.clip(r, -1.0, 1.0))


def _sums_of_products(copies: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the sum of each product of rows in each resample, shape (resamples, first, second)."""
    total = np.zeros((len(copies), len(first), len(second)))
    for start in range(0, copies.shape[1], _ITEMS_AT_ONCE):
        at = slice(start, start + _ITEMS_AT_ONCE)
        products = first[:, at].T[:, :, np.newaxis] * second[:, at].T[:, np.newaxis]
        total += (copies[:, at] @ products.reshape(len(products), -1)).reshape(total.shape)
    return total
