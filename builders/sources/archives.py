"""Reading zip and tar.gz archives, and folders in their place, strictly: what they unpack to has a limit.

In: an upstream archive, or the folder it unpacks to. Out: names and contents of its files, in the order of names. An
archive that is damaged, encrypted, climbs out of itself or unpacks to more than `MAX_UNPACKED_BYTES` is refused.
"""

from __future__ import annotations

import functools
import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

from pairbank.builders.sources.readers import decode
from pairbank.errors import CorpusError
from pairbank.files import reading

MAX_UNPACKED_BYTES = 512 * 2**20
"""Of one archive, all its members together; the largest that a corpus comes in unpacks to a tenth of it."""
_PIECE_BYTES = 2**16
_CUT = "the download was probably cut: get the file again"


def zip_members(path: Path, suffix: str, *, password: bytes = b"") -> list[str]:
    """Return the sorted member names with this suffix, macOS shadow files left out.

    Raises:
        CorpusError: the archive is broken, or a member's path is absolute or climbs out of the archive.
    """
    with open_zip(path) as archive:
        _check_members(path, archive, password=password)
        names = [n for n in archive.namelist() if n.endswith(suffix) and not n.startswith("__MACOSX/")]
    for name in names:
        _check_name(path, name)
    return sorted(names)


def _check_members(path: Path, archive: zipfile.ZipFile, *, password: bytes = b"") -> None:
    """Refuse an archive that unpacks to too much, or whose members need a password."""
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
    """Yield (name, bytes) of an archive's files, in the order of their names; those that are encrypted with a password.

    Args:
        path: The archive.
        pattern: Which of its files, as for `Path.glob`.
        password: Its password; empty = the user gave none.
        remedy: How to give one, for the error.

    Raises:
        CorpusError: no password, a wrong one, an encryption that Python cannot read (AES), or a damaged archive.
    """
    with open_zip(path) as archive:
        _check_size(path, sum(member.file_size for member in archive.infolist()))
        chosen = sorted(
            (value for value in archive.infolist() if _fits(value.filename, pattern)), key=lambda entry: entry.filename
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
    """Return one member's text; a damaged member is an error that names it."""
    return decode(read_zip_bytes(path, name), f"{path}:{name}")


def read_zip_bytes(path: Path, name: str, *, password: bytes = b"") -> bytes:
    """Return one member's bytes; a damaged member is an error that names it."""
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
    path: Path, pattern: str, wanted: Callable[[str], bool] = lambda _name: True
) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the files of a folder, zip or tar.gz archive, in the order of their names.

    Args:
        path: the folder or archive.
        pattern: which of its files, as for `Path.glob`: `scamp_*/*.tsv`.
        wanted: which of these, by name.

    Raises:
        CorpusError: the archive is broken or not to be trusted, nothing fits the pattern, or text is not UTF-8.
    """
    n_fitting = 0

    def counted(name: str) -> bool:
        nonlocal n_fitting
        n_fitting += 1
        return wanted(name)

    for name, data in member_bytes(path, pattern, counted):
        yield name, decode(data, f"{path}:{name}")
    if not n_fitting:
        raise CorpusError(f"{path}: holds no file like {pattern}; check the archive, or download it again")


def member_bytes(
    path: Path, pattern: str, wanted: Callable[[str], bool] = lambda _name: True, *, password: bytes = b""
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) as `member_texts` does; a tar.gz is read once, its wanted files held in memory."""
    if path.is_dir():
        names = sorted(p.relative_to(path).as_posix() for p in path.glob(pattern))
        yield from ((name, (path / name).read_bytes()) for name in names if _fits(name, pattern) and wanted(name))
    elif zipfile.is_zipfile(path):
        for name in zip_members(path, "", password=password):
            if _fits(name, pattern) and wanted(name):
                yield name, read_zip_bytes(path, name, password=password)
    else:
        yield from sorted(_tar_bytes(path, lambda name: _fits(name, pattern) and wanted(name)).items())


def _fits(name: str, pattern: str) -> bool:
    shadow = name.rsplit("/", 1)[-1].startswith("._") or name.startswith("__MACOSX/")
    return not shadow and _regex(pattern).fullmatch(name) is not None


@functools.cache
def _regex(pattern: str) -> re.Pattern[str]:
    """Return what a pattern of `Path.glob` means for a member's name, which may stand in further folders."""
    meaning = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    parts = (meaning.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*)", pattern))
    return re.compile("(?:.*/)?" + "".join(parts))


def _tar_bytes(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
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
                if member.isfile() and wanted(name) and (handle := archive.extractfile(member)):
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
