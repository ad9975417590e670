"""Your own items: a CSV, TSV, JSON, parquet or .xlsx file. Two columns of sentences are enough.

Columns are found by name (`good`/`bad` and their common synonyms, or a map that the user gives). A file with
exactly two columns of other names is read as better, worse, unless something speaks against it. A file of any other
layout is read by a `ColumnMap`. Columns that mean nothing to the schema are kept as text columns of the corpus. How it
was read stands in the manifest, and is said.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.cells import (
    MOST_POINTS,
    check_characters,
    foreign_letters,
    has_comma,
    label_in,
    mark_before,
    number_in,
)
from pairbank.builders.corpora.column_map import ColumnMap
from pairbank.builders.corpora.column_roles import MAPPABLE, SYNONYMS, Roles, roles_of
from pairbank.builders.corpora.column_use import not_used
from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.corpora.mapped_table import LABEL, MappedTable, kept_names
from pairbank.builders.corpora.marks import SIDES, MarkedRowError, MarkedRows
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.corpora.tabular_items import (
    DEFAULT_LANGUAGE,
    RATINGS,
    STRIPPED,
    BadRows,
    TabularOptions,
    TextIds,
    check_options,
    tabular_item,
)
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.schema.language_tags import language_name, language_tag
from pairbank.builders.sources.source import LocatedFile, Source
from pairbank.builders.sources.table_format import MENDED, NOTHING_SAID
from pairbank.builders.sources.tables import ROWS_A_BATCH, ROWS_LOOKED_AT, SUFFIXES, Table, open_table
from pairbank.errors import CorpusError, CorpusFileNotFoundError, unknown_name
from pairbank.files import reading, sha256_of_file

__all__ = [
    "MAPPABLE",
    "MOST_POINTS",
    "ROWS_A_BATCH",
    "SUFFIXES",
    "SYNONYMS",
    "TabularOptions",
    "number_in",
    "tabular_item",
]

MOST_LETTERS = 5
READING = "reading"
"""Among the facts of the manifest: how the file was read, a sentence a fact."""
_LONGEST_NAME = 100


def is_tabular(name: str) -> bool:
    """Return whether a corpus name is in fact a path to a user's file."""
    return Path(name).suffix.lower() in SUFFIXES


def tabular_corpus(path: Path, options: TabularOptions) -> tuple[Corpus, LocatedFile]:
    """Return a corpus for a user's file, and the file.

    Raises:
        CorpusFileNotFoundError: there is no such file.
        UnknownNameError: a column map or language that does not exist.
        CorpusError: a file that cannot be read, has a shipped corpus's name, or whose better and worse columns cannot
            be told without doubt.
    """
    with reading(path, CorpusError):
        if not path.is_file():
            raise CorpusFileNotFoundError(f"no file {path}; expected a {', '.join(SUFFIXES)} file with your items")
    own = OwnFile.opened(path, options)
    columns = own.roles.columns
    corpus = Corpus(
        name=own.slug,
        title=path.name,
        description=f"Items of the user's file {path.name}.",
        version="2.0.0",
        languages=(own.language,),
        tasks=("sentence_pair",),
        n_items=0,
        human=_human(columns),
        subsets=(),
        rows=own.rows,
        extra_columns=own.extra_columns(),
        metadata=lambda _files: {READING: own.said()},
        source=Source(
            homepage="",
            revision="",
            files=(),
            licence="unknown",
            citation="",
            redistributable=False,
            licence_note="A file of your own: state its licence before you publish it.",
        ),
    )
    with reading(path, CorpusError):
        digest = sha256_of_file(path)
    return corpus, LocatedFile(path=path, name=path.name, sha256=digest, verified=True)


def _human(columns: Mapping[str, str]) -> str:
    """Return which columns hold people's judgments.

    >>> _human({"human_good": "Mittel gut", "human_bad": "Mittel schlecht"}), _human({})
    ("columns 'Mittel gut' (of the better side), 'Mittel schlecht' (of the worse side)", '')
    """
    sides = zip(RATINGS, ("better", "worse"), strict=True)
    found = [f"{columns[name]!r} (of the {side} side)" for name, side in sides if name in columns]
    return f"column{'s' if len(found) > 1 else ''} {', '.join(found)}" if found else ""


def own_name(path: Path) -> str:
    """Return the name of a corpus of the user's own, from its file's name.

    Raises:
        CorpusError: a corpus of this name ships with pairbank, under whose licence the file would then be published.
    """
    slug = re.sub(r"\W+", "_", path.stem).strip("_")[:_LONGEST_NAME] or "items"
    shipped = next((name for name in CORPORA if _folded(name) == _folded(slug)), None)
    if shipped is not None:
        raise CorpusError(
            f"{path}: a corpus {shipped!r} ships with pairbank, and a file of your own by this name would be taken for "
            f"it; rename the file, as my_{path.name}, or say {shipped} for the corpus itself"
        )
    return slug


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


@dataclass(kw_only=True)
class _Met:
    """What was met in the rows of a file, of what has to be said."""

    n_rows: int = 0
    n_blank: int = 0
    n_without_language: int = 0
    n_commas: int = 0
    n_stripped: int = 0
    n_turned: int = 0
    """Rows whose marks exchanged the sides."""
    n_lost: int = 0
    tags: dict[str, str] = field(default_factory=dict)
    """Language tag as the file has it -> in its standard form."""
    n_foreign: int = 0
    """Rows without a language whose sentences have letters that English lacks."""
    foreign: set[str] = field(default_factory=set)
    nested: set[str] = field(default_factory=set)
    """Columns of lists or objects, which are kept as JSON."""


@dataclass(kw_only=True)
class OwnFile:
    """A user's file, its columns understood, and what is to be said of its reading."""

    table: Table
    mapped: MappedTable | None
    """Its columns, where a map says them."""
    slug: str
    language: str
    roles: Roles
    kept: Mapping[str, str]
    """The file's column -> its name in the corpus, where the schema has no place for it."""
    options: TabularOptions
    unused: str = ""
    """What is to be said of columns that were not used."""
    met: _Met | None = None
    """None before the rows were read."""

    @classmethod
    def opened(cls, path: Path, options: TabularOptions) -> OwnFile:
        """Open a file, read its header and first rows, and tell its columns; errors as for `tabular_corpus`."""
        slug = own_name(path)
        check_options(options)
        column_map = options.map
        how = NOTHING_SAID if column_map is None else column_map.format
        table = open_table(
            path, encoding=options.encoding, how=replace(how, header=options.header) if options.header else how
        )
        options = replace(options, decimal_commas=table.delimiter not in ("", ","))
        language = language_tag(DEFAULT_LANGUAGE if options.language is None else options.language)
        if column_map is not None:
            mapped = MappedTable.of(table, with_options(column_map, options))
            roles = Roles(columns={name: name for name in mapped.columns}, said="columns as the map says")
            if options.marks == "decide" and "target_bad" not in roles.columns:
                raise CorpusError(f"{path}: marks cannot decide between sides of single sentences; type --marks strip")
            kept = {name: name for name in mapped.kept_columns}
            options = replace(options, fixed={})  # the map has them now
            return cls(
                table=table, mapped=mapped, slug=slug, language=language, roles=roles, kept=kept, options=options
            )
        first = list(itertools.islice(table.rows(bad_row=lambda _error: None), ROWS_LOOKED_AT))
        if not first:
            next(table.rows(), None)
            raise CorpusError(f"{path}: no rows; expected a header and at least one row")
        rows = [row for _, row in first]
        roles = roles_of(path, table.columns, rows, options.columns)
        if both := [name for name in options.fixed if name in roles.columns]:
            raise CorpusError(
                f"{path}: {both[0]} is column {roles.columns[both[0]]!r}, and fixed to "
                f"{options.fixed[both[0]]!r} (--fixed); leave one out, or rename the column"
            )
        return cls(
            table=table,
            mapped=None,
            slug=slug,
            language=language,
            roles=roles,
            kept=kept_names([name for name in table.columns if name not in roles.columns.values()]),
            options=options,
            unused=not_used(table.columns, rows, {**options.fixed, **roles.columns}),
        )

    def extra_columns(self) -> tuple[Column, ...]:
        """Return the corpus's own columns."""
        kept = (
            Column(name=name, type="string", nullable=True, meaning="a column of your file")
            for name in self.kept.values()
        )
        label = Column(name=LABEL, type="int32", nullable=False, meaning="1 = acceptable, 0 = not, as the map says")
        return (*kept, *((label,) if self.mapped is not None and self.mapped.is_labelled else ()))

    def rows(self, _files: Mapping[str, LocatedFile], build: BuildOptions) -> Iterator[Item]:
        """Yield the items; every row that cannot be accepted is in one error at the end."""
        bad, met, subsets = BadRows(self.table.path), _Met(), set[str]()
        marked = MarkedRows(
            path=self.table.path,
            mapping=self.roles.columns,
            treatment=self.options.marks,
            by_map=self.mapped is not None,
        )

        def blank(_number: int) -> None:
            met.n_blank += 1

        ids = TextIds(corpus=self.slug)
        for line, row in (self.mapped or self.table).rows(bad.note, blank):
            try:
                item = self._item(row, ids, f"{self.table.path}, row {line}")
            except MarkedRowError as error:
                marked.rows.append((line, error.found))
                continue
            except CorpusError as error:
                bad.note(error)
                continue
            self._meet(row, item, met)
            subsets.add(item.subset)
            if wanted(item.subset, build):
                yield item
        if (fault := marked.fault(n_taken_off=met.n_stripped)) is not None:
            bad.note(fault, n_rows=len(marked.rows))
        bad.raise_if_any()
        if build.subset is not None and build.subset not in subsets:
            raise unknown_name(f"subset of {self.table.path.name}", build.subset, subsets)
        self.met = met

    def _item(self, row: Mapping[str, Any], ids: TextIds, where: str) -> Item:
        check_characters(row, where)
        columns, kept = self.roles.columns, self.kept.items()
        item = tabular_item(row, ids, where, mapping=columns, kept=kept, options=self.options)
        extra = item.extra
        if self.mapped is not None and self.mapped.is_labelled:
            extra = {**extra, LABEL: row[LABEL]}
        return replace(item, extra=extra, flags=(*item.flags, *row.get(MENDED, ())))

    def _meet(self, row: Mapping[str, Any], item: Item, met: _Met) -> None:
        """Note what of an accepted row has to be said."""
        columns = self.roles.columns
        met.n_rows += 1
        met.n_stripped += STRIPPED in item.flags
        met.n_turned += self.options.marks == "decide" and self._is_turned(row)
        met.n_commas += any(has_comma(str(row.get(columns.get(name, ""), ""))) for name in RATINGS)
        met.n_lost += any(isinstance(cell, str) and "\ufffd" in cell for cell in row.values())
        met.nested |= {name for name in self.kept if isinstance(row.get(name), list | Mapping)}
        if tag := label_in(row.get(columns.get("language", "")), "", ""):
            met.tags[tag] = item.language
        else:
            met.n_without_language += 1
            letters = foreign_letters(item.target_good)
            met.n_foreign += bool(letters)
            met.foreign |= letters

    def _is_turned(self, row: Mapping[str, Any]) -> bool:
        return bool(mark_before(str(row.get(self.roles.columns["target_good"]) or "")))

    def _sides(self, met: _Met) -> str:
        """Return which column was taken as which side."""
        if self.options.marks != "decide":
            return self.roles.said
        good, bad = (self.roles.columns[name] for name in SIDES)
        counts = f"{good!r} in {met.n_rows - met.n_turned:,}, {bad!r} in {met.n_turned:,}"
        return f"better = column without a mark in its row ({counts}), worse = column with one"

    def said(self) -> list[str]:
        """Return how the file was read, a sentence a fact; where its rows were not read yet, they are."""
        if self.met is None:
            for _ in self.rows({}, BuildOptions()):
                pass
        met = self.met or _Met()
        unused = [self.unused] if self.unused else []
        return [
            self._sides(met),
            f"{met.n_rows:,} rows",
            *self._languages(met),
            *self.table.notes,
            *_oddities(met),
            *unused,
        ]

    def _languages(self, met: _Met) -> Iterator[str]:
        stated = self.options.language
        if met.n_without_language and stated is None:
            yield f"language {self.language} ({language_name(self.language)}), the default: --language says another"
            if met.n_foreign * 5 >= met.n_rows:
                some = ", ".join(sorted(met.foreign)[:MOST_LETTERS])
                yield f"yet {met.n_foreign:,} of {met.n_rows:,} rows have letters that English lacks ({some})"
        elif met.n_without_language:
            read = "" if stated == self.language else f", from {stated!r}"
            yield f"language {self.language} ({language_name(self.language)}{read})"
        changed = [f"{given!r} as {tag}" for given, tag in met.tags.items() if given != tag]
        if changed:
            yield f"language tags read: {', '.join(changed)}"


def with_options(column_map: ColumnMap, options: TabularOptions) -> ColumnMap:
    """Return a map with what its user types beside it, which goes before what it says."""
    for name in options.columns:
        if name not in MAPPABLE:
            raise unknown_name("schema column", name, MAPPABLE)
    typed = {"language": options.language, "task": options.task}
    kept = {name: value for name, value in column_map.fixed.items() if typed.get(name) is None}
    columns = {name: column for name, column in column_map.columns.items() if name not in options.fixed}
    return replace(column_map, columns={**columns, **options.columns}, fixed={**kept, **options.fixed})


def _oddities(met: _Met) -> Iterator[str]:
    if met.n_blank:
        yield f"{met.n_blank:,} blank row(s) left out"
    if met.n_commas:
        yield f"decimal commas in {met.n_commas:,} row(s): 6,4 is 6.4"
    if met.n_stripped:
        yield f"linguists' marks taken off in {met.n_stripped:,} row(s), which are flagged {STRIPPED!r}"
    if met.nested:
        yield f"lists or objects kept as JSON in {', '.join(map(repr, sorted(met.nested)))}"
    if met.n_lost:
        yield f"U+FFFD in {met.n_lost:,} row(s): a character was lost before, when the file was converted"
