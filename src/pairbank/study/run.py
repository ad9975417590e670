"""The run of a study: in, a `Study` and loaded models; out, a bank with its report."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import CorpusFileNotFoundError
from pairbank.study.declaration import CorpusChoice, Study, StudyError

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.methods.linking import UnigramTables
    from pairbank.scoring.score import Progress
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro.probed import Probed
    from pairbank.stats.report.report import Report

Tellers = Callable[[str, str], "Progress | None"]
"""Task and model -> what is told how far it is."""


def run_study(
    study: Study,
    models: Sequence[Scorer],
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    command: str = "",
    progress: Tellers = lambda _task, _model: None,
    downloads: Callable[[DownloadProgress], None] | None = None,
) -> tuple[Path, Report]:
    """Build, score, report and write the bank of a study; return its folder and report.

    Args:
        study: what to do.
        models: the scorers.
        out: folder of the bank; one that is there already is extended.
        data_dir: where upstream files are; None downloads them.
        unigrams: token counts for the methods that need them, one table a tokenizer.
        command: how to run this again, for the card.
        progress: called before each task with what it is (`scoring li`) and the model; gives a callback that is told
            how much of it is done, of how much.
        downloads: told of every piece of a file that is downloaded.
    """
    from pairbank.cards.write import write_bank
    from pairbank.stats.analyses.asked_for import checked_options
    from pairbank.stats.analyses.introspection.model_features import features_from_entries
    from pairbank.stats.analyses.neuro.section import neuro_section
    from pairbank.stats.report.report import report

    features = features_from_entries(study.models)
    for name in (*study.analyses, *study.options):
        checked_options(name, study.options.get(name, {}))
    corpora, missing = _corpora(study, data_dir, downloads)
    scored: list[Scored] = []
    for model in models:
        counts = unigrams if unigrams is not None else _unigrams(study, model, data_dir)
        scored += [_scored(study, items, model, counts, progress) for items in corpora]
    probed = _probed(study, models, corpora, progress)
    options: dict[str, dict[str, Any]] = {name: dict(own) for name, own in study.options.items()}
    if features:
        options.setdefault("introspection", {})["features"] = features
    if probed:
        options.setdefault("languages", {})["probed"] = [one.summary for one in probed]
    made = report(
        scored,
        title=study.title,
        description=study.description,
        seed=study.seed,
        n_resamples=study.n_resamples,
        notes=[note for note in (*study.notes, *missing) if note],
        analyses=study.analyses,
        options=options,
        sections=[neuro_section(probed)] if probed else [],
    )
    folder = write_bank(out, corpora=corpora, scored=scored, reports={study.name: made}, command=command)
    return folder, made


def _scored(
    study: Study,
    items: datasets.Dataset,
    model: Scorer,
    unigrams: UnigramTables | None,
    progress: Tellers,
) -> Scored:
    from pairbank.scoring.score import score

    return score(
        items,
        model,
        methods=study.methods,
        prompts=study.prompts,
        unigrams=unigrams,
        seed=study.seed,
        progress=progress(f"scoring {items['corpus'][0]}", model.info.name),
    )


def _probed(
    study: Study, models: Sequence[Scorer], corpora: Sequence[datasets.Dataset], progress: Tellers
) -> list[Probed]:
    """Return what probes find in each model's hidden states of each corpus, where the study asks for probes."""
    from pairbank.probing import probe

    if not study.probe:
        return []

    def tell(items: datasets.Dataset, model: Scorer) -> Callable[[str, int, int], None]:
        corpus = items["corpus"][0]
        teller = functools.cache(lambda task: progress(f"{task} of {corpus}", model.info.name))
        return lambda task, n_done, n_total: (told := teller(task)) and told(n_done, n_total)

    return [
        probe(
            items,
            model,
            groups=study.probe,
            folds=study.probe_folds,
            precision=study.probe_precision,
            seed=study.seed,
            progress=tell(items, model),
        )
        for model in models
        for items in corpora
    ]


def _corpora(
    study: Study, data_dir: str | Path | None, downloads: Callable[[DownloadProgress], None] | None
) -> tuple[list[datasets.Dataset], list[str]]:
    """Return the corpora of a study, and a note on each optional one that is not to be had."""
    from pairbank.scoring.minimalness import add_minimalness

    found, missing = [], []
    for choice in study.corpora:
        try:
            items = _items(choice, data_dir, downloads)
        except CorpusFileNotFoundError as error:
            if not choice.optional:
                raise
            missing.append(f"Left out: {error}")
            continue
        if study.minimalness:
            items = add_minimalness(items, None if study.minimalness == "default" else study.minimalness)
        found.append(items)
    if not found:
        raise StudyError(f"{study.name}: none of its corpora can be had. {' '.join(missing)}")
    return found, missing


def _items(
    choice: CorpusChoice, data_dir: str | Path | None, downloads: Callable[[DownloadProgress], None] | None
) -> datasets.Dataset:
    from pairbank.builders.load import first_of_each_paradigm, load_corpus

    # What `where` leaves out must not count towards the limit.
    limit = None if choice.where else choice.limit
    items = load_corpus(
        choice.name,
        data_dir=data_dir,
        subset=choice.subset,
        language=choice.language,
        limit=limit,
        progress=downloads,
    )
    for column, value in choice.where.items():
        if column not in items.column_names:
            raise StudyError(f"corpus {choice.name!r} has no column {column!r}; it has {', '.join(items.column_names)}")
        items = items.select([i for i, cell in enumerate(items[column][:]) if cell == value])
    if choice.where and not len(items):
        raise StudyError(f"corpus {choice.name!r} has no item with {dict(choice.where)}")
    if choice.where and choice.limit is not None:
        items = first_of_each_paradigm(items, choice.limit)
    return items


def _unigrams(study: Study, model: Scorer, data_dir: str | Path | None) -> UnigramTables | None:
    """Return counts over the study's own choice of corpora, or None where it names none."""
    from pairbank.builders.load import load_corpus
    from pairbank.scoring.methods.documents import Documents, documents_of_items
    from pairbank.scoring.methods.unigrams import count_unigrams

    if not study.unigrams_from:
        return None
    read = [documents_of_items(load_corpus(name, data_dir=data_dir)) for name in study.unigrams_from]
    texts = [text for part in read for text in part.texts]
    source = {"kind": "items of corpora", "corpora": [part.source for part in read]}
    return [count_unigrams(Documents(texts=texts, source=source), model)]
