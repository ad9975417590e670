"""The run of a study: in, a `Study` and models, or its `[[imports]]`; out, a bank with a report of all that it holds.

Models are loaded one after the other and let go. One that fails does not stop the others: the report's head says which
and why. What is scored stays in the store, so that the same call continues.

Every source of published results is read from the files that its profile pins (`pairbank.scoring.importing.published`).
All tables of a corpus get the items and methods of any of them, empty where a system has no number, so that they stand
in one bank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusFileNotFoundError, StudyError
from pairbank.scoring.api.model import slug
from pairbank.study.corpora import ChosenItems, with_distances
from pairbank.study.declaration import ImportChoice, Study
from pairbank.study.one_model import Failure, Load, OfModel, ProgressOf, loaded, of_model
from pairbank.study.preflight import Plan
from pairbank.study.raters import as_frames, means_only

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.importing.published import PublishedFiles
    from pairbank.scoring.importing.scores import Imports
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.report.report import Report


def carried_out(
    plan: Plan,
    *,
    command: str = "",
    progress: ProgressOf = lambda _task, _model: None,
    load: Load = loaded,
    failed: Callable[[Failure], None] = lambda _failure: None,
    all_or_nothing: bool = False,
) -> tuple[Path, Report]:
    """Do what a plan says; return the bank's folder and the report."""
    from pairbank.cards.write import write_bank

    corpora = [ChosenItems(choice=chosen.choice, items=with_distances(plan.study, chosen)) for chosen in plan.corpora]
    measured = replace(plan, corpora=tuple(corpora))
    done = _of_models(measured, load=load, progress=progress, failed=failed)
    scored = [table for one in done for table in one.scored]
    if not scored or (all_or_nothing and any(value.failures for value in done)):
        why = " ".join(str(failure) for member in done for failure in member.failures)
        raise StudyError(f"{plan.study.name}: nothing was {'written' if scored else 'scored'}. {why}")
    used = {table.corpus for table in scored}
    others = _others(plan.out, used, {(table.corpus, table.model_slug) for table in scored})
    probed = _probed(measured, done, used)
    of_bank = _report(measured, done, [*scored, *others], probed)
    items = [entry.items for entry in corpora if entry.name in used]
    judged = [ratings for name, ratings in plan.ratings.items() if name in used]
    folder = write_bank(
        plan.out,
        corpora=items,
        scored=scored,
        ratings=judged,
        reports={plan.study.name: of_bank},
        probed=[element for model in done for element in model.probed],
        features=plan.features,
        command=command,
    )
    return folder, of_bank


def _of_models(plan: Plan, *, load: Load, progress: ProgressOf, failed: Callable[[Failure], None]) -> list[OfModel]:
    """Return what each model gave, one loaded after the other."""
    done: list[OfModel] = []
    for requested in plan.models:
        names = {slug(member.name) for member in done}
        entry = of_model(requested, plan, load=load, progress=progress, taken=names.__contains__)
        for failure in entry.failures:
            failed(failure)
        done.append(entry)
    return done


def _others(root: Path, corpora: Collection[str], mine: Collection[tuple[str, str]]) -> list[Scored]:
    """Return the tables that a bank holds of other models on the same corpora; those without texts have no report."""
    from pairbank.cards.bank.layout import MANIFEST, read_manifest, scores_path, tables
    from pairbank.cards.bank.redistribution import is_left_out
    from pairbank.scoring.scored import read_scored

    if not (root / MANIFEST).is_file():
        return []
    manifest = read_manifest(root)
    return [
        read_scored(root / scores_path(corpus, model))
        for corpus, model in tables(manifest)
        if corpus in corpora and (corpus, model) not in mine and not is_left_out(manifest["corpora"][corpus])
    ]


def _probed(plan: Plan, done: Sequence[OfModel], corpora: Collection[str]) -> list[Probed]:
    """Return the probes of this run, and those that the bank holds of other models on its corpora, by size of model."""
    from pairbank.cards.bank.beside_tables import probes_in
    from pairbank.stats.report.cautions import names_by_size

    result = (
        {(value.corpus, value.model): value for value in probes_in(plan.out, corpora=corpora)}
        if plan.study.probe
        else {}
    )
    result |= {(member.corpus, member.model): member for model in done for member in model.probed}
    names = names_by_size(list(dict.fromkeys(model for _, model in result)), plan.features)
    return [entry for name in names for (_, model), entry in result.items() if model == name]


def _report(plan: Plan, done: Sequence[OfModel], scored: Sequence[Scored], probed: Sequence[Probed]) -> Report:
    """Return the report of all tables; its head says what failed and what was left out."""
    from pairbank.stats.analyses.neuro import neuro_section
    from pairbank.stats.report.report import report

    study = plan.study
    failures = [failure.note for model in done for failure in model.failures]
    left_out = merged_notes({model.name: model.notes for model in done})
    return report(
        scored,
        title=study.title,
        description=study.description,
        seed=study.seed,
        n_resamples=study.n_resamples,
        warnings=failures,
        notes=[note for note in (*study.notes, *plan.notes, *left_out) if note],
        analyses=study.analyses,
        options=study.options,
        sections=[neuro_section(probed)] if probed else [],
        features=plan.features,
        ratings=as_frames(plan.ratings.values()),
        mean_ratings=means_only(choice.name for choice in study.corpora),
        probed=[entry.summary for entry in probed],
    )


def merged_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the notes of models; what is to be said of several stands once, with their names.

    >>> merged_notes({"a": ["Left out: li by a: no counts."], "b": ["Left out: li by b: no counts.", "Other."]})
    ['Left out: li by a, b: no counts.', 'Other.']
    """
    place = " by \0:"
    models: dict[str, list[str]] = {}
    for model, text in notes.items():
        for note in text:
            models.setdefault(note.replace(f" by {model}:", place, 1), []).append(model)
    return [note.replace(place, f" by {', '.join(names)}:") for note, names in models.items()]


@dataclass(slots=True)
class Published:
    """What the sources of a study hold."""

    tables: list[Scored] = field(default_factory=list)
    ratings: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Corpus -> people's individual ratings."""
    notes: list[str] = field(default_factory=list)


def imported(
    study: Study,
    *,
    data_dir: str | Path | None = None,
    progress: Callable[[DownloadProgress], None] | None = None,
    begun: Callable[[str], None] = lambda _source: None,
) -> Published:
    """Return the tables and ratings of a study's sources."""
    from pairbank.scoring.cut import filled_alike
    from pairbank.scoring.importing.published import published_files
    from pairbank.scoring.importing.scores import import_logs

    names = [choice.profile for choice in study.imports]
    if twice := [name for name in names if names.count(name) > 1]:
        raise StudyError(f"{study.name}: {twice[0]!r} is imported twice; list it once")
    result = Published()
    for choice in study.imports:
        begun(choice.profile)
        try:
            files = published_files(choice.profile, data_dir, progress=progress)
            items = _items(choice, data_dir, progress)
        except CorpusFileNotFoundError as error:
            if not choice.optional:
                raise
            result.notes.append(f"Left out: {error}")
            continue
        read = import_logs(files.paths, choice.profile, items=items)
        _refuse_again(study, choice, read.tables, result.tables)
        result.tables += read.tables
        result.ratings |= {**read.ratings, **_ratings(choice, data_dir, progress)}
        result.notes += _notes(choice, files, read)
    if not result.tables:
        raise StudyError(f"{study.name}: none of its sources can be had. {' '.join(result.notes)}")
    result.tables = filled_alike(result.tables)
    return result


def run_imports(
    study: Study,
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    command: str = "",
    progress: Callable[[DownloadProgress], None] | None = None,
    begun: Callable[[str], None] = lambda _source: None,
) -> tuple[Path, Report]:
    """Import a study's sources; return the bank's folder and the report."""
    from pairbank.cards.write import write_bank
    from pairbank.stats.analyses.registry import checked_options
    from pairbank.stats.report.report import report
    from pairbank.study.model_list import declared_features
    from pairbank.study.preflight import check_folder
    from pairbank.study.raters import means_only

    check_folder(Path(out))
    for name in (*study.analyses, *study.options):
        checked_options(name, study.options.get(name, {}))
    result = imported(study, data_dir=data_dir, progress=progress, begun=begun)
    features = declared_features(study.models)
    begun("the report")
    published = report(
        result.tables,
        title=study.title,
        description=study.description,
        seed=study.seed,
        n_resamples=study.n_resamples,
        notes=[*study.notes, *result.notes],
        analyses=study.analyses,
        options=study.options,
        features=features,
        ratings=tuple(result.ratings.values()),
        mean_ratings=means_only(choice.items for choice in study.imports if choice.items),
    )
    begun("the bank")
    folder = write_bank(
        out,
        scored=result.tables,
        ratings=list(result.ratings.values()),
        reports={study.name: published},
        features=features,
        command=command,
    )
    return folder, published


def _items(
    choice: ImportChoice, data_dir: str | Path | None, progress: Callable[[DownloadProgress], None] | None
) -> datasets.Dataset | None:
    """Return the corpus that was scored, from the folder, from `corpora` beside it, or downloaded."""
    if choice.items is None:
        return None
    from pairbank.builders.load import load_corpus

    for place in _places(data_dir):
        try:
            return load_corpus(choice.items, data_dir=place, language=choice.language, progress=progress)
        except CorpusFileNotFoundError:
            continue
    return load_corpus(choice.items, language=choice.language, progress=progress)


def _ratings(
    choice: ImportChoice, data_dir: str | Path | None, progress: Callable[[DownloadProgress], None] | None
) -> dict[str, pd.DataFrame]:
    """Return the individual ratings of the corpus that was scored, where it has any."""
    if choice.items is None:
        return {}
    from pairbank.study.raters import as_frames, ratings_of

    for place in (*_places(data_dir), *(() if data_dir else (None,))):
        if result := ratings_of([choice.items], place, progress=progress):
            return {choice.items: as_frames(result)[0]}
    return {}


def _places(data_dir: str | Path | None) -> tuple[Path, ...]:
    if data_dir is None:
        return ()
    places = (Path(data_dir), Path(data_dir).absolute().parent / "corpora")
    return tuple(place for place in places if place.is_dir())


def _refuse_again(study: Study, choice: ImportChoice, new: list[Scored], before: list[Scored]) -> None:
    known = {(table.corpus, table.model_slug) for table in before}
    if twice := [table for table in new if (table.corpus, table.model_slug) in known]:
        raise StudyError(
            f"{study.name}: {choice.profile} has {twice[0].model} on {twice[0].corpus}, and an earlier source has it "
            "too; leave one of the sources out"
        )


def _notes(choice: ImportChoice, files: PublishedFiles, read: Imports) -> list[str]:
    """Return what the report says of a source: copies that are not the published files, and rows left out."""
    note = files.note(choice.profile)
    n_rows = sum(entry.n for entry in read.left_out)
    left_out = f"{choice.profile}: {n_rows:,} rows were not imported (`pairbank import` lists them)."
    wrong = [str(member) for member in read.stated if not member.is_same]
    return [*([note] if note else []), *([left_out] if n_rows else []), *wrong]
