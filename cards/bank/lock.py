"""One writer a bank at a time: in, its folder; out, a block in which no other process writes to it.

The lock is a file that only one process can create, as holds on every file system of a cluster. The holder touches it
now and then; one whose process has ended, or that nobody has touched for long, is taken over with a warning.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pairbank.errors import BankError
from pairbank.files import cleaned_up, host, is_running

LOCK = ".pairbank-lock"
TOUCHED_SECONDS = 10.0
"""How often the holder touches its lock."""
STALE_SECONDS = 300.0
"""A lock that was not touched for so long has no holder any more."""
SAY_SECONDS = 5.0
"""After so long a wait it is said who holds the lock, and from then on every so often."""
PATIENCE_SECONDS = 3_600.0
"""The longest wait."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    host: str
    """The machine, and on it the space of process ids."""
    pid: int
    since: str
    token: str
    """Tells two holders apart."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host.split()[0]}, since {self.since}"


@contextlib.contextmanager
def locked(root: Path) -> Iterator[Callable[[], None]]:
    """Hold a bank's lock during a block; the folder is made where there is none, and goes again if it stays empty.

    What is yielded raises an error where another process has taken the lock over.
    """
    missing = [folder for folder in (root, *root.parents) if not folder.exists()]
    path, token, stop = root / LOCK, secrets.token_hex(8), threading.Event()

    def give_back() -> None:
        stop.set()
        with contextlib.suppress(OSError):
            if (holder := _holder(path)) is not None and holder.token == token:
                path.unlink(missing_ok=True)
            path.with_name(f"{LOCK}.{token}").unlink(missing_ok=True)
            for folder in missing:
                folder.rmdir()

    def touch() -> None:
        while not stop.wait(TOUCHED_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(path)

    def check() -> None:
        if (now := _holder(path)) != holder:
            raise BankError(
                f"{root}: the lock of this bank was taken over ({now or 'nobody holds it now'}) while this "
                "process stood still; nothing was written, run it again"
            )

    with cleaned_up(give_back):
        holder = _acquired(path, token)
        threading.Thread(target=touch, daemon=True).start()
        yield check


def locked_where_writable(root: Path) -> contextlib.AbstractContextManager[object]:
    """Return a block in which nobody writes to a bank; where this process may not, it reads without a lock."""
    return locked(root) if os.access(root, os.W_OK) else contextlib.nullcontext()


def _acquired(path: Path, token: str) -> Holder:
    root = path.parent
    start = last_message = time.monotonic()
    while True:
        root.mkdir(parents=True, exist_ok=True)
        if (holder := _created(path, token)) is not None:
            return holder
        if (other := _abandoned(path)) is not None:
            _take_over(path, other)
            continue
        now = time.monotonic()
        if now - start > PATIENCE_SECONDS:
            raise BankError(f"{root}: {_holder(path)} has been writing to this bank for too long; try again later")
        if now - last_message > SAY_SECONDS:
            last_message = now
            _LOG.warning("%s: waiting for %s to finish writing (%.0f s)", root, _holder(path), now - start)
        time.sleep(0.02 + 0.08 * secrets.randbelow(100) / 100)


def remove_leftovers(root: Path) -> None:
    """Remove the files of killed processes that were taking the lock; for its holder."""
    now = (root / LOCK).stat().st_mtime
    for left in root.glob(f"{LOCK}.*"):
        with contextlib.suppress(FileNotFoundError):
            if now - left.stat().st_mtime > STALE_SECONDS:
                left.unlink()


def _created(path: Path, token: str) -> Holder | None:
    """Return the new holder, this process; None where somebody else holds the lock, or the folder has just gone."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    holder = Holder(host=host(), pid=os.getpid(), since=since, token=token)
    # written whole under another name first: a lock is never seen half-written, and a link is made by one process only
    draft, text = path.with_name(f"{LOCK}.{token}"), json.dumps(asdict(holder))
    try:
        draft.write_text(text, encoding="utf-8")
        try:
            os.link(draft, path)
        except FileExistsError:
            return None
        except OSError:  # a file system without hard links
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except (FileExistsError, FileNotFoundError):
        return None
    finally:
        draft.unlink(missing_ok=True)
    return holder


def _holder(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _abandoned(path: Path) -> Holder | None:
    """Return the holder of a lock whose process here has ended, or that was not touched for long; else None."""
    holder = _holder(path)
    probe = path.with_name(f"{LOCK}.{secrets.token_hex(8)}")  # by the clock of its file system, not of this machine
    try:
        with cleaned_up(lambda: probe.unlink(missing_ok=True)):
            probe.touch()
            seconds = probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return None
    unknown = Holder(host="an unknown machine", pid=0, since="an unknown time", token="")
    if seconds > STALE_SECONDS:
        return holder or unknown
    return holder if holder is not None and holder.host == host() and not is_running(holder.pid) else None


def _take_over(path: Path, other: Holder) -> None:
    """Remove a lock that nobody holds any more; put back one that somebody took in this very moment."""
    if (now := _holder(path)) is not None and now.token != other.token:
        return
    aside = path.with_name(f"{LOCK}.{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    result = _holder(aside)
    if result is not None and result.token != other.token:
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    else:
        _LOG.warning("%s: taking over the lock of %s, which has ended without giving it back", path.parent, other)
    aside.unlink(missing_ok=True)
