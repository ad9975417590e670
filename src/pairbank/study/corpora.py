"""The corpora of a study: in, its choices; out, their items with the distances that it asks for, and a model's work.

A model that is not here is planned for by one that is: its tokens, and its shape scaled to the size that is declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import CorpusFileNotFoundError, ModelLoadError, StudyError
from pairbank.study.declaration import CorpusChoice, Study

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.costs import Shape, Work
    from pairbank.scoring.models.load import Kind
    from pairbank.study.model_list import ModelChoice


DEFAULT, EDITS = "default", "edits"
"""Values of `minimalness` that name no embedding model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenItems:
    choice: CorpusChoice
    items: datasets.Dataset

    @property
    def name(self) -> str:
        return str(self.items["corpus"][0])

    @property
    def languages(self) -> set[str]:
        return set(self.items["language"][:])


def corpora_of(
    study: Study, data_dir: str | Path | None, downloads: Callable[[DownloadProgress], None] | None = None
) -> tuple[tuple[ChosenItems, ...], tuple[str, ...]]:
    """Return what there is of a study's corpora, and a note on each optional one that is not to be had."""
    _refuse_twice([choice.name for choice in study.corpora], study)
    corpora, missing = [], []
    for choice in study.corpora:
        try:
            corpora.append(ChosenItems(choice=choice, items=_items(choice, data_dir, downloads)))
        except CorpusFileNotFoundError as error:
            if not choice.optional:
                raise
            missing.append(f"Left out: {error}")
    if not corpora:
        raise StudyError(f"{study.name}: none of its corpora can be had. {' '.join(missing)}")
    _refuse_twice([corpus.name for corpus in corpora], study)
    if data_dir is not None:  # others read the report: where a folder lies on this machine is not for them
        missing = [note.replace(str(data_dir), Path(data_dir).absolute().name) for note in missing]
    return tuple(corpora), tuple(missing)


def _refuse_twice(names: list[str], study: Study) -> None:
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise StudyError(
            f"{study.name}: corpus {twice[0]!r} is listed twice, and a bank holds each once; list it once, without a "
            "subset, or write two studies with a bank each"
        )


def embedding_models(study: Study, chosen: ChosenItems) -> dict[str, str] | None:
    """Return the embedding model of each language of a corpus that has one, or None for no distance at all.

    A corpus's own declaration counts before the study's; `default` is a model, `edits` is none.
    """
    declared = study.minimalness if chosen.choice.minimalness is None else chosen.choice.minimalness
    if not declared:
        return None
    languages = sorted(chosen.languages)
    by_language = declared if isinstance(declared, Mapping) else dict.fromkeys(languages, declared)
    models = {tag: by_language.get(tag, by_language.get(tag.partition("-")[0], EDITS)) for tag in languages}
    return {tag: model for tag, model in models.items() if model != EDITS}


def with_distances(study: Study, chosen: ChosenItems) -> datasets.Dataset:
    """Return the items of a corpus with the distances between their sides that the study asks for."""
    from pairbank.scoring.minimalness import COLUMNS, add_edit_distance, add_minimalness

    models, items = embedding_models(study, chosen), chosen.items
    if models is None:
        return items
    # a corpus may bring edit distances of its own (HLL), which are the same
    items = items.remove_columns([name for name in COLUMNS if name in items.column_names])
    if not models:
        return add_edit_distance(items)
    try:
        return add_minimalness(items, {tag: None if name == DEFAULT else name for tag, name in models.items()})
    except ModelLoadError as error:
        raise ModelLoadError(
            f"{chosen.name}: {error}. To use all-MiniLM-L6-v2, rerun with --minimalness {DEFAULT}; for edit distances "
            f"alone, --minimalness {EDITS}"
        ) from error


def _items(
    choice: CorpusChoice, data_dir: str | Path | None, downloads: Callable[[DownloadProgress], None] | None
) -> datasets.Dataset:
    from pairbank.builders.load import first_of_each_paradigm, first_of_each_subset, load_corpus

    # What `where` leaves out must not count towards the limit.
    is_limited_here = bool(choice.where) or choice.limit_subsets
    items = load_corpus(
        choice.name,
        data_dir=data_dir,
        subset=choice.subset,
        language=choice.language,
        limit=None if is_limited_here else choice.limit,
        progress=downloads,
    )
    for column, value in choice.where.items():
        if column not in items.column_names:
            raise StudyError(f"corpus {choice.name!r} has no column {column!r}; it has {', '.join(items.column_names)}")
        kept = value if isinstance(value, tuple | list) else (value,)
        items = items.select([row for row, cell in enumerate(items[column][:]) if cell in kept])
    if choice.where and not len(items):
        raise StudyError(f"corpus {choice.name!r} has no item with {dict(choice.where)}")
    if is_limited_here and choice.limit is not None:
        first = first_of_each_subset if choice.limit_subsets else first_of_each_paradigm
        items = first(items, choice.limit)
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    shape: Shape
    work: Mapping[str, Work]


def plans_of(
    study: Study,
    choices: Sequence[ModelChoice],
    *,
    dtype: str,
    like: str | None = None,
    kind: Kind | None = None,
    n_items: int | None = None,
    data_dir: str | Path | None = None,
) -> Iterator[Planned]:
    """Yield the shape and the work of each model; `like` and its `kind` stand in for models that are not here."""
    from pairbank.scoring.costs import TokensOnly, scaled, shape_of, work_of

    corpora, _ = corpora_of(study, data_dir)
    counted: dict[tuple[str, Kind], dict[str, Work]] = {}
    for choice in choices:
        stored_as = choice.options.get("quantisation") or dtype
        size = choice.features.size_billions if like is not None and choice.features is not None else None
        own_tokens = choice.options.get("tokenizer") or choice.reference  # of a server's model, by its tokenizer
        name = like if like is not None and size is not None else own_tokens
        shape = shape_of(name, dtype=stored_as)
        if size is not None:
            shape = replace(scaled(shape, size * 1e9), kind=kind or shape.kind)
        if (name, shape.kind) not in counted:
            of_study: dict[str, Any] = {"methods": study.methods, "prompts": study.prompts, "seed": study.seed}
            tokens = TokensOnly(name)
            work = {corpus.name: work_of(corpus.items, tokens, kind=shape.kind, **of_study) for corpus in corpora}
            counted[name, shape.kind] = work if n_items is None else as_many(work, n_items)
        work = counted[name, shape.kind]
        if choice.corpora or choice.languages:
            names = [corpus.name for corpus in corpora if choice.is_for(corpus.name, corpus.languages)]
            work = {name: work[name] for name in names}
        yield Planned(shape=replace(shape, name=choice.name), work=work)


def as_many(work: Mapping[str, Work], n_items: int) -> dict[str, Work]:
    if len(work) != 1:
        raise StudyError(f"{n_items} items of which corpus? There are {', '.join(work)}; name one (--corpus)")
    return {corpus: of_corpus.times(n_items / of_corpus.n_items) for corpus, of_corpus in work.items()}
