"""Where corpus files come from: the user's `data_dir`, else the cache, else a checked download; members of archives.

Zip and tar.gz archives, and folders in their place, give names and contents of files, in the order of names. An archive
that is damaged, encrypted, climbs out of itself or unpacks to more than `MAX_UNPACKED_BYTES` is refused.
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
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import IO, cast
from urllib.parse import quote

from pairbank.builders.sources.downloads import Progress, download, page_of
from pairbank.builders.sources.readers import decode
from pairbank.errors import CorpusError, CorpusFileNotFoundError, PairbankError, unknown_name
from pairbank.files import cache_dir, reading, sha256_of_file, sha256_of_text

MAX_UNPACKED_BYTES = 512 * 2**20
"""Of one archive, all its members together; the largest that a corpus comes in unpacks to a tenth of it."""
_PIECE_BYTES = 2**16
_CUT = "the download was probably cut: get the file again"

logger = logging.getLogger(__name__)
CONNECTIONS = 8
"""Files of one folder that are downloaded at a time."""


def zip_members(path: Path, suffix: str, *, password: bytes = b"") -> list[str]:
    """Return the sorted member names with this suffix, macOS shadow files left out."""
    with open_zip(path) as archive:
        _check_members(path, archive, password=password)
        names = [n for n in archive.namelist() if n.endswith(suffix) and not n.startswith("__MACOSX/")]
    for name in names:
        _check_name(path, name)
    return sorted(names)


def _check_members(path: Path, archive: zipfile.ZipFile, *, password: bytes = b"") -> None:
    _check_size(path, sum(member.file_size for member in archive.infolist()))
    if not password and (locked := [member.filename for member in archive.infolist() if member.flag_bits & 1]):
        raise CorpusError(f"{path}: member {locked[0]!r} is encrypted; unpack it with its password and give the folder")


def _check_size(path: Path, n_bytes: int) -> None:
    if n_bytes > MAX_UNPACKED_BYTES:
        raise CorpusError(
            f"{path}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20:,} MiB, which no corpus does; the file is not "
            "to be trusted: download it again, or unpack it yourself and give the folder"
        )


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip archive; a truncated or broken one is an error that says what to do."""
    with reading(path, CorpusError, saying="not a readable zip archive", remedy=_CUT):
        return zipfile.ZipFile(path)


def locked_members(path: Path, pattern: str, *, password: str, remedy: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of an archive's files, in the order of their names; encrypted ones with a password."""
    with open_zip(path) as archive:
        _check_size(path, sum(member.file_size for member in archive.infolist()))
        chosen = sorted(
            (member for member in archive.infolist() if _fits(member.filename, pattern)),
            key=lambda member: member.filename,
        )
        if not chosen:
            raise CorpusError(f"{path}: holds no file like {pattern}; check the archive, or download it again")
        for member in chosen:
            _check_name(path, member.filename)
            locked = bool(member.flag_bits & 1)
            if locked and not password:
                raise CorpusError(f"{path}: encrypted, and no password was given; {remedy}")
            try:
                data = archive.read(member, pwd=password.encode() if locked else None)
            except NotImplementedError:
                raise CorpusError(
                    f"{path}: packed in a way that Python cannot unpack (AES); unpack it yourself (7z x {path.name}) "
                    "and give the folder"
                ) from None
            except (
                RuntimeError,
                zipfile.BadZipFile,
                zlib.error,
            ):  # a wrong password, which one time in 256 is not seen
                wrong = "the password is wrong, or the file damaged" if locked else "damaged"
                raise CorpusError(f"{path}:{member.filename}: {wrong}; {remedy}") from None
            yield member.filename, data


def read_zip_member(path: Path, name: str) -> str:
    return decode(read_zip_bytes(path, name), f"{path}:{name}")


def read_zip_bytes(path: Path, name: str, *, password: bytes = b"") -> bytes:
    with (
        open_zip(path) as archive,
        reading(f"{path}:{name}", CorpusError, saying="damaged", remedy="download it again"),
    ):
        _check_members(path, archive, password=password)
        try:
            return archive.read(name, pwd=password or None)
        except RuntimeError as error:
            if not isinstance(error, NotImplementedError):  # a wrong password
                raise CorpusError(f"{path}:{name}: cannot be read ({error}); download it again") from error
            raise CorpusError(f"{path}:{name}: packed in a way that Python cannot unpack ({error})") from error


def member_texts(
    path: Path, pattern: str, is_requested: Callable[[str], bool] = lambda _name: True
) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the files of a folder, zip or tar.gz archive, in the order of their names."""
    n_fitting = 0

    def counted(name: str) -> bool:
        nonlocal n_fitting
        n_fitting += 1
        return is_requested(name)

    for name, data in member_bytes(path, pattern, counted):
        yield name, decode(data, f"{path}:{name}")
    if not n_fitting:
        raise CorpusError(f"{path}: holds no file like {pattern}; check the archive, or download it again")


def member_bytes(
    path: Path, pattern: str, is_requested: Callable[[str], bool] = lambda _name: True, *, password: bytes = b""
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) as `member_texts` does; a tar.gz is read once, its wanted files held in memory."""
    if path.is_dir():
        names = sorted(p.relative_to(path).as_posix() for p in path.glob(pattern))
        yield from ((name, (path / name).read_bytes()) for name in names if _fits(name, pattern) and is_requested(name))
    elif zipfile.is_zipfile(path):
        for name in zip_members(path, "", password=password):
            if _fits(name, pattern) and is_requested(name):
                yield name, read_zip_bytes(path, name, password=password)
    else:
        yield from sorted(_tar_bytes(path, lambda name: _fits(name, pattern) and is_requested(name)).items())


def _fits(name: str, pattern: str) -> bool:
    shadow = name.rsplit("/", 1)[-1].startswith("._") or name.startswith("__MACOSX/")
    return not shadow and _regex(pattern).fullmatch(name) is not None


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
    """A stream that refuses to give more than an archive may unpack to."""

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
    text = (resources.files("pairbank.builders") / "data" / "references.bib").read_text(encoding="utf-8")
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
    """Return the corpus's files by upstream name; a data folder may lack the optional ones."""
    results: dict[str, LocatedFile] = {}
    folders = _folders(corpus, data_dir)
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


def _folders(corpus: str, data_dir: Path | None) -> Sequence[Path]:
    if data_dir is None:
        return ()
    if not data_dir.is_dir():
        raise CorpusFileNotFoundError(
            f"corpus {corpus!r}: data folder {data_dir} does not exist; give the folder that holds its files"
        )
    return tuple(dict.fromkeys((data_dir / corpus, data_dir / corpus.replace("-", "_"), data_dir)))


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
    root = folder / file.name.split(".", 1)[0]

    def one(pinned: tuple[str, str]) -> None:
        name, digest = pinned
        bring(f"{file.url}/{quote(name)}", root / name, sha256=digest)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for _ in pool.map(one, pinned_members(file).items()):
            pass
    return root


def pinned_members(file: SourceFile) -> Mapping[str, str]:
    """Return path -> sha256 of the upstream files that an archive packs."""
    text = (resources.files("pairbank.builders") / "data" / file.members).read_text(encoding="utf-8")
    pairs = (line.split("\t") for line in text.splitlines())
    return {name: digest for name, digest in pairs}  # noqa: C416 - it also checks that a line has two cells


def _by_hand(file: SourceFile) -> str:
    if file.by_hand:
        return f"{file.by_hand}, name it {file.name!r}"
    if file.members:
        return f"get the folder by hand from {page_of(file.url, folder=True)} (or pack it as {file.name!r})"
    return f"get it from {page_of(file.url)} as {file.name!r}"
