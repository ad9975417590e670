"""A bank rewritten as a whole or not at all: in, its folder; out, a copy to change, which takes the bank's place.

The new state is made beside the old one, in `.pairbank-writing/new`; what stays the same is a link to the same file
and takes no room. When it is whole, `.pairbank-writing/whole` says so, and its files are moved to their places, the
manifest last. A process that is killed before that leaves the old bank; one that is killed later leaves a change that
the next writer completes. So every rerun is accepted, and a full disk harms nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from pairbank.cards.bank.layout import FOLDERS, MANIFEST, RECORD, bank_files, foreign_entries, read_manifest
from pairbank.cards.bank.lock import LOCK, Lock, locked, remove_leftovers
from pairbank.errors import BankError, OutputError, PairbankError
from pairbank.files import cleaned_up, refused

WRITING = ".pairbank-writing"
_NEW, _WHOLE = "new", "whole"
_LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def rewritten(root: Path) -> Iterator[Path]:
    """Yield a folder with the bank as it is, alone with it; what the block makes of it becomes the bank.

    A folder that is new or empty yields an empty one. If the block ends with an error, the bank stays as it was.

    Raises:
        BankError: the folder holds something else, or a link that leads out of it.
    """
    with _staged(root) as (staged, lock):
        for path in (MANIFEST, *bank_files(root)):
            if (root / path).is_file():
                _link(root / path, staged / path)
        yield staged
        _commit(root, lock)


@contextlib.contextmanager
def written_anew(root: Path, *, purpose: str) -> Iterator[Path]:
    """Yield an empty folder; what the block puts there becomes the bank, where there is none.

    One that is there and is the very same, as after a kill in the last moment, is as good.

    Raises:
        BankError: the folder holds something else, which `purpose` needs another folder for.
    """
    with _staged(root) as (staged, lock):
        refused = BankError(f"{root} is not empty; choose a new folder for {purpose}")
        yield staged
        if not (root / MANIFEST).is_file():
            _commit(root, lock)
        elif (root / MANIFEST).read_bytes() != (staged / MANIFEST).read_bytes():
            raise refused


@contextlib.contextmanager
def _staged(root: Path) -> Iterator[tuple[Path, Lock]]:
    with errors_named(root):
        refuse_other_folders(root)
    with errors_named(root), locked(root) as lock:
        _recover(root)
        refuse_other_folders(root)
        staged = root / WRITING / _NEW
        with cleaned_up(lambda: _discard(root)):
            staged.mkdir(parents=True)
            yield staged, lock


def _discard(root: Path) -> None:
    if not is_unfinished(root):
        shutil.rmtree(root / WRITING, ignore_errors=True)


def _commit(root: Path, lock: Lock) -> None:
    lock.check()
    _flush(root / WRITING / _NEW)
    try:
        (root / WRITING / _WHOLE).touch()
        _move(root)
    except KeyboardInterrupt:
        if is_unfinished(root):
            _move(root)
        raise


def refuse_other_folders(root: Path) -> None:
    """Refuse a place where no bank can be written: a file, a device, or a folder with other things in it.

    Raises:
        BankError: says what is there.
    """
    if not os.path.lexists(root):
        return
    if not root.is_dir():
        raise BankError(f"{root} exists and is not a bank (no folder); choose an empty or new folder")
    if (root / WRITING).is_symlink():
        raise BankError(f"{root / WRITING}: a link, which pairbank never makes; remove it")
    if foreign := foreign_entries(root):
        raise BankError(
            f"{root / foreign[0]}: a link, device or pipe; a bank has none. Put the file itself there, or remove it"
        )
    if (root / MANIFEST).is_file() or (root / WRITING / _WHOLE).is_file():
        return
    if others := sorted(p.name for p in root.iterdir() if not p.name.startswith((LOCK, WRITING))):
        raise BankError(
            f"{root} exists and is not a bank (no {MANIFEST}; it holds {others[0]}); choose an empty or new folder"
        )


@contextlib.contextmanager
def errors_named(root: Path) -> Iterator[None]:
    """Say of what the operating system refuses which bank it was about, and what to do.

    Raises:
        BankError: in the place of an OSError.
    """
    try:
        yield
    except OutputError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise _refused(root, error.__cause__) from error
    except OSError as error:
        if isinstance(error, PairbankError):
            raise
        raise _refused(root, error) from error


def _refused(root: Path, problem: OSError) -> BankError:
    return BankError(str(refused(root, problem, saying="the bank cannot be written and is as it was")))


def is_unfinished(root: Path) -> bool:
    """Return whether a writer was killed while it moved files to their places."""
    return (root / WRITING / _WHOLE).is_file()


def _recover(root: Path) -> None:
    """Complete or undo what a killed writer began."""
    if is_unfinished(root):
        _LOG.warning("%s: completing a change that was cut off", root)
        _move(root)
    elif (root / WRITING).exists():
        shutil.rmtree(root / WRITING)
    remove_leftovers(root)


def _move(root: Path) -> None:
    """Move the new files to their places, remove what is not of the bank any more, and put the manifest there last."""
    staged = root / WRITING / _NEW
    manifest = read_manifest(staged if (staged / MANIFEST).is_file() else root)
    for path in bank_files(staged):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (staged / path).replace(root / path)
    for path in set(bank_files(root)) - set(manifest.get("files", {})):
        (root / path).unlink()
    for folder in sorted((p for name in FOLDERS for p in (root / name).rglob("*") if p.is_dir()), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()
    for name in (RECORD, MANIFEST):
        if (staged / name).is_file():
            (staged / name).replace(root / name)
    (root / WRITING / _WHOLE).unlink()
    shutil.rmtree(root / WRITING)


def _link(source: Path, target: Path) -> None:
    """Put a file in a second place: a hard link where the file system has them, else a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _flush(folder: Path) -> None:
    """Make sure that the new files are on the disk before any takes the place of an old one."""
    for path in folder.rglob("*"):
        if stat.S_ISREG(path.lstat().st_mode):
            with path.open("rb") as file:
                os.fsync(file.fileno())
