"""Progress on the standard error: bars on a terminal, else a line now and then; items and tokens per second."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pairbank.cli.display.output import note, output
from pairbank.errors import spelt_out
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.api.model import Scorer, ScoringStats
    from pairbank.scoring.models.weights import HashProgress
    from pairbank.scoring.run.work import Progress
    from pairbank.scoring.score import StoredParts

Work = MutableMapping[str, "ScoringStats | None"]
"""What models count of their work, by name; None of those that do not count."""
SECONDS_A_LINE = 20.0
"""Between two lines of progress where no terminal shows a bar."""
SECONDS_A_DOWNLOAD_LINE = 5.0
LEAST_SHARE = 0.02
"""Of the work, before which the time left is not told: the first pass is the slowest."""
MOST_LINES = 16
"""Of workers that are shown while they score; in the end all are."""


@contextlib.contextmanager
def bars(work: Work) -> Iterator[Callable[[str, str], Progress]]:
    """Yield a maker of progress callbacks, one a task and model: a bar on a terminal, else a line now and then.

    Both say how much, how fast, the time left, and of scoring tokens/s and what sharing saved.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from pairbank.scoring.api.model import ScoringStats

    if output().quiet:
        yield lambda _task, _model: lambda _n_done, _n_total: None
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[rates]}"))
    with Bars(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as shown:

        def bar(task_name: str, model: str) -> Progress:
            is_scoring = task_name.startswith("scoring")
            # a model that is not loaded, for all its scores are stored, is in no count
            meter = Meter(stats=work.setdefault(model, ScoringStats())) if is_scoring else Meter(unit="")
            description = spelt_out(f"{task_name} with {model}")
            if not console.is_terminal:
                return Lines(what=description, meter=meter).on_progress
            task = shown.add_task(description, total=None, rates="")

            def on_progress(n_done: float, n_total: int) -> None:
                shown.update(task, completed=n_done, total=n_total, rates=meter.rates_by_worker(n_done, n_total))

            return on_progress

        yield bar


def work_of(*scorers: Scorer | StoredParts) -> dict[str, ScoringStats | None]:
    return {scorer.info.name: stats_of(scorer) for scorer in scorers}


def stats_of(scorer: Scorer | StoredParts) -> ScoringStats | None:
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
    for n_th, worker in (stats.workers if stats else {}).items():
        if worker.n_computed_tokens and worker.seconds:
            how_fast = f", {number(worker.n_computed_tokens / worker.seconds, digits=0)} tokens/s"
        else:  # of a model that does not count
            how_fast = f", {number(worker.seconds / worker.n_units, digits=1)} s a unit" if worker.n_units else ""
        lines.append(f"worker {n_th} ({worker.where}): {round(worker.n_units, 1):,g} units{how_fast}")
    return lines


@dataclass(slots=True, kw_only=True)
class Meter:
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
        now, is_done = self.meter.clock(), n_done >= n_total
        if self._is_done or not (is_done or now - self._last >= SECONDS_A_LINE):
            return
        self._last, self._is_done = now, is_done
        if is_done:
            left = f"{number(now - self.meter.began, digits=0)} s in all"
        elif n_done < LEAST_SHARE * n_total:
            left = "time left not known yet"
        else:
            left = f"about {number(self.meter.seconds_left(n_done, n_total), digits=0)} s left"
        rates, *workers = self.meter.rates_by_worker(n_done, n_total).split("\n")
        for line in (f"{self.what}: {rates}, {left}", *([] if is_done else workers)):
            self.say(line)


@dataclass(slots=True, kw_only=True)
class Downloads:
    """Files that come, or are read, as lines on the standard error: one at the start, then now and then."""

    doing: str = "downloading"
    """What is done to the files."""
    clock: Callable[[], float] = time.monotonic
    say: Callable[[str], None] = note
    _last: float = field(init=False, default=-math.inf)
    _names: set[str] = field(init=False, default_factory=set)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def on_progress(self, file: DownloadProgress | HashProgress) -> None:
        with self._lock:
            now = self.clock()
            self._names.add(file.name)
            if now - self._last < SECONDS_A_DOWNLOAD_LINE:
                return
            self._last = now
            which = f"file {len(self._names):,}, {file.name}" if len(self._names) > 1 else file.name
        total = f" of {number(file.total_bytes / 1e6, digits=1)}" if file.total_bytes else ""
        self.say(f"{self.doing} {which}: {number(file.done_bytes / 1e6, digits=1)}{total} MB")
