"""Knowledge of events and of the world: DTFit, EventsAdapt, EWoK, social relations. Files in, one item a pair out."""

from __future__ import annotations

import io
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.column_use import words_of
from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.corpus_map import corpus_map, rating_value
from pairbank.builders.corpora.declared import declared
from pairbank.builders.ratings import Rated, Raters, Rating, Side, judged, rating_of
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import named_rows, read_delimited, records
from pairbank.builders.sources.source import LocatedFile, member_bytes
from pairbank.errors import CorpusError, CorpusFileNotFoundError

PAIRS, RATED = "corpus.csv", "clean_DTFit_human_dat.csv"
LABELS = {"good": "Plausible", "bad": "Implausible"}
OF_SIDES = tuple(f"{side}_{cell}" for side in LABELS for cell in ("continuation", "human_score"))
HUMAN_CONTRADICTS = "human_contradicts"
"""Flag: people rate the side that was meant to be worse higher."""
HUMAN_TIE = "human_tie"
"""Flag: people rate both sides alike."""
KAUF_RATINGS = "single_sentences/EventsAdapt/clean_EventsAdapt_human_dat.csv"
KAUF_2024_REQUIRED = ("Score", "ItemNum", "Sentence", "TrialType", "Voice")
RATER_COLUMNS = ("rater", "WorkerId")
SCALE = "plausibility7"
OTHER_TARGETS = "targets_differ"
"""Flag: the two stories end in two sentences, though the design has one."""
_MAP = corpus_map("kauf-2024")
Judgments = Mapping[str, list[tuple[int, float]]]
"""Sentence -> raters and their ratings."""
CSV_FILE, PARQUET_FILE, ZIP_FILE = "ewok-core-1.0.csv", "ewok-core-1.0.parquet", "ewok-core-1.0.zip"
KEY_VARIABLE = "PAIRBANK_EWOK_PASSWORD"
"""Environment variable with the password of the archive: a command line would be in the shell's history."""
EWOK_UNPACKED = {CSV_FILE: "testsuite*.csv", PARQUET_FILE: "test-*.parquet"}
"""Upstream's own names: one CSV a domain, or the Hub's parquet."""
HOMEPAGE = "https://huggingface.co/datasets/ewok-core/ewok-core-1.0"
BY_HAND = f"it is gated: accept the terms of use at {HOMEPAGE}, download your copy"
TEXTS = ("Target1", "Target2", "Context1", "Context2")
DESIGN = ("MetaTemplateID", "TemplateID", "ConceptA", "ConceptB", "TargetDiff", "ContextDiff", "ContextType")
EWOK_REQUIRED = ("Domain", *DESIGN, *TEXTS)
EWOK_EXPECTED = "the header of EWoK-core 1.0 on line 1, or on line 2 below the canary"
Row = Mapping[str, Any]
LIKERT_FILE, CHOICE_FILE = "results-likert.csv", "results-choice.csv"
RELATIONS_UNPACKED = {LIKERT_FILE: "results-likert-*.csv", CHOICE_FILE: "results-choice-*.csv"}
IDENTITY = ("MetaTemplateID", "TemplateID", *TEXTS)
RELATIONS_RATINGS = tuple(f"text_likert_target{target}_context{context}" for target in (1, 2) for context in (1, 2))
CHOICES = ("text_choice_target1", "text_choice_target2")
Key = tuple[str, ...]
_key = itemgetter(*IDENTITY)


def dtfit_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield a continuation pair per frame, in file order.

    A word that `corpus.csv` split off wrongly (item 213) is rebuilt from the rated sentence unless `repair=False`; the
    source's cell is then in `source_good` / `_bad`.
    """
    path, needed = files[PAIRS].path, ("Sentence", "Plausibility", "Score", "ItemNum")
    sentences = (row for _, row in read_delimited(files[RATED].path, needed))
    rated = {(row["ItemNum"], row["Plausibility"]): row["Sentence"] for row in sentences}
    for number, row in read_delimited(path, ("item_id", "prefix", "category", *OF_SIDES)):
        where = f"{path}, row {number}"
        words, human = dict[str, str](), dict[str, float]()
        extra: dict[str, Scalar] = {}
        flags: list[str] = []
        for side, label in LABELS.items():
            source = row[f"{side}_continuation"]
            if (row["item_id"], label) not in rated:
                what = f"{RATED} has no {label} sentence of item {row['item_id']}"
                raise CorpusError(f"{where}: {what}; take both files from one release")
            rebuilt = rebuilt_continuation(row["prefix"], rated[row["item_id"], label], where)
            wrong = rebuilt != source
            words[side] = rebuilt if options.repair else source
            extra[f"source_{side}"] = source if options.repair and wrong else None
            if wrong:
                flags.append(f"{'repaired' if options.repair else 'defect'}:split_{side}")
            cell = row[f"{side}_human_score"]
            human[side] = _mean(cell, f"{where}, {side}_human_score ({cell!r})", 7, "correct the cell")
        if human["good"] <= human["bad"]:
            flags.append(HUMAN_TIE if human["good"] == human["bad"] else HUMAN_CONTRADICTS)
        yield item_of(
            ("dtfit", "all", row["item_id"]),
            words["good"],
            words["bad"],
            task="continuation_pair",
            phenomenon=row["category"],
            context_good=row["prefix"],
            context_bad=row["prefix"],
            human_good=human["good"],
            human_bad=human["bad"],
            human_scale="plausibility7",
            pair_id=row["item_id"],
            flags=tuple(flags),
            extra=extra,
        )


def rebuilt_continuation(prefix: str, sentence: str, where: str) -> str:
    """Return what the rated sentence has after the prefix, without the full stop.

    >>> rebuilt_continuation("The pilot parked the", "The pilot parked the fire engine.", "row 2")
    'fire engine'
    """
    if not sentence.startswith(f"{prefix} "):
        raise CorpusError(
            f"{where}: prefix is {prefix!r}, but the rated sentence is {sentence!r}; take both files from one release"
        )
    return sentence[len(prefix) + 1 :].removesuffix(".")


def _mean(cell: object, where: str, most: int, remedy: str = "take a fresh copy of the file") -> float:
    """Return the mean of answers from 1 to `most` that a cell has; an error does not show it."""
    try:
        mean = float(str(cell))
    except ValueError:
        mean = math.nan
    if not 1 <= mean <= most:
        raise CorpusError(f"{where}: people's mean answer is not a number from 1 to {most}; {remedy}")
    return mean


def kauf_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the pairs of the map, then the sentences of EventsAdapt that are in no pair (reversible events, AAR).

    Upstream publishes the ratings with the workers' identifiers: these are not downloaded, and become numbers.
    """
    judgments, sentences = _judgments(files[KAUF_RATINGS]) if KAUF_RATINGS in files else ({}, {})
    paired: set[str] = set()
    for result in _MAP.rated(
        files, replace(options, subset=None) if options.subset == "events-adapt-reversible" else options
    ):
        item = result.item
        if item.subset == "events-adapt":
            paired |= {item.target_good, item.target_bad or ""}
            result = judged(item, _kauf_ratings(item, judgments)) if judgments else result  # noqa: PLW2901
        elif item.subset == "social-n400":
            result = Rated(item=_story(item))  # noqa: PLW2901
        if is_requested(item.subset, options):
            yield result
    if is_requested("events-adapt-reversible", options):
        for sentence, (number, kind, voice) in sentences.items():
            if sentence not in paired:
                path = ("kauf-2024", "events-adapt-reversible", number)
                item = item_of(path, sentence, phenomenon="plausibility", paradigm=kind, extra={"voice": voice})
                yield judged(item, _kauf_ratings(item, judgments))


def _story(item: Item) -> Item:
    """Return a pair of stories with its task: one target in two contexts, or two targets each in its own."""
    contrast = item.item_id.rsplit("/", 1)[-1].split("-", 1)[-1]
    if not contrast.startswith("critical"):
        return replace(item, task="continuation_pair", paradigm="Control")
    differ = () if item.target_good == item.target_bad else (OTHER_TARGETS,)
    return replace(item, task="context_pair", paradigm="Critical", flags=(*item.flags, *differ))


def _kauf_ratings(item: Item, judgments: Judgments) -> Iterator[Rating]:
    sides: tuple[tuple[Side, str | None], ...] = (("good", item.target_good), ("bad", item.target_bad))
    for side, sentence in sides:
        if sentence is not None and sentence not in judgments:
            raise CorpusError(f"{item.item_id}: {KAUF_RATINGS} has no rating of {sentence!r}; get both files again")
        for rater, value in judgments.get(sentence or "", ()):
            yield rating_of(item, rater, value, SCALE, side=side)


def _judgments(file: LocatedFile) -> tuple[dict[str, list[tuple[int, float]]], dict[str, tuple[str, str, str]]]:
    """Return sentence -> its ratings (a blank one is none), and sentence -> its number, kind and voice."""
    raters = Raters()
    judgments: dict[str, list[tuple[int, float]]] = {}
    sentences: dict[str, tuple[str, str, str]] = {}
    for line, row in read_delimited(file.path, KAUF_2024_REQUIRED):
        who = next((row[name] for name in RATER_COLUMNS if name in row), None)
        if who is None:
            raise CorpusError(f"{file.path}, row {line}: no column {' or '.join(RATER_COLUMNS)}; get the file again")
        result = judgments.setdefault(row["Sentence"], [])
        if row["Sentence"] not in sentences:
            sentences[row["Sentence"]] = (str(len(sentences) + 1), row["TrialType"], row["Voice"])
        number = raters.number(who)
        if row["Score"] != "":
            result.append((number, rating_value(row["Score"], f"{file.path}, row {line}")))
    return judgments, sentences


def ewok_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield two context pairs per item, one a target, items in the order of the copy.

    The user's authorised copy of a gated dataset is CSV (one file, or one a domain), the Hub's parquet, or the
    encrypted zip archive of its repository, with the password in the environment (`KEY_VARIABLE`). The terms of use
    forbid the items in plain text on the internet: nothing here downloads, ships or prints them, and an error names the
    row, never its text.
    """
    result = next((files[name] for name in (CSV_FILE, PARQUET_FILE, ZIP_FILE) if name in files), None)
    if result is None:
        raise CorpusFileNotFoundError(
            f"corpus 'ewok': no copy found; {BY_HAND} and give its folder as data_dir (--data-dir), the file named "
            f"{CSV_FILE}, {PARQUET_FILE} or {ZIP_FILE} (encrypted: its password in {KEY_VARIABLE}), or under "
            f"upstream's names ({', '.join(EWOK_UNPACKED.values())})"
        )
    seen: Counter[tuple[str, str, str]] = Counter()
    for path, numbered in _ewok_tables(result):
        for number, row in numbered:
            item = _checked(row, f"{path}, row {number}")
            key = (item["Domain"], item["MetaTemplateID"], item["TemplateID"])
            seen[key] += 1
            if is_requested(item["Domain"], options):
                identity = f"{key[1]}.{key[2]}.{seen[key]}"
                yield from (_ewok_pair(item, identity, target, f"{path}, row {number}") for target in (1, 2))


def _ewok_tables(located: LocatedFile) -> Iterator[tuple[Path, Iterator[tuple[int, Row]]]]:
    if located.name == ZIP_FILE:
        remedy = (
            f"set {KEY_VARIABLE} to the password that the README of the release names (read -s {KEY_VARIABLE}; export "
            f"{KEY_VARIABLE}), and repeat the command"
        )
        password = os.environ.get(KEY_VARIABLE, "")
        for name, data in member_bytes(located.path, EWOK_UNPACKED[CSV_FILE], password=password, remedy=remedy):
            place = located.path / name
            yield place, _csv_rows(place, data, EWOK_REQUIRED, EWOK_EXPECTED)
        return
    for path in sorted(located.path.glob(EWOK_UNPACKED[located.name])) if located.path.is_dir() else [located.path]:
        is_parquet = path.suffix == ".parquet"
        yield path, _parquet_rows(path) if is_parquet else _csv_rows(path, None, EWOK_REQUIRED, EWOK_EXPECTED)


def _csv_rows(
    path: Path, data: bytes | None, required: Sequence[str], expected: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row) of a table below a line with a canary, if there is one; no error shows what it holds."""
    try:
        text = (path.read_bytes() if data is None else data).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: not UTF-8; take a fresh copy") from None  # the cause would carry the items
    first, _, rest = text.partition("\n")
    has_canary = "canary" in first.lower()
    lines = io.StringIO(rest if has_canary else text, newline="")
    rows = records(lines, where=str(path), delimiter=",", n_lines_before=int(has_canary))
    _, header = next(rows, (0, []))
    _check_columns(header, path, required, expected)
    yield from named_rows(rows, header, where=str(path), delimiter=",")


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{path}: not a readable parquet file; take a fresh copy") from error
    _check_columns(table.column_names, path, EWOK_REQUIRED, EWOK_EXPECTED)
    yield from enumerate(table.to_pylist(), 1)


def _check_columns(header: Sequence[str], path: Path, required: Sequence[str], expected: str) -> None:
    """Refuse a table without columns that are needed; what it has instead is not said, for it may be an item."""
    if missing := [name for name in required if name not in header]:
        raise CorpusError(f"{path}: missing column(s) {', '.join(missing)}; expected {expected}")


def _checked(row: Row, where: str) -> dict[str, Any]:
    """Return the row with clean strings and the domain's normal name; say which cell is at fault, never its text."""
    for name in EWOK_REQUIRED:
        if row[name] is None or not str(row[name]).strip():
            raise CorpusError(f"{where}: {name} is empty; take a fresh copy of the file")
    domain = str(row["Domain"]).strip().lower().replace("_", "-").replace(" ", "-")
    if domain not in EWOK.subsets:
        raise CorpusError(f"{where}: Domain is none of {', '.join(EWOK.subsets)}; take a fresh copy of the file")
    return {**row, **{name: str(row[name]) for name in EWOK_REQUIRED}, "Domain": domain}


def _ewok_pair(row: Row, identity: str, target: int, where: str) -> Item:
    cells = [row.get(f"response_mean_target{target}_context{number}", "") for number in (target, 3 - target)]
    is_judged = any(f"response_mean_target{target}_context{number}" in row for number in (1, 2))
    empty = (None, "", "NA", "nan")
    human = [None if cell in empty or cell != cell else _mean(cell, where, 5) for cell in cells]  # noqa: PLR0124 - NaN
    is_rated = None not in human
    return _context_pair(
        ("ewok", row["Domain"], f"{identity}-t{target}"),
        row,
        target,
        phenomenon=row["Domain"],
        paradigm=row["ContextType"],
        human_good=human[0] if is_rated else None,
        human_bad=human[1] if is_rated else None,
        human_scale="likert5" if is_rated else None,
        pair_id=identity,
        flags=("no_human_rating",) if is_judged and not is_rated else (),
        extra={words_of(name).replace(" ", "_"): row[name] for name in DESIGN} | {"target_number": target},
    )


def _context_pair(path: tuple[str, str, object], row: Row, target: int, **cells: Any) -> Item:  # noqa: ANN401
    """Return the context pair of one target: the context of its own number is the better one."""
    text, good, bad = row[f"Target{target}"], row[f"Context{target}"], row[f"Context{3 - target}"]
    return item_of(path, text, text, task="context_pair", context_good=good, context_bad=bad, **cells)


def social_relations_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield two context pairs per item, one a target, in the order of the ratings.

    In: the tables of people's answers as their authors send them on request, one row per item: mean ratings from 1 to
    5, and the mean of the choices 1 and 2. An error names the row, never its text: the items stay out of logs.
    """
    del options  # one subset
    chosen: dict[Key, Mapping[str, str]] = {}
    if CHOICE_FILE in files:
        for where, row in _relations_table(_only(files[CHOICE_FILE]), CHOICES):
            if chosen.setdefault(_key(row), row) is not row:
                raise CorpusError(f"{where}: an item of an earlier row; expected each once")
    seen: set[Key] = set()
    for number, (where, row) in enumerate(_relations_table(_only(files[LIKERT_FILE]), RELATIONS_RATINGS), 1):
        key = _key(row)
        if key in seen:
            raise CorpusError(f"{where}: an item of an earlier row; expected each once")
        if chosen and key not in chosen:
            raise CorpusError(f"{where}: not among the items of {CHOICE_FILE}; expected the same items in both files")
        seen.add(key)
        for target in (1, 2):
            yield _relations_pair(row, chosen.get(key), target, f"{number:03d}", where)


def _only(located: LocatedFile) -> Path:
    if not located.path.is_dir():
        return located.path
    paths = sorted(located.path.glob(RELATIONS_UNPACKED[located.name]))
    if len(paths) != 1:
        raise CorpusError(
            f"{located.path}: {len(paths)} files {RELATIONS_UNPACKED[located.name]}; expected one: keep the newest"
        )
    return paths[0]


def _relations_table(path: Path, numbers: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    for line, row in _csv_rows(path, None, (*IDENTITY, *numbers), "the authors' table of answers"):
        where = f"{path}, row {line}"
        if empty := [name for name in IDENTITY if not row[name].strip()]:
            raise CorpusError(f"{where}: {', '.join(empty)} empty; take a fresh copy of the file")
        yield where, row


def _relations_pair(
    row: Mapping[str, str], chosen: Mapping[str, str] | None, target: int, identity: str, where: str
) -> Item:
    good, bad = (_mean(row[f"text_likert_target{target}_context{n}"], where, 5) for n in (target, 3 - target))
    first_share = None if chosen is None else 2 - _mean(chosen[f"text_choice_target{target}"], where, 2)
    item = _context_pair(
        ("social-relations", "social-relations", f"{identity}-t{target}"),
        row,
        target,
        phenomenon="social-relations",
        paradigm=row["MetaTemplateID"],
        human_good=good,
        human_bad=bad,
        human_scale="likert5",
        pair_id=identity,
        extra={
            "template_id": f"{row['MetaTemplateID']}.{row['TemplateID']}",
            "target_number": target,
            "human_choice": first_share if target == 1 or first_share is None else 1 - first_share,
        },
    )
    return replace(item, item_id=f"social-relations/{identity}-t{target}")


DTFIT = declared("dtfit", dtfit_rows)
KAUF_2024 = _MAP.corpus(kauf_rated)
EWOK = declared("ewok", ewok_rows)
SOCIAL_RELATIONS = declared("social-relations", social_relations_rows)
