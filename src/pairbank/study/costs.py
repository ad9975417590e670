"""What a study asks of models: in, a study and choices of models; out, the work of each corpus, and a model's shape.

A model that is not here is planned for by one that is: its tokens, and its shape scaled to the size that is declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.study.corpora import corpora_of
from pairbank.study.errors import StudyError

if TYPE_CHECKING:
    from pairbank.scoring.costs import Shape, TokensOnly, Work
    from pairbank.scoring.models.load import Kind
    from pairbank.study.declaration import Study
    from pairbank.study.model_list import ModelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What models that are not here are planned by."""

    model: str
    """One that is here."""
    kind: Kind | None = None
    """Of the models that are not here; None = of the stand-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One model, and what is asked of it."""

    shape: Shape
    work: Mapping[str, Work]
    """By corpus."""


def plans_of(
    study: Study,
    choices: Sequence[ModelChoice],
    *,
    dtype: str,
    stand_in: StandIn | None = None,
    n_items: int | None = None,
    data_dir: str | Path | None = None,
) -> Iterator[Planned]:
    """Yield what each model costs.

    Args:
        study: what is to be done.
        choices: the models.
        dtype: of weights, where a choice does not say how they are quantised.
        stand_in: plans for the choices whose size is declared; None = each is planned for by its own files.
        n_items: as if the study's one corpus had so many items, like those that are there.
        data_dir: where upstream files are; None downloads them.

    Raises:
        StudyError: a number of items for several corpora.
    """
    from pairbank.scoring.costs import TokensOnly, scaled, shape_of

    counted: dict[tuple[str, Kind], dict[str, Work]] = {}
    for choice in choices:
        stored_as = choice.options.get("quantisation") or dtype
        size = choice.features.size_billions if stand_in is not None and choice.features is not None else None
        own_values = choice.options.get("tokenizer") or choice.reference  # of a server's model, by its tokenizer
        name = stand_in.model if stand_in is not None and size is not None else own_values
        shape = shape_of(name, dtype=stored_as)
        if stand_in is not None and size is not None:
            shape = replace(scaled(shape, size * 1e9), kind=stand_in.kind or shape.kind)
        if (name, shape.kind) not in counted:
            work = costs_of(study, TokensOnly(name), kind=shape.kind, data_dir=data_dir)
            counted[name, shape.kind] = work if n_items is None else as_many(work, n_items)
        work = counted[name, shape.kind]
        if choice.corpora or choice.languages:
            corpora = corpora_of(study, data_dir, None).found
            kept = [entry.name for entry in corpora if choice.is_for(entry.name, set(entry.items["language"][:]))]
            work = {corpus: work[corpus] for corpus in kept}
        yield Planned(shape=replace(shape, name=choice.name), work=work)


def costs_of(study: Study, tokens: TokensOnly, *, kind: Kind, data_dir: str | Path | None = None) -> dict[str, Work]:
    """Return the work of each corpus of a study, by name.

    Args:
        study: what is to be done.
        tokens: the model's tokenizer.
        kind: of the model.
        data_dir: where upstream files are; None downloads them.
    """
    from pairbank.scoring.costs import work_of

    results: dict[str, Work] = {}
    for entry in corpora_of(study, data_dir, None).found:
        work = work_of(entry.items, tokens, methods=study.methods, prompts=study.prompts, seed=study.seed, kind=kind)
        results[entry.name] = work
    return results


def as_many(work: Mapping[str, Work], n_items: int) -> dict[str, Work]:
    """Return the work of so many items like those of one corpus.

    Raises:
        StudyError: there are several corpora.
    """
    if len(work) != 1:
        raise StudyError(f"{n_items} items of which corpus? There are {', '.join(work)}; name one (--corpus)")
    return {name: entry.times(n_items / entry.n_items) for name, entry in work.items()}
