"""Progress as text: rates, and lines for logs."""

from __future__ import annotations

import math

import pytest

from pairbank.builders.sources.downloads import DownloadProgress
from pairbank.cli.display.progress import Downloads, Lines, Meter
from pairbank.scoring.api.model import ScoringStats


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rates_count_from_when_the_meter_was_made() -> None:
    clock, stats = Clock(), ScoringStats(n_computed_tokens=1_000, n_sequence_tokens=5_000)
    meter = Meter(stats=stats, clock=clock)
    assert meter.rates(0, 200) == "0/200 items"
    assert math.isnan(meter.seconds_left(0, 200))
    clock.now += 10
    stats.n_computed_tokens += 4_000
    stats.n_sequence_tokens += 10_000
    assert meter.rates(50, 200) == "50/200 items, 5.0 items/s, 400 tokens/s, 2.5x shared"
    assert meter.seconds_left(50, 200) == pytest.approx(30)


def test_a_log_gets_a_line_now_and_then_and_one_at_the_end() -> None:
    clock, lines = Clock(), list[str]()
    said = Lines(what="scoring li with m", meter=Meter(clock=clock), say=lines.append)
    for second in range(1, 51):
        clock.now = 100.0 + second
        said.tell(2 * second, 100)
    said.tell(100, 100)
    assert lines == [
        "scoring li with m: 40/100 items, 2.0 items/s, about 30 s left",
        "scoring li with m: 80/100 items, 2.0 items/s, about 10 s left",
        "scoring li with m: 100/100 items, 2.0 items/s, 50 s in all",
    ]


def test_downloads_are_told_at_the_start_and_then_now_and_then() -> None:
    clock, lines = Clock(), list[str]()
    told = Downloads(clock=clock, say=lines.append)
    told.tell(DownloadProgress(name="a.csv", done_bytes=1_000_000, total_bytes=45_600_000))
    told.tell(DownloadProgress(name="a.csv", done_bytes=2_000_000, total_bytes=45_600_000))
    clock.now += 6
    told.tell(DownloadProgress(name="b.csv", done_bytes=500_000, total_bytes=None))
    assert lines == ["downloading a.csv: 1.0 of 45.6 MB", "downloading file 2, b.csv: 0.5 MB"]
