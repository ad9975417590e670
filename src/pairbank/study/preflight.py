"""Everything about a run that can be known before anything is scored: in, a study, models and a folder; out, a `Plan`.

What would end the run is an error here, before the first model is loaded. `pairbank run --dry-run` prints the plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import ModelLoadError, StudyError, unknown_name
from pairbank.scoring.api.model import Scorer, slug
from pairbank.scoring.api.names import MethodName
from pairbank.study.corpora import EDITS, ChosenItems, corpora_of, embedding_models
from pairbank.study.counts import Counts, counts_for, counts_note
from pairbank.study.declaration import Study
from pairbank.study.model_list import ModelChoice, all_features, refuse_twins
from pairbank.study.raters import People, people_of, ratings_of_items

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.api.method import Method
    from pairbank.scoring.methods.unigrams import UnigramTables
    from pairbank.stats.scored_table.model_features import ModelFeatures


Asked = Scorer | ModelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    study: Study
    out: Path
    models: tuple[Asked, ...]
    corpora: tuple[ChosenItems, ...]
    counts: Counts
    features: Mapping[str, ModelFeatures]
    """Declared by the user or by the bank, by model name."""
    notes: tuple[str, ...]
    """What the report's head must say: corpora that are missing, columns that are not there to probe by."""
    warnings: tuple[str, ...]
    """What its user should know: texts that may not be published."""
    stored: Mapping[str, Sequence[str]]
    """Corpus -> slugs of the models whose scores the bank has."""
    ratings: Mapping[str, datasets.Dataset] = field(default_factory=dict)
    """Corpus -> individual ratings of the items: the bank gets it, and analyses that read it."""
    people: People | None = None
    """Whose responses are predicted."""


def name_of(model: Asked) -> str:
    return model.name if isinstance(model, ModelChoice) else model.info.name


def scored_by(model: Asked, corpora: Sequence[ChosenItems]) -> list[ChosenItems]:
    """Return the corpora of a run that a model is scored on: all, unless its list says which, or in which languages."""
    if not isinstance(model, ModelChoice):
        return [*corpora]
    return [corpus for corpus in corpora if model.is_for(corpus.name, corpus.languages)]


def planned(
    study: Study,
    models: Sequence[Asked],
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    downloads: Callable[[DownloadProgress], None] | None = None,
) -> Plan:
    from pairbank.cards.bank.layout import MANIFEST
    from pairbank.cards.bank.writing import is_unfinished
    from pairbank.cards.check import check_bank
    from pairbank.stats.analyses.registry import checked_options

    _check_names(study, models)
    root = Path(out)
    check_folder(root)
    methods = _methods(study)
    for name in (*study.analyses, *study.options):
        checked_options(name, study.options.get(name, {}))
    corpora, missing = corpora_of(study, data_dir, downloads)
    _check_scopes(study, models, corpora)
    _check_embedders(study, corpora)
    has_bank = (root / MANIFEST).is_file() and not is_unfinished(root)
    bank = check_bank(root, depth="quick", reports="free") if has_bank else {"corpora": {}, "scores": {}}
    declared = all_features(study.models, [model for model in models if isinstance(model, ModelChoice)])
    _check_bank(bank, corpora, methods, mine={slug(name_of(model)) for model in models})
    counts = counts_for(study, corpora, unigrams, data_dir)
    unprobed = [
        f"Not probed: {corpus.name}, which has no column {lacking[0]} to probe by."
        for corpus in corpora
        if (lacking := [column for column in study.probe if column not in corpus.items.column_names])
    ]
    return Plan(
        study=study,
        out=root,
        models=tuple(models),
        corpora=corpora,
        counts=counts,
        features=_features(root, bank, declared),
        notes=(*missing, *unprobed, *counts_note(study, counts)),
        warnings=(*_locked(corpora), *_unfitting(study, corpora)),
        stored={corpus: sorted(signatures) for corpus, signatures in bank["scores"].items()},
        ratings=ratings_of_items(corpora, data_dir, bank=root, progress=downloads),
        people=people_of(corpora, data_dir),
    )


def _check_names(study: Study, models: Sequence[Asked]) -> None:
    from pairbank.cards.write import REPORT_NAME

    if not REPORT_NAME.fullmatch(study.name):
        raise StudyError(
            f"study {study.name[:80]!r} cannot name the folder of its report; use letters, digits, '.', '_' and '-', "
            "starting with a letter or digit"
        )
    if not models:
        raise StudyError(f"{study.name}: no model to run it with; name one with --model, or a list with --models")
    choices = [model for model in models if isinstance(model, ModelChoice)]
    if problems := [f"{model.id}: {problem}" for model in choices if (problem := model.problem())]:
        raise StudyError(
            f"{study.name}: {len(problems)} of {len(models)} models cannot be loaded. {' '.join(problems)}"
        )
    refuse_twins([name_of(model) for model in models], where=study.name)


def _check_scopes(study: Study, models: Sequence[Asked], corpora: Sequence[ChosenItems]) -> None:
    """Refuse names of corpora in a model list that nobody knows, and lists that leave out every corpus."""
    from pairbank.builders.corpora.registry import CORPORA

    choices = [model for model in models if isinstance(model, ModelChoice)]
    names = [corpus.name for corpus in corpora]
    for model in choices:
        if unknown := [name for name in model.corpora if name not in names and name not in CORPORA]:
            raise unknown_name(f"corpus (of model {model.name!r})", unknown[0], [*names, *CORPORA])
    if not any(scored_by(model, corpora) for model in models):
        raise StudyError(
            f"{study.name}: its corpora ({', '.join(names)}) are none that the model list names (corpora, languages); "
            "choose others with --corpus, or change the list"
        )


def check_folder(root: Path) -> None:
    """Refuse a folder that holds something else than a bank, or that cannot be written to."""
    from pairbank.cards.bank.writing import refuse_other_folders

    refuse_other_folders(root)
    parent = next(folder for folder in (root, *root.absolute().parents) if os.path.lexists(folder))
    if not parent.is_dir():
        raise StudyError(f"{root}: {parent} is no folder, so that no bank can be written there; choose another folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise StudyError(f"{root}: {parent} is not yours to write to; choose another folder")


def _methods(study: Study) -> list[Method]:
    from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, in_order, method_named
    from pairbank.scoring.prompts.registry import prompts_of

    if not study.methods:
        raise StudyError(f'{study.name}: no methods; expected at least one, such as methods = ["direct"]')
    known = prompts_of(study.prompts, asked=[MethodName.parsed(x).id for x in study.methods if x not in FAMILIES])
    options = MethodOptions(prompts=known, seed=study.seed, probe_text=study.probe_text)
    return [method_named(name, options=options) for name in in_order(study.methods, known)]


def _check_embedders(study: Study, corpora: Sequence[ChosenItems]) -> None:
    from importlib.util import find_spec

    if any(embedding_models(study, corpus) for corpus in corpora) and find_spec("sentence_transformers") is None:
        raise ModelLoadError(
            f"{study.name} asks for distances between sentences, which need the package sentence-transformers; pip "
            f"install 'pairbank[embeddings]', or count edits alone: --minimalness {EDITS} (in a study: minimalness = "
            f'"{EDITS}")'
        )


def _check_bank(
    bank: Mapping[str, Any], corpora: Sequence[ChosenItems], methods: Sequence[Method], *, mine: set[str]
) -> None:
    """Refuse a bank whose other models were scored with other methods, or on other items, than this run's."""
    from pairbank.builders.dataset import manifest_of
    from pairbank.scoring.signature import corpus_signature, method_hashes

    names = [method.name for method in methods]
    # those that draw examples from the items have a hash that is known when they are scored
    fixed = [method for method in methods if not MethodName.parsed(method.name).n_shots]
    ours = {method.name: method.definition["sha256"] for method in fixed}
    for corpus in corpora:
        signatures = bank["scores"].get(corpus.name, {})
        others = {model: signature for model, signature in signatures.items() if model not in mine}
        if not others:
            continue
        items = corpus_signature(corpus.items, manifest_of(corpus.items) or {})["items_sha256"]
        for model, signature in others.items():
            theirs = method_hashes(signature)
            if sorted(theirs) != sorted(names) or any(theirs[name] != ours.get(name, theirs[name]) for name in names):
                description = f"scored with {', '.join(theirs)}, and this run scores with {', '.join(names)}"
            elif signature["corpus"]["items_sha256"] != items:
                n_items = signature["corpus"]["n_items"]
                description = f"scored on other items ({n_items:,}) than those of this run ({len(corpus.items):,})"
            else:
                continue
            raise StudyError(
                f"corpus {corpus.name!r}: the bank has {model}, {description}; models of one bank are scored alike: "
                "choose another folder with --out, or run with the same study and limit"
            )


def _features(root: Path, bank: Mapping[str, Any], declared: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures]:
    """Return what the bank and this run declare of models together; a contradiction is refused."""
    from pairbank.cards.bank.beside_tables import contradictions, declared_in, united

    before = declared_in(bank)
    if different := list(contradictions(before, declared)):
        raise StudyError(
            f"{root} and this run declare different features: {'; '.join(different)}. Declare the same, or change "
            f"those of the bank first: pairbank bank --out {root} --models LIST"
        )
    return united(declared, before)


def _unfitting(study: Study, corpora: Sequence[ChosenItems]) -> Iterator[str]:
    """Yield which methods apply to no item of a corpus, and why: its tables will have no such rows."""
    from pairbank.scoring.applicability import why_not_asked

    for corpus in corpora:
        if reasons := why_not_asked(corpus.items, study.methods, prompts=study.prompts):
            first, reason = next(iter(reasons.items()))
            yield f"{corpus.name} is not asked by {', '.join(reasons)}: {first} applies to no item of it, {reason}"


def _locked(corpora: Sequence[ChosenItems]) -> Iterator[str]:
    from pairbank.builders.dataset import manifest_of
    from pairbank.cards.bank.redistribution import licence_of, may_publish

    for corpus in corpora:
        facts = manifest_of(corpus.items) or {}
        if not may_publish(corpus.name, facts):
            yield (
                f"texts of {corpus.name} may not be published (licence: {licence_of(corpus.name, facts)}); the bank "
                "will hold them, and `pairbank strip` makes a copy that can be published"
            )
