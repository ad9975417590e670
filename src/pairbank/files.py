"""Files: atomic writes, hashes, JSON manifests, the cache folder, and what a failed read or write becomes.

Nothing here knows what a corpus is. Locks ask `host` where this process runs, and `is_running` whether another still
does.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import BankError, OutputError, PairbankError

if TYPE_CHECKING:
    import pyarrow as pa
PART = ".part"
"""Ending of a temporary file or folder."""
_NAME_BYTES = 120
"""Of a file's name in that of its temporary one, which may not be too long where the file's own is not."""
ROWS_A_GROUP = 16_384
"""Of a parquet file: so that one row of a long table is read without the others."""
FORMULA = r"\A([=+\-@\t\r\n])"
"""How a cell of a CSV file starts that a spreadsheet would run."""
_RAISED_BY = {
    "csv": "Error",
    "json": "JSONDecodeError",
    "lzma": "LZMAError",
    "pyarrow": "ArrowException",
    "safetensors": "SafetensorError",
    "tarfile": "TarError",
    "tomllib": "TOMLDecodeError",
    "yaml": "YAMLError",
    "zipfile": "BadZipFile",
    "zlib": "error",
}
"""Module -> the base of what it raises over a damaged file."""
_WHAT_TO_CHECK: dict[type[OSError], str] = {
    FileNotFoundError: "check the path",
    IsADirectoryError: "give a file, not a folder",
    NotADirectoryError: "check the path",
    PermissionError: "check who may read it",
}
_WHAT_TO_DO = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "choose a place that takes larger files",
    errno.EROFS: "choose another place",
    errno.ENOLCK: "its file system cannot lock files: set PAIRBANK_CACHE to a folder on a local disk",
    errno.ENOSYS: "its file system cannot lock files: set PAIRBANK_CACHE to a folder on a local disk",
    errno.EACCES: "choose a place that you may write to",
    errno.EPERM: "choose a place that you may write to",
    errno.EEXIST: "a file or device is where a folder is needed: choose another path",
    errno.ENOTDIR: "a file or device is where a folder is needed: choose another path",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def cache_dir() -> Path:
    """Return the folder of downloads, prepared corpora, stored scores and the converted demo model.

    `PAIRBANK_CACHE` names it; else it is `pairbank` under the user's cache folder. It is made for its owner alone, for
    it holds private sentences; a folder that is there already keeps its permissions, so that a group can share one.
    """
    named = os.environ.get("PAIRBANK_CACHE")
    folder = Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pairbank").expanduser()
    with contextlib.suppress(OSError):  # whoever writes there names the fault
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
    return folder


def sha256_of_file(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_of_text(*parts: str) -> str:
    """Return the hex sha256 of the parts, each ended by a NUL, so that ("ab", "c") differs from ("a", "bc")."""
    return sha256_of_texts(parts)


def sha256_of_texts(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


@contextlib.contextmanager
def cleaned_up(clean: Callable[[], object]) -> Iterator[None]:
    """Call `clean` when a block ends, however it ends; once more if Ctrl+C met it there, so it may be called twice."""
    try:
        try:
            yield
        finally:
            clean()
    finally:
        clean()


@contextlib.contextmanager
def replaced_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends without an error.

    A reader, or a run after a kill, sees the old file or the whole new one, never a part. What a killed writer of the
    same file left behind is removed.
    """
    with writing(path):
        refuse_other_than_a_file(path)
        temporary = _beside(path)
        with cleaned_up(lambda: temporary.unlink(missing_ok=True)):
            temporary.touch(exist_ok=False)
            yield temporary
            temporary.replace(path)


@contextlib.contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Yield a new empty folder beside `path`, which goes when the block ends; those of killed writers go too."""
    folder = _beside(path)
    with cleaned_up(lambda: shutil.rmtree(folder, ignore_errors=True)):
        folder.mkdir()
        yield folder


@contextlib.contextmanager
def written_together(root: Path, *, last: str = "") -> Iterator[Path]:
    """Yield an empty folder whose files take their places in `root` when the block ends without an error, or none does.

    The file `last` is the last to move: where it is, all others are. A full disk leaves `root` as it was.
    """
    is_new = not root.exists()

    def remove_if_empty() -> None:
        if is_new and root.is_dir() and not any(root.iterdir()):
            root.rmdir()

    undo = cleaned_up(remove_if_empty)
    with writing(root), undo, folder_beside(root / "files") as staged:
        try:
            yield staged
        except OutputError as error:  # names the place that the user knows
            raise OutputError(str(error).replace(str(staged), str(root))) from error
        paths = [path.relative_to(staged) for path in sorted(staged.rglob("*")) if path.is_file()]
        for path in sorted(paths, key=lambda path: path.as_posix() == last):
            refuse_other_than_a_file(root / path)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (staged / path).replace(root / path)


def _beside(path: Path) -> Path:
    """Return a new name for a temporary file or folder beside `path`; remove what killed writers left there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    return path.with_name(f"{temporary_prefix(path)}{secrets.token_hex(4)}{PART}")


def refuse_other_than_a_file(path: Path) -> None:
    """Refuse to write where something stands that is no regular file."""
    if path.exists() and not path.is_file():
        description = "a folder" if path.is_dir() else "a device or pipe"
        raise OutputError(f"{path}: is {description}, expected a regular file or nothing; give another path")


def _part_of(path: Path) -> str:
    return f".{path.name.encode()[:_NAME_BYTES].decode(errors='ignore')}."


@functools.cache
def _machine() -> str:
    return sha256_of_text(host())[:8]


def temporary_prefix(path: Path) -> str:
    return f"{_part_of(path)}{_machine()}-{os.getpid()}."


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files and folders beside `path` of writers that were killed on this machine."""
    ours = re.compile(rf"{re.escape(_part_of(path) + _machine())}-(\d+)\..*{re.escape(PART)}", re.DOTALL)
    for name in os.listdir(path.parent):  # noqa: PTH208 - a store has many files, whose names are enough
        if (result := ours.fullmatch(name)) and not is_running(int(result[1])):
            left = path.with_name(name)
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    with replaced_atomically(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - JSON is any
    """Write JSON atomically: sorted keys, so that equal content is equal bytes."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def cached_json(path: Path) -> Any:  # noqa: ANN401 - JSON is any
    """Return what a file of the cache holds; None where there is none, or a damaged one."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return json.loads(path.read_bytes())
    return None


def cache_json(path: Path, value: Any) -> None:  # noqa: ANN401 - JSON is any
    """Keep JSON in the cache; one that cannot be written to costs time alone."""
    with contextlib.suppress(OSError):
        write_json(path, value)


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table atomically to a parquet file whose pages carry checksums.

    It has an index of its pages, for viewers that read a few rows. Pages end where the content says, so that a hub
    that stores chunks uploads those alone that have changed.
    """
    import pyarrow.parquet as pq

    with replaced_atomically(path) as temporary:
        pq.write_table(
            table,
            temporary,
            row_group_size=ROWS_A_GROUP,
            write_page_checksum=True,
            write_page_index=True,
            use_content_defined_chunking=True,
        )


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a parquet file; its pages are checked against their checksums, where it has any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        reason = "it is a folder: give its .parquet files" if path.is_dir() else "there is no such file"
        raise BankError(f"{path}: not a readable parquet file ({reason})")
    try:
        if columns is not None and not columns:
            return pq.read_schema(path).empty_table()
        names = None if columns is None else list(columns)
        return pq.read_table(path, columns=names, page_checksum_verification=True, partitioning=None)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def parquet_batches(path: Path, columns: Sequence[str], n_rows: int) -> Iterator[pa.Table]:
    """Yield so many rows of a parquet file, and the next, the last fewer; of a file without rows one table of none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    waiting: pa.Table = read_parquet(path, ()).select(list(columns)).replace_schema_metadata(None)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=n_rows, columns=list(columns)):
                part = pa.Table.from_batches([batch]).select(list(columns))
                waiting = pa.concat_tables([waiting, part.replace_schema_metadata(None)])
                while len(waiting) >= n_rows:
                    yield waiting.slice(0, n_rows)
                    waiting = waiting.slice(n_rows)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(waiting) or not n_rows_of(path):
        yield waiting


def _unreadable(path: Path, error: Exception) -> BankError:
    reason = " ".join(str(error).split())
    return BankError(f"{path}: not a readable parquet file ({reason}); write it again")


def n_rows_of(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def defused(cell: str) -> str:
    """Return a cell of a CSV file behind an apostrophe where a spreadsheet would run it as a formula.

    >>> defused("=1+1"), defused("a=1")
    ("'=1+1", 'a=1')
    """
    return re.sub(FORMULA, r"'\1", cell)


@contextlib.contextmanager
def reading(
    path: Path | str, error: type[PairbankError], *, saying: str = "cannot be read", remedy: str = "download it again"
) -> Iterator[None]:
    """Raise as `error` what the operating system, a codec or a parser raises while a block reads a file.

    Errors of our own pass as they are. So does what is no fault of the file (a TypeError, a KeyError).

    >>> with reading("a.json", PairbankError, saying="not JSON"):
    ...     json.loads("?")
    Traceback (most recent call last):
    pairbank.errors.PairbankError: a.json: not JSON (Expecting value: line 1 column 1 (char 0)); download it again
    """
    try:
        yield
    except PairbankError:
        raise
    except _foreign_errors() as problem:
        to_do = next((text for kind, text in _WHAT_TO_CHECK.items() if isinstance(problem, kind)), remedy)
        raise error(f"{path}: {saying} ({_reason(problem)}); {to_do}") from problem


def real_path(path: Path) -> Path:
    """Return an absolute path without links; of links in a circle what is left (`Path.resolve` gives a traceback)."""
    return Path(os.path.realpath(path))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say of what the operating system refuses while a block writes a file which file it was, and what to do."""
    try:
        yield
    except OSError as problem:
        if isinstance(problem, PairbankError):
            raise
        raise refused(path, problem) from problem


def refused(path: Path, problem: OSError, *, saying: str = "cannot be written") -> OutputError:
    """Return an error that says what the operating system refused, and what to do.

    >>> refused(Path("a.csv"), OSError(errno.ENOSPC, "No space left on device"))
    OutputError('a.csv: cannot be written (No space left on device); make room, and run it again')
    """
    to_do = _WHAT_TO_DO.get(problem.errno or 0, "check the place")
    return OutputError(f"{path}: {saying} ({_reason(problem)}); {to_do}, and run it again")


def _foreign_errors() -> tuple[type[BaseException], ...]:
    """Return what a read may raise: of a module that is not loaded, nothing can have been raised."""
    loaded = ((sys.modules[module], name) for module, name in _RAISED_BY.items() if module in sys.modules)
    return (OSError, EOFError, ValueError, RecursionError, *(getattr(module, name) for module, name in loaded))


def _reason(problem: BaseException) -> str:
    if isinstance(problem, UnicodeDecodeError):
        return f"byte {problem.object[problem.start]:#04x} at {problem.start:,} is not {problem.encoding.upper()}"
    text = (problem.strerror if isinstance(problem, OSError) else None) or str(problem) or type(problem).__name__
    return text.splitlines()[0]


def read_json(path: Path) -> Any:  # noqa: ANN401 - JSON is any
    with reading(path, PairbankError, saying="not readable as JSON", remedy="delete it and run again"):
        return json.loads(path.read_text(encoding="utf-8"))


def host() -> str:
    """Return this machine's name and, on it, the space of process ids: containers have their own."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def is_running(pid: int) -> bool:
    """Return whether a process of this machine runs; one of somebody else's does, as far as we can tell.

    >>> is_running(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def several(value: Any, *, tables: bool = False) -> list[Any]:  # noqa: ANN401 - whatever a caller has several of
    """Return what a caller has one or several of as a list; scored tables are read where their files are given.

    >>> several("direct"), several(("a", "b"))
    (['direct'], ['a', 'b'])
    """
    is_table = hasattr(value, "columns") or hasattr(value, "column_names") or hasattr(value, "summary")
    single = is_table or isinstance(value, str | Path) or not isinstance(value, Iterable)
    values = [value] if single else [*(value.values() if isinstance(value, Mapping) else value)]
    for place, entry in enumerate(values if tables else ()):
        if isinstance(entry, str | Path):
            from pairbank import read_scored

            values[place] = read_scored(entry)
        elif not hasattr(entry, "signature"):
            raise BankError(
                "expected scored tables, or paths of .parquet files that pairbank wrote; got "
                f"{type(entry).__name__}: scored = pairbank.score(items, model), or pairbank.read_scored(PATH)"
            )
    return values
