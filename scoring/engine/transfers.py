"""What crosses between host and device: inputs that nobody waits for, results that are waited for when they are read.

In: arrays, and tensors that a device still computes. Out: tensors on that device, and arrays. On CUDA both go through
pinned memory, so that the host goes on while the device works; a pass waits for nothing (`Reading` does).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy.typing as npt
import torch

from pairbank.arrays import FloatArray

Reading: TypeAlias = Callable[[], FloatArray]
"""Waits for what a device computes, and returns it."""


def on_device(values: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return an array on a device; the host does not wait for the copy."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


class Download:
    """Values on their way from a device to the host."""

    def __init__(self, values: torch.Tensor) -> None:
        self._values, self._copied = values, None
        if values.device.type == "cuda":
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            self._copied = torch.cuda.current_stream(values.device).record_event()

    def wait(self) -> npt.NDArray[Any]:
        """Return the values once they are there."""
        if self._copied is not None:
            self._copied.synchronize()
        result: npt.NDArray[Any] = self._values.cpu().numpy()
        return result
