"""Your own items: a table (two columns of sentences are enough), a folder of tables, or a TOML file that describes it.

Every table is read by a `ColumnMap`. A TOML file says it; else it is told from the names of the columns (`good`/`bad`
and their common synonyms, or options), and a table with exactly two columns of other names is better, worse, unless
something speaks against it. Columns that mean nothing to the schema are kept as text columns of the corpus. How the
tables were read is stored in the manifest, and logged.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pairbank.builders.corpora.cells import (
    MOST_POINTS,
    SIDES,
    MarkedRowError,
    MarkedRows,
    check_characters,
    foreign_letters,
    has_comma,
    label_in,
    mark_before,
    number_in,
)
from pairbank.builders.corpora.column_map import FIELD, ColumnMap, Keep, NumberedRows, ShapedRow
from pairbank.builders.corpora.column_roles import MAPPABLE, SYNONYMS, roles_of
from pairbank.builders.corpora.column_use import not_used
from pairbank.builders.corpora.corpus import RATERS, BuildOptions, Corpus, is_requested, items_of, judged_items_of
from pairbank.builders.corpora.corpus_map import LABELS, OwnMap, kept_cells, read_map
from pairbank.builders.corpora.declared import OwnFacts
from pairbank.builders.corpora.judgments import FEW_RATINGS, Judgments, RatingRules
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.corpora.tabular_items import (
    DEFAULT_LANGUAGE,
    LABEL,
    RATINGS,
    STRIPPED,
    BadRows,
    TabularOptions,
    TextIds,
    check_options,
    mapped_item,
)
from pairbank.builders.ratings import ConstantRater, Rated, Raters, judged
from pairbank.builders.schema.columns import COLUMNS, Column, Item
from pairbank.builders.schema.language_tags import language_name, language_tag
from pairbank.builders.sources.source import LocatedFile
from pairbank.builders.sources.tables import NOTHING_SAID, ROWS_A_BATCH, ROWS_LOOKED_AT, SUFFIXES, Table, open_table
from pairbank.errors import CorpusError, CorpusFileNotFoundError, unknown_name
from pairbank.files import reading, sha256_of_file

__all__ = ["MAPPABLE", "MOST_POINTS", "ROWS_A_BATCH", "SUFFIXES", "SYNONYMS", "TabularOptions", "number_in"]

logger = logging.getLogger(__name__)

MAP_NAMES = ("corpus.toml", "map.toml")
"""Of the file that describes a folder."""
MOST_LETTERS = 5
READING = "reading"
"""Among the facts of the manifest: how the file was read, a sentence a fact."""
READ_AS = "columns"
"""Among them: of one table, schema column -> the table's column."""
_LONGEST_NAME = 100
NEVER_MISSING = ("language", *SIDES)
"""Columns in which NA is a word: a language (Nauru's tag is na), and sentences whose row was kept with it."""


def is_own(name: str) -> bool:
    """Return whether the name of a corpus is in fact the path of a user's table, TOML file or folder."""
    path = Path(name)
    return path.suffix.lower() in (*SUFFIXES, ".toml") or (path.is_dir() and (name not in CORPORA or "/" in name))


def map_beside(path: Path) -> Path | None:
    """Return the TOML file that describes a folder or a table (`<name>.map.toml`, `map.toml`), None without one."""
    names = (f"{path.stem}.map.toml", "map.toml")
    candidates = [path / name for name in MAP_NAMES] if path.is_dir() else [path.with_name(name) for name in names]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def tabular_corpus(path: Path, options: TabularOptions) -> tuple[Corpus, Mapping[str, LocatedFile]]:
    """Return a corpus for a user's table, folder or TOML file, and its files by name."""
    with reading(path, CorpusError):
        if not path.exists():
            raise CorpusFileNotFoundError(
                f"no file {path}; expected a {', '.join(SUFFIXES)} file with your items, a folder of such files, or a "
                ".toml file that describes them"
            )
    if path.suffix.lower() == ".toml" and options.map is None:
        options = replace(options, map=read_map(path))
    own_values = OwnTables.opened(path, options)
    files = {table.name: _located(table, own_values.facts_of_files) for table in own_values.tables}
    corpus = Corpus(
        name=own_values.slug,
        title=own_values.facts.title or path.name,
        description=own_values.facts.description or f"Items of the user's file {path.name}.",
        version="2.1.0",
        own=True,
        languages=(own_values.language,),
        tasks=("sentence_pair",),
        n_items=0,
        human=own_values.human(),
        subsets=(),
        rows=items_of(own_values.rated)
        if own_values.rules is None
        else judged_items_of(own_values.rated, own_values.left_out.extend),
        extra_columns=own_values.extra_columns(),
        metadata=lambda _files: {
            READING: own_values.said(),
            READ_AS: dict(own_values.tables[0].map.columns) if len(own_values.tables) == 1 else {},
            RATERS: own_values.said_of_raters(),
        },
        source=own_values.facts.own_source(),
        rated=own_values.rated if own_values.rules is not None else None,
    )
    return corpus, files


def _located(table: OwnTable, stated: Mapping[str, str]) -> LocatedFile:
    with reading(table.table.path, CorpusError):
        digest = sha256_of_file(table.table.path)
    pinned = stated.get(table.name)
    if pinned and pinned != digest:
        logger.warning("%s differs from the version that [files] states", table.table.path)
    return LocatedFile(path=table.table.path, name=table.name, sha256=digest, verified=pinned in (None, digest))


def _human(columns: Mapping[str, str]) -> str:
    """Return which columns hold people's mean judgments.

    >>> _human({"human_good": "Mittel gut", "human_bad": "Mittel schlecht"}), _human({})
    ("columns 'Mittel gut' (of the better side), 'Mittel schlecht' (of the worse side)", '')
    """
    if "human" in columns:
        return f"column {columns['human']!r}"
    sides = zip(RATINGS, ("better", "worse"), strict=True)
    results = [f"{columns[name]!r} (of the {side} side)" for name, side in sides if name in columns]
    return f"column{'s' if len(results) > 1 else ''} {', '.join(results)}" if results else ""


def own_name(path: Path, stated: str = "") -> str:
    """Return the name of a corpus of the user's own: as stated, else from the name of its file or folder."""
    place = path.absolute()
    stem = place.name if place.is_dir() else place.parent.name if place.name in MAP_NAMES else place.stem
    slug = re.sub(r"\W+", "_", stated or stem).strip("_")[:_LONGEST_NAME] or "items"
    shipped = next((name for name in CORPORA if _folded(name) == _folded(slug)), None)
    if shipped is not None:
        remedy = (
            "state another name under [corpus]"
            if stated or path.suffix == ".toml"
            else f"rename the file, as my_{path.name}"
        )
        raise CorpusError(
            f"{path}: a corpus {shipped!r} ships with pairbank, and a file of your own by this name would be taken for "
            f"it; {remedy}, or say {shipped} for the corpus itself"
        )
    return slug


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


@dataclass(kw_only=True)
class _Met:
    """What was met in the rows of a file, of what has to be said."""

    n_rows: int = 0
    n_blank: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Why rows were left out, and how many."""
    n_without_language: int = 0
    n_commas: int = 0
    n_stripped: int = 0
    n_turned: int = 0
    """Rows whose marks exchanged the sides."""
    n_lost: int = 0
    n_few: int = 0
    n_one_sided: int = 0
    """Pairs of which people rated one side."""
    tags: dict[str, str] = field(default_factory=dict)
    """Language tag as the file has it -> in its standard form."""
    n_foreign: int = 0
    """Rows without a language whose sentences have letters that English lacks."""
    foreign: set[str] = field(default_factory=set)
    nested: set[str] = field(default_factory=set)
    """Columns of lists or objects, which are kept as JSON."""

    def blank(self, _number: int) -> None:
        """Count a row without content."""
        self.n_blank += 1

    def leave_out(self, why: str) -> None:
        """Count a row that is left out."""
        self.left_out[why] += 1


@dataclass(frozen=True, kw_only=True)
class OwnTable:
    """One of a user's tables, and how its columns make items."""

    name: str
    """Its path within the corpus."""
    table: Table
    map: ColumnMap
    id: str = ""
    """Of an item within its subset, as of `Tables`; "" = a hash of its texts."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What its path says."""
    said: str = "columns as the map says"
    unused: str = ""
    """What is to be said of columns that were not used."""

    @property
    def with_commas(self) -> bool:
        """Whether `6,4` is a number in it."""
        return self.table.delimiter not in ("", ",")

    @property
    def names(self) -> Mapping[str, str]:
        """Schema column -> what messages call it."""
        return self.map.columns if self.map.inferred else {}

    def check_columns(self, also: Iterable[str] = ()) -> None:
        """Refuse a map that names a column which the table does not have."""
        known = self.table.columns
        if self.table.path.suffix.lower() in (".json", ".jsonl"):
            return
        for name in sorted({*self.map.named(), *also}):
            for piece in [name] if name in known else FIELD.findall(name) or [name]:
                if piece not in known and piece.split(".", 1)[0] not in known:
                    raise unknown_name(f"column of {self.table.path} (named in its map)", piece, known)


@dataclass(kw_only=True)
class OwnTables:
    """A user's tables, their columns understood, and what is to be said of their reading."""

    place: Path
    slug: str
    language: str
    tables: tuple[OwnTable, ...]
    keeps: tuple[Keep, ...]
    options: TabularOptions
    facts: OwnFacts
    rules: RatingRules | None
    judgments: Judgments | None
    """Of tables with one row per judgment."""
    facts_of_files: Mapping[str, str]
    """File -> the hash that is stated of it."""
    notes: tuple[str, ...] = ()
    left_out: list[ConstantRater] = field(default_factory=list)
    raters: Raters = field(default_factory=Raters)
    met: _Met | None = None
    """None before the rows were read."""

    @classmethod
    def opened(cls, path: Path, options: TabularOptions) -> OwnTables:
        """Open the tables, read their headers and first rows, tell their columns; errors as for `tabular_corpus`."""
        own_values = options.map
        facts = OwnFacts() if own_values is None else own_values.facts.corpus
        slug = own_name(path, facts.name)
        check_options(options)
        of_map = None if own_values is None else own_values.facts.language or None
        stated = of_map if options.language is None else options.language
        options = replace(options, language=stated)
        tables, notes = _opened(path, options)
        rules = None if own_values is None else own_values.facts.ratings
        if any(member.map.rater for member in tables):
            rules = rules or RatingRules()
        judgments = None if rules is None else Judgments(rules=rules)
        for value in tables:
            value.check_columns(() if rules is None else (*rules.columns, *((rules.cell,) if rules.cell else ())))
            if options.marks == "decide" and "target_bad" not in value.map.sides:
                raise CorpusError(f"{path}: marks cannot decide between sides of single sentences; type --marks strip")
            if judgments is not None and value.map.rater:
                judgments.add(
                    value.map,
                    value.table.rows(judgments.faults.append),
                    str(value.table.path),
                    with_commas=value.with_commas,
                )
        keeps = None if own_values is None else own_values.keeps
        result = cls(
            place=path,
            slug=slug,
            language=language_tag(DEFAULT_LANGUAGE if stated is None else stated),
            tables=tables,
            keeps=keeps or (),
            options=replace(options, fixed={}),  # the maps have it now
            facts=facts,
            rules=rules,
            judgments=judgments,
            facts_of_files={}
            if own_values is None
            else {name: entry.sha256 for name, entry in own_values.facts.files.items()},
            notes=notes,
        )
        result.keeps = result._all_kept() if keeps is None else keeps
        return result

    def _all_kept(self) -> tuple[Keep, ...]:
        """Return every column that no map names; one that differs between the rows of a pair is kept for each side."""
        rules, varying = self.rules, set[str]() if self.judgments is None else self.judgments.varying
        raters = set[str]() if rules is None else {*rules.columns, rules.cell}
        unnamed = dict.fromkeys(
            name
            for entry in self.tables
            for name in entry.table.columns
            if name not in {*entry.map.named(), *raters, *varying}
        )
        by_side = {
            name
            for place, member in enumerate(self.tables)
            if member.map.layout == "long"
            for shaped in member.map.shaped(self._rows(place, _Met(), BadRows(self.place)), "", lambda _e: None)
            for name in unnamed
            if shaped.good.get(name) != (shaped.bad or {}).get(name)
        }
        names = kept_names([*unnamed], (LABEL,))  # `label` is 0 or 1 wherever there is one
        return tuple(
            Keep(
                name=names[column],
                type="string",
                meaning="a column of your file",
                column=column,
                by_side=column in by_side,
            )
            for column in unnamed
        )

    def _rows(self, place: int, met: _Met, bad: BadRows) -> NumberedRows:
        """Return the rows of a table that are read; of judgments, one row per sentence."""
        entry = self.tables[place]
        if self.judgments is not None and entry.map.rater:
            return self.judgments.rows(sum(bool(before.map.rater) for before in self.tables[:place]))
        return entry.map.chosen(entry.table.rows(bad.note, met.blank), str(entry.table.path), met.leave_out)

    @property
    def _is_labelled(self) -> bool:
        return any(table.map.layout == "sentences" and table.map.label is not None for table in self.tables)

    def human(self) -> str:
        """Return what human judgments there are."""
        if self.facts.human or self.rules is None:
            return self.facts.human or _human(self.tables[0].map.columns)
        return "; ".join(text for text in (f"individual ratings, scale {self.rules.scale}", self.rules.said()) if text)

    def extra_columns(self) -> tuple[Column, ...]:
        """Return the corpus's own columns."""
        kept = (column for keep in self.keeps for column in keep.made)
        return (*kept, *((LABELS,) if self._is_labelled else ()))

    def rated(self, _files: Mapping[str, LocatedFile], build: BuildOptions) -> Iterator[Rated]:
        """Yield the items with their ratings; every row that cannot be accepted is in one error at the end."""
        bad, met, subsets = BadRows(self.place), _Met(), set[str]()
        ids, raters = TextIds(corpus=self.slug), Raters()
        self.raters = raters
        for problem in [] if self.judgments is None else self.judgments.faults:
            bad.note(problem)
        for place, entry in enumerate(self.tables):
            marked = MarkedRows(
                path=entry.table.path,
                mapping=entry.map.columns if entry.map.inferred else {name: name for name in entry.map.sides},
                treatment=self.options.marks,
                by_map=not entry.map.inferred,
            )
            where = str(entry.table.path)
            for n, shaped in enumerate(entry.map.shaped(self._rows(place, met, bad), where, bad.note), 1):
                try:
                    result = self._rated(entry, shaped, n, ids, raters)
                except MarkedRowError as error:
                    marked.rows.append((shaped.number, error.marks))
                    continue
                except CorpusError as error:
                    bad.note(error)
                    continue
                self._meet(shaped, result.item, met)
                subsets.add(result.item.subset)
                if is_requested(result.item.subset, build):
                    yield result
            if (fault := marked.fault(n_taken_off=met.n_stripped)) is not None:
                bad.note(fault, n_rows=len(marked.rows))
        bad.raise_if_any()
        if not met.n_rows:
            raise CorpusError(f"{self.place}: no row is left; {'; '.join(self._said_of_left_out_rows(met))}")
        if build.subset is not None and build.subset not in subsets:
            raise unknown_name(f"subset of {self.place.name}", build.subset, subsets)
        self.met = met

    def _rated(self, entry: OwnTable, shaped: ShapedRow, n: int, ids: TextIds, raters: Raters) -> Rated:
        where = f"{entry.table.path}, row {shaped.number}"
        for row in (shaped.good, shaped.bad or {}, shaped.cells):
            check_characters(row, where)

        def numbered(subset: str, _texts: tuple[str | None, ...]) -> str:
            number = entry.id.format(n=n, pair_id=shaped.cells.get("pair_id"), contrast=shaped.contrast, **entry.fields)
            return f"{self.slug}/{subset}/{number}"

        missing = entry.map.format.missing
        cells = {
            name: None if cell in missing and name not in NEVER_MISSING else cell for name, cell in shaped.cells.items()
        }
        item = mapped_item(
            replace(shaped, cells=cells),
            numbered if entry.id else ids.of,
            where,
            corpus=self.slug,
            names=entry.names,
            extra=kept_cells(self.keeps, shaped, where),
            options=replace(self.options, decimal_commas=entry.with_commas) if entry.with_commas else self.options,
        )
        rules = self.rules
        if rules is None:
            return Rated(item=item)
        if rules.min_per_side and rules.are_few(shaped, where, with_commas=entry.with_commas):
            item = replace(item, flags=(*item.flags, FEW_RATINGS))
        return judged(item, rules.ratings(item.item_id, shaped, where, raters, with_commas=entry.with_commas))

    def _meet(self, shaped: ShapedRow, item: Item, met: _Met) -> None:
        """Note what of an accepted row has to be said."""
        cells, row = shaped.cells, shaped.good
        met.n_rows += 1
        met.n_stripped += STRIPPED in item.flags
        met.n_turned += self.options.marks == "decide" and bool(mark_before(str(cells.get("target_good") or "")))
        met.n_commas += any(has_comma(str(cells.get(name, ""))) for name in RATINGS)
        met.n_lost += any(isinstance(cell, str) and "\ufffd" in cell for cell in row.values())
        met.n_few += FEW_RATINGS in item.flags
        met.n_one_sided += item.target_bad is not None and (item.human_good is None) != (item.human_bad is None)
        met.nested |= {keep.read_from for keep in self.keeps if isinstance(row.get(keep.read_from), list | Mapping)}
        if tag := label_in(cells.get("language", ""), "", ""):
            met.tags[tag] = item.language
        else:
            met.n_without_language += 1
            letters = foreign_letters(item.target_good)
            met.n_foreign += bool(letters)
            met.foreign |= letters

    def _sides(self, entry: OwnTable, met: _Met) -> str:
        """Return which column was taken as which side."""
        if self.options.marks != "decide" or not entry.map.inferred:
            return entry.said
        good, bad = (entry.map.columns[name] for name in SIDES)
        counts = f"{good!r} in {met.n_rows - met.n_turned:,}, {bad!r} in {met.n_turned:,}"
        return f"better = column without a mark in its row ({counts}), worse = column with one"

    def said(self) -> list[str]:
        """Return how the tables were read, a sentence a fact; where their rows were not read yet, they are."""
        if self.met is None:
            for _ in self.rated({}, BuildOptions()):
                pass
        met, several = self.met or _Met(), len(self.tables) > 1
        kinds = [self._sides(entry, met) for entry in self.tables]
        notes = [(member, note) for member in self.tables for note in member.table.notes]
        return [
            *dict.fromkeys(kinds),
            f"{met.n_rows:,} rows{f' of {len(self.tables):,} files' if several else ''}",
            *self._languages(met),
            *(f"{value.name}: {note}" if several else note for value, note in notes),
            *_oddities(met),
            *self._said_of_left_out_rows(met),
            *dict.fromkeys(element.unused for element in self.tables if element.unused),
            *(
                ()
                if self.judgments is None or not any(one.map.rater for one in self.tables)
                else self._said_of_raters(met)
            ),
            *self._said_of_left_out(),
            *self.notes,
        ]

    def _said_of_left_out_rows(self, met: _Met) -> Iterator[str]:
        by_judgment = Counter[str]() if self.judgments is None else self.judgments.left_out
        for why, n in (met.left_out + by_judgment).items():
            yield f"{n:,} row(s) left out, {why}"

    def _said_of_left_out(self) -> Iterator[str]:
        for rater in dict.fromkeys(self.left_out):
            yield f"{rater} ({self._name_of(rater.rater)}), and is left out"

    def _name_of(self, number: int) -> str:
        """Return what the user's table calls a rater."""
        if self.rules is not None and self.rules.columns:
            return self.rules.columns[number]
        return next(str(name) for name, known in self.raters.numbers.items() if known == number)

    def said_of_raters(self) -> str:
        """Return how many people rated one by one, and how many were excluded and why."""
        is_by_judgment = self.judgments is not None and any(table.map.rater for table in self.tables)
        said = [*self.judgments.said()] if self.judgments is not None and is_by_judgment else []
        return "; ".join([*said, *self._said_of_left_out()])

    def _said_of_raters(self, met: _Met) -> Iterator[str]:
        judgments, rules = self.judgments, self.rules
        if judgments is None or rules is None:
            return
        yield from judgments.said()
        if rules.min_per_side:
            yield f"{met.n_few:,} items with fewer than {rules.min_per_side} ratings of a side, flagged {FEW_RATINGS!r}"
        left = sorted(judgments.varying - {name for table in self.tables for name in table.map.named()})
        if left and not (self.options.map and self.options.map.keeps):
            yield f"not kept, since they differ between ratings of one sentence: {', '.join(map(repr, left))}"

    def _languages(self, met: _Met) -> Iterator[str]:
        stated = self.options.language
        if met.n_without_language and stated is None:
            language = f"{self.language} ({language_name(self.language)})"
            yield f"language {language}, the default; for another, type --language TAG (de, zh, pt-BR)"
            if met.n_foreign * 5 >= met.n_rows:
                some = ", ".join(sorted(met.foreign)[:MOST_LETTERS])
                yield f"yet {met.n_foreign:,} of {met.n_rows:,} rows have letters that English lacks ({some})"
        elif met.n_without_language:
            read = "" if stated == self.language else f", from {stated!r}"
            yield f"language {self.language} ({language_name(self.language)}{read})"
        changed = [f"{provided!r} as {tag}" for provided, tag in met.tags.items() if provided != tag]
        if changed:
            yield f"language tags read: {', '.join(changed)}"


def _opened(path: Path, options: TabularOptions) -> tuple[tuple[OwnTable, ...], tuple[str, ...]]:
    """Return the tables of a file, folder or TOML file, and what is to be said of files that are none of them."""
    own_values = options.map
    if path.is_dir() or path.suffix.lower() == ".toml":
        root = path if path.is_dir() else path.parent
        if own_values is not None and not own_values.tables and not path.is_dir():
            raise CorpusError(
                f"{path}: describes one table, and names no [[tables]]; type the table's path and --map {path}"
            )
        names = _data_files(root)
        is_one = len(names) == 1
    else:
        root, names, is_one = path.parent, [path.name], True
    result, others = [], []
    for name in names:
        column_map, how = None if own_values is None else own_values.whole, NOTHING_SAID
        fitting = (
            None
            if own_values is None or not own_values.tables
            else own_values.fitting(_within(own_values, root / name, name))
        )
        if own_values is not None and own_values.tables and fitting is None:
            others.append(name)
            continue
        fields: Mapping[str, str] = {}
        if fitting is not None:
            tables, fields = fitting
            if tables.archive:
                raise CorpusError(
                    f"{own_values and own_values.path}: {name} is in an archive; unpack it and leave out archive"
                )
            column_map = tables.fixed(_within(own_values, root / name, name) if own_values is not None else name)
        how = NOTHING_SAID if column_map is None else column_map.format
        how = replace(how, header=options.header) if options.header else how
        table = open_table(root / name, encoding=options.encoding, how=how)
        member = _told(
            table,
            column_map,
            options,
            subset="" if is_one or (own_values is not None and own_values.tables) else name.rsplit(".", 1)[0],
        )
        result.append(replace(member, name=name, fields=fields, id="" if fitting is None else fitting[0].id))
    if not result:
        paths = (
            ""
            if own_values is None or not own_values.tables
            else f" fits path {' or '.join(entry.path for entry in own_values.tables)}"
        )
        present = ", ".join(names[:8]) or f"no {', '.join(SUFFIXES)} file"
        raise CorpusFileNotFoundError(f"{path}: no table{paths}; found {present}")
    more = f" and {len(others) - 8} more" if len(others) > 8 else ""
    return tuple(result), (f"not read, since no [[tables]] fits: {', '.join(others[:8])}{more}",) if others else ()


def _data_files(folder: Path) -> list[str]:
    """Return the paths of the tables in a folder, hidden ones left out."""
    if (folder / "manifest.json").is_file() and (folder / "data").is_dir():
        raise CorpusError(f"{folder}: is a bank; give its items, as {folder}/data/NAME/items.parquet")
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    names = (path.relative_to(folder).as_posix() for path in paths)
    return sorted(name for name in names if not any(part.startswith((".", "~")) for part in name.split("/")))


def _within(own: OwnMap, path: Path, name: str) -> str:
    """Return the path of a file as the map's patterns have it: from the map's folder, if it is within that."""
    try:
        return path.absolute().relative_to(own.path.absolute().parent).as_posix()
    except ValueError:
        return name


def _told(table: Table, column_map: ColumnMap | None, options: TabularOptions, *, subset: str) -> OwnTable:
    """Return a table with its map: the user's with the options typed, or one told from the names of its columns."""
    fixed = {"subset": subset, **options.fixed} if subset else dict(options.fixed)
    if column_map is not None:
        typed = with_options(column_map, replace(options, fixed=options.fixed))
        if subset and "subset" not in {*typed.columns, *typed.fixed}:
            typed = replace(typed, fixed={**typed.fixed, "subset": subset})
        return OwnTable(name="", table=table, map=typed)
    first = list(itertools.islice(table.rows(bad_row=lambda _error: None), ROWS_LOOKED_AT))
    if not first:
        next(table.rows(), None)
        raise CorpusError(f"{table.path}: no rows; expected a header and at least one row")
    rows = [row for _, row in first]
    roles = roles_of(table.path, table.columns, rows, options.columns)
    if "subset" in roles.columns and "subset" not in options.fixed:
        fixed.pop("subset", None)
    if both := [name for name in fixed if name in roles.columns]:
        raise CorpusError(
            f"{table.path}: {both[0]} is column {roles.columns[both[0]]!r}, and fixed to "
            f"{fixed[both[0]]!r} (--fixed); leave one out, or rename the column"
        )
    return OwnTable(
        name="",
        table=table,
        map=ColumnMap(columns=roles.columns, fixed=fixed, inferred=True),
        said=roles.said,
        unused=not_used(table.columns, {**fixed, **roles.columns}),
    )


def kept_names(columns: Sequence[str], also_taken: Sequence[str] = ()) -> dict[str, str]:
    """Return the names in the corpus of columns that the schema does not have; none is the schema's or the model's."""
    taken = {column.name for column in COLUMNS} | {"flags", "model", *also_taken}
    names: dict[str, str] = {}
    for column in sorted(columns, key=lambda name: name in taken):
        name = column
        while name in taken:
            name += "_source"
        taken.add(name)
        names[column] = name
    return {column: names[column] for column in columns}


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
    if met.n_one_sided:
        yield (
            f"ratings of one side only in {met.n_one_sided:,} row(s), which no result uses: a comparison with people "
            "needs human_good and human_bad"
        )
    if met.n_stripped:
        yield f"linguists' marks taken off in {met.n_stripped:,} row(s), which are flagged {STRIPPED!r}"
    if met.nested:
        yield f"lists or objects kept as JSON in {', '.join(map(repr, sorted(met.nested)))}"
    if met.n_lost:
        yield f"U+FFFD in {met.n_lost:,} row(s): a character was lost before, when the file was converted"
