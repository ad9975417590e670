"""What each model answers with each prompt: in, the deltas of a corpus; out, a row a model and method.

Song, Hu & Mahowald 2025, figures 2a and 8 (share of items whose better side, or drawn word, is preferred), 5 (kappa).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import cohens_kappa

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures
    from pairbank.stats.scored_table.delta_stack import DeltaStack

ACCURACY, DRAWN = "accuracy", "share of drawn words preferred"
"""What `share` is: where one side is right, and where neither is."""
_LEAP = 2.5
"""A model this many times as big as the one before it begins a new bin of sizes."""


def by_model(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return the shares and kappas of a corpus, models in the order of their declared sizes.

    Args:
        stack: The deltas, all items.
        features: By model name; None or absent where nothing is declared.

    Returns:
        One row a model and method, `direct` first: `corpus`, `model`, `size_billions`, `method`, `what` (what `share`
        is), `share`, `low`, `high`, `n`; of prompts `kappa` with `direct`, `kappa_low`, `kappa_high`, `n_kappa`.
    """
    rows = [row for model in by_size(stack.models, features) for row in _rows(stack, model, features.get(model))]
    return pd.DataFrame(rows)


def by_size(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> list[str]:
    """Return models from small to large; those of which nothing is declared stand last, in their own order.

    >>> by_size(["x", "y"], {})
    ['x', 'y']
    """

    def place(model: str) -> tuple[float, str, str, str, int]:
        found = features.get(model)
        if found is None:
            return (np.inf, "", "", "", 0)
        return (found.size_billions, found.family, found.generation, found.type, found.seed)

    return sorted(models, key=place)


def by_family(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> list[str]:
    """Return models by family and, within it, by size; families in the order of their smallest models.

    >>> by_family(["x", "y"], {})
    ['x', 'y']
    """
    ordered = by_size(models, features)
    families = [found.family if (found := features.get(model)) else model for model in ordered]
    first = {family: nth for nth, family in reversed(list(enumerate(families)))}
    return [model for _, model in sorted(zip(families, ordered, strict=True), key=lambda pair: first[pair[0]])]


def size_breaks(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> list[float]:
    """Return after how many models a new bin of sizes begins: where a model is far bigger than the one before it.

    Args:
        models: As `by_size` returns them.
        features: By model name.
    """
    sizes = [found.size_billions if (found := features.get(model)) else np.nan for model in models]
    return [
        nth + 0.0
        for nth in range(1, len(sizes))
        if sizes[nth] > _LEAP * sizes[nth - 1] or np.isnan(sizes[nth]) != np.isnan(sizes[nth - 1])
    ]


def _rows(stack: DeltaStack, model: str, features: ModelFeatures | None) -> Iterator[dict[str, Any]]:
    nth = stack.models.index(model)
    direct = stack.direct_nats[nth]
    for method, delta in ((DIRECT, direct), *zip(stack.prompts, stack.meta_nats[:, nth], strict=True)):
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
            **_kappa(direct, delta, is_direct=method == DIRECT),
        }


def _kappa(direct: FloatArray, delta: FloatArray, *, is_direct: bool) -> dict[str, float]:
    both = ~np.isnan(direct) & ~np.isnan(delta)
    if is_direct or not both.any():
        return dict.fromkeys(("kappa", "kappa_low", "kappa_high", "n_kappa"), np.nan)
    found = cohens_kappa(direct[both], delta[both])
    return {"kappa": found.value, "kappa_low": found.low, "kappa_high": found.high, "n_kappa": float(found.n)}
