"""A user's table, whatever wrote it: a path to columns, notes on how it was read, and rows; doubts are refused."""

from __future__ import annotations

import contextlib
import csv
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairbank.builders.sources.formats import NOTHING_SAID, REPAIRS, TableFormat, json_rows, padded, repaired
from pairbank.builders.sources.frames import (
    COMMENT,
    ELEMENT,
    NO_FRAME,
    OWN_LOG,
    SENTENCE,
    Frame,
    frame_of,
    with_comment,
)
from pairbank.builders.sources.readers import (
    SAY_ENCODING,
    check_width,
    decode,
    encoding_of,
    odd_character,
    read_json_lines,
    records,
    refuse,
    text_lines,
)
from pairbank.builders.sources.sheets import read_sheet
from pairbank.errors import CorpusError
from pairbank.files import reading

SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".parquet", ".json", ".xlsx")
TAB_SEPARATED = (".tsv", ".tab")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
ROWS_LOOKED_AT = 200
"""Of a delimited file, to tell its delimiter."""
ROWS_A_BATCH = 16_384
"""Of a parquet file, read at a time."""
_SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s]|\t)"?[\r\n]*', re.IGNORECASE)
"""What a spreadsheet writes into the first line to say the delimiter."""
BadRow = Callable[[CorpusError], None]
BlankRow = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    path: Path
    columns: tuple[str, ...]
    """Its columns in order; of JSON lines, those of all rows."""
    encoding: str = ""
    """The codec of its text; "" for workbooks and parquet."""
    delimiter: str = ""
    """"" for JSON, workbooks and parquet."""
    format: TableFormat = NOTHING_SAID
    n_lines_before: int = 0
    """Lines before the header (`sep=;`)."""
    frame: Frame = NO_FRAME
    """Of a delimited file or a workbook: where the table begins."""
    notes: tuple[str, ...] = ()
    """How it was read where that does not go without saying."""
    made: tuple[tuple[int, dict[str, Any]], ...] = ()
    """Its rows, where they are not those of the file."""
    files: tuple[Path, ...] = ()

    def rows(
        self, bad_row: BadRow | None = None, blank_row: BlankRow | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        if self.made:
            yield from self.made
            return
        bad_row, blank_row, suffix = bad_row or refuse, blank_row or (lambda _number: None), self.path.suffix.lower()
        if suffix == ".xlsx":
            sheet = read_sheet(self.path, self.format.sheet, hidden=self.format.hidden)
            yield from _named_rows(padded(iter(sheet.rows), self.frame.header), self, bad_row, blank_row)
        elif suffix in (".json", ".jsonl", ".parquet"):
            for number, row in _parquet_rows(self.path) if suffix == ".parquet" else _json_rows(self, bad_row):
                if all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in row.values()):
                    blank_row(number)
                else:
                    yield number, row
        else:
            flags: dict[int, list[str]] = {}
            for number, row in _named_rows(_records(self, flags=flags), self, bad_row, blank_row):
                yield number, row | ({REPAIRS: flags[number]} if number in flags else {})


def open_table(path: Path, *, encoding: str | None = None, how: TableFormat = NOTHING_SAID) -> Table:
    suffix = path.suffix.lower()
    encoding = encoding or how.encoding
    if how.header and suffix in (".parquet", ".json", ".jsonl"):
        raise CorpusError(f"{path}: a {suffix} file names its columns itself; leave out --header (header=)")
    if suffix in (".parquet", ".xlsx"):
        if encoding is not None:
            description = "a parquet file" if suffix == ".parquet" else "a workbook"
            raise CorpusError(f"{path}: {description} has no encoding; leave out encoding={encoding!r} (--encoding)")
        table = _parquet_table(path) if suffix == ".parquet" else _sheet_table(path, how)
    else:
        codec, notes = encoding_of(path, encoding)
        table = Table(path=path, columns=(), encoding=codec, notes=notes, format=how)
        if suffix in (".jsonl", ".json"):
            table = _json_table(table)
        else:
            table = _delimited_table(table, how.delimiter or ("\t" if suffix in TAB_SEPARATED else ","))
    names = table.columns
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise CorpusError(
            f"{path}: column {repeated[0]!r} occurs {names.count(repeated[0])} times in the header "
            f"({', '.join(names)}); give each column a name of its own"
        )
    if odd := odd_character("".join(names)):
        hint = "; UTF-16 without its mark is read with --encoding utf-16-le" if odd == "U+0000" else ""
        raise CorpusError(f"{path}: the header holds the control character {odd}{hint}; {SAY_ENCODING}")
    return table


def _delimited_table(table: Table, own: str) -> Table:
    lines = text_lines(table.path, table.encoding, newline="")
    first = next(lines, "")
    lines.close()
    if not first:
        raise CorpusError(f"{table.path}: empty file; expected a header and at least one row")
    if table.format.delimiter:
        match, delimiter, note = None, own, f"separated by {own!r}, as the map says"
    elif match := _SEPARATOR_LINE.fullmatch(first):
        delimiter, note = match[1], f"separated by {match[1]!r}, as its first line says"
    else:
        delimiter = _delimiter(table, own)
        note = "" if delimiter == own else f"separated by {DELIMITERS[delimiter]}"
    n_before = 1 if match else 0
    opened = replace(table, delimiter=delimiter, n_lines_before=n_before)
    frame = frame_of(_first_records(opened), table.format.header)
    if not frame.header:
        raise CorpusError(f"{table.path}, row {n_before + 1}: empty; expected a header")
    header = _pcibex_columns(opened) if frame.is_pcibex else frame.header
    notes = [*([note] if note else ()), *table.notes, *frame.notes]
    if frame.is_pcibex and ELEMENT in frame.header:
        place = frame.header.index(ELEMENT)
        n = sum(len(cells) > place and cells[place] == OWN_LOG for _, cells in _records(opened))
        notes.append(f"{n:,} row(s) of {OWN_LOG} itself left out")
    columns = tuple(name for name in header if name.strip())
    return replace(opened, columns=columns, frame=frame, notes=tuple(notes))


def _first_records(table: Table) -> list[tuple[int, list[str]]]:
    """Return the first records, as far as they can be read; the first one's fault is raised."""
    result: list[tuple[int, list[str]]] = []
    try:
        result.extend(itertools.islice(_records(table), ROWS_LOOKED_AT))
    except CorpusError:
        if not result:
            raise
    return result


def _records(
    table: Table, delimiter: str = "", flags: dict[int, list[str]] | None = None
) -> Iterator[tuple[int, list[str]]]:
    how, n_before = table.format, table.n_lines_before
    text = repaired(text_lines(table.path, table.encoding, newline=""), how.repairs, {} if flags is None else flags)
    return records(
        itertools.islice(text, n_before, None),
        where=str(table.path),
        delimiter=delimiter or table.delimiter,
        n_lines_before=n_before,
        quotes=how.quotes,
    )


def _delimiter(table: Table, own: str) -> str:
    """Return the suffix's own delimiter, unless another one alone makes columns of the file."""
    widths = {delimiter: _widths(table, delimiter) for delimiter in DELIMITERS}
    even = [delimiter for delimiter, result in widths.items() if len(set(result)) == 1 and result[0] > 1]
    header = [delimiter for delimiter, results in widths.items() if results and results[0] > 1]
    if len(even) > 1:
        raise CorpusError(
            f"{table.path}: {' and '.join(DELIMITERS[delimiter] for delimiter in even)} both make columns of it; say "
            f"which: put sep={even[0]} or sep={even[1]} into a line before the header"
        )
    likely = even or ([own] if own in header else header)
    return likely[0] if likely else own


def _widths(table: Table, delimiter: str) -> list[int]:
    """Return how many cells the first records have; none where they cannot be read so."""
    try:
        result = itertools.islice(_records(table, delimiter), ROWS_LOOKED_AT)
        return [len(cells) for _, cells in result if any(cells)]
    except CorpusError as error:
        if isinstance(error.__cause__, csv.Error):
            return []
        raise


def _named_rows(
    rows: Iterator[tuple[int, list[str]]], table: Table, bad_row: BadRow, blank_row: BlankRow
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield rows by the names of their columns; of PCIbex and Ibex the answers alone."""
    row_of = _PcibexRows(table) if table.frame.is_pcibex else functools.partial(_named_row, table)
    try:
        for number, cells in itertools.islice(rows, table.frame.n_before, None):
            if not any(cell.strip() for cell in cells):
                blank_row(number)
                continue
            try:
                row = row_of(cells, f"{table.path}, row {number}")
            except CorpusError as error:
                bad_row(error)
                continue
            if row is not None:
                yield number, row
    except CorpusError as error:
        bad_row(error)


def _named_row(table: Table, cells: Sequence[str], where: str) -> dict[str, Any]:
    header = table.frame.header
    check_width(cells, header, where, table.delimiter)
    for place, (name, cell) in enumerate(zip(header, cells, strict=True), 1):
        if not name.strip() and cell.strip() and not (place == 1 and table.frame.has_index):
            raise CorpusError(f"{where}: {cell!r} is in column {place}, which has no name; name it in the header")
    return {name: cell for name, cell in zip(header, cells, strict=True) if name.strip()}


def _pcibex_columns(table: Table) -> tuple[str, ...]:
    names: tuple[str, ...] = ()
    columns: dict[str, None] = {}
    for _, cells in _records(table):
        if cells and cells[0].startswith(COMMENT):
            names = with_comment(names, ",".join(cells))
        else:
            columns |= dict.fromkeys(names)
    return tuple(columns)


class _PcibexRows:
    """Makes rows of the records of PCIbex and Ibex: comments name columns, a sentence may be above its answer."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names: tuple[str, ...] = ()
        self._trial: list[str] = []
        self._sentence = ""

    def __call__(self, cells: list[str], where: str) -> dict[str, Any] | None:
        if cells[0].startswith(COMMENT):
            self._names = with_comment(self._names, ",".join(cells))
            return None
        check_width(cells, self._names, where, self._table.delimiter)
        row = dict(zip(self._names, cells, strict=True))
        if SENTENCE in row:
            self._trial, self._sentence = cells[:4], row[SENTENCE]
        elif cells[:4] == self._trial:
            row[SENTENCE] = self._sentence
        if row.get(ELEMENT) == OWN_LOG:
            return None
        return {name: row.get(name, "").replace("%2C", ",") for name in self._table.columns}


def _json_table(table: Table) -> Table:
    columns: dict[str, None] = {}
    faults: list[CorpusError] = []
    for _, row in table.rows(faults.append):
        columns |= dict.fromkeys(row)
    if not columns and faults:
        raise faults[0]
    return replace(table, columns=tuple(columns))


def _json_rows(table: Table, bad_row: BadRow) -> Iterator[tuple[int, dict[str, Any]]]:
    where = str(table.path)
    if table.path.suffix.lower() == ".jsonl":
        yield from read_json_lines(text_lines(table.path, table.encoding, newline="\n"), where=where, bad_row=bad_row)
        return
    with reading(table.path, CorpusError):
        data = table.path.read_bytes()
    yield from json_rows(decode(data, where, table.encoding), where)


def _sheet_table(path: Path, how: TableFormat) -> Table:
    sheet = read_sheet(path, how.sheet, hidden=how.hidden)
    frame = frame_of(list(padded(iter(sheet.rows[:ROWS_LOOKED_AT]))), how.header)
    if not frame.header:
        raise CorpusError(f"{path}: an empty sheet; expected a header and at least one row")
    notes = [] if sheet.is_only else [f"sheet {sheet.name!r}"]
    for n, kind in ((sheet.n_hidden, "hidden"), (sheet.n_struck, "struck-through")):
        if n:
            notes.append(f"{n:,} {kind} row(s) left out (a map keeps them: hidden = true under [reading])")
    columns = tuple(name for name in frame.header if name.strip())
    return Table(path=path, columns=columns, frame=frame, format=how, notes=(*notes, *frame.notes))


@contextlib.contextmanager
def _reading_parquet(path: Path) -> Iterator[None]:
    saying, remedy = "not a readable parquet file", "write it again"
    with reading(path, CorpusError, saying=saying, remedy=remedy):
        try:
            yield
        except (ValueError, OverflowError, KeyError, TypeError) as error:
            # a time or date that Python cannot hold, a time zone that it does not know
            raise CorpusError(f"{path}: {saying} ({error}); {remedy}, with plainer types") from error


def _parquet_table(path: Path) -> Table:
    import pyarrow.parquet as pq

    with _reading_parquet(path), pq.ParquetFile(path) as file:
        return Table(path=path, columns=tuple(file.schema_arrow.names))


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow.parquet as pq

    with _reading_parquet(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        batches = file.iter_batches(batch_size=ROWS_A_BATCH)
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), 1)
