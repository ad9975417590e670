"""What a user's TOML file says of a corpus, or of the columns of one file. In: its path. Out: an `OwnMap`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import create_model

from pairbank.builders.corpora.column_map import ColumnMap, Keep, MapTable
from pairbank.builders.corpora.declared import OwnFile
from pairbank.builders.corpora.judgments import RatingRules
from pairbank.builders.corpora.maps import Tables, map_of, tables_of
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import reading


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
    """Return what a TOML file says of a user's corpus."""
    where = str(path)
    with reading(path, CorpusError, saying="not TOML", remedy="correct it"):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
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
