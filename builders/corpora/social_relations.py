"""Social relations: the 175 items of Ivanova et al. 2024 with what people chose and rated. SouthNLP 2024.

In: the two tables of people's answers as their authors send them on request (the items are not published), a row an
item: `results-likert-*.csv` (`text_likert_target1_context1` … mean ratings from 1 to 5) and `results-choice-*.csv`
(`text_choice_target1`, `…2`: the mean of the answers 1 and 2). Out: two rows an item, one a target; the better
context is the one of the target's number. An error names the row, never its text: the items stay out of logs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

LIKERT_FILE, CHOICE_FILE = "results-likert.csv", "results-choice.csv"
UNPACKED = {LIKERT_FILE: "results-likert-*.csv", CHOICE_FILE: "results-choice-*.csv"}
TEXTS = ("Target1", "Target2", "Context1", "Context2")
IDENTITY = ("MetaTemplateID", "TemplateID", *TEXTS)
RATINGS = tuple(f"text_likert_target{target}_context{context}" for target in (1, 2) for context in (1, 2))
CHOICES = ("text_choice_target1", "text_choice_target2")
Key = tuple[str, ...]


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield two context pairs an item, in the order of the ratings.

    Raises:
        CorpusError: a file or row that cannot be accepted, named without its text.
    """
    del options  # one subset
    chosen: dict[Key, Mapping[str, str]] = {}
    if CHOICE_FILE in files:
        for where, row in _table(_only(files[CHOICE_FILE]), CHOICES):
            if chosen.setdefault(_key(row), row) is not row:
                raise CorpusError(f"{where}: an item that stands in an earlier row; expected each once")
    seen: set[Key] = set()
    for number, (where, row) in enumerate(_table(_only(files[LIKERT_FILE]), RATINGS), 1):
        key = _key(row)
        if key in seen:
            raise CorpusError(f"{where}: an item that stands in an earlier row; expected each once")
        if chosen and key not in chosen:
            raise CorpusError(f"{where}: not among the items of {CHOICE_FILE}; expected the same items in both files")
        seen.add(key)
        for target in (1, 2):
            yield _pair(row, chosen.get(key), target, f"{number:03d}", where)


def _only(found: LocatedFile) -> Path:
    """Return the file itself, where the folder was given for its pattern."""
    if not found.path.is_dir():
        return found.path
    paths = sorted(found.path.glob(UNPACKED[found.name]))
    if len(paths) != 1:
        raise CorpusError(f"{found.path}: {len(paths)} files {UNPACKED[found.name]}; expected one: keep the newest")
    return paths[0]


def _table(path: Path, numbers: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines(keepends=True)
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: not UTF-8; take a fresh copy") from None  # the cause would carry the items
    reader = csv.DictReader(lines, strict=True)
    if missing := [name for name in (*IDENTITY, *numbers) if name not in (reader.fieldnames or ())]:
        raise CorpusError(f"{path}: missing column(s) {', '.join(missing)}; expected the authors' table of answers")
    try:
        for row in reader:
            where = f"{path}, row {reader.line_num}"
            if empty := [name for name in IDENTITY if not (row[name] or "").strip()]:
                raise CorpusError(f"{where}: {', '.join(empty)} empty; take a fresh copy of the file")
            yield where, row
    except csv.Error:
        raise CorpusError(f"{path}, row {reader.line_num}: not readable as CSV; take a fresh copy") from None


def _key(row: Mapping[str, str]) -> Key:
    return tuple(row[name] for name in IDENTITY)


def _pair(row: Mapping[str, str], chosen: Mapping[str, str] | None, target: int, identity: str, where: str) -> Item:
    other = 3 - target
    good, bad = (_mean(row[f"text_likert_target{target}_context{n}"], where, most=5) for n in (target, other))
    answer = None if chosen is None else _mean(chosen[f"text_choice_target{target}"], where, most=2)
    first_share = None if answer is None else 2 - answer
    return Item(
        item_id=f"social-relations/{identity}-t{target}",
        corpus="social-relations",
        subset="social-relations",
        language="en",
        task="context_pair",
        phenomenon="social-relations",
        paradigm=row["MetaTemplateID"],
        context_good=row[f"Context{target}"],
        target_good=row[f"Target{target}"],
        context_bad=row[f"Context{other}"],
        target_bad=row[f"Target{target}"],
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


def _mean(cell: str, where: str, *, most: int) -> float:
    try:
        mean = float(cell)
    except ValueError:
        mean = float("nan")
    if not 1 <= mean <= most:
        raise CorpusError(f"{where}: people's mean answer is not a number from 1 to {most}; take a fresh copy")
    return mean


SOCIAL_RELATIONS = declared("social-relations", rows)
