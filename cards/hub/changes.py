"""What publishing would change: in, the files here, those on the Hub, and what was published last; out, the difference.

A three-way comparison, as a merge is: only a file that is on the Hub as this bank put it there is replaced or
removed. Anything that somebody else added, changed or deleted since is a conflict, unless it is none of the bank's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pairbank.cards.bank.layout import CARD, CROISSANT, FOLDERS, MANIFEST, RENDERED, SUMMARY
from pairbank.errors import PublishError
from pairbank.stats.wording import number

EVAL = "eval.yaml"
DERIVED = (CARD, CROISSANT, MANIFEST, RENDERED, SUMMARY, EVAL)
"""Made anew at every publishing; what pairbank wrote may be replaced by any bank that has the same tables or more."""
UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file as it will be on the Hub."""

    content: bytes | Path

    @property
    def n_bytes(self) -> int:
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    @property
    def etags(self) -> tuple[str, str]:
        """Its hashes as the Hub would state one: git's, and for a file in LFS the sha256."""
        data = self.content.read_bytes() if isinstance(self.content, Path) else self.content
        git = hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
        return git, hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file on the Hub: its size and hash."""

    n_bytes: int
    etag: str
    """sha256 of a file in LFS, git's hash of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file that publishing changes; a size is None where there is no such file before or after."""

    path: str
    n_bytes_before: int | None
    n_bytes_after: int | None

    def __str__(self) -> str:
        if self.n_bytes_before is None or self.n_bytes_after is None:
            sign, n_bytes = ("+", self.n_bytes_after) if self.n_bytes_before is None else ("-", self.n_bytes_before)
            return f"{sign} {self.path} ({size_text(n_bytes or 0)})"
        return f"~ {self.path} ({size_text(self.n_bytes_before)} -> {size_text(self.n_bytes_after)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    added: tuple[FileChange, ...] = ()
    changed: tuple[FileChange, ...] = ()
    removed: tuple[FileChange, ...] = ()
    n_unchanged: int = 0
    left_alone: tuple[str, ...] = ()
    """Files on the Hub that are none of the bank's and stay."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __str__(self) -> str:
        return self._text(lambda _: True)

    @property
    def brief(self) -> str:
        return self._text(lambda path: "/" not in path)

    def _text(self, is_shown: Callable[[str], bool]) -> str:
        lines = [str(entry) for entry in (*self.added, *self.changed, *self.removed) if is_shown(entry.path)]
        counts = f"{len(self.added)} added, {len(self.changed)} changed, {len(self.removed)} removed"
        return "\n".join([*lines, f"{counts}, {self.n_unchanged} unchanged"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    files: Mapping[str, Collection[str]]
    """Path -> hashes of what this bank published there last."""
    vouched: Collection[str] = ()
    """Files on the Hub whose hash is the one that the manifest there states: pairbank wrote them."""
    replace: Collection[str] = ()
    """Files that the user allows to replace, whoever changed them."""


def compared(
    local: Mapping[str, LocalFile], remote: Mapping[str, RemoteFile], base: Base, *, repo_id: str, source: str
) -> Changes:
    added, changed, removed, left_alone, conflicts = [], [], [], [], []
    n_unchanged = 0
    for path, file in local.items():
        present = remote.get(path)
        if present is None:
            if path in base.files and path not in base.replace:
                conflicts.append(f"{path}: deleted on the Hub since")
            added.append(FileChange(path=path, n_bytes_before=None, n_bytes_after=file.n_bytes))
        elif present.etag in file.etags:
            n_unchanged += 1
        else:
            by_pairbank = path in DERIVED and path in base.vouched
            if not (present.etag in base.files.get(path, ()) or by_pairbank or path in base.replace):
                conflicts.append(f"{path}: not what this bank published; somebody else changed or wrote it")
            changed.append(FileChange(path=path, n_bytes_before=present.n_bytes, n_bytes_after=file.n_bytes))
    for path, present in remote.items():
        if path in local:
            continue
        if present.etag in base.files.get(path, ()) or path in base.replace:
            removed.append(FileChange(path=path, n_bytes_before=present.n_bytes, n_bytes_after=None))
        elif path.split("/")[0] in FOLDERS:
            conflicts.append(f"{path}: on the Hub, not in this bank")
        else:
            left_alone.append(path)
    _refuse(conflicts, repo_id, source)
    return Changes(
        added=tuple(added),
        changed=tuple(changed),
        removed=tuple(removed),
        n_unchanged=n_unchanged,
        left_alone=tuple(left_alone),
    )


def _refuse(conflicts: list[str], repo_id: str, source: str) -> None:
    if conflicts:
        shown = "\n".join(f"  {conflict}" for conflict in sorted(conflicts)[:12])
        more = f"\n  ... and {len(conflicts) - 12} more" if len(conflicts) > 12 else ""
        raise PublishError(
            f"{repo_id} holds what this bank did not put there; nothing was published:\n{shown}{more}\n"
            f"Take it in first (pairbank merge {source} {repo_id} --out MERGED) and publish that, or allow a file to "
            "be replaced (replace=[...], --replace PATH)"
        )


def size_text(n_bytes: int) -> str:
    """Return a size for people.

    >>> size_text(12), size_text(3_500_000)
    ('12 B', '3.3 MiB')
    """
    large = (f"{number(n_bytes / unit, digits=1)} {name}" for unit, name in UNITS if n_bytes >= unit)
    return next(large, f"{n_bytes} B")
