"""ItaCoLA: 9,722 Italian sentences, labelled acceptable or not. Trotta et al. 2021, Findings of EMNLP.

In: three TSV files: all sentences (read by the corpus's TOML file), the judgments of players of a game, and nine
phenomena. Out: one item a sentence; the players are raters, their identifiers numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.corpus_map import corpus_map, rating_value
from pairbank.builders.ratings import BINARY, Rated, Raters, Rating, judged
from pairbank.builders.sources.source import LocatedFile
from pairbank.builders.sources.table_format import TableFormat, table_rows_of
from pairbank.errors import CorpusError

PLAYERS = "ItaCoLA_dataset_non-expertannotations.tsv"
PHENOMENA = "ItaCoLA_dataset_phenomenon.tsv"
NOT_PHENOMENA = ("UniqueIndexID", "Source", "Acceptability", "Sentence")
PLAIN = TableFormat(quotes=False)
Row = Mapping[str, str]

_MAP = corpus_map("itacola")


def rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the sentences of the map, with the players' ratings and the phenomena of those that have them."""
    players, phenomena = _by_id(files[PLAYERS], "UniqueIndexID_ItaCoLA"), _by_id(files[PHENOMENA], "UniqueIndexID")
    raters = Raters()
    numbers = {
        row["PlayersID"]: [raters.number(who) for who in row["PlayersID"].split(",")] for row in players.values()
    }
    for result in _MAP.rated(files, options):
        item = result.item
        played, shown = players.get(item.pair_id or ""), phenomena.get(item.pair_id or "")
        for row in (played, shown):
            if row is not None and row["Sentence"] != item.target_good:
                raise CorpusError(
                    f"{item.item_id}: another file has {row['Sentence']!r} under this id; get all three again"
                )
        names = (
            [] if shown is None else [name for name, cell in shown.items() if name not in NOT_PHENOMENA and cell == "1"]
        )
        item = replace(item, extra={**item.extra, "phenomena": ", ".join(names) or None})
        yield judged(item, () if played is None else _ratings(item.item_id, played, numbers[played["PlayersID"]]))


def _ratings(item_id: str, row: Row, raters: list[int]) -> Iterator[Rating]:
    values = row["DisaggragatedAnnotations"].split(",")
    if len(values) != len(raters):
        raise CorpusError(f"{item_id}: {len(values)} judgments of {len(raters)} players; get {PLAYERS} again")
    for rater, value in zip(raters, values, strict=True):
        where = f"{PLAYERS}, {item_id}"
        yield Rating(item_id=item_id, side="good", rater=rater, value=rating_value(value, where), scale=BINARY)


def _by_id(file: LocatedFile, column: str) -> dict[str, Row]:
    rows = table_rows_of(file.path.read_bytes(), ".tsv", PLAIN, str(file.path))
    return {row[column]: row for _, row in rows}


ITACOLA = _MAP.corpus(rated)
