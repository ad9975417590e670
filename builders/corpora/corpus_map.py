"""Corpora that are only a mapping: `data/corpora/<name>.toml` states everything, no code per corpus.

In: facts of a corpus, its pinned files, and for each kind of file a column map with the keys of a user's `map.toml`.
What stands in a file's path (`{language}_evalset/{paradigm}.txt`) can be said of its items; a file is read by the first
table that its path fits. Out: a `Corpus`, its items, and their ratings, where raters have columns of their own.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from pairbank.builders.corpora.column_map import ColumnMap, ShapedRow, plain_value
from pairbank.builders.corpora.corpus import BuildOptions, Corpus, RatedRows
from pairbank.builders.corpora.declared import CorpusFile, facts_of
from pairbank.builders.corpora.map_file import KEYS, map_of
from pairbank.builders.corpora.tabular_items import RATINGS, SENTENCES, usual_task
from pairbank.builders.ratings import Rated, Rating, Side, judged
from pairbank.builders.schema.columns import Column, ColumnType, Item, Scalar, Task
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.sources.archives import member_bytes
from pairbank.builders.sources.source import LocatedFile, Source
from pairbank.builders.sources.table_format import table_rows_of
from pairbank.errors import CorpusError
from pairbank.files import reading

LABEL = Column(name="label", type="int32", nullable=False, meaning="1 = acceptable, 0 = not")
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """A column of the source that the corpus keeps."""

    name: str
    type: ColumnType
    meaning: str
    column: str = ""
    columns: tuple[str, ...] = ()
    """Columns of yes and no: kept are the names of those that say yes, joined."""
    by_side: bool = False
    """Kept once a side, as `<name>_good` and `<name>_bad`."""

    @property
    def made(self) -> tuple[Column, ...]:
        """The corpus's columns that it makes."""
        names = (f"{self.name}_good", f"{self.name}_bad") if self.by_side else (self.name,)
        return tuple(Column(name=name, type=self.type, nullable=True, meaning=self.meaning) for name in names)

    def cells(self, shaped: ShapedRow) -> dict[str, Scalar]:
        """Return its cells of one item."""
        if self.columns:
            said = [name for name in self.columns if plain_value(shaped.good.get(name)) in ("1", "true")]
            return {self.name: ", ".join(said) or None}
        if self.by_side:
            sides = (("good", shaped.good), ("bad", shaped.bad or {}))
            return {f"{self.name}_{side}": typed(row.get(self.column), self.type) for side, row in sides}
        return {self.name: typed(shaped.good.get(self.column), self.type)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The files of one kind, and how they are read."""

    path: str
    """`{field}` stands for a piece of a path; what it is can be said in `fixed`, `id`."""
    archive: str
    """The archive that holds them; "" where each is a file of the source."""
    map: ColumnMap
    id: str
    """Of an item within its subset: fields of the path, `{n}` (from 1 in a file), `{pair_id}`, `{contrast}`."""

    def found(self, files: Mapping[str, LocatedFile]) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
        """Yield (path, where it stands, what reads it) of each file, in the order of the paths."""
        if self.archive:
            archive = files[self.archive].path
            pattern = _FIELD.sub("*", self.path)
            for name, data in member_bytes(archive, pattern, lambda name: self.fields(name) is not None):
                yield name, f"{archive}:{name}", functools.partial(bytes, data)
            return
        for name in sorted(files):
            if self.fields(name) is not None:
                yield name, str(files[name].path), files[name].path.read_bytes

    def fields(self, path: str) -> dict[str, str] | None:
        """Return what the fields of the path are for one file, None where it is not of this kind."""
        escaped = "".join(
            f"(?P<{part}>[^/]+?)" if is_field else re.escape(part)
            for is_field, part in ((place % 2, part) for place, part in enumerate(_FIELD.split(self.path)))
        )
        found = re.fullmatch(f"(?:.*/)?{escaped}" if self.archive else escaped, path)
        if found is None:
            return None
        named = found.groupdict()
        return named | ({"tag": language_tag(named["language"])} if "language" in named else {})

    def fixed(self, path: str) -> ColumnMap:
        """Return the map with the fields of one file's path filled in."""
        named = self.fields(path) or {}
        return replace(self.map, fixed={name: text.format(**named) for name, text in self.map.fixed.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingColumns:
    """Raters that have a column each."""

    columns: tuple[str, ...]
    scale: str
    side: Side = "good"


@dataclass(frozen=True, kw_only=True)
class CorpusMap:
    """A corpus that is a mapping."""

    name: str
    facts: CorpusFile
    source: Source
    tables: tuple[Tables, ...]
    keeps: tuple[Keep, ...]
    rating_columns: RatingColumns | None

    def rated(self, files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
        """Yield the items with their ratings, tables in the order of the map, files in that of their paths."""
        seen: set[str] = set()
        for place, tables in enumerate(self.tables):
            for path, where, read in tables.found(files):
                if any(one.archive == tables.archive and one.fields(path) is not None for one in self.tables[:place]):
                    continue
                column_map = tables.fixed(path)
                subset = column_map.fixed.get("subset")
                if options.subset is not None and "subset" not in column_map.columns and options.subset != subset:
                    continue
                with reading(where, CorpusError):
                    data = read()
                rows = table_rows_of(data, Path(path).suffix, column_map.format, where)
                fields = tables.fields(path) or {}
                for n, shaped in enumerate(column_map.shaped(rows, where, _refuse), 1):
                    seen |= shaped.good.keys() if n == 1 else set()
                    pair_id = shaped.cells.get("pair_id")
                    item = self._item(
                        shaped, tables.id.format(n=n, pair_id=pair_id, contrast=shaped.contrast, **fields)
                    )
                    if options.subset in (None, item.subset):
                        yield judged(item, self._ratings(item.item_id, shaped, f"{where}, row {shaped.number}"))
        wanted = {name for keep in self.keeps for name in (keep.columns or (keep.column,))}
        if options.subset is None and seen and (missing := wanted - seen):
            raise CorpusError(f"corpus {self.name!r}: no file has the column {sorted(missing)[0]!r} that its map keeps")

    def rows(self, files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
        """Yield the items."""
        return (found.item for found in self.rated(files, options))

    def _item(self, shaped: ShapedRow, number: str) -> Item:
        cells = shaped.cells
        texts = {
            name: None if cell in (None, "") else str(cell) for name, cell in cells.items() if name not in SENTENCES
        }
        subset = texts.get("subset") or "all"
        extra: dict[str, Scalar] = {} if shaped.label is None else {LABEL.name: shaped.label}
        for keep in self.keeps:
            extra |= keep.cells(shaped)
        context, bad = cells.get("context_good") or "", cells.get("target_bad")
        human = {name: typed(cells.get(name), "float64") for name in RATINGS}
        return Item(
            item_id=f"{self.name}/{subset}/{number}",
            corpus=self.name,
            subset=subset,
            language=language_tag(texts["language"] or ""),
            task=cast("Task | None", texts.get("task")) or usual_task(context, one_sided=bad is None),
            context_good=context,
            target_good=cells["target_good"],
            context_bad=None if bad is None else cells.get("context_bad", context),
            target_bad=bad,
            phenomenon=texts.get("phenomenon"),
            paradigm=texts.get("paradigm"),
            human_good=cast("float | None", human["human_good"]),
            human_bad=cast("float | None", human["human_bad"]),
            human_scale=texts.get("human_scale"),
            pair_id=texts.get("pair_id"),
            flags=shaped.flags,
            extra=extra,
        )

    def _ratings(self, item_id: str, shaped: ShapedRow, where: str) -> Iterator[Rating]:
        raters = self.rating_columns
        for number, column in enumerate(() if raters is None else raters.columns):
            if raters is None or (text := shaped.good.get(column)) in (None, ""):
                continue
            value = rating_value(text, f"{where}, column {column!r}")
            yield Rating(item_id=item_id, side=raters.side, rater=number, value=value, scale=raters.scale)

    def corpus(self, rated: RatedRows | None = None) -> Corpus:
        """Return the corpus; `rated` yields items and ratings that a mapping cannot."""
        made: RatedRows = rated or self.rated

        def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
            return (found.item for found in made(files, options))

        labels = (LABEL,) if any(t.map.layout == "sentences" and t.map.label for t in self.tables) else ()
        return replace(
            self.facts.corpus_of(self.name, rows),
            rated=made if rated is not None or self.rating_columns is not None else None,
            source=self.source,
            subset_files=self._subset_files(),
            extra_columns=(
                *labels,
                *(column for keep in self.keeps for column in keep.made),
                *self.facts.extra_columns,
            ),
        )

    def _subset_files(self) -> dict[str, tuple[str, ...]]:
        """Return subset -> its files, where the path of every file says its subset."""
        found: dict[str, list[str]] = {}
        for file in self.source.files:
            tables = next((one for one in self.tables if not one.archive and one.fields(file.name) is not None), None)
            if tables is None and file.by_hand:
                continue
            subset = "" if tables is None else tables.fixed(file.name).fixed.get("subset", "")
            if not subset:
                return {}
            found.setdefault(subset, []).append(file.name)
        return {subset: tuple(names) for subset, names in found.items()} if len(found) > 1 else {}


def corpus_map(name: str) -> CorpusMap:
    """Return the map of a shipped corpus.

    Raises:
        CorpusError: something in it is not as expected.
    """
    facts = facts_of(name)
    where = f"corpora/{name}.toml"
    tables = tuple(_tables(table, where) for table in facts.tables)
    unpacked = {one.archive: _FIELD.sub("*", one.path) for one in reversed(tables) if one.archive}
    ratings = facts.ratings
    return CorpusMap(
        name=name,
        facts=facts,
        source=facts.source(unpacked),
        tables=tables,
        keeps=tuple(_keep(keep, where) for keep in facts.keep),
        rating_columns=None
        if ratings is None
        else RatingColumns(columns=tuple(ratings["columns"]), scale=ratings["scale"]),
    )


def _tables(table: Mapping[str, Any], where: str) -> Tables:
    mapped = {key: value for key, value in table.items() if key in KEYS}
    if others := table.keys() - mapped.keys() - {"path", "archive", "id"}:
        raise CorpusError(f"{where}, [[tables]]: unknown keys {sorted(others)}")
    return Tables(
        path=table["path"],
        archive=table.get("archive", ""),
        map=map_of(mapped, f"{where}, {table['path']}"),
        id=table.get("id", "{n}"),
    )


def _keep(table: Mapping[str, Any], where: str) -> Keep:
    kind = table.get("type", "string")
    if kind not in get_args(ColumnType):
        raise CorpusError(f"{where}, [[keep]] {table['name']!r}: type {kind!r}, expected one of {get_args(ColumnType)}")
    return Keep(
        name=table["name"],
        type=kind,
        meaning=table["meaning"],
        column=table.get("column", "" if "columns" in table else table["name"]),
        columns=tuple(table.get("columns", ())),
        by_side=table.get("by_side", False),
    )


def typed(cell: object, kind: ColumnType) -> Scalar:
    """Return a cell as its column has it, None for an empty one.

    >>> typed("3.0", "int32"), typed("", "string"), typed("True", "bool"), typed(["a"], "string")
    (3, None, True, '["a"]')
    """
    if cell is None or cell == "":
        return None
    if kind == "string":
        return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | Mapping) else str(cell)
    if kind == "bool":
        return plain_value(cell) in ("1", "true")
    number = float(str(cell))
    return int(number) if kind == "int32" else number


def rating_value(text: object, where: str) -> float:
    """Return a rating; errors name where it stands."""
    try:
        return float(str(text))
    except ValueError as error:
        raise CorpusError(f"{where}: rating {text!r} is no number; get the file again") from error


def _refuse(error: CorpusError) -> None:
    raise error
