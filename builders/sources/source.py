"""Where corpus files come from: the user's `data_dir`, else the cache, else a checked download; members of archives.

A folder may stand in place of an archive. What macOS puts beside files (`__MACOSX/`, `._name`) is left out.
An archive that is damaged, encrypted, climbs out of itself or unpacks to more than `MAX_UNPACKED_BYTES` is refused.
"""

from __future__ import annotations

import functools
import gzip
import logging
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, Any, cast
from urllib.parse import quote

from pairbank.builders.sources.downloads import Progress, download, page_of
from pairbank.builders.sources.readers import data_file, decode, read_json_lines
from pairbank.errors import CorpusError, CorpusFileNotFoundError, PairbankError, unknown_name
from pairbank.files import cache_dir, reading, sha256_of_file, sha256_of_text

MAX_UNPACKED_BYTES = 512 * 2**20
"""Of one archive, all its members together; the largest that a corpus comes in unpacks to a tenth of it."""
_PIECE_BYTES = 2**16
_CUT = "the download was probably cut: get the file again"

logger = logging.getLogger(__name__)
CONNECTIONS = 8
"""Files of one folder that are downloaded at a time."""


def member_texts(
    path: Path, pattern: str, is_requested: Callable[[str], bool] = lambda _name: True
) -> Iterator[tuple[str, str]]:
    for name, data in member_bytes(path, pattern, is_requested):
        yield name, decode(data, f"{path}:{name}")


def member_rows(
    path: Path, pattern: str, required: Sequence[str], is_requested: Callable[[str], bool], *, without: str = "\n"
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield (stem of the file, row, where it is) of files of JSON lines, told by their stems; `without`: in no path."""
    for name, data in member_bytes(
        path, pattern, lambda name: without not in name and is_requested(PurePosixPath(name).stem)
    ):
        lines = decode(data, f"{path}:{name}").split("\n")
        for number, row in read_json_lines(lines, required, where=f"{path}:{name}"):
            yield PurePosixPath(name).stem, row, f"{path}:{name}, row {number}"


def member_bytes(
    path: Path,
    pattern: str,
    is_requested: Callable[[str], bool] = lambda _name: True,
    *,
    password: str = "",
    remedy: str = "unpack it with its password and give the folder",
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of the files of a folder, zip or tar.gz archive that fit, in the order of their names.

    A tar.gz is read once, its wanted files held in memory. `remedy`: of an archive whose password is not right.
    """
    n_fitting = 0

    def is_wanted(name: str) -> bool:
        nonlocal n_fitting
        shadow = name.rsplit("/", 1)[-1].startswith("._") or name.startswith("__MACOSX/")
        fits = not shadow and _regex(pattern).fullmatch(name) is not None
        n_fitting += fits
        return fits and is_requested(name)

    if path.is_dir():
        names = sorted(p.relative_to(path).as_posix() for p in path.glob(pattern))
        yield from ((name, (path / name).read_bytes()) for name in names if is_wanted(name))
    elif path.suffix == ".zip" or zipfile.is_zipfile(path):
        yield from _zip_bytes(path, is_wanted, password, remedy)
    else:
        yield from sorted(_tar_bytes(path, is_wanted).items())
    if not n_fitting:
        remedy = "give the folder that holds them" if path.is_dir() else "check the archive"
        raise CorpusError(f"{path}: holds no file like {pattern}; {remedy}, or download it again")


def _zip_bytes(path: Path, is_wanted: Callable[[str], bool], password: str, remedy: str) -> Iterator[tuple[str, bytes]]:
    with reading(path, CorpusError, saying="not a readable zip archive", remedy=_CUT):
        archive = zipfile.ZipFile(path)
    with archive:
        members = sorted(archive.infolist(), key=lambda member: member.filename)
        _check_size(path, sum(member.file_size for member in members))
        for member in members:
            _check_name(path, member.filename)
            if member.flag_bits & 1 and not password:
                raise CorpusError(f"{path}: member {member.filename!r} is encrypted; {remedy}")
        for member in members:
            if member.is_dir() or not is_wanted(member.filename):
                continue
            where = f"{path}:{member.filename}"
            with reading(where, CorpusError, saying="damaged", remedy="download it again"):
                try:
                    data = archive.read(member, pwd=password.encode() or None)
                except NotImplementedError:
                    raise CorpusError(
                        f"{where}: packed in a way that Python cannot unpack (AES); unpack it yourself (7z x "
                        f"{path.name}) and give the folder"
                    ) from None
                except (RuntimeError, zipfile.BadZipFile, zlib.error):  # one wrong password in 256 is not seen
                    if not member.flag_bits & 1:
                        raise
                    raise CorpusError(f"{where}: the password is wrong, or the file damaged; {remedy}") from None
            yield member.filename, data


def _check_size(path: Path, n_bytes: int) -> None:
    if n_bytes > MAX_UNPACKED_BYTES:
        raise CorpusError(
            f"{path}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20:,} MiB, which no corpus does; the file is not "
            "to be trusted: download it again, or unpack it yourself and give the folder"
        )


@functools.cache
def _regex(pattern: str) -> re.Pattern[str]:
    """Return what a pattern of `Path.glob` means for a member's name, which may be in further folders."""
    meaning = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    parts = (meaning.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*)", pattern))
    return re.compile("(?:.*/)?" + "".join(parts))


def _tar_bytes(path: Path, is_requested: Callable[[str], bool]) -> dict[str, bytes]:
    results: dict[str, bytes] = {}
    with reading(path, CorpusError, saying="not a readable tar archive", remedy=_CUT), gzip.open(path) as unpacked:
        limited = _Limited(path, unpacked)
        with tarfile.open(fileobj=cast("IO[bytes]", limited), mode="r|") as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                _check_name(path, name)
                if not (member.isfile() or member.isdir()):
                    raise CorpusError(
                        f"{path}: member {name!r} is a link or device, expected plain files; "
                        "the file is not to be trusted"
                    )
                if member.isfile() and is_requested(name) and (handle := archive.extractfile(member)):
                    results[name] = handle.read()
        while limited.read(_PIECE_BYTES):
            pass  # to the end, where gzip has its checksum
    return results


class _Limited:
    """A stream that refuses to give more bytes than an archive may unpack to."""

    def __init__(self, path: Path, stream: gzip.GzipFile) -> None:
        self._path, self._stream, self._n_read = path, stream, 0

    def read(self, size: int) -> bytes:
        _check_size(self._path, self._n_read + size)
        data = self._stream.read(size)
        self._n_read += len(data)
        return data


def _check_name(path: Path, name: str) -> None:
    if name.startswith(("/", "\\")) or ".." in Path(name).parts or Path(name).drive:
        raise CorpusError(f"{path}: member {name!r} points outside the archive; the file is not to be trusted")


def bibtex(*keys: str, between: str = "\n\n") -> str:
    """Return the entries of these keys, in their order."""
    known = references()
    for key in keys:
        if key not in known:
            raise unknown_name("reference", key, known)
    return between.join(known[key] for key in keys)


@functools.cache
def references() -> Mapping[str, str]:
    text = data_file("references.bib").read_text(encoding="utf-8")
    pairs = entries(text)
    keys = [key for key, _ in pairs]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise PairbankError(f"references.bib: {', '.join(twice)} more than once; leave one entry of each key")
    if len(pairs) != text.count("\n@"):
        raise PairbankError(
            f"references.bib: {len(pairs)} whole entries, but {text.count(chr(10) + '@')} lines start one; give each a "
            "key and as many closing as opening braces"
        )
    return MappingProxyType(dict(pairs))


def entries(text: str) -> list[tuple[str, str]]:
    """Return key and text of every whole BibTeX entry, in their order; what stands between entries is left out."""
    whole: list[tuple[str, str]] = []
    end = 0
    for start in re.finditer(r"@\w+\s*\{\s*([^,\s{}]+)\s*,", text):
        if start.start() < end:
            continue
        depth = 0
        for brace in re.finditer(r"[{}]", text[start.start() :]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = start.start() + brace.end()
                whole.append((start[1], text[start.start() : end]))
                break
    return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One upstream file: its name, where it is at the pinned revision, and its content's hash."""

    name: str
    url: str
    """Its address; "" where it cannot be downloaded and the user brings it."""
    sha256: str
    """Of the pinned content; "" = not pinned, and every copy is recorded as unverified."""
    optional: bool = False
    """The corpus can be built without it: a data folder may lack it; it is downloaded with the rest."""
    unpacked: str = ""
    """Pattern of the unpacked files that may replace it, in the folder or its `data/`."""
    members: str = ""
    """For an archive that upstream has only as a folder: the file under `builders/data` that pins each of its
    files (path, tab, sha256 a line). `url` is then that folder, and `sha256` is `digest_of_members`."""
    by_hand: str = ""
    """How a person gets it, where the address alone does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a corpus comes from, under which licence, and whom to cite."""

    homepage: str
    revision: str
    files: tuple[SourceFile, ...]
    licence: str
    """SPDX-like id as the Hub uses it (`cc-by-4.0`, `mit`, `unknown`, `apache-2.0`)."""
    licence_note: str = ""
    citation: str
    """BibTeX: `bibtex("key")` gives an entry of `data/references.bib`."""
    redistributable: bool
    """Whether a bank that is published may hold the texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedFile:
    """A corpus file on disk; `verified` says whether its bytes are the pinned ones."""

    path: Path
    name: str
    sha256: str
    verified: bool


def locate(
    corpus: str, source: Source, data_dir: Path | None, *, progress: Progress | None = None
) -> Mapping[str, LocatedFile]:
    results: dict[str, LocatedFile] = {}
    if data_dir is not None and not data_dir.is_dir():
        raise CorpusFileNotFoundError(
            f"corpus {corpus!r}: data folder {data_dir} does not exist; give the folder that holds its files"
        )
    names = (corpus, corpus.replace("-", "_"), "")
    folders = [] if data_dir is None else list(dict.fromkeys(data_dir / name for name in names))
    for file in source.files:
        path = next((p for folder in folders if (p := _on_disk(folder, file))), None)
        if path is None and file.optional and (data_dir is not None or not file.url):
            continue
        if path is None and data_dir is not None:
            raise CorpusFileNotFoundError(
                f"corpus {corpus!r}: no file {file.name!r} in {' or '.join(map(str, folders))}; "
                f"{_by_hand(file)} and put it there"
                f"{', or leave out the data folder to download it' if file.url else ''}"
            )
        results[file.name] = _located(corpus, file, path or fetch(corpus, file, progress=progress))
    if not results and source.files:
        raise CorpusFileNotFoundError(
            f"corpus {corpus!r}: no file {source.files[0].name!r} in {' or '.join(map(str, folders))}, nor any "
            f"other of its {len(source.files)}; {_by_hand(source.files[0])} and put it there"
        )
    return results


def _on_disk(folder: Path, file: SourceFile) -> Path | None:
    if (folder / file.name).is_file():
        return folder / file.name
    if file.unpacked:
        return next((f for f in (folder, folder / "data") if next(f.glob(file.unpacked), None)), None)
    return None


def _located(corpus: str, file: SourceFile, path: Path) -> LocatedFile:
    digest = digest_of_members(path, file.unpacked) if file.members or path.is_dir() else sha256_of_file(path)
    if not file.sha256:
        logger.warning("corpus %s: no hash is pinned for %s; recorded as unverified", corpus, path)
    elif digest != file.sha256:
        logger.warning("corpus %s: %s differs from the pinned version; recorded as unverified", corpus, path)
    return LocatedFile(path=path, name=file.name, sha256=digest, verified=digest == file.sha256)


def digest_of_members(path: Path, pattern: str) -> str:
    """Return one hash of the files in a folder or archive: of their names and contents, not of the packing."""
    hashes = {name.rsplit("/", 1)[-1]: sha256(data).hexdigest() for name, data in member_bytes(path, pattern)}
    return sha256_of_text(*(f"{name} {digest}" for name, digest in sorted(hashes.items())))


def fetch(corpus: str, file: SourceFile, *, progress: Progress | None = None) -> Path:
    """Download one pinned file, or folder of files, into the cache, once, and check every hash."""
    remedy = f"{_by_hand(file)} and give its folder as data_dir (--data-dir)"
    folder = cache_dir() / "downloads" / corpus
    if not file.url:
        raise CorpusFileNotFoundError(f"corpus {corpus!r}: {file.name!r} cannot be downloaded; {remedy}")
    logger.info("downloading %s", file.url)
    bring = partial(download, corpus=corpus, remedy=remedy, progress=progress)
    if not file.members:
        bring(file.url, folder / file.name, sha256=file.sha256)
        return folder / file.name
    root, pinned = folder / file.name.split(".", 1)[0], pinned_members(file)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        urls, paths = [f"{file.url}/{quote(name)}" for name in pinned], [root / name for name in pinned]
        # unlike `submit`, an iteration that fails calls off the downloads that have not begun
        list(pool.map(lambda url, path, digest: bring(url, path, sha256=digest), urls, paths, pinned.values()))
    return root


def pinned_members(file: SourceFile) -> Mapping[str, str]:
    """Return path -> sha256 of the upstream files that an archive packs."""
    text = data_file(file.members).read_text(encoding="utf-8")
    pairs = (line.split("\t") for line in text.splitlines())
    return {name: digest for name, digest in pairs}  # noqa: C416 - it also checks that a line has two cells


def _by_hand(file: SourceFile) -> str:
    if file.by_hand:
        return f"{file.by_hand}, name it {file.name!r}"
    if file.members:
        return f"get the folder by hand from {page_of(file.url, folder=True)} (or pack it as {file.name!r})"
    return f"get it from {page_of(file.url)} as {file.name!r}"
