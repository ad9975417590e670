"""The items on which models disagree: in, the deltas of several models; out, which items are kept and why.

Song, Hu & Mahowald 2025, section 3.1: introspection cannot show on items so easy that all models and methods give the
same answer, so an item is kept only if at least 5% of the answers differ, directly and when asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.ties import signs

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray

LEAST_SHARE = 0.05
_OUTCOMES = {
    (True, True): "kept",
    (False, True): "direct answers agree",
    (True, False): "prompted answers agree",
    (False, False): "both agree",
}
"""By whether direct and prompted answers differ enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """How far answers differ on each item, and which items are kept."""

    keep: BoolArray
    """Whether the item is kept, shape (items,)."""
    direct_negative_share: FloatArray
    """Share of the direct deltas that are below 0, shape (items,); NaN where there is none."""
    meta_negative_share: FloatArray
    """Share of the prompted deltas that are below 0 over all models x prompts, shape (items,); NaN likewise."""
    least_share: float

    @property
    def outcomes(self) -> list[str]:
        """What happened to each item, in words: `kept`, or which answers agree too much."""
        low, high = self.least_share, 1 - self.least_share
        direct = (self.direct_negative_share >= low) & (self.direct_negative_share <= high)
        meta = (self.meta_negative_share >= low) & (self.meta_negative_share <= high)
        return [_OUTCOMES[bool(d), bool(m)] for d, m in zip(direct, meta, strict=True)]

    @property
    def counts(self) -> dict[str, int]:
        """How many items are kept, and how many fail on which side; the four add up to all items."""
        outcomes = self.outcomes
        return {name: outcomes.count(name) for name in _OUTCOMES.values()}


def disagreement(direct_nats: FloatArray, meta_nats: FloatArray, *, least_share: float = LEAST_SHARE) -> Disagreement:
    """Return the items on which at least `least_share` of the answers differ from the others, directly and asked.

    An item is kept where the share of negative deltas lies in [least_share, 1 - least_share], both for direct
    deltas and for prompted ones. As published, shares are taken over rows of model x prompt: the direct delta of a
    model counts once for each prompt that the model answers, and the prompted criterion is about cells, not models. A
    delta of exactly 0 is not negative. A cell that is NaN is not a row; an item without rows is not kept.

    Args:
        direct_nats: Shape (models, items).
        meta_nats: Shape (prompts, models, items).
        least_share: 0.05 as published.

    Raises:
        BankError: If the shapes do not go together, or the share is not in (0, 0.5].

    Source: Song, Hu & Mahowald 2025, section 3.1; the authors' analysis.R.

    >>> direct = np.array([[1.0, -1.0, 2.0], [1.0, 2.0, -1.0]])
    >>> meta = np.array([[[1.0, 0.5, 1.0], [-1.0, -0.5, 2.0]]])
    >>> disagreement(direct, meta).keep.tolist()
    [False, True, False]
    """
    if direct_nats.ndim != 2 or meta_nats.ndim != 3 or meta_nats.shape[1:] != direct_nats.shape:
        raise BankError(
            f"direct deltas have shape {direct_nats.shape}, prompted ones {meta_nats.shape}; expected (models, items) "
            "and (prompts, models, items)"
        )
    if not 0 < least_share <= 0.5:
        raise BankError(f"least_share is {least_share!r}; expected a share in (0, 0.5], such as 0.05")
    is_row = ~np.isnan(meta_nats)
    n_rows_of_model = (is_row & ~np.isnan(direct_nats)).sum(axis=0)
    direct = _share((signs(direct_nats) < 0) * n_rows_of_model, n_rows_of_model, axis=0)
    meta = _share(signs(meta_nats) < 0, is_row, axis=(0, 1))
    low, high = least_share, 1 - least_share
    keep = (direct >= low) & (direct <= high) & (meta >= low) & (meta <= high)
    return Disagreement(keep=keep, direct_negative_share=direct, meta_negative_share=meta, least_share=least_share)


def _share(hits: FloatArray | BoolArray, of: FloatArray | BoolArray, *, axis: int | tuple[int, ...]) -> FloatArray:
    """Return hits divided by rows, NaN where there are no rows."""
    n_hits, n_rows = hits.sum(axis=axis), of.sum(axis=axis)
    return np.asarray(np.divide(n_hits, n_rows, out=np.full(n_rows.shape, np.nan), where=n_rows > 0))
