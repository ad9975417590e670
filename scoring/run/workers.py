"""What `score` needs of a model that lives in other processes: it hands out jobs, and gives back tables to store.

In: jobs. Out: tables of columns, in any order. `ray_workers` is one. A `Recipe` says what a run does to items as plain
values (names of methods and what they are given), so that any process that has the model can do a part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pairbank.files import sha256_of_text
from pairbank.scoring.api.method import Method
from pairbank.scoring.methods.prompted import Pool
from pairbank.scoring.methods.registry import MethodOptions, method_named
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.run.shard import Run

if TYPE_CHECKING:
    import pyarrow as pa

    from pairbank.scoring.api.model import OverLength, Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A unit of work as it is sent."""

    unit: int
    rows: Sequence[Mapping[str, Any]]
    names: tuple[str, ...]
    """Of the methods that are not stored yet."""
    is_divisible: bool
    """The model writes nothing for it, so that its forward passes can be shared out."""

    @property
    def work(self) -> int:
        """A guess of it, good enough to compare jobs by."""
        return len(self.rows) * len(self.names)


@runtime_checkable
class Workers(Protocol):
    """What a scorer has whose model is elsewhere."""

    def carried_out(
        self, jobs: Sequence[Job], recipe: Recipe, tell: Callable[[float], None]
    ) -> Iterator[tuple[Job, Mapping[str, pa.Table]]]:
        """Yield each job with its tables, by name of method, as they are done; tell what share of the work is.

        Raises:
            ScoringError: what a worker raised, or no worker is left.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The arguments of `score`, checked, without items and model; it can be sent to another process."""

    names: tuple[str, ...]
    """Of methods, in the order of tables."""
    over_length: OverLength = "error"
    per_token: bool = False
    seed: int = 0
    pool: Pool | None = None
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    unigrams: UnigramTables | None = None
    languages: tuple[str, ...] = ()
    """Of the items, whose unigram counts alone are taken."""

    def methods(self, model: Scorer) -> list[Method]:
        """Return the methods, bound to a model where they need to be."""
        options = MethodOptions(
            per_token=self.per_token,
            seed=self.seed,
            pool=self.pool,
            prompts=self.prompts,
            scorer=model,
            unigrams=self.unigrams,
            languages=self.languages,
        )
        return [method_named(name, options=options) for name in self.names]

    def run(self, model: Scorer, methods: list[Method]) -> Run:
        """Return what scores shards of items by these methods.

        Raises:
            ScoringError: a method that cannot be asked of this model.
        """
        return Run(
            reader=functools.reduce(lambda reader, method: method.reader(reader), methods, model),
            writer=model,
            model_key=sha256_of_text(model.info.key, self.over_length),
            over_length=self.over_length,
        )
