"""The run of a study: in, its plan; out, a bank with a report of all that it holds.

A model that fails does not stop the others. What is scored stays in the store, so that the same call continues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import StudyError
from pairbank.scoring.api.model import slug
from pairbank.study.corpora import ChosenItems, with_distances
from pairbank.study.one_model import Failure, Load, Note, OfModel, ProgressOf, loaded, of_model, silent
from pairbank.study.preflight import Plan
from pairbank.study.raters import as_frames, means_only
from pairbank.study.scored_files import tables_with_texts

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.report.report import Report


def run_plan(
    plan: Plan,
    *,
    command: str = "",
    progress: ProgressOf = silent,
    load: Load = loaded,
    failed: Callable[[Failure], None] = lambda _failure: None,
    all_or_nothing: bool = False,
) -> tuple[Path, Report]:
    from pairbank.cards.write import write_bank

    corpora = [ChosenItems(choice=corpus.choice, items=with_distances(plan.study, corpus)) for corpus in plan.corpora]
    measured = replace(plan, corpora=tuple(corpora))
    models: list[OfModel] = []
    for asked in plan.models:
        names = {slug(model.name) for model in models}
        models.append(of_model(asked, measured, load=load, progress=progress, taken=names.__contains__))
        for failure in models[-1].failures:
            failed(failure)
    scored = [table for model in models for table in model.scored]
    failures = [failure for model in models for failure in model.failures]
    if not scored or (all_or_nothing and failures):
        why = " ".join(map(str, failures))
        raise StudyError(f"{plan.study.name}: nothing was {'written' if scored else 'scored'}. {why}")
    corpora_scored = {table.corpus for table in scored}
    others = _others(plan.out, corpora_scored, {(table.corpus, table.model_slug) for table in scored})
    report = _report(measured, models, [*scored, *others], _probed(measured, models, corpora_scored))
    folder = write_bank(
        plan.out,
        corpora=[corpus.items for corpus in corpora if corpus.name in corpora_scored],
        scored=scored,
        ratings=[ratings for corpus, ratings in plan.ratings.items() if corpus in corpora_scored],
        reports={plan.study.name: report},
        probed=[probed for model in models for probed in model.probed],
        features=plan.features,
        command=command,
    )
    return folder, report


def _others(root: Path, corpora: Collection[str], mine: Collection[tuple[str, str]]) -> list[Scored]:
    """Return the tables that a bank holds of other models on the same corpora; those without texts have no report."""
    from pairbank.cards.bank.layout import MANIFEST, scores_path
    from pairbank.scoring.scored import read_scored

    if not (root / MANIFEST).is_file():
        return []
    others = [table for table in tables_with_texts(root) if table[0] in corpora and table not in mine]
    return [read_scored(root / scores_path(*table)) for table in others]


def _probed(plan: Plan, models: Sequence[OfModel], corpora: Collection[str]) -> list[Probed]:
    """Return the probes of this run, and those that the bank holds of other models on its corpora, by size of model."""
    from pairbank.cards.bank.beside_tables import probes_in
    from pairbank.stats.scored_table.model_features import names_by_size

    before = probes_in(plan.out, corpora=corpora) if plan.study.probe else []
    new = [probed for model in models for probed in model.probed]
    probes = {(probed.model, probed.corpus): probed for probed in (*before, *new)}
    names = names_by_size(list(dict.fromkeys(model for model, _ in probes)), plan.features)
    return [probed for name in names for probed in probes.values() if probed.model == name]


def _report(plan: Plan, models: Sequence[OfModel], scored: Sequence[Scored], probed: Sequence[Probed]) -> Report:
    from pairbank.stats.report.report import report

    study = plan.study
    failures = [failure.note for model in models for failure in model.failures]
    left_out = merged_notes({model.name: model.notes for model in models})
    return report(
        scored,
        **study.of_report,
        warnings=failures,
        notes=[note for note in (*study.notes, *plan.notes, *left_out) if note],
        features=plan.features,
        ratings=as_frames(plan.ratings.values()),
        mean_ratings=means_only(choice.name for choice in study.corpora),
        probed=probed,
        responses={model.name: model.responses for model in models if model.responses is not None},
    )


def merged_notes(notes: Mapping[str, Sequence[Note]]) -> list[str]:
    """Return the notes of models; what is to be said of several stands once, with their names.

    >>> no_counts = Note(what="Left out: li", why="no counts.")
    >>> merged_notes({"a": [no_counts], "b": [no_counts, Note(what="Not probed: li", why="too short.")]})
    ['Left out: li by a, b: no counts.', 'Not probed: li by b: too short.']
    """
    models: dict[Note, list[str]] = {}
    for model, left_out in notes.items():
        for note in left_out:
            models.setdefault(note, []).append(model)
    return [f"{note.what} by {', '.join(names)}: {note.why}" for note, names in models.items()]
