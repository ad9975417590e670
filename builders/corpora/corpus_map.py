"""Corpora that are only a mapping: a TOML file states everything, no code per corpus.

In: `data/corpora/<name>.toml`, or a file of a user's with the same keys: facts of a corpus, and for each kind of file a
column map. What stands in a file's path (`{language}_evalset/{paradigm}.txt`) can be said of its items; a file is read
by the first table that its path fits. Out: what a user's file says (`read_map`), or a `Corpus`, its items and ratings.

Column maps in TOML: `map.toml` beside a file, `--map FILE`, or a table of a corpus. Unknown keys are errors.

In: a table of TOML. Out: a `ColumnMap`. The keys are those of `docs/column-maps.md`.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from pairbank.builders.corpora.cells import kept_in
from pairbank.builders.corpora.column_map import (
    OF_A_SIDE,
    ColumnMap,
    Label,
    Layout,
    NumberedRows,
    Row,
    ShapedRow,
    plain_value,
)
from pairbank.builders.corpora.column_roles import MAPPABLE
from pairbank.builders.corpora.corpus import BuildOptions, Corpus, RatedRows, items_of
from pairbank.builders.corpora.declared import CorpusFile, OwnFile, facts_of
from pairbank.builders.corpora.judgments import Judgments, RatingRules
from pairbank.builders.corpora.tabular_items import LABEL, mapped_item
from pairbank.builders.ratings import Rated, Raters, judged
from pairbank.builders.schema.columns import Column, ColumnType, Item, Scalar
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.sources.source import LocatedFile, Source, member_bytes
from pairbank.builders.sources.tables import Mend, TableFormat, table_rows_of
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import reading

LABELS = Column(name=LABEL, type="int32", nullable=False, meaning="1 = acceptable, 0 = not")
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

    def cells(self, shaped: ShapedRow, where: str) -> dict[str, Scalar]:
        """Return its cells of one item."""
        if self.columns:
            texts = [name for name in self.columns if plain_value(shaped.good.get(name)) in ("1", "true")]
            return {self.name: ", ".join(texts) or None}
        if self.by_side:
            sides = (("good", shaped.good), ("bad", shaped.bad or {}))
            return {f"{self.name}_{side}": self._cell(row, where) for side, row in sides}
        return {self.name: self._cell(shaped.good, where)}

    def _cell(self, row: Row, where: str) -> Scalar:
        cell = row.get(self.column)
        if self.type == "string":
            return kept_in(cell, where, self.column)
        try:
            return typed(cell, self.type)
        except ValueError as error:
            raise CorpusError(f"{where}: column {self.column!r} holds {cell!r:.80}, expected {self.type}") from error


def kept_cells(keeps: Iterable[Keep], shaped: ShapedRow, where: str) -> dict[str, Scalar]:
    """Return the cells of the corpus's own columns."""
    return {name: cell for keep in keeps for name, cell in keep.cells(shaped, where).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The files of one kind, and how they are read."""

    path: str
    """`{field}` stands for a piece of a path, `*` for one without a name; fields can be said in `fixed`, `id`."""
    archive: str
    """The archive that holds them; "" where each is a file of the source."""
    map: ColumnMap
    id: str
    """Of an item within its subset: fields of the path, `{n}` (from 1 in a file), `{pair_id}`, `{contrast}`.
    "" = `{n}`; of a user's corpus a hash of its texts."""
    password: str = ""
    """Of the archive, where its authors publish it beside the archive to keep the texts out of training data."""

    def found(self, files: Mapping[str, LocatedFile]) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
        """Yield (path, where it stands, what reads it) of each file, in the order of the paths."""
        if self.archive:
            archive = files[self.archive].path
            pattern = _FIELD.sub("*", self.path)
            is_one, password = (lambda name: self.fields(name) is not None), self.password.encode()
            for name, data in member_bytes(archive, pattern, is_one, password=password):
                yield name, f"{archive}:{name}", functools.partial(bytes, data)
            return
        for name in sorted(files):
            if self.fields(name) is not None:
                yield name, str(files[name].path), files[name].path.read_bytes

    def fields(self, path: str) -> dict[str, str] | None:
        """Return what the fields of the path are for one file, None where it is not of this kind."""
        escaped = "".join(
            f"(?P<{part}>[^/]+?)" if is_field else re.escape(part).replace(r"\*", "[^/]*")
            for is_field, part in ((place % 2, part) for place, part in enumerate(_FIELD.split(self.path)))
        )
        result = re.fullmatch(f"(?:.*/)?{escaped}" if self.archive else escaped, path)
        if result is None:
            return None
        named = result.groupdict()
        return named | ({"tag": language_tag(named["language"])} if "language" in named else {})

    def fixed(self, path: str) -> ColumnMap:
        """Return the map with the fields of one file's path filled in."""
        named = self.fields(path) or {}
        filled = {name: _FIELD.sub(lambda field: named[field[1]], text) for name, text in self.map.fixed.items()}
        return replace(self.map, fixed=filled)


@dataclass(frozen=True, kw_only=True)
class CorpusMap:
    """A corpus that is a mapping."""

    name: str
    facts: CorpusFile
    source: Source
    tables: tuple[Tables, ...]
    keeps: tuple[Keep, ...]

    def rated(self, files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
        """Yield the items with their ratings, tables in the order of the map, files in that of their paths."""
        seen: set[str] = set()
        raters = Raters()
        for place, tables in enumerate(self.tables):
            for path, where, read in tables.found(files):
                if any(
                    table.archive == tables.archive and table.fields(path) is not None for table in self.tables[:place]
                ):
                    continue
                column_map = tables.fixed(path)
                subset = column_map.fixed.get("subset")
                if options.subset is not None and "subset" not in column_map.columns and options.subset != subset:
                    continue
                with reading(where, CorpusError):
                    data = read()
                rows: NumberedRows = table_rows_of(data, Path(path).suffix, column_map.format, where)
                if column_map.rater and self.facts.ratings is not None:
                    judgments = Judgments(rules=self.facts.ratings)
                    judgments.add(column_map, rows, where, with_commas=False)
                    for fault in judgments.faults:
                        raise fault
                    rows = judgments.rows(0)
                fields = tables.fields(path) or {}
                for n, shaped in enumerate(column_map.shaped(rows, where, _refuse), 1):
                    seen |= shaped.good.keys() if n == 1 else set()
                    pair_id = shaped.cells.get("pair_id")
                    number = (tables.id or "{n}").format(n=n, pair_id=pair_id, contrast=shaped.contrast, **fields)
                    at = f"{where}, row {shaped.number}"
                    item = self._item(shaped, number, at)
                    if options.subset in (None, item.subset):
                        rules = self.facts.ratings
                        yield judged(item, () if rules is None else rules.ratings(item.item_id, shaped, at, raters))
        wanted = {name for keep in self.keeps for name in (keep.columns or (keep.column,))}
        if options.subset is None and seen and (missing := wanted - seen):
            raise CorpusError(f"corpus {self.name!r}: no file has the column {sorted(missing)[0]!r} that its map keeps")

    def _item(self, shaped: ShapedRow, number: str, where: str) -> Item:
        return mapped_item(
            shaped,
            lambda subset, _texts: f"{self.name}/{subset}/{number}",
            where,
            corpus=self.name,
            extra=kept_cells(self.keeps, shaped, where),
        )

    def corpus(self, rated: RatedRows | None = None) -> Corpus:
        """Return the corpus; `rated` yields items and ratings that a mapping cannot."""
        rated_rows: RatedRows = rated or self.rated
        labels = (LABELS,) if any(t.map.layout == "sentences" and t.map.label for t in self.tables) else ()
        return replace(
            self.facts.corpus_of(self.name, items_of(rated_rows)),
            rated=rated_rows if rated is not None or self.facts.ratings is not None else None,
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
        results: dict[str, list[str]] = {}
        for file in self.source.files:
            tables = next(
                (table for table in self.tables if not table.archive and table.fields(file.name) is not None), None
            )
            if tables is None and file.by_hand:
                continue
            subset = "" if tables is None else tables.fixed(file.name).fixed.get("subset", "")
            if not subset:
                return {}
            results.setdefault(subset, []).append(file.name)
        return {subset: tuple(names) for subset, names in results.items()} if len(results) > 1 else {}


def corpus_map(name: str) -> CorpusMap:
    """Return the map of a shipped corpus.

    Raises:
        CorpusError: something in it is not as expected.
    """
    facts = facts_of(name)
    where = f"corpora/{name}.toml"
    tables = tuple(_tables(table, where) for table in facts.tables)
    unpacked = {entry.archive: _FIELD.sub("*", entry.path) for entry in reversed(tables) if entry.archive}
    return CorpusMap(
        name=name,
        facts=facts,
        source=facts.source(unpacked),
        tables=tables,
        keeps=tuple(_keep(keep, where) for keep in facts.keep),
    )


@dataclass(frozen=True, kw_only=True)
class OwnMap:
    """What a user's TOML file says: of a corpus of several files, or of the columns of one file (`map.toml`)."""

    path: Path
    facts: OwnFile
    whole: ColumnMap | None
    """Of one file; None where there are `[[tables]]`."""
    tables: tuple[Tables, ...]
    keeps: tuple[Keep, ...] | None
    """None: every column that the map does not name is kept, as text."""

    def fitting(self, name: str) -> tuple[Tables, Mapping[str, str]] | None:
        """Return the first table that the path of a file fits, with what the path says; None where none does."""
        result = ((tables, tables.fields(name)) for tables in self.tables)
        return next(((tables, fields) for tables, fields in result if fields is not None), None)


def read_map(path: Path) -> OwnMap:
    """Return what a TOML file says of a user's corpus.

    Raises:
        UnknownNameError: a key that there is not, a schema column or a layout.
        CorpusError: it is no TOML, or something in it is not as expected; the message says what.
    """
    where = str(path)
    with reading(path, CorpusError, saying="not TOML", remedy="correct it"):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    of_corpus = [name for name in OwnFile.model_fields if name not in KEYS]
    for key in document:
        if key not in (*KEYS, *of_corpus):
            raise unknown_name(f"key in {where}", key, (*KEYS, *of_corpus))
    facts = OwnFile.of({key: document[key] for key in of_corpus if key in document}, where=where, error=CorpusError)
    mapped = {key: value for key, value in document.items() if key in KEYS}
    if facts.tables and mapped:
        raise CorpusError(f"{where}: {', '.join(mapped)} beside [[tables]]; put them into the tables that they are of")
    own = OwnMap(
        path=path,
        facts=facts,
        whole=None if facts.tables else map_of(mapped, where),
        tables=tuple(_tables(table, where) for table in facts.tables),
        keeps=tuple(_keep(keep, where) for keep in facts.keep) if facts.keep else None,
    )
    for column_map in (own.whole, *(entry.map for entry in own.tables)):
        if column_map is not None and (facts.ratings is not None or column_map.rater):
            (facts.ratings or RatingRules()).check_whole(column_map, where)
    return own


def _tables(table: Mapping[str, Any], where: str) -> Tables:
    where = f"{where}, [[tables]]"
    keys = ("path", "archive", "password", "id")
    for key in table:
        if key not in (*KEYS, *keys):
            raise unknown_name(f"key in {where}", key, (*KEYS, *keys))
    if others := [key for key in keys if not isinstance(table.get(key, ""), str)]:
        raise CorpusError(f"{where}: {others[0]} is {table[others[0]]!r:.80}; expected a text")
    if not table.get("path"):
        raise CorpusError(f'{where}: path is missing; expected path = "FOLDER/{{subset}}.csv", or one file\'s name')
    names = _FIELD.findall(table["path"])
    if twice := [name for name in names if names.count(name) > 1]:
        raise CorpusError(
            f"{where}: {{{twice[0]}}} occurs twice in path {table['path']!r}; give each a name of its own"
        )
    tables = Tables(
        path=table["path"],
        archive=table.get("archive", ""),
        password=table.get("password", ""),
        map=map_of({key: value for key, value in table.items() if key in KEYS}, f"{where} {table['path']}"),
        id=table.get("id", ""),
    )
    known = {*names, *(("tag",) if "language" in names else ())}
    for text in (*tables.map.fixed.values(), tables.id):
        for name in _FIELD.findall(text):
            if name not in (known if text != tables.id else {*known, "n", "pair_id", "contrast"}):
                raise unknown_name(f"field of path {tables.path!r} in {where}", name, known)
    return tables


def _keep(table: Mapping[str, Any], where: str) -> Keep:
    keys = ("name", "type", "meaning", "column", "columns", "by_side")
    for key in table:
        if key not in keys:
            raise unknown_name(f"key in {where}, [[keep]]", key, keys)
    if not isinstance(table.get("name"), str):
        raise CorpusError(f"{where}, [[keep]]: name is missing; expected the column's name in the corpus")
    kind = table.get("type", "string")
    if kind not in get_args(ColumnType):
        raise CorpusError(f"{where}, [[keep]] {table['name']!r}: type {kind!r}, expected one of {get_args(ColumnType)}")
    return Keep(
        name=table["name"],
        type=kind,
        meaning=table.get("meaning", "a column of your file"),
        column=table.get("column", "" if "columns" in table else table["name"]),
        columns=tuple(table.get("columns", ())),
        by_side=table.get("by_side", False),
    )


def typed(cell: object, kind: ColumnType) -> Scalar:
    """Return a cell as its column has it, None for an empty one.

    >>> typed("3.0", "int32"), typed("", "float64"), typed("True", "bool")
    (3, None, True)
    """
    if cell is None or cell == "":
        return None
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


GOOD_FIRST = "good-first"
KEYS = ("layout", "pair", "order", "contrasts", "reading", "columns", "fixed", "values", "label")
OF_A_JUDGMENT = ("rater", "rating")
"""What a map names of a table with one row per judgment."""
LABEL_KEYS = ("column", "sides", "first", "second", "good", "bad")
READING_KEYS = ("encoding", "delimiter", "quotes", "header", "sheet", "mends")


def map_of(document: Mapping[str, Any], where: str) -> ColumnMap:
    """Return the map of a TOML table.

    Raises:
        CorpusError: something in it is not as expected; the message says what.
    """
    _check_keys(document, KEYS, where)
    layout = document.get("layout", "pairs")
    if layout not in get_args(Layout):
        raise unknown_name(f"layout in {where}", str(layout), get_args(Layout))
    columns = _texts(document, "columns", where)
    fixed = _texts(document, "fixed", where)
    raters = {name: columns.pop(name, "") for name in OF_A_JUDGMENT}
    if bool(raters["rater"]) != bool(raters["rating"]):
        raise CorpusError(f"{where}: expected rater and rating under [columns], or neither of them")
    pair = _list(document.get("pair", []), "pair", where)
    if item := columns.pop("item", ""):
        pair = pair or ([item] if layout == "long" else [])
        columns.setdefault("pair_id", item)
    names = (*MAPPABLE, *OF_A_JUDGMENT, "item", *(() if layout == "pairs" else OF_A_SIDE))
    for name in (*columns, *fixed):
        if name not in names:
            raise unknown_name(f"schema column in {where}", name, names)
    label = _label(document["label"], layout, where) if "label" in document else None
    result = ColumnMap(
        layout=layout,
        columns=columns,
        fixed=fixed,
        values=_values(document.get("values", {}), where),
        label=label,
        pair=tuple(pair),
        rater=raters["rater"],
        rating=raters["rating"],
        good_first=_good_first(document, where),
        contrasts=tuple(_contrast(entry, where) for entry in document.get("contrasts", ())),
        format=_format(document.get("reading", {}), where),
    )
    _check_whole(result, where)
    return result


def _check_whole(found: ColumnMap, where: str) -> None:
    """Refuse a map that names too little to make items."""
    picked = found.label is not None and found.label.sides is not None
    if found.layout == "pairs":
        if not picked and not {"target_good", "target_bad"} <= found.columns.keys():
            raise CorpusError(
                f"{where}: names no two sides; expected target_good and target_bad under [columns], or [label] with "
                "column, sides, first and second"
            )
        return
    if "sentence" not in found.columns:
        raise CorpusError(f'{where}: layout {found.layout!r} needs sentence = "COLUMN" under [columns]')
    if found.layout == "long" and (found.label is None) != found.good_first:
        raise CorpusError(
            f"{where}: layout 'long' needs [label] with column, good and bad (or contrasts); or order = \"good-first\" "
            "where each two rows that follow one another are a pair, the better one first"
        )


def _good_first(document: Mapping[str, Any], where: str) -> bool:
    order = document.get("order")
    if order not in (None, GOOD_FIRST) or (order and "pair" in document):
        raise CorpusError(f"{where}: order is {order!r}, expected {GOOD_FIRST!r}, and no pair beside it")
    return order == GOOD_FIRST


def _label(table: object, layout: str, where: str) -> Label:
    where = f"{where}, [label]"
    if not isinstance(table, Mapping):
        raise CorpusError(f"{where}: expected a table with column, and which of its values mean what")
    _check_keys(table, LABEL_KEYS, where)
    names = ("first", "second") if layout == "pairs" else ("good", "bad")
    values = [tuple(plain_value(entry) for entry in _list(table.get(name, []), name, where)) for name in names]
    sides = tuple(_list(table.get("sides", []), "sides", where))
    if "column" not in table:
        raise CorpusError(f'{where}: names no column; expected column = "NAME"')
    if layout == "pairs" and (len(sides) != 2 or not all(isinstance(side, str) for side in sides) or not all(values)):
        raise CorpusError(
            f'{where}: expected sides = ["ONE", "OTHER"], and under first and second the label\'s values for '
            "which the one or the other is the better side"
        )
    if layout == "sentences" and not all(values):
        raise CorpusError(f"{where}: expected under good and bad the values that mean acceptable, and not")
    if both := [value for value in values[0] if value in values[1]]:
        raise CorpusError(f"{where}: {both[0]!r} stands under {names[0]} and under {names[1]}; leave one")
    pair = (sides[0], sides[1]) if layout == "pairs" else None
    return Label(column=str(table["column"]), better=values[0], worse=values[1], sides=pair)


def _contrast(pair: object, where: str) -> tuple[str, str]:
    values = _list(pair, "contrasts", where)
    if len(values) != 2:
        raise CorpusError(f"{where}: contrast {pair!r}, expected [label of the better side, label of the worse side]")
    return plain_value(values[0]), plain_value(values[1])


def _format(table: object, where: str) -> TableFormat:
    where = f"{where}, [reading]"
    if not isinstance(table, Mapping):
        raise CorpusError(f"{where}: expected a table with any of {', '.join(READING_KEYS)}")
    _check_keys(table, READING_KEYS, where)
    if not isinstance(table.get("quotes", True), bool):
        raise CorpusError(f"{where}: quotes is {table['quotes']!r}, expected true or false")
    delimiter = str(table.get("delimiter", ""))
    if len(delimiter) > 1:
        raise CorpusError(f"{where}: delimiter {delimiter!r} is more than one character")
    return TableFormat(
        encoding=table.get("encoding"),
        delimiter=delimiter,
        quotes=table.get("quotes", True),
        header=tuple(_list(table.get("header", []), "header", where)),
        sheet=table.get("sheet"),
        mends=tuple(Mend(find=entry["find"], put=entry["put"], flag=entry["flag"]) for entry in table.get("mends", ())),
    )


def _values(table: object, where: str) -> dict[str, dict[str, str]]:
    if not isinstance(table, Mapping):
        raise CorpusError(f"{where}: [values] is no table; expected [values.COLUMN] with what each cell means")
    return {name: _texts(table, name, f"{where}, [values]") for name in table}


def _texts(document: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    table = document.get(name, {})
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise CorpusError(f'{where}: [{name}] holds {table!r:.80}, expected name = "text" a line')
    return dict(table)


def _list(value: object, name: str, where: str) -> list[Any]:
    """Return a list; one value is a list of one."""
    if isinstance(value, Mapping):
        raise CorpusError(f"{where}: {name} is a table, expected a value or a list of values")
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise unknown_name(f"key in {where}", key, known)
