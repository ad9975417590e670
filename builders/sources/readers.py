"""Reading upstream files strictly: every failure names the file, the row, what was expected and the remedy."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

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

MAX_FIELD_BYTES = 16 * 2**20
NOT_AVAILABLE = ("", "NA", "NaN", "nan", "#N/A")
SAVE_AS_UTF8 = "save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8') and build again"

_SCRIPTS = (
    ("cp932", "Japanese", ("HIRAGANA", "KATAKANA"), 0.2),
    ("cp949", "Korean", ("HANGUL",), 0.3),
    ("gb18030", "Chinese", ("CJK",), 0.3),
)
"""Encoding, script, how the names of its letters begin, and the least share of them among all letters.

Encodings of one byte per letter (Cyrillic, Greek …) are not among them: any text is readable in each of them.
"""


def data_file(name: str) -> Path:
    """Return the path of a file under `builders/data`."""
    return Path(str(resources.files("pairbank.builders"))) / "data" / name


def refuse(error: CorpusError) -> None:
    raise error


def encoding_of(path: Path, stated: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the codec that a text file is read with, and what is to be said about it; refuse what is no text."""
    with reading(path, CorpusError), path.open("rb") as handle:
        start = handle.read(4)
    if other := next((description for mark, description in _OTHER_FILES.items() if start.startswith(mark)), None):
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
    with contextlib.suppress(UnicodeDecodeError):
        if data.decode("utf-8") and not data.isascii():
            return f", though it is UTF-8: look whether its letters came out right, or leave {stated} out"
    return ""


def text_lines(path: Path, encoding: str, *, newline: str) -> Generator[str]:
    """Yield the lines of a text file, their ends included; `newline=""` ends lines where a spreadsheet does."""
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
    result = _CONTROL.search(text)
    return f"U+{ord(result[0]):04X}" if result else None


def decode(data: bytes, where: str, encoding: str = "utf-8-sig", *, remedy: str = SAVE_AS_UTF8) -> str:
    """Return text without its byte-order mark; a byte that is not of the encoding is named with its row."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        bad = data[error.start : error.start + 1]
        name = error.encoding.upper()
        likely = likely_encoding(data)
        if likely is not None:
            hint = f"; it reads as {likely[1]} in {likely[0]}: --encoding {likely[0]} (encoding={likely[0]!r})"
        else:
            hint = _as_cp1252(data, error.start)
        raise CorpusError(f"{where}, row {row}: byte {bad!r} is not {name}; {remedy}{hint}") from error


def likely_encoding(data: bytes) -> tuple[str, str] | None:
    r"""Return the encoding of another script that some bytes are written in, and the script; None where none fits.

    >>> likely_encoding("good,bad\n犬が寝る。,犬を寝る。".encode("cp932")), likely_encoding("schläft".encode("cp1252"))
    (('cp932', 'Japanese'), None)
    """
    for encoding, script, beginnings, least in _SCRIPTS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        letters = [letter for letter in text if letter.isalpha()]
        if sum(unicodedata.name(letter, "").startswith(beginnings) for letter in letters) > least * len(letters):
            return encoding, script
    return None


def _as_cp1252(data: bytes, place: int) -> str:
    r"""Return the word around a byte as Windows writes it in Western Europe; "" where that makes no letter of it.

    >>> _as_cp1252(b"Nr;Ph\xe4nomen;x", 5), _as_cp1252(b"a\x81b", 1)
    ("; in cp1252 the word would be 'Phänomen'", '')
    """
    before, after = (
        re.split(rb"[\s,;\"]", part) for part in (data[max(0, place - 20) : place], data[place : place + 20])
    )
    try:
        text, letter = (before[-1] + after[0]).decode("cp1252"), data[place : place + 1].decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return f"; in cp1252 the word would be {text!r}" if letter.isalpha() and text.isprintable() else ""


def read_delimited(
    path: Path, required: Sequence[str] = (), *, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) of a CSV or TSV file with a header; rows must be as wide as it."""
    with reading(path, CorpusError):
        data = path.read_bytes()
    yield from delimited(decode(data, str(path)), required, where=str(path), delimiter=delimiter)


def delimited(
    text: str, required: Sequence[str], *, where: str, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) of CSV or TSV text with a header; `where` names it in errors."""
    result = records(io.StringIO(text, newline=""), where=where, delimiter=delimiter)
    _, header = next(result, (0, []))
    if not header:
        raise CorpusError(f"{where}: empty file; expected a header with {', '.join(required)}")
    if missing := [name for name in required if name not in header]:
        raise CorpusError(
            f"{where}, row 1: missing column(s) {', '.join(missing)}; found {', '.join(header)}; "
            "rename the columns in the header or map them"
        )
    yield from named_rows(result, header, where=where, delimiter=delimiter)


def named_rows(
    rows: Iterable[tuple[int, list[str]]], header: Sequence[str], *, where: str, delimiter: str
) -> Iterator[tuple[int, dict[str, str]]]:
    for number, cells in rows:
        if cells:
            check_width(cells, header, f"{where}, row {number}", delimiter)
            yield number, dict(zip(header, cells, strict=True))


def records(
    lines: Iterable[str], *, where: str, delimiter: str, n_lines_before: int = 0, quotes: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of each record of delimited text; a blank line has no cells."""
    limit = csv.field_size_limit(MAX_FIELD_BYTES)
    reader = csv.reader(
        lines, delimiter=delimiter, strict=True, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    )
    first_line = 1 + n_lines_before
    try:
        for cells in reader:
            yield reader.line_num + n_lines_before, cells
            first_line = reader.line_num + n_lines_before + 1
    except csv.Error as error:
        raise CorpusError(
            f"{where}, row {first_line}: not readable as delimited text ({error}); check its quotes"
        ) from error
    finally:
        csv.field_size_limit(limit)


def check_width(cells: Sequence[str], header: Sequence[str], where: str, delimiter: str) -> None:
    if len(cells) != len(header):
        raise CorpusError(
            f"{where}: {len(cells)} cells, expected {len(header)} as in the header; "
            f"check the quotes and {'commas' if delimiter == ',' else 'separators'} of that row"
        )


def read_rating(cell: str, where: str) -> float | None:
    if cell in NOT_AVAILABLE:
        return None
    try:
        value = float(cell)
    except ValueError as error:
        raise CorpusError(f"{where}: rating {cell!r} is not a number; expected a mean z-score or empty") from error
    if math.isinf(value):
        raise CorpusError(f"{where}: rating {cell!r} is infinite; expected a mean z-score or empty")
    return value


def read_json_lines(
    lines: Iterable[str], required: Sequence[str] = (), *, where: str, bad_row: Callable[[CorpusError], None] = refuse
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of JSON lines with the required keys, blank lines left out."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        at = f"{where}, row {number}"
        try:
            row = json_object(line, at)
        except CorpusError as error:
            bad_row(error)
            continue
        if missing := [key for key in required if key not in row]:
            raise CorpusError(f"{at}: missing field(s) {', '.join(missing)}; found {', '.join(row)}")
        yield number, row


def json_object(line: str, where: str) -> dict[str, Any]:
    """Return one line of JSON lines: an object that has no key twice, and no half of a character."""
    row = parsed_json(line, where)
    if not isinstance(row, dict):
        raise CorpusError(f"{where}: {type(row).__name__}, expected a JSON object a line")
    if "\\ud" in line.lower():
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])[1:-1]
            raise CorpusError(f"{where}: {half} is half of a character; write the file again, as UTF-8") from error
    return row


def parsed_json(text: str, where: str) -> Any:  # noqa: ANN401 - what JSON gives
    try:
        return json.loads(text, object_pairs_hook=without_repeats)
    except RepeatedKeyError as error:
        raise CorpusError(f"{where}: key {error.args[0]!r} occurs twice in one object; leave one") from error
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where}: not JSON ({error}); the file may be cut: download it again") from error


class RepeatedKeyError(Exception):
    """A key that a JSON object has twice."""


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object for `json.loads(object_pairs_hook=…)`; refuse a key that occurs twice."""
    results = dict(pairs)
    if len(results) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return results
