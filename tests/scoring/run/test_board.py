"""The board that hands out work: each unit once, in whole or in shares; few wait at the end; nothing is lost."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pairbank
from pairbank.scoring.api.requests import N_PLACES
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.run.queue import Task, WorkQueue
from pairbank.scoring.run.ray_actor import Worker
from pairbank.scoring.run.work import Job, Recipe
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

METHODS = ("direct", "direct_wb", "meta_question_simple", "pmi")


def jobs_of(sizes: Sequence[int], *, is_divisible: bool = True) -> list[Job]:
    return [
        Job(unit=unit, rows=[{}] * size, names=("direct",), is_divisible=is_divisible)
        for unit, size in enumerate(sizes)
    ]


def carried_out(
    board: WorkQueue, speeds: Sequence[float], *, p_dies: float = 0.0, seed: int = 0
) -> tuple[list[Task], float]:
    """Let workers of these speeds do everything; return what was done, and how long the first one done waits."""
    draw, done, running = random.Random(seed), [], {}
    free_at = dict.fromkeys(range(len(speeds)), 0.0)
    idle = set(free_at)
    now = 0.0
    while True:
        for worker in sorted(idle):
            if (task := board.task()) is None:
                break
            idle.discard(worker)
            size = 0 if task.values_nats is not None else task.job.work * task.share.n_places / N_PLACES
            running[worker] = task
            free_at[worker] = now + size / speeds[worker]
        if not running:
            break
        worker = min(running, key=free_at.__getitem__)
        now, task = free_at[worker], running.pop(worker)
        idle.add(worker)
        if draw.random() < p_dies:
            board.came_back(task)
            continue
        done.append(task)
        if task.share.is_whole:
            board.gave(task, None)
        else:
            places = np.arange(N_PLACES, dtype=float)
            board.gave(task, np.where((places >= task.share.first) & (places < task.share.stop), places, np.nan))
    assert board.n_units_waiting == 0
    assert board.share_done == 1
    return done, now - min(free_at.values())


@pytest.mark.parametrize("p_dies", [0.0, 0.3])
@pytest.mark.parametrize("n_workers", [1, 2, 7])
def test_every_unit_is_done_once_whoever_dies(n_workers: int, p_dies: float) -> None:
    for seed in range(20):
        sizes = [random.Random(seed).randint(1, 500) for _ in range(1 + seed)]
        board = WorkQueue(jobs_of(sizes), n_workers=n_workers)
        done, _ = carried_out(board, [1.0 + 0.2 * k for k in range(n_workers)], p_dies=p_dies, seed=seed)
        assert Counter(task.job.unit for task in done if task.share.is_whole) == Counter(range(len(sizes)))
        shares = defaultdict(list)
        for task in done:
            if task.values_nats is None:
                shares[task.job.unit].append((task.share.first, task.share.stop))
            else:
                assert task.values_nats.tolist() == list(range(N_PLACES))
        for result in shares.values():
            result.sort()
            assert (result[0][0], result[-1][1]) == (0, N_PLACES)
            assert all(a[1] == b[0] for a, b in pairwise(result))


@pytest.mark.parametrize(("sizes", "n_workers"), [([2_000], 2), ([128, 6], 2), ([600, *[128] * 5], 2), ([128] * 17, 8)])
def test_workers_end_together(sizes: list[int], n_workers: int) -> None:
    """Were units whole, the last worker would have most of a unit left when the first is done."""
    speeds = [1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.0, 1.0][:n_workers]
    _, idle = carried_out(WorkQueue(jobs_of(sizes), n_workers=n_workers), speeds)
    assert idle <= 0.04 * sum(sizes) / n_workers + 2 * max(sizes) * 4 / N_PLACES
    done, whole = carried_out(WorkQueue(jobs_of(sizes, is_divisible=False), n_workers=n_workers), speeds)
    assert len(done) == len(sizes)
    assert whole > idle


def test_one_worker_gets_units_as_a_whole() -> None:
    done, _ = carried_out(WorkQueue(jobs_of([100, 7]), n_workers=1), [1.0])
    assert [(task.job.unit, task.share.is_whole) for task in done] == [(0, True), (1, True)]


def test_what_no_share_gave_one_worker_computes_as_a_whole() -> None:
    board = WorkQueue(jobs_of([100]), n_workers=2)
    while (task := board.task()) is not None and not task.share.is_whole:
        board.gave(task, np.array([1.0, np.nan]))
    assert task is not None
    assert task.values_nats is None
    assert board.task() is None


class TwoWorkers:
    """Stands for Ray: a model that lives in two workers, which take turns here."""

    def __init__(self, folder: Path) -> None:
        self._workers = [Worker(str(folder), {"device": "cpu", "prompt_format": "base"}, 1) for _ in range(2)]
        self._model = self._workers[0]._model
        self.tasks: list[Task] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what the model has
        return getattr(self._model, name)

    def carried_out(
        self, jobs: Sequence[Job], recipe: Recipe, on_progress: Callable[[float], None]
    ) -> Iterator[tuple[Job, Mapping[str, pa.Table]]]:
        board = WorkQueue(jobs, n_workers=len(self._workers))
        while task := board.task():
            self.tasks.append(task)
            worker = self._workers[len(self.tasks) % 2]
            done = worker.scored(task.job, recipe, task.share, task.values_nats, ticket=str(task.job.unit))
            board.gave(task, done.values_nats)
            on_progress(board.share_done)
            if done.values_nats is None:
                yield task.job, done.tables


@pytest.mark.ci
@pytest.mark.parametrize("name", ["gpt2", *(pytest.param(x, marks=pytest.mark.slow) for x in ("bert", "llama", "t5"))])
def test_shared_out_scores_are_the_bytes_of_one_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Direct, "shard_items", 40)
    monkeypatch.setattr(Prompted, "shard_items", 30)
    others = {"bert": lambda: masked_model("bert"), "t5": t5_model}
    folder = tmp_path / name
    folder = saved(*others[name](), folder) if name in others else saved_model(ARCHITECTURES[name], folder)
    methods = METHODS if name not in others else ("direct", "meta_question_simple")
    items = pairbank.load_corpus("starter", subset="minimal-pairs")
    told: list[float] = []
    two = TwoWorkers(folder)
    made: list[bytes] = []
    for model in (pairbank.load_model(folder, device="cpu", prompt_format="base"), two):
        monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / f"cache{len(made)}"))
        told.clear()
        scored = pairbank.score(
            items, model, methods=methods, per_token=True, progress=lambda n_done, n: told.append(n_done / n)
        )
        made.append(scored.save(tmp_path / "scored.parquet").read_bytes())
    assert made[0] == made[1]
    assert told == sorted(told)
    assert (told[-1], len(told)) == (1, len(two.tasks))
    pairbank.score(items, two, methods=methods, per_token=True, progress=lambda n_done, n: told.append(n_done / n))
    assert told[-2:] == [1, 1]  # all is stored
    assert any(not task.share.is_whole for task in two.tasks)
    assert {task.job.unit for task in two.tasks if task.share.is_whole} == {task.job.unit for task in two.tasks}
