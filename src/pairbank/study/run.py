"""The run of a study: in, a `Study` and models; out, a bank with a report of all models that it holds.

Models are loaded one after the other and let go. One that fails does not stop the others: the report's head says which
and why. What is scored stays in the store, so that the same call continues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.scoring.api.model import slug
from pairbank.study.corpora import ChosenItems, with_distances
from pairbank.study.errors import StudyError
from pairbank.study.one_model import Failure, Load, OfModel, Tellers, loaded, of_model
from pairbank.study.preflight import Plan
from pairbank.study.raters import as_frames, means_only

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.report.report import Report


def carried_out(
    plan: Plan,
    *,
    command: str = "",
    progress: Tellers = lambda _task, _model: None,
    load: Load = loaded,
    failed: Callable[[Failure], None] = lambda _failure: None,
    all_or_nothing: bool = False,
) -> tuple[Path, Report]:
    """Do what a plan says; return the bank's folder and the report.

    Args:
        plan: the run (`pairbank.study.preflight`).
        command: how to run this again, for the card.
        progress: called before each task with what it is (`scoring li`) and the model; gives a callback that is
            told how much of it is done, of how much.
        load: loads a model.
        failed: told of each model that could not be loaded, or not be scored on a corpus, when it happens.
        all_or_nothing: write nothing where one of them failed.

    Raises:
        StudyError: nothing could be scored, or something could not and nothing less than all is wanted.
    """
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


def _of_models(plan: Plan, *, load: Load, progress: Tellers, failed: Callable[[Failure], None]) -> list[OfModel]:
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
    from pairbank.cards.bank.probes import probes_in
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

    Args:
        notes: By model; one that names it says `by MODEL:`.

    >>> merged_notes({"a": ["Left out: li by a: no counts."], "b": ["Left out: li by b: no counts.", "Other."]})
    ['Left out: li by a, b: no counts.', 'Other.']
    """
    place = " by \0:"
    models: dict[str, list[str]] = {}
    for model, text in notes.items():
        for note in text:
            models.setdefault(note.replace(f" by {model}:", place, 1), []).append(model)
    return [note.replace(place, f" by {', '.join(names)}:") for note, names in models.items()]
