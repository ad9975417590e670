"""The facts of a corpus: `data/corpora/<name>.toml` states source, hashes, licence, citation, counts and columns.

A module adds the function that makes its rows, or the file states `[[tables]]` (`corpus_map`). A user's corpus is
described by such a file too, in which no fact is required.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from pairbank.builders.corpora.column_map import Keep, TablesTable
from pairbank.builders.corpora.corpus import RATERS, Corpus, Metadata, RatedRows, Rows, judged_items_of, no_metadata
from pairbank.builders.corpora.design import Design
from pairbank.builders.corpora.judgments import RatingRules
from pairbank.builders.schema.columns import DESIGN, Column, ColumnType, Task
from pairbank.builders.sources.source import Source, SourceFile, bibtex
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError

_FOLDER = resources.files("pairbank.builders") / "data" / "corpora"


class FileFacts(Declaration):
    """One upstream file; the keys of `SourceFile`, the address being `raw`/name unless it is stated."""

    sha256: str
    url: str | None = None
    optional: bool = False
    unpacked: str = ""
    members: str = ""
    by_hand: str = ""


class ColumnFacts(Declaration):
    """One column that the corpus adds to the schema."""

    type: ColumnType
    nullable: bool = True
    meaning: str


class Facts(Declaration):
    """The table `[corpus]`; the keys are those of `Corpus` and `Source`."""

    title: str
    description: str
    version: str
    languages: tuple[str, ...]
    tasks: tuple[Task, ...]
    items: int | None = None
    """Rows of the whole corpus, unless `[counts]` has those of each subset."""
    subsets: tuple[str, ...] = ()
    n_identical: int = 0
    counted: bool = True
    human: str = ""
    raters: str = ""
    """Which raters are left out of the human judgments: reports state it."""
    folder: str = ""
    homepage: str
    revision: str
    raw: str = ""
    """Address of the folder that holds the files, at the pinned revision."""
    optional: bool = False
    """Whether every file is."""
    licence: str
    licence_note: str = ""
    redistributable: bool
    cites: tuple[str, ...]
    """Keys of `data/references.bib`."""
    embedded: tuple[str, ...] = ()


class CorpusFile(Declaration):
    """A file `data/corpora/<name>.toml`."""

    corpus: Facts
    counts: dict[str, int] = Field(default_factory=dict)
    files: dict[str, FileFacts] = Field(default_factory=dict)
    subset_files: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    columns: dict[str, ColumnFacts] = Field(default_factory=dict)
    tables: tuple[TablesTable, ...] = ()
    keep: tuple[Keep, ...] = ()
    ratings: RatingRules | None = None
    design: Design | None = None

    @field_validator("files", mode="before")
    @classmethod
    def _hash_alone(cls, files: Mapping[str, Any]) -> dict[str, Any]:
        """Take a text for the hash of a file that has no other facts."""
        return {name: {"sha256": entry} if isinstance(entry, str) else entry for name, entry in files.items()}

    @property
    def n_items(self) -> int:
        return sum(self.counts.values()) if self.corpus.items is None else self.corpus.items

    @property
    def subsets(self) -> tuple[str, ...]:
        return self.corpus.subsets or (() if [*self.counts] in ([], ["all"]) else tuple(self.counts))

    @property
    def extra_columns(self) -> tuple[Column, ...]:
        return tuple(Column(name=name, **dict(entry)) for name, entry in self.columns.items())

    def source(self, unpacked: Mapping[str, str] | None = None) -> Source:
        facts = self.corpus
        files = tuple(
            SourceFile(
                name=name,
                url=(f"{facts.raw}/{name}" if facts.raw else "") if file.url is None else file.url,
                sha256=file.sha256,
                optional=file.optional or facts.optional,
                unpacked=file.unpacked or (unpacked or {}).get(name, ""),
                members=file.members,
                by_hand=file.by_hand,
            )
            for name, file in self.files.items()
        )
        return Source(
            homepage=facts.homepage,
            revision=facts.revision,
            files=files,
            licence=facts.licence,
            licence_note=facts.licence_note,
            citation=bibtex(*facts.cites, between="\n") if facts.cites else "",
            redistributable=facts.redistributable,
        )

    def corpus_of(self, name: str, rows: Rows) -> Corpus:
        facts, design = self.corpus, self.design
        known: dict[str, object] = {RATERS: facts.raters} if facts.raters else {}
        if design is not None:
            known[DESIGN] = design.facts(design.levels, dict(zip(design.columns, design.columns, strict=True)))
        return Corpus(
            name=name,
            title=facts.title,
            description=facts.description,
            version=facts.version,
            languages=facts.languages,
            tasks=facts.tasks,
            n_items=self.n_items,
            n_identical=facts.n_identical,
            counted=facts.counted,
            human=facts.human,
            folder=facts.folder,
            subsets=self.subsets,
            n_by_subset=self.counts,
            subset_files=self.subset_files,
            embedded=facts.embedded,
            source=self.source(),
            rows=rows,
            extra_columns=self.extra_columns,
            metadata=(lambda _files: known) if known else no_metadata,
        )


class OwnFacts(Facts):
    """The table `[corpus]` of a user's file: as of a shipped corpus, but nothing has to be stated."""

    title: str = ""
    description: str = ""
    version: str = "1.0.0"
    languages: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    homepage: str = ""
    revision: str = ""
    licence: str = "unknown"
    redistributable: bool = False
    """Default: whether a licence is stated."""
    cites: tuple[str, ...] = ()
    name: str = ""
    """Of the corpus; default: that of its file or folder."""
    language: str = ""
    """Of all items that do not state one."""
    citation: str = ""
    """BibTeX."""

    def own_source(self) -> Source:
        known = self.licence != "unknown"
        note = "" if known else "A file of your own: state its licence before you publish it."
        return Source(
            homepage=self.homepage,
            revision=self.revision,
            files=(),
            licence=self.licence,
            licence_note=self.licence_note or note,
            citation=self.citation or (bibtex(*self.cites, between="\n") if self.cites else ""),
            redistributable=self.redistributable if "redistributable" in self.model_fields_set else known,
        )


class OwnFile(CorpusFile):
    """What a user's map says beside its column map."""

    corpus: OwnFacts = OwnFacts()

    @property
    def language(self) -> str:
        """The language of all items that do not state one; "" where the file does not say it."""
        facts = self.corpus
        return facts.language or (facts.languages[0] if len(facts.languages) == 1 else "")


def corpus_files() -> list[str]:
    return sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))


def facts_of(name: str) -> CorpusFile:
    with resources.as_file(_FOLDER / f"{name}.toml") as path:
        return CorpusFile.load(Path(path), error=CorpusError)


def declared(name: str, rows: Rows, *, metadata: Metadata | None = None) -> Corpus:
    corpus = facts_of(name).corpus_of(name, rows)
    return replace(corpus, metadata=metadata or corpus.metadata)


def declared_with_ratings(name: str, rated: RatedRows) -> Corpus:
    return replace(facts_of(name).corpus_of(name, judged_items_of(rated)), rated=rated)
