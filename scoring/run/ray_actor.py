"""What runs in a Ray worker: a copy of the model, in a process of its own, that scores units and gives back tables."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pairbank.arrays import FloatArray
from pairbank.errors import ModelLoadError, PairbankError, ScoringError
from pairbank.scoring.api.method import Method
from pairbank.scoring.api.model import Divisible, ModelInfo, Scorer, ScoringStats
from pairbank.scoring.api.requests import WHOLE, Share
from pairbank.scoring.models.options import LoadOptions
from pairbank.scoring.models.tokenizing import vocabulary_of
from pairbank.scoring.run.asking import Run, UnitRequests
from pairbank.scoring.run.store import VERSIONS
from pairbank.scoring.run.work import Job, Recipe


class Worker:
    def __init__(self, model: str, options: LoadOptions, n_threads: int) -> None:
        import torch
        from transformers.utils import logging as transformers_logging

        from pairbank.scoring.models.load import load_model

        torch.set_num_threads(n_threads)
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._asked: tuple[str, UnitRequests] | None = None
        """What the job that was divided last asks, by its ticket."""
        self._problem: PairbankError | None = None
        try:
            self._model: Scorer = load_model(model, **options)
        except PairbankError as error:
            self._problem = error  # for whoever asks first: an actor that cannot begin is gone, and its reason with it

    def facts(self) -> Facts:
        if self._problem is not None:
            raise ModelLoadError(f"on {socket.gethostname()}: {self._problem}") from self._problem
        return Facts(info=self._model.info, versions=VERSIONS, pid=os.getpid(), host=socket.gethostname())

    def is_divisible(self) -> bool:
        """Return whether several workers can share out the forward passes of a unit."""
        return isinstance(self._model, Divisible)

    def vocabulary(self) -> VocabularyFacts | None:
        try:
            result = vocabulary_of(self._model)
        except ScoringError:
            return None
        return VocabularyFacts(
            n_tokens=result.n_tokens, n_ids=result.n_ids, fingerprint=result.fingerprint, name=result.name
        )

    def cut(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return vocabulary_of(self._model).ids(texts)

    def scored(
        self, job: Job, recipe: Recipe, share: Share = WHOLE, values_nats: FloatArray | None = None, *, ticket: str = ""
    ) -> Done:
        began = time.perf_counter()
        stats = getattr(self._model, "stats", None) or ScoringStats()
        before = (stats.n_sequence_tokens, stats.n_computed_tokens)
        methods = recipe.methods(self._model)
        run = recipe.run(self._model, methods)
        chosen = [method for method in methods if method.name in job.names]
        tables: dict[str, pa.Table] = {}
        of_share: FloatArray | None = None
        if not share.is_whole:
            of_share = run.share_of_values(self._asked_by(run, job, chosen, ticket), share)
        elif values_nats is None:
            tables = run.computed(job.rows, chosen)
        else:
            values = self._asked_by(run, job, chosen, ticket).tables_of(values_nats)
            tables = {method.name: table for method, table in zip(chosen, values, strict=True)}
        return Done(
            tables=tables,
            values_nats=of_share,
            pid=os.getpid(),
            seconds=time.perf_counter() - began,
            n_sequence_tokens=stats.n_sequence_tokens - before[0],
            n_computed_tokens=stats.n_computed_tokens - before[1],
        )

    def _asked_by(self, run: Run, job: Job, methods: Sequence[Method], ticket: str) -> UnitRequests:
        if self._asked is None or self._asked[0] != ticket:
            self._asked = (ticket, run.asked(job.rows, methods))
        return self._asked[1]

    def call(self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
        return getattr(self._model, name)(*arguments, **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    info: ModelInfo
    versions: str
    """Of the code that decides numbers."""
    pid: int
    host: str

    @property
    def where(self) -> str:
        return f"{self.host}, process {self.pid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyFacts:
    n_tokens: int
    n_ids: int
    fingerprint: str
    name: str
    cut: Callable[[Sequence[str]], list[Sequence[int]]] | None = None

    def ids(self, texts: Sequence[str]) -> list[Sequence[int]]:
        if self.cut is None:
            raise ScoringError(f"{len(texts)} texts cannot be cut: the tokenizer of {self.name} is with the workers")
        return self.cut(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    tables: dict[str, pa.Table]
    values_nats: FloatArray | None
    """What a share gave, in the place of tables."""
    pid: int
    seconds: float
    n_sequence_tokens: int
    n_computed_tokens: int
