"""Results of experiment programs, read as they were written: one row per judgment, without a map.

A folder or zip has files of one program, one per participant. Sentences of Qualtrics are the statements of its
questions, those of numbered columns of Mechanical Turk get rows of their own, and HTML of jsPsych is taken off.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.column_use import are_numbers
from pairbank.builders.corpora.proposed_map import FILE, FILL_IN, map_of_results, programs
from pairbank.builders.sources.readers import decode
from pairbank.builders.sources.source import member_bytes
from pairbank.builders.sources.tables import Table, open_table
from pairbank.errors import CorpusError
from pairbank.files import reading, write_bytes, write_text

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".txt")
MOST_NAMED = 8
_SNIFFED = 65_536
_PARTS = re.compile(r"\s+-\s+|\s*[\r\n]+\s*")
_CHOSEN = "Selected Choice"
"""What Qualtrics puts behind a question with one answer."""
_OF_AN_ANSWER = re.compile(r'"ImportId":\s*"(?:\d+_)?(QID\d+)(?:_\d+)?"')
_LABEL_WITH_NUMBER = re.compile(r"\s*(\d+)\s*(?:$|[-–—:=.(].*)", re.DOTALL)
_CHECKED = re.compile(r"(Answer\..+)\.([^.]+)")
_NUMBERED = re.compile(r"((?:Input|Answer)\..*?)_?(\d+)")
_TAG = re.compile(r"<[^<>]+>")
_HTML = "stimulus"
ANSWER, _RESPONSE_ID, _END = "answer", "ResponseId", "END OF FILE"
_OF_GORILLA, _QUESTION, _QUANTISED = "Participant Private ID", "Question Key", "-quantised"
_NO_QUESTIONS = ("", "BEGIN QUESTIONNAIRE", "END QUESTIONNAIRE")
_TASK_ANSWERS = "Answer.taskAnswers"
Rows = list[tuple[int, dict[str, Any]]]


def results_of(path: Path, *, encoding: str | None = None) -> tuple[Table, str] | None:
    """Return the results that a known program wrote, and their map in TOML; None of anything else."""
    if (table := results_table(path, encoding=encoding)) is None:
        return None
    if (known := map_of_results(table.columns, [row for _, row in table.made])) is None:
        program = next((known.name for known in programs() if {*known.has} <= {*table.columns}), "")
        if ANSWER in table.columns and table.frame.questions:
            given = [(number, row) for number, row in table.made if row[ANSWER]]
            if not given:
                raise CorpusError(f"{path}: a survey of Qualtrics without an answer; export it with its responses")
            if in_words := [(number, row[ANSWER]) for number, row in given if not are_numbers([row], ANSWER)]:
                number, answer = in_words[0]
                raise CorpusError(
                    f"{path}, row {number}: a survey of Qualtrics whose answers are no numbers ({answer!r}); export "
                    "numeric values, or name the value of each answer under [values.rating] of a map: "
                    f"pairbank new map {path}"
                )
        if program and (table.frame.questions or ANSWER not in table.columns):
            raise CorpusError(
                f"{path}: {program}; no column holds numbers that rate one sentence per row. Found "
                f"{', '.join(table.columns)}; log each sentence with its rating, or name both in a map: "
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
    return replace(table, notes=(*table.notes, note)), body


def results_table(path: Path, *, encoding: str | None = None) -> Table | None:
    """Return the results that a known program wrote, one row per judgment; None of anything else."""
    if not path.is_dir() and path.suffix.lower() in (".txt", ".json"):
        return _opened(path, encoding)
    if not path.is_dir() and path.suffix.lower() != ".zip":
        table = open_table(path, encoding=encoding)
        if {"Event Index", _OF_GORILLA} <= {*table.columns} and not _is_known(table):
            raise CorpusError(f"{path}: a questionnaire of Gorilla in short form; download it in long form")
        return _judgments(table) if _is_known(table) else None
    with tempfile.TemporaryDirectory() as folder, reading(path, CorpusError, saying="not a readable zip"):
        root = path if path.is_dir() else Path(folder)
        if root != path:
            for name, data in member_bytes(path, "*"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                write_bytes(root / name, data)
        joined = _joined(path, root, encoding)
    if joined is None and root != path:
        raise CorpusError(f"{path}: no results of a known program in it; unpack it, and give a table or the folder")
    return joined


def _is_known(table: Table) -> bool:
    return bool(table.frame.questions) or any({*known.has} <= {*table.columns} for known in programs())


def _joined(path: Path, root: Path, encoding: str | None) -> Table | None:
    """Return the files of one program as one table; the name of a file is its rater where no column says who rated."""
    found, others, by_file = list[tuple[str, Table]](), list[str](), False
    for file in sorted(root.rglob("*")):
        name = file.relative_to(root).as_posix()
        if not file.is_file() or any(part.startswith((".", "_")) for part in name.split("/")):
            continue
        try:
            table = _opened(file, encoding) if file.suffix.lower() in SUFFIXES else None
        except CorpusError as error:
            raise CorpusError(
                f"{name}: results that cannot be read ({error}); correct the file, or take it out of the folder or zip"
            ) from error
        columns = () if table is None else (*table.columns, FILE)
        known = None if table is None else map_of_results(columns, [{**row, FILE: name} for _, row in table.made])
        if known is None or table is None:
            others.append(name)
        else:
            found.append((known[0], replace(table, path=Path(name), files=(file,))))
            by_file |= f'rater = "{FILE}"' in known[1]
    names = {program for program, _ in found}
    if len(names) != 1:
        if len(names) > 1:
            raise CorpusError(f"{path}: files of several programs ({', '.join(sorted(names))}); give one at a time")
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
    if not any(name.encode() in data[:_SNIFFED] for known in programs() for name in (*known.has[:1], "ImportId")):
        return None
    text = decode(data, str(file), encoding or "utf-8-sig") if file.suffix.lower() in (".txt", ".json") else ""
    if text.lstrip().startswith(("[", "{")):
        rows = list(_of_json(text, str(file)))
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return _judgments(Table(path=file, columns=columns, made=tuple(enumerate(rows, 1))))
    if file.suffix.lower() != ".txt":
        table = open_table(file, encoding=encoding)
        return _judgments(table) if _is_known(table) else None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"{file.stem}.csv"
        write_text(copy, text)
        table = open_table(copy)
        return replace(_judgments(table), path=file) if _is_known(table) else None


def _of_json(text: str, where: str) -> Iterator[dict[str, Any]]:
    """Yield the trials of JSON texts one behind the other: lists of trials, or trials."""
    decoder, place = json.JSONDecoder(), 0
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        try:
            part, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{where}: not JSON ({error}); the file may be cut: download it again") from error
        yield from (row for row in (part if isinstance(part, list) else [part]) if isinstance(row, dict))


def _judgments(table: Table) -> Table:
    """Return a table with one row per judgment, where a known program wrote several into a row."""
    bad_row = _but_for_the_end if _OF_GORILLA in table.columns else None
    rows: Rows = [(number, row) for number, row in table.rows(bad_row) if _END not in row.values()]
    columns: Sequence[str] = table.columns
    n_unfinished = sum(str(row.get("Finished")).casefold() in ("false", "0") for _, row in rows)
    left_out = 'where = { Finished = ["True", "1"] } in a map leaves them out'
    notes = [f"{n_unfinished:,} of {len(rows):,} responses are not finished; {left_out}"] if n_unfinished else []
    if _TASK_ANSWERS in columns or any(_CHECKED.fullmatch(name) for name in columns):
        rows = [(number, _answers(row, f"{table.path}, row {number}, {_TASK_ANSWERS}")) for number, row in rows]
        columns = tuple(dict.fromkeys(name for _, row in rows for name in row))
        rows = [(number, dict.fromkeys(columns, "") | row) for number, row in rows]
    if table.frame.questions:
        columns, rows = _of_qualtrics(table, rows)
    elif _QUESTION in columns:
        rows = [*_of_questionnaire(rows)]
    elif numbered := sorted({int(m[2]) for name in columns if (m := _NUMBERED.fullmatch(name))}):
        columns, rows = _of_numbered(columns, rows, numbered)
    elif "trial_type" in columns:
        rows = [(number, {**row, _HTML: _text_of(row.get(_HTML))}) for number, row in _per_question(rows)]
        columns = columns if any(row[_HTML] is None for _, row in rows) else tuple(dict.fromkeys((*columns, _HTML)))
    return replace(table, columns=tuple(columns), made=tuple(rows), notes=(*table.notes, *notes))


def _but_for_the_end(error: CorpusError) -> None:
    """Raise a fault of a row; Gorilla ends its files with a row of one cell."""
    if ": 1 cells, " not in str(error):
        raise error


def _per_question(rows: Rows) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield trials of jsPsych, those of a survey whose questions are named by sentences once per question."""
    for number, row in rows:
        given = row.get("response")
        if isinstance(given, str) and given.startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):  # else somebody typed it
                given = json.loads(given)
        if isinstance(given, dict) and any(len(key.split()) > 1 for key in given):
            yield from ((number, {**row, _HTML: key, "response": value}) for key, value in given.items())
        else:
            yield number, row


def _answers(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a row of Mechanical Turk with a column per answer, read from JSON or from a column per radio button.

    >>> _answers({"HITId": "1", "Answer.taskAnswers": '[{"rating": {"5": false, "6": true}}]'}, "")
    {'HITId': '1', 'Answer.rating': '6'}
    >>> _answers({"Answer.rating.5": "false", "Answer.rating.6": "true"}, "")
    {'Answer.rating': '6'}
    """
    made: dict[str, Any] = {}
    for name, cell in row.items():
        match = _CHECKED.fullmatch(name)
        if name == _TASK_ANSWERS:
            for answer, value in (pair for part in _of_json(cell or "[]", where) for pair in part.items()):
                chosen = [key for key, is_on in value.items() if is_on] if isinstance(value, dict) else [str(value)]
                made[f"Answer.{answer}"] = "|".join(chosen)
        elif match and str(cell).casefold() in ("true", "false", ""):
            chosen = [made[match[1]]] if made.get(match[1]) else []
            made[match[1]] = "|".join([*chosen, *([match[2]] if str(cell).casefold() == "true" else [])])
        else:
            made[name] = cell
    return made


def _of_questionnaire(rows: Rows) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the answers of a questionnaire of Gorilla, once each: as a number where it has that in a row of its own."""
    quantised = {(row[_OF_GORILLA], row[_QUESTION]) for _, row in rows if row[_QUESTION].endswith(_QUANTISED)}
    for number, row in rows:
        key = row[_QUESTION]
        if key not in _NO_QUESTIONS and (row[_OF_GORILLA], f"{key}{_QUANTISED}") not in quantised:
            yield number, {**row, _QUESTION: key.removesuffix(_QUANTISED)}


def _statements(table: Table) -> dict[str, str]:
    """Return what is rated in each column of a survey of Qualtrics: what the columns of a question do not share."""
    columns: dict[str, dict[str, list[str]]] = {}
    for name, (text, import_id) in zip(table.frame.header, table.frame.questions, strict=False):
        if match := _OF_AN_ANSWER.search(import_id):
            columns.setdefault(match[1], {})[name] = _PARTS.split(text.strip())
    statements = dict[str, str]()
    for parts_of in columns.values():
        shared = set.intersection(*(set(parts) for parts in parts_of.values())) | {_CHOSEN}
        own = {name: " - ".join(part for part in parts if part not in shared) for name, parts in parts_of.items()}
        if len(own) == 1:  # a question of its own: what is rated stands behind it
            own = {name: parts[-1] for name, parts in parts_of.items() if len(parts) > 1 and parts[-1] != _CHOSEN}
        statements |= {name: said for name, said in own.items() if len(said.split()) > 1}
    return {name: statements[name] for name in table.frame.header if name in statements}


def _of_qualtrics(table: Table, rows: Rows) -> tuple[Sequence[str], Rows]:
    if not (statements := _statements(table)):
        return table.columns, rows
    answers = [row[name] for _, row in rows for name in statements if row[name]]
    labels = {answer: match[1] for answer in answers if (match := _LABEL_WITH_NUMBER.fullmatch(answer))}
    if labels.keys() == {*answers}:  # "7 - perfect"
        rows = [(number, {**row, **{name: labels.get(row[name], "") for name in statements}}) for number, row in rows]
    questions = zip(table.frame.header, table.frame.questions, strict=False)
    asked = {name for name, (_, import_id) in questions if "QID" in import_id}
    others = [name for name in table.columns if name not in asked]
    made: Rows = []
    for number, row in rows:
        kept = {name: row[name] for name in others} | {"respondent": str(row.get(_RESPONSE_ID) or number)}
        made += ((number, kept | {"question": x, "sentence": said, ANSWER: row[x]}) for x, said in statements.items())
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
