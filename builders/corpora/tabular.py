"""Your own items: a table (two columns of sentences are enough), a folder of tables, or a TOML file that describes it.

Every table is read by a `ColumnMap`: a TOML file's, or one told from the names of its columns (`good`/`bad` and their
synonyms; two columns of other names are better, worse, unless something speaks against it). How the tables were read is
stored in the manifest, and logged.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.cells import SIDES, check_characters, foreign_letters, has_comma, label_in
from pairbank.builders.corpora.column_map import FIELD, ColumnMap, Keep, NumberedRows, ShapedRow
from pairbank.builders.corpora.column_roles import MAPPABLE, roles_of
from pairbank.builders.corpora.column_use import is_personal, not_used
from pairbank.builders.corpora.corpus import RATERS, BuildOptions, Corpus, is_requested, items_of, judged_items_of
from pairbank.builders.corpora.corpus_map import LABELS, kept_cells
from pairbank.builders.corpora.design import Crossing, Design
from pairbank.builders.corpora.judgments import FEW_RATINGS, Judgments, RatingRules
from pairbank.builders.corpora.maps import OwnMap, read_map
from pairbank.builders.corpora.marks import MarkedRowError, MarkedRows, mark_before
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
    tidy_item,
)
from pairbank.builders.ratings import ConstantRater, Rated, Raters, judged
from pairbank.builders.schema.columns import COLUMNS, DESIGN, Column, Item
from pairbank.builders.schema.language_tags import language_name, language_tag
from pairbank.builders.sources.formats import NOTHING_SAID
from pairbank.builders.sources.readers import data_file
from pairbank.builders.sources.source import LocatedFile
from pairbank.builders.sources.tables import ROWS_LOOKED_AT, SUFFIXES, BadRow, Table, open_table
from pairbank.errors import CorpusError, CorpusFileNotFoundError, unknown_name
from pairbank.files import reading, sha256_of_file

logger = logging.getLogger(__name__)

MAP_NAMES = ("corpus.toml", "map.toml")
"""Of the file that describes a folder."""
PSYCHLING = ("CODEBOOK.csv", "processed_data")
"""What a folder of PsychLing-101 holds; a map ships for these."""
MOST_LETTERS = 5
UNLICENSED = "A file of your own: state its licence before you publish it."
READING = "reading"
"""Among the facts of the manifest: how the file was read, a sentence a fact."""
BY_DEFAULT = "the default; for another, --language TAG (Python: language=TAG)"
READ_AS = "columns"
"""Among them: of one table, schema column -> the table's column."""
_LONGEST_NAME = 100
_PLATFORM_ID = re.compile(r"[0-9a-f]{24}|A[0-9A-Z]{11,15}")
"""Ids of Prolific and of Mechanical Turk."""
ROWS, BLANK, TURNED, NO_LANGUAGE, FOREIGN = "rows", "blank", "turned", "no language", "foreign letters"
COMMAS, ONE_SIDED, LOST = "decimal commas", "one side rated", "lost characters"
LEFT_OUT = "left out: "
"""Before the reason for which rows are left out."""
ODDITIES: Mapping[str, str] = {
    BLANK: "{n} blank row(s) left out",
    COMMAS: "decimal commas in {n} row(s): 6,4 is 6.4",
    ONE_SIDED: (
        "ratings of one side only in {n} row(s), which no result uses: a comparison with people needs human_good and "
        "human_bad"
    ),
    STRIPPED: f"linguists' marks taken off in {{n}} row(s), which are flagged {STRIPPED!r}",
    LOST: "U+FFFD in {n} row(s): a character was lost before, when the file was converted",
}
NEVER_MISSING = ("language", *SIDES)
"""Columns in which NA is a word: a language (Nauru's tag is na), and sentences whose row was kept with it."""


def map_beside(path: Path) -> Path | None:
    """Return the TOML file that describes a folder or a table (`<name>.map.toml`, `map.toml`), None without one."""
    if path.is_dir() and all((path / name).exists() for name in PSYCHLING):
        return data_file("psychling.toml")
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
    own = OwnCorpus.opened(path, options)
    paths = {name: table.path for name, (table, _) in own.tables.items() if not table.files}
    of_people = itertools.chain.from_iterable(table.files for table, _ in own.tables.values())
    paths |= {f"file {n}": file for n, file in enumerate(of_people, 1)}  # a name may tell who somebody is
    files, facts, maps = dict[str, LocatedFile](), own.own.facts.corpus, own.maps
    for name, place in paths.items():
        with reading(place, CorpusError):
            digest = sha256_of_file(place)
        stated = own.own.facts.files.get(name)
        if stated is not None and stated.sha256 not in ("", digest):
            logger.warning("%s differs from the version that [files] states", place)
        verified = stated is None or stated.sha256 == digest
        files[name] = LocatedFile(path=place, name=name, sha256=digest, verified=verified)
    source = own.own.facts.source(files=False)
    corpus = Corpus(
        name=own.slug,
        title=facts.title or path.name,
        description=facts.description or f"Items of the user's file {path.name}.",
        version="2.2.0",
        own=True,
        languages=(own.language,),
        tasks=("sentence_pair",),
        n_items=0,
        human=own.human(),
        subsets=(),
        rows=judged_items_of(own.rated, own.constant.extend) if own.has_ratings else items_of(own.rated),
        extra_columns=own.extra_columns(),
        metadata=lambda _files: {
            READING: own.said(),
            READ_AS: dict(maps[0].columns) if len(maps) == 1 else {},
            RATERS: "; ".join([*own.said_of_judgments(None), *own.said_of_constant_raters()]),
            **own.facts_of_design(),
        },
        source=replace(source, licence_note=source.licence_note or ("" if source.licence != "unknown" else UNLICENSED)),
        rated=own.rated if own.has_ratings else None,
    )
    return corpus, files


def own_name(path: Path, stated: str = "") -> str:
    """Return the name of a corpus of the user's own: as stated, else from the name of its file or folder."""
    place = path.absolute()
    stem = place.name if place.is_dir() else place.parent.name if place.name in MAP_NAMES else place.stem
    slug = re.sub(r"\W+", "_", stated or stem).strip("_")[:_LONGEST_NAME] or "items"
    shipped = next((name for name in CORPORA if name.casefold().replace("-", "_") == slug.casefold()), None)
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


@dataclass(kw_only=True)
class OwnCorpus:
    place: Path
    slug: str
    language: str
    tables: Mapping[str, tuple[Table, ColumnMap]]
    """Path within the corpus -> a table, and how its columns make items."""
    keeps: tuple[Keep, ...]
    options: TabularOptions
    own: OwnMap
    has_ratings: bool
    design: Design
    judgments: Judgments
    """Of tables with one row per judgment."""
    notes: tuple[str, ...] = ()
    crossing: Crossing | None = None
    constant: list[ConstantRater] = field(default_factory=list)
    raters: Raters = field(default_factory=Raters)
    n_of: Counter[str] | None = None
    """How many rows are as a note says (`ODDITIES`, `ROWS` …), or left out why; None before the rows were read."""
    tags: dict[str, str] = field(default_factory=dict)
    """Language tag as the file has it -> in its standard form."""
    foreign: set[str] = field(default_factory=set)
    """Letters that English lacks, in rows without a language."""
    nested: set[str] = field(default_factory=set)
    """Columns of lists or objects, which are kept as JSON."""

    @classmethod
    def opened(cls, path: Path, options: TabularOptions) -> OwnCorpus:
        """Open the tables, read their headers and first rows, tell their columns; errors as for `tabular_corpus`."""
        own = options.map or OwnMap(path=path)
        slug = own_name(path, own.facts.corpus.name)
        check_options(options)
        stated = own.facts.language or None if options.language is None else options.language
        options = replace(options, language=stated)
        tables, notes = _opened(path, options)
        maps = [column_map for _, column_map in tables.values()]
        design = own.facts.design or Design()
        if design.columns and not design.item_set:
            item = next((column_map.columns["pair_id"] for column_map in maps if "pair_id" in column_map.columns), "")
            design = design.model_copy(update={"item_set": item})
        design.check_whole(str(own.path))
        judgments = Judgments(rules=own.facts.ratings or RatingRules(), also=design.columns)
        of_raters = (*judgments.rules.columns, *([judgments.rules.cell] if judgments.rules.cell else []))
        for table, column_map in tables.values():
            _check_columns(table, column_map, (*of_raters, *design.columns))
            if options.marks == "decide" and "target_bad" not in column_map.sides:
                raise CorpusError(f"{path}: marks cannot decide between sides of single sentences; type --marks strip")
            if column_map.rater:
                judgments.add(column_map, table.rows(judgments.faults.append), str(table.path))
        keeps = own.keeps
        corpus = cls(
            place=path,
            slug=slug,
            language=language_tag(DEFAULT_LANGUAGE if stated is None else stated),
            tables=tables,
            keeps=keeps or (),
            options=replace(options, fixed={}),  # the maps have it now
            own=own,
            has_ratings=own.facts.ratings is not None or any(column_map.rater for column_map in maps),
            design=design,
            judgments=judgments,
            notes=notes,
        )
        unstated = [name for name in design.columns if name not in {keep.read_from for keep in keeps or ()}]
        more = (Keep(name=name, column=column) for column, name in kept_names(unstated).items())
        corpus.keeps = corpus._all_kept() if keeps is None else (*keeps, *more)
        return corpus

    @property
    def maps(self) -> list[ColumnMap]:
        return [column_map for _, column_map in self.tables.values()]

    def _all_kept(self) -> tuple[Keep, ...]:
        """Return every column that no map names; one that differs between the rows of a pair is kept for each side."""
        rules, ignore = self.judgments.rules, lambda _fault: None
        no_items = {*rules.columns, rules.cell, *self.judgments.varying}
        unnamed = dict.fromkeys(
            name
            for table, column_map in self.tables.values()
            for name in table.columns
            if name not in {*column_map.named(), *no_items} - {*self.design.columns} and not is_personal(name)
        )
        by_side = {
            name
            for table, column_map in self.tables.values()
            if column_map.layout == "long"
            for shaped in column_map.shaped(self._rows(table, column_map, Counter(), ignore), "", ignore)
            for name in unnamed
            if shaped.good.get(name) != (shaped.bad or {}).get(name)
        }
        names = kept_names([*unnamed], (LABEL,))  # `label` is 0 or 1 wherever there is one
        return tuple(
            Keep(name=names[name], meaning="a column of your file", column=name, by_side=name in by_side)
            for name in unnamed
        )

    def _rows(self, table: Table, column_map: ColumnMap, n_of: Counter[str], bad_row: BadRow) -> NumberedRows:
        """Return the rows of a table that are read; of judgments, one row per sentence."""
        if column_map.rater:
            return self.judgments.rows(str(table.path))
        rows = table.rows(bad_row, lambda _number: n_of.update([BLANK]))
        return column_map.chosen(rows, str(table.path), lambda why: n_of.update([f"{LEFT_OUT}{why}"]))

    def human(self) -> str:
        if stated := self.own.facts.corpus.human:
            return stated
        columns, rules = self.maps[0].columns, self.judgments.rules
        if self.has_ratings:
            return "; ".join(filter(None, (f"individual ratings, scale {rules.stated_scale}", rules.said())))
        if "human" in columns:
            return f"column {columns['human']!r}"
        sides = zip(RATINGS, ("better", "worse"), strict=True)
        of_sides = [f"{columns[name]!r} (of the {side} side)" for name, side in sides if name in columns]
        return f"column{'s' if len(of_sides) > 1 else ''} {', '.join(of_sides)}" if of_sides else ""

    def extra_columns(self) -> tuple[Column, ...]:
        is_labelled = any(x.layout == "sentences" and x.label is not None for x in self.maps)
        kept = (column for keep in self.keeps for column in keep.made)
        return (*kept, *((LABELS,) if is_labelled else ()))

    def rated(self, _files: Mapping[str, LocatedFile], build: BuildOptions) -> Iterator[Rated]:
        """Yield the items with their ratings; every row that cannot be accepted is in one error at the end."""
        bad, n_of, subsets = BadRows(self.place), Counter[str](), set[str]()
        ids, self.raters = TextIds(corpus=self.slug), Raters()
        self.crossing = Crossing(design=self.design, where=str(self.place), columns=self.judgments.rules.columns)
        for fault in self.judgments.faults:
            bad.note(fault)
        for table, column_map in self.tables.values():
            marked = MarkedRows(
                path=table.path,
                mapping=column_map.columns if column_map.inferred else {name: name for name in column_map.sides},
                treatment=self.options.marks,
                by_map=not column_map.inferred,
            )
            rows = self._rows(table, column_map, n_of, bad.note)
            for n, shaped in enumerate(column_map.shaped(rows, str(table.path), bad.note), 1):
                try:
                    rated = self._rated(table, column_map, shaped, n, ids)
                except MarkedRowError as error:
                    marked.rows.append((shaped.number, error.marks))
                    continue
                except CorpusError as error:
                    bad.note(error)
                    continue
                self._count(shaped, rated.item, n_of)
                subsets.add(rated.item.subset)
                if is_requested(rated.item.subset, build):
                    yield rated
            if (of_marks := marked.fault(n_taken_off=n_of[STRIPPED])) is not None:
                bad.note(of_marks, n_rows=len(marked.rows))
        bad.raise_if_any(self.crossing.faults())
        self.n_of = n_of
        if not n_of[ROWS]:
            raise CorpusError(f"{self.place}: no row is left; {'; '.join(self._said_of_rows_left_out(n_of))}")
        if build.subset is not None and build.subset not in subsets:
            raise unknown_name(f"subset of {self.place.name}", build.subset, subsets)

    def _rated(self, table: Table, column_map: ColumnMap, shaped: ShapedRow, n: int, ids: TextIds) -> Rated:
        where = f"{table.path}, row {shaped.number}"
        for row in (shaped.good, shaped.bad or {}, shaped.cells):
            check_characters(row, where)
        if self.crossing is not None:
            self.crossing.note(shaped, where)
        missing = column_map.reading.missing
        cells = {
            name: None if cell in missing and name not in NEVER_MISSING else cell for name, cell in shaped.cells.items()
        }
        item = mapped_item(
            replace(shaped, cells=cells),
            (lambda subset, _texts: f"{self.slug}/{subset}/{column_map.number(shaped, n)}")
            if column_map.id
            else ids.of,
            where,
            corpus=self.slug,
            column_map=column_map,
            extra=kept_cells(self.keeps, shaped, where),
            options=self.options,
        )
        item = tidy_item(item) if self.options.tidy else item
        rules = self.judgments.rules
        if not self.has_ratings:
            return Rated(item=item)
        if rules.min_per_side and rules.are_few(shaped, column_map, where):
            item = replace(item, flags=(*item.flags, FEW_RATINGS))
        return judged(item, rules.ratings(item.item_id, shaped, column_map, where, self.raters))

    def _count(self, shaped: ShapedRow, item: Item, n_of: Counter[str]) -> None:
        cells, row = shaped.cells, shaped.good
        is_one_sided = item.target_bad is not None and (item.human_good is None) != (item.human_bad is None)
        is_turned = self.options.marks == "decide" and bool(mark_before(str(cells.get("target_good") or "")))
        tag = label_in(cells.get("language", ""), "", "")
        letters = set[str]() if tag else foreign_letters(item.target_good)
        counts = {
            ROWS: True,
            STRIPPED: STRIPPED in item.flags,
            TURNED: is_turned,
            COMMAS: any(has_comma(str(cells.get(name, ""))) for name in RATINGS),
            LOST: any(isinstance(cell, str) and "\ufffd" in cell for cell in row.values()),
            FEW_RATINGS: FEW_RATINGS in item.flags,
            ONE_SIDED: is_one_sided,
            NO_LANGUAGE: not tag,
            FOREIGN: bool(letters),
        }
        n_of.update(name for name, is_so in counts.items() if is_so)
        self.foreign |= letters
        self.nested |= {keep.read_from for keep in self.keeps if isinstance(row.get(keep.read_from), list | Mapping)}
        if tag:
            self.tags[tag] = item.language

    def _sides(self, column_map: ColumnMap, n_of: Counter[str]) -> str:
        if self.options.marks != "decide" or not column_map.inferred:
            return column_map.said
        good, bad = (column_map.columns[name] for name in SIDES)
        counts = f"{good!r} in {n_of[ROWS] - n_of[TURNED]:,}, {bad!r} in {n_of[TURNED]:,}"
        return f"better = column without a mark in its row ({counts}), worse = column with one"

    def said(self) -> list[str]:
        """Return how the tables were read, a sentence a fact; where their rows were not read yet, they are."""
        if self.n_of is None:
            for _ in self.rated({}, BuildOptions()):
                pass
        n_of, several = self.n_of or Counter(), len(self.tables) > 1
        notes = [(name, note) for name, (table, _) in self.tables.items() for note in table.notes]
        return [
            *dict.fromkeys(self._sides(column_map, n_of) for column_map in self.maps),
            f"{n_of[ROWS]:,} rows{f' of {len(self.tables):,} files' if several else ''}",
            *self._said_of_languages(n_of),
            *(f"{name}: {note}" if several else note for name, note in notes),
            *(text.format(n=f"{n_of[name]:,}") for name, text in ODDITIES.items() if n_of[name]),
            *([f"lists or objects kept as JSON in {', '.join(map(repr, sorted(self.nested)))}"] if self.nested else []),
            *self._said_of_rows_left_out(n_of),
            *dict.fromkeys(column_map.unused for column_map in self.maps if column_map.unused),
            *self.said_of_judgments(n_of),
            *(() if self.crossing is None else self.crossing.said()),
            *self._said_of_people(),
            *self.said_of_constant_raters(),
            *self.notes,
        ]

    def _said_of_rows_left_out(self, n_of: Counter[str]) -> Iterator[str]:
        of_rows = {name.removeprefix(LEFT_OUT): n for name, n in n_of.items() if name.startswith(LEFT_OUT)}
        for why, n in (Counter(of_rows) + self.judgments.left_out).items():
            yield f"{n:,} row(s) left out, {why}"

    def _said_of_people(self) -> Iterator[str]:
        """Yield which columns identify people; raises where a map keeps one of them."""
        if kept := [keep.read_from for keep in self.keeps if is_personal(keep.read_from)]:
            raise CorpusError(
                f"[[keep]] names {kept[0]!r}, which identifies people; leave it out (as the rater it would be numbered)"
            )
        mapped = {name for column_map in self.maps for name in column_map.named()}
        names = dict.fromkeys(name for table, _ in self.tables.values() for name in table.columns if is_personal(name))
        if left := [name for name in names if name not in mapped]:
            yield f"not kept, since they identify people: {', '.join(map(repr, left))}"

    def said_of_constant_raters(self) -> Iterator[str]:
        columns = self.judgments.rules.columns
        names = dict(enumerate(columns)) if columns else {n: str(name) for name, n in self.raters.numbers.items()}
        for rater in dict.fromkeys(self.constant):
            name = "an id of a platform" if _PLATFORM_ID.fullmatch(names[rater.rater]) else names[rater.rater]
            yield f"{rater} ({name}), and is left out"

    def facts_of_design(self) -> dict[str, Any]:
        names = {keep.read_from: keep.name for keep in self.keeps}
        return {DESIGN: self.crossing.facts(names)} if self.crossing and self.design.factors else {}

    def said_of_judgments(self, n_of: Counter[str] | None) -> Iterator[str]:
        """Yield what was read of tables with one row per judgment; where rows were counted, also of their items."""
        judgments, rules = self.judgments, self.judgments.rules
        if not any(column_map.rater for column_map in self.maps):
            return
        yield from judgments.said()
        if n_of is None:
            return
        if rules.min_per_side:
            n = n_of[FEW_RATINGS]
            yield f"{n:,} items with fewer than {rules.min_per_side} ratings of a side, flagged {FEW_RATINGS!r}"
        left = sorted(judgments.varying - {name for column_map in self.maps for name in column_map.named()})
        if left and not self.own.keeps:
            yield f"not kept, since they differ between ratings of one sentence: {', '.join(map(repr, left))}"

    def _said_of_languages(self, n_of: Counter[str]) -> Iterator[str]:
        stated, language = self.options.language, f"language {self.language} ({language_name(self.language)}"
        if n_of[NO_LANGUAGE] and stated is None:
            some = ", ".join(sorted(self.foreign)[:MOST_LETTERS])
            yet = f"; yet {n_of[FOREIGN]:,} of {n_of[ROWS]:,} rows have letters that English lacks ({some})"
            yield f"{language}), {BY_DEFAULT}{yet if n_of[FOREIGN] * 5 >= n_of[ROWS] else ''}"
        elif n_of[NO_LANGUAGE]:
            yield f"{language}{'' if stated == self.language else f', from {stated!r}'})"
        if changed := [f"{written!r} as {tag}" for written, tag in self.tags.items() if written != tag]:
            yield f"language tags read: {', '.join(changed)}"


def _check_columns(table: Table, column_map: ColumnMap, also: Iterable[str]) -> None:
    known = table.columns
    if table.path.suffix.lower() in (".json", ".jsonl"):
        return
    for name in sorted({*column_map.named(), *also}):
        for piece in [name] if name in known else FIELD.findall(name) or [name]:
            if piece not in known and piece.split(".", 1)[0] not in known:
                raise unknown_name(f"column of {table.path} (named in its map)", piece, known)


def _opened(path: Path, options: TabularOptions) -> tuple[Mapping[str, tuple[Table, ColumnMap]], tuple[str, ...]]:
    """Return the tables of a file, folder or TOML file, and what is to be said of files that are none of them."""
    own = options.map or OwnMap(path=path)
    kinds = own.tables
    if options.table is not None and options.map is not None:
        return {path.name: (options.table, _map_of(options.table, own.whole, options, subset=""))}, ()
    if path.is_dir() or path.suffix.lower() == ".toml":
        root = path if path.is_dir() else path.parent
        if not kinds and not path.is_dir():
            raise CorpusError(
                f"{path}: describes one table, and names no [[tables]]; type the table's path and --map {path}"
            )
        names = _data_files(root)
    else:
        root, names = path.parent, [path.name]
    is_one = len(names) == 1 or not (path.is_dir() or path.suffix.lower() == ".toml")
    tables: dict[str, tuple[Table, ColumnMap]] = {}
    others = []
    for name in names:
        column_map = own.whole
        if kinds:
            within = name  # the map's patterns begin at its own folder
            with contextlib.suppress(ValueError):
                within = (root / name).absolute().relative_to(own.path.absolute().parent).as_posix()
            column_map = own.map_of(within, name)
            if column_map is None:
                others.append(name)
                continue
        how = NOTHING_SAID if column_map is None else column_map.reading
        how = how.model_copy(update={"header": tuple(options.header)}) if options.header else how
        table = open_table(root / name, encoding=options.encoding, how=how)
        subset = "" if is_one or kinds else name.rsplit(".", 1)[0]
        tables[name] = table, _map_of(table, column_map, options, subset=subset)
    if not tables:
        paths = f" fits path {' or '.join(kind.path for kind in kinds)}" if kinds else ""
        present = ", ".join(names[:8]) or f"no {', '.join(SUFFIXES)} file"
        raise CorpusFileNotFoundError(f"{path}: no table{paths}; found {present}")
    more = f" and {len(others) - 8} more" if len(others) > 8 else ""
    return tables, (f"not read, since no [[tables]] fits: {', '.join(others[:8])}{more}",) if others else ()


def _data_files(folder: Path) -> list[str]:
    if (folder / "manifest.json").is_file() and (folder / "data").is_dir():
        raise CorpusError(f"{folder}: is a bank; give its items, as {folder}/data/NAME/items.parquet")
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    names = (path.relative_to(folder).as_posix() for path in paths)
    return sorted(name for name in names if not any(part.startswith((".", "~")) for part in name.split("/")))


def _map_of(table: Table, column_map: ColumnMap | None, options: TabularOptions, *, subset: str) -> ColumnMap:
    fixed = {"subset": subset, **options.fixed} if subset else dict(options.fixed)
    with_commas = table.delimiter not in ("", ",")
    if column_map is not None:  # what a user types beside a map goes before what it says
        if unknown := [name for name in options.columns if name not in MAPPABLE]:
            raise unknown_name("schema column", unknown[0], MAPPABLE)
        typed = {"language": options.language, "task": options.task}
        kept = {name: value for name, value in column_map.fixed.items() if typed.get(name) is None}
        columns = {name: column for name, column in column_map.columns.items() if name not in options.fixed}
        columns |= options.columns
        if "subset" in columns:
            fixed = dict(options.fixed)
        return column_map.changed(columns=columns, fixed={**fixed, **kept, **options.fixed}, with_commas=with_commas)
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
    return ColumnMap(
        columns=dict(roles.columns),
        fixed=fixed,
        inferred=True,
        with_commas=with_commas,
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
