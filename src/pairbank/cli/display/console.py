"""What several commands print: reports, work done, next steps, and progress with items and tokens per second."""

from __future__ import annotations

import contextlib
import html
import math
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pairbank.cli.display.output import answer, hint, note, output, say
from pairbank.errors import spelt_out
from pairbank.scoring.api.names import OUTSIDE_TOP, UNREPORTED
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.scoring.api.model import Scorer, ScoringStats
    from pairbank.scoring.run.work import Progress
    from pairbank.scoring.score import StoredParts
    from pairbank.scoring.scored import Scored
    from pairbank.stats.report.report import Report


_NO_BREAK = "\ue000"
"""Stands for a space at which a line does not end."""
PIPE_WIDTH = 160
"""Columns where no terminal says how many it has."""
MOST_PHENOMENON_LINES = 25
"""Of a table by phenomenon in the terminal; a longer one stands in the report."""
MOST_MODELS = 6
"""Whose work is told one by one."""
Work = Mapping[str, "ScoringStats | None"]
"""What models count of their work, by name; None of those that do not count."""


def console_width() -> int:
    """Return how many columns there are to print in."""
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else PIPE_WIDTH


def show(table: pd.DataFrame, *, name: str = "", whole: Sequence[str] = ()) -> None:
    """Print a table; under a name, it is part of the document of `--json`."""
    from rich.console import Console

    from pairbank.cli.display.tables import lines

    if name:
        answer(**{name: table})
    if output().as_json:
        return
    width = console_width()
    for line in lines(table, width=width, whole=whole):
        Console(width=width).print(line, markup=False, highlight=False, emoji=False, soft_wrap=isinstance(line, str))


def work_of(*scorers: Scorer | StoredParts) -> dict[str, ScoringStats | None]:
    """Return what scorers count of their work."""
    return {scorer.info.name: stats_of(scorer) for scorer in scorers}


def command_line() -> str:
    """Return how this command was typed, for the card; of paths outside of the working folder only the last part."""
    return shlex.join(["pairbank", *map(_without_folders, sys.argv[1:])])


def _without_folders(argument: str) -> str:
    option, equals, value = argument.rpartition("=") if argument.startswith("-") else ("", "", argument)
    path = Path(value)
    is_elsewhere = path.is_absolute() or path.parts[:1] in (("..",), ("~",))
    return f"{option}{equals}{path.name or '.'}" if is_elsewhere else argument


def say_report(made: Report) -> None:
    """Print one table of a report and what it says; of one model on one corpus, its groups and agreement too."""
    from pairbank.stats.report.wide_tables import headline

    sections = [{"id": entry.id, "title": entry.title, "text": entry.text} for entry in made.sections]
    answer(results=headline(made.summary), sections=sections, warnings=[*made.warnings, *made.cautions, *made.unasked])
    answer(said=made.overview.answer)
    if not len(made.accuracy):
        say(f"\n{_without_accuracy(made.tables)}: there are scores, but no accuracy and no agreement.")
    is_single = len(made.tables) == 1
    if is_single:
        _say_groups(made)
    for section in made.sections:
        if not output().as_json:
            result = section.answer or section.text.partition("\n\n")[0]
            text = result if not is_single else section.text if result in section.text else f"{result}\n{section.text}"
            say("")
            _say_text(f"{section.title}: {text}", made.labels)
    if not output().as_json:
        _say_answer(made)


def _without_accuracy(tables: Sequence[Scored]) -> str:
    """Return why no item of some tables has an accuracy."""
    counts = [count for table in tables for count in (table.signature.get("n_by_flag") or {}).values()]
    flags = {flag for count in counts for flag in count}
    if OUTSIDE_TOP in flags:
        return (
            "No option of an answer is among the most probable first tokens that the API reports (flag outside_top; "
            "ask for written answers, methods that end in _free)"
        )
    if UNREPORTED in flags:
        return "The server reports no log-probability of a token in any item (flag unreported)"
    return "No item is a choice between two sides"


def _say_groups(made: Report) -> None:
    """Print the accuracies and agreement of one model on one corpus and on its groups."""
    from pairbank.stats.estimates.estimate import HUMAN
    from pairbank.stats.report.overview_figures import PEOPLE

    for heading, table in (
        ("Accuracy (95% intervals)", made.accuracy),
        ("Agreement with direct and with people (95% intervals)", made.agreement),
    ):
        if table.empty:
            continue
        if not output().as_json:
            say(f"\n{heading}")
        show(_labelled(table.drop(columns=["model", "notes"]), {HUMAN: PEOPLE, **made.labels}), whole=["method"])


def _labelled(table: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Return a table with methods by their labels, as pages have them, in cells and headings."""
    cells = {name: table[name].replace(dict(labels)) for name in ("method", "versus") if name in table}
    return table.assign(**cells).rename(columns=labels)


def _say_answer(made: Report) -> None:
    """Print models and corpora side by side, what the numbers say, and what speaks against reading them so."""
    if made.phenomena and len(table := made.phenomena.tables["accuracies"]) <= MOST_PHENOMENON_LINES:
        say("\nBy phenomenon")
        show(table, whole=["phenomenon"])
    table = made.overview.tables[made.overview.main_table]
    if len(made.tables) > 1 and len(table):
        say("\nModels and corpora (95% intervals)")
        show(_labelled(table, made.labels))
    for text in (made.overview.answer, *made.cautions, *made.unasked):
        say("")
        _say_text(text, made.labels)


def _say_text(text: str, labels: Mapping[str, str]) -> None:
    """Print paragraphs of a page as a terminal shows them: without marks of Markdown, in lines of its width."""
    from pairbank.stats.report.page import in_words

    for paragraph in html.unescape(in_words(text, labels)).replace("**", "").splitlines():
        for line in _fitted(paragraph) or [""]:
            say(line)


def _fitted(text: str) -> list[str]:
    """Return a paragraph in lines of the terminal, no interval broken; as it is where there is no terminal."""
    from rich.console import Console

    from pairbank.cli.display.tables import folded

    console = Console()
    if not console.is_terminal:
        return [text]
    whole = re.sub(r"\[[^\]]*\]", lambda result: result[0].replace(" ", _NO_BREAK), text)
    return [line.replace(_NO_BREAK, " ") for line in folded(whole, console.width, hanging="")]


def say_work(work: Work) -> None:
    """Say on the standard error how much was computed, and what sharing saved (causal models count it)."""
    if len(work) > MOST_MODELS:
        counted = [stats for stats in work.values() if stats is not None and stats.n_computed_tokens]
        tokens, seconds = (sum(getattr(stats, key) for stats in counted) for key in ("n_computed_tokens", "seconds"))
        spent = f"{tokens:,} tokens computed by {len(counted)} of them in {number(seconds, digits=1)} s"
        note(f"{len(work)} models: {spent}")
        return
    for model, stats in work.items():
        if stats is None:
            note(f"{model}: scored (how many tokens is not counted of such models)")
            continue
        if stats.seconds and not stats.n_computed_tokens:
            note(f"{model}: answered in {number(stats.seconds, digits=1)} s (tokens are not counted)")
            continue
        if not stats.n_computed_tokens:
            note(f"{model}: nothing to compute, every number was in the store")
            continue
        note(
            f"{model}: {stats.n_computed_tokens:,} tokens computed for {stats.n_sequence_tokens:,} asked "
            f"({number(stats.sharing, digits=1)}x shared) in {number(stats.seconds, digits=1)} s, "
            f"{number(stats.n_computed_tokens / stats.seconds, digits=0)} tokens/s"
        )


def say_next_steps(folder: Path) -> None:
    """Print how to open a bank."""
    import pyarrow.parquet as pq

    results = sorted(folder.glob("scores/*/*.parquet"))
    answer(bank=folder, scores=results)
    if not results:
        return
    path, place = results[0], shlex.quote(str(folder))
    load = f"load_dataset({str(folder)!r}, {path.parent.name + '_scored'!r}, split={path.stem!r})"
    corpora = {entry.parent.name: pq.ParquetFile(entry).metadata.num_rows for entry in results}
    models = sorted({member.stem for member in results})
    items = ", ".join(f"{n:,} items of {name}" for name, n in corpora.items())
    say(f"\n{folder}: {items}, scored by {_some(models)}.")
    hint("Try next:")
    hint(f"  pairbank browse {place}")
    hint(f"  pairbank site {place} --out site")
    hint(f"  pairbank report {place}{' --analysis comparisons' if len(models) > 1 else ''} --out report")
    hint(f"  pairbank report {shlex.quote(str(path))} --wrong 10")
    hint(f'  python -c "from datasets import load_dataset; print({load}[0])"')


def _some(names: Sequence[str], *, most: int = 3) -> str:
    shown = ", ".join(names[:most])
    more = len(names) - most
    return shown if more <= 0 else f"{shown} and {more} more model{'s' if more > 1 else ''}"


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """Show what is going on while a block runs."""
    from rich.console import Console
    from rich.markup import escape

    if output().quiet:
        yield
        return
    with Console(stderr=True).status(escape(spelt_out(text))):
        yield


@contextlib.contextmanager
def bars(work: Work) -> Iterator[Callable[[str, str], Progress]]:
    """Yield a maker of progress callbacks, one a task and model: a bar on a terminal, else a line now and then.

    Both say how much, how fast, the time left, and of scoring tokens/s and what sharing saved.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    if output().quiet:
        yield lambda _task, _model: lambda _n_done, _n_total: None
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[rates]}"))
    with Bars(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as shown:

        def bar(task_name: str, model: str) -> Progress:
            is_scoring = task_name.startswith("scoring")
            meter = Meter(stats=work.get(model)) if is_scoring else Meter(unit="")
            description = spelt_out(f"{task_name} with {model}")
            if not console.is_terminal:
                return Lines(what=description, meter=meter).on_progress
            task = shown.add_task(description, total=None, rates="")

            def on_progress(n_done: float, n_total: int) -> None:
                shown.update(task, completed=n_done, total=n_total, rates=meter.rates_by_worker(n_done, n_total))

            return on_progress

        yield bar


SECONDS_A_LINE = 20.0
"""Between two lines of progress where no terminal shows a bar."""
SECONDS_A_DOWNLOAD_LINE = 5.0
LEAST_SHARE = 0.02
"""Of the work, before which the time left is not told: the first pass is the slowest."""
MOST_LINES = 16
"""Of workers that are shown while they score; in the end all are."""


def stats_of(scorer: Scorer | StoredParts) -> ScoringStats | None:
    """Return what a scorer counts of its work, if it counts."""
    from pairbank.scoring.api.model import ScoringStats

    stats = getattr(scorer, "stats", None)
    return stats if isinstance(stats, ScoringStats) else None


def fresh_stats(scorer: Scorer) -> ScoringStats | None:
    """Return what a scorer that was just loaded counts, from now on: the check when it is loaded is no scoring."""
    stats = stats_of(scorer)
    if stats is not None:
        stats.n_sequence_tokens = stats.n_computed_tokens = 0
        stats.seconds = 0.0
    return stats


def worker_rates(stats: ScoringStats | None) -> list[str]:
    """Return a line a worker: "worker 1 (node-3, process 1234): 12 units, 310 tokens/s"; none of one process."""
    lines = []
    for n_th, entry in (stats.workers if stats else {}).items():
        if entry.n_computed_tokens and entry.seconds:
            how_fast = f", {number(entry.n_computed_tokens / entry.seconds, digits=0)} tokens/s"
        else:  # of a model that does not count
            how_fast = f", {number(entry.seconds / entry.n_units, digits=1)} s a unit" if entry.n_units else ""
        lines.append(f"worker {n_th} ({entry.where}): {round(entry.n_units, 1):,g} units{how_fast}")
    return lines


@dataclass(slots=True, kw_only=True)
class Meter:
    """Rates since it was made."""

    stats: ScoringStats | None = None
    unit: str = " items"
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    n_computed: int = field(init=False)
    n_asked: int = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()
        self.n_computed = self.stats.n_computed_tokens if self.stats else 0
        self.n_asked = self.stats.n_sequence_tokens if self.stats else 0

    def rates(self, n_done: float, n_total: int) -> str:
        """Return "120/2,000 items, 14.2 items/s, 620 tokens/s, 1.6x shared"; without what is not known yet."""
        seconds = self.clock() - self.began
        parts = [f"{number(n_done, digits=0)}/{n_total:,}{self.unit}"]
        if seconds > 0:
            parts.append(f"{number(n_done / seconds, digits=1)}{self.unit}/s")
        if self.stats and seconds > 0 and (n_computed := self.stats.n_computed_tokens - self.n_computed):
            parts += [
                f"{number(n_computed / seconds, digits=0)} tokens/s",
                f"{number((self.stats.n_sequence_tokens - self.n_asked) / n_computed, digits=1)}x shared",
            ]
        return ", ".join(parts)

    def rates_by_worker(self, n_done: float, n_total: int) -> str:
        """Return the rates, and below them a line a worker where several score."""
        lines = worker_rates(self.stats)
        beyond = [f"  … and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        return "\n".join([self.rates(n_done, n_total), *(f"  {line}" for line in lines[:MOST_LINES]), *beyond])

    def seconds_left(self, n_done: float, n_total: int) -> float:
        """Return the time left at the rate so far; NaN before anything is done."""
        return (self.clock() - self.began) * (n_total - n_done) / n_done if n_done else float("nan")


@dataclass(slots=True, kw_only=True)
class Lines:
    """Progress as lines on the standard error, for logs: one now and then, and one at the end."""

    what: str
    meter: Meter
    say: Callable[[str], None] = note
    _last: float = field(init=False)
    _is_done: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._last = self.meter.clock()

    def on_progress(self, n_done: float, n_total: int) -> None:
        """Take note of items done, and say so where the last line is long ago or this is the end."""
        now, is_done = self.meter.clock(), n_done >= n_total
        if self._is_done or not (is_done or now - self._last >= SECONDS_A_LINE):
            return
        self._last, self._is_done = now, is_done
        left = (
            f"{number(self.meter.clock() - self.meter.began, digits=0)} s in all"
            if is_done
            else self._left(n_done, n_total)
        )
        rates, *workers = self.meter.rates_by_worker(n_done, n_total).split("\n")
        for line in (f"{self.what}: {rates}, {left}", *([] if is_done else workers)):
            self.say(line)

    def _left(self, n_done: float, n_total: int) -> str:
        if n_done < LEAST_SHARE * n_total:
            return "time left not known yet"
        return f"about {number(self.meter.seconds_left(n_done, n_total), digits=0)} s left"


class FileProgress(Protocol):
    """How much of some files is done."""

    @property
    def name(self) -> str:
        """The file."""

    @property
    def done_bytes(self) -> int:
        """Done so far."""

    @property
    def total_bytes(self) -> int | None:
        """Of all, where it is known."""


@dataclass(slots=True, kw_only=True)
class Downloads:
    """Files that come, or are read, as lines on the standard error: one at the start, then now and then.

    Safe in threads.
    """

    doing: str = "downloading"
    """What is done to the files."""
    clock: Callable[[], float] = time.monotonic
    say: Callable[[str], None] = note
    _last: float = field(init=False, default=-math.inf)
    _names: set[str] = field(init=False, default_factory=set)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def on_progress(self, file: FileProgress) -> None:
        """Take note of a piece that is done, and say so where the last line is long ago."""
        with self._lock:
            now = self.clock()
            self._names.add(file.name)
            if now - self._last < SECONDS_A_DOWNLOAD_LINE:
                return
            self._last = now
            which = f"file {len(self._names):,}, {file.name}" if len(self._names) > 1 else file.name
        total = f" of {number(file.total_bytes / 1e6, digits=1)}" if file.total_bytes else ""
        self.say(f"{self.doing} {which}: {number(file.done_bytes / 1e6, digits=1)}{total} MB")
