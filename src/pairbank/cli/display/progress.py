"""How fast scoring goes, as text: items/s, tokens/s, what sharing saved, the time left, and each worker's part."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pairbank.cli.display.output import note
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer, ScoringStats

SECONDS_A_LINE = 20.0
"""Between two lines of progress where no terminal shows a bar."""
SECONDS_A_DOWNLOAD_LINE = 5.0
LEAST_SHARE = 0.02
"""Of the work, before which the time left is not told: the first pass is the slowest."""
MOST_LINES = 16
"""Of workers that are shown while they score; in the end all are."""


def stats_of(scorer: Scorer) -> ScoringStats | None:
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
    for n_th, one in (stats.workers if stats else {}).items():
        if one.n_computed_tokens and one.seconds:
            how_fast = f", {number(one.n_computed_tokens / one.seconds, digits=0)} tokens/s"
        else:  # of a model that does not count
            how_fast = f", {number(one.seconds / one.n_units, digits=1)} s a unit" if one.n_units else ""
        lines.append(f"worker {n_th} ({one.where}): {round(one.n_units, 1):,g} units{how_fast}")
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

    def told(self, n_done: float, n_total: int) -> str:
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

    def tell(self, n_done: float, n_total: int) -> None:
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
        rates, *workers = self.meter.told(n_done, n_total).split("\n")
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

    def tell(self, file: FileProgress) -> None:
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
