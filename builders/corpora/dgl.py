"""DGL: 80 English sentences with 80 people's judgments. Dentella, Günther & Leivada 2023; Hu et al. 2024.

In: `stimuli.csv` (Hu et al.), and people's answers, ten of each rater to each sentence they saw; a row says whether an
answer agrees with the sentence's label. Out: one item per sentence, its label in `label`; a rater's rating is the share
of the ten answers that accept the sentence. Attention checks are no items. Of the columns about people, only numbers
that tell them apart are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.column_map import Row
from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.declared import declared
from pairbank.builders.ratings import SHARE_THAT_ACCEPTS, Rated, Raters, Rating, judged
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.source import LocatedFile
from pairbank.builders.sources.table_format import NOTHING_SAID, table_rows_of
from pairbank.errors import CorpusError

STIMULI, PEOPLE = "stimuli.csv", "dgl_people.csv"
LABELS = {"grammatical": 1, "ungrammatical": 0}
CHECK = "attention check"
"""Phenomenon of the sentences that only tell whether people attend."""
RATERS = ("participant", "rater")
"""The column of raters: upstream's, and that of a copy without personal columns."""


def rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:  # noqa: ARG001
    """Yield the sentences in their order, with the ratings where the file of people is there."""
    file = files[STIMULI]
    stimuli = {
        row["sentence"]: (number, row)
        for number, row in _rows(file, "sentence", "phenomenon", "test_item", "condition")
    }
    shares = _shares(files[PEOPLE], stimuli) if PEOPLE in files else {}
    for n, (sentence, (number, row)) in enumerate(stimuli.items(), 1):
        item = Item(
            item_id=f"dgl/all/{n}",
            corpus="dgl",
            subset="all",
            language="en",
            task="sentence",
            target_good=sentence,
            phenomenon=row["phenomenon"],
            paradigm=row["phenomenon"],
            pair_id=f"{row['phenomenon']} {row['test_item']}",
            extra={"label": _label(row, f"{file.path}, row {number}")},
        )
        ratings = (
            Rating(item_id=item.item_id, side="good", rater=rater, value=share, scale=SHARE_THAT_ACCEPTS)
            for rater, share in shares.get(sentence, {}).items()
        )
        yield judged(item, ratings)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items."""
    return (result.item for result in rated(files, options))


def _shares(file: LocatedFile, stimuli: Mapping[str, object]) -> Mapping[str, Mapping[int, float]]:
    """Return sentence -> rater -> the share of answers that accept it."""
    answers: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    raters = Raters()
    for number, row in _rows(file, "sentence", "phenomenon", "condition", "accuracy"):
        where = f"{file.path}, row {number}"
        if row["phenomenon"] == CHECK:
            continue
        if row["sentence"] not in stimuli:
            raise CorpusError(f"{where}: {row['sentence'][:60]!r} is no sentence of {STIMULI}; get both files again")
        column = next((name for name in RATERS if name in row), None)
        if column is None:
            raise CorpusError(f"{where}: no column {' or '.join(RATERS)}; get the file again")
        if row["accuracy"] not in ("0", "1"):
            raise CorpusError(f"{where}: accuracy is {row['accuracy']!r}, expected 0 or 1; get the file again")
        answer = int(row["accuracy"]) if _label(row, where) else 1 - int(row["accuracy"])
        answers[row["sentence"]][raters.number(row[column])].append(answer)
    return {
        sentence: {rater: sum(provided) / len(provided) for rater, provided in of_raters.items()}
        for sentence, of_raters in answers.items()
    }


def _label(row: Row, where: str) -> int:
    if row["condition"] not in LABELS:
        raise CorpusError(f"{where}: condition is {row['condition']!r}, expected {' or '.join(LABELS)}")
    return LABELS[row["condition"]]


def _rows(file: LocatedFile, *columns: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    for number, row in table_rows_of(file.path.read_bytes(), ".csv", NOTHING_SAID, str(file.path)):
        if missing := [name for name in columns if name not in row]:
            raise CorpusError(f"{file.path}, row 1: no column {', '.join(missing)}; get the file again")
        yield number, {name: "" if cell is None else str(cell) for name, cell in row.items()}


DGL = declared("dgl", rows, rated=rated)
