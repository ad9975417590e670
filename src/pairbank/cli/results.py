"""`pairbank report`, `bank` and `run`: from scored tables to estimates and a bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import pairbank
from pairbank.cli.cluster import ClusterOptions, joined, say_part
from pairbank.cli.display.console import command_line, say_next_steps, say_report, say_work, show, status
from pairbank.cli.display.output import answer, note, say, warn
from pairbank.cli.display.progress import Downloads, bars
from pairbank.cli.loading import Loader
from pairbank.cli.models import chosen_models, chosen_study, say_plan
from pairbank.cli.options import Analyses, DataDir, StudyName, StudyOptions, UnigramFiles, WrongOptions, named_values
from pairbank.cli.publishing import say_what_publishing_lacks
from pairbank.scoring.models.options import LoadOptions

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.scoring.scored import Scored
    from pairbank.stats.report.report import Report
    from pairbank.study.declaration import Study
    from pairbank.study.one_model import Failure
    from pairbank.study.preflight import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    title: Annotated[
        str | None,
        typer.Option(help="Title of the report. [default: the study's, or a question about its models and corpora]"),
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Seed for resampling. [default: the study's, or 0]")] = None
    study: Annotated[str | None, "Study (shipped, or a TOML file) that supplies title, notes and analyses."] = None
    models: Annotated[list[str] | None, "Model list that declares features (family, size …); repeatable."] = None
    analysis: Analyses = None
    set_: Annotated[list[str] | None, "Option of an analysis: NAME.option=value; repeatable."] = None

    def analyses(self, study: Study | None) -> list[str]:
        return list(dict.fromkeys([*(study.analyses if study else ()), *(self.analysis or ())]))

    def check(self) -> None:
        """Refuse options of analyses that say nothing, before a table is opened."""
        from pairbank.study.declaration import load_study

        analysis_options(self.set_, asked=self.analyses(None if self.study is None else load_study(self.study)))

    def of_own_tables(self, files: Sequence[Path]) -> Report | None:
        """Return the report of what `pairbank words --join` or `participants` wrote; None of other files."""
        import pandas as pd

        from pairbank.scoring.word_files import table_of_analysis
        from pairbank.stats.report.report import SEED, alone_report
        from pairbank.study.model_list import all_features, listed

        known: list[tuple[str, pd.DataFrame]] = []
        for file in files:
            if (table := table_of_analysis(file)) is None or table[0] != (known or [table])[0][0]:
                return None
            known.append(table)
        kind = known[0][0]
        rows = pd.concat([table for _, table in known], ignore_index=True)
        features = all_features((), listed(self.models))
        options = analysis_options(self.set_, asked=[kind]).get(kind, {})
        name = files[0].stem if "corpus" not in rows else ", ".join(map(str, rows["corpus"].unique()))
        with status(f"computing {kind}"):
            return alone_report(rows, kind, name=name, seed=self.seed or SEED, options=options, features=features)

    def made(self, files: Sequence[Path], tables: Sequence[Scored], data_dir: Path | None) -> Report:
        """Return the report of some tables; what banks and files beside them add is read too."""
        from pairbank.stats.report.report import N_RESAMPLES, SEED, report
        from pairbank.study.declaration import load_study
        from pairbank.study.model_list import all_features, listed
        from pairbank.study.raters import as_frames, means_only, ratings_in, ratings_in_files, ratings_of, wants_ratings
        from pairbank.study.scored_files import banks_of, features_beside, probes_beside

        study = None if self.study is None else load_study(self.study)
        analyses = self.analyses(study)
        options: dict[str, dict[str, Any]] = {
            name: dict(values) for name, values in (study.options if study else {}).items()
        }
        for name, values in analysis_options(self.set_, asked=analyses).items():
            options.setdefault(name, {}).update(values)
        features = features_beside(files, all_features(study.models if study else (), listed(self.models)))
        corpora = [table.corpus for table in tables]
        probed = probes_beside(files, tables, features)
        ratings: tuple[pd.DataFrame, ...] = ()
        if wants_ratings(analyses) and not options.get("raters", {}).get("ratings"):
            if data_dir is None:
                ratings = as_frames((*ratings_in(banks_of(files), corpora), *ratings_in_files(files)))
            else:
                ratings = as_frames(ratings_of(corpora, data_dir))
        return report(
            tables,
            title=self.title or (study.title if study else ""),
            seed=self.seed if self.seed is not None else study.seed if study else SEED,
            n_resamples=study.n_resamples if study else N_RESAMPLES,
            notes=[text for text in (study.description, *study.notes) if text] if study else (),
            analyses=analyses,
            options=options,
            features=features,
            probed=probed,
            ratings=ratings,
            mean_ratings=means_only(corpora),
        )


def report(
    scored: Annotated[list[Path], "Scored tables, or bank folders; reading times joined with words; participants."],
    *,
    out: Annotated[Path | None, "Folder to write: report.html, report.md, tables and figures."] = None,
    how: ReportOptions,
    data_dir: DataDir = None,
    worst: WrongOptions,
) -> None:
    """Write a report on scored tables: accuracy, agreement, correlation with human judgments, with intervals.

    Example: pairbank report scored.parquet --out report
    Example: pairbank report BANK --analysis comparisons --out report
    Example: pairbank report joined.csv --set reading.time=RT --out report
    """
    from pairbank.cli.display.wrong import say_wrong
    from pairbank.errors import OutputError
    from pairbank.scoring.scored import open_scored
    from pairbank.study.scored_files import scored_files

    if out is not None and (out / "report.md").is_file() and not (out / "summary.csv").is_file():
        raise OutputError(f"{out}/report.md is no report of pairbank, and would be lost; choose another folder")
    if (made := how.of_own_tables(scored)) is not None:
        answer(said=made.overview.answer)
        say(f"{made.title}\n{made.overview.text}")
        if out is not None:
            say(f"\n{made.save(out)}/report.html, and the same as report.md")
        return
    how.check()
    with status("computing estimates"):
        files = scored_files(scored)
        tables = [open_scored(path) for path in files]
        made = how.made(files, tables, data_dir)
    say_report(made)
    say_wrong(tables, worst.wrong, worst.wrong_by)
    if out is not None:
        folder = made.save(out)
        answer(report=folder / "report.md")
        say(f"\n{folder}/report.html, and the same as report.md; tables beside it, {len(made.figures)} in figures/")


def leaderboard(
    scored: Annotated[
        list[Path], "Scored tables, bank folders, or aggregates of Every Eval Ever (.json, .jsonl), without ranks."
    ],
    *,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV file to write.")] = None,
    leave_out: Annotated[
        Path | None,
        typer.Option(help="Text file with items known to be wrong, one per line: item id, pair id or sentence."),
    ] = None,
) -> None:
    """Rank models by each method: accuracy, and the ranks that paired tests leave each model (95%).

    Models that share a rank do not differ (exact McNemar tests, also over paradigms, Holm-corrected).

    Example: pairbank leaderboard imported/*.parquet --out leaderboard.csv
    """
    from pairbank.files import write_text
    from pairbank.scoring.cut import without_items
    from pairbank.scoring.scored import open_scored
    from pairbank.stats.report.leaderboard import leaderboard as ranked
    from pairbank.study.scored_files import scored_files

    summaries = [path for path in scored if path.suffix in (".json", ".jsonl")]
    with status("comparing models"):
        tables = [open_scored(path) for path in scored_files(path for path in scored if path not in summaries)]
        if leave_out is not None:
            lines = [line.strip() for line in leave_out.read_text(encoding="utf-8").splitlines()]
            kept = without_items(tables, [line for line in lines if line])
            for before, after in zip(tables, kept, strict=True):
                say(f"{before.model}: {len(before) - len(after):,} of {len(before):,} items left out")
            tables = kept
        table = ranked(tables, summaries)
    numbers = table.round({"accuracy": 3, "low": 3, "high": 3})
    show(numbers if numbers["note"].any() else numbers.drop(columns="note"), name="leaderboard", whole=["model"])
    if out is not None:
        write_text(out, table.to_csv(index=False, lineterminator="\n"))
        say(str(out))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedOptions:
    licence: Annotated[list[str] | None, "Licence of your own items: CORPUS=cc-by-4.0; repeatable."] = None
    title: Annotated[str, "Title for card, site and citation."] = ""
    author: Annotated[list[str] | None, "Author of the bank; repeatable."] = None
    contact: Annotated[str, "Contact for the card: an e-mail address or a URL."] = ""
    published: Annotated[str, "Date of publication to state, YYYY-MM-DD."] = ""


def bank(
    scored: Annotated[list[Path] | None, "Scored tables; none to change a bank's metadata."] = None,
    *,
    out: Annotated[Path, "Bank folder; an existing bank is extended."],
    stated: StatedOptions,
    models: Annotated[
        list[str] | None, "Model list whose features (family, size …) the bank keeps; repeatable."
    ] = None,
    data_dir: DataDir = None,
    ratings: Annotated[
        list[Path] | None, "Parquet file of individual ratings: item_id, side, rater, value, scale."
    ] = None,
) -> None:
    """Write scored tables as a bank: a Hub-ready dataset folder that load_dataset reads.

    The bank also holds individual ratings: of your own files that have them and, with --data-dir, of shipped corpora.

    Title, authors, contact, licences and features of models can be added later, without scored tables.

    Example: pairbank bank scored.parquet --out my-bank
    Example: pairbank bank --out my-bank --title "Verbs of Zurich German" --author "A. Roe"
    """
    from pairbank.files import read_parquet
    from pairbank.scoring.scored import open_scored
    from pairbank.study.model_list import all_features, listed
    from pairbank.study.raters import as_frames, ratings_in_files, ratings_of
    from pairbank.study.scored_files import scored_files

    with status("writing the bank"):
        files = scored_files(scored or ())
        tables = [open_scored(path) for path in files]
        shipped = ratings_of([table.corpus for table in tables], data_dir) if data_dir is not None else ()
        judged = as_frames([*shipped, *(ratings_in_files(files) if ratings is None else ())])
        folder = pairbank.write_bank(
            out,
            scored=tables,
            ratings=[*judged, *(read_parquet(path).to_pandas() for path in ratings or ())],
            features=all_features((), listed(models)),
            licences=named_values(stated.licence, expected="CORPUS=LICENCE, as in my_pairs=cc-by-4.0"),
            command=command_line(),
            title=stated.title,
            authors=stated.author or (),
            contact=stated.contact,
            published=stated.published,
        )
    say_next_steps(folder)
    say_what_publishing_lacks(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    unigrams: UnigramFiles = None
    minimalness: Annotated[
        str | None,
        typer.Option(
            help="Embedding model for distances between the sides, instead of the study's: a Hub id, a folder, default "
            "(all-MiniLM-L6-v2) or edits (edit distance alone)."
        ),
    ] = None
    analysis: Analyses = None


def run(
    study: StudyName,
    *,
    out: Annotated[Path, "Bank folder; an existing bank is extended."],
    what: StudyOptions,
    how: RunOptions,
    machines: ClusterOptions,
    dry_run: Annotated[bool, "Print the plan and what is stored; score nothing."] = False,
    worst: WrongOptions,
    options: LoadOptions,
) -> None:
    """Run a study end to end: build, score, report, bank. Rerunning resumes.

    Models are loaded one after the other, those of lists with options of their own. One that fails does not stop the
    others: the report says which failed and why, and the exit code is 1. The report is of all models in the bank.

    Example: pairbank run demo --model demo --out demo-bank
    """
    from pairbank.study.declaration import load_study, with_analyses, with_minimalness
    from pairbank.study.preflight import planned

    declared = with_analyses(load_study(study), how.analysis or [])
    if declared.imports:
        of_scoring = ((what, ("model", "models", "corpus", "limit")), (how, ("unigrams",)), (machines, ("part", "ray")))
        if useless := [f"--{name}" for group, names in of_scoring for name in names if getattr(group, name)]:
            raise typer.BadParameter(
                f"{declared.name} imports published results and scores nothing; leave out {', '.join(useless)}"
            )
        _run_imports(declared, out, what.data_dir, dry_run=dry_run)
        return
    declared = chosen_study(declared, what)
    declared = declared if how.minimalness is None else with_minimalness(declared, how.minimalness)
    models = chosen_models(declared, what, options)
    machines.check()
    downloads, unigrams = Downloads().on_progress, how.unigrams or None
    plan = planned(declared, models, out, data_dir=what.data_dir, unigrams=unigrams, downloads=downloads)
    for warning in plan.warnings:
        warn(f"note: {warning}")
    if dry_run:
        say_plan(plan)
        return
    _run(plan, machines, worst)


def _run(plan: Plan, machines: ClusterOptions, worst: WrongOptions) -> None:
    from pairbank.cli.display.wrong import say_wrong
    from pairbank.scoring.score import Joining
    from pairbank.study.run import run_plan
    from pairbank.study.scored_files import score_study_part

    failures: list[Failure] = []

    def failed(failure: Failure) -> None:
        failures.append(failure)
        warn(f"FAILED: {failure}")

    part, joining = machines.chosen_part(), Joining(of=machines.join or 1)
    with Loader(machines.cluster()) as loader, bars(loader.work) as bar:
        if part is not None:
            for done in score_study_part(plan, part, load=loader.load, progress=bar):
                say_part(part, done)
            return
        folder, report = run_plan(
            plan,
            command=command_line(),
            progress=bar,
            load=loader.load if machines.join is None else lambda model: joined(model.id, model.options, joining),
            failed=failed,
            all_or_nothing=machines.join is not None,
        )
    say_work(loader.work)
    say_report(report)
    say_wrong(report.tables, worst.wrong, worst.wrong_by)
    say_next_steps(folder)
    answer(failures=[str(failure) for failure in failures])
    if failures:
        say(f"\n{len(failures)} failed; fix the causes below and rerun the same command, which resumes:")
        for failure in failures:
            say(f"  {failure}")
        raise typer.Exit(1)


def _run_imports(study: Study, out: Path, data_dir: Path | None, *, dry_run: bool) -> None:
    from pairbank.scoring.importing.published import published_files
    from pairbank.study.imports import run_imports

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


def analysis_options(settings: list[str] | None, *, asked: Sequence[str]) -> dict[str, dict[str, str]]:
    options: dict[str, dict[str, str]] = {}
    for setting in settings or ():
        place, equals, value = setting.partition("=")
        name, dot, option = place.partition(".")
        if not (equals and dot):
            raise typer.BadParameter(f"{setting!r}: expected ANALYSIS.option=value, as in comparisons.margin=0.02")
        if name not in asked:
            raise typer.BadParameter(f"{setting!r}: there is no --analysis {name}")
        options.setdefault(name, {})[option] = value
    return options
