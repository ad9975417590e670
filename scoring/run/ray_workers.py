"""A model in Ray actors: units of work go to workers, on one machine or many; this process alone writes the store.

In: a model's name and options, how many workers. Out: a `Scorer` that `score` runs through. A worker that dies is
started again, and its unit goes to another; what a worker raises is raised here. Workers whose models or versions
differ are refused. The numbers are those of one process, to the byte, for a unit's numbers depend on the unit alone.

Ray is an extra: `pip install 'pairbank[ray]'`.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from pairbank.errors import ModelLoadError, PairbankError, ScoringError
from pairbank.scoring.api.model import Ask, Continuation, ExampleTurn, ModelInfo, Progress, ScoringStats
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.models.options import LoadOptions
from pairbank.scoring.run.recipe import Recipe
from pairbank.scoring.run.store import VERSIONS
from pairbank.scoring.run.workers import Job

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.scoring.api.model import OverLength, Scorer

logger = logging.getLogger(__name__)
LOCAL = "local"
"""In the place of an address: a Ray of this run's own, on this machine."""
MOST_TRIES = 3
"""Of a unit whose workers die."""
RESTARTS = 3
"""Of a worker."""
PASSED_ON = ("PYTHONPATH", "PAIRBANK_CACHE", "HF_HOME", "HF_HUB_OFFLINE", "XDG_CACHE_HOME")
"""Variables that workers get from this process. Keys are not among them: Ray shows what it was given."""
SILENT_S = 600.0
"""How long no worker may come back, once all have died, before the run ends."""


class Worker:
    """One copy of the model, in a process of its own."""

    def __init__(self, model: str, options: LoadOptions, n_threads: int) -> None:
        import torch
        from transformers.utils import logging as transformers_logging

        from pairbank.scoring.models.load import load_model

        torch.set_num_threads(n_threads)
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._problem: PairbankError | None = None
        try:
            self._model: Scorer = load_model(model, **options)
        except PairbankError as error:
            self._problem = error  # for whoever asks first: an actor that cannot begin is gone, and its reason with it

    def facts(self) -> tuple[ModelInfo, str, int]:
        """Return the model's facts, the versions of the code, and the process.

        Raises:
            PairbankError: the model could not be loaded.
        """
        if self._problem is not None:
            raise self._problem
        return self._model.info, VERSIONS, os.getpid()

    def vocabulary(self) -> VocabularyFacts | None:
        """Return what of the vocabulary methods ask for; None where the model has none."""
        from pairbank.scoring.models.tokens.vocabulary import vocabulary_of

        try:
            found = vocabulary_of(self._model)
        except ScoringError:
            return None
        return VocabularyFacts(
            n_tokens=found.n_tokens, n_ids=found.n_ids, fingerprint=found.fingerprint, name=found.name
        )

    def cut(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """Return the tokens of texts, as the vocabulary gives them."""
        from pairbank.scoring.models.tokens.vocabulary import vocabulary_of

        return vocabulary_of(self._model).ids(texts)

    def scored(self, job: Job, recipe: Recipe) -> Done:
        """Return a job's tables."""
        began = time.perf_counter()
        stats = getattr(self._model, "stats", None) or ScoringStats()
        before = (stats.n_sequence_tokens, stats.n_computed_tokens)
        methods = recipe.methods(self._model)
        run = recipe.run(self._model, methods)
        tables = run.computed(job.rows, [method for method in methods if method.name in job.names])
        return Done(
            tables=tables,
            pid=os.getpid(),
            seconds=time.perf_counter() - began,
            n_sequence_tokens=stats.n_sequence_tokens - before[0],
            n_computed_tokens=stats.n_computed_tokens - before[1],
        )

    def call(self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return what a method of the scorer gives."""
        return getattr(self._model, name)(*arguments, **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyFacts:
    """A vocabulary whose tokens are with the workers."""

    n_tokens: int
    n_ids: int
    fingerprint: str
    name: str
    cut: Callable[[Sequence[str]], list[Sequence[int]]] | None = None
    """Asks a worker."""

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """Return the tokens of texts, which a worker cuts.

        Raises:
            ScoringError: nobody is there to ask.
        """
        if self.cut is None:
            raise ScoringError(f"{len(texts)} texts cannot be cut: the tokenizer of {self.name} is with the workers")
        return self.cut(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A job that a worker carried out."""

    tables: dict[str, pa.Table]
    pid: int
    seconds: float
    n_sequence_tokens: int
    n_computed_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger: which unit was scored by which process, and how fast."""

    unit: int
    names: tuple[str, ...]
    pid: int
    seconds: float


class RayModel:
    """A model in Ray actors. A `Scorer`, and what `score` shares its units out with; use it in a `with` block."""

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
        """Start the workers.

        Args:
            model: what `load_model` takes; a folder has to be there for every worker.
            options: of `load_model`.
            n_workers: copies of the model.
            n_gpus_each: GPUs of a worker; may be a fraction.
            n_threads_each: threads, and Ray's CPUs, of a worker.
            address: `local`, `auto` (the cluster that this machine is part of), or a cluster's address.

        Raises:
            ModelLoadError: no Ray, no cluster, not enough room in it, workers that differ, or what loading raised.
        """
        self._ray = _ray(address)
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
        """Workers without a job."""
        self._waking: dict[Any, Any] = {}
        """Of workers that died: what they will answer once they are back -> the worker."""
        self._began_here = _begin(self._ray, address, n_workers=n_workers, n_threads=n_threads_each, n_gpus=n_gpus_each)
        maker = self._ray.remote(Worker).options(
            num_cpus=n_threads_each, num_gpus=n_gpus_each, max_restarts=RESTARTS, max_task_retries=0
        )
        try:
            self._workers = [maker.remote(model, options or LoadOptions(), n_threads_each) for _ in range(n_workers)]
            self.info = _agreed(self._got([worker.facts.remote() for worker in self._workers]))
            told: VocabularyFacts | None = self._got(self._workers[0].vocabulary.remote())
            self.vocabulary = None if told is None else replace(told, cut=self._cut)
        except self._ray.exceptions.RayActorError as error:
            self.close()
            raise ModelLoadError(f"a worker died while it loaded {model!r} ({error}); try fewer workers") from error
        except PairbankError:
            self.close()
            raise
        self._free.extend(self._workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the workers go, and the Ray that was started for them."""
        if not self._ray.is_initialized():
            return
        for worker in getattr(self, "_workers", ()):
            self._ray.kill(worker)
        if self._began_here:
            self._ray.shutdown()

    def carried_out(self, jobs: Sequence[Job], recipe: Recipe) -> Iterator[tuple[Job, Mapping[str, pa.Table]]]:
        """Yield each job with its tables as workers finish; see `Workers`."""
        waiting, tries = deque(jobs), Counter[int]()
        running: dict[Any, tuple[Job, Any]] = {}
        recipe_there = self._ray.put(recipe) if jobs else None
        while waiting or running:
            while waiting and self._free:
                job, worker = waiting.popleft(), self._free.popleft()
                running[worker.scored.remote(job, recipe_there)] = (job, worker)
            first = self._next(running)
            if first is None:
                raise _nobody_left(len(waiting))
            if first in self._waking:
                self._woken(first)
                continue
            job, worker = running.pop(first)
            try:
                done: Done = self._got(first)
            except self._ray.exceptions.RayActorError as error:
                tries[job.unit] += 1
                logger.warning("a worker died (%s); its unit goes to another", type(error).__name__)
                if tries[job.unit] >= MOST_TRIES:
                    raise _deadly(job, tries[job.unit]) from error
                waiting.appendleft(job)
                self._waking[worker.facts.options(max_task_retries=-1).remote()] = worker
            else:
                self._free.append(worker)
                yield job, self._noted(job, done)

    def _next(self, running: Mapping[Any, object]) -> Any | None:  # noqa: ANN401 - Ray's
        """Return the next answer that is there; None where no worker is left that could give one."""
        if not running and not self._waking:
            return None
        ready, _ = self._ray.wait([*running, *self._waking], timeout=None if running else SILENT_S)
        return ready[0] if ready else None

    def _woken(self, answer: Any) -> None:  # noqa: ANN401 - Ray's
        """Take a worker back that was started again, if it was."""
        worker = self._waking.pop(answer)
        try:
            info, versions, pid = self._got(answer)
        except self._ray.exceptions.RayActorError:
            logger.warning("a worker is gone for good")
            return
        _agreed([(self.info, VERSIONS, 0), (info, versions, pid)])
        logger.warning("a worker is back")
        self._free.append(worker)

    def _cut(self, texts: Sequence[str]) -> list[Sequence[int]]:
        found: list[Sequence[int]] = self._got(self._workers[0].cut.remote(texts))
        return found

    def _noted(self, job: Job, done: Done) -> dict[str, pa.Table]:
        self.ledger.append(Entry(unit=job.unit, names=job.names, pid=done.pid, seconds=done.seconds))
        self.stats.n_sequence_tokens += done.n_sequence_tokens
        self.stats.n_computed_tokens += done.n_computed_tokens
        self.stats.seconds += done.seconds
        return done.tables

    def _got(self, what: Any) -> Any:  # noqa: ANN401 - what a worker gave
        """Return what workers give, or raise what one of them raised, as it was there."""
        try:
            return self._ray.get(what)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        """Return what the first worker renders."""
        named = {"system": system, "user": user, "stem": stem, "examples": examples}
        found: str = self._got(self._workers[0].call.remote("render_prompt", (), named))
        return found

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return the first worker's tokens."""
        found: list[EncodedRequest] = self._got(self._workers[0].call.remote("encode", (requests,), {}))
        return found

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        """Return what the first worker computes; `score` shares units out instead."""
        named = {"progress": _silent}
        found: list[FloatArray] = self._got(self._workers[0].call.remote("token_logprobs", (requests,), named))
        progress(len(found))
        return found

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        """Return what the first worker writes."""
        named = {"max_new_tokens": max_new_tokens, "over_length": over_length, "progress": _silent}
        found: list[Continuation] = self._got(self._workers[0].call.remote("write", (prompts,), named))
        progress(len(found))
        return found

    def with_word_edges(self) -> Scorer:
        """Return the model itself: each worker sees to the edges of words."""
        return self


def _ray(address: str) -> Any:  # noqa: ANN401 - the package
    """Return Ray; one of this run's own answers to nobody without a token, which no file holds."""
    if find_spec("ray") is None:
        raise ModelLoadError("workers need the package ray; pip install 'pairbank[ray]', or run parts (--part 1/4)")
    if address == LOCAL and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return import_module("ray")


def _begin(ray: Any, address: str, *, n_workers: int, n_threads: int, n_gpus: float) -> bool:  # noqa: ANN401
    """Connect to a cluster, or start a Ray here; return whether one was started."""
    if ray.is_initialized():
        return False
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    common: dict[str, Any] = {
        "runtime_env": {"env_vars": environment},
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    try:
        if address == LOCAL:
            ray.init(
                address="local",
                num_cpus=n_workers * n_threads,
                num_gpus=None if n_gpus else 0,
                include_dashboard=False,
                **common,
            )
        else:
            ray.init(address=address, **common)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ModelLoadError(
            f"no Ray at {address!r} ({error}); start one (ray start --head --block), or use --ray local"
        ) from error
    return True


def _agreed(facts: Sequence[tuple[ModelInfo, str, int]]) -> ModelInfo:
    """Return what all workers say of the model.

    Raises:
        ModelLoadError: they do not say the same.
    """
    first, versions, _ = facts[0]
    for info, theirs, _ in facts[1:]:
        if theirs != versions or theirs != VERSIONS:
            raise ModelLoadError(
                f"workers run other versions of pairbank ({theirs}; here: {VERSIONS}); install the same everywhere"
            )
        differing = [name for name, value in first.to_dict().items() if info.to_dict().get(name) != value]
        if differing or info.to_dict().keys() != first.to_dict().keys():
            raise ModelLoadError(
                f"workers loaded models that differ in {', '.join(differing) or 'what they say of themselves'}; use "
                "machines and folders that are alike"
            )
    return first


def _nobody_left(n_units: int) -> ScoringError:
    return ScoringError(
        f"no worker is left, and {n_units} units are not scored; what is scored is stored: run the same command again"
    )


def _deadly(job: Job, n_tries: int) -> ScoringError:
    return ScoringError(
        f"items {job.rows[0]['item_id']} to {job.rows[-1]['item_id']}: {n_tries} workers died of them, one after the "
        "other (of memory, perhaps); try fewer workers or a smaller --batch-tokens: what is scored is stored"
    )


def _silent(_n: int) -> None:
    return None
