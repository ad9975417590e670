"""Forward passes that read the last token of a text at every layer, many texts a pass.

In: tokens of texts, and a network's forward pass. Out: states, float32; what is stored of them stands in
`hidden_states`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from pairbank.scoring.api.model import TextInput
from pairbank.scoring.engine.batching import default_budget, in_batches, padded
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.models.tokenizing import left_as_it_was

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Float32Array = npt.NDArray[np.float32]


def text_inputs(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[TextInput]:
    """Return each text's tokens as a model reads it whole; special tokens that close it are not its last one."""
    with left_as_it_was(tokenizer):
        encoding = tokenizer(list(texts), return_special_tokens_mask=True, split_special_tokens=True, verbose=False)
    return [
        TextInput(ids=tuple(ids), last=max((i for i, around in enumerate(special) if not around), default=-1))
        for ids, special in zip(encoding["input_ids"], encoding["special_tokens_mask"], strict=True)
    ]


def last_states(
    inputs: Sequence[TextInput],
    forward: Callable[..., Any],
    *,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
    window: float = math.inf,
    one_at_a_time: bool = False,
) -> Float32Array:
    """Return the last token's state at every layer, shape (layers, inputs, hidden)."""
    stated = tokenizer.pad_token_id
    pad_id = stated if isinstance(stated, int) else 0
    device = input_device(model)

    def batch_states(batch: list[int]) -> tuple[list[int], Float32Array]:
        ids, mask = padded([inputs[i].ids for i in batch], pad_id=pad_id, device=device)
        layers = forward(input_ids=ids, attention_mask=mask).hidden_states
        return batch, _at(layers, [inputs[i].last for i in batch])

    with scoring_mode(model):
        done = list(
            in_batches(
                sorted(range(len(inputs)), key=lambda i: (len(inputs[i].ids), inputs[i].ids, i)),
                width=lambda i: len(inputs[i].ids),
                budget_tokens=1 if one_at_a_time else default_budget(device),
                compute=batch_states,
                model_name=name,
                window=window,
            )
        )
    return _in_order(done)


def _at(layers: Sequence[torch.Tensor], last: Sequence[int]) -> Float32Array:
    """Return one token's state of each text at every layer; layers can stand on several devices."""
    rows, columns = torch.arange(len(last)), torch.tensor(last)
    kept = [layer[rows.to(layer.device), columns.to(layer.device)].float().cpu() for layer in layers]
    states: Float32Array = torch.stack(kept).numpy()
    return states


def _in_order(done: Sequence[tuple[list[int], Float32Array]]) -> Float32Array:
    """Return the states of all batches, each text's in its place."""
    n_layers, _, n_hidden = done[0][1].shape
    result = np.empty((n_layers, sum(len(rows) for rows, _ in done), n_hidden), dtype=np.float32)
    for rows, states in done:
        result[:, rows] = states
    return result
