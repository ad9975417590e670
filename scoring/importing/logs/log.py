"""What every reader of logs gives: in, a tool's files; out, `Log`: rows of one model, and all that was not read.

A row's cells have the names of a profile's columns: the schema's, and numbers such as `direct_good`. A reader drops
nothing in silence: a row that is no pair goes to `left_out` with the reason. A number that the source prints about
itself is computed again from the rows by the source's own rule, and stands in `stated` beside what was found.
"""

from __future__ import annotations

import json
import re
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
    found: float
    printed_to: float = 0.0
    """Half of the last digit that the source prints."""

    @property
    def is_same(self) -> bool:
        """Return whether both are the same number, as far as the source prints it."""
        return abs(self.stated - self.found) <= SAME + self.printed_to

    def __str__(self) -> str:
        verdict = "the same" if self.is_same else f"{self.found!r} from its rows: NOT the same"
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
    """A module of this room: reads the files of one format."""

    def read(self, paths: Sequence[Path], how: ImportProfile, items: datasets.Dataset | None) -> list[Log]:
        """Return what the files hold, a log a model and run, in the files' order."""


@dataclass(slots=True)
class Refusals:
    """Counts rows that are not imported by file and reason."""

    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, file: Path, reason: str, example: str) -> None:
        """Count one row."""
        self.found.setdefault((file.name, reason), []).append(example)

    def left_out(self) -> list[LeftOut]:
        """Return the counts, with the first rows of each."""
        return [
            LeftOut(file=file, reason=reason, n=len(rows), examples=tuple(rows[:MOST_EXAMPLES]))
            for (file, reason), rows in self.found.items()
        ]


def files_in(paths: Iterable[Path], pattern: str, *, expected: str) -> list[Path]:
    """Return the files that are named or lie in named folders, however deep, sorted by path.

    Raises:
        ScoreImportError: a path that is not there, or a folder without such a file.
    """
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
    """Yield (line number, object) of a file of JSON lines.

    Raises:
        CorpusError: a line that is none, with its number.
    """
    with reading(path, CorpusError), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, json_object(line, f"{path}, row {number}")


_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def json_file(path: Path) -> dict[str, Any]:
    """Return a JSON file that is one object.

    Raises:
        ScoreImportError: it is none.
    """
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
