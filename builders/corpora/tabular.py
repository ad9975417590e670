"""Your own items: a table (two columns of sentences are enough), a folder of tables, or a TOML file that describes it.

Every table is read by a `ColumnMap`: a TOML file's, or one told from the names of the columns (`good`/`bad` and their
common synonyms, or options; two columns of other names are better, worse, unless something speaks against it). Other
columns are kept as text. How the tables were read is stored in the manifest, and logged.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.cells import SIDES, check_characters, foreign_letters, has_comma, label_in
from pairbank.builders.corpora.column_map import FIELD, ColumnMap, Keep, NumberedRows, ShapedRow
from pairbank.builders.corpora.column_roles import MAPPABLE, roles_of
from pairbank.builders.corpora.column_use import is_personal, not_used
from pairbank.builders.corpora.corpus import RATERS, BuildOptions, Corpus, is_requested, items_of, judged_items_of
from pairbank.builders.corpora.corpus_map import LABELS, kept_cells
from pairbank.builders.corpora.declared import OwnFacts
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
"""What rows are counted as."""
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
"""What is said of rows that are counted so."""
NEVER_MISSING = ("language", *SIDES)
"""Columns in which NA is a word: a language (Nauru's tag is na), and sentences whose row was kept with it."""


def is_own(name: str) -> bool:
    """Return whether the name of a corpus is in fact the path of a user's table, TOML file or folder."""
    path = Path(name)
    return path.suffix.lower() in (*SUFFIXES, ".toml", ".zip", ".txt") or (
        path.is_dir() and (name not in CORPORA or "/" in name)
    )


def map_beside(path: Path) -> Path | None:
    """Return the TOML file that describes a folder or a table (`<name>.map.toml`, `map.toml`), None without one."""
    if path.is_dir() and all((path / name).exists() for name in PSYCHLING):
        return Path(str(resources.files("pairbank.builders") / "data" / "psychling.toml"))
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
    files = {name: _located(name, table.path, own.hashes) for name, (table, _) in own.tables.items() if not table.files}
    of_people = itertools.chain.from_iterable(table.files for table, _ in own.tables.values())
    several = {f"file {n}": file for n, file in enumerate(of_people, 1)}  # a name may tell who somebody is
    files |= {name: _located(name, file, own.hashes) for name, file in several.items()}
    maps = [column_map for _, column_map in own.tables.values()]
    corpus = Corpus(
        name=own.slug,
        title=own.facts.title or path.name,
        description=own.facts.description or f"Items of the user's file {path.name}.",
        version="2.2.0",
        own=True,
        languages=(own.language,),
        tasks=("sentence_pair",),
        n_items=0,
        human=own.human(),
        subsets=(),
        rows=items_of(own.rated) if own.rules is None else judged_items_of(own.rated, own.constant.extend),
        extra_columns=own.extra_columns(),
        metadata=lambda _files: {
            READING: own.said(),
            READ_AS: dict(maps[0].columns) if len(maps) == 1 else {},
            RATERS: own.said_of_raters(),
            **own.said_of_design(),
        },
        source=own.facts.own_source(),
        rated=own.rated if own.rules is not None else None,
    )
    return corpus, files


def _located(name: str, path: Path, stated: Mapping[str, str]) -> LocatedFile:
    with reading(path, CorpusError):
        digest = sha256_of_file(path)
    pinned = stated.get(name)
    if pinned and pinned != digest:
        logger.warning("%s differs from the version that [files] states", path)
    return LocatedFile(path=path, name=name, sha256=digest, verified=pinned in (None, digest))


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
class OwnCorpus:
    """A user's tables, their columns understood, and what is to be said of their reading."""

    place: Path
    slug: str
    language: str
    tables: Mapping[str, tuple[Table, ColumnMap]]
    """Path within the corpus -> a table, and how its columns make items."""
    keeps: tuple[Keep, ...]
    options: TabularOptions
    facts: OwnFacts
    rules: RatingRules | None
    design: Design
    judgments: Judgments | None
    """Of tables with one row per judgment."""
    hashes: Mapping[str, str]
    """File -> the hash that is stated of it."""
    notes: tuple[str, ...] = ()
    crossing: Crossing | None = None
    """Of the design, once rows were read."""
    constant: list[ConstantRater] = field(default_factory=list)
    """Raters that are left out."""
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
        own = options.map
        facts = OwnFacts() if own is None else own.facts.corpus
        slug = own_name(path, facts.name)
        check_options(options)
        of_map = None if own is None else own.facts.language or None
        stated = of_map if options.language is None else options.language
        options = replace(options, language=stated)
        tables, notes = _opened(path, options)
        rules = None if own is None else own.facts.ratings
        if any(column_map.rater for _, column_map in tables.values()):
            rules = rules or RatingRules()
        design = _design_of(own, [column_map for _, column_map in tables.values()])
        of_design = design.columns
        judgments = None if rules is None else Judgments(rules=rules, also=of_design)
        for table, column_map in tables.values():
            of_raters = () if rules is None else (*rules.columns, *((rules.cell,) if rules.cell else ()))
            _check_columns(table, column_map, (*of_raters, *of_design))
            if options.marks == "decide" and "target_bad" not in column_map.sides:
                raise CorpusError(f"{path}: marks cannot decide between sides of single sentences; type --marks strip")
            if judgments is not None and column_map.rater:
                rows = table.rows(judgments.faults.append)
                judgments.add(column_map, rows, str(table.path), with_commas=table.has_decimal_commas)
        keeps = None if own is None else own.keeps
        corpus = cls(
            place=path,
            slug=slug,
            language=language_tag(DEFAULT_LANGUAGE if stated is None else stated),
            tables=tables,
            keeps=keeps or (),
            options=replace(options, fixed={}),  # the maps have it now
            facts=facts,
            rules=rules,
            design=design,
            judgments=judgments,
            hashes={} if own is None else {name: file.sha256 for name, file in own.facts.files.items()},
            notes=notes,
        )
        unstated = [name for name in of_design if name not in {keep.read_from for keep in keeps or ()}]
        more = (Keep(name=name, column=column) for column, name in kept_names(unstated).items())
        corpus.keeps = corpus._all_kept() if keeps is None else (*keeps, *more)
        return corpus

    def _all_kept(self) -> tuple[Keep, ...]:
        """Return every column that no map names; one that differs between the rows of a pair is kept for each side."""
        rules, varying = self.rules, set[str]() if self.judgments is None else self.judgments.varying
        raters = set[str]() if rules is None else {*rules.columns, rules.cell}
        unnamed = dict.fromkeys(
            name
            for table, column_map in self.tables.values()
            for name in table.columns
            if name not in {*column_map.named(), *raters, *varying} - {*self.design.columns} and not is_personal(name)
        )
        by_side = {
            name
            for table, column_map in self.tables.values()
            if column_map.layout == "long"
            for shaped in column_map.shaped(self._rows(table, column_map, Counter(), _ignore), "", _ignore)
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
        if self.judgments is not None and column_map.rater:
            return self.judgments.rows(str(table.path))
        rows = table.rows(bad_row, lambda _number: n_of.update([BLANK]))
        return column_map.chosen(rows, str(table.path), lambda why: n_of.update([f"{LEFT_OUT}{why}"]))

    def human(self) -> str:
        if self.facts.human or self.rules is None:
            _, column_map = next(iter(self.tables.values()))
            return self.facts.human or _human(column_map.columns)
        return "; ".join(
            text for text in (f"individual ratings, scale {self.rules.stated_scale}", self.rules.said()) if text
        )

    def extra_columns(self) -> tuple[Column, ...]:
        kept = (column for keep in self.keeps for column in keep.made)
        maps = (column_map for _, column_map in self.tables.values())
        is_labelled = any(column_map.layout == "sentences" and column_map.label is not None for column_map in maps)
        return (*kept, *((LABELS,) if is_labelled else ()))

    def rated(self, _files: Mapping[str, LocatedFile], build: BuildOptions) -> Iterator[Rated]:
        """Yield the items with their ratings; every row that cannot be accepted is in one error at the end."""
        bad, n_of, subsets = BadRows(self.place), Counter[str](), set[str]()
        ids, self.raters = TextIds(corpus=self.slug), Raters()
        of_raters = () if self.rules is None else self.rules.columns
        self.crossing = Crossing(design=self.design, where=str(self.place), columns=of_raters)
        for fault in [] if self.judgments is None else self.judgments.faults:
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
        where, with_commas = f"{table.path}, row {shaped.number}", table.has_decimal_commas
        for row in (shaped.good, shaped.bad or {}, shaped.cells):
            check_characters(row, where)
        if self.crossing is not None:
            self.crossing.note(shaped, where)
        missing = column_map.format.missing
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
            names=column_map.columns if column_map.inferred else {},
            extra=kept_cells(self.keeps, shaped, where),
            options=replace(self.options, decimal_commas=with_commas) if with_commas else self.options,
        )
        item = tidy_item(item) if self.options.tidy else item
        rules = self.rules
        if rules is None:
            return Rated(item=item)
        if rules.min_per_side and rules.are_few(shaped, column_map, where, with_commas=with_commas):
            item = replace(item, flags=(*item.flags, FEW_RATINGS))
        ratings = rules.ratings(item.item_id, shaped, column_map, where, self.raters, with_commas=with_commas)
        return judged(item, ratings)

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
        maps = [column_map for _, column_map in self.tables.values()]
        return [
            *dict.fromkeys(self._sides(column_map, n_of) for column_map in maps),
            f"{n_of[ROWS]:,} rows{f' of {len(self.tables):,} files' if several else ''}",
            *self._said_of_languages(n_of),
            *(f"{name}: {note}" if several else note for name, note in notes),
            *(text.format(n=f"{n_of[name]:,}") for name, text in ODDITIES.items() if n_of[name]),
            *([f"lists or objects kept as JSON in {', '.join(map(repr, sorted(self.nested)))}"] if self.nested else []),
            *self._said_of_rows_left_out(n_of),
            *dict.fromkeys(column_map.unused for column_map in maps if column_map.unused),
            *self._said_of_judgments(n_of),
            *(() if self.crossing is None else self.crossing.said()),
            *self._said_of_people(),
            *self._said_of_constant_raters(),
            *self.notes,
        ]

    def _said_of_rows_left_out(self, n_of: Counter[str]) -> Iterator[str]:
        by_judgment = Counter[str]() if self.judgments is None else self.judgments.left_out
        of_rows = {name.removeprefix(LEFT_OUT): n for name, n in n_of.items() if name.startswith(LEFT_OUT)}
        for why, n in (Counter(of_rows) + by_judgment).items():
            yield f"{n:,} row(s) left out, {why}"

    def _said_of_people(self) -> Iterator[str]:
        """Yield which columns identify people; raises where a map keeps one of them."""
        if kept := [keep.read_from for keep in self.keeps if is_personal(keep.read_from)]:
            raise CorpusError(
                f"[[keep]] names {kept[0]!r}, which identifies people; leave it out (as the rater it would be numbered)"
            )
        mapped = {name for _, column_map in self.tables.values() for name in column_map.named()}
        names = dict.fromkeys(name for table, _ in self.tables.values() for name in table.columns if is_personal(name))
        if left := [name for name in names if name not in mapped]:
            yield f"not kept, since they identify people: {', '.join(map(repr, left))}"

    def _said_of_constant_raters(self) -> Iterator[str]:
        columns = () if self.rules is None else self.rules.columns
        names = dict(enumerate(columns)) if columns else {n: str(name) for name, n in self.raters.numbers.items()}
        for rater in dict.fromkeys(self.constant):
            name = "an id of a platform" if _PLATFORM_ID.fullmatch(names[rater.rater]) else names[rater.rater]
            yield f"{rater} ({name}), and is left out"

    def said_of_design(self) -> dict[str, Any]:
        """Return what the manifest says of the design; nothing without one."""
        names = {keep.read_from: keep.name for keep in self.keeps}
        return {DESIGN: self.crossing.facts(names)} if self.crossing and self.design.factors else {}

    def said_of_raters(self) -> str:
        """Return how many people rated one by one, and how many were excluded and why."""
        return "; ".join([*self._said_of_judgments(None), *self._said_of_constant_raters()])

    def _said_of_judgments(self, n_of: Counter[str] | None) -> Iterator[str]:
        """Yield what was read of tables with one row per judgment; where rows were counted, also of their items."""
        judgments, rules = self.judgments, self.rules
        maps = [column_map for _, column_map in self.tables.values()]
        if judgments is None or rules is None or not any(column_map.rater for column_map in maps):
            return
        yield from judgments.said()
        if n_of is None:
            return
        if rules.min_per_side:
            n = n_of[FEW_RATINGS]
            yield f"{n:,} items with fewer than {rules.min_per_side} ratings of a side, flagged {FEW_RATINGS!r}"
        left = sorted(judgments.varying - {name for column_map in maps for name in column_map.named()})
        if left and not (self.options.map and self.options.map.keeps):
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


def _design_of(own: OwnMap | None, maps: Sequence[ColumnMap]) -> Design:
    if own is None or own.facts.design is None:
        return Design()
    item = next((column_map.columns["pair_id"] for column_map in maps if "pair_id" in column_map.columns), "")
    design = own.facts.design.model_copy(update={"item_set": own.facts.design.item_set or item})
    design.check_whole(str(own.path))
    return design


def _ignore(_fault: CorpusError) -> None:
    pass


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
    own = options.map
    kinds = () if own is None else own.tables
    if options.table is not None and own is not None:
        return {path.name: (options.table, _map_of(options.table, own.whole, options, subset=""))}, ()
    if path.is_dir() or path.suffix.lower() == ".toml":
        root = path if path.is_dir() else path.parent
        if own is not None and not kinds and not path.is_dir():
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
        column_map = None if own is None else own.whole
        if own is not None and kinds:
            column_map = own.map_of(_within(own, root / name, name), name)
            if column_map is None:
                others.append(name)
                continue
        how = NOTHING_SAID if column_map is None else column_map.format
        how = replace(how, header=tuple(options.header)) if options.header else how
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


def _within(own: OwnMap, path: Path, name: str) -> str:
    """Return the path of a file as the map's patterns have it: from the map's folder, if it is within that."""
    try:
        return path.absolute().relative_to(own.path.absolute().parent).as_posix()
    except ValueError:
        return name


def _map_of(table: Table, column_map: ColumnMap | None, options: TabularOptions, *, subset: str) -> ColumnMap:
    fixed = {"subset": subset, **options.fixed} if subset else dict(options.fixed)
    if column_map is not None:
        typed = with_options(column_map, replace(options, fixed=options.fixed))
        if subset and "subset" not in {*typed.columns, *typed.fixed}:
            typed = replace(typed, fixed={**typed.fixed, "subset": subset})
        return typed
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
        columns=roles.columns,
        fixed=fixed,
        inferred=True,
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
