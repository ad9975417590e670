"""Kauf et al. 2023 on plausible and implausible events: in, scores of sentences; out, a log a system.

A folder holds `NAME_SentenceSet.csv` (which sentences make a pair, and which is plausible), `NAME_ratings.csv` (people,
1 to 7) and folders NAME with `….MODEL.SCORE.txt`, tab-separated without a header: number, sentence, score. SCORE is one
of `SCORES`; each is a method of its own, for none is stated to be log P of the string after a BOS. Other scores (of one
word, averages, baselines) are left out. Reversible events (AAR) are plausible either way: their sentences are single.

Kauf, Ivanova et al. 2023, Cognitive Science 47(11), e13386; Kauf & Ivanova 2023, ACL.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.sources.tables import open_table
from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError
from pairbank.scoring.importing.logs.log import Judgment, Log, LogRow, Refusals, files_in

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile

SET, RATINGS = "_SentenceSet.csv", "_ratings.csv"
SCALE = "plausibility7"
SCORES = {
    "sentence-LL": ("sentence_ll", "log P of the sentence, summed; which special tokens are scored is not stated"),
    "sentence-PLL": ("sentence_pll", "pseudo-log-likelihood of the sentence, its tokens masked in turn, summed"),
    "sentence-l2r-PLL": (
        "sentence_pll_l2r",
        "pseudo-log-likelihood of the sentence, left to right (l2r: in the word or the sentence is not stated), summed",
    ),
}
"""What a file's name says -> the method, and what it is."""
TYPES = {"AI": "animate-inanimate", "AAN": "animate-animate", "AAR": "animate-animate, reversible"}
REVERSIBLE = "AAR"
_NAME = re.compile(r"[^.]+\.(?P<model>.+)\.(?P<score>[^.]+)\.txt")
_SIDES = {"Plausible": "good", "Implausible": "bad"}
_NO_RATING = ("", "NA")
_Found = dict[str, dict[str, dict[str, float]]]


def read(paths: Sequence[Path], how: ImportProfile, items: datasets.Dataset | None) -> list[Log]:  # noqa: ARG001
    """Return a log a system, with the rows of all sets."""
    refusals, logs, judgments = Refusals(), dict[str, Log](), list[Judgment]()
    for file in files_in(paths, f"*{SET}", expected=f"NAME{SET} of lm-event-knowledge"):
        name = file.name.removesuffix(SET)
        rows = list(_items(file, name))
        people, ratings = _people(paths, f"{name}{RATINGS}")
        judgments += ratings
        texts = {text for row in rows for text in _texts(row)}
        for model, (files, result) in _scores(paths, name, texts, refusals).items():
            log = logs.setdefault(model, Log(model=model, tool="scripts of lm-event-knowledge"))
            log.files = (*log.files, *files)
            log.rows += [_scored(row, result, people) for row in rows if all(text in result for text in _texts(row))]
    if not logs:
        raise ScoreImportError(f"{', '.join(map(str, paths))}: no scores of sentences; expected NAME/….sentence-LL.txt")
    for log in logs.values():
        named = {cell for row in log.rows for cell in row.cells}
        log.scores = tuple(
            DeclaredScore(name=name, kind="logprob", direction="higher", unit="nats", label=label)
            for name, label in SCORES.values()
            if f"{name}_good" in named
        )
    next(iter(logs.values())).left_out = refusals.left_out()
    next(iter(logs.values())).judgments = judgments
    return list(logs.values())


def _items(file: Path, name: str) -> Iterator[LogRow]:
    """Yield a row a pair, or a sentence of a reversible event, without scores."""
    pairs: dict[tuple[str, ...], dict[str, tuple[int, str]]] = defaultdict(dict)
    for line, row in _rows(file, "ItemNum", "Sentence", "Plausibility", "Voice"):
        kind, side = row.get("TrialType", ""), _SIDES.get(row["Plausibility"])
        if side is None or kind not in (*TYPES, ""):
            raise ScoreImportError(
                f"{file}, row {line}: {row['Plausibility']!r}, {kind!r}; expected {' or '.join(_SIDES)}, and one of "
                f"{', '.join(TYPES)} or nothing"
            )
        alone = (row["Plausibility"],) if kind == REVERSIBLE else ()
        pair = pairs[row["ItemNum"], row["Voice"], kind, *alone]
        side = "good" if alone else side
        if side in pair:
            raise ScoreImportError(
                f"{file}, row {line}: item {row['ItemNum']} ({row['Voice']}) has a second {side} side"
            )
        pair[side] = (line, row["Sentence"])
    for (number, voice, kind, *lone), pair in pairs.items():
        if not lone and len(pair) < len(_SIDES):
            raise ScoreImportError(f"{file}: item {number} ({voice}) has one sentence; expected two")
        phenomenon = TYPES.get(kind, name)
        cells = {f"target_{side}": text for side, (_, text) in pair.items()}
        cells |= {"subset": name, "phenomenon": phenomenon, "paradigm": f"{phenomenon}, {voice}"}
        cells |= {"pair_id": "-".join([number, *lone]), "task": "sentence" if lone else "sentence_pair"}
        yield LogRow(file=file, line=min(line for line, _ in pair.values()), cells=cells)


def _texts(row: LogRow) -> dict[str, str]:
    """Return the sentences of a row -> their side."""
    return {text: side for side in _SIDES.values() if (text := row.cells.get(f"target_{side}"))}


def _scored(row: LogRow, scores: Mapping[str, Mapping[str, float]], people: Mapping[str, tuple[float, int]]) -> LogRow:
    cells: dict[str, str | None] = dict(row.cells)
    for text, side in _texts(row).items():
        cells |= {f"{name}_{side}": repr(value) for name, value in scores[text].items()}
        if text in people:
            mean, n = people[text]
            cells |= {f"human_{side}": repr(mean), "human_scale": SCALE}
            cells |= {"human_n": str(min(n, int(cells.get("human_n") or n)))} if n else {}
    return LogRow(file=row.file, line=row.line, cells=cells)


def _scores(
    paths: Sequence[Path], name: str, texts: set[str], refusals: Refusals
) -> dict[str, tuple[list[Path], dict[str, dict[str, float]]]]:
    """Return by model the files and sentence -> method -> score of one set."""
    files: dict[str, list[Path]] = defaultdict(list)
    result: _Found = defaultdict(lambda: defaultdict(dict))
    for file in files_in(paths, "*.txt", expected="….MODEL.sentence-LL.txt"):
        if file.parent.name != name:
            continue
        match = _NAME.fullmatch(file.name)
        if match is None or match["score"] not in SCORES:
            refusals.add(file.parent, "files that hold no score of whole sentences in nats", file.name)
            continue
        method, _ = SCORES[match["score"]]
        files[match["model"]].append(file)
        for line, text, value in _lines(file):
            if text not in texts:
                refusals.add(file, f"the sentence is not in {name}{SET}", f"row {line}: {text[:60]!r}")
            elif result[match["model"]][text].setdefault(method, value) != value:
                raise ScoreImportError(f"{file}, row {line}: {text[:60]!r} has another score before; leave one of them")
    return {model: (files[model], result[model]) for model in files}


def _lines(file: Path) -> Iterator[tuple[int, str, float]]:
    with reading(file, CorpusError), file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            try:
                value = float(cells[2])
            except (IndexError, ValueError):
                value = math.nan
            if not math.isfinite(value):
                raise ScoreImportError(f"{file}, row {number}: {line[:60]!r}; expected number, sentence and score")
            yield number, cells[1], value


def _people(paths: Sequence[Path], name: str) -> tuple[dict[str, tuple[float, int]], list[Judgment]]:
    """Return sentence -> mean rating and number of raters, 0 where only the mean is published, and single ratings."""
    ratings: dict[str, list[float]] = defaultdict(list)
    judgments = []
    numbers: dict[str, int] = {}
    for file in files_in(paths, name, expected=f"people's ratings, {name}"):
        for line, row in _rows(file, "Sentence", "Score"):
            if row["Score"] in _NO_RATING:
                continue
            try:
                value = float(row["Score"])
            except ValueError as error:
                raise ScoreImportError(f"{file}, row {line}: {row['Score']!r}, expected a rating") from error
            ratings[row["Sentence"]].append(value)
            if (worker := row.get("rater") or row.get("WorkerId")) is not None:
                # workers' ids do not leave the reader
                rater = f"{name.removesuffix(RATINGS)} {numbers.setdefault(worker, len(numbers))}"
                judgments.append(Judgment(text=row["Sentence"], rater=rater, value=value, scale=SCALE))
    means = {text: (sum(result) / len(result), len(result) if judgments else 0) for text, result in ratings.items()}
    return means, judgments


def _rows(file: Path, *columns: str) -> Iterator[tuple[int, dict[str, Any]]]:
    table = open_table(file)
    if missing := [column for column in columns if column not in table.columns]:
        raise ScoreImportError(f"{file}: no column {', '.join(missing)}; expected the file as it was published")
    for line, row in table.rows():
        yield line, {name: "" if cell is None else str(cell) for name, cell in row.items()}
