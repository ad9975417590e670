"""The text of a user's file: its encoding, its lines, and characters that show that one of them is wrong.

In: a path, perhaps what its user says of it. Out: the codec and what is to be said about it; lines. UTF-8 is expected,
a byte-order mark is believed, and nothing else is guessed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator
from pathlib import Path

from pairbank.builders.sources.readers import decode
from pairbank.errors import CorpusError
from pairbank.files import reading

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FILES = {
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods; the suffix says otherwise) or zip archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls)",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a parquet file (the suffix says otherwise)",
}
_CONTROL = re.compile("[\0-\b\v\f\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
SAY_ENCODING = (
    "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8'), or say what it is: --encoding cp1252 (encoding='cp1252') "
    "for a file of Windows in Western Europe"
)


def encoding_of(path: Path, stated: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the codec that a text file is read with, and what is to be said about it.

    Args:
        path: the file.
        stated: its encoding, if its user says it.

    Raises:
        CorpusError: it is no text by its first bytes, or what is stated is no encoding or not that of its mark.
    """
    with reading(path, CorpusError), path.open("rb") as handle:
        start = handle.read(4)
    if other := next((what for mark, what in _OTHER_FILES.items() if start.startswith(mark)), None):
        raise CorpusError(f"{path}: is {other} by its first bytes; export it as 'CSV UTF-8', JSON lines or parquet")
    marked = next((codec for mark, codec in _BYTE_ORDER_MARKS if start.startswith(mark)), None)
    if stated is None:
        codec = marked or "utf-8"
        return codec, () if codec.startswith("utf-8") else (f"read as {codec.upper()}, as its byte-order mark says",)
    try:
        "".encode(stated)
        stated = codecs.lookup(stated).name
    except (LookupError, ValueError) as error:
        raise CorpusError(
            f"no encoding {stated!r}; expected one that Python knows, as utf-8, utf-16, cp1252"
        ) from error
    if marked and not stated.startswith(marked[:6].rstrip("-")):
        raise CorpusError(
            f"{path}: begins with the byte-order mark of {marked.upper()}, not of {stated}; leave the encoding out"
        )
    return marked or stated, (f"read as {stated}, as asked{_doubt(path, stated)}",)


def _doubt(path: Path, stated: str) -> str:
    """Return what speaks against an encoding that was asked for: by chance, text of another is hardly ever UTF-8."""
    if stated.startswith("utf"):
        return ""
    with reading(path, CorpusError):
        data = path.read_bytes()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return (
        ""
        if data.isascii()
        else f", though it is UTF-8: look whether its letters came out right, or leave {stated} out"
    )


def text_lines(path: Path, encoding: str, *, newline: str) -> Generator[str]:
    """Yield the lines of a text file as they are on disk, their ends included.

    Args:
        path: the file.
        encoding: as `encoding_of` tells it.
        newline: "" ends lines where a spreadsheet does, a line feed only there.

    Raises:
        CorpusError: it cannot be read; a byte that is not of its encoding is named with its row.
    """
    remedy = SAY_ENCODING if encoding.startswith("utf") else "say another encoding"
    with reading(path, CorpusError, remedy=remedy):
        try:
            with path.open(encoding=encoding, newline=newline) as handle:
                yield from handle
        except UnicodeDecodeError:
            decode(path.read_bytes(), str(path), encoding, remedy=remedy)
            raise


def odd_character(text: str) -> str | None:
    r"""Return the name of the first character that no sentence holds (a control character, half of a character).

    >>> odd_character("a\tb"), odd_character("a\x1b[1mb")
    (None, 'U+001B')
    """
    found = _CONTROL.search(text)
    return f"U+{ord(found[0]):04X}" if found else None
