"""Results of experiment programs, read as they were written: one row per judgment, without a map.

In: a file, or a folder or zip with files of one program (one per participant). Out: a `Table`, and the map that reads
it. Sentences of Qualtrics are the statements of its questions, those of numbered columns of Mechanical Turk get rows of
their own, and HTML of jsPsych is taken off.
"""

from __future__ import annotations

import html
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.column_use import are_numbers
from pairbank.builders.corpora.proposed_map import FILE, FILL_IN, FORMATS, map_of_results
from pairbank.builders.sources.readers import decode
from pairbank.builders.sources.source import open_zip, zip_members
from pairbank.builders.sources.tables import Table, open_table
from pairbank.errors import CorpusError
from pairbank.files import reading, write_text

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".txt")
MOST_NAMED = 8
_SNIFFED = 65_536
_STATEMENT = re.compile(r"(?:.*\S)?\s+-\s+(\S.*\s.*)", re.DOTALL)
"""Of a matrix or slider question: what is rated stands behind the question."""
_OF_AN_ANSWER = re.compile(r'"ImportId":\s*"(?:\d+_)?QID\d+(?:_\d+)?"')
_NUMBERED = re.compile(r"((?:Input|Answer)\..*?)_?(\d+)")
_TAG = re.compile(r"<[^<>]+>")
_HTML = "stimulus"
ANSWER, _RESPONSE_ID, _END = "answer", "ResponseId", "END OF FILE"
_OF_GORILLA = "Participant Private ID"
Rows = list[tuple[int, dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A table of judgments, and how it is read."""

    program: str
    table: Table
    map: str
    """In TOML."""


def results_of(path: Path, *, encoding: str | None = None) -> Results | None:
    """Return the results that a known program wrote, and their map; None of anything else.

    Raises:
        CorpusError: results of a known program in which the sentences cannot be told, or a zip without results.
    """
    if (table := results_table(path, encoding=encoding)) is None:
        return None
    if (known := map_of_results(table.columns, [row for _, row in table.made])) is None:
        if ANSWER in table.columns and table.frame.questions:
            given = ((number, row) for number, row in table.made if row[ANSWER])
            number, answer = next((number, row[ANSWER]) for number, row in given if not are_numbers([row], ANSWER))
            raise CorpusError(
                f"{path}, row {number}: a survey of Qualtrics whose answers are no numbers ({answer!r}); export "
                "numeric values, or name the value of each answer under [values.rating] of a map: "
                f"pairbank new map {path}"
            )
        return None
    program, body = known
    if f'sentence = "{FILL_IN}"' in body:
        raise CorpusError(
            f"{path}: {program}; no column holds the sentences that were rated. Found {', '.join(table.columns)}; log "
            "the sentence with each rating, or add a column with it, and name it in a map: "
            f"pairbank new map {path}"
        )
    note = f"{program}: read by the map that pairbank new map writes"
    return Results(program=program, table=replace(table, notes=(*table.notes, note)), map=body)


def results_table(path: Path, *, encoding: str | None = None) -> Table | None:
    """Return the results that a known program wrote, one row per judgment; None of anything else."""
    if not path.is_dir() and path.suffix.lower() != ".zip":
        table = open_table(path, encoding=encoding)
        return _judgments(table) if _is_known(table) else None
    with tempfile.TemporaryDirectory() as folder, reading(path, CorpusError, saying="not a readable zip"):
        root = path if path.is_dir() else Path(folder)
        if root != path:
            zip_members(path, "")  # refuses one that unpacks to too much, or is encrypted
            with open_zip(path) as archive:
                archive.extractall(root)
        joined = _joined(path, root, encoding)
    if joined is None and root != path:
        raise CorpusError(f"{path}: no results of a known program in it; unpack it, and give a table or the folder")
    return joined


def _is_known(table: Table) -> bool:
    return bool(table.frame.questions) or any({*known.has} <= {*table.columns} for known in FORMATS)


def _joined(path: Path, root: Path, encoding: str | None) -> Table | None:
    """Return the files of one program as one table; the name of a file is its rater where no column says who rated."""
    found: list[tuple[str, Table]] = []
    by_file = False
    others = []
    for file in sorted(root.rglob("*")):
        name = file.relative_to(root).as_posix()
        if not file.is_file() or any(part.startswith((".", "_")) for part in name.split("/")):
            continue
        table = _opened(file, encoding) if file.suffix.lower() in SUFFIXES else None
        columns = () if table is None else (*table.columns, FILE)
        known = None if table is None else map_of_results(columns, [{**row, FILE: name} for _, row in table.made])
        if known is None or table is None:
            others.append(name)
        else:
            found.append((known[0], replace(table, path=Path(name), files=(file,))))
            by_file |= f'rater = "{FILE}"' in known[1]
    programs = {program for program, _ in found}
    if len(programs) != 1:
        if len(programs) > 1:
            raise CorpusError(f"{path}: files of several programs ({', '.join(sorted(programs))}); give one at a time")
        return None
    tables = [table for _, table in found]
    rows = [{**row, FILE: table.path.as_posix()} for table in tables for _, row in table.made]
    columns = tuple(dict.fromkeys([name for table in tables for name in table.columns] + [FILE] * by_file))
    made = tuple((number, {name: row.get(name, "") for name in columns}) for number, row in enumerate(rows, 1))
    left = f"; not read: {', '.join(others[:MOST_NAMED])}{' …' if len(others) > MOST_NAMED else ''}" if others else ""
    notes = (f"{len(tables):,} file(s) read as one table, rows counted through{left}",)
    files = (path,) if path.is_file() else tuple(table.files[0] for table in tables)
    return Table(path=path, columns=columns, made=made, notes=notes, files=files)


def _opened(file: Path, encoding: str | None) -> Table | None:
    """Return a file of a folder of results; None if no known program wrote it."""
    data = file.read_bytes()
    if not any(name.encode() in data[:_SNIFFED] for known in FORMATS for name in (*known.has[:1], "ImportId")):
        return None
    text = decode(data, str(file), encoding or "utf-8-sig") if file.suffix.lower() in (".txt", ".json") else ""
    try:
        if text.lstrip().startswith(("[", "{")):
            rows = list(_of_json(text))
            columns = tuple(dict.fromkeys(name for row in rows for name in row))
            return _judgments(Table(path=file, columns=columns, made=tuple(enumerate(rows, 1))))
        if file.suffix.lower() == ".txt":
            file = file.with_name(f"{file.stem}.csv")
            write_text(file, text)
        table = open_table(file, encoding=encoding)
        return _judgments(table) if _is_known(table) else None
    except (CorpusError, json.JSONDecodeError) as error:
        raise CorpusError(
            f"{file.name}: results that cannot be read ({error}); correct the file, or take it out of the folder or zip"
        ) from error


def _of_json(text: str) -> Iterator[dict[str, Any]]:
    """Yield the trials of JSON texts one behind the other: lists of trials, or trials."""
    decoder, place = json.JSONDecoder(), 0
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        part, place = decoder.raw_decode(text, place)
        yield from (row for row in (part if isinstance(part, list) else [part]) if isinstance(row, dict))


def _judgments(table: Table) -> Table:
    """Return a table with one row per judgment, where a known program wrote several into a row."""
    bad_row = _but_for_the_end if _OF_GORILLA in table.columns else None
    rows: Rows = [(number, row) for number, row in table.rows(bad_row) if _END not in row.values()]
    columns: Sequence[str] = table.columns
    if table.frame.questions:
        columns, rows = _of_qualtrics(table, rows)
    elif numbered := sorted({int(m[2]) for name in columns if (m := _NUMBERED.fullmatch(name))}):
        columns, rows = _of_numbered(columns, rows, numbered)
    elif "trial_type" in columns and _HTML in columns:
        rows = [(number, {**row, _HTML: _text_of(row.get(_HTML))}) for number, row in rows]
    return replace(table, columns=tuple(columns), made=tuple(rows))


def _but_for_the_end(error: CorpusError) -> None:
    """Raise a fault of a row; Gorilla ends its files with a row of one cell."""
    if ": 1 cells, " not in str(error):
        raise error


def _of_qualtrics(table: Table, rows: Rows) -> tuple[Sequence[str], Rows]:
    """Return a row per respondent and statement."""
    statements = {}
    for name, (text, import_id) in zip(table.frame.header, table.frame.questions, strict=False):
        if _OF_AN_ANSWER.search(import_id) and (match := _STATEMENT.fullmatch(text.strip())):
            statements[name] = match[1]
    if not statements:
        return table.columns, rows
    asked = {
        name
        for name, (_, import_id) in zip(table.frame.header, table.frame.questions, strict=False)
        if "QID" in import_id
    }
    others = [name for name in table.columns if name not in asked]
    made: Rows = []
    for number, row in rows:
        kept = {name: row[name] for name in others} | {"respondent": str(row.get(_RESPONSE_ID) or number)}
        made += (
            (number, {**kept, "question": name, "sentence": said, ANSWER: row[name]})
            for name, said in statements.items()
        )
    return (*others, "respondent", "question", "sentence", ANSWER), made


def _of_numbered(columns: Sequence[str], rows: Rows, numbers: Sequence[int]) -> tuple[Sequence[str], Rows]:
    """Return a row per numbered sentence of a task: `Input.sentence_1` with `Answer.rating_1`."""
    stems = {name: match for name in columns if (match := _NUMBERED.fullmatch(name))}
    plain = [name for name in columns if name not in stems]
    made = [
        (number, {name: row[name] for name in plain} | {m[1]: row[name] for name, m in stems.items() if int(m[2]) == n})
        for number, row in rows
        for n in numbers
    ]
    return (*plain, *dict.fromkeys(match[1] for match in stems.values())), made


def _text_of(cell: object) -> object:
    """Return the text of a cell of HTML.

    >>> _text_of("<p>The <b>dog</b> sleeps.</p>"), _text_of(3)
    ('The dog sleeps.', 3)
    """
    if not isinstance(cell, str) or not _TAG.search(cell):
        return cell
    return " ".join(html.unescape(_TAG.sub(" ", re.sub(r"</?(?:b|i|em|strong|u|span)\b[^>]*>", "", cell))).split())
