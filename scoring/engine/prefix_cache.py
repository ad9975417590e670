"""The trunk of many packs: keys and values of a prefix, computed once, that all their nodes attend to.

In: the prefix's tokens. Out: a cache that forward passes read and never change, so its memory is the prefix's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import DynamicCache

from pairbank.arrays import IntArray

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Trunk(DynamicCache):
    """Keys and values of one sequence; every row of a pass sees them before its own."""

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_args: Any,  # noqa: ANN401 - whatever a model tells its cache
        **_kwargs: Any,  # noqa: ANN401
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the trunk's and a pass's keys and values (row, head, node, width), and keep nothing of the pass."""
        layer: Any = self.layers[layer_idx]
        n_rows = len(key_states)
        keys, values = layer.keys.expand(n_rows, -1, -1, -1), layer.values.expand(n_rows, -1, -1, -1)
        return torch.cat([keys, key_states], dim=-2), torch.cat([values, value_states], dim=-2)


def computed_trunk(model: PreTrainedModel, tokens: IntArray, device: torch.device) -> Trunk:
    """Return the keys and values of a prefix (n_trunk,), from one plain forward pass without the output layer."""
    cache: Any = DynamicCache()
    model.base_model(input_ids=torch.from_numpy(tokens).to(device)[None], past_key_values=cache, use_cache=True)
    return Trunk([(layer.keys, layer.values) for layer in cache.layers])
