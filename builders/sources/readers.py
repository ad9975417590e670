"""Reading upstream files strictly: every failure names the file, the row, what was expected and the remedy."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pairbank.errors import CorpusError

MAX_FIELD_BYTES = 16 * 2**20
NOT_AVAILABLE = ("", "NA", "NaN", "nan", "#N/A")


def decode(data: bytes, where: str) -> str:
    """Return UTF-8 text (a byte-order mark is dropped).

    Raises:
        CorpusError: names the row and byte that is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        bad = data[error.start : error.start + 4]
        raise CorpusError(
            f"{where}, row {row}: byte {bad!r} is not UTF-8; save the file as UTF-8 "
            "(in a spreadsheet: 'CSV UTF-8') and build again"
        ) from error


def read_delimited(
    path: Path, required: Sequence[str], *, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) of a CSV or TSV file with a header, which is never held in memory whole.

    Raises:
        CorpusError: a required column is missing, a row has too few or too many cells, or text is not UTF-8.
    """
    with utf8_lines(path) as lines:
        yield from _delimited(lines, required, where=str(path), delimiter=delimiter)


@contextlib.contextmanager
def utf8_lines(path: Path) -> Iterator[Iterator[str]]:
    """Open a file as UTF-8 lines with their line ends (a byte-order mark is dropped).

    Raises:
        CorpusError: as for `decode`.
    """
    with path.open(encoding="utf-8-sig", newline="") as handle:
        try:
            yield handle
        except UnicodeDecodeError:
            decode(path.read_bytes(), str(path))
            raise


def delimited(
    text: str, required: Sequence[str], *, where: str, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) of CSV or TSV text with a header; `where` names it in errors.

    Raises:
        CorpusError: as for `read_delimited`.
    """
    yield from _delimited(io.StringIO(text, newline=""), required, where=where, delimiter=delimiter)


def _delimited(
    lines: Iterable[str], required: Sequence[str], *, where: str, delimiter: str
) -> Iterator[tuple[int, dict[str, str]]]:
    limit = csv.field_size_limit(MAX_FIELD_BYTES)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if not header:
            raise CorpusError(f"{where}: empty file; expected a header with {', '.join(required)}")
        if missing := [name for name in required if name not in header]:
            raise CorpusError(
                f"{where}, row 1: missing column(s) {', '.join(missing)}; found {', '.join(header)}; "
                "rename the columns in the header or map them"
            )
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise CorpusError(
                    f"{where}, row {reader.line_num}: {len(cells)} cells, expected {len(header)} as in the header; "
                    f"check the quotes and {'commas' if delimiter == ',' else 'separators'} of that row"
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise CorpusError(
            f"{where}, row {reader.line_num}: not readable as delimited text ({error}); check its quotes"
        ) from error
    finally:
        csv.field_size_limit(limit)


def read_rating(cell: str, where: str) -> float | None:
    """Return a human rating, None for an empty or not-available cell.

    Raises:
        CorpusError: the cell is no number.
    """
    if cell in NOT_AVAILABLE:
        return None
    try:
        return float(cell)
    except ValueError as error:
        raise CorpusError(f"{where}: rating {cell!r} is not a number; expected a mean z-score or empty") from error


def read_json_lines(
    lines: Iterable[str], required: Sequence[str], *, where: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of JSON lines, blank lines left out.

    Raises:
        CorpusError: a line is not a JSON object, or lacks a required key.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise CorpusError(
                f"{where}, row {number}: not JSON ({error}); the file may be cut: get it again"
            ) from error
        if not isinstance(row, dict):
            raise CorpusError(f"{where}, row {number}: {type(row).__name__}, expected a JSON object a line")
        if missing := [key for key in required if key not in row]:
            raise CorpusError(f"{where}, row {number}: missing field(s) {', '.join(missing)}; found {', '.join(row)}")
        yield number, row


def zip_members(path: Path, suffix: str) -> list[str]:
    """Return the sorted member names with this suffix, macOS shadow files left out.

    Raises:
        CorpusError: the archive is broken, or a member's path is absolute or climbs out of the archive.
    """
    with open_zip(path) as archive:
        names = [n for n in archive.namelist() if n.endswith(suffix) and not n.startswith("__MACOSX/")]
    for name in names:
        _check_name(path, name)
    return sorted(names)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip archive; a truncated or broken one is an error that says what to do."""
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise CorpusError(
            f"{path}: not a readable zip archive ({error}); the download was probably cut: get the file again"
        ) from error


def read_zip_member(path: Path, name: str) -> str:
    """Return one member's text; a damaged member is an error that names it."""
    return decode(read_zip_bytes(path, name), f"{path}:{name}")


def read_zip_bytes(path: Path, name: str) -> bytes:
    """Return one member's bytes; a damaged member is an error that names it."""
    with open_zip(path) as archive:
        try:
            return archive.read(name)
        except (zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
            raise CorpusError(f"{path}:{name}: damaged ({error}); get the archive again") from error


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
        raise CorpusError(f"{path}: holds no file like {pattern}; check that it is the right archive, or get it again")


def member_bytes(
    path: Path, pattern: str, wanted: Callable[[str], bool] = lambda _name: True
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) as `member_texts` does; a tar.gz is read once, its wanted files held in memory."""
    if path.is_dir():
        names = sorted(p.relative_to(path).as_posix() for p in path.glob(pattern))
        yield from ((name, (path / name).read_bytes()) for name in names if _fits(name, pattern) and wanted(name))
    elif zipfile.is_zipfile(path):
        for name in zip_members(path, ""):
            if _fits(name, pattern) and wanted(name):
                yield name, read_zip_bytes(path, name)
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
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                _check_name(path, name)
                if not (member.isfile() or member.isdir()):
                    raise CorpusError(
                        f"{path}: member {name!r} is a link or device, expected plain files; "
                        "the file is not to be trusted"
                    )
                if member.isfile() and wanted(name) and (handle := archive.extractfile(member)):
                    found[name] = handle.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise CorpusError(
            f"{path}: not a readable tar archive ({error}); the download was probably cut: get the file again"
        ) from error
    return found


def _check_name(path: Path, name: str) -> None:
    if name.startswith(("/", "\\")) or ".." in Path(name).parts or Path(name).drive:
        raise CorpusError(f"{path}: member {name!r} points outside the archive; the file is not to be trusted")
