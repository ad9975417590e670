"""A study as declared: in, a TOML file and what its user wants otherwise; out, a checked `Study`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Literal

from pairbank.errors import unknown_name
from pairbank.files import reading
from pairbank.records import record_of
from pairbank.study.errors import StudyError
from pairbank.study.model_list import choices_of, declared_features


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusChoice:
    """One corpus of a study, and how much of it."""

    name: str
    subset: str | None = None
    language: str | None = None
    limit: int | None = None
    """At most this many items a paradigm."""
    limit_subsets: bool = False
    """Whether the limit is of items a subset: where one subset has a hundred paradigms and another has one."""
    where: Mapping[str, str | int | bool | tuple[str, ...]] = field(default_factory=dict)
    """Columns and the values that the items must have; of a list, one."""
    optional: bool = False
    """Whether the study goes on without it, and says so, where its files cannot be had."""
    minimalness: str | None = None
    """Its own embedding model, in place of the study's; `edits` counts edits alone, and "" measures nothing."""
    unigrams_from: tuple[str, ...] = ()
    """Its own corpora for unigram counts, in place of the study's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What `pairbank run` does."""

    name: str
    title: str
    corpora: tuple[CorpusChoice, ...]
    methods: tuple[str, ...]
    description: str = ""
    analyses: tuple[str, ...] = ()
    """Further analyses of the report, by name."""
    options: Mapping[str, Mapping[str, str | int | float | bool]] = field(default_factory=dict)
    """Options of analyses, by the name of the analysis: `[options.comparisons]`."""
    prompts: tuple[str, ...] = ()
    """Files with prompts of the user's own."""
    unigrams_from: tuple[str, ...] = ()
    """Corpora whose sentences are counted for the methods that need unigrams, where the user gives no counts. Each
    corpus is scored with the counts of its own language, and not at all where there are none."""
    minimalness: str = ""
    """Embedding model for the distance between the sides of an item, or `default`, or `edits` for edits alone."""
    probe: tuple[str, ...] = ()
    """Columns by whose values hidden states are probed (`pairbank.probe`); none = no probes."""
    probe_folds: Literal["grouped", "plain"] = "grouped"
    """Whether pairs with a common sentence stay together, or sentences are parted at random."""
    probe_precision: Literal["float32", "float16"] = "float32"
    """How hidden states are stored."""
    models: tuple[Mapping[str, object], ...] = ()
    """Models with their options and features, run where the user names none (`study.model_list`). One without an
    `id` is not run: features alone are declared of the model that has this name."""
    seed: int = 0
    n_resamples: int = 1000
    notes: tuple[str, ...] = ()
    """Deviations from the paper, printed at the report's head."""


def study_names() -> list[str]:
    """Return the studies that ship with pairbank."""
    folder = resources.files("pairbank") / "studies"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def load_study(name: str) -> Study:
    """Return a study: a shipped one by name, or a TOML file by path.

    Raises:
        UnknownNameError: no such study.
        StudyError: a file that breaks the rules; unknown keys are errors.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise StudyError(f"no study file {path}; expected a TOML file, or one of {', '.join(study_names())}")
        with reading(path, StudyError, saying="cannot be read", remedy="save it as UTF-8"):
            text = path.read_text(encoding="utf-8")
        return _parsed(text, path.name, path.stem)
    if name not in study_names():
        raise unknown_name("study", name, study_names())
    text = (resources.files("pairbank") / "studies" / f"{name}.toml").read_text(encoding="utf-8")
    return _parsed(text, f"{name}.toml", name)


def limited(study: Study, limit: int) -> Study:
    """Return the study with one limit on all its corpora, and a note that says so."""
    note = f"Limited by the user to {limit} {'item' if limit == 1 else 'items'} a paradigm."
    corpora = tuple(replace(choice, limit=limit) for choice in study.corpora)
    here = f"{study.description} Here: at most {limit} of each paradigm.".lstrip()
    return replace(study, corpora=corpora, description=here, notes=(*study.notes, note))


def with_corpora(study: Study, names: Sequence[str]) -> Study:
    """Return the study on other corpora (`NAME` or `NAME:SUBSET`), and a note that says so."""
    known = {choice.name: choice for choice in study.corpora}
    parts = [name.partition(":") for name in names]
    corpora = tuple(_chosen(known.get(name), name, subset or None) for name, _, subset in parts)
    note = f"Run by the user on {', '.join(names)} instead of {', '.join(c.name for c in study.corpora)}."
    here = f"{study.description} Here: on {', '.join(names)}.".lstrip()
    return replace(study, corpora=corpora, description=here, notes=(*study.notes, note))


def with_analyses(study: Study, names: Sequence[str]) -> Study:
    """Return the study with further analyses of its report, behind its own."""
    return replace(study, analyses=tuple(dict.fromkeys([*study.analyses, *names])))


def _chosen(known: CorpusChoice | None, name: str, subset: str | None) -> CorpusChoice:
    """Return a corpus that the user names, with the embedding model and counts that the study has for it."""
    if known is None:
        return CorpusChoice(name=name, subset=subset)
    return CorpusChoice(name=name, subset=subset, minimalness=known.minimalness, unigrams_from=known.unigrams_from)


def _parsed(text: str, where: str, name: str) -> Study:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{where}: not TOML ({error})") from error
    choices = table.pop("corpora", None)
    if not isinstance(choices, list) or not choices:
        raise StudyError(f"{where}: no [[corpora]]; expected at least one, each with a name")
    if odd := [choice for choice in choices if not isinstance(choice, dict)]:
        raise StudyError(f"{where}: corpora holds {odd[0]!r}, expected a table for each: [[corpora]] and name = NAME")
    corpora = [record_of(CorpusChoice, choice, where=f"{where}, corpora", error=StudyError) for choice in choices]
    study = record_of(Study, {"name": name} | table | {"corpora": corpora}, where=where, error=StudyError)
    if study.seed < 0:
        raise StudyError(f"{where}: seed = {study.seed}; expected 0 or a positive whole number")
    declared_features(study.models)
    choices_of(study.models, where=where)
    return study
