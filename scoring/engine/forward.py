"""The two forward passes of causal models: packs under a tree mask, and padded plain sequences.

Of exactly the rows that are read they give the logits, or the last hidden states where the output layer is applied
apart (`logprobs`). What crosses between host and device goes through pinned memory on CUDA, so that the host goes on
while the device works; only a `Reading` waits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from transformers import DynamicCache

from pairbank.arrays import FloatArray, IntArray
from pairbank.scoring.api.requests import STATE, EncodedRequest
from pairbank.scoring.engine.cuts import Cut, applied
from pairbank.scoring.engine.prefix_trees import Pack, SharedPrefix

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Reading: TypeAlias = Callable[[], FloatArray]
"""Waits for what a device computes, and returns it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Where the values of a forward pass stand; all of shape (n_reads,)."""

    rows: IntArray
    """Row of the logits or hidden states."""
    tokens: IntArray
    owners: IntArray
    """Which of the pass's requests the value belongs to; a request's values stand together, in order."""
    probed: IntArray
    """(n_probes,) which requests ask for a hidden state in the place of log-probabilities."""
    states: Mapping[int, torch.Tensor]
    """Of each layer that is asked for, their states (n_probes, hidden)."""


def on_device(values: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return an array on a device; the host does not wait for the copy."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


class Download:
    def __init__(self, values: torch.Tensor) -> None:
        self._values, self._copied = values, None
        if values.device.type == "cuda":
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            self._copied = torch.cuda.current_stream(values.device).record_event()

    def wait(self) -> npt.NDArray[Any]:
        if self._copied is not None:
            self._copied.synchronize()
        result: npt.NDArray[Any] = self._values.cpu().numpy()
        return result


def input_device(model: PreTrainedModel) -> torch.device:
    device: torch.device = next(model.get_input_embeddings().parameters()).device
    return device


def is_split(model: PreTrainedModel) -> bool:
    """Return whether each layer is split over several processes, which must then make the same passes."""
    return (getattr(model, "_tp_size", None) or 1) > 1


def computed_prefix(model: PreTrainedModel, tokens: IntArray, device: torch.device) -> SharedPrefix:
    """Return the keys and values of a prefix (n_shared,), from one plain forward pass without the output layer."""
    cache: Any = DynamicCache()
    model.base_model(input_ids=on_device(tokens, device)[None], past_key_values=cache, use_cache=True)
    return SharedPrefix([(layer.keys, layer.values) for layer in cache.layers])


def tree_rows(
    model: PreTrainedModel,
    packs: Sequence[Pack],
    *,
    shared_prefix: SharedPrefix | None,
    hidden: bool,
    layers: Sequence[int] = (),
    cuts: bool = False,
) -> tuple[torch.Tensor, Reads]:
    """Return what is read from some packs, one pack a row of the batch.

    `layers` are those whose states are probed; with `cuts`, nodes of which nothing else is read end there.
    """
    device = input_device(model)
    width = max(len(pack.tokens) for pack in packs)
    tokens, depths, ends = np.zeros((3, len(packs), width), dtype=np.int64)
    # A padding node sees itself only and is never read.
    ends[:] = np.arange(1, width + 1)
    goes_on = np.full((len(packs), width), not (layers and cuts))
    for row, pack in enumerate(packs):
        n = len(pack.tokens)
        tokens[row, :n], depths[row, :n], ends[row, :n] = pack.tokens, pack.depths, pack.ends
        goes_on[row, :n] |= pack.ends > np.arange(1, n + 1)
        goes_on[row, pack.read_nodes[pack.read_tokens != STATE]] = True
    order = np.argsort(~goes_on, axis=1, kind="stable")
    tokens, depths, ends = (np.take_along_axis(values, order, axis=1) for values in (tokens, depths, ends))
    place_of, n_shared = np.argsort(order, axis=1), len(packs[0].shared_prefix)
    cut = Cut(max(layers), n_shared, width, int(goes_on.sum(axis=1).max())) if layers and cuts else None
    with applied(cut):
        return _read(
            model,
            places=np.concatenate([row * width + place_of[row, pack.read_nodes] for row, pack in enumerate(packs)]),
            tokens=np.concatenate([pack.read_tokens for pack in packs]),
            owners=np.concatenate([pack.read_requests for pack in packs]),
            hidden=hidden,
            layers=layers,
            input_ids=on_device(tokens, device),
            attention_mask=_tree_mask(model, on_device(order, device), on_device(ends, device), n_shared),
            position_ids=on_device(depths, device),
            use_cache=shared_prefix is not None,
            **({} if shared_prefix is None else {"past_key_values": shared_prefix}),
        )


def _tree_mask(model: PreTrainedModel, nodes: torch.Tensor, ends: torch.Tensor, n_shared: int) -> torch.Tensor:
    """Return the mask (batch, 1, node, shared prefix and node): each sees the prefix, its ancestors and itself."""
    mask = (nodes[:, None, :] <= nodes[:, :, None]) & (nodes[:, :, None] < ends[:, None, :])
    mask = torch.nn.functional.pad(mask, (n_shared, 0), value=True)
    is_eager = model.config._attn_implementation == "eager"
    if not is_eager and mask.device.type != "cpu":
        return mask[:, None]
    # Eager attention adds its mask to the scores, a boolean one as 0 and 1; on a CPU, others would turn a boolean one
    # into such numbers in every layer.
    lowest = torch.finfo(model.dtype).min if is_eager else -torch.inf
    return torch.zeros(mask.shape, dtype=model.dtype, device=ends.device).masked_fill_(~mask, lowest)[:, None]


def padded_rows(
    model: PreTrainedModel, requests: Sequence[EncodedRequest], *, hidden: bool, layers: Sequence[int] = ()
) -> tuple[torch.Tensor, Reads]:
    """Return what is read from plain sequences, padded on the right: logits, or last hidden states if `hidden`."""
    device = input_device(model)
    lengths = np.array([len(request.ids) - 1 for request in requests])
    ids = np.zeros((len(requests), int(lengths.max())), dtype=np.int64)
    place = np.arange(ids.shape[1])
    real = place < lengths[:, None]
    ids[real] = np.concatenate([np.array(request.ids[:-1], dtype=np.int64) for request in requests])
    is_read = real & (place >= np.array([[request.start - 1] for request in requests]))
    return _read(
        model,
        places=np.flatnonzero(is_read),
        tokens=np.concatenate([np.array(request.ids[request.start :], dtype=np.int64) for request in requests]),
        owners=np.repeat(np.arange(len(requests)), is_read.sum(axis=1)),
        hidden=hidden,
        layers=layers,
        input_ids=on_device(ids, device),
        attention_mask=on_device(real.astype(np.int64), device),
        use_cache=False,
    )


def _read(
    model: PreTrainedModel,
    *,
    places: IntArray,
    tokens: IntArray,
    owners: IntArray,
    hidden: bool,
    layers: Sequence[int],
    **inputs: Any,  # noqa: ANN401 - of a forward pass
) -> tuple[torch.Tensor, Reads]:
    """Run the model and return what stands at some places (n_reads,) of its flattened input; see `Reads`."""
    is_state = tokens == STATE
    is_read = np.zeros(inputs["input_ids"].shape, dtype=bool)
    is_read.flat[places[~is_state]] = True
    if is_state.all():  # no output layer takes none
        is_read.flat[0] = True
    if layers:
        inputs["output_hidden_states"] = True
    kept, by_layer = _kept(model, is_read, hidden=hidden, **inputs)
    return kept, Reads(
        rows=np.cumsum(is_read)[places[~is_state]] - 1,
        tokens=tokens[~is_state],
        owners=owners[~is_state],
        probed=owners[is_state],
        states={layer: _flat_rows(by_layer[layer], places[is_state]).float() for layer in layers},
    )


def rows_at(model: PreTrainedModel, ids: Sequence[int], places: IntArray, *, hidden: bool) -> torch.Tensor:
    """Return what follows some places of one sequence: logits, or last hidden states if `hidden`, (n_places, width)."""
    device, is_read = input_device(model), np.zeros((1, len(ids)), dtype=np.bool_)
    is_read[0, places] = True
    whole = on_device(np.array([ids], dtype=np.int64), device)
    inputs = {"input_ids": whole, "attention_mask": torch.ones_like(whole)}
    return _kept(model, is_read, hidden=hidden, use_cache=False, **inputs)[0]


def _kept(
    model: PreTrainedModel,
    is_read: npt.NDArray[np.bool_],
    *,
    hidden: bool,
    **inputs: Any,  # noqa: ANN401 - of a forward pass
) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
    """Run the model and return the rows that are read, found on the host without a wait, and its hidden states."""
    from transformers import modeling_utils

    device = inputs["input_ids"].device
    if hidden:
        output = model.base_model(**inputs)
        return _flat_rows(output.last_hidden_state, np.flatnonzero(is_read)), output.hidden_states
    parameters = inspect.signature(model.forward).parameters
    if "logits_to_keep" in parameters and len(is_read) == 1:
        output = model(**inputs, logits_to_keep=on_device(np.flatnonzero(is_read[0]), device))
        return output.logits[0], output.hidden_states
    # transformers that have it take a boolean `logits_to_keep`, a position mask a sequence
    if "logits_to_keep" not in parameters or not hasattr(modeling_utils, "slice_logits_to_keep"):
        output = model(**inputs)
        return _flat_rows(output.logits, np.flatnonzero(is_read)), output.hidden_states
    if device.type == "cpu":
        output = model(**inputs, logits_to_keep=torch.from_numpy(is_read))
        return output.logits, output.hidden_states
    # as many places for each sequence, those that are read first
    places = np.argsort(~is_read, axis=1, kind="stable")[:, : int(is_read.sum(axis=1).max())]
    output = model(**inputs, logits_to_keep=on_device(places, device))
    chosen = np.flatnonzero(np.take_along_axis(is_read, places, axis=1))
    return _flat_rows(output.logits, chosen), output.hidden_states


def _flat_rows(values: torch.Tensor, places: IntArray) -> torch.Tensor:
    """Return rows of the first two dimensions taken as one."""
    return values.flatten(0, 1)[on_device(places, values.device)]


@contextmanager
def scoring_mode(model: PreTrainedModel) -> Iterator[None]:
    in_training = [module for module in model.modules() if module.training]
    model.train(mode=False)
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in in_training:
            module.training = True
