"""Corpora that are only a mapping: `data/corpora/<name>.toml` states facts and a column map for each kind of file.

A file is read by the first table that its path fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pairbank.builders.corpora.column_map import ColumnMap, Keep, NumberedRows, ShapedRow
from pairbank.builders.corpora.corpus import BuildOptions, Corpus, RatedRows, items_of, judged_items_of
from pairbank.builders.corpora.declared import CorpusFile, facts_of
from pairbank.builders.corpora.judgments import Judgments
from pairbank.builders.corpora.maps import tables_of
from pairbank.builders.corpora.tabular_items import LABEL, mapped_item
from pairbank.builders.ratings import Rated, Raters, judged
from pairbank.builders.schema.columns import Column, Item, Scalar
from pairbank.builders.sources.formats import table_rows_of
from pairbank.builders.sources.readers import refuse
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError
from pairbank.files import reading

LABELS = Column(name=LABEL, type="int32", nullable=False, meaning="1 = acceptable, 0 = not")


def kept_cells(keeps: Iterable[Keep], shaped: ShapedRow, where: str) -> dict[str, Scalar]:
    return {name: cell for keep in keeps for name, cell in keep.cells(shaped, where).items()}


@dataclass(frozen=True, kw_only=True)
class CorpusMap:
    name: str
    facts: CorpusFile
    tables: tuple[ColumnMap, ...]

    def rated(self, files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
        """Yield the items with their ratings, tables in the order of the map, files in that of their paths."""
        rules, raters, seen = self.facts.ratings, Raters(), set[str]()
        for place, tables in enumerate(self.tables):
            for path, where, read in tables.matching(files):
                if any(table.archive == tables.archive and table.fits(path) for table in self.tables[:place]):
                    continue
                column_map = tables.of_file(path)
                subset = column_map.fixed.get("subset")
                if options.subset is not None and "subset" not in column_map.columns and options.subset != subset:
                    continue
                with reading(where, CorpusError):
                    data = read()
                table_rows = table_rows_of(data, Path(path).suffix, column_map.reading, where)
                rows: NumberedRows = (
                    column_map.chosen(table_rows, where, lambda _why: None) if column_map.where else table_rows
                )
                if column_map.rater and rules is not None:
                    judgments = Judgments(rules=rules)
                    judgments.add(column_map, rows, where)
                    for fault in judgments.faults:
                        raise fault
                    rows = judgments.rows(where)
                for n, shaped in enumerate(column_map.shaped(rows, where, refuse), 1):
                    seen |= shaped.good.keys() if n == 1 else set()
                    at = f"{where}, row {shaped.number}"
                    item = self._item(shaped, column_map.number(shaped, n), at)
                    if options.subset in (None, item.subset):
                        yield judged(item, rules.ratings(item.item_id, shaped, column_map, at, raters) if rules else ())
        kept = {name for keep in self.facts.keep for name in (keep.columns or (keep.read_from,))}
        if options.subset is None and seen and (missing := kept - seen):
            raise CorpusError(f"corpus {self.name!r}: no file has the column {sorted(missing)[0]!r} that its map keeps")

    def _item(self, shaped: ShapedRow, number: str, where: str) -> Item:
        extra = kept_cells(self.facts.keep, shaped, where)
        return mapped_item(
            shaped, lambda subset, _: f"{self.name}/{subset}/{number}", where, corpus=self.name, extra=extra
        )

    def corpus(self, rated: RatedRows | None = None) -> Corpus:
        rated_rows: RatedRows = rated or self.rated
        has_ratings = rated is not None or self.facts.ratings is not None
        labels = (LABELS,) if any(t.layout == "sentences" and t.label for t in self.tables) else ()
        return replace(
            self.facts.corpus_of(self.name, (judged_items_of if has_ratings else items_of)(rated_rows)),
            rated=rated_rows if has_ratings else None,
            subset_files=self._subset_files(),
            extra_columns=(*labels, *(x for keep in self.facts.keep for x in keep.made), *self.facts.extra_columns),
        )

    def _subset_files(self) -> dict[str, tuple[str, ...]]:
        """Return subset -> its files, where the path of every file says its subset."""
        results: dict[str, list[str]] = {}
        for name, file in self.facts.files.items():
            tables = next((table for table in self.tables if not table.archive and table.fits(name)), None)
            if tables is None and file.by_hand:
                continue
            subset = "" if tables is None else tables.of_file(name).fixed.get("subset", "")
            if not subset:
                return {}
            results.setdefault(subset, []).append(name)
        return {subset: tuple(names) for subset, names in results.items()} if len(results) > 1 else {}


def corpus_map(name: str) -> CorpusMap:
    facts = facts_of(name)
    where = f"corpora/{name}.toml"
    tables = tuple(tables_of(table, where) for table in facts.tables)
    return CorpusMap(name=name, facts=facts, tables=tables)


def rating_value(text: object, where: str) -> float:
    try:
        return float(str(text))
    except ValueError as error:
        raise CorpusError(f"{where}: rating {text!r} is no number; get the file again") from error
