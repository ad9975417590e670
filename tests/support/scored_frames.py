"""Scored tables that tests make up: deltas of some models on the same items."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, choice, items_frame


def scored_frame(
    model: str,
    direct_nats: NDArray[np.float64] | None,
    meta_nats: Mapping[str, NDArray[np.float64]],
    *,
    corpus: str = "toy",
    model_id: str = "",
) -> ScoredFrame:
    """A table whose prompted log-probabilities give the deltas: good minus bad, the mean over both orders."""
    n_items = len(next(iter(meta_nats.values()))) if direct_nats is None else len(direct_nats)
    columns: dict[str, object] = {} if direct_nats is None else {"direct_delta": direct_nats}
    for name, delta in meta_nats.items():
        columns[f"{name}_delta"] = delta
        answers = np.column_stack([delta / 2 - 9, np.full(n_items, -9.0), np.full(n_items, -9.0), delta / 2 - 9])
        columns[f"{name}_logprobs"] = [None if np.isnan(d) else row for d, row in zip(delta, answers, strict=True)]
    layouts = () if direct_nats is None else (DIRECT,)
    return ScoredFrame(
        corpus=corpus,
        model=model,
        frame=items_frame(n_items, corpus, **columns),
        layouts=(*layouts, *(choice(name) for name in meta_nats)),
        signature={"model": {"name": model, "model_id": model_id or model}},
    )


def related_frames(
    models: list[str], *, n_items: int, n_prompts: int, introspection: float = 0.0, seed: int = 0
) -> list[ScoredFrame]:
    """Models that share more or less of their direct deltas; answers follow that, and their own as far as asked."""
    rng = np.random.default_rng(seed)
    common = rng.normal(0.5, 1.0, n_items)
    frames = []
    for model, share in zip(models, np.linspace(0.3, 1.5, len(models)), strict=True):
        own = rng.normal(0.0, share, n_items)
        answers = {
            f"prompt_{nth}": 0.5 * common + introspection * own + rng.normal(0.2, 1.0, n_items)
            for nth in range(n_prompts)
        }
        frames.append(scored_frame(model, common + own, answers))
    return frames
