"""A model in Ray actors: units of work go to workers, on one machine or many; this process alone writes the store.

A worker that dies is started again, and its unit goes to another; what a worker raises is raised here. Workers whose
models or versions differ are refused. The numbers are those of one process, to the byte, for a unit's numbers depend on
the unit alone. Workers may begin late, die and come back; who is there takes what is left to do.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

import pyarrow as pa

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError, PairbankError, ScoringError
from pairbank.scoring.api.model import (
    Ask,
    Continuation,
    ExampleTurn,
    ModelInfo,
    OverLength,
    Progress,
    Scorer,
    ScoringStats,
    WorkerStats,
)
from pairbank.scoring.api.requests import N_PLACES, EncodedRequest, Request, Share
from pairbank.scoring.models.options import LoadOptions
from pairbank.scoring.run.queue import Task, WorkQueue
from pairbank.scoring.run.ray_actor import Done, Facts, VocabularyFacts, Worker
from pairbank.scoring.run.store import VERSIONS
from pairbank.scoring.run.work import Job, Recipe

LOCAL = "local"
"""In the place of an address: a Ray of this run's own, on this machine."""
PASSED_ON = ("PYTHONPATH", "PAIRBANK_CACHE", "HF_HOME", "HF_HUB_OFFLINE", "XDG_CACHE_HOME")
"""Variables that workers get from this process. Keys are not among them: Ray shows what it was given."""


CONNECT_S = 10.0
_REMEDY = "start one (ray start --head --block), or use --ray local"
logger = logging.getLogger(__name__)
_LEFT_OUT = "a worker is left out (%s); the others go on"
MOST_TRIES = 3
"""Of a unit whose workers die."""
LATE_S = 30.0
"""How long a worker waits for the others before it begins; they are taken in whenever they are there."""
SILENT_S = 600.0
"""How long no worker may come back once all have died, and no cluster have room for one, before the run ends."""
ASKED_S = 1.0
"""Between two questions to a worker that died whether it is back."""
SAID_S = 30.0
"""Between two lines that say what is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    n_cpus: int
    n_gpus: float

    def __str__(self) -> str:
        return f"{self.n_cpus} CPUs and {self.n_gpus:g} GPUs"


def ray_for(address: str) -> Any:  # noqa: ANN401 - the package
    """Return Ray; one of this run's own answers to nobody without a token, which no file holds."""
    if find_spec("ray") is None:
        raise ModelLoadError("workers need the package ray; pip install 'pairbank[ray]', or run parts (--part 1/4)")
    if address == LOCAL and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return import_module("ray")


def begin(ray: Any, address: str, *, n_workers: int, needs: Needs) -> bool:  # noqa: ANN401
    """Connect to a cluster, or start a Ray here; return whether one was started."""
    if ray.is_initialized():
        return False
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:  # where nothing is, Ray itself would try for a minute
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
        except (OSError, OverflowError) as error:
            raise ModelLoadError(f"nobody listens at {address!r} ({error}); {_REMEDY}") from error
    here: dict[str, Any] = {
        "num_cpus": n_workers * needs.n_cpus,
        "num_gpus": None if needs.n_gpus else 0,
        "include_dashboard": False,
    }
    terminated = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            runtime_env={"env_vars": {name: os.environ[name] for name in PASSED_ON if name in os.environ}},
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(here if address == LOCAL else {}),
        )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        token = "" if "RAY_AUTH_TOKEN" in os.environ else "; one with a token needs it here too (RAY_AUTH_TOKEN)"
        raise ModelLoadError(f"no Ray at {address!r} ({error}); {_REMEDY}{token}") from error
    if terminated is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminated)  # Ray puts its own there, which dumps its stack
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger: which unit was scored by which process, and how fast."""

    unit: int
    names: tuple[str, ...]
    share: Share
    pid: int
    seconds: float


class RayModel:
    """A model in Ray actors. A `Scorer`, and what `score` shares its units out with; use it in a `with` block."""

    samples_answers: ClassVar[Literal[True]] = True

    def __init__(
        self,
        model: str,
        options: LoadOptions | None = None,
        *,
        n_workers: int,
        n_gpus_each: float = 0.0,
        n_threads_each: int = 1,
        address: str = LOCAL,
    ) -> None:
        self._ray = ray_for(address)
        if n_workers < 1 or n_threads_each < 1 or n_gpus_each < 0:
            raise ModelLoadError(f"{n_workers} workers of {n_threads_each} threads; expected at least one of each")
        if n_gpus_each and not (options or {}).get("batch_tokens"):
            raise ModelLoadError(
                "workers on GPUs need batch_tokens (--batch-tokens 16384, say): by default it follows the free memory "
                "of each card, and numbers would follow it too"
            )
        self.ledger: list[Entry] = []
        self.stats = ScoringStats()
        self._free: deque[Any] = deque()
        self._waking: dict[Any, Any] = {}
        """Of workers that begin late or were started again: what they will answer once they are there -> the worker."""
        self._away: list[Any] = []
        """Workers that died, and that Ray starts again where there is room."""
        self._ask_again_s = 0.0
        errors = self._ray.exceptions
        self._died = (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, errors.OutOfMemoryError)
        """What is raised where a worker, its node, or what it gave is gone."""
        needs = Needs(n_cpus=n_threads_each, n_gpus=n_gpus_each)
        self._began_here = begin(self._ray, address, n_workers=n_workers, needs=needs)
        maker = self._ray.remote(Worker).options(
            num_cpus=needs.n_cpus, num_gpus=needs.n_gpus, max_restarts=-1, max_task_retries=0
        )
        try:
            self._workers = [maker.remote(model, options or LoadOptions(), n_threads_each) for _ in range(n_workers)]
            self.info = self._begun(needs)
            reported: VocabularyFacts | None = self._asked("vocabulary")
            self.vocabulary = reported and replace(reported, cut=lambda texts: self._asked("cut", texts))
        except self._died as error:
            self.close()
            raise ModelLoadError(f"a worker died while it loaded {model!r} ({error}); try fewer workers") from error
        except (PairbankError, KeyboardInterrupt):
            self.close()
            raise

    def _begun(self, needs: Needs) -> ModelInfo:
        """Wait for workers, all if they come soon; return what those that are there say of the model."""
        by_answer = {worker.facts.remote(): worker for worker in self._workers}
        began = text = time.monotonic()
        while not self._ray.wait([*by_answer], timeout=1.0)[0]:
            now, nodes = time.monotonic(), [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            is_room = any(n.get("CPU", 0) >= needs.n_cpus and n.get("GPU", 0) >= needs.n_gpus for n in nodes)
            if not is_room and now - began >= SILENT_S:
                raise ModelLoadError(f"no node has had resources for a worker ({needs}) for {SILENT_S:g} s; start one")
            if now - text >= SAID_S:
                text, why = now, "it loads, or others have the nodes" if is_room else "no node is large enough"
                logger.warning("no worker (%s) has begun: %s", needs, why)
        ready, late = self._ray.wait([*by_answer], num_returns=len(by_answer), timeout=LATE_S)
        problems: list[PairbankError] = []
        while not (facts := self._taken_in(ready, by_answer, problems)):
            if not late:
                raise problems[0]
            ready, late = self._ray.wait(late, num_returns=1)
        for problem in problems:
            logger.warning(_LEFT_OUT, problem)
        self._waking |= {answer: by_answer[answer] for answer in late}
        if late:
            logger.warning(
                "%d of %d workers have begun; the others join when they are there", len(facts), len(by_answer)
            )
        return _agreed(facts)

    def _taken_in(self, answers: Sequence[Any], asked: Mapping[Any, Any], problems: list[PairbankError]) -> list[Facts]:
        results: list[Facts] = []
        for answer in answers:
            try:
                results.append(self._got(answer))
            except PairbankError as error:
                problems.append(error)
                self._ray.kill(asked[answer])
            else:
                self._introduce(asked[answer], results[-1])
                self._free.append(asked[answer])
        return results

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if not self._ray.is_initialized():
            return
        for worker in getattr(self, "_workers", ()):
            self._ray.kill(worker)
        if self._began_here:
            self._ray.shutdown()

    def carried_out(
        self, jobs: Sequence[Job], recipe: Recipe, on_progress: Callable[[float], None]
    ) -> Iterator[tuple[Job, Mapping[str, pa.Table]]]:
        if not jobs:
            return
        queue = WorkQueue(jobs, n_workers=len(self._workers) if self._asked("is_divisible") else 1)
        running: dict[Any, tuple[Task, Any]] = {}
        there = self._ray.put(recipe)
        began, before_s = time.perf_counter(), self.stats.seconds

        def hand_out() -> None:
            while self._free and (task := queue.task()):
                worker, ticket = self._free.popleft(), f"{there.hex()}/{task.job.unit}"
                answer = worker.scored.remote(task.job, there, task.share, task.values_nats, ticket=ticket)
                running[answer] = (task, worker)

        while queue.n_units_waiting or running:
            hand_out()
            first = self._next(running, n_units=queue.n_units_waiting)
            if first is None:
                continue
            task, worker = running.pop(first)
            try:
                done: Done = self._got(first)
            except self._died as error:
                queue.came_back(task)
                logger.warning("a worker died (%s); its unit goes to another", type(error).__name__)
                if (n_deaths := queue.n_deaths[task.job.unit]) >= MOST_TRIES:
                    rows = task.job.rows
                    raise ScoringError(
                        f"items {rows[0]['item_id']} to {rows[-1]['item_id']}: {n_deaths} workers died of them, one "
                        "after the other (of memory, perhaps); try fewer workers or a smaller --batch-tokens: what is "
                        "scored is stored"
                    ) from error
                self._away.append(worker)
                continue
            self._free.appendleft(worker)  # it still knows the job, if that goes on
            self.stats.seconds = before_s + time.perf_counter() - began
            self._note(task, worker, done)
            queue.gave(task, done.values_nats)
            hand_out()  # so that no worker waits until this process has written
            on_progress(queue.share_done)
            if task.share.is_whole:
                yield task.job, done.tables

    def _next(self, running: Mapping[Any, object], *, n_units: int = 0) -> Any | None:  # noqa: ANN401 - Ray's
        """Return the first answer to a job that is there; None once a worker is there that has no job."""
        began = time.monotonic()
        while running or self._waking or self._away:
            if self._away and time.monotonic() >= self._ask_again_s:
                self._waking |= {worker.facts.remote(): worker for worker in self._away}
                self._away.clear()
                self._ask_again_s = time.monotonic() + ASKED_S
            pending = [*running, *self._waking]
            ready = self._ray.wait(pending, timeout=ASKED_S)[0] if pending else []
            if ready and ready[0] in running:
                return ready[0]
            if ready and self._woken(ready[0]):
                return None
            if not ready and not pending:
                time.sleep(ASKED_S)
            if not running and time.monotonic() - began > SILENT_S:
                break
        raise ScoringError(
            f"no worker is left, and {n_units} units are not scored; what is scored is stored: run the same command "
            "again"
        )

    def _woken(self, answer: Any) -> bool:  # noqa: ANN401 - Ray's
        worker = self._waking.pop(answer)
        try:
            facts: Facts = self._got(answer)
        except self._ray.exceptions.ActorUnavailableError:
            self._away.append(worker)
            return False
        except self._died as error:
            logger.warning("a worker is gone for good (%s)", type(error).__name__)
            return False
        except PairbankError as error:
            self._ray.kill(worker)
            logger.warning(_LEFT_OUT, error)
            return False
        _agreed([Facts(info=self.info, versions=VERSIONS, pid=0, host=""), facts])
        logger.warning("a worker is there (%s)", facts.where)
        self._introduce(worker, facts)
        self._free.append(worker)
        return True

    def _introduce(self, worker: Any, facts: Facts) -> None:  # noqa: ANN401 - Ray's
        number = self._workers.index(worker) + 1
        self.stats.workers.setdefault(number, WorkerStats()).where = facts.where

    def _asked(self, name: str, *arguments: Any) -> Any:  # noqa: ANN401 - any method of a worker
        while True:
            if not self._free:
                self._next({})
                continue
            try:
                return self._got(getattr(self._free[0], name).remote(*arguments))
            except self._died:
                self._away.append(self._free.popleft())

    def _note(self, task: Task, worker: Any, done: Done) -> None:  # noqa: ANN401 - Ray's
        share = Share(stop=0) if task.values_nats is not None else task.share
        self.ledger.append(
            Entry(unit=task.job.unit, names=task.job.names, share=share, pid=done.pid, seconds=done.seconds)
        )
        self.stats.n_sequence_tokens += done.n_sequence_tokens
        self.stats.n_computed_tokens += done.n_computed_tokens
        of_worker = self.stats.workers[self._workers.index(worker) + 1]
        of_worker.n_units += share.n_places / N_PLACES
        of_worker.n_computed_tokens += done.n_computed_tokens
        of_worker.seconds += done.seconds

    def _got(self, what: Any) -> Any:  # noqa: ANN401 - what a worker gave
        """Return what workers give, or raise what one of them raised, as it was there."""
        try:
            return self._ray.get(what)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - any method of the model
        return self._asked("call", name, arguments, named)

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        return str(self._call("render_prompt", system=system, user=user, stem=stem, examples=examples))

    def as_read(self, text: str, *, chat: bool) -> str:
        return str(self._call("as_read", text, chat=chat))

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        return list(self._call("encode", requests))

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        results = list(self._call("token_logprobs", requests, progress=lambda _n: None))
        progress(len(results))
        return results

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        named = {"max_new_tokens": max_new_tokens, "over_length": over_length, "progress": lambda _n: None}
        results = list(self._call("write", prompts, **named))
        progress(len(results))
        return results

    def with_word_edges(self) -> Scorer:
        """Return the model itself: each worker sees to the edges of words."""
        return self


def _agreed(facts: Sequence[Facts]) -> ModelInfo:
    first = facts[0].info
    for other in facts:
        if other.versions != VERSIONS:
            raise ModelLoadError(
                f"the worker on {other.host} runs another version of pairbank ({other.versions}; here: {VERSIONS}); "
                "install the same everywhere"
            )
        theirs = other.info.to_dict()
        differing = [name for name, value in first.to_dict().items() if theirs.get(name) != value]
        if differing or theirs.keys() != first.to_dict().keys():
            raise ModelLoadError(
                f"the worker on {other.host} loaded a model that differs in "
                f"{', '.join(differing) or 'what it says of itself'}; use machines and folders that are alike"
            )
    return first
