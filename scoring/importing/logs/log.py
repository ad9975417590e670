"""What every reader of logs gives: in, a tool's files; out, `Log`: rows of one model, and all that was not read.

A row's cells have the names of a profile's columns: the schema's, and numbers such as `direct_good`. A reader drops
nothing in silence: a row that is no pair goes to `left_out` with the reason. A number that the source prints about
itself is computed again from the rows by the source's own rule, and stands in `stated` beside what was found.

A log of questions that show both sides has an answer a row. `decided` puts the answers to one pair together: in both
orders where the log asked both, else in the one that it asked, else in an order that is not known
(`pairbank.scoring.importing.decisions`).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pairbank.builders.sources.readers import json_object
from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile


MOST_EXAMPLES = 3
SAME = 1e-12
"""Two shares that differ by no more are the same number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """One pair of one model: our names -> cells, None for what is not there."""

    file: Path
    line: int
    cells: Mapping[str, str | None]

    @property
    def where(self) -> str:
        """Return where it stands, for messages."""
        return f"{self.file.name}, row {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Rows of a file that were not imported, and why."""

    file: str
    reason: str
    n: int
    examples: tuple[str, ...] = ()
    """The first ones."""

    def __str__(self) -> str:
        shown = "; ".join(self.examples)
        return f"{self.file}: {self.n:,} row(s) not imported: {self.reason}{f' ({shown})' if shown else ''}"


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
        """Return whether both are the same number, as far as the source prints it."""
        return abs(self.stated - self.computed) <= SAME + self.printed_to

    def __str__(self) -> str:
        verdict = "the same" if self.is_same else f"{self.computed!r} from its rows: NOT the same"
        return f"{self.what}: {self.metric} {self.stated!r} as the source states it, {verdict}"


@dataclass(slots=True, kw_only=True)
class Log:
    """What a tool's files hold about one model."""

    model: str
    tool: str
    version: str = "not stated"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As the log states them: arguments of the model, prompt and few-shot settings, versions of libraries."""
    files: tuple[Path, ...] = ()
    rows: list[LogRow] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    stated: list[Stated] = field(default_factory=list)
    scores: tuple[DeclaredScore, ...] = ()
    """What the rows' numbers are, where the profile does not say it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of the model: `step`, `family`, `size_billions`."""
    judgments: list[Judgment] = field(default_factory=list)
    """People's individual ratings, in the first log of a source."""
    draws: list[Judgment] = field(default_factory=list)
    """The model's sampled answers one by one; a rater is a repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one person said of one sentence."""

    text: str
    rater: str
    value: float
    scale: str
    n: int = 1
    """Answers that the value is the mean of."""


class Reader(Protocol):
    """A module of this folder: reads the files of one format."""

    def read(self, paths: Sequence[Path], how: ImportProfile, items: datasets.Dataset | None) -> list[Log]:
        """Return what the files hold, a log a model and run, in the files' order."""


@dataclass(slots=True)
class Refusals:
    """Counts rows that are not imported by file and reason."""

    examples: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, file: Path, reason: str, example: str) -> None:
        """Count one row."""
        self.examples.setdefault((file.name, reason), []).append(example)

    def left_out(self) -> list[LeftOut]:
        """Return the counts, with the first rows of each."""
        return [
            LeftOut(file=file, reason=reason, n=len(rows), examples=tuple(rows[:MOST_EXAMPLES]))
            for (file, reason), rows in self.examples.items()
        ]


def files_in(paths: Iterable[Path], pattern: str, *, expected: str) -> list[Path]:
    """Return the files that are named or lie in named folders, however deep, sorted by path."""
    results: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob(pattern) if file.is_file())
            if not inside:
                raise ScoreImportError(f"{path}: no {pattern} in this folder; expected {expected}")
            results += inside
        elif path.is_file():
            results.append(path)
        else:
            raise ScoreImportError(f"no file or folder {path}; expected {expected}")
    return list(dict.fromkeys(results))


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a file of JSON lines."""
    with reading(path, CorpusError), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, json_object(line, f"{path}, row {number}")


_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def json_file(path: Path) -> dict[str, Any]:
    """Return a JSON file that is one object."""
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
    """One question about a pair, and its answer."""

    file: Path
    line: int
    good: str
    bad: str
    chosen: str
    """`good`, `bad`, `tie` or `unparsed`."""
    shown_first: str | None
    """`good` or `bad`; None where it is not known."""
    cells: Mapping[str, str | None]
    """What else the log says of the pair."""


def decided(name: str, label: str, choices: Sequence[Choice]) -> tuple[DeclaredScore, list[LogRow]]:
    """Return the score that answers to one question make, and a row a pair."""
    pairs: dict[tuple[str, str, str | None], list[Choice]] = defaultdict(list)
    for choice in choices:
        pairs[choice.good, choice.bad, choice.cells.get("context_good")].append(choice)
    unknown = any(choice.shown_first is None for choice in choices)
    both = not unknown and any(len({choice.shown_first for choice in asked}) == 2 for asked in pairs.values())
    rows = []
    for requested in pairs.values():
        orders = [None if unknown else choice.shown_first for choice in requested]
        if len(set(orders)) < len(orders):
            raise ScoreImportError(
                f"{requested[1].file.name}, row {requested[1].line}: the same pair was asked in the same order in row "
                f"{requested[0].line}: {requested[0].good[:60]!r}; import one answer to each question"
            )
        cells: dict[str, str | None] = {
            **requested[0].cells,
            "target_good": requested[0].good,
            "target_bad": requested[0].bad,
        }
        for choice in requested:
            if both:
                cells[f"{name}:{choice.shown_first}_first"] = choice.chosen
            else:
                cells[name] = choice.chosen
                cells |= {} if unknown else {f"{name}:shown_first": choice.shown_first}
        rows.append(LogRow(file=requested[0].file, line=requested[0].line, cells=cells))
    return DeclaredScore(name=name, kind="decision", label=label), rows


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
