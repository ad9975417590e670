"""Column maps in TOML: `map.toml` beside a file, `--map FILE`, or a table of a corpus (`docs/column-maps.md`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import create_model

from pairbank.builders.corpora.column_map import (
    OF_A_SIDE,
    PATH_FIELD,
    ColumnMap,
    Keep,
    Label,
    Layout,
    MapTable,
    TablesTable,
)
from pairbank.builders.corpora.column_roles import MAPPABLE
from pairbank.builders.corpora.declared import CorpusFile
from pairbank.builders.corpora.judgments import RatingRules
from pairbank.builders.ratings import OF_A_TRIAL
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import reading

OF_A_JUDGMENT = ("rater", "rating", *(column.name for column in OF_A_TRIAL))


def tables_of(table: TablesTable, where: str) -> ColumnMap:
    where = f"{where}, [[tables]]"
    names = PATH_FIELD.findall(table.path)
    if twice := [name for name in names if names.count(name) > 1]:
        raise CorpusError(f"{where}: {{{twice[0]}}} occurs twice in path {table.path!r}; give each a name of its own")
    result = map_of(table, f"{where} {table.path}")
    known = {*names, *(("tag",) if "language" in names else ())}
    for text in (*table.fixed.values(), table.id):
        for name in PATH_FIELD.findall(text):
            if name not in (known if text != table.id else {*known, "n", "pair_id", "contrast"}):
                raise unknown_name(f"field of path {table.path!r} in {where}", name, known)
    return result


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
    label = None if table.label is None else _checked(table.label, table.layout, f"{where}, [label]")
    of_raters = {"rater": raters["rater"], "rating": raters["rating"], "of_trial": of_trial}
    result = ColumnMap(**(dict(table) | of_raters | {"columns": columns, "label": label, "pair": pair}))
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
    if column_map.layout == "long" and (column_map.label is None) != (column_map.order is not None):
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
    facts: CorpusFile = field(default_factory=CorpusFile)
    whole: ColumnMap | None = None
    """Of one file; None where there are `[[tables]]`."""
    tables: tuple[ColumnMap, ...] = ()
    keeps: tuple[Keep, ...] | None = None
    """None: every column that the map does not name is kept, as text."""

    def map_of(self, path: str, name: str) -> ColumnMap | None:
        """Return the map of the first `[[tables]]` that the path of a file fits; None where none does."""
        tables = next((tables for tables in self.tables if tables.fits(path)), None)
        if tables is not None and tables.archive:
            raise CorpusError(f"{self.path}: {name} is in an archive; unpack it and leave out archive")
        return None if tables is None else tables.of_file(path)


def read_map(path: Path) -> OwnMap:
    with reading(path, CorpusError, saying="not TOML", remedy="correct it"):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    return own_map(document, path)


def own_map(document: Mapping[str, Any], path: Path) -> OwnMap:
    where = str(path)
    mapped = {key: value for key, value in document.items() if key in MapTable.model_fields}
    known = MapTable.model_fields.keys() | CorpusFile.model_fields.keys()
    for key in document:
        if key not in known:
            raise unknown_name(f"key in {where}", key, known)
    facts = CorpusFile.of({key: document[key] for key in document if key not in mapped}, where=where, error=CorpusError)
    if facts.tables and mapped:
        raise CorpusError(f"{where}: {', '.join(mapped)} beside [[tables]]; put them into the tables that they are of")
    own = OwnMap(
        path=path,
        facts=facts,
        whole=None if facts.tables else map_of(MapTable.of(mapped, where=where, error=CorpusError), where),
        tables=tuple(tables_of(table, where) for table in facts.tables),
        keeps=facts.keep or None,
    )
    for column_map in (own.whole, *own.tables):
        if column_map is not None and (facts.ratings is not None or column_map.rater):
            (facts.ratings or RatingRules()).check_whole(column_map, where)
    return own


def map_schema() -> dict[str, Any]:
    """Return the JSON Schema of a user's map: the keys of a column map, and those that say what the corpus is."""
    facts: Any = {k: (info.annotation, info) for k, info in CorpusFile.model_fields.items() if k != "columns"}
    return create_model("MapFile", __base__=MapTable, **facts).model_json_schema()
