"""`pairbank report`, `bank` and `run`: from scored tables to estimates and a bank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pairbank.cli.cluster import GpusPerWorker, PartOption, Ray, ThreadsPerWorker, Workers, part_of, say_part, scorer
from pairbank.cli.console import bars, command_line, quiet_bars, say, say_next_steps, say_report, say_work, status
from pairbank.cli.options import (
    DataDir,
    Limit,
    Models,
    UnigramFiles,
    analysis_options,
    licences,
    takes_model_options,
)
from pairbank.cli.progress import Downloads
from pairbank.scoring.models.options import LoadOptions


def report(
    scored: Annotated[list[Path], typer.Argument(help="Files that `pairbank score` wrote.")],
    out: Annotated[Path | None, typer.Option(help="Folder for report.md and its tables.")] = None,
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "pairbank report",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    analysis: Annotated[
        list[str] | None, typer.Option(help="A further analysis (docs/analyses.md lists them); may be repeated.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", help="An option of an analysis: NAME.option=value; may be repeated.")
    ] = None,
) -> None:
    """Compute every estimate of scored files: accuracy, agreement, correlation with people, with intervals.

    Example: pairbank report scored.parquet --analysis comparisons --out report
    """
    import pairbank

    chosen = analysis_options(options, asked=analysis or ())
    with status("computing estimates"):
        made = pairbank.report(
            [pairbank.read_scored(path) for path in scored],
            title=title,
            seed=seed,
            analyses=list(dict.fromkeys(analysis or ())),
            options=chosen,
        )
    say_report(made)
    if out is not None:
        say(f"{made.save(out)}/report.md")


def bank(
    scored: Annotated[list[Path], typer.Argument(help="Files that `pairbank score` wrote.")],
    out: Annotated[Path, typer.Option(help="Folder of the bank; one that is there already is extended.")],
    licence: Annotated[list[str] | None, typer.Option(help="Licence of items of your own: CORPUS=cc-by-4.0.")] = None,
) -> None:
    """Write scored files as a bank: parquet, results and a dataset card that load_dataset reads.

    Example: pairbank bank scored.parquet --out my-bank
    """
    import pairbank

    with quiet_bars(), status("writing the bank"):
        folder = pairbank.write_bank(
            out,
            scored=[pairbank.read_scored(path) for path in scored],
            licences=licences(licence),
            command=command_line(),
        )
    say_next_steps(folder)


@takes_model_options
def run(
    study: Annotated[str, typer.Argument(help="A shipped study, or the path of a TOML file.")],
    out: Annotated[Path, typer.Option(help="Folder of the bank.")],
    model: Models = ["demo"],  # noqa: B006 - typer copies it
    data_dir: DataDir = None,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Corpora in place of the study's, as NAME or NAME:SUBSET; may be repeated.")
    ] = None,
    limit: Limit = None,
    unigrams: UnigramFiles = None,
    part: PartOption = None,
    ray: Ray = None,
    workers: Workers = 1,
    gpus_per_worker: GpusPerWorker = 0.0,
    threads_per_worker: ThreadsPerWorker = 1,
    *,
    options: LoadOptions,
) -> None:
    """Run a study end to end: build, score, report, bank. Run it again to continue after a stop.

    Example: pairbank run demo --model demo --out demo-bank
    """
    from pairbank.scoring.run.units import Part
    from pairbank.study.declaration import limited, load_study, with_corpora
    from pairbank.study.parts import score_study_part
    from pairbank.study.run import run_study

    plan = load_study(study)
    if corpus:
        plan = with_corpora(plan, corpus)
    if limit is not None:
        plan = limited(plan, limit)
    chosen = part_of(part)
    kept: dict[str, Any] = {"data_dir": data_dir, "unigrams": unigrams or None}
    with quiet_bars():
        scorers, n_before = [], 0
        for name in model:  # one after the other: workers of one model are gone before those of the next begin
            with (
                scorer(
                    name,
                    options,
                    ray=ray,
                    workers=workers,
                    gpus_per_worker=gpus_per_worker,
                    threads_per_worker=threads_per_worker,
                ) as one,
                bars(one) as bar,
            ):
                scorers.append(one)
                if chosen is not None or ray is not None:
                    of = chosen or Part(number=1, of=1)
                    done = score_study_part(plan, one, of, progress=bar, n_before=n_before, **kept)
                    n_before += done.n_units_of_all
                    say_part(of, done)
        if chosen is not None:
            return
        with bars(*scorers) as bar:
            folder, made = run_study(
                plan,
                scorers,
                out,
                **kept,
                command=command_line(),
                progress=bar,
                downloads=Downloads().tell,
            )
    say_work(*scorers)
    say_report(made)
    say_next_steps(folder)
