"""Leaves nodes out of the upper layers of a forward pass: those of which only a lower layer's state is read.

They are the last nodes of each row. Behind the last layer rows are as long as before, with zeros that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle
    from transformers import PreTrainedModel

_CUT: ContextVar[Cut | None] = ContextVar("cut", default=None)


class Cut(NamedTuple):
    """From which layer on how many nodes of a row are computed."""

    layer: int
    n_shared: int
    width: int
    n_kept: int

    def of(self, value: Any) -> Any:  # noqa: ANN401 - whatever a model passes to its layers
        """Return an input of a layer (states, masks, positions) of the kept nodes alone."""
        if isinstance(value, tuple):
            return tuple(map(self.of, value))
        if not isinstance(value, torch.Tensor):
            return value
        if value.shape[2:] == (self.width, self.n_shared + self.width):
            return value[:, :, : self.n_kept, : self.n_shared + self.n_kept]
        if value.ndim in (2, 3) and value.shape[1] == self.width:
            return value[:, : self.n_kept]
        return value[: self.n_kept] if value.shape == (self.width,) else value


@contextmanager
def applied(cut: Cut | None) -> Iterator[None]:
    token = _CUT.set(cut)
    try:
        yield
    finally:
        _CUT.reset(token)


def prepare(model: PreTrainedModel) -> list[RemovableHandle]:
    """Let the layers of a model heed `applied`; return how to undo it, nothing where they are not known."""
    n_layers = model.config.get_text_config().num_hidden_layers
    lists = (part for part in model.base_model.modules() if isinstance(part, torch.nn.ModuleList))
    if (layers := next((part for part in lists if len(part) == n_layers), None)) is None:
        return []
    before = [
        layer.register_forward_pre_hook(partial(_without, number), with_kwargs=True)
        for number, layer in enumerate(layers)
    ]
    return [*before, layers[-1].register_forward_hook(_with_zeros)]


def _without(number: int, _layer: torch.nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:  # noqa: ANN401
    cut = _CUT.get()
    if cut is None or number < cut.layer:
        return None
    return cut.of(given), {name: cut.of(value) for name, value in named.items()}


def _with_zeros(_layer: torch.nn.Module, _given: tuple[Any, ...], output: Any) -> Any:  # noqa: ANN401
    if (cut := _CUT.get()) is None:
        return None
    states, *more = output if isinstance(output, tuple) else (output,)
    states = torch.nn.functional.pad(states, (0, 0, 0, cut.width - states.shape[1]))
    return (states, *more) if isinstance(output, tuple) else states
