"""`score --revisions`: the checkpoints of a model, scored one after the other, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import pairbank
from pairbank.cli.display.console import say_report
from pairbank.cli.display.output import answer, say
from pairbank.cli.display.progress import bars, work_of
from pairbank.cli.loading import load
from pairbank.scoring.models.options import LoadOptions, name_at

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.run.work import ScoreOptions


def checkpoints_of(
    model: str, revisions: str, options: LoadOptions, *, out: Sequence[Path]
) -> list[tuple[str, LoadOptions]]:
    """Return what to load for each of `--revisions`: a folder in the model's folder, else a revision of a Hub id.

    >>> found = checkpoints_of("org/m", "step1, step2", {}, out=[Path("scored")])
    >>> [(name, more["name"], more["revision"]) for name, more in found]
    [('org/m', 'm@step1', 'step1'), ('org/m', 'm@step2', 'step2')]
    """
    if len(out) != 1 or out[0].suffix:
        text = ", ".join(map(str, out))
        raise typer.BadParameter(f"--out {text}: with --revisions it is one folder, with a file a checkpoint")
    if options.get("name") is not None:
        raise typer.BadParameter("--name is for one model, and --revisions are several: leave it out")
    names = [name.strip() for name in revisions.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise typer.BadParameter(f"--revisions {revisions!r}: expected different names, A,B,C")
    folder = Path(model).expanduser()
    if not folder.is_dir():
        short = model.rsplit("/", 1)[-1]
        return [(model, {**options, "revision": name, "name": name_at(short, name)}) for name in names]
    if missing := [name for name in names if not (folder / name).is_dir()]:
        inside = ", ".join(sorted(path.name for path in folder.iterdir() if path.is_dir())) or "none"
        raise typer.BadParameter(f"--revisions: no folder {missing[0]} in {folder}; folders there: {inside}")
    run = folder.resolve().name
    return [(str(folder / name), {**options, "name": name_at(run, name)}) for name in names]


def score_checkpoints(
    items: datasets.Dataset, places: Sequence[tuple[str, LoadOptions]], out: Path, request: ScoreOptions
) -> None:
    """Score items with one checkpoint after the other, a file each; say the results of all, with their curves."""
    from pairbank.scoring.score import score_as
    from pairbank.stats.analyses.trajectories import LEAST_CHECKPOINTS

    tables = []
    for place, options in places:
        scorer = load(place, **options)
        with bars(work_of(scorer)) as bar:
            notify = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
            scored = score_as(items, scorer, request, progress=notify)
        path = scored.save(out / f"{scored.model_slug}.parquet")
        answer(scored=[{"out": path, "model": scored.model, "n_items": len(scored), "methods": scored.methods}])
        say(f"{path}: {len(scored):,} items with {', '.join(scored.methods)}")
        tables.append(scored)
    analyses = ["trajectories"] if len(tables) >= LEAST_CHECKPOINTS else []
    say_report(pairbank.report(tables, analyses=analyses))
