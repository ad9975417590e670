"""Options of commands that score on several machines or in several processes, and what they start."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pairbank.cli.display.console import worker_rates
from pairbank.cli.display.output import answer, note, say
from pairbank.scoring.models.options import LoadOptions

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.run.units import Part
    from pairbank.scoring.score import Joining, PartScored

_PANEL = "Many machines"
PartOption = Annotated[
    str | None,
    typer.Option(
        "--part",
        help="Score only part I of N (I/N) into the store; --join N then assembles the table.",
        rich_help_panel=_PANEL,
    ),
]
Join = Annotated[
    int | None,
    typer.Option(
        "--join",
        min=1,
        help="Assemble N parts without loading a model; parts that are missing are named.",
        rich_help_panel=_PANEL,
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        help="Distribute the work over Ray workers: local, auto (this machine's cluster) or an address.",
        rich_help_panel=_PANEL,
    ),
]
Workers = Annotated[
    int, typer.Option(min=1, help="Number of Ray workers; each loads the model.", rich_help_panel=_PANEL)
]
GpusPerWorker = Annotated[float, typer.Option(min=0, help="GPUs per worker.", rich_help_panel=_PANEL)]
ThreadsPerWorker = Annotated[
    int, typer.Option("--threads-per-worker", min=1, help="CPU threads per worker.", rich_help_panel=_PANEL)
]


def part_of(text: str | None) -> Part | None:
    """Return the part that a command was asked for."""
    from pairbank.scoring.run.units import part_named

    return None if text is None else part_named(text)


def refuse_join_with(join: int | None, **others: object) -> None:
    """Refuse options that --join makes no sense with."""
    provided = [f"--{name}" for name, value in others.items() if value is not None]
    if join is not None and provided:
        raise typer.BadParameter(f"--join goes with none of --part, --ray and --revisions; leave out {provided[0]}")


def joined(model: str, options: LoadOptions, joining: Joining) -> Scorer:
    """Return what stands for a model that was scored in parts; it is not loaded."""
    from pairbank.errors import ScoringError
    from pairbank.files import cache_dir
    from pairbank.scoring.models.load import remembered
    from pairbank.scoring.score import stored_model

    info = remembered(model, anywhere=True, **options)
    if info is None:
        raise ScoringError(
            f"{model}: no part was scored with these options and versions in {cache_dir()}; run the parts first "
            "(--part 1/N …) with the same PAIRBANK_CACHE. Servers have no parts to join: leave --join out"
        )
    return stored_model(info, joining)


def say_part(part: Part, done: PartScored) -> None:
    """Say what a part did, and what is to be done in the end."""
    answer(part=str(part), n_units=done.n_units, n_units_of_all=done.n_units_of_all)
    say(
        f"part {part}: {done.n_units:,} of {done.n_units_of_all:,} units are stored; when all parts are, --join "
        f"{part.of} in the place of --part puts them together"
    )


Cluster = Callable[[str, LoadOptions], contextlib.AbstractContextManager["Scorer"]]
"""Starts workers with a model, and lets them go."""


def cluster_of(*, ray: str | None, workers: int, gpus_per_worker: float, threads_per_worker: int) -> Cluster | None:
    """Return what starts the workers that a command was asked for; None where this process scores."""
    if ray is None:
        if (workers, gpus_per_worker, threads_per_worker) != (1, 0.0, 1):
            raise typer.BadParameter(
                "--workers, --gpus-per-worker and --threads-per-worker are of Ray's workers; add --ray local (this "
                "machine), --ray auto or an address"
            )
        return None
    return functools.partial(
        _in_workers, ray=ray, workers=workers, gpus_per_worker=gpus_per_worker, threads_per_worker=threads_per_worker
    )


@contextlib.contextmanager
def _in_workers(
    model: str, options: LoadOptions, *, ray: str, workers: int, gpus_per_worker: float, threads_per_worker: int
) -> Iterator[Scorer]:
    """Yield a model in Ray workers; say in the end how much each did."""
    from pairbank.scoring.run.ray_workers import RayModel

    note(f"starting {workers} workers with {model}")
    with RayModel(
        model,
        options,
        n_workers=workers,
        n_gpus_each=gpus_per_worker,
        n_threads_each=threads_per_worker,
        address=ray,
    ) as created:
        yield created
        for line in worker_rates(created.stats):
            say(line)
