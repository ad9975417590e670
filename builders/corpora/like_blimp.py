"""Pairs in the manner of BLiMP: ZhoBLiMP, SLING, TurBLiMP, BLiMP-NL. Files in, one item per pair out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of, items_of
from pairbank.builders.corpora.corpus_map import corpus_map, rating_value
from pairbank.builders.corpora.declared import declared
from pairbank.builders.ratings import Rated, Side, judged, rating_of
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.sheets import read_sheet
from pairbank.builders.sources.source import LocatedFile, member_rows
from pairbank.errors import CorpusError

ZHOBLIMP_ARCHIVE = "ZhoBLiMP.tar.gz"
ZHOBLIMP_PATTERN = "ZhoBLiMP/*.jsonl"
ZHOBLIMP_HUMAN = "human_validation_result.csv"
ZHOBLIMP_REQUIRED = ("UID", "phenomenon", "sentence_good", "sentence_bad", "pairID")
SLING_ARCHIVE = "SLING_Data.tar.gz"
SLING_PATTERN = "SLING_Data/**/*.jsonl"
LATER_ADDITION = "reflexive_"
SLING_REQUIRED = ("sentence_good", "sentence_bad", "phenomenon", "paradigm", "pair_ID", "field")
REPAIRED_PARADIGM = "repaired:paradigm_name"
UNTOLD_PARADIGM = "Plural"
MATERIAL = "human_judgments/survey_material.xlsx"
JUDGMENTS = ("human_judgments/base_judgments.xlsx", "human_judgments/experimental_judgments.xlsx")
VERSIONS = ("v1", "v2")
SURVEY, SCALE = "survey", "likert7"
ARGUMENTS = "argument_structure"
Sentence = tuple[str, str, Side]
"""Text, phenomenon, side."""
_MAP = corpus_map("turblimp")
_BLIMP_NL = corpus_map("blimp-nl")
NAMED_TWICE = ("island", "resumptive_prolepsis")
"""Names that two and three of BLiMP-NL's 84 paradigms share, in different phenomena."""


def zhoblimp_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items of all paradigms asked for, paradigms in alphabetical order.

    The counts of the human validation are of a paradigm, not of a sentence: they go into the manifest.
    """
    asked = partial(is_requested, options=options)
    for uid, row, where in member_rows(files[ZHOBLIMP_ARCHIVE].path, ZHOBLIMP_PATTERN, ZHOBLIMP_REQUIRED, asked):
        if row["UID"] != uid or uid not in ZHOBLIMP.subsets:
            raise CorpusError(
                f"{where}: UID is {row['UID']!r}, expected the file's name, one of the {len(ZHOBLIMP.subsets)} "
                "released paradigms; take away other files"
            )
        yield item_of(
            ("zhoblimp", uid, row["pairID"]),
            row["sentence_good"],
            row["sentence_bad"],
            language="zh",
            phenomenon=row["phenomenon"],
            paradigm=uid,
            pair_id=str(row["pairID"]),
        )


def zhoblimp_metadata(files: Mapping[str, LocatedFile]) -> Mapping[str, object]:
    """Return how often people chose the better sentence, a paradigm: the 118 released and those left out for it."""
    located = files.get(ZHOBLIMP_HUMAN)
    if located is None:
        return {}
    counts: dict[str, dict[str, int]] = {}
    for line, row in read_delimited(located.path, ("UID", "correct", "total")):
        where = f"{located.path}, row {line}"
        if not (row["correct"].isdecimal() and row["total"].isdecimal()):
            raise CorpusError(f"{where}: {row['correct']!r} of {row['total']!r}, expected two whole numbers")
        counts[row["UID"]] = {"n_correct": int(row["correct"]), "n_judgments": int(row["total"])}
    return {
        "human_forced_choice_by_paradigm": {uid: count for uid, count in counts.items() if uid in ZHOBLIMP.subsets},
        "human_forced_choice_of_excluded": {uid: count for uid, count in counts.items() if uid not in ZHOBLIMP.subsets},
    }


def sling_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items of all paradigms asked for, files in alphabetical order.

    The `reflexive_*` folders, added for another paper in 2024, are left alone. The twelve `Anaphor/Plural` files all
    give "Plural" as paradigm: it becomes the file's name unless `repair=False` (`paradigm_source`).
    """
    path, asked = files[SLING_ARCHIVE].path, partial(is_requested, options=options)
    for stem, row, where in member_rows(path, SLING_PATTERN, SLING_REQUIRED, asked, without=f"/{LATER_ADDITION}"):
        reported = row["paradigm"] == stem
        if stem not in SLING.subsets or not (reported or row["paradigm"] == UNTOLD_PARADIGM):
            raise CorpusError(
                f"{where}: paradigm is {row['paradigm']!r}, expected the file's name, one of SLING's "
                f"{len(SLING.subsets)}; take away other files"
            )
        is_repaired = options.repair and not reported
        yield item_of(
            ("sling", stem, row["pair_ID"]),
            row["sentence_good"],
            row["sentence_bad"],
            language="zh",
            phenomenon=row["phenomenon"],
            paradigm=stem if is_repaired else row["paradigm"],
            pair_id=str(row["pair_ID"]),
            flags=(REPAIRED_PARADIGM,) if is_repaired else (),
            extra={"field": row["field"], "paradigm_source": row["paradigm"] if is_repaired else None},
        )


def turblimp_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the pairs of the map, then those of the survey with their ratings.

    A row of the survey's two versions has the two sides of a pair. Two workbooks of ratings have a rater a row and a
    sentence a column, first version 1, then version 2. Each rater judged one side of every pair.
    """
    yield from _MAP.rated(files, options)
    if not is_requested(SURVEY, options):
        return
    versions = [_version(files[MATERIAL], version) for version in VERSIONS]
    ratings = _ratings(files, versions)
    for number, sides in enumerate(zip(*versions, strict=True), 1):
        texts = {side: text for text, _, side in sides}
        phenomena = {phenomenon for _, phenomenon, _ in sides}
        if len(texts) != 2 or len(phenomena) != 1:
            raise CorpusError(f"{files[MATERIAL].path}, row {number + 1}: {sides}, expected both sides of one pair")
        paradigm = survey_paradigm(phenomena.pop().casefold())
        item = item_of(
            ("turblimp", SURVEY, number),
            texts["good"],
            texts["bad"],
            language="tr",
            phenomenon=ARGUMENTS if paradigm.startswith(ARGUMENTS) else paradigm,
            paradigm=paradigm,
            extra=dict.fromkeys(column.name for keep in _MAP.facts.keep for column in keep.made),
        )
        given = ratings[number - 1]
        yield judged(item, (rating_of(item, rater, value, SCALE, side=side) for side, rater, value in given))


def survey_paradigm(label: str) -> str:
    """Return the paradigm that a label of the survey stands for, named as in the other subsets.

    >>> [survey_paradigm(label) for label in ("binding", "transitive_ovs", "ditransitive_dik", "subject_agreement")]
    ['binding', 'argument_structure_transitive_OVS', 'argument_structure_ditransitive_dik', 'subject_verb_agreement']
    """
    verb, _, kind = label.partition("_")
    if verb in ("transitive", "ditransitive"):
        return f"{ARGUMENTS}_{verb}_{kind.upper() if set(kind) == set('sov') else kind}"
    return {"subject_agreement": "subject_verb_agreement"}.get(label, label)


def _version(file: LocatedFile, version: str) -> list[Sentence]:
    sentences: list[Sentence] = []
    for number, cells in read_sheet(file.path, version).rows:
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
    results: dict[int, list[tuple[Side, int, float]]] = defaultdict(list)
    saw: dict[int, set[int]] = defaultdict(set)
    first = 0
    for name in JUDGMENTS:
        path = files[name].path
        rows = [cells for _, cells in read_sheet(path).rows]
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


def blimp_nl_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs of the map; paradigms that share a name are told apart by their numbers."""
    for item in items_of(_BLIMP_NL.rated)(files, options):
        number = item.extra["paradigm_number"]
        yield replace(item, paradigm=f"{item.paradigm}_{number}") if item.paradigm in NAMED_TWICE else item


ZHOBLIMP = declared("zhoblimp", zhoblimp_rows, metadata=zhoblimp_metadata)
SLING = declared("sling", sling_rows)
TURBLIMP = _MAP.corpus(turblimp_rated)
BLIMP_NL = replace(_BLIMP_NL.corpus(), rows=blimp_nl_rows)
