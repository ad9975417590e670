"""The facts of a corpus: `data/corpora/<name>.toml`. A user's corpus has such a file too, with no fact required."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pairbank.builders.corpora.column_map import PATH_FIELD, Keep, TablesTable
from pairbank.builders.corpora.corpus import RATERS, Corpus, Metadata, RatedRows, Rows, judged_items_of, no_metadata
from pairbank.builders.corpora.design import Design
from pairbank.builders.corpora.judgments import RatingRules
from pairbank.builders.schema.columns import DESIGN, Column, ColumnType, Task
from pairbank.builders.sources.readers import data_file
from pairbank.builders.sources.source import Source, SourceFile, bibtex
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError

_STATED: tuple[str, ...] = ("title", "description", "version", "languages", "tasks", "homepage", "revision", "licence")
_STATED += ("redistributable", "cites")
"""What is stated of a corpus that ships."""


class FileFacts(Declaration):
    """One upstream file; the keys of `SourceFile`, the address being `raw`/name unless it is stated."""

    sha256: str
    url: str | None = None
    optional: bool = False
    unpacked: str = ""
    members: str = ""
    by_hand: str = ""


def _hash_alone(facts: Any) -> Any:  # noqa: ANN401 - what TOML gave
    return {"sha256": facts} if isinstance(facts, str) else facts


class ColumnFacts(Declaration):
    type: ColumnType
    nullable: bool = True
    meaning: str


class Facts(Declaration):
    """The table `[corpus]`; the keys are those of `Corpus` and `Source`. In a user's file nothing has to be stated."""

    title: str = ""
    description: str = ""
    version: str = "1.0.0"
    languages: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    items: int | None = None
    """Rows of the whole corpus, unless `[counts]` has those of each subset."""
    subsets: tuple[str, ...] = ()
    n_identical: int = 0
    counted: bool = True
    human: str = ""
    raters: str = ""
    """Which raters are left out of the human judgments: reports state it."""
    folder: str = ""
    homepage: str = ""
    revision: str = ""
    raw: str = ""
    """Address of the folder that holds the files, at the pinned revision."""
    optional: bool = False
    """Whether every file is."""
    licence: str = "unknown"
    licence_note: str = ""
    redistributable: bool = False
    """Default: whether a licence is stated."""
    cites: tuple[str, ...] = ()
    """Keys of `data/references.bib`."""
    citation: str = ""
    """BibTeX, in place of them."""
    embedded: tuple[str, ...] = ()
    name: str = ""
    """Of a user's corpus; default: that of its file or folder."""
    language: str = ""
    """Of all items of a user's corpus that do not state one."""


class CorpusFile(Declaration):
    """A file `data/corpora/<name>.toml`, or what a user's map says beside its column map."""

    corpus: Facts = Facts()
    counts: dict[str, int] = Field(default_factory=dict)
    files: dict[str, Annotated[FileFacts, BeforeValidator(_hash_alone)]] = Field(default_factory=dict)
    subset_files: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    columns: dict[str, ColumnFacts] = Field(default_factory=dict)
    tables: tuple[TablesTable, ...] = ()
    keep: tuple[Keep, ...] = ()
    ratings: RatingRules | None = None
    design: Design | None = None

    @property
    def n_items(self) -> int:
        return sum(self.counts.values()) if self.corpus.items is None else self.corpus.items

    @property
    def extra_columns(self) -> tuple[Column, ...]:
        return tuple(Column(name=name, **dict(entry)) for name, entry in self.columns.items())

    @property
    def language(self) -> str:
        """The language of all items that do not state one; "" where the file does not say it."""
        facts = self.corpus
        return facts.language or (facts.languages[0] if len(facts.languages) == 1 else "")

    def source(self, *, files: bool = True) -> Source:
        facts, known = self.corpus, self.corpus.licence != "unknown"
        unpacked = {kind.archive: PATH_FIELD.sub("*", kind.path) for kind in reversed(self.tables) if kind.archive}
        sources = (
            SourceFile(
                name=name,
                url=(f"{facts.raw}/{name}" if facts.raw else "") if file.url is None else file.url,
                optional=file.optional or facts.optional,
                unpacked=file.unpacked or unpacked.get(name, ""),
                **file.model_dump(include={"sha256", "members", "by_hand"}),
            )
            for name, file in self.files.items()
        )
        return Source(
            homepage=facts.homepage,
            revision=facts.revision,
            files=tuple(sources) if files else (),
            licence=facts.licence,
            licence_note=facts.licence_note,
            citation=facts.citation or (bibtex(*facts.cites, between="\n") if facts.cites else ""),
            redistributable=facts.redistributable if "redistributable" in facts.model_fields_set else known,
        )

    def corpus_of(self, name: str, rows: Rows) -> Corpus:
        facts, design = self.corpus, self.design
        known: dict[str, object] = {RATERS: facts.raters} if facts.raters else {}
        if design is not None:
            known[DESIGN] = design.facts(design.levels, dict(zip(design.columns, design.columns, strict=True)))
        shared = {key: value for key, value in facts if key in Corpus.__dataclass_fields__}
        of_counts = () if [*self.counts] in ([], ["all"]) else tuple(self.counts)
        shared |= {"name": name, "subsets": facts.subsets or of_counts}
        return Corpus(
            **shared,
            n_items=self.n_items,
            source=self.source(),
            n_by_subset=self.counts,
            subset_files=self.subset_files,
            rows=rows,
            extra_columns=self.extra_columns,
            metadata=(lambda _files: known) if known else no_metadata,
        )


def corpus_files() -> list[str]:
    return sorted(path.stem for path in data_file("corpora").glob("*.toml"))


def facts_of(name: str) -> CorpusFile:
    file = CorpusFile.load(data_file(f"corpora/{name}.toml"), error=CorpusError)
    if missing := [key for key in _STATED if key not in file.corpus.model_fields_set]:
        raise CorpusError(f"corpora/{name}.toml, [corpus]: expected {', '.join(missing)}")
    return file


def declared(name: str, rows: Rows, *, metadata: Metadata | None = None) -> Corpus:
    corpus = facts_of(name).corpus_of(name, rows)
    return replace(corpus, metadata=metadata or corpus.metadata)


def declared_with_ratings(name: str, rated: RatedRows) -> Corpus:
    return replace(facts_of(name).corpus_of(name, judged_items_of(rated)), rated=rated)
