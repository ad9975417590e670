"""`pairbank report`, `bank` and `run`, and `score --revisions`: from scored tables to estimates, curves and a bank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairbank.cli.cluster import (
    GpusPerWorker,
    Join,
    PartOption,
    Ray,
    ThreadsPerWorker,
    Workers,
    cluster_of,
    joined,
    part_of,
    refuse_join_with,
    say_part,
)
from pairbank.cli.display.console import (
    Downloads,
    bars,
    command_line,
    quiet_bars,
    say_next_steps,
    say_report,
    say_work,
    status,
    work_of,
)
from pairbank.cli.display.output import answer, note, say, warn
from pairbank.cli.models import Loader, chosen_models, say_plan
from pairbank.cli.options import (
    Corpora,
    DataDir,
    Limit,
    ModelLists,
    Models,
    UnigramFiles,
    Wrong,
    WrongBy,
    analysis_options,
    licences,
    studies_named,
    takes_model_options,
)
from pairbank.cli.publishing import say_what_publishing_lacks
from pairbank.scoring.models.options import LoadOptions, name_at

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.run.units import Part
    from pairbank.study.declaration import Study
    from pairbank.study.model_list import ModelChoice
    from pairbank.study.one_model import ProgressOf
    from pairbank.study.preflight import Plan


def report(
    scored: Annotated[list[Path], typer.Argument(help="Scored tables, or bank folders.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write: report.html, report.md, tables and figures.")
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            help="Title of the report. [default: the study's, or a question about its models and corpora]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed for resampling. [default: the study's, or 0]", show_default=False)
    ] = None,
    study: Annotated[
        str | None, typer.Option(help="Study (shipped, or a TOML file) that supplies title, notes and analyses.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option(help="Model list that declares features (family, size …); repeatable.")
    ] = None,
    analysis: Annotated[
        list[str] | None, typer.Option(help="Additional analysis (listed in docs/analyses.md); repeatable.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", help="Option of an analysis: NAME.option=value; repeatable.")
    ] = None,
    data_dir: DataDir = None,
    wrong: Wrong = None,
    wrong_by: WrongBy = None,
) -> None:
    """Write a report on scored tables: accuracy, agreement, correlation with human judgments, with intervals.

    Example: pairbank report scored.parquet --out report
    Example: pairbank report BANK --analysis comparisons --out report
    """
    import pairbank
    from pairbank.cli.display.wrong import say_wrong
    from pairbank.errors import OutputError
    from pairbank.scoring.scored import open_scored
    from pairbank.stats.analyses.neuro import neuro_section
    from pairbank.stats.report.report import N_RESAMPLES, SEED
    from pairbank.study.declaration import load_study
    from pairbank.study.model_list import all_features, load_list
    from pairbank.study.raters import as_frames, means_only, ratings_beside, ratings_of, wants_ratings
    from pairbank.study.scored_files import features_beside, probes_beside, scored_files

    if out is not None and (out / "report.md").is_file() and not (out / "summary.csv").is_file():
        raise OutputError(f"{out}/report.md is no report of pairbank, and would be lost; choose another folder")
    plan = None if study is None else load_study(study)
    requested = list(dict.fromkeys([*(plan.analyses if plan else ()), *(analysis or ())]))
    chosen: dict[str, dict[str, Any]] = {
        name: dict(own_values) for name, own_values in (plan.options if plan else {}).items()
    }
    for name, own in analysis_options(options, asked=requested).items():
        chosen.setdefault(name, {}).update(own)
    declared = all_features(
        plan.models if plan else (), [member for name in models or () for member in load_list(name)]
    )
    with quiet_bars(), status("computing estimates"):
        files = scored_files(scored)
        tables = [open_scored(path) for path in files]
        names = [table.corpus for table in tables]
        features = features_beside(files, declared)
        probed = probes_beside(files, tables, features)
        ratings: tuple[pd.DataFrame, ...] = ()
        if wants_ratings(requested) and not chosen.get("raters", {}).get("ratings"):
            held = ratings_beside(files, names) if data_dir is None else ratings_of(names, data_dir)
            ratings = as_frames(held)
        written = pairbank.report(
            tables,
            title=title or (plan.title if plan else ""),
            seed=seed if seed is not None else plan.seed if plan else SEED,
            n_resamples=plan.n_resamples if plan else N_RESAMPLES,
            notes=[text for text in (plan.description, *plan.notes) if text] if plan else (),
            analyses=requested,
            options=chosen,
            sections=[neuro_section(probed)] if probed else [],
            features=features,
            probed=[entry.summary for entry in probed],
            ratings=ratings,
            mean_ratings=means_only(names),
        )
    say_report(written)
    say_wrong(tables, wrong, wrong_by)
    if out is not None:
        folder = written.save(out)
        answer(report=folder / "report.md")
        say(f"\n{folder}/report.html, and the same as report.md; tables beside it, {len(written.figures)} in figures/")


def bank(
    out: Annotated[Path, typer.Option(help="Bank folder; an existing bank is extended.")],
    scored: Annotated[
        list[Path] | None, typer.Argument(help="Scored tables; none to change a bank's metadata.")
    ] = None,
    licence: Annotated[
        list[str] | None, typer.Option(help="Licence of your own items: CORPUS=cc-by-4.0; repeatable.")
    ] = None,
    title: Annotated[str, typer.Option(help="Title for card, site and citation.")] = "",
    author: Annotated[list[str] | None, typer.Option(help="Author of the bank; repeatable.")] = None,
    contact: Annotated[str, typer.Option(help="Contact for the card: an e-mail address or a URL.")] = "",
    published: Annotated[str, typer.Option(help="Date of publication to state, YYYY-MM-DD.")] = "",
    models: Annotated[
        list[str] | None,
        typer.Option(help="Model list whose features (family, size …) the bank keeps; repeatable."),
    ] = None,
    data_dir: DataDir = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(help="Parquet file of individual ratings: item_id, side, rater, value, scale."),
    ] = None,
) -> None:
    """Write scored tables as a bank: a Hub-ready dataset folder that load_dataset reads.

    The bank also holds individual ratings: of your own files that have them and, with --data-dir, of shipped corpora.

    Title, authors, contact, licences and features of models can be added later, without scored tables.

    Example: pairbank bank scored.parquet --out my-bank
    Example: pairbank bank --out my-bank --title "Verbs of Zurich German" --author "A. Roe"
    """
    import pairbank
    from pairbank.files import read_parquet
    from pairbank.scoring.scored import open_scored
    from pairbank.study.model_list import all_features, load_list
    from pairbank.study.raters import as_frames, ratings_in_files, ratings_of
    from pairbank.study.scored_files import scored_files

    with quiet_bars(), status("writing the bank"):
        files = scored_files(scored or ())
        tables = [open_scored(path) for path in files]
        shipped = ratings_of([table.corpus for table in tables], data_dir) if data_dir is not None else ()
        judged = as_frames([*shipped, *(ratings_in_files(files) if ratings is None else ())])
        folder = pairbank.write_bank(
            out,
            scored=tables,
            ratings=[*judged, *(read_parquet(path).to_pandas() for path in ratings or ())],
            features=all_features((), [entry for name in models or () for entry in load_list(name)]),
            licences=licences(licence),
            command=command_line(),
            title=title,
            authors=author or (),
            contact=contact,
            published=published,
        )
    say_next_steps(folder)
    say_what_publishing_lacks(folder)


@takes_model_options
def run(
    study: Annotated[
        str, typer.Argument(help="A shipped study, or the path of a TOML file.", autocompletion=studies_named)
    ],
    out: Annotated[Path, typer.Option(help="Bank folder; an existing bank is extended.")],
    model: Models = None,
    models: ModelLists = None,
    data_dir: DataDir = None,
    corpus: Corpora = None,
    limit: Limit = None,
    unigrams: UnigramFiles = None,
    minimalness: Annotated[
        str | None,
        typer.Option(
            help="Embedding model for distances between the sides, instead of the study's: a Hub id, a folder, default "
            "(all-MiniLM-L6-v2) or edits (edit distance alone).",
            show_default=False,
        ),
    ] = None,
    analysis: Annotated[
        list[str] | None,
        typer.Option(help="Additional analysis for the report, such as comparisons; repeatable."),
    ] = None,
    part: PartOption = None,
    join: Join = None,
    ray: Ray = None,
    workers: Workers = 1,
    gpus_per_worker: GpusPerWorker = 0.0,
    threads_per_worker: ThreadsPerWorker = 1,
    dry_run: Annotated[  # noqa: FBT002
        bool, typer.Option("--dry-run", help="Print the plan and what is stored; score nothing.")
    ] = False,
    wrong: Wrong = None,
    wrong_by: WrongBy = None,
    *,
    options: LoadOptions,
) -> None:
    """Run a study end to end: build, score, report, bank. Rerunning resumes.

    Models are loaded one after the other, those of lists with options of their own. One that fails does not stop the
    others: the report says which failed and why, and the exit code is 1. The report is of all models in the bank.

    Example: pairbank run demo --model demo --out demo-bank
    """
    from pairbank.cli.display.wrong import say_wrong
    from pairbank.scoring.score import Joining
    from pairbank.study.declaration import limited, load_study, with_analyses, with_corpora, with_minimalness
    from pairbank.study.one_model import Failure
    from pairbank.study.preflight import planned
    from pairbank.study.run import carried_out

    requested = with_analyses(load_study(study), analysis or [])
    if requested.imports:
        texts = {"--model": model, "--models": models, "--corpus": corpus, "--limit": limit, "--unigrams": unigrams}
        _refuse(texts | {"--part": part, "--ray": ray}, requested)
        _run_imports(requested, out, data_dir, dry_run=dry_run)
        return
    requested = with_corpora(requested, corpus) if corpus else requested
    requested = requested if limit is None else limited(requested, limit)
    requested = requested if minimalness is None else with_minimalness(requested, minimalness)
    chosen, of_run = chosen_models(requested, model or [], models or [], options), part_of(part)
    cluster = cluster_of(
        ray=ray, workers=workers, gpus_per_worker=gpus_per_worker, threads_per_worker=threads_per_worker
    )
    refuse_join_with(join, part=part, ray=ray)
    failures: list[Failure] = []

    def failed(failure: Failure) -> None:
        failures.append(failure)
        warn(f"FAILED: {failure}")

    joining = Joining(of=join or 1)

    def load_joined(choice: ModelChoice) -> Scorer:
        return joined(choice.id, choice.options, joining)

    with quiet_bars():
        notify = Downloads().on_progress
        plan = planned(requested, chosen, out, data_dir=data_dir, unigrams=unigrams or None, downloads=notify)
        for warning in plan.warnings:
            warn(f"note: {warning}")
        if dry_run:
            say_plan(plan)
            return
        with Loader(cluster=cluster) as loader, bars(loader.work) as bar:
            if of_run is not None:
                _score_part(plan, of_run, loader, bar)
                return
            load = loader.load if join is None else load_joined
            folder, written = carried_out(
                plan, command=command_line(), progress=bar, load=load, failed=failed, all_or_nothing=join is not None
            )
    say_work(loader.work)
    say_report(written)
    say_wrong(written.tables, wrong, wrong_by)
    say_next_steps(folder)
    answer(failures=[str(failure) for failure in failures])
    if failures:
        say(f"\n{len(failures)} failed; fix the causes below and rerun the same command, which resumes:")
        for failure in failures:
            say(f"  {failure}")
        raise typer.Exit(1)


def _refuse(options: Mapping[str, object], study: Study) -> None:
    """Refuse options that mean nothing where no model is run."""
    if useless := [name for name, value in options.items() if value]:
        raise typer.BadParameter(
            f"{study.name} imports published results and scores nothing; leave out {', '.join(useless)}"
        )


def _run_imports(study: Study, out: Path, data_dir: Path | None, *, dry_run: bool) -> None:
    """Import a study's published results; write the bank with its report."""
    from pairbank.scoring.importing.published import published_files
    from pairbank.study.run import run_imports

    with quiet_bars():
        notify = Downloads().on_progress
        if dry_run:
            for choice in study.imports:
                files = published_files(choice.profile, data_dir, progress=notify)
                text = files.note(choice.profile) or f"{choice.profile}: {files.n_pinned:,} files, as published"
                answer(planned=[{"source": choice.profile, "files": files.n_pinned, "others": files.others}])
                say(text)
            return
        folder, written = run_imports(
            study,
            out,
            data_dir=data_dir,
            command=command_line(),
            progress=notify,
            begun=lambda source: note(f"{study.name}: {source}"),
        )
    say_report(written)
    say_next_steps(folder)


def _score_part(plan: Plan, part: Part, loader: Loader, bar: ProgressOf) -> None:
    """Score a part of a run with each model, one loaded after the other."""
    from pairbank.study.scored_files import score_study_part

    n_before = 0
    for choice in plan.models:
        done = score_study_part(plan, choice, part, load=loader.load, progress=bar, n_before=n_before)
        n_before += done.n_units_of_all
        say_part(part, done)


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
    items: datasets.Dataset,
    places: Sequence[tuple[str, LoadOptions]],
    out: Path,
    asked: Mapping[str, Any],
    *,
    load: Callable[..., Scorer],
) -> None:
    """Score items with one checkpoint after the other, a file each; say the results of all, with their curves."""
    import pairbank
    from pairbank.stats.analyses.trajectories import LEAST_CHECKPOINTS

    tables = []
    for place, options in places:
        scorer = load(place, **options)
        with bars(work_of(scorer)) as bar:
            notify = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
            scored = pairbank.score(items, scorer, progress=notify, **asked)
        path = scored.save(out / f"{scored.model_slug}.parquet")
        answer(scored=[{"out": path, "model": scored.model, "n_items": len(scored), "methods": scored.methods}])
        say(f"{path}: {len(scored):,} items with {', '.join(scored.methods)}")
        tables.append(scored)
    requested = ["trajectories"] if len(tables) >= LEAST_CHECKPOINTS else []
    say_report(pairbank.report(tables, analyses=requested))
