"""Options of commands that score on several machines or in several processes, and what they start."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from pairbank.cli.display.output import answer, note, say
from pairbank.cli.display.progress import worker_rates
from pairbank.errors import ScoringError
from pairbank.files import cache_dir
from pairbank.scoring.models.options import LoadOptions

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.run.work import Part
    from pairbank.scoring.score import Joining, PartScored, StoredParts

Cluster = Callable[[str, LoadOptions], contextlib.AbstractContextManager["Scorer"]]
"""Starts workers with a model, and lets them go."""
_many = partial(typer.Option, rich_help_panel="Many machines")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    part: Annotated[
        str | None, _many(help="Score only part I of N (I/N) into the store; --join N then assembles the table.")
    ] = None
    join: Annotated[
        int | None, _many(min=1, help="Assemble N parts without loading a model; parts that are missing are named.")
    ] = None
    ray: Annotated[
        str | None,
        _many(help="Distribute the work over Ray workers: local, auto (this machine's cluster) or an address."),
    ] = None
    workers: Annotated[int, _many(min=1, help="Number of Ray workers; each loads the model.")] = 1
    gpus_per_worker: Annotated[float, _many(min=0, help="GPUs per worker.")] = 0.0
    threads_per_worker: Annotated[int, _many(min=1, help="CPU threads per worker.")] = 1

    def chosen_part(self) -> Part | None:
        from pairbank.scoring.run.work import part_named

        return None if self.part is None else part_named(self.part)

    def check(self, **others: object) -> None:
        options = {"part": self.part, "ray": self.ray, **others}
        provided = [f"--{name}" for name, value in options.items() if value is not None]
        if self.join is not None and provided:
            raise typer.BadParameter(f"--join goes with none of --part, --ray and --revisions; leave out {provided[0]}")
        if self.ray is None and (self.workers, self.gpus_per_worker, self.threads_per_worker) != (1, 0.0, 1):
            raise typer.BadParameter(
                "--workers, --gpus-per-worker and --threads-per-worker are of Ray's workers; add --ray local (this "
                "machine), --ray auto or an address"
            )
        self.chosen_part()

    def cluster(self) -> Cluster | None:
        """Return what starts the workers that were asked for; None where this process scores."""
        return None if self.ray is None else self._in_workers

    @contextlib.contextmanager
    def _in_workers(self, model: str, options: LoadOptions) -> Iterator[Scorer]:
        """Yield a model in Ray workers; say in the end how much each did."""
        from pairbank.scoring.run.ray_workers import RayModel

        note(f"starting {self.workers} workers with {model}")
        with RayModel(
            model,
            options,
            n_workers=self.workers,
            n_gpus_each=self.gpus_per_worker,
            n_threads_each=self.threads_per_worker,
            address=self.ray or "",
        ) as created:
            yield created
            for line in worker_rates(created.stats):
                say(line)


def joined(model: str, options: LoadOptions, joining: Joining) -> StoredParts:
    """Return what stands for a model that was scored in parts; it is not loaded."""
    from pairbank.scoring.models.load import remembered
    from pairbank.scoring.score import StoredParts

    info = remembered(model, anywhere=True, **options)
    if info is None:
        raise ScoringError(
            f"{model}: no part was scored with these options and versions in {cache_dir()}; run the parts first "
            "(--part 1/N …) with the same PAIRBANK_CACHE. Servers have no parts to join: leave --join out"
        )
    return StoredParts(info=info, joining=joining)


def say_part(part: Part, done: PartScored) -> None:
    answer(part=str(part), n_units=done.n_units, n_units_of_all=done.n_units_of_all)
    say(
        f"part {part}: {done.n_units:,} of {done.n_units_of_all:,} units are stored; when all parts are, --join "
        f"{part.of} in the place of --part puts them together"
    )
