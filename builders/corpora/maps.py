"""Column maps in TOML: `map.toml` beside a file, `--map FILE`, or a table of a corpus. Unknown keys are errors.

In: a table of TOML. Out: a `ColumnMap`, or the `Tables` of a corpus: the files of one kind, with what their paths say.
The keys are those of `docs/column-maps.md`.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import create_model

from pairbank.builders.corpora.column_map import (
    OF_A_SIDE,
    ColumnMap,
    Keep,
    Label,
    Layout,
    MapTable,
    TablesTable,
)
from pairbank.builders.corpora.column_roles import MAPPABLE
from pairbank.builders.corpora.declared import OwnFile
from pairbank.builders.corpora.judgments import RatingRules
from pairbank.builders.ratings import OF_A_TRIAL
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.sources.source import LocatedFile, member_bytes
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import reading

OF_A_JUDGMENT = ("rater", "rating", *(column.name for column in OF_A_TRIAL))
"""What a map names of a table with one row per judgment."""
PATH_FIELD = re.compile(r"\{(\w+)\}")
"""A piece of a path, or of a text that is made of one."""


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

    def matching(self, files: Mapping[str, LocatedFile]) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
        """Yield (path, where it stands, what reads it) of each file, in the order of the paths."""
        if self.archive:
            archive = files[self.archive].path
            pattern = PATH_FIELD.sub("*", self.path)
            is_one, password = (lambda name: self.fields(name) is not None), self.password.encode()
            name = ""
            for name, data in member_bytes(archive, pattern, is_one, password=password):
                yield name, f"{archive}:{name}", functools.partial(bytes, data)
            if not name:
                raise CorpusError(f"{archive}: holds no file like {pattern}; check the archive, or download it again")
            return
        for name in sorted(files):
            if self.fields(name) is not None:
                yield name, str(files[name].path), files[name].path.read_bytes

    def fields(self, path: str) -> dict[str, str] | None:
        """Return what the fields of the path are for one file, None where it is not of this kind."""
        escaped = "".join(
            f"(?P<{part}>[^/]+?)" if is_field else re.escape(part).replace(r"\*", "[^/]*")
            for is_field, part in ((place % 2, part) for place, part in enumerate(PATH_FIELD.split(self.path)))
        )
        result = re.fullmatch(f"(?:.*/)?{escaped}" if self.archive else escaped, path)
        if result is None:
            return None
        named = result.groupdict()
        return named | ({"tag": language_tag(named["language"])} if "language" in named else {})

    def map_of(self, path: str) -> ColumnMap:
        named = self.fields(path) or {}
        fixed = {name: PATH_FIELD.sub(lambda field: named[field[1]], text) for name, text in self.map.fixed.items()}
        escaped = {name: text.replace("{", "{{").replace("}", "}}") for name, text in named.items()}
        return replace(self.map, fixed=fixed, id=PATH_FIELD.sub(lambda field: escaped.get(field[1], field[0]), self.id))


def tables_of(table: TablesTable, where: str) -> Tables:
    where = f"{where}, [[tables]]"
    names = PATH_FIELD.findall(table.path)
    if twice := [name for name in names if names.count(name) > 1]:
        raise CorpusError(f"{where}: {{{twice[0]}}} occurs twice in path {table.path!r}; give each a name of its own")
    tables = Tables(
        path=table.path,
        archive=table.archive,
        password=table.password,
        map=map_of(table, f"{where} {table.path}"),
        id=table.id,
    )
    known = {*names, *(("tag",) if "language" in names else ())}
    for text in (*tables.map.fixed.values(), tables.id):
        for name in PATH_FIELD.findall(text):
            if name not in (known if text != tables.id else {*known, "n", "pair_id", "contrast"}):
                raise unknown_name(f"field of path {tables.path!r} in {where}", name, known)
    return tables


def map_of(table: MapTable, where: str) -> ColumnMap:
    columns = dict(table.columns)
    raters = {name: columns.pop(name, "") for name in OF_A_JUDGMENT}
    if bool(raters["rater"]) != bool(raters["rating"]):
        raise CorpusError(f"{where}: expected rater and rating under [columns], or neither of them")
    of_trial = {column.name: raters[column.name] for column in OF_A_TRIAL if raters[column.name]}
    if of_trial and not raters["rater"]:
        raise CorpusError(f"{where}: {', '.join(of_trial)} under [columns] needs rater and rating beside it")
    pair = table.pair
    if item := columns.pop("item", ""):
        pair = pair or ((item,) if table.layout == "long" else ())
        columns.setdefault("pair_id", item)
    names = (*MAPPABLE, *OF_A_JUDGMENT, "item", *(() if table.layout == "pairs" else OF_A_SIDE))
    for name in (*columns, *table.fixed):
        if name not in names:
            raise unknown_name(f"schema column in {where}", name, names)
    if table.order and "pair" in table.model_fields_set:
        raise CorpusError(f"{where}: expected order or pair, not both")
    result = ColumnMap(
        layout=table.layout,
        columns=columns,
        fixed=table.fixed,
        values=table.values,
        where=table.where,
        label=None if table.label is None else _checked(table.label, table.layout, f"{where}, [label]"),
        pair=pair,
        rater=raters["rater"],
        rating=raters["rating"],
        of_trial=of_trial,
        good_first=table.order is not None,
        contrasts=table.contrasts,
        format=table.reading,
    )
    _check_whole(result, where)
    return result


def _check_whole(column_map: ColumnMap, where: str) -> None:
    picked = column_map.label is not None and column_map.label.sides is not None
    if column_map.layout == "pairs":
        if not picked and not {"target_good", "target_bad"} <= column_map.columns.keys():
            raise CorpusError(
                f"{where}: names no two sides; expected target_good and target_bad under [columns], or [label] with "
                "column, sides, first and second"
            )
        return
    if "sentence" not in column_map.columns:
        raise CorpusError(f'{where}: layout {column_map.layout!r} needs sentence = "COLUMN" under [columns]')
    if column_map.layout == "long" and (column_map.label is None) != column_map.good_first:
        raise CorpusError(
            f"{where}: layout 'long' needs [label] with column, good and bad (or contrasts); or order = \"good-first\" "
            "where each two rows that follow one another are a pair, the better one first"
        )


def _checked(label: Label, layout: Layout, where: str) -> Label:
    """Return a label that says enough for a layout; columns of sides count in `pairs` alone."""
    if layout == "pairs" and not (label.sides and label.first and label.second):
        raise CorpusError(
            f'{where}: expected sides = ["ONE", "OTHER"], and under first and second the label\'s values for '
            "which the one or the other is the better side"
        )
    label = label if layout == "pairs" else label.model_copy(update={"sides": None})
    if layout == "sentences" and not (label.better and label.worse):
        raise CorpusError(f"{where}: expected under good and bad the values that mean acceptable, and not")
    if both := [value for value in label.better if value in label.worse]:
        names = "first and under second" if label.sides else "good and under bad"
        raise CorpusError(f"{where}: {both[0]!r} is under {names}; leave one")
    return label


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

    def map_of(self, path: str, name: str) -> ColumnMap | None:
        """Return the map of the first `[[tables]]` that the path of a file fits; None where none does."""
        tables = next((tables for tables in self.tables if tables.fields(path) is not None), None)
        if tables is not None and tables.archive:
            raise CorpusError(f"{self.path}: {name} is in an archive; unpack it and leave out archive")
        return None if tables is None else tables.map_of(path)


def read_map(path: Path) -> OwnMap:
    with reading(path, CorpusError, saying="not TOML", remedy="correct it"):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    return own_map(document, path)


def own_map(document: Mapping[str, Any], path: Path) -> OwnMap:
    """Return what a table of TOML says, `path` being that of its file, or of the table that it describes."""
    where = str(path)
    mapped = {key: value for key, value in document.items() if key in MapTable.model_fields}
    known = MapTable.model_fields.keys() | OwnFile.model_fields.keys()
    for key in document:
        if key not in known:
            raise unknown_name(f"key in {where}", key, known)
    facts = OwnFile.of({key: document[key] for key in document if key not in mapped}, where=where, error=CorpusError)
    if facts.tables and mapped:
        raise CorpusError(f"{where}: {', '.join(mapped)} beside [[tables]]; put them into the tables that they are of")
    own = OwnMap(
        path=path,
        facts=facts,
        whole=None if facts.tables else map_of(MapTable.of(mapped, where=where, error=CorpusError), where),
        tables=tuple(tables_of(table, where) for table in facts.tables),
        keeps=facts.keep or None,
    )
    for column_map in (own.whole, *(tables.map for tables in own.tables)):
        if column_map is not None and (facts.ratings is not None or column_map.rater):
            (facts.ratings or RatingRules()).check_whole(column_map, where)
    return own


def map_schema() -> dict[str, Any]:
    """Return the JSON Schema of a user's map: the keys of a column map, and those that say what the corpus is."""
    facts: Any = {k: (info.annotation, info) for k, info in OwnFile.model_fields.items() if k != "columns"}
    return create_model("MapFile", __base__=MapTable, **facts).model_json_schema()
