"""What `score` needs of a model that lives in other processes: it hands out jobs, and gives back tables to store.

In: jobs. Out: tables of columns, in any order. `ray_workers` is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from pairbank.scoring.run.recipe import Recipe


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
