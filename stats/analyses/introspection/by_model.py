"""What each model answers: in, the deltas of a corpus; out, a row per model and method.

Song, Hu & Mahowald 2025, figures 2a and 8 (share of items whose better side, or drawn word, is preferred), 5 (kappa).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import cohens_kappa
from pairbank.stats.scored_table.model_features import ModelFeatures, by_size

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.scored_table.scored_table import DeltaStack

ACCURACY, DRAWN = "accuracy", "share of drawn words preferred"
"""What `share` is: where one side is right, and where neither is."""


def by_model(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return the shares and kappas of a corpus, models in the order of their declared sizes."""
    rows = [row for model in by_size(stack.models, features) for row in _rows(stack, model, features.get(model))]
    return pd.DataFrame(rows)


def _rows(stack: DeltaStack, model: str, features: ModelFeatures | None) -> Iterator[dict[str, Any]]:
    nth = stack.models.index(model)
    direct = stack.direct_nats[nth]
    for method, delta in ((stack.reference, direct), *zip(stack.prompts, stack.meta_nats[:, nth], strict=True)):
        known = ~np.isnan(delta)
        if not known.any():
            continue
        share = accuracy(delta[known])
        yield {
            "corpus": stack.corpus,
            "model": model,
            "size_billions": np.nan if features is None else features.size_billions,
            "method": method,
            "what": ACCURACY if stack.has_truth else DRAWN,
            "share": share.value,
            "low": share.low,
            "high": share.high,
            "n": share.n,
            **_kappa(direct, delta, is_direct=method == stack.reference),
        }


def _kappa(direct: FloatArray, delta: FloatArray, *, is_direct: bool) -> dict[str, float]:
    both = ~np.isnan(direct) & ~np.isnan(delta)
    if is_direct or not both.any():
        return dict.fromkeys(("kappa", "kappa_low", "kappa_high", "n_kappa"), np.nan)
    result = cohens_kappa(direct[both], delta[both])
    return {"kappa": result.value, "kappa_low": result.low, "kappa_high": result.high, "n_kappa": float(result.n)}
