"""TurBLiMP: Turkish minimal pairs, and ratings by 30 native speakers. Başar et al. 2025, EMNLP.

In: the pairs (read by the corpus's TOML file) and three workbooks: the two versions of a survey, row by row the
two sides of a pair, and the ratings, a rater a row and a sentence a column, first those of version 1, then those of 2.
Out: one item a pair; the survey is a subset of its own, in which each rater judged one side of every pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.corpus_map import corpus_map, rating_value
from pairbank.builders.ratings import Rated, Rating, Side, judged
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.sheets import sheet_rows
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

MATERIAL = "human_judgments/survey_material.xlsx"
JUDGMENTS = ("human_judgments/base_judgments.xlsx", "human_judgments/experimental_judgments.xlsx")
VERSIONS = ("v1", "v2")
SURVEY, SCALE = "survey", "likert7"
Sentence = tuple[str, str, Side]
"""Text, phenomenon, side."""

_MAP = corpus_map("turblimp")


def rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the pairs of the map, then those of the survey with their ratings."""
    yield from _MAP.rated(files, options)
    if wanted(SURVEY, options):
        yield from _survey(files)


def _survey(files: Mapping[str, LocatedFile]) -> Iterator[Rated]:
    versions = [_version(files[MATERIAL], version) for version in VERSIONS]
    ratings = _ratings(files, versions)
    for number, sides in enumerate(zip(*versions, strict=True), 1):
        texts = {side: text for text, _, side in sides}
        phenomena = {phenomenon for _, phenomenon, _ in sides}
        if len(texts) != 2 or len(phenomena) != 1:
            raise CorpusError(f"{files[MATERIAL].path}, row {number + 1}: {sides}, expected both sides of one pair")
        item = Item(
            item_id=f"turblimp/{SURVEY}/{number}",
            corpus="turblimp",
            subset=SURVEY,
            language="tr",
            task="sentence_pair",
            phenomenon=phenomena.pop().casefold(),
            paradigm=SURVEY,
            target_good=texts["good"],
            context_bad="",
            target_bad=texts["bad"],
            extra=dict.fromkeys(column for keep in _MAP.keeps for column in (created.name for created in keep.made)),
        )
        result = (
            Rating(item_id=item.item_id, side=side, rater=rater, value=value, scale=SCALE)
            for side, rater, value in ratings[number - 1]
        )
        yield judged(item, result)


def _version(file: LocatedFile, version: str) -> list[Sentence]:
    sentences: list[Sentence] = []
    for number, cells in sheet_rows(file.path, version):
        if number == 1:
            continue
        if len(cells) != 3 or cells[2] not in ("good", "bad"):
            raise CorpusError(
                f"{file.path}, sheet {version}, row {number}: {cells}, expected text, phenomenon, good or bad"
            )
        sentences.append((cells[0], cells[1], "good" if cells[2] == "good" else "bad"))
    return sentences


def _ratings(
    files: Mapping[str, LocatedFile], versions: list[list[Sentence]]
) -> Mapping[int, list[tuple[Side, int, float]]]:
    """Return place of a pair in the survey -> side, rater and value of each rating."""
    results: dict[int, list[tuple[Side, int, float]]] = defaultdict(list)
    saw: dict[int, set[int]] = defaultdict(set)
    first = 0
    for name in JUDGMENTS:
        path = files[name].path
        rows = [cells for _, cells in sheet_rows(path)]
        labels, n = rows[1], len(rows[1]) // 2
        for place, label in enumerate(labels):
            _, phenomenon, side = versions[place // n][first + place % n]
            if label != f"{phenomenon}_{side}":
                raise CorpusError(f"{path}, column {place + 1}: {label!r}, where the survey has {phenomenon}_{side}")
        for rater, cells in enumerate(rows[2:]):
            for place, text in enumerate(cells):
                if text:
                    side = versions[place // n][first + place % n][2]
                    value = rating_value(text, f"{path}, row {rater + 3}")
                    results[first + place % n].append((side, rater, value))
                    saw[rater].add(place // n)
        first += n
    if both := [rater for rater, seen in saw.items() if len(seen) > 1]:
        raise CorpusError(
            f"{files[JUDGMENTS[0]].path}, row {both[0] + 3}: ratings of both versions; expected one a rater"
        )
    return results


TURBLIMP = _MAP.corpus(rated)
