"""Kauf et al. 2023 on plausible and implausible events: in, scores of sentences; out, a log a system.

A folder holds `NAME_SentenceSet.csv` (which sentences make a pair, and which is plausible), `NAME_ratings.csv` (people,
1 to 7) and folders NAME with `….MODEL.SCORE.txt`, tab-separated without a header: number, sentence, score. SCORE is one
of `SCORES`; each is a method of its own, for none is stated to be log P of the string after a BOS. Other scores (of one
word, averages, baselines) are left out. Reversible events (AAR) are plausible either way: their sentences are single.

Kauf, Ivanova et al. 2023, Cognitive Science 47(11), e13386; Kauf & Ivanova 2023, ACL.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.log import Judgment, Log, LogRow, Refusals, Source, finite, published_rows

SET, RATINGS = "_SentenceSet.csv", "_ratings.csv"
SCALE = "plausibility7"
SCORES = {"sentence-LL": "sentence_ll", "sentence-PLL": "sentence_pll", "sentence-l2r-PLL": "sentence_pll_l2r"}
"""What a file's name says -> the score of the profile."""
TYPES = {"AI": "animate-inanimate", "AAN": "animate-animate", "AAR": "animate-animate, reversible"}
REVERSIBLE = "AAR"
_NAME = re.compile(r"[^.]+\.(?P<model>.+)\.(?P<score>[^.]+)\.txt")
_SIDES = {"Plausible": "good", "Implausible": "bad"}
_NO_RATING = ("", "NA")
Scores = dict[str, dict[str, float]]
"""Sentence -> method -> score."""
People = dict[str, tuple[float, int]]
"""Sentence -> mean rating and number of raters, 0 where only the mean is published."""


def read(source: Source) -> list[Log]:
    refusals, logs, judgments = Refusals(), dict[str, Log](), list[Judgment]()
    for file in source.files(f"*{SET}", expected=f"NAME{SET} of lm-event-knowledge"):
        name = file.name.removesuffix(SET)
        rows = list(_items(file, name))
        people, ratings = _people(source, name)
        judgments += ratings
        texts = {text for row in rows for text in _texts(row)}
        for model, (files, scores) in _scores(source, name, texts, refusals).items():
            log = logs.setdefault(model, Log(model=model, tool="scripts of lm-event-knowledge"))
            log.files = (*log.files, *files)
            log.rows += [_scored(row, scores, people) for row in rows if all(text in scores for text in _texts(row))]
    if not logs:
        raise ScoreImportError(f"{source}: no scores of sentences; expected NAME/….sentence-LL.txt")
    first = next(iter(logs.values()))
    first.refusals, first.judgments = refusals, judgments
    return list(logs.values())


def _items(file: Path, name: str) -> Iterator[LogRow]:
    pairs: dict[tuple[str, ...], dict[str, tuple[int, str]]] = defaultdict(dict)
    for line, row in published_rows(file, "ItemNum", "Sentence", "Plausibility", "Voice"):
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
    return {text: side for side in _SIDES.values() if (text := row.cells.get(f"target_{side}"))}


def _scored(row: LogRow, scores: Scores, people: People) -> LogRow:
    cells: dict[str, str | None] = dict(row.cells)
    for text, side in _texts(row).items():
        cells |= {f"{name}_{side}": repr(value) for name, value in scores[text].items()}
        if text in people:
            mean, n = people[text]
            cells |= {f"human_{side}": repr(mean), "human_scale": SCALE}
            cells |= {"human_n": str(min(n, int(cells.get("human_n") or n)))} if n else {}
    return LogRow(file=row.file, line=row.line, cells=cells)


def _scores(source: Source, name: str, texts: set[str], refusals: Refusals) -> Mapping[str, tuple[list[Path], Scores]]:
    by_model: dict[str, tuple[list[Path], Scores]] = defaultdict(lambda: ([], defaultdict(dict)))
    for file in source.files("*.txt", expected="….MODEL.sentence-LL.txt"):
        if file.parent.name != name:
            continue
        match = _NAME.fullmatch(file.name)
        if match is None or match["score"] not in SCORES:
            refusals.add(file.parent, "files that hold no score of whole sentences in nats", file.name)
            continue
        files, scores = by_model[match["model"]]
        files.append(file)
        with reading(file, CorpusError), file.open(encoding="utf-8") as lines:
            for line, row in enumerate(lines, 1):
                _, text, score = [*row.rstrip("\n").split("\t"), "", "", ""][:3]
                value = finite(score, f"{file}, row {line}: {row[:60]!r}", "number, sentence and score")
                if text not in texts:
                    refusals.add(file, f"the sentence is not in {name}{SET}", f"row {line}: {text[:60]!r}")
                elif scores[text].setdefault(SCORES[match["score"]], value) != value:
                    raise ScoreImportError(
                        f"{file}, row {line}: {text[:60]!r} has another score before; leave one of them"
                    )
    return by_model


def _people(source: Source, name: str) -> tuple[People, list[Judgment]]:
    """Return people's mean ratings, and single ones where they are published."""
    ratings: dict[str, list[float]] = defaultdict(list)
    judgments = []
    numbers: dict[str, int] = {}
    for file in source.files(f"{name}{RATINGS}", expected=f"people's ratings, {name}{RATINGS}"):
        for line, row in published_rows(file, "Sentence", "Score"):
            if row["Score"] in _NO_RATING:
                continue
            value = finite(row["Score"], f"{file}, row {line}", "a rating")
            ratings[row["Sentence"]].append(value)
            if (worker := row.get("rater") or row.get("WorkerId")) is not None:
                rater = f"{name} {numbers.setdefault(worker, len(numbers))}"  # workers' ids do not leave the reader
                judgments.append(Judgment(text=row["Sentence"], rater=rater, value=value, scale=SCALE))
    means = {text: (sum(values) / len(values), len(values) if judgments else 0) for text, values in ratings.items()}
    return means, judgments
