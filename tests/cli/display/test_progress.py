"""Progress as text: rates, and lines for logs."""

import math

import pytest

from pairbank.builders.sources.downloads import DownloadProgress
from pairbank.cli.display import progress
from pairbank.cli.display.progress import Downloads, Lines, Meter, worker_rates
from pairbank.scoring.api.model import ScoringStats, WorkerStats


class Clock:
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
        said.on_progress(2 * second, 100)
    said.on_progress(100, 100)
    assert lines == [
        "scoring li with m: 40/100 items, 2.0 items/s, about 30 s left",
        "scoring li with m: 80/100 items, 2.0 items/s, about 10 s left",
        "scoring li with m: 100/100 items, 2.0 items/s, 50 s in all",
    ]


def at_work() -> ScoringStats:
    """Return the work of two workers that count their tokens, of one that does not, and of one that has just begun."""
    return ScoringStats(
        workers={
            1: WorkerStats(where="node-1, process 17", n_units=3, n_computed_tokens=4_000, seconds=10),
            2: WorkerStats(where="node-2, process 18", n_units=4, n_computed_tokens=9_000, seconds=15),
            3: WorkerStats(where="node-2, process 19", n_units=4, seconds=10),
            4: WorkerStats(where="node-3, process 5"),
        }
    )


def test_each_worker_has_a_line_with_its_own_throughput() -> None:
    assert worker_rates(at_work()) == [
        "worker 1 (node-1, process 17): 3 units, 400 tokens/s",
        "worker 2 (node-2, process 18): 4 units, 600 tokens/s",
        "worker 3 (node-2, process 19): 4 units, 2.5 s a unit",
        "worker 4 (node-3, process 5): 0 units",
    ]
    assert worker_rates(ScoringStats()) == worker_rates(None) == []


def test_workers_stand_below_what_all_do_and_many_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MOST_LINES", 2)
    clock, lines = Clock(), list[str]()
    said = Lines(what="scoring li with m", meter=Meter(stats=at_work(), clock=clock), say=lines.append)
    clock.now += 30
    said.on_progress(50, 100)
    clock.now += 30
    said.on_progress(100, 100)
    assert lines == [
        "scoring li with m: 50/100 items, 1.7 items/s, about 30 s left",
        "  worker 1 (node-1, process 17): 3 units, 400 tokens/s",
        "  worker 2 (node-2, process 18): 4 units, 600 tokens/s",
        "  … and 2 more",
        "scoring li with m: 100/100 items, 1.7 items/s, 60 s in all",
    ]


def test_downloads_are_told_at_the_start_and_then_now_and_then() -> None:
    clock, lines = Clock(), list[str]()
    rates_by_worker = Downloads(clock=clock, say=lines.append)
    rates_by_worker.on_progress(DownloadProgress(name="a.csv", done_bytes=1_000_000, total_bytes=45_600_000))
    rates_by_worker.on_progress(DownloadProgress(name="a.csv", done_bytes=2_000_000, total_bytes=45_600_000))
    clock.now += 6
    rates_by_worker.on_progress(DownloadProgress(name="b.csv", done_bytes=500_000, total_bytes=None))
    assert lines == ["downloading a.csv: 1.0 of 45.6 MB", "downloading file 2, b.csv: 0.5 MB"]


def test_the_time_left_is_not_told_after_the_first_item_of_many() -> None:
    clock, lines = Clock(), list[str]()
    said = Lines(what="scoring li with m", meter=Meter(clock=clock), say=lines.append)
    clock.now += 21
    said.on_progress(1, 1000)
    assert lines == ["scoring li with m: 1/1,000 items, 0.0 items/s, time left not known yet"]
