"""The files of a published source: in, a profile that pins them, perhaps a folder of copies; out, where they are.

A profile's `[source]` names a repository at a commit. The file `NAME.tsv` beside it pins what is read of it, one file a
line: our name, sha256, path in the repository. A folder of copies is a cache, looked at first.
"""

from __future__ import annotations

import contextlib
import gzip
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from pairbank.builders.sources.downloads import GITHUB_RAW, Progress, download, page_of
from pairbank.builders.sources.source import CONNECTIONS
from pairbank.errors import CorpusFileNotFoundError
from pairbank.files import cache_dir, sha256_of_file
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.profile import ImportProfile, load_profile


class Pinned(NamedTuple):
    name: str
    sha256: str
    path: str
    """In the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFiles:
    paths: tuple[Path, ...]
    n_pinned: int
    others: tuple[str, ...] = ()
    """Pinned files that are not in the folder, or have other bytes there."""

    def note(self, name: str) -> str:
        """Return what a report must say of them: nothing where they are the pinned ones."""
        if not self.others:
            return ""
        shown = ", ".join(self.others[:3]) + (" …" if len(self.others) > 3 else "")
        return (
            f"{name}: read from the given folder, which lacks {len(self.others):,} of the source's {self.n_pinned:,} "
            f"files as published, or has them in another form ({shown})."
        )


def pins_of(name: str, profile: ImportProfile) -> tuple[Pinned, ...]:
    if not profile.repository:
        raise ScoreImportError(f"profile {name!r} names no published files; give the files to import")
    text = (resources.files("pairbank.scoring.importing") / "profiles" / f"{name}.tsv").read_text(encoding="utf-8")
    return tuple(Pinned(*line.split("\t")) for line in text.splitlines())


def published_files(
    name: str, data_dir: str | Path | None = None, *, progress: Progress | None = None
) -> PublishedFiles:
    """Return the files of a shipped profile's source, from a folder or downloaded into the cache."""
    profile = load_profile(name)
    pins = pins_of(name, profile)
    folder_name, folders = profile.folder or name, tuple[Path, ...]()
    if data_dir is not None:
        root = Path(data_dir)
        if not root.is_dir():
            raise CorpusFileNotFoundError(
                f"data folder {root} does not exist; give the folder of copies, or leave it out"
            )
        folders = (root, root / folder_name, root.absolute().parent / "corpora" / folder_name)
    for folder in folders:
        if len(pins) == 1 and (folder / pins[0].name).is_file():
            return PublishedFiles(paths=(folder / pins[0].name,), n_pinned=1, others=_others(pins, folder))
        if len(pins) > 1 and folder.name == folder_name and folder.is_dir():
            return PublishedFiles(paths=(folder,), n_pinned=len(pins), others=_others(pins, folder))
    return PublishedFiles(paths=_downloaded(name, profile, pins, progress), n_pinned=len(pins))


def _others(pins: Iterable[Pinned], folder: Path) -> tuple[str, ...]:
    """Return the pinned files that a folder has neither as they are nor packed."""
    others = []
    for pin in pins:
        path, digest = folder / pin.name, ""
        if path.is_file():
            digest = sha256_of_file(path)
        else:
            with contextlib.suppress(OSError, EOFError), gzip.open(f"{path}.gz") as opened:
                digest = sha256(opened.read()).hexdigest()
        if digest != pin.sha256:
            others.append(pin)
    packed = dict(_packed(folder)) if others else {}
    return tuple(pin.name for pin in others if pin.sha256 != packed.get(pin.name))


def _packed(folder: Path) -> Iterator[tuple[str, str]]:
    for archive in sorted(folder.glob("*.tar.xz")):
        with contextlib.suppress(tarfile.TarError, OSError, EOFError), tarfile.open(archive, "r:xz") as opened:
            for member in opened:
                if member.isfile() and (file := opened.extractfile(member)):
                    yield member.name, sha256(file.read()).hexdigest()


def _downloaded(
    name: str, profile: ImportProfile, pins: Sequence[Pinned], progress: Progress | None
) -> tuple[Path, ...]:
    root = cache_dir() / "downloads" / name
    base = f"{GITHUB_RAW}/{profile.repository}/{profile.revision}"
    remedy = f"get the files from {page_of(base + '/', folder=True)} and give their folder (--data-dir)"

    def bring(pin: Pinned) -> None:
        url, place = f"{base}/{quote(pin.path)}", root / pin.name
        download(url, place, sha256=pin.sha256, corpus=name, remedy=remedy, progress=progress)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(bring, pins))
    return (root,) if len(pins) > 1 else (root / pins[0].name,)
