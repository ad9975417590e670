"""What every reader of logs gives: in, a tool's files; out, `Log`: rows of one model, and all that was not read.

A row's cells have the names of a profile's columns. A reader drops nothing in silence: a row that is no pair goes to
`left_out` with the reason. A number that the source prints about itself is computed again from the rows by the source's
own rule, and stands in `stated`.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.sources.readers import json_object
from pairbank.builders.sources.tables import open_table
from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile

MOST_EXAMPLES = 3
SAME = 1e-12
"""Two shares that differ by no more are the same number."""
_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """One pair of one model: our names -> cells, None for what is not there."""

    file: Path
    line: int
    cells: Mapping[str, str | None]

    @property
    def where(self) -> str:
        return f"{self.file.name}, row {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Rows of a file that were not imported, and why."""

    file: str
    reason: str
    n: int
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = "; ".join(self.examples)
        return f"{self.file}: {self.n:,} row(s) not imported: {self.reason}{f' ({shown})' if shown else ''}"


@dataclass(slots=True)
class Refusals:
    """Counts rows that are not imported by file and reason, with the first ones of each."""

    _by_reason: dict[tuple[str, str], LeftOut] = field(default_factory=dict)

    def add(self, file: Path, reason: str, example: str = "", n: int = 1) -> None:
        key = (file.name, reason)
        before = self._by_reason.get(key) or LeftOut(file=file.name, reason=reason, n=0)
        examples = (*before.examples, *([example] if example else []))[:MOST_EXAMPLES]
        self._by_reason[key] = replace(before, n=before.n + n, examples=examples)

    def left_out(self) -> list[LeftOut]:
        return list(self._by_reason.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A number that the source states about itself, and the same computed from its rows by its own rule."""

    what: str
    metric: str
    stated: float
    computed: float
    printed_to: float = 0.0
    """Half of the last digit that the source prints."""

    @property
    def is_same(self) -> bool:
        return abs(self.stated - self.computed) <= SAME + self.printed_to

    def __str__(self) -> str:
        verdict = "the same" if self.is_same else f"{self.computed!r} from its rows: NOT the same"
        return f"{self.what}: {self.metric} {self.stated!r} as the source states it, {verdict}"


@dataclass(slots=True, kw_only=True)
class Log:
    model: str
    tool: str
    version: str = "not stated"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As the log states them: arguments of the model, prompt and few-shot settings, versions of libraries."""
    files: tuple[Path, ...] = ()
    rows: list[LogRow] = field(default_factory=list)
    refusals: Refusals = field(default_factory=Refusals)
    """Of several logs of a source: those of all, in the first one."""
    stated: list[Stated] = field(default_factory=list)
    scores: tuple[DeclaredScore, ...] = ()
    """What the rows' numbers are, where the profile does not say it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of the model: `step`, `family`, `size_billions`."""
    judgments: list[Judgment] = field(default_factory=list)
    """People's individual ratings, in the first log of a source."""
    draws: list[Judgment] = field(default_factory=list)
    """The model's sampled answers one by one; a rater is a repetition."""

    def compare(self, what: str, metric: str, stated: object, values: Sequence[float]) -> None:
        """Note a share that the source states beside that of its rows; where it states none, nothing."""
        if isinstance(stated, int | float) and values:
            computed = sum(values) / len(values)
            self.stated.append(Stated(what=what, metric=metric, stated=float(stated), computed=computed))

    def decide(self, name: str, label: str, choices: Sequence[Choice]) -> None:
        """Add the score that answers to one question make, and a row a pair."""
        pairs: dict[tuple[str, str, str | None], list[Choice]] = defaultdict(list)
        for choice in choices:
            pairs[*choice.texts, choice.cells.get("context_good")].append(choice)
        unknown = any(choice.shown_first is None for choice in choices)
        both = not unknown and any(len({choice.shown_first for choice in asked}) == 2 for asked in pairs.values())
        for (good, bad, _), asked in pairs.items():
            first = asked[0]
            if len(asked) > 1 and (unknown or len({choice.shown_first for choice in asked}) < len(asked)):
                raise ScoreImportError(
                    f"{asked[1].file.name}, row {asked[1].line}: the same pair was asked in the same order in row "
                    f"{first.line}: {good[:60]!r}; import one answer to each question"
                )
            cells: dict[str, str | None] = {**first.cells, "target_good": good, "target_bad": bad}
            for choice in asked:
                cells[f"{name}:{choice.shown_first}_first" if both else name] = choice.chosen
            if not both and not unknown:
                cells[f"{name}:shown_first"] = first.shown_first
            self.rows.append(LogRow(file=first.file, line=first.line, cells=cells))
        self.scores += (DeclaredScore(name=name, kind="decision", label=label),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    text: str
    rater: str
    value: float
    scale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    paths: tuple[Path, ...]
    """Files, or folders that hold them."""
    how: ImportProfile
    items: datasets.Dataset | None = None

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))

    def files(self, pattern: str, *, expected: str) -> list[Path]:
        """Return the files that are named or lie in named folders, however deep, sorted by path."""
        files: list[Path] = []
        for path in self.paths:
            if path.is_dir():
                inside = sorted(file for file in path.rglob(pattern) if file.is_file())
                if not inside:
                    raise ScoreImportError(f"{path}: no {pattern} in this folder; expected {expected}")
                files += inside
            elif path.is_file():
                files.append(path)
            else:
                raise ScoreImportError(f"no file or folder {path}; expected {expected}")
        return list(dict.fromkeys(files))

    def file(self, pattern: str, *, expected: str) -> Path:
        file, *more = self.files(pattern, expected=expected)
        if more:
            raise ScoreImportError(f"{file}, {more[0]}: two tables of the same name; give one of them")
        return file

    def cells(self, row: Mapping[str, Any]) -> dict[str, str | None]:
        return {name: row[column] for name, (column,) in self.how.columns.items()}

    def columns(self) -> list[str]:
        return [column for columns in self.how.columns.values() for column in columns]


def published_rows(file: Path, *columns: str) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a published table, which has at least some columns and one row; empty cells are ""."""
    table = open_table(file)
    _check_columns(columns, table.columns, str(file))
    rows = [
        (line, {name: "" if cell is None else str(cell) for name, cell in row.items()}) for line, row in table.rows()
    ]
    if not rows:
        raise ScoreImportError(f"{file}: no rows; expected the file as it was published")
    return rows


def csv_rows(
    lines: Iterable[str], columns: Iterable[str], where: str, *, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    table = csv.DictReader(lines, delimiter=delimiter)
    _check_columns(columns, table.fieldnames or (), where)
    yield from enumerate(table, 2)


def _check_columns(columns: Iterable[str], header: Collection[str], where: str) -> None:
    expected = list(dict.fromkeys(columns))
    if missing := [column for column in expected if column not in header]:
        raise ScoreImportError(
            f"{where}: no column {', '.join(missing)}; expected {', '.join(expected)}, as the file was published"
        )


def finite(cell: object, where: str, expected: str = "a finite number") -> float:
    try:
        value = float(str(cell))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ScoreImportError(f"{where}: {cell!r:.80}, expected {expected}")
    return value


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with reading(path, CorpusError), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, json_object(line, f"{path}, row {number}")


def json_file(path: Path) -> dict[str, Any]:
    with reading(path, ScoreImportError, saying="not JSON", remedy="give the file as the tool wrote it"):
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
        if _HALF_A_CHARACTER.search(text):
            json.dumps(data, ensure_ascii=False).encode()  # raises where the other half is not there
    if not isinstance(data, dict):
        raise ScoreImportError(f"{path}: JSON, but no object; expected the file as the tool wrote it")
    return data


def model_name(said: str) -> str:
    """Return a model's name: a Hub id as it is, of a path the last part.

    >>> model_name("org/m"), model_name("/home/me/models/m-1b/"), model_name("hf/org/m")
    ('org/m', 'm-1b', 'hf/org/m')
    """
    is_path = said.startswith((".", "/", "~")) or "\\" in said
    return said.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if is_path else said


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The answer to a question about a pair, whose sides are its two options."""

    file: Path
    line: int
    options: Sequence[str]
    good: int
    answer: str
    is_right: bool
    """As the log has it: an answer that names no option, yet is right, is the better side."""
    shown_first: str | None
    """`good` or `bad`; None where it is not known."""
    cells: Mapping[str, str | None]

    @property
    def texts(self) -> tuple[str, str]:
        """The better side and the worse one."""
        return self.options[self.good], self.options[1 - self.good]

    @property
    def chosen(self) -> str:
        side = side_of(self.answer, self.options, self.good)
        return "good" if side == "unparsed" and self.is_right else side


def first_in(text: str, options: Sequence[str], good: int) -> str | None:
    """Return the side that a text shows first; None where it does not show both."""
    places = [text.find(option) for option in options]
    if -1 in places or places[0] == places[1]:
        return None
    return "good" if places[good] == min(places) else "bad"


def side_of(answer: str, options: Sequence[str], good: int) -> str:
    """Return which side an answer names: by its letter, its number, or its text; `unparsed` where it names none.

    >>> [side_of(answer, ["the cat", "cat the"], 0) for answer in ("A", "b)", "2", "The cat", "neither")]
    ['good', 'bad', 'bad', 'good', 'unparsed']
    """
    text = answer.strip().casefold()
    letter = text.strip("().[]: ")
    texts = [option.strip().casefold() for option in options]
    places = [place for place in range(len(options)) if letter in ("ab"[place], str(place + 1)) or text == texts[place]]
    return "unparsed" if len(places) != 1 else "good" if places[0] == good else "bad"
