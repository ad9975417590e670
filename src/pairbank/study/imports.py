"""The published results that a study imports: in, its `[[imports]]`; out, a bank with a report of all that it holds.

Every source is read from the files that its profile pins (`pairbank.scoring.importing.published`). All tables of a
corpus get the items and methods of any of them, empty where a system has no number, so that they stand in one bank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusFileNotFoundError, StudyError
from pairbank.study.declaration import ImportChoice, Study
from pairbank.study.model_list import declared_features

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.importing.published import PublishedFiles
    from pairbank.scoring.importing.scores import Imports
    from pairbank.scoring.scored import Scored
    from pairbank.stats.report.report import Report


@dataclass(slots=True)
class Sources:
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
) -> Sources:
    from pairbank.scoring.cut import filled_alike
    from pairbank.scoring.importing.published import published_files
    from pairbank.scoring.importing.scores import import_logs

    names = [choice.profile for choice in study.imports]
    if twice := [name for name in names if names.count(name) > 1]:
        raise StudyError(f"{study.name}: {twice[0]!r} is imported twice; list it once")
    sources = Sources()
    for choice in study.imports:
        begun(choice.profile)
        try:
            files = published_files(choice.profile, data_dir, progress=progress)
            items = _items(choice, data_dir, progress)
        except CorpusFileNotFoundError as error:
            if not choice.optional:
                raise
            sources.notes.append(f"Left out: {error}")
            continue
        read = import_logs(files.paths, choice.profile, items=items)
        before = {(table.corpus, table.model_slug) for table in sources.tables}
        if again := [table for table in read.tables if (table.corpus, table.model_slug) in before]:
            raise StudyError(
                f"{study.name}: {choice.profile} has {again[0].model} on {again[0].corpus}, and an earlier source has "
                "it too; leave one of the sources out"
            )
        sources.tables += read.tables
        sources.ratings |= {**read.ratings, **_ratings(choice, data_dir, progress)}
        sources.notes += _notes(choice, files, read)
    if not sources.tables:
        raise StudyError(f"{study.name}: none of its sources can be had. {' '.join(sources.notes)}")
    sources.tables = filled_alike(sources.tables)
    return sources


def run_imports(
    study: Study,
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    command: str = "",
    progress: Callable[[DownloadProgress], None] | None = None,
    begun: Callable[[str], None] = lambda _source: None,
) -> tuple[Path, Report]:
    from pairbank.cards.write import write_bank
    from pairbank.stats.analyses.registry import checked_options
    from pairbank.stats.report.report import report
    from pairbank.study.preflight import check_folder
    from pairbank.study.raters import means_only

    check_folder(Path(out))
    for name in (*study.analyses, *study.options):
        checked_options(name, study.options.get(name, {}))
    sources = imported(study, data_dir=data_dir, progress=progress, begun=begun)
    features = declared_features(study.models)
    begun("the report")
    published = report(
        sources.tables,
        **study.of_report,
        notes=[*study.notes, *sources.notes],
        features=features,
        ratings=tuple(sources.ratings.values()),
        mean_ratings=means_only(choice.items for choice in study.imports if choice.items),
    )
    begun("the bank")
    folder = write_bank(
        out,
        scored=sources.tables,
        ratings=list(sources.ratings.values()),
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

    for folder in _folders(data_dir):
        try:
            return load_corpus(choice.items, data_dir=folder, language=choice.language, progress=progress)
        except CorpusFileNotFoundError:
            continue
    return load_corpus(choice.items, language=choice.language, progress=progress)


def _ratings(
    choice: ImportChoice, data_dir: str | Path | None, progress: Callable[[DownloadProgress], None] | None
) -> dict[str, pd.DataFrame]:
    if choice.items is None:
        return {}
    from pairbank.study.raters import as_frames, ratings_of

    for folder in (*_folders(data_dir), *(() if data_dir else (None,))):
        if ratings := ratings_of([choice.items], folder, progress=progress):
            return {choice.items: as_frames(ratings)[0]}
    return {}


def _folders(data_dir: str | Path | None) -> tuple[Path, ...]:
    if data_dir is None:
        return ()
    folders = (Path(data_dir), Path(data_dir).absolute().parent / "corpora")
    return tuple(folder for folder in folders if folder.is_dir())


def _notes(choice: ImportChoice, files: PublishedFiles, read: Imports) -> list[str]:
    """Return what the report says of a source: copies that are not the published files, and rows left out."""
    note = files.note(choice.profile)
    n_rows = sum(left_out.n for left_out in read.left_out)
    not_imported = f"{choice.profile}: {n_rows:,} rows were not imported (`pairbank import` lists them)."
    different = [str(stated) for stated in read.stated if not stated.is_same]
    return [*([note] if note else []), *([not_imported] if n_rows else []), *different]
