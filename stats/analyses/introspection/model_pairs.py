"""Every pair of models, one asked and one read directly (Song, Hu & Mahowald 2025, section 3.1; their analysis.R)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.analyses.form import Words, typed
from pairbank.stats.estimates.bootstrap import CLUSTERS, ROWS
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.shares import signs, varies
from pairbank.stats.scored_table.model_features import ModelFeatures, match_type
from pairbank.stats.scored_table.scored_table import DeltaStack

_NAMES, _SIZES = ("direct_model", "meta_model", "match_type"), ("direct_size_billions", "meta_size_billions")
COLUMNS = (*_NAMES, *_SIZES, "direct_direct", "meta_direct", "n_prompts", "n_items", "reason")
"""Of the table of pairs. `direct_direct` is the published `prob_corr`, `meta_direct` the published `mean_prompt_corr`;
`n_prompts` counts the prompts whose r is defined."""

LEAST_SHARE = 0.05
KEPT = "kept"
OUTCOMES = ("both agree", "prompted answers agree", "direct answers agree", KEPT)
"""By whether prompted (1) and direct answers (2) differ enough."""
_CHUNK_NUMBERS = 2**22
_ITEMS_AT_ONCE = 4096


@functools.cache
def words() -> Words:
    """Return the template, for reasons that are cells of tables too."""
    return Words(Path(__file__).with_name("introspection.md.j2"), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCorrelations:
    """Pearson's r of every ordered pair of models; NaN where it is undefined."""

    direct_direct: FloatArray
    """Shape (models read directly, models read directly)."""
    meta_direct: FloatArray
    """Mean over the prompts whose r is defined, shape (models read directly, models asked)."""
    meta_direct_by_prompt: FloatArray
    """Shape (prompts, models read directly, models asked)."""
    direct_direct_by_prompt: FloatArray
    """The first on the items of each prompt, shape (prompts, models read directly, models read directly)."""
    n_items_direct: int
    n_items_by_prompt: IntArray
    """Items that all models that have the prompt answered, shape (prompts,)."""


def complete_items(values: FloatArray) -> BoolArray:
    """Return the items that no model lacks; a model that lacks all of them is passed over.

    >>> complete_items(np.array([[1.0, np.nan, 2.0], [np.nan] * 3, [0.0, 1.0, 2.0]])).tolist()
    [True, False, True]
    """
    present = ~np.isnan(values)
    scored = present[present.any(axis=1)]
    return np.asarray(scored.all(axis=0)) if len(scored) else np.zeros(values.shape[1], dtype=np.bool_)


def standardised(values: FloatArray) -> FloatArray:
    """Return rows with mean 0 and length 1, so that a product of two is r; NaN where one varies by rounding only.

    >>> standardised(np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])).round(3).tolist()
    [[-0.707, 0.0, 0.707], [nan, nan, nan]]
    """
    n_items = values.shape[-1]
    mean = values.mean(axis=-1, keepdims=True) if n_items else np.full((*values.shape[:-1], 1), np.nan)
    centred = values - mean
    length = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    with np.errstate(invalid="ignore"):
        has_r = varies(values)[..., np.newaxis] & (length > 1e-11 * np.abs(mean))
    out = np.full(values.shape, np.nan)
    np.divide(centred, length, out=out, where=np.broadcast_to(has_r, values.shape))
    return out


def pair_correlations(stack: DeltaStack) -> PairCorrelations:
    """Return the correlations of all ordered pairs.

    All pairs are compared on the same items: those that every model answered with the prompt (and directly). With
    complete tables that is every item, as published. A prompt whose r is undefined for a pair (a model that gives one
    answer to everything, or was not asked) is left out of the pair's mean.
    """
    has_direct = complete_items(stack.direct_nats)
    direct = standardised(stack.direct_nats[:, has_direct])
    direct_direct = _products(direct, direct)
    np.fill_diagonal(direct_direct, np.where(np.isnan(np.diag(direct_direct)), np.nan, 1.0))  # not 1 - 2e-16
    by_prompt, similar = np.full((2, len(stack.prompts), len(stack.models), len(stack.models)), np.nan)
    n_items = np.zeros(len(stack.prompts), dtype=np.int64)
    for nth, meta_nats in enumerate(stack.meta_nats):
        both = has_direct & complete_items(meta_nats)
        n_items[nth] = both.sum()
        read = standardised(stack.direct_nats[:, both])
        by_prompt[nth], similar[nth] = _products(read, standardised(meta_nats[:, both])), _products(read, read)
    return PairCorrelations(
        direct_direct=direct_direct,
        meta_direct=mean_of_known(by_prompt, axis=0),
        meta_direct_by_prompt=by_prompt,
        direct_direct_by_prompt=similar,
        n_items_direct=int(has_direct.sum()),
        n_items_by_prompt=n_items,
    )


def pair_table(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return one row per ordered pair of models, the first read directly and the second asked."""
    r = pair_correlations(stack)
    declared = [features.get(model) for model in stack.models]
    sizes = [np.nan if known is None else float(known.size_billions) for known in declared]
    has_r = ~np.isnan(r.meta_direct_by_prompt)
    rows = []
    for (a, direct), (b, meta) in itertools.product(enumerate(stack.models), repeat=2):
        kind = match_type(direct, declared[a], meta, declared[b])
        n_items = int(r.n_items_by_prompt[has_r[:, a, b]].max(initial=0))
        values = r.direct_direct[a, b], r.meta_direct[a, b], has_r[:, a, b].sum(), n_items
        rows.append((direct, meta, kind, sizes[a], sizes[b], *values, _reason(stack, r, a, b)))
    return typed([dict(zip(COLUMNS, row, strict=True)) for row in rows])


def big_models(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of which both models have at least 70 billion parameters (Song et al.)."""
    return pairs[pairs[["direct_size_billions", "meta_size_billions"]].min(axis=1, skipna=False) >= 70]


def of_models(pairs: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    return pairs[pairs["direct_model"].isin(list(models)) & pairs["meta_model"].isin(list(models))]


def _products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return r of every row of the first with every row of the second, shape (first, second)."""
    if first.shape[-1] < 2:
        return np.full((len(first), len(second)), np.nan)
    # einsum, not BLAS: its threads would change last digits
    return np.asarray(np.clip(np.einsum("ai,bi->ab", first, second), -1.0, 1.0))


def _reason(stack: DeltaStack, r: PairCorrelations, a: int, b: int) -> str | None:
    if not stack.item_ids:
        return "there are no items"
    for model in (a, b):
        if np.isnan(stack.direct_nats[model]).all():
            return f"{stack.models[model]} has no direct scores"
    if np.isnan(stack.meta_nats[:, b]).all():
        return f"{stack.models[b]} has no prompted scores"
    for value, n_items, reason in (
        (r.direct_direct[a, b], r.n_items_direct, "direct deltas do not vary"),
        (r.meta_direct[a, b], int(r.n_items_by_prompt.max(initial=0)), "the deltas of no prompt vary"),
    ):
        if np.isnan(value):
            return f"a correlation needs 2 items, there are {n_items}" if n_items < 2 else reason
    return None


def disagreement(direct_nats: FloatArray, meta_nats: FloatArray, *, least_share: float = LEAST_SHARE) -> pd.DataFrame:
    """Return one row per item: shares of negative deltas, directly and asked, whether it is kept, and its outcome.

    An item is kept where both shares lie in [least_share, 1 - least_share]. As published, they are over rows of model x
    prompt: the direct delta of a model counts once for each prompt that the model answers, and the prompted criterion
    is about cells, not models. A delta of exactly 0 is not negative. A cell that is NaN is not a row; an item without
    rows is not kept.
    """
    if direct_nats.ndim != 2 or meta_nats.ndim != 3 or meta_nats.shape[1:] != direct_nats.shape:
        raise BankError(
            f"direct deltas have shape {direct_nats.shape}, prompted ones {meta_nats.shape}; expected (models, items) "
            "and (prompts, models, items)"
        )
    if not 0 < least_share <= 0.5:
        raise BankError(f"least_share is {least_share!r}; expected a share in (0, 0.5], such as 0.05")
    is_row = ~np.isnan(meta_nats)
    direct, meta = (
        mean_of_known(np.where(is_row & ~np.isnan(nats), signs(nats) < 0, np.nan), axis=(0, 1))
        for nats in (direct_nats, meta_nats)
    )
    differ = 2 * ((meta >= least_share) & (meta <= 1 - least_share))
    differ += (direct >= least_share) & (direct <= 1 - least_share)
    shares = pd.DataFrame({"direct_negative_share": direct, "meta_negative_share": meta})
    outcomes = np.array(OUTCOMES, dtype=object)[differ]
    return shares.assign(kept=differ == OUTCOMES.index(KEPT), outcome=outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResampledCorrelations:
    """What `PairCorrelations` has, once for each resample of the items; NaN where an r is undefined."""

    direct_direct: FloatArray
    """Shape (resamples, models read, models read)."""
    meta_direct_by_prompt: FloatArray
    """Shape (prompts, resamples, models read, models asked)."""
    method: str = ROWS
    """What was drawn: items, or their paradigms whole."""


def resampled_correlations(stack: DeltaStack, *, rng: np.random.Generator, n_resamples: int) -> ResampledCorrelations:
    """Return the correlations of resamples of the items that every model has direct deltas of."""
    has_direct = complete_items(stack.direct_nats)
    n_items, n_models, n_prompts = int(has_direct.sum()), len(stack.models), len(stack.prompts)
    direct = _rows(stack.direct_nats[:, has_direct])
    prompts = [
        (items, _rows(meta[:, items]))
        for meta in stack.meta_nats[:, :, has_direct]
        for items in [np.flatnonzero(complete_items(meta))]
    ]
    r = np.full((1 + n_prompts, n_resamples, n_models, n_models), np.nan)
    chunk = max(1, _CHUNK_NUMBERS // max(1, n_items))
    draws = np.arange(n_items)
    if stack.clusters is not None:
        _, draws = np.unique(stack.clusters[has_direct], return_inverse=True)
    n_draws = int(draws.max(initial=-1)) + 1
    for start in range(0, n_resamples if n_items else 0, chunk):
        at = slice(start, min(start + chunk, n_resamples))
        drawn = rng.integers(n_draws, size=(at.stop - at.start, n_draws))
        copies = np.stack([np.bincount(row, minlength=n_draws)[draws] for row in drawn]).astype(np.float64)
        r[0, at] = _weighted_r(copies, direct, direct)
        for nth, (items, meta) in enumerate(prompts, start=1):
            r[nth, at] = _weighted_r(copies[:, items], _rows(direct[:, items]), meta)
    method = ROWS if stack.clusters is None else CLUSTERS
    return ResampledCorrelations(direct_direct=r[0], meta_direct_by_prompt=r[1:], method=method)


def _rows(values: FloatArray) -> FloatArray:
    """Return standardised rows; what does not vary is 0, and its r undefined."""
    return np.nan_to_num(standardised(values))


def _weighted_r(copies: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return r of every row of the first with every row of the second in each resample, from its moments.

    The rows are standardised over all items, so that the differences below lose no digits.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # several threads would change last digits
        sum_x, sum_y, sum_xx, sum_yy = (copies @ part.T for part in (first, second, first**2, second**2))
        sum_xy = np.zeros((len(copies), len(first), len(second)))
        for start in range(0, copies.shape[1], _ITEMS_AT_ONCE):
            at = slice(start, start + _ITEMS_AT_ONCE)
            products = first[:, at].T[:, :, np.newaxis] * second[:, at].T[:, np.newaxis]
            sum_xy += (copies[:, at] @ products.reshape(len(products), -1)).reshape(sum_xy.shape)
    n = copies.sum(axis=1)[:, np.newaxis]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = sum_x / n, sum_y / n
        spread_x, spread_y = sum_xx - n * mean_x**2, sum_yy - n * mean_y**2
        shared = sum_xy - n[:, :, np.newaxis] * mean_x[:, :, np.newaxis] * mean_y[:, np.newaxis]
        spread = np.maximum(spread_x, 0)[:, :, np.newaxis] * np.maximum(spread_y, 0)[:, np.newaxis]
    r = np.full(shared.shape, np.nan)
    np.divide(shared, np.sqrt(spread), out=r, where=spread > 1e-24)
    return np.asarray(np.clip(r, -1.0, 1.0))
