"""How well each model's answers follow each model's probabilities: in, stacked deltas; out, one row a pair of models.

For every ordered pair, A read directly and B asked: r(direct of A, asked B), the mean over prompts of Pearson's r, and
r(direct of A, direct of B), which is how similar the two models are. Song, Hu & Mahowald 2025, sections 2 and 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.stats.analyses.introspection.model_features import match_type
from pairbank.stats.estimates.ties import varies

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures
    from pairbank.stats.scored_table.delta_stack import DeltaStack

COLUMNS = {
    "direct_model": "string",
    "meta_model": "string",
    "match_type": "string",
    "direct_size_billions": "float64",
    "meta_size_billions": "float64",
    "direct_direct": "float64",
    "meta_direct": "float64",
    "n_prompts": "int64",
    "n_items": "int64",
    "reason": "string",
}
"""Columns of the table of pairs and their types. `direct_direct` is the published `prob_corr`, `meta_direct` the
published `mean_prompt_corr`; `n_prompts` counts the prompts whose r is defined."""


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

    Args:
        values: Shape (models, items).

    >>> complete_items(np.array([[1.0, np.nan, 2.0], [np.nan] * 3, [0.0, 1.0, 2.0]])).tolist()
    [True, False, True]
    """
    there = ~np.isnan(values)
    scored = there[there.any(axis=1)]
    return np.asarray(scored.all(axis=0)) if len(scored) else np.zeros(values.shape[1], dtype=np.bool_)


def standardised(values: FloatArray) -> FloatArray:
    """Return rows with mean 0 and length 1, so that a product of two is their r; NaN where one varies by rounding only.

    Args:
        values: Shape (..., items).

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

    Args:
        stack: The deltas of the models.

    Source: Song, Hu & Mahowald 2025, section 3.1 "Measuring introspection"; the authors' analysis.R.

    >>> from pairbank.stats.scored_table.delta_stack import DeltaStack
    >>> direct, meta = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), np.array([[[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]]])
    >>> stack = DeltaStack(corpus="toy", models=("a", "b"), prompts=("meta",), item_ids=("x", "y", "z"),
    ...                    n_identical=0, direct_nats=direct, meta_nats=meta)
    >>> pair_correlations(stack).meta_direct.round(6).tolist()
    [[1.0, 0.5], [-0.5, -1.0]]
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
        meta_direct=mean_over_prompts(by_prompt),
        meta_direct_by_prompt=by_prompt,
        direct_direct_by_prompt=similar,
        n_items_direct=int(has_direct.sum()),
        n_items_by_prompt=n_items,
    )


def mean_over_prompts(values: FloatArray) -> FloatArray:
    """Return the mean over the first axis of what is not NaN; NaN where nothing is.

    >>> mean_over_prompts(np.array([[1.0, np.nan], [0.0, np.nan]])).tolist()
    [0.5, nan]
    """
    there = ~np.isnan(values)
    n = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def pair_table(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return one row an ordered pair of models, the first read directly and the second asked.

    Args:
        stack: The deltas of the models.
        features: By model name; None or absent where nothing is declared.

    Returns:
        The columns and types of `COLUMNS`; models x models rows in the order of the models.
    """
    found = pair_correlations(stack)
    n_prompts = (~np.isnan(found.meta_direct_by_prompt)).sum(axis=0)
    rows = [
        {
            "direct_model": direct,
            "meta_model": meta,
            "match_type": match_type(direct, features.get(direct), meta, features.get(meta)),
            "direct_size_billions": _size(features.get(direct)),
            "meta_size_billions": _size(features.get(meta)),
            "direct_direct": found.direct_direct[a, b],
            "meta_direct": found.meta_direct[a, b],
            "n_prompts": n_prompts[a, b],
            "n_items": _n_items(found, a, b),
            "reason": _reason(stack, found, a, b),
        }
        for a, direct in enumerate(stack.models)
        for b, meta in enumerate(stack.models)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def big_models(pairs: pd.DataFrame, *, least_billions: float = 70) -> pd.DataFrame:
    """Return the pairs of which both models have at least so many billion parameters (Song et al.: 70).

    >>> table = pd.DataFrame({"direct_size_billions": [70.0, 8.0], "meta_size_billions": [72.0, 72.0]})
    >>> big_models(table).index.tolist()
    [0]
    """
    return pairs[(pairs["direct_size_billions"] >= least_billions) & (pairs["meta_size_billions"] >= least_billions)]


def of_models(pairs: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return the pairs of which both models are among those named.

    >>> table = pd.DataFrame({"direct_model": ["a", "a"], "meta_model": ["a", "b"]})
    >>> len(of_models(table, ["a"]))
    1
    """
    return pairs[pairs["direct_model"].isin(list(models)) & pairs["meta_model"].isin(list(models))]


def _products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return r of every row of the first with every row of the second, shape (first, second)."""
    if first.shape[-1] < 2:
        return np.full((len(first), len(second)), np.nan)
    # einsum, not BLAS: its threads would change last digits
    return np.asarray(np.clip(np.einsum("ai,bi->ab", first, second), -1.0, 1.0))


def _size(features: ModelFeatures | None) -> float:
    return np.nan if features is None else float(features.size_billions)


def _n_items(found: PairCorrelations, a: int, b: int) -> int:
    """Return the most items that an r of the pair rests on."""
    defined = ~np.isnan(found.meta_direct_by_prompt[:, a, b])
    return int(found.n_items_by_prompt[defined].max(initial=0))


def _reason(stack: DeltaStack, found: PairCorrelations, a: int, b: int) -> str | None:
    """Return why a number of the pair is undefined, or None."""
    if not stack.item_ids:
        return "there are no items"
    for who in (a, b):
        if np.isnan(stack.direct_nats[who]).all():
            return f"{stack.models[who]} has no direct scores"
    if np.isnan(stack.meta_nats[:, b]).all():
        return f"{stack.models[b]} has no prompted scores"
    if np.isnan(found.direct_direct[a, b]):
        return _too_few(found.n_items_direct) or "direct deltas do not vary"
    if np.isnan(found.meta_direct[a, b]):
        return _too_few(int(found.n_items_by_prompt.max(initial=0))) or "the deltas of no prompt vary"
    return None


def _too_few(n_items: int) -> str | None:
    return f"a correlation needs 2 items, there are {n_items}" if n_items < 2 else None
