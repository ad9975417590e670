"""The corpora of a study: in, its choices; out, their items with the distances that it asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusFileNotFoundError, ModelLoadError
from pairbank.study.declaration import CorpusChoice, Study
from pairbank.study.errors import StudyError

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.sources.downloads import DownloadProgress

DEFAULT, EDITS = "default", "edits"
"""Values of `minimalness` that name no embedding model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenItems:
    """One corpus of a study."""

    choice: CorpusChoice
    items: datasets.Dataset

    @property
    def name(self) -> str:
        """Name of the corpus."""
        return str(self.items["corpus"][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpora:
    """What there is of a study's corpora."""

    found: tuple[ChosenItems, ...]
    missing: tuple[str, ...]
    """A note on each optional one that is not to be had."""


def corpora_of(
    study: Study, data_dir: str | Path | None, downloads: Callable[[DownloadProgress], None] | None
) -> Corpora:
    """Return the items of a study's corpora.

    Raises:
        StudyError: a corpus twice, none that can be had, or a choice that fits no item.
    """
    _refuse_twice([choice.name for choice in study.corpora], study)
    result, missing = [], []
    for choice in study.corpora:
        try:
            result.append(ChosenItems(choice=choice, items=_items(choice, data_dir, downloads)))
        except CorpusFileNotFoundError as error:
            if not choice.optional:
                raise
            missing.append(f"Left out: {error}")
    if not result:
        raise StudyError(f"{study.name}: none of its corpora can be had. {' '.join(missing)}")
    _refuse_twice([entry.name for entry in result], study)
    return Corpora(found=tuple(result), missing=tuple(_without_place(note, data_dir) for note in missing))


def _without_place(note: str, data_dir: str | Path | None) -> str:
    """Return a note for a report, which others read: where a folder lies on this machine is not for them."""
    return note if data_dir is None else note.replace(str(data_dir), Path(data_dir).absolute().name)


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
    own_values = chosen.choice.minimalness
    requested = study.minimalness if own_values is None else own_values
    if not requested:
        return None
    languages = sorted(set(chosen.items["language"][:]))
    by_language = requested if isinstance(requested, Mapping) else dict.fromkeys(languages, requested)
    results = {tag: by_language.get(tag, by_language.get(tag.partition("-")[0], EDITS)) for tag in languages}
    return {tag: model for tag, model in results.items() if model != EDITS}


def with_distances(study: Study, chosen: ChosenItems) -> datasets.Dataset:
    """Return the items of a corpus with the distances between their sides that the study asks for.

    Raises:
        ModelLoadError: an embedding model cannot be had.
    """
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
    current = bool(choice.where) or choice.limit_subsets
    limit = None if current else choice.limit
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
        wanted = value if isinstance(value, tuple | list) else (value,)
        items = items.select([i for i, cell in enumerate(items[column][:]) if cell in wanted])
    if choice.where and not len(items):
        raise StudyError(f"corpus {choice.name!r} has no item with {dict(choice.where)}")
    if current and choice.limit is not None:
        first = first_of_each_subset if choice.limit_subsets else first_of_each_paradigm
        items = first(items, choice.limit)
    return items
