"""What a model's configuration says against a tree attention mask, or against one beyond some length.

In: a model or its configuration; no forward pass is run. Out: a reason, or the longest sequence that may be packed.
What only a trial can tell stands in `models/self_check`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

MASKED_LAYERS = ("full_attention", "sliding_attention", "chunked_attention")
"""Kinds of layers that attend where the mask lets them; any other kind mixes tokens in its own way."""
OWN_WINDOWS = ("attention_window", "attention_window_size", "keep_window_size", "index_topk")
"""Settings of attention that picks its keys by their place in the pack, whatever the mask says."""


def structural_problem(model: PreTrainedModel) -> str | None:
    """Return why the model cannot follow a tree attention mask, or None if nothing speaks against it."""
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return "its forward pass takes no position ids"
    config = model.config.get_text_config()
    if getattr(config, "alibi", False) or getattr(config, "position_embedding_type", "") == "alibi":
        return "its ALiBi biases follow the place in the pack, not in the sequence"
    others = sorted(set(getattr(config, "layer_types", None) or ()).difference(MASKED_LAYERS))
    if others:
        return f"it has {', '.join(others)} layers, which do not read an attention mask"
    if "local" in (getattr(config, "attention_layers", None) or ()):
        return "its local attention follows the place in the pack, not in the sequence"
    own_values = [name for name in OWN_WINDOWS if getattr(config, name, None)]
    return f"its attention is sparse ({own_values[0]})" if own_values else None


def sparse_window(config: PretrainedConfig) -> int | None:
    """Return from how many tokens on attention leaves out keys in its own way, or None if it never does."""
    text = config.get_text_config()
    sizes = [size for name in OWN_WINDOWS if isinstance(size := getattr(text, name, None), int) and size > 0]
    return min(sizes, default=None)


def packing_window(config: PretrainedConfig) -> float:
    """Return the longest sequence, in tokens, that scores the same under a tree mask; infinity if any does.

    A mask that is handed over takes the place of a layer's own, so a sequence that a sliding window or a chunk
    would cut has to go without one; so has one that switches rotary embeddings to their long form (LongRoPE),
    for that would move all others of its batch.
    """
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None)
    limits = [math.inf]
    for setting, kind in (("sliding_window", "sliding_attention"), ("attention_chunk_size", "chunked_attention")):
        size = getattr(text, setting, None)
        if size and (kinds is None or kind in kinds):
            limits.append(float(size))
    for rope in _tables(getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)):
        if rope.get("rope_type", rope.get("type")) == "longrope":
            original = rope.get("original_max_position_embeddings") or text.original_max_position_embeddings
            limits.append(float(original))
    return min(limits)


def _tables(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield a settings table and those inside it (one a kind of layer, in some configurations)."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _tables(inner)
