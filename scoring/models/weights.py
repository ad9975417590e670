"""A model's files: what tells them from every other model's, and stamps that show later whether one was touched.

Every file in the folder and its subfolders counts, except what no loader reads: `NOTES`, hidden files, and `OTHERS`; a
file that an index of shards names always counts. Weights are read whole, for an edit can be anywhere in them. The hash
of a large file is kept in the cache under what the file system says of it (`Stamp`): restoring size and modification
time after an edit does not bring an old hash back. A file touched so lately that another edit could have the same times
is hashed, and its hash is not kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from pairbank.errors import ModelLoadError
from pairbank.files import cache_dir, cache_json, cached_json, sha256_of_text

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
    name: str
    done_bytes: int
    total_bytes: int


OnProgress = Callable[[HashProgress], None]


class Stamp(NamedTuple):
    """What the file system says of a file; another one after every change."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        facts = path.stat()
        times = facts.st_mtime_ns, facts.st_ctime_ns
        return cls(str(path.resolve()), facts.st_size, *times, facts.st_ino, facts.st_dev)

    @property
    def is_settled(self) -> bool:
        """Whether a further change would give another stamp."""
        return time.time_ns() - max(self.mtime_ns, self.ctime_ns) > SETTLED_SECONDS * 1e9


def stamps(folder: Path, *, only: str | None = None) -> tuple[Stamp, ...]:
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


_known: dict[Stamp, str] = {}
"""What this process has hashed; equal files have equal stamps."""


def _digests(paths: Sequence[Path], on_progress: OnProgress) -> list[str]:
    before = [Stamp.of(path) for path in paths]
    results = [_kept(stamp) for stamp in before]
    todo = [i for i, digest in enumerate(results) if digest is None]
    total, done, lock = sum(before[i].size for i in todo if before[i].size >= LARGE_BYTES), 0, threading.Lock()

    def add(name: str, n_bytes: int) -> None:
        nonlocal done
        with lock:
            done += n_bytes
            on_progress(HashProgress(name=name, done_bytes=done, total_bytes=total))

    def digest(i: int) -> str:
        read = _read(paths[i], before[i].size, add if before[i].size >= LARGE_BYTES else lambda _name, _n: None)
        if Stamp.of(paths[i]) != before[i]:
            raise ModelLoadError(f"{paths[i]}: changed while it was read; wait until it is whole, and load it again")
        if before[i].size >= LARGE_BYTES and before[i].is_settled:
            _known[before[i]] = read
            cache_json(_record(before[i]), {"stamp": before[i]._asdict(), "sha256": read})
        return read

    pool = ThreadPoolExecutor(max(1, min(MOST_THREADS, os.cpu_count() or 1, len(todo))))
    try:
        digests = pool.map(digest, todo)
        if total:
            import_module("transformers.modeling_utils")  # needed next, and as long as a large file
        read = dict(zip(todo, digests, strict=True))
    finally:  # who is stopped while transformers is imported does not wait for files that were not begun
        pool.shutdown(cancel_futures=True)
    return [read.get(i) or str(kept) for i, kept in enumerate(results)]


def _read(path: Path, size: int, on_read: Callable[[str, int], None]) -> str:
    digest, buffer, n_left = hashlib.sha256(), memoryview(bytearray(CHUNK_BYTES)), size
    with path.open("rb", buffering=0) as handle:
        while n_left > 0 and (n := handle.readinto(buffer)):
            n_left -= n
            digest.update(buffer[:n])
            on_read(path.name, n)
    return digest.hexdigest()


def _kept(stamp: Stamp) -> str | None:
    """Return the hash that is kept of a large file, if it still is what was hashed."""
    if stamp.size < LARGE_BYTES:
        return None
    if stamp in _known:
        return _known[stamp]
    record = cached_json(_record(stamp))
    if not isinstance(record, dict) or record.get("stamp") != stamp._asdict():
        return None
    digest = record.get("sha256")
    return digest if isinstance(digest, str) and len(digest) == hashlib.sha256().digest_size * 2 else None


def _record(stamp: Stamp) -> Path:
    return cache_dir() / "hashes" / f"{sha256_of_text(stamp.path)[:32]}.json"
