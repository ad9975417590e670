"""Where a model's weights go, and in which type: what `from_pretrained` needs for the options that were chosen.

Importing this imports neither torch nor transformers.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from pairbank.errors import ModelLoadError
from pairbank.scoring.models.options import LoadOptions

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

Quantisation = Literal["4bit", "8bit"]
QUANTISATIONS: dict[str | None, str] = {
    "4bit": "bitsandbytes 4-bit (nf4, double, bfloat16)",
    "8bit": "bitsandbytes 8-bit",
}


def weights_options(device: str, chosen: LoadOptions) -> dict[str, Any]:
    quantisation = chosen["quantisation"]
    arguments: dict[str, Any] = {"dtype": dtype_for(chosen["dtype"], device)}
    if chosen["tensor_parallel"]:
        arguments["distributed_config"] = _tensor_parallel(chosen)
    if chosen["device_map"] is not None:
        arguments["device_map"] = chosen["device_map"]
    if chosen["attention"] is not None:
        arguments["attn_implementation"] = chosen["attention"]
    if quantisation is None:
        return arguments
    from importlib.util import find_spec

    if quantisation not in QUANTISATIONS:
        raise ModelLoadError(f"quantisation {quantisation!r} is unknown; expected '4bit' or '8bit'")
    if find_spec("bitsandbytes") is None:
        raise ModelLoadError(
            f"quantisation={quantisation!r} needs the package bitsandbytes; pip install bitsandbytes, or load "
            "without quantisation="
        )
    return {"device_map": {"": device}, **arguments, "quantization_config": quantisation_config(quantisation)}


def _tensor_parallel(chosen: LoadOptions) -> Any:  # noqa: ANN401 - a DistributedConfig
    if n_processes() < 2:
        raise ModelLoadError(
            "tensor_parallel splits layers over several processes; start them, one per GPU: torchrun --nproc-per-node "
            "8 -m pairbank score … --tensor-parallel"
        )
    for name in ("device_map", "quantisation"):
        if chosen[name] is not None:
            raise ModelLoadError(f"tensor_parallel and {name} exclude each other; give one of them")
    try:
        make: Any = import_module("transformers.distributed").DistributedConfig
        return make(tp_plan="auto")
    except (ImportError, AttributeError, TypeError) as error:
        raise ModelLoadError(f"this transformers has no tensor parallelism ({error}); install a newer one") from error


def n_processes() -> int:
    """Return how many processes torchrun started that work on one model together; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def check_is_split(model: PreTrainedModel, name: str) -> None:
    if all(type(parameter.data).__name__ != "DTensor" for parameter in model.parameters()):
        raise ModelLoadError(
            f"{name}: transformers has no tensor-parallel plan for {type(model).__name__}; load it with "
            "device_map='auto' (--device-map auto), or serve it"
        )


def quantisation_config(quantisation: str) -> Any:  # noqa: ANN401 - a BitsAndBytesConfig
    import torch
    from transformers import BitsAndBytesConfig

    make: Any = BitsAndBytesConfig
    if quantisation == "8bit":
        return make(load_in_8bit=True)
    return make(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def device_for(device: str, *, spread: bool) -> str:
    """Return the device asked for, or the best one there is (`spread`: the layers are shared out by a map)."""
    import torch

    if device != "auto":
        if spread:
            raise ModelLoadError(f"device={device!r} and device_map exclude each other; give one of them")
        try:
            kind = torch.device(device).type
        except RuntimeError as error:
            raise ModelLoadError(f"device {device!r} is unknown to torch; try 'cpu' or 'cuda'") from error
        if kind == "cuda" and not torch.cuda.is_available():
            raise ModelLoadError(f"device {device!r}: torch sees no CUDA device; try device='auto'")
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def placement_facts(model: PreTrainedModel, chosen: LoadOptions, *, quantisation: str) -> dict[str, Any]:
    """Return what `ModelInfo` has of where a model's weights are and in which type; `quantisation`: its file's."""
    import torch

    stated = getattr(model.config, "quantization_config", None)
    how = stated if isinstance(stated, dict) or stated is None else stated.to_dict()
    of_checkpoint = "" if how is None else str(how.get("quant_method", "quantised"))
    # of several cards all kinds, each once; a CPU's name and threads decide no number
    devices = {parameter.device for parameter in model.parameters()}
    cards = {torch.cuda.get_device_name(device) for device in devices if device.type == "cuda"}
    split = f"tensor parallel, {n_processes()}" if chosen["tensor_parallel"] else ""
    return {
        "dtype": str(model.dtype).removeprefix("torch."),
        "quantisation": quantisation or QUANTISATIONS.get(chosen["quantisation"], of_checkpoint),
        "device": model.device.type,
        "device_map": split or str(chosen["device_map"] or ""),
        "device_name": ", ".join(sorted(cards)),
        "attention": chosen["attention"] or "",
    }


def dtype_for(dtype: str, device: str) -> torch.dtype | str:
    """Return the type asked for; `auto` is float32 on a CPU, bfloat16 or the checkpoint's own elsewhere."""
    import torch

    if dtype == "auto":
        if device.startswith("cuda") and torch.cuda.is_bf16_supported():
            return torch.bfloat16
        return torch.float32 if device == "cpu" else "auto"
    result = getattr(torch, dtype, None)
    if not isinstance(result, torch.dtype) or not result.is_floating_point:
        raise ModelLoadError(f"dtype {dtype!r} is not a floating-point torch dtype; try 'float32' or 'bfloat16'")
    return result
