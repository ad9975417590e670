"""A study as declared: in, a TOML file and what its user wants otherwise; out, a checked `Study`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge
from pydantic import ConfigDict, TypeAdapter

from pairbank.declarations import STRICT, record_of
from pairbank.errors import StudyError, unknown_name
from pairbank.files import reading
from pairbank.study.model_list import choices_of, declared_features

STUDIES = Path(__file__).parents[1] / "studies"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusChoice:
    """One corpus of a study, and how much of it."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    """Its name in pairbank, or the path of a file of your own."""
    subset: str | None = None
    """Only this subset."""
    language: str | None = None
    """Only this language (BCP-47 tag)."""
    limit: int | None = None
    """At most this many items per paradigm."""
    limit_subsets: bool = False
    """Whether `limit` counts items per subset."""
    where: Mapping[str, str | int | bool | tuple[str, ...]] = field(default_factory=dict)
    """Columns and their values: `where = { language = ["en", "de"] }` keeps items with one of these."""
    optional: bool = False
    """Whether the study runs without it, with a note, if its files are missing."""
    participants: Annotated[int, Ge(0)] = 0
    """Of one corpus: predict the responses of its first N participants, given their sessions. A session has all that
    the participant rated, whatever the limit."""
    minimalness: str | Mapping[str, str] | None = None
    """As for the study, for this corpus alone; "" = no distance."""
    unigrams_from: tuple[str, ...] = ()
    """As for the study, for this corpus alone."""


KEPT = ("minimalness", "unigrams_from", "participants")
"""What is still true of a corpus of which the user chooses another part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramText:
    """A text that models' tokens are counted in, if it is there."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    folder: str
    """Folder within `--data-dir` with .parquet, .jsonl or text files, also in folders of its own."""
    documents: Annotated[int, Ge(1)]
    """At most this many documents, from the first file's start."""
    language: str = "en"
    """Language of the text (BCP-47 tag)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportChoice:
    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    profile: str
    """The source: a profile that pins its files (docs/importing.md)."""
    items: str | None = None
    """The corpus of pairbank that was scored; rows are joined to it by their texts. Default: the source's own texts."""
    language: str | None = None
    """Only this language of that corpus (BCP-47 tag)."""
    optional: bool = False
    """Whether the study runs without it, with a note, if its files are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What `pairbank run` does."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    """Name of the study (default: the file name)."""
    title: str
    """The question that the report answers, its heading."""
    corpora: tuple[CorpusChoice, ...] = ()
    """A `[[corpora]]` table for each corpus; required unless the study has `imports`."""
    methods: tuple[str, ...] = ()
    """Methods by id, as `pairbank methods` lists them; required if there are corpora."""
    imports: tuple[ImportChoice, ...] = ()
    """An `[[imports]]` table for each source of published results. A study of imports alone runs no model."""
    description: str = ""
    """One sentence under the title."""
    analyses: tuple[str, ...] = ()
    """Further analyses of the report, by name."""
    options: Mapping[str, Mapping[str, str | int | float | bool]] = field(default_factory=dict)
    """Options of analyses, by the name of the analysis: `[options.comparisons]`."""
    prompts: tuple[str, ...] = ()
    """Files with your own prompts; `methods` names the prompts."""
    unigrams_from: tuple[str, ...] = ()
    """Corpora whose better sentences are counted for methods that need unigrams, if the command gives no counts. Counts
    are by language; a corpus in a language without counts is not scored with these methods."""
    unigram_text: UnigramText | None = None
    """Text to count instead of `unigrams_from`, if its `folder` is in `--data-dir`: the first `documents` of it, in
    `language`."""
    probe_text: str | None = None
    """File of the sentences that `probe_grammar` learns from, one per line (default: a shipped sample)."""
    minimalness: str | Mapping[str, str] = ""
    """Distance between the sides of an item: an embedding model, `default`, `edits` (edit distance alone), or a table
    with one of these per language. Languages that the table lacks have edit distances alone."""
    probe: tuple[str, ...] = ()
    """Columns by whose values hidden states are probed (`pairbank neuro`); none = no probes."""
    probe_folds: Literal["grouped", "plain"] = "grouped"
    """`grouped`: pairs with a common sentence are in one fold; `plain`: sentences are split at random."""
    probe_cut_stop: bool = False
    """Whether probes read sentences without their final punctuation mark: the last token is then of the last word."""
    probe_standardise: bool = True
    """Whether the states that probes read are standardised."""
    probe_precision: Literal["float32", "float16"] = "float32"
    """Precision of the stored hidden states."""
    models: tuple[Mapping[str, object], ...] = ()
    """`[[models]]` tables, run if the command names no model. One without `id` is not run: it declares features of the
    model of its `name`."""
    seed: Annotated[int, Ge(0)] = 0
    """Of every random draw."""
    n_resamples: Annotated[int, Ge(1)] = 1000
    """Resamples of items, in the analyses that resample."""
    notes: tuple[str, ...] = ()
    """Deviations from a paper and limits, shown in the report."""

    @property
    def of_report(self) -> dict[str, Any]:
        """What `report` is told of a study."""
        return {
            "title": self.title,
            "description": self.description,
            "seed": self.seed,
            "n_resamples": self.n_resamples,
            "analyses": self.analyses,
            "options": self.options,
        }


def study_schema() -> dict[str, Any]:
    schema = TypeAdapter(Study).json_schema()
    required = [key for key in schema["required"] if key != "name"]  # the file's name, where it is not given
    either = [{"required": ["corpora", "methods"]}, {"required": ["imports"]}]
    return schema | {"required": required, "oneOf": either, "$schema": "https://json-schema.org/draft/2020-12/schema"}


def study_names() -> list[str]:
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def load_study(name: str) -> Study:
    """Return a study: a shipped one by name, or a TOML file by path."""
    if not name.endswith(".toml") and name not in study_names():
        raise unknown_name("study", name, study_names())
    path = Path(name) if name.endswith(".toml") else STUDIES / f"{name}.toml"
    if not path.is_file():
        raise StudyError(f"no study file {path}; expected a TOML file, or one of {', '.join(study_names())}")
    with reading(path, StudyError, saying="cannot be read", remedy="save it as UTF-8"):
        text = path.read_text(encoding="utf-8")
    return _parsed(text, path.name, path.stem)


def limited(study: Study, limit: int) -> Study:
    """Return the study with one limit on all its corpora, and a note that says so."""
    note = f"Limited by the user to {limit} {'item' if limit == 1 else 'items'} a paradigm."
    corpora = tuple(replace(choice, limit=limit) for choice in study.corpora)
    description = f"{study.description} Here: at most {limit} of each paradigm.".lstrip()
    return replace(study, corpora=corpora, description=description, notes=(*study.notes, note))


def with_corpora(study: Study, names: Sequence[str]) -> Study:
    """Return the study on other corpora (`NAME` or `NAME:SUBSET`), and a note that says so."""
    declared = {choice.name: choice for choice in study.corpora}
    corpora: list[CorpusChoice] = []
    for name, _, subset in (named.partition(":") for named in names):
        kept = {key: getattr(declared[name], key) for key in KEPT} if name in declared else {}
        corpora.append(CorpusChoice(name=name, subset=subset or None, **kept))
    note = f"Run by the user on {', '.join(names)} instead of {', '.join(choice.name for choice in study.corpora)}."
    description = f"{study.description} Here: on {', '.join(names)}.".lstrip()
    return replace(study, corpora=tuple(corpora), description=description, notes=(*study.notes, note))


def with_minimalness(study: Study, embedder: str) -> Study:
    """Return the study with another embedding model for all its corpora, and a note that says so."""
    corpora = tuple(replace(choice, minimalness=None) for choice in study.corpora)
    note = f"Distances between sentences, chosen by the user: {embedder}."
    return replace(study, corpora=corpora, minimalness=embedder, notes=(*study.notes, note))


def with_analyses(study: Study, names: Sequence[str]) -> Study:
    return replace(study, analyses=tuple(dict.fromkeys([*study.analyses, *names])))


def _parsed(text: str, where: str, name: str) -> Study:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{where}: not TOML ({error})") from error
    if not table.get("corpora") and not table.get("imports"):
        raise StudyError(
            f"{where}: no [[corpora]]; expected at least one, each with a name, or [[imports]] of published results"
        )
    if table.get("corpora") and table.get("imports"):
        raise StudyError(f"{where}: both [[corpora]] and [[imports]]; write two studies, each with a bank of its own")
    if table.get("corpora") and "methods" not in table:
        table = {**table, "methods": None}  # named among the faults
    study = record_of(Study, {"name": name} | table, where=where, error=StudyError)
    if len(asked := [choice.name for choice in study.corpora if choice.participants]) > 1:
        raise StudyError(
            f"{where}: participants of {', '.join(asked)}; expected one corpus whose participants are predicted"
        )
    declared_features(study.models)
    choices_of(study.models, where=where)
    return study
